//! The numbers that Python writes and JSON does not have: `NaN`, `Infinity` and `-Infinity`.

/// A number that is not finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NonFinite {
    /// Not a number.
    NaN,
    /// Infinity.
    Infinity,
    /// Minus infinity.
    MinusInfinity,
}

/// Each word with the JSON string that stands for it once a text was [`marked`]. The strings are spelled in a way that
/// no writer spells them, so a string that says `NaN` is still told from the number.
const WORDS: [(NonFinite, &str, &str); 3] = [
    (NonFinite::NaN, "NaN", r#""\u004eaN""#),
    (NonFinite::Infinity, "Infinity", r#""\u0049nfinity""#),
    (NonFinite::MinusInfinity, "-Infinity", r#""-\u0049nfinity""#),
];

/// The text with those words, where they stand as values, spelled as JSON strings; none if it has none.
pub(crate) fn marked(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut marked: Option<String> = None;
    let (mut at, mut copied) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = after_string(bytes, at),
            b'N' | b'I' | b'-' => {
                let Some((_, word, mark)) = WORDS.iter().find(|(_, word, _)| is_word(text, at, word)) else {
                    at += 1;
                    continue;
                };
                let marked = marked.get_or_insert_with(|| String::with_capacity(text.len() + 64));
                marked.push_str(&text[copied..at]);
                marked.push_str(mark);
                at += word.len();
                copied = at;
            }
            _ => at += 1,
        }
    }
    let mut marked = marked?;
    marked.push_str(&text[copied..]);
    Some(marked)
}

/// The index after the string that begins at an index; the end of the text if the string has none.
fn after_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn is_word(text: &str, at: usize, word: &str) -> bool {
    let bytes = text.as_bytes();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_+-.".contains(&byte) || !byte.is_ascii();
    bytes[at..].starts_with(word.as_bytes())
        && !at.checked_sub(1).is_some_and(|before| is_part(bytes[before]))
        && !bytes.get(at + word.len()).copied().is_some_and(is_part)
}

/// Which number a raw value stands for in a [`marked`] text; none for every other value.
pub(crate) fn written(raw: &str) -> Option<NonFinite> {
    WORDS.iter().find(|(_, _, mark)| *mark == raw).map(|(number, ..)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn only_values_are_marked() {
        for whole in
            ["{}", r#"{"NaN": "NaN, Infinity"}"#, r#"["\"NaN", -1, "-Infinity"]"#, "[NaNs, xNaN, -NaN]"]
        {
            assert_eq!(marked(whole), None, "{whole}");
        }
        let text = r#"{"a\"": NaN,"NaN":[-Infinity , Infinity],"c":"\\",  "d":NaN}"#;
        let text = marked(text).unwrap();
        assert_eq!(
            text,
            r#"{"a\"": "\u004eaN","NaN":["-\u0049nfinity" , "\u0049nfinity"],"c":"\\",  "d":"\u004eaN"}"#
        );
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["NaN"], serde_json::json!(["-Infinity", "Infinity"]));
    }

    #[test]
    fn marks_are_recognised_and_strings_are_not() {
        assert_eq!(written(r#""\u004eaN""#), Some(NonFinite::NaN));
        assert_eq!(written(r#""NaN""#), None);
        assert_eq!(written("1"), None);
    }

    #[test]
    fn unfinished_strings_end_with_the_text() {
        for text in ["\"", "\"\\", "NaN \"NaN", "\"é\\"] {
            let _ = marked(text);
        }
        assert_eq!(marked("NaN").as_deref(), Some(r#""\u004eaN""#));
    }
}
