//! Looks through a JSON document for secrets and replaces them, leaving every other byte as it is.

use std::borrow::Cow;
use std::ops::Range;

use super::names::{is_sensitive, may_be_sensitive};
use super::scrub::Scrubber;
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

/// What of a document is to be treated in its own way: places of texts, in order.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Marks {
    /// What stands under sensitive names, and is replaced whatever it is.
    sensitive: Vec<Range<usize>>,
    /// Names, identifiers, digests and paths by which Harbor tells trials apart, which stay whatever they look like.
    structural: Vec<Range<usize>>,
}

/// Names of values that say which job, task or trial is meant.
const STRUCTURAL: [&str; 19] = [
    "checksum",
    "digest",
    "git_commit_id",
    "id",
    "job_id",
    "job_name",
    "jobs_dir",
    "model_name",
    "name",
    "org",
    "path",
    "ref",
    "source",
    "task_checksum",
    "task_name",
    "trial_name",
    "trial_uri",
    "trials_dir",
    "version",
];

/// Names below which everything is what a user or an agent wrote, whatever it is called there.
const FREE: [&str; 5] = ["args", "env", "headers", "kwargs", "metadata"];

/// Adds what stands under sensitive names in a document, or looks like a secret, to `secrets`, and says where it and what
/// has to stay stands. It need not be valid JSON: what is looked for are texts, and which name stands before them.
pub fn look_through(document: &[u8], secrets: &mut Secrets) -> Marks {
    let mut marks = Marks::default();
    let mut at = 0;
    // How many brackets are open, and how many were when a sensitive name, or one below which all is free, was met whose
    // value is a list or an object.
    let mut depth = 0_usize;
    let mut inside = [None::<usize>; 2];
    let mut under = Under::Plain;
    while let Some(next) = document[at..].iter().position(|byte| IS_SIGN[usize::from(*byte)]) {
        at += next;
        let sign = document[at];
        if sign != b'"' {
            match sign {
                b'{' | b'[' => {
                    for (inside, is_under) in
                        inside.iter_mut().zip([under == Under::Sensitive, under == Under::Free])
                    {
                        if is_under && inside.is_none() {
                            *inside = Some(depth);
                        }
                    }
                    depth += 1;
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    for inside in &mut inside {
                        *inside = inside.filter(|opened| *opened != depth);
                    }
                }
                _ => {}
            }
            under = Under::Plain;
            at += 1;
            continue;
        }
        let start = at + 1;
        let Some(end) = end_of_text(document, start) else { break };
        let raw = &document[start..end];
        at = end + 1;
        if is_name(document, at) {
            under = Under::of(raw);
            continue;
        }
        let under = std::mem::replace(&mut under, Under::Plain);
        if raw.is_empty() {
            continue;
        }
        if under == Under::Sensitive || inside[0].is_some() {
            let value = value_of(raw);
            if !is_template(&value) {
                secrets.add(&value);
                marks.sensitive.push(start..end);
            }
        } else if under == Under::Structural && inside[1].is_none() {
            marks.structural.push(start..end);
        } else {
            for found in shapes::find(raw) {
                secrets.add(&value_of(&raw[found]));
            }
        }
    }
    marks
}

/// A document without its secrets: what is marked as sensitive is replaced, what is marked as structural stays, and the
/// rest is looked through as any file is.
pub fn rewrite<'a>(document: &'a [u8], marks: &Marks, scrubber: &Scrubber) -> Cow<'a, [u8]> {
    let mut marked: Vec<(&Range<usize>, bool)> = Vec::new();
    marked.extend(marks.sensitive.iter().map(|place| (place, true)));
    marked.extend(marks.structural.iter().map(|place| (place, false)));
    marked.sort_by_key(|(place, _)| place.start);
    let mut whole = Vec::with_capacity(document.len());
    let mut copied = 0;
    for (place, is_sensitive) in marked {
        whole.extend_from_slice(&scrubber.scrub(&document[copied..place.start]));
        whole.extend_from_slice(if is_sensitive { REDACTED.as_bytes() } else { &document[place.clone()] });
        copied = place.end;
    }
    whole.extend_from_slice(&scrubber.scrub(&document[copied..]));
    if whole == document { Cow::Borrowed(document) } else { Cow::Owned(whole) }
}

/// What a name says of what stands under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Under {
    Plain,
    Sensitive,
    Structural,
    Free,
}

impl Under {
    fn of(raw: &[u8]) -> Self {
        if may_be_sensitive(raw) && is_sensitive(&value_of(raw)) {
            return Self::Sensitive;
        }
        match str::from_utf8(raw) {
            Ok(name) if STRUCTURAL.binary_search(&name).is_ok() => Self::Structural,
            Ok(name) if FREE.contains(&name) => Self::Free,
            _ => Self::Plain,
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
