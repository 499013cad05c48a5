//! Shapes of secrets: beginnings that services give their keys, and passwords in addresses.

/// How keys of well-known services begin.
const BEGINNINGS: [&str; 15] = [
    "AIza",
    "AKIA",
    "ASIA",
    "dapi",
    "eyJ",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "hf_",
    "pypi-",
    "sk-",
    "xoxb-",
    "xoxp-",
];

/// The shortest text that is taken for a key by its beginning alone.
const SHORTEST: usize = 20;

/// The shortest address with a password, `a://:b@c`.
const SHORTEST_ADDRESS: usize = 8;

/// The signs that secrets and addresses are made of, by their bytes.
const IN_WORDS: [bool; 256] = {
    let mut is_in = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        is_in[byte as usize] = byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'.' | b'/' | b'+' | b'=' | b':' | b'@' | b'%');
        byte += 1;
    }
    is_in
};

/// Hands the parts of a text that look like secrets to `found`.
pub fn find<'a>(text: &'a [u8], mut found: impl FnMut(&'a str)) {
    for word in text.split(|byte| !IN_WORDS[usize::from(*byte)]) {
        if word.len() < SHORTEST_ADDRESS {
            continue;
        }
        let Ok(word) = str::from_utf8(word) else { continue };
        // `--key=sk-...`, `KEY:sk-...`
        for part in word.split(['=', ':', '/']) {
            if part.len() >= SHORTEST && BEGINNINGS.iter().any(|beginning| part.starts_with(beginning)) {
                found(part);
            }
        }
        if let Some(password) = password(word) {
            found(password);
        }
    }
}

/// The password of `scheme://user:password@host`.
fn password(word: &str) -> Option<&str> {
    let (_, rest) = word.split_once("://")?;
    let (authority, _) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, _) = authority.rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    (!password.is_empty()).then_some(password)
}
