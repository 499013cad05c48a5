//! Shapes of secrets, looked for in any bytes: keys of well-known services, passwords in addresses, private keys, and
//! what is assigned to a sensitive name.
//!
//! A beginning alone makes no key: `sk-learn-pipeline-repair` begins like one. What follows has to be of the service's
//! own alphabet and length, and look drawn at random where both are wide.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::assigned::assigned;
use super::random::is_random;

/// The longest thing that is found: a private key of 16,384 bits takes less.
pub const LONGEST: usize = 32 << 10;

/// How far before a secret its name may begin.
pub const CONTEXT: usize = 512;

/// What a key is made of.
#[derive(Clone, Copy)]
enum Alphabet {
    Hexadecimal,
    /// Capitals and digits.
    Capitals,
    Letters,
    /// Letters, `-` and `_`, which words are made of as well.
    Words,
    /// The same and `.`.
    Dotted,
}

use Alphabet::{Capitals, Dotted, Hexadecimal, Letters, Words};

/// How keys of well-known services begin, of what the rest is, and how long that is at least and at most.
const KEYS: &[(&str, Alphabet, usize, usize)] = &[
    ("AIza", Words, 33, 40),
    ("AKIA", Capitals, 16, 16),
    ("ASIA", Capitals, 16, 16),
    ("SG.", Dotted, 40, 100),
    ("SK", Hexadecimal, 32, 32),
    ("ak-", Letters, 20, 64),
    ("as-", Letters, 20, 64),
    ("dapi", Hexadecimal, 32, 34),
    ("dckr_pat_", Words, 20, 64),
    ("dop_v1_", Hexadecimal, 40, 80),
    ("dtn_", Letters, 32, 100),
    ("e2b_", Hexadecimal, 32, 80),
    ("gho_", Letters, 30, 255),
    ("ghp_", Letters, 30, 255),
    ("ghr_", Letters, 30, 255),
    ("ghs_", Letters, 30, 255),
    ("ghu_", Letters, 30, 255),
    ("github_pat_", Words, 22, 255),
    ("glpat-", Words, 20, 255),
    ("gsk_", Letters, 20, 100),
    ("hf_", Letters, 30, 64),
    ("npm_", Letters, 30, 64),
    ("pplx-", Letters, 30, 100),
    ("pypi-", Words, 50, 500),
    ("r8_", Letters, 30, 64),
    ("rk_live_", Letters, 16, 255),
    ("sk-", Words, 20, 255),
    ("sk_live_", Letters, 16, 255),
    ("sk_test_", Letters, 16, 255),
    ("xai-", Letters, 20, 128),
    ("xoxa-", Words, 20, 255),
    ("xoxb-", Words, 20, 255),
    ("xoxp-", Words, 20, 255),
    ("ya29.", Words, 20, 1024),
];

/// Where else it is worth looking, and how.
const OTHERS: &[(&str, Look)] = &[
    ("eyJ", json_web_token),
    ("://", password),
    ("-----BEGIN", private_key),
    ("sig=", signature),
    ("auth", assigned),
    ("bearer", assigned),
    ("cookie", assigned),
    ("credential", assigned),
    ("key", assigned),
    ("pass", assigned),
    ("_pat", assigned),
    ("pwd", assigned),
    ("secret", assigned),
    ("token", assigned),
];

/// Finds a secret by a place where one of the texts above stands.
type Look = fn(&[u8], Range<usize>) -> Option<Range<usize>>;

/// Everything in these bytes that has the shape of a secret, in order and without overlaps.
///
/// What is found at a place depends on [`CONTEXT`] bytes before it and [`LONGEST`] after it, and on nothing else.
pub fn find(bytes: &[u8]) -> Vec<Range<usize>> {
    static ANCHORS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let texts = KEYS.iter().map(|(beginning, ..)| *beginning).chain(OTHERS.iter().map(|(text, _)| *text));
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(texts)
            .ok()
    });
    let Some(anchors) = ANCHORS.as_ref() else { return Vec::new() };
    let mut found: Vec<Range<usize>> = anchors
        .find_iter(bytes)
        .filter_map(|anchor| match anchor.pattern().as_usize().checked_sub(KEYS.len()) {
            None => key(bytes, anchor.range(), KEYS[anchor.pattern().as_usize()]),
            Some(other) => OTHERS[other].1(bytes, anchor.range()),
        })
        .collect();
    found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut end = 0;
    found.retain_mut(|range| {
        range.start = range.start.max(end);
        end = end.max(range.end);
        range.start < range.end
    });
    found
}

