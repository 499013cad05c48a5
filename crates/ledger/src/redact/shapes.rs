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

/// Hands the parts of a text that look like secrets to `found`.
pub fn find<'a>(text: &'a str, mut found: impl FnMut(&'a str)) {
    if text.len() < 8 {
        return;
    }
    for word in text.split(|sign: char| !(sign.is_ascii_alphanumeric() || "-_./+=:@%".contains(sign))) {
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
