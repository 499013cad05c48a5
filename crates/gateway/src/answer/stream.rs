//! A stream as it passes from the upstream to a client: counted, and otherwise as it came.
//!
//! Nothing is held back but an event that has to be changed, until it is complete.
//!
//! ```text
//!   passing ──▶ the upstream ends ──▶ what is held is sent ──▶ settled: answered
//!      ├─ the upstream breaks off, or says nothing for too long ──▶ an error, settled: cut
//!      ├─ the token is revoked ──▶ an error, settled: cut
//!      └─ the client goes away: dropped ──▶ settled: cut
//! ```

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body::{Body as _, Frame};
use hyper::body::{Bytes, Incoming};
use tokio::time::{Instant, Sleep, sleep};

use super::naming::Naming;
use super::reading::{Reading, read};
use super::sse::{Part, Splitter, data, with_data};
use crate::fields::{edited, place};
use crate::memory::{Memory, Share};
use crate::meter::Reservation;
use crate::wire::Wire;

/// How long an event may be without asking for memory, and with it.
const SHORT: usize = 64 << 10;
const LONG: usize = 16 << 20;

/// How a stream is read and changed.
#[derive(Debug)]
pub struct Reader {
    wire: Wire,
    naming: Naming,
    /// Whether the client did not ask for the piece that says how many tokens it took.
    hides_usage: bool,
    splitter: Splitter,
    /// Whether the last event was left out, and so the rest of its end is.
    left_out: bool,
}

impl Reader {
    /// For an answer, with what the client calls the model.
    pub fn new(wire: Wire, naming: Naming, hides_usage: bool) -> Self {
        Self { wire, naming, hides_usage, splitter: Splitter::new(SHORT), left_out: false }
    }

    /// Whether all bytes pass as they came.
    fn is_idle(&self) -> bool {
        self.naming.is_idle() && !self.hides_usage
    }

    /// What becomes of bytes, and of the end of the stream. What they say goes to `note`.
    fn pass(&mut self, bytes: Option<Bytes>, mut note: impl FnMut(Noted<'_>)) -> Bytes {
        let is_idle = self.is_idle();
        let Self { wire, naming, hides_usage, splitter, left_out } = self;
        let mut out = Vec::new();
        let part = |part: Part<'_>| {
            let raw = match part {
                Part::Rest(raw) => {
                    if !*left_out && !is_idle {
                        out.extend_from_slice(raw);
                    }
                    return;
                }
                Part::Long(raw) => {
                    note(Noted::Bytes(raw.len()));
                    raw
                }
                Part::Event(raw) => match event(*wire, naming, *hides_usage, raw, &mut note) {
                    Become::Same => raw,
                    Become::Nothing => {
                        *left_out = true;
                        return;
                    }
                    Become::Other(text) => {
                        *left_out = false;
                        out.extend_from_slice(text.as_bytes());
                        return;
                    }
                },
            };
            *left_out = false;
            if !is_idle {
                out.extend_from_slice(raw);
            }
        };
        match &bytes {
            Some(bytes) => splitter.feed(bytes, part),
            None => splitter.finish(part),
        }
        if is_idle { bytes.unwrap_or_default() } else { Bytes::from(out) }
    }
}

/// What a part of a stream says.
enum Noted<'a> {
    Reading(&'a Reading<'a>),
    /// So much that was not understood.
    Bytes(usize),
}

/// What becomes of an event.
enum Become {
    Same,
    Nothing,
    Other(String),
}