/// A key of a service.
fn key(
    bytes: &[u8],
    at: Range<usize>,
    (beginning, alphabet, least, most): (&str, Alphabet, usize, usize),
) -> Option<Range<usize>> {
    if &bytes[at.clone()] != beginning.as_bytes() || !begins(bytes, at.start) {
        return None;
    }
    let body = run(&bytes[at.end..], alphabet);
    let is_one = (least..=most).contains(&body.len())
        && !bytes.get(at.end + body.len()).is_some_and(u8::is_ascii_alphanumeric)
        && (matches!(alphabet, Hexadecimal | Capitals) || is_random(body));
    is_one.then(|| at.start..at.end + body.len())
}

/// Whether a word begins here: also after `\n`, as JSON writes the end of a line.
fn begins(bytes: &[u8], at: usize) -> bool {
    match bytes[..at] {
        [] | [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., before] => !(before.is_ascii_alphanumeric() || matches!(before, b'-' | b'_')),
    }
}

/// The signs of an alphabet that bytes begin with.
fn run(bytes: &[u8], alphabet: Alphabet) -> &[u8] {
    let is_in = |byte: &u8| match alphabet {
        Hexadecimal => byte.is_ascii_hexdigit(),
        Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        Letters => byte.is_ascii_alphanumeric(),
        Words => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
        Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
    };
    let bytes = &bytes[..bytes.len().min(LONGEST / 4)];
    &bytes[..bytes.iter().position(|byte| !is_in(byte)).unwrap_or(bytes.len())]
}

/// A JSON Web Token: two objects and a signature.
fn json_web_token(bytes: &[u8], at: Range<usize>) -> Option<Range<usize>> {
    if !begins(bytes, at.start) || !bytes[at.start..].starts_with(b"eyJ") {
        return None;
    }
    let mut end = at.start;
    for (part, least) in [8, 8, 8].into_iter().enumerate() {
        if part > 0 {
            (bytes.get(end) == Some(&b'.')).then_some(())?;
            end += 1;
        }
        let text = run(&bytes[end..], Words);
        if text.len() < least || part == 1 && !text.starts_with(b"eyJ") {
            return None;
        }
        end += text.len();
    }
    Some(at.start..end)
}

/// The password of `scheme://user:password@host`, or a key in the place of the user.
fn password(bytes: &[u8], at: Range<usize>) -> Option<Range<usize>> {
    let rest = &bytes[at.end..bytes.len().min(at.end + 1024)];
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/?#\"'`<>\\,;()".contains(byte);
    let authority = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
    let user = &authority[..authority.iter().rposition(|byte| *byte == b'@')?];
    let start = match user.iter().position(|byte| *byte == b':') {
        Some(colon) => colon + 1,
        None if is_random(user) => 0,
        None => return None,
    };
    let is_one = start < user.len() && !matches!(user[start], b'$' | b'[' | b'{' | b'*');
    is_one.then(|| at.end + start..at.end + user.len())
}

/// What stands in a private key, between its first and its last line.
fn private_key(bytes: &[u8], at: Range<usize>) -> Option<Range<usize>> {
    let head = &bytes[at.end..bytes.len().min(at.end + 48)];
    let dashes = head.windows(5).position(|five| five == b"-----")?;
    head[..dashes].windows(11).any(|words| words == b"PRIVATE KEY").then_some(())?;
    let start = at.end + dashes + 5;
    let body = &bytes[start..bytes.len().min(start + LONGEST - 64)];
    let length = body.windows(8).position(|eight| eight == b"-----END").unwrap_or_else(|| {
        let ends = |byte: &u8| !(byte.is_ascii_alphanumeric() || b"+/=\\\r\n \t".contains(byte));
        body.iter().position(ends).unwrap_or(body.len())
    });
    let body = body[..length].trim_ascii_end();
    let body = body.strip_suffix(b"\\").unwrap_or(body);
    (!body.is_empty() && !body.starts_with(b"[REDACTED")).then(|| start..start + body.len())
}

/// The signature of an address that opens something, `?sig=...`.
fn signature(bytes: &[u8], at: Range<usize>) -> Option<Range<usize>> {
    at.start.checked_sub(1).filter(|before| matches!(bytes[*before], b'?' | b'&' | b';'))?;
    let rest = &bytes[at.end..bytes.len().min(at.end + 1024)];
    let ends = |byte: &u8| !(byte.is_ascii_alphanumeric() || b"%+/=-_.".contains(byte));
    let length = rest.iter().position(ends).unwrap_or(rest.len());
    (length >= 16).then(|| at.end..at.end + length)
}
