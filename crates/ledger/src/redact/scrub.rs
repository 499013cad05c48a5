//! Removes the secrets of a trial from the bytes of its files, in whichever way JSON, Python or a shell writes them, and
//! what has the shape of a secret.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use super::secrets::{REDACTED, Secrets};
use super::shapes;

/// How much of a stream is looked through at a time.
const CHUNK: usize = 256 << 10;

/// Removes some texts from bytes, and whatever has the shape of a secret.
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
            needles.extend(encoded(value));
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

    /// Bytes without the secrets.
    pub fn scrub<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let places = self.places(bytes);
        if places.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut scrubbed = Vec::with_capacity(bytes.len());
        let mut at = 0;
        for place in places {
            scrubbed.extend_from_slice(&bytes[at..place.start]);
            scrubbed.extend_from_slice(REDACTED.as_bytes());
            at = place.end;
        }
        scrubbed.extend_from_slice(&bytes[at..]);
        Cow::Owned(scrubbed)
    }

    /// Hands a stream without the secrets to `take`, part by part, in flat memory.
    pub fn stream(
        &self,
        from: &mut impl Read,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        // A secret may begin in one part and end in the next: as much as the longest is kept back.
        let longest = self.longest.max(shapes::LONGEST) + shapes::CONTEXT;
        let mut buffer: Vec<u8> = Vec::with_capacity(CHUNK + longest);
        // How much of the buffer was handed on, and stays as what stands before the rest.
        let mut at = 0;
        loop {
            let read = from.by_ref().take(CHUNK as u64).read_to_end(&mut buffer)?;
            let ended = read < CHUNK;
            // Secrets that begin before here are wholly in the buffer.
            let safe = if ended { buffer.len() } else { buffer.len().saturating_sub(longest).max(at) };
            for place in self.places(&buffer) {
                if place.end <= at || place.start >= safe {
                    continue;
                }
                take(&buffer[at..place.start.max(at)])?;
                take(REDACTED.as_bytes())?;
                at = place.end;
            }
            let rest = at.max(safe);
            take(&buffer[at..rest])?;
            let gone = rest.saturating_sub(shapes::CONTEXT);
            buffer.drain(..gone);
            at = rest - gone;
            if ended {
                return Ok(());
            }
        }
    }

    /// Where secrets stand: those that are known, and what has the shape of one. In order, without overlaps.
    fn places(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut places: Vec<Range<usize>> = self
            .searcher
            .iter()
            .flat_map(|known| known.find_iter(bytes))
            .map(|found| found.range())
            .collect();
        let known = places.len();
        places.extend(shapes::find(bytes));
        if known == 0 || known == places.len() {
            return places;
        }
        places.sort_by_key(|place| (place.start, std::cmp::Reverse(place.end)));
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(places.len());
        for place in places {
            match merged.last_mut() {
                Some(last) if place.start < last.end => last.end = last.end.max(place.end),
                _ => merged.push(place),
            }
        }
        merged
    }
}

/// In base64, wherever in it the value begins, and in hexadecimal. Short values would be found in what means something else.
fn encoded(value: &str) -> Vec<String> {
    if value.len() < 9 {
        return Vec::new();
    }
    let mut all = vec![value.bytes().map(|byte| format!("{byte:02x}")).collect()];
    for before in 0..3 {
        // What depends on the neighbours of the value is left away at both ends.
        let bytes: Vec<u8> = std::iter::repeat_n(0, before).chain(value.bytes()).collect();
        let whole = base64(&bytes);
        all.extend(whole.get([0, 2, 3][before]..bytes.len() * 8 / 6).map(str::to_owned));
    }
    all
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in [18, 12, 6, 0] {
            text.push(char::from(SIGNS[(bits >> place & 63) as usize]));
        }
    }
    text
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
