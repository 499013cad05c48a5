//! What an answer took, added up from what its pieces say; and by their text, where they do not say it or cannot be right.

use super::reading::Reading;
use crate::tokens::Tokens;

/// How many bytes of text are taken for a token.
pub const BYTES_A_TOKEN: u64 = 4;
/// A token of more bytes than this is not believed: more text than this for each is a count that is too low.
const LONGEST_TOKEN: u64 = 128;

/// What an answer took so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Count {
    input: u64,
    cached: u64,
    written: u64,
    output: u64,
    reasoning: u64,
    /// Whether a number was said that cannot be.
    lies: bool,
    /// How many bytes of text there were.
    text: u64,
}

impl Count {
    /// Adds what a piece says. Of each number the highest counts: streams repeat them, and say some of them late.
    pub fn add(&mut self, reading: &Reading<'_>) {
        self.input = self.input.max(reading.input.unwrap_or(0));
        self.cached = self.cached.max(reading.cached);
        self.written = self.written.max(reading.written);
        self.output = self.output.max(reading.output.unwrap_or(0));
        self.reasoning = self.reasoning.max(reading.reasoning);
        self.lies |= reading.lies;
        self.text = self.text.saturating_add(reading.text);
    }

    /// Adds text that could not be read.
    pub fn add_bytes(&mut self, bytes: usize) {
        self.text = self.text.saturating_add(bytes as u64);
    }

    /// Whether anybody said how much came out.
    pub fn says_output(&self) -> bool {
        self.output > 0
    }

    /// The tokens, for a request whose input is about so large, and whether they are estimated. Of an answer that was cut the
    /// last word is missing, so that what was said is only the least it can be.
    pub fn tokens(&self, input: u64, was_cut: bool) -> (Tokens, bool) {
        let by_text = self.text.div_ceil(BYTES_A_TOKEN);
        let believed =
            self.output.saturating_mul(LONGEST_TOKEN) >= self.text && !(was_cut && self.output < by_text);
        let output = if believed { self.output } else { by_text };
        let has_input = self.input > 0;
        let tokens = Tokens {
            input: if has_input { self.input } else { input },
            cached: self.cached,
            written: self.written,
            output,
            reasoning: self.reasoning,
        };
        // Nothing was said of what went in, or of what came out.
        let nothing_said = !has_input || (self.output == 0 && self.text > 0);
        (tokens.consistent(), !believed || nothing_said || self.lies)
    }
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    fn count(input: u64, output: u64, text: u64) -> Count {
        let mut count = Count::default();
        count.add(&Reading { input: Some(input), output: Some(output), text, ..Reading::default() });
        count
    }

    #[test]
    fn what_is_not_said_is_taken_from_the_text() {
        let taken = |count: Count, was_cut| {
            let (tokens, estimated) = count.tokens(50, was_cut);
            (tokens.input, tokens.output, estimated)
        };
        assert_eq!(taken(count(9, 10, 40), false), (9, 10, false));
        assert_eq!(taken(count(0, 0, 41), false), (50, 11, true));
        assert_eq!(taken(count(9, 0, 0), false), (9, 0, false));
        // Far too few for so much text.
        assert_eq!(taken(count(9, 1, 4000), false), (9, 1000, true));
        // The first number of a stream that was cut.
        assert_eq!(taken(count(9, 1, 40), true), (9, 10, true));
        assert_eq!(taken(count(9, 30, 40), true), (9, 30, false));
        assert_eq!(taken(Count::default(), true), (50, 0, true));
    }
}
