//! Compacts a line of JSON from someone we do not trust, and refuses what could mislead who reads it after us.
//!
//! A scorer may be written in any language, and it must be able to trust a line it is given. So nothing passes that a
//! common JSON library stumbles over: deep nesting, half a surrogate pair, numbers that are not finite, numerals of
//! thousands of digits. And nothing passes that some reader takes for the end of the line: a carriage return between
//! two tokens is legal JSON, and a scorer that splits lines at it would read what follows, the candidate's own text,
//! as a request of ours. Numerals are kept digit for digit.
//!
//! What JSON is, `serde_json` says. What is done here is done token by token and trusts nothing to be JSON.

use std::fmt::Write as _;

use serde_json::value::RawValue;

/// Levels of nesting that every common library copes with.
const DEEPEST: usize = 128;
/// Python refuses to read longer integers.
const LONGEST_NUMERAL: usize = 4300;

/// The same JSON without white space between tokens, on one line whatever a reader takes for the end of a line.
/// An error says what is wrong with it.
pub(crate) fn compact(line: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(line).map_err(|_| "is not UTF-8".to_owned())?;
    let compacted = tokens(text)?;
    // The text itself: without its spaces `1 2` is a number.
    match serde_json::from_str::<&RawValue>(text) {
        Ok(_) => Ok(compacted),
        Err(error) => Err(format!("is not JSON: {error}")),
    }
}

/// The id of a line `{"id": "...", ...}` that need not be JSON behind the id.
pub(crate) fn id_of_damaged(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let rest = text.trim_start().strip_prefix('{')?.trim_start().strip_prefix("\"id\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    strings.next()?.ok()
}

fn tokens(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut depth) = (text, 0_usize);
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match first {
            ' ' | '\t' | '\n' | '\r' => {
                rest = &rest[length..];
                continue;
            }
            '"' => {
                rest = string(rest, &mut out)?;
                continue;
            }
            '{' | '[' if depth == DEEPEST => return Err(format!("is nested deeper than {DEEPEST} levels")),
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            '-' | '0'..='9' => length = numeral(rest)?,
            _ if ["NaN", "Infinity"].iter().any(|word| rest.starts_with(word)) => {
                return Err("is not JSON: it has a NaN or an infinity".to_owned());
            }
            _ => {}
        }
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    Ok(out)
}

/// How long the numeral is that a text begins with.
fn numeral(text: &str) -> Result<usize, String> {
    let is_other = |character| !matches!(character, '0'..='9' | '.' | 'e' | 'E' | '+' | '-');
    let numeral = &text[..text.find(is_other).unwrap_or(text.len())];
    if numeral.len() > LONGEST_NUMERAL {
        return Err(format!("has a number of more than {LONGEST_NUMERAL} digits"));
    }
    // Whole numbers may have any size.
    if numeral.contains(['.', 'e', 'E']) && numeral.parse::<f64>().is_ok_and(f64::is_infinite) {
        return Err("has a number that is too large".to_owned());
    }
    Ok(numeral.len())
}

/// Copies the string that a text begins with; returns what comes after it.
fn string<'a>(text: &'a str, out: &mut String) -> Result<&'a str, String> {
    out.push('"');
    let mut rest = &text[1..];
    while let Some(character) = rest.chars().next() {
        let mut length = character.len_utf8();
        match character {
            // Ends of lines to some readers.
            '\u{85}' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
                rest = &rest[length..];
                continue;
            }
            '\\' => length = escape(rest)?,
            _ => {}
        }
        out.push_str(&rest[..length]);
        rest = &rest[length..];
        if character == '"' {
            break;
        }
    }
    Ok(rest)
}

/// How long the escape is that a text begins with.
fn escape(text: &str) -> Result<usize, String> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    match (unit(0), unit(6)) {
        (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => Ok(12),
        (Some(0xD800..=0xDFFF), _) => Err("has half of a surrogate pair in a string".to_owned()),
        (Some(_), _) => Ok(6),
        (None, _) => Ok(1 + text[1..].chars().next().map_or(0, char::len_utf8)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

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
