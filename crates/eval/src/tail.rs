//! The end of what a program prints, in bounded memory.

use std::sync::Arc;

/// The last bytes of a text that may be endless.
#[derive(Debug)]
pub(crate) struct Tail {
    bytes: std::collections::VecDeque<u8>,
    most: usize,
    /// Whether the beginning is gone.
    cut: bool,
    /// How many of the bytes were taken before.
    taken: usize,
}

impl Tail {
    pub fn new(most: usize) -> Self {
        Self { bytes: std::collections::VecDeque::new(), most, cut: false, taken: 0 }
    }

    pub fn add(&mut self, bytes: &[u8]) {
        let new = &bytes[bytes.len().saturating_sub(self.most)..];
        let surplus = (self.bytes.len() + new.len()).saturating_sub(self.most);
        self.cut |= surplus > 0 || new.len() < bytes.len();
        self.bytes.drain(..surplus);
        self.taken = self.taken.saturating_sub(surplus);
        self.bytes.extend(new);
    }

    /// What came since this was asked last, as text of at most as many bytes.
    pub fn take(&mut self) -> Arc<str> {
        let start = std::mem::replace(&mut self.taken, self.bytes.len());
        self.text(start)
    }

    /// All that there is, whether it was taken or not.
    pub fn whole(&self) -> Arc<str> {
        self.text(0)
    }

    fn text(&self, start: usize) -> Arc<str> {
        let mut bytes: Vec<u8> = self.bytes.range(start..).copied().collect();
        if start == 0 && self.cut {
            // Not in the middle of a character.
            let whole = bytes.iter().take(4).position(|byte| byte & 0xC0 != 0x80).unwrap_or(0);
            bytes.drain(..whole);
        }
        let text = String::from_utf8_lossy(&bytes);
        // A replacement for a byte that is no text takes three.
        let mut from = text.len().saturating_sub(self.most);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        text[from..].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn a_tail_keeps_the_end() {
        let tail = |most: usize, pieces: &[&[u8]]| {
            let mut tail = Tail::new(most);
            for piece in pieces {
                tail.add(piece);
            }
            tail
        };
        assert_eq!(&*tail(6, &[b"abc", b"def"]).take(), "abcdef");
        assert_eq!(&*tail(6, &[b"abc", b"0123456789", b"x"]).take(), "56789x");
        assert_eq!(&*tail(6, &["ääää".as_bytes()]).take(), "äää");
        assert_eq!(&*tail(6, &["aääää".as_bytes(), b"b"]).take(), "ääb");
        assert_eq!(&*tail(6, &[&[0xff; 100]]).take(), "\u{fffd}\u{fffd}");
        assert_eq!(&*tail(0, &[b"abc"]).take(), "");
        let mut talk = tail(6, &[b"abc"]);
        assert_eq!(&*talk.take(), "abc");
        assert_eq!(&*talk.take(), "");
        talk.add(b"defgh");
        assert_eq!((&*talk.whole(), &*talk.take(), &*talk.take()), ("cdefgh", "defgh", ""));
    }
}