fn event(
    wire: Wire,
    naming: &Naming,
    hides_usage: bool,
    raw: &[u8],
    note: &mut impl FnMut(Noted<'_>),
) -> Become {
    let Ok(text) = std::str::from_utf8(raw) else {
        note(Noted::Bytes(raw.len()));
        return Become::Same;
    };
    let Some(data) = data(text) else { return Become::Same };
    let Some(reading) = read(wire, &data) else {
        // The words that end a stream of chat are no text.
        if data.trim() != "[DONE]" {
            note(Noted::Bytes(data.len()));
        }
        return Become::Same;
    };
    note(Noted::Reading(&reading));
    if hides_usage && reading.only_usage {
        return Become::Nothing;
    }
    let edits = naming.edits(&data, &reading);
    if edits.is_empty() {
        return Become::Same;
    }
    Become::Other(match &data {
        std::borrow::Cow::Borrowed(line) => {
            let offset = place(text, line).start;
            let moved = edits.into_iter().map(|(at, name)| (at.start + offset..at.end + offset, name));
            edited(text, moved.collect())
        }
        std::borrow::Cow::Owned(lines) => with_data(text, &edited(lines, edits)),
    })
}

/// The body of an answer that is a stream.
pub struct Passing {
    upstream: Option<Incoming>,
    reader: Reader,
    /// None where nothing is charged.
    reservation: Option<Reservation>,
    patience: Duration,
    idle: Pin<Box<Sleep>>,
    memory: Memory,
    /// For events that are longer than most.
    share: Option<Share>,
}

impl Passing {
    /// A body that passes on what the upstream sends, and waits so long for each piece of it.
    pub fn new(
        upstream: Incoming,
        reader: Reader,
        reservation: Option<Reservation>,
        memory: Memory,
        patience: Duration,
    ) -> Self {
        let idle = Box::pin(sleep(patience));
        Self { upstream: Some(upstream), reader, reservation, patience, idle, memory, share: None }
    }

    /// Makes room for a longer event, as far as there is memory for it.
    fn make_room(&mut self, more: usize) {
        let splitter = &mut self.reader.splitter;
        while splitter.held() + more > splitter.most && splitter.most < LONG {
            let Some(share) = self.memory.take_now(splitter.most) else { return };
            Share::add(&mut self.share, share);
            splitter.most *= 2;
        }
    }

    fn pass(&mut self, bytes: Option<Bytes>) -> Bytes {
        self.make_room(bytes.as_ref().map_or(0, Bytes::len));
        let mut count = self.reservation.as_mut().and_then(Reservation::count);
        self.reader.pass(bytes, |noted| {
            if let Some(count) = &mut count {
                match noted {
                    Noted::Reading(reading) => count.add(reading),
                    Noted::Bytes(bytes) => count.add_bytes(bytes),
                }
            }
        })
    }

    /// Ends it: what passed is charged.
    fn break_off(&mut self, kind: io::ErrorKind) -> io::Error {
        self.upstream = None;
        self.reservation = None;
        kind.into()
    }

    /// The next piece, for hyper.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        loop {
            let Some(upstream) = &mut self.upstream else { return Poll::Ready(None) };
            if self.reservation.as_ref().is_some_and(|reservation| !reservation.who().is_valid()) {
                return Poll::Ready(Some(Err(self.break_off(io::ErrorKind::ConnectionAborted))));
            }
            let passed = match Pin::new(upstream).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.idle.as_mut().reset(Instant::now() + self.patience);
                    // Trailers say nothing that a client needs.
                    frame.into_data().map_or(Bytes::new(), |bytes| self.pass(Some(bytes)))
                }
                Poll::Ready(Some(Err(_))) => {
                    return Poll::Ready(Some(Err(self.break_off(io::ErrorKind::UnexpectedEof))));
                }
                Poll::Ready(None) => {
                    let rest = self.pass(None);
                    self.upstream = None;
                    if let Some(reservation) = self.reservation.take() {
                        reservation.answered();
                    }
                    rest
                }
                Poll::Pending => {
                    ready!(self.idle.as_mut().poll(context));
                    return Poll::Ready(Some(Err(self.break_off(io::ErrorKind::TimedOut))));
                }
            };
            if !passed.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(passed))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::super::count::Count;
    use super::*;

    fn passed(reader: &mut Reader, pieces: &[&[u8]]) -> (String, Count) {
        let mut count = Count::default();
        let mut out = Vec::new();
        let pieces = pieces.iter().map(|piece| Some(Bytes::copy_from_slice(piece)));
        for piece in pieces.chain([None]) {
            out.extend(reader.pass(piece, |noted| match noted {
                Noted::Reading(reading) => count.add(reading),
                Noted::Bytes(bytes) => count.add_bytes(bytes),
            }));
        }
        (String::from_utf8(out).unwrap(), count)
    }

    const CHAT: &str = "data: {\"model\":\"up/a\",\"choices\":[{\"delta\":{\"content\":\"hi\"}}],\"usage\":null}\r\n\r\n\
                        data: {\"model\":\"up/a\",\"choices\":[],\r\ndata: \"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}}\r\n\r\n\
                        data: [DONE]\r\n\r\n";

    #[test]
    fn a_stream_is_changed_alike_however_it_is_split() {
        let reader = || Reader::new(Wire::Chat, Naming::Asked("a".into()), true);
        let changed = "data: {\"model\":\"a\",\"choices\":[{\"delta\":{\"content\":\"hi\"}}],\"usage\":null}\r\n\r\n\
                       data: [DONE]\r\n\r\n";
        for size in 1..=CHAT.len() {
            let pieces: Vec<&[u8]> = CHAT.as_bytes().chunks(size).collect();
            let (text, count) = passed(&mut reader(), &pieces);
            assert_eq!(text, changed, "{size}");
            let (tokens, estimated) = count.tokens(9, false);
            assert_eq!((tokens.input, tokens.output, estimated), (5, 1, false));
        }
    }

    #[test]
    fn a_stream_that_needs_no_change_passes_as_it_came() {
        for size in 1..=CHAT.len() {
            let pieces: Vec<&[u8]> = CHAT.as_bytes().chunks(size).collect();
            let (text, count) = passed(&mut Reader::new(Wire::Chat, Naming::AsItIs, false), &pieces);
            assert_eq!(text, CHAT);
            assert_eq!(count.tokens(9, false).0.input, 5);
        }
    }

    #[test]
    fn a_name_in_several_lines_of_data_is_changed_too() {
        let event = "event: x\ndata: {\"model\":\ndata: \"up\"}\n\n";
        let (text, _) =
            passed(&mut Reader::new(Wire::Chat, Naming::Asked("m".into()), false), &[event.as_bytes()]);
        assert_eq!(text, "event: x\ndata: {\"model\":\ndata: \"m\"}\n\n");
    }
}
