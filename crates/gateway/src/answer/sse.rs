//! Server-sent events, taken apart as their bytes arrive, however those are split.
//!
//! ```text
//!   bytes ──▶ lines (LF, CRLF or CR) ──▶ an empty line ends the event ──▶ event, with its bytes as they came
//!                                    └─ too long to be held ──▶ passed on in pieces, not understood
//! ```

use std::borrow::Cow;

/// A part of the stream. The bytes of all parts, one after the other, are the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// An event, with the empty line that ends it.
    Event(&'a [u8]),
    /// The second half of the line end of the event before.
    Rest(&'a [u8]),
    /// A piece of an event that is too long to be held.
    Long(&'a [u8]),
}

/// Takes a stream apart.
#[derive(Debug)]
pub struct Splitter {
    /// The event that is not complete.
    held: Vec<u8>,
    /// How long an event may be.
    pub most: usize,
    /// Whether the line that is not complete is empty so far.
    line_is_empty: bool,
    /// Whether the last byte was a carriage return that a line feed may follow.
    after_return: bool,
    /// Whether the event is too long.
    long: bool,
}

impl Splitter {
    /// For events of at most so many bytes.
    pub fn new(most: usize) -> Self {
        Self { held: Vec::new(), most, line_is_empty: true, after_return: false, long: false }
    }

    /// How many bytes it holds.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Adds bytes, and hands over every part that is complete.
    pub fn feed(&mut self, bytes: &[u8], mut part: impl FnMut(Part<'_>)) {
        if bytes.is_empty() {
            return;
        }
        let mut held = std::mem::take(&mut self.held);
        if held.is_empty() {
            let start = self.scan(bytes, 0, &mut part);
            self.hold(bytes[start..].to_vec(), &mut part);
        } else {
            let seen = held.len();
            held.extend_from_slice(bytes);
            let start = self.scan(&held, seen, &mut part);
            held.drain(..start);
            self.hold(held, &mut part);
        }
    }

    /// Holds the begin of an event, or passes it on if it is too long.
    fn hold(&mut self, rest: Vec<u8>, part: &mut impl FnMut(Part<'_>)) {
        self.long |= rest.len() > self.most;
        if !self.long {
            self.held = rest;
        } else if !rest.is_empty() {
            part(Part::Long(&rest));
        }
    }

    /// Hands over what is complete in a text whose first bytes were seen before, and returns where the rest begins.
    fn scan(&mut self, text: &[u8], seen: usize, part: &mut impl FnMut(Part<'_>)) -> usize {
        let (mut start, mut at) = (0, seen);
        if std::mem::take(&mut self.after_return) && text[at] == b'\n' {
            at += 1;
            // Nothing is held, and the line is empty: the carriage return ended an event.
            if seen == 0 && !self.long {
                part(Part::Rest(&text[..at]));
                start = at;
            }
        }
        while let Some(offset) = text[at..].iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let end = at + offset;
            let was_empty = self.line_is_empty && offset == 0;
            at = end + 1;
            if text[end] == b'\r' {
                match text.get(at) {
                    Some(b'\n') => at += 1,
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
            if was_empty {
                let event = &text[start..at];
                part(if std::mem::take(&mut self.long) { Part::Long(event) } else { Part::Event(event) });
                start = at;
            }
            self.line_is_empty = true;
        }
        if at < text.len() {
            self.line_is_empty = false;
        }
        start
    }

    /// Hands over what the stream ended with, without an empty line.
    pub fn finish(&mut self, mut part: impl FnMut(Part<'_>)) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            part(Part::Event(&held));
        }
    }
}

/// The lines of an event, without their ends.
fn lines(event: &str) -> impl Iterator<Item = &str> {
    let event = event.strip_prefix('\u{feff}').unwrap_or(event);
    event.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

/// What a line says, if it is a line of data.
fn value(line: &str) -> Option<&str> {
    if line == "data" {
        return Some("");
    }
    let value = line.strip_prefix("data:")?;
    Some(value.strip_prefix(' ').unwrap_or(value))
}

/// The data of an event: a part of its text if it stands in one line. None if it has none.
pub fn data(event: &str) -> Option<Cow<'_, str>> {
    let mut data = lines(event).filter_map(value);
    let first = data.next()?;
    match data.next() {
        None => Some(Cow::Borrowed(first)),
        Some(second) => {
            let rest: Vec<&str> = [first, second].into_iter().chain(data).collect();
            Some(Cow::Owned(rest.join("\n")))
        }
    }
}

/// The event with other data.
pub fn with_data(event: &str, data: &str) -> String {
    let mut text: String = lines(event)
        .filter(|line| !line.is_empty() && value(line).is_none())
        .map(|line| format!("{line}\n"))
        .collect();
    for line in data.split('\n') {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use taskwright_testing::test;

    use super::*;

    /// All bytes as they passed, and the data of each event.
    fn taken_apart(pieces: &[&[u8]], most: usize) -> (Vec<u8>, Vec<String>) {
        let (mut passed, mut events) = (Vec::new(), Vec::new());
        let mut splitter = Splitter::new(most);
        let mut part = |part: Part<'_>| match part {
            Part::Event(bytes) => {
                passed.extend_from_slice(bytes);
                events.extend(data(std::str::from_utf8(bytes).unwrap()).map(Cow::into_owned));
            }
            Part::Rest(bytes) | Part::Long(bytes) => passed.extend_from_slice(bytes),
        };
        for piece in pieces {
            splitter.feed(piece, &mut part);
        }
        splitter.finish(&mut part);
        (passed, events)
    }

    const STREAM: &str = "\u{feff}: a comment\n\ndata: {\"a\":\"ä\"}\n\nevent: x\r\ndata:first\r\nid: 7\r\ndata:  second\r\n\r\n\
                          data: cr\rdata: again\r\rdata\n\n\n\n:\n\ndata: [DONE]\n\ndata: no end";
    const EVENTS: [&str; 6] = ["{\"a\":\"ä\"}", "first\n second", "cr\nagain", "", "[DONE]", "no end"];

    #[test]
    fn every_split_gives_the_same_events_and_the_same_bytes() {
        let bytes = STREAM.as_bytes();
        let whole = taken_apart(&[bytes], 1000);
        assert_eq!((whole.0.as_slice(), whole.1.as_slice()), (bytes, &EVENTS.map(str::to_owned)[..]));
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(taken_apart(&single, 1000), whole);
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(taken_apart(&pieces, 1000), whole, "{first} {second}");
            }
        }
    }

    #[test]
    fn an_event_that_is_too_long_passes_and_the_next_one_is_understood() {
        let long = format!("data: {}\n\ndata: next\r\n\r\ndata: last\n\n", "x".repeat(100));
        for size in 1..long.len() {
            let pieces: Vec<&[u8]> = long.as_bytes().chunks(size).collect();
            let (passed, events) = taken_apart(&pieces, 40);
            assert_eq!(passed, long.as_bytes(), "{size}");
            // One that arrives whole need not be held.
            assert!(events.ends_with(&["next".to_owned(), "last".to_owned()]), "{size} {events:?}");
        }
    }

    #[test]
    fn other_data_takes_the_place_of_all_lines_of_data() {
        let event = "event: x\r\ndata: a\r\nid: 1\r\ndata: b\r\n\r\n";
        assert_eq!(with_data(event, "{\n}"), "event: x\nid: 1\ndata: {\ndata: }\n\n");
    }

    proptest! {
        #[test]
        fn no_stream_and_no_split_loses_a_byte(
            text in "(data: |event: x|:|\r\n|\n|\r|ä|\\{\\}){0,30}",
            cuts in proptest::collection::vec(0_usize..100, 0..8),
            most in 1_usize..60,
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut start = 0;
            for cut in cuts.into_iter().chain([bytes.len()]) {
                pieces.push(&bytes[start..cut]);
                start = cut;
            }
            let (passed, events) = taken_apart(&pieces, 1000);
            prop_assert_eq!(&passed, bytes);
            prop_assert_eq!(events, taken_apart(&[bytes], 1000).1);
            prop_assert_eq!(taken_apart(&pieces, most).0, bytes);
        }
    }
}
