//! Checks and compacts a line of JSON from someone we do not trust, before anything of ours reads it.
//!
//! A scorer may be written in any language, and it must be able to trust a line it is given. So nothing passes that a
//! common JSON library stumbles over: deep nesting, half a surrogate pair, numbers that are not finite, numerals of
//! thousands of digits. And nothing passes that some reader takes for the end of the line: a carriage return between
//! two tokens is legal JSON, and a scorer that splits lines at it would read what follows, the candidate's own text,
//! as a request of ours. Numerals are kept digit for digit.

/// Levels of nesting that every common library copes with.
const DEEPEST: usize = 128;
/// Python refuses to read longer integers.
const LONGEST_NUMERAL: usize = 4300;

/// The same JSON without white space between tokens, on one line whatever a reader takes for the end of a line.
/// An error says what is wrong with it.
pub(crate) fn compact(line: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(line).map_err(|_| "is not UTF-8".to_owned())?;
    let mut scanner = Scanner { text, at: 0, out: String::with_capacity(text.len()) };
    scanner.document()?;
    Ok(scanner.out)
}

/// The id of a line `{"id": "...", ...}` that need not be JSON behind the id.
pub(crate) fn id_of_damaged(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let rest = text.trim_start().strip_prefix('{')?.trim_start().strip_prefix("\"id\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    strings.next()?.ok()
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    out: String,
}

impl Scanner<'_> {
    fn document(&mut self) -> Result<(), String> {
        // What each open bracket closes with.
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.space();
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    if open.len() == DEEPEST {
                        return Err(format!("is nested deeper than {DEEPEST} levels"));
                    }
                    self.take(1);
                    self.space();
                    let closing = if bracket == b'{' { b'}' } else { b']' };
                    open.push(closing);
                    if self.peek() != Some(closing) {
                        if bracket == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => self.string()?,
                Some(b'-' | b'0'..=b'9') => self.numeral()?,
                _ => self.word()?,
            }
            // A value is complete, or a bracket is about to close.
            loop {
                self.space();
                match (self.peek(), open.last()) {
                    (None, None) => return Ok(()),
                    (Some(byte), Some(closing)) if byte == *closing => {
                        self.take(1);
                        open.pop();
                    }
                    (Some(b','), Some(closing)) => {
                        let object = *closing == b'}';
                        self.take(1);
                        if object {
                            self.space();
                            self.key()?;
                        }
                        break;
                    }
                    _ => return Err(self.not_json()),
                }
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Keeps the next bytes, which must be whole characters.
    fn take(&mut self, count: usize) {
        self.out.push_str(&self.text[self.at..self.at + count]);
        self.at += count;
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn not_json(&self) -> String {
        format!("is not JSON (byte {})", self.at + 1)
    }

    fn key(&mut self) -> Result<(), String> {
        if self.peek() != Some(b'"') {
            return Err(self.not_json());
        }
        self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.not_json());
        }
        self.take(1);
        Ok(())
    }

    fn word(&mut self) -> Result<(), String> {
        let rest = &self.text[self.at..];
        if let Some(word) = ["true", "false", "null"].iter().find(|word| rest.starts_with(**word)) {
            self.take(word.len());
            return Ok(());
        }
        if ["NaN", "Infinity", "-Infinity"].iter().any(|word| rest.starts_with(word)) {
            return Err("is not JSON: it has a NaN or an infinity".to_owned());
        }
        Err(self.not_json())
    }

    fn numeral(&mut self) -> Result<(), String> {
        let rest = &self.text[self.at..];
        if rest.starts_with("-Infinity") {
            return self.word();
        }
        let length = rest
            .bytes()
            .position(|byte| !matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
            .unwrap_or(rest.len());
        let numeral = &rest[..length];
        if length > LONGEST_NUMERAL {
            return Err(format!("has a number of more than {LONGEST_NUMERAL} digits"));
        }
        let whole = is_numeral(numeral).ok_or_else(|| self.not_json())?;
        if !whole && !numeral.parse::<f64>().is_ok_and(f64::is_finite) {
            return Err("has a number that is too large".to_owned());
        }
        self.take(length);
        Ok(())
    }

    fn string(&mut self) -> Result<(), String> {
        self.take(1);
        loop {
            let Some(character) = self.text[self.at..].chars().next() else { return Err(self.not_json()) };
            match character {
                '"' => {
                    self.take(1);
                    return Ok(());
                }
                '\\' => self.escape()?,
                '\0'..='\u{1f}' => return Err(self.not_json()),
                // Ends of lines to some readers.
                '\u{85}' | '\u{2028}' | '\u{2029}' => {
                    self.at += character.len_utf8();
                    self.out.push_str(&format!("\\u{:04x}", u32::from(character)));
                }
                _ => self.take(character.len_utf8()),
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        let half = "has half of a surrogate pair in a string";
        match self.text.as_bytes().get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.take(2),
            Some(b'u') => match self.unit(self.at)? {
                0xD800..=0xDBFF => match self.unit(self.at + 6) {
                    Ok(0xDC00..=0xDFFF) => self.take(12),
                    _ => return Err(half.to_owned()),
                },
                0xDC00..=0xDFFF => return Err(half.to_owned()),
                _ => self.take(6),
            },
            _ => return Err(self.not_json()),
        }
        Ok(())
    }

    /// The number of `\uXXXX` at a place.
    fn unit(&self, at: usize) -> Result<u16, String> {
        let escape = self.text.as_bytes().get(at..at + 6).unwrap_or_default();
        match escape {
            [b'\\', b'u', digits @ ..] if digits.iter().all(u8::is_ascii_hexdigit) => {
                std::str::from_utf8(digits)
                    .ok()
                    .and_then(|digits| u16::from_str_radix(digits, 16).ok())
                    .ok_or_else(|| self.not_json())
            }
            _ => Err(self.not_json()),
        }
    }
}

/// Whether a text is a JSON numeral, and if so, whether of a whole number without exponent.
fn is_numeral(text: &str) -> Option<bool> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (integer, fraction) = match number.split_once('.') {
        Some((integer, fraction)) => (integer, Some(fraction)),
        None => (number, None),
    };
    let valid = digits(integer)
        && (integer == "0" || !integer.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits);
    valid.then_some(fraction.is_none() && exponent.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        compact(text.as_bytes()).expect_err(text)
    }

    #[test]
    fn keeps_values_and_drops_space() {
        for (from, to) in [
            (
                " { \"id\" : \"x\" ,\r\"output\":[ 1 , 2.50, -0, 1E+2 ,{} , [ ] ] } ",
                r#"{"id":"x","output":[1,2.50,-0,1E+2,{},[]]}"#,
            ),
            ("\"a \\u00e9 \\ud83d\\ude00 \\n é\"", "\"a \\u00e9 \\ud83d\\ude00 \\n é\""),
            ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
            ("null", "null"),
            ("\"\u{2028}\u{85}\u{2029}\"", r#""\u2028\u0085\u2029""#),
        ] {
            assert_eq!(compact(from.as_bytes()).as_deref(), Ok(to));
        }
        let long = "9".repeat(4300);
        assert_eq!(compact(long.as_bytes()), Ok(long));
        let deep = "[".repeat(128) + &"]".repeat(128);
        assert_eq!(compact(deep.as_bytes()), Ok(deep));
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(compact(b"\"\xff\"").unwrap_err(), "is not UTF-8");
        assert!(error(&"[".repeat(10_000_000)).contains("nested"));
        assert!(error(&("[".repeat(129) + &"]".repeat(129))).contains("nested"));
        assert!(error("[NaN]").contains("NaN"));
        assert!(error("[-Infinity]").contains("infinity"));
        assert!(error("1e999").contains("too large"));
        assert!(error(&"9".repeat(4301)).contains("digits"));
        for half in [r#""\ud800""#, r#""\udc00""#, r#""\ud800A""#, r#""\ud800x""#] {
            assert!(error(half).contains("surrogate"), "{half}");
        }
        for text in [
            "",
            " ",
            "{",
            "[",
            "]",
            "[1,]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{1:2}",
            "{\"a\":1,}",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "--1",
            "tru",
            "\"a",
            "\"\t\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "1 2",
            "[1}",
            "{\"a\":1]",
            "\"\\u00",
            "\"\\",
        ] {
            assert!(error(text).contains("is not JSON"), "{text}");
        }
    }

    #[test]
    fn agrees_with_serde() {
        for text in ["[1,{\"a\":[]}]", "{\"a\":{\"b\":null}}", "[[],[[]],true]", "\"\\\"\"", "-1.5e-3"] {
            let ours = compact(text.as_bytes()).unwrap();
            let value: serde_json::Value = serde_json::from_str(&ours).unwrap();
            assert_eq!(value, serde_json::from_str::<serde_json::Value>(text).unwrap());
        }
    }

    #[test]
    fn the_id_of_a_damaged_line_is_found() {
        assert_eq!(id_of_damaged(br#"{"id": "x\n", "output": NaN}"#).as_deref(), Some("x\n"));
        assert_eq!(id_of_damaged(b" { \"id\" : \"y\",\"output\":\"\xff").as_deref(), Some("y"));
        assert_eq!(id_of_damaged(br#"{"output": 1}"#), None);
        assert_eq!(id_of_damaged(br#"{"id": 3"#), None);
    }
}
