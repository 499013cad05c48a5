//! Removes the secrets of a trial from the bytes of its files, in whichever way JSON, Python or a shell writes them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Read};

use aho_corasick::{AhoCorasick, Input, MatchKind};

use super::secrets::{REDACTED, Secrets};

/// How much of a stream is looked through at a time.
const CHUNK: usize = 256 << 10;

/// Removes some texts from bytes.
#[derive(Debug, Clone, Default)]
pub struct Scrubber {
    /// Finds the first of them, and of several at one place the longest, so that a secret that begins with another goes as
    /// a whole. None where there is nothing to remove.
    searcher: Option<AhoCorasick>,
    longest: usize,
}

impl Scrubber {
    /// One for the secrets of a trial.
    pub fn new(secrets: &Secrets) -> Self {
        let mut needles: BTreeSet<String> = BTreeSet::new();
        for value in &secrets.values {
            needles.extend([value.clone(), json(value), ascii_json(value), percent(value)]);
        }
        if needles.is_empty() {
            return Self::default();
        }
        let longest = needles.iter().map(String::len).max().unwrap_or_default();
        let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&needles);
        // It is refused only beyond two thousand million bytes of secrets, which no document that was read can hold.
        let searcher = built.unwrap_or_else(|error| unreachable!("{error}"));
        Self { searcher: Some(searcher), longest }
    }

    /// Whether it removes nothing.
    pub fn is_idle(&self) -> bool {
        self.searcher.is_none()
    }

    /// Bytes without the secrets.
    pub fn scrub<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut scrubbed = None;
        let mut copied = 0;
        let mut at = 0;
        while let Some((start, length)) = self.find(bytes, at, bytes.len()) {
            let into: &mut Vec<u8> = scrubbed.get_or_insert_with(|| Vec::with_capacity(bytes.len()));
            into.extend_from_slice(&bytes[copied..start]);
            into.extend_from_slice(REDACTED.as_bytes());
            at = start + length;
            copied = at;
        }
        match scrubbed {
            None => Cow::Borrowed(bytes),
            Some(mut into) => {
                into.extend_from_slice(&bytes[copied..]);
                Cow::Owned(into)
            }
        }
    }

    /// Hands a stream without the secrets to `take`, part by part, in flat memory.
    pub fn stream(
        &self,
        from: &mut impl Read,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        // A secret may begin in one part and end in the next: as much as the longest is kept back.
        let longest = self.longest.max(1);
        let mut buffer: Vec<u8> = Vec::with_capacity(CHUNK + longest);
        loop {
            let read = from.by_ref().take(CHUNK as u64).read_to_end(&mut buffer)?;
            let ended = read < CHUNK;
            // Secrets that begin before here are wholly in the buffer.
            let safe = if ended { buffer.len() } else { buffer.len().saturating_sub(longest - 1) };
            let mut at = 0;
            while let Some((start, length)) = self.find(&buffer, at, safe) {
                take(&buffer[at..start])?;
                take(REDACTED.as_bytes())?;
                at = start + length;
            }
            let rest = at.max(safe);
            take(&buffer[at..rest])?;
            buffer.drain(..rest);
            if ended {
                return Ok(());
            }
        }
    }

    /// The first secret that begins in `from..before`, and its length.
    fn find(&self, bytes: &[u8], from: usize, before: usize) -> Option<(usize, usize)> {
        let found = self.searcher.as_ref()?.find(Input::new(bytes).range(from..))?;
        (found.start() < before).then(|| (found.start(), found.len()))
    }
}

/// As JSON writes it.
fn json(value: &str) -> String {
    let quoted = serde_json::to_string(value).unwrap_or_default();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

/// As Python's `json` writes it, which escapes all but ASCII.
fn ascii_json(value: &str) -> String {
    let mut text = String::new();
    for unit in json(value).encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\u{unit:04x}")),
        }
    }
    text
}

/// As addresses write it.
fn percent(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}
