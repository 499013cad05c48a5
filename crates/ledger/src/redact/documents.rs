//! Looks through a JSON document for secrets and replaces them, leaving every other byte as it is.

use std::borrow::Cow;

use super::names::{is_sensitive, may_be_sensitive};
use super::secrets::{REDACTED, Secrets, is_template};
use super::shapes;

/// The signs between texts that say what stands where, by their bytes.
const IS_SIGN: [bool; 256] = {
    let mut is_sign = [false; 256];
    let signs = b"\"{}[],";
    let mut at = 0;
    while at < signs.len() {
        is_sign[signs[at] as usize] = true;
        at += 1;
    }
    is_sign
};

/// Returns a document without what stands under sensitive names or looks like a secret, and adds what that was to
/// `secrets`. It need not be valid JSON: what is looked for are texts, and which name stands before them.
#[expect(clippy::too_many_lines, reason = "one pass over the text")]
pub fn redact_document<'a>(document: &'a [u8], secrets: &mut Secrets) -> Cow<'a, [u8]> {
    let mut redacted: Option<Vec<u8>> = None;
    let mut copied = 0;
    let mut at = 0;
    // How many brackets are open, and how many were when a sensitive name was met whose value is a list or an object.
    let mut depth = 0_usize;
    let mut inside: Option<usize> = None;
    let mut under_sensitive = false;
    while let Some(next) = document[at..].iter().position(|byte| IS_SIGN[usize::from(*byte)]) {
        at += next;
        match document[at] {
            b'"' => {}
            bracket => {
                match bracket {
                    b'{' | b'[' => {
                        if under_sensitive && inside.is_none() {
                            inside = Some(depth);
                        }
                        depth += 1;
                    }
                    b'}' | b']' => {
                        depth = depth.saturating_sub(1);
                        if inside == Some(depth) {
                            inside = None;
                        }
                    }
                    _ => {}
                }
                under_sensitive = false;
                at += 1;
                continue;
            }
        }
        let start = at + 1;
        let Some(end) = end_of_text(document, start) else { break };
        let raw = &document[start..end];
        at = end + 1;
        if is_name(document, at) {
            under_sensitive = may_be_sensitive(raw) && is_sensitive(&value_of(raw));
            continue;
        }
        let sensitive = std::mem::take(&mut under_sensitive) || inside.is_some();
        if raw.is_empty() {
            continue;
        }
        if sensitive {
            let value = value_of(raw);
            if !is_template(&value) {
                secrets.add(&value);
                let into = redacted.get_or_insert_with(|| Vec::with_capacity(document.len()));
                into.extend_from_slice(&document[copied..start]);
                into.extend_from_slice(REDACTED.as_bytes());
                copied = end;
            }
        } else {
            shapes::find(raw, |secret| secrets.add(secret));
        }
    }
    match redacted {
        None => Cow::Borrowed(document),
        Some(mut into) => {
            into.extend_from_slice(&document[copied..]);
            Cow::Owned(into)
        }
    }
}

/// Where the text that begins at `start` ends: at its closing quote.
fn end_of_text(document: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at += document.get(at..)?.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        if document[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Whether a colon comes next, which makes what came before a name.
fn is_name(document: &[u8], at: usize) -> bool {
    document[at..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

/// What a text of JSON stands for; as it is written if that cannot be said.
fn value_of(raw: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(raw);
    if !text.contains('\\') {
        return text;
    }
    serde_json::from_str::<String>(&format!("\"{text}\"")).map_or(text, Cow::Owned)
}
