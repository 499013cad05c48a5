//! Texts as they may be shown: secrets that somebody wrote into a file are masked, and everything else stays in its place.

use std::ops::Range;
use std::sync::Arc;

use taskwright_harbor::credentials::is_sensitive;

use super::{Diagnostic, Label};
use crate::source::Source;

/// The files of some diagnostics, as they may be shown.
pub(super) struct Shown(Vec<(Arc<Source>, Source)>);

impl Shown {
    /// Masks what labels hide, and the values of variables whose names promise a credential: a mistake beside such a value
    /// shows its line, too.
    pub fn of<'a>(diagnostics: impl Iterator<Item = &'a Diagnostic>) -> Self {
        let mut files: Vec<(Arc<Source>, Vec<Range<usize>>)> = Vec::new();
        for label in diagnostics.flat_map(Diagnostic::labels) {
            let hidden = label.hidden.then(|| label.span.clone());
            match files.iter_mut().find(|(source, _)| *source == label.source) {
                Some((_, ranges)) => ranges.extend(hidden),
                None => files.push((Arc::clone(&label.source), hidden.into_iter().collect())),
            }
        }
        let masked = |(source, mut ranges): (Arc<Source>, Vec<Range<usize>>)| {
            ranges.extend(credentials(source.text()));
            let shown = Source::new(source.name(), masked(source.text(), ranges));
            (source, shown)
        };
        Self(files.into_iter().map(masked).collect())
    }

    /// The file of a label.
    pub fn source<'a>(&'a self, label: &'a Label) -> &'a Source {
        self.0.iter().find(|(source, _)| *source == label.source).map_or(&label.source, |(_, shown)| shown)
    }
}

/// A text with some parts masked. Every letter is replaced by one of as many bytes, so that no place moves; quotation
/// marks around a part stay.
fn masked(text: &str, mut parts: Vec<Range<usize>>) -> String {
    parts.sort_unstable_by_key(|part| part.start);
    let mut shown = String::with_capacity(text.len());
    for part in parts {
        // Whatever overlaps is masked once.
        let start = part.start.max(shown.len());
        let Some(hidden) = text.get(start..part.end) else { continue };
        shown.push_str(&text[shown.len()..start]);
        let last = hidden.len() - hidden.chars().next_back().map_or(0, char::len_utf8);
        shown.extend(hidden.char_indices().map(|(at, letter)| match letter {
            '"' | '\'' if at == 0 || at == last => letter,
            _ if letter.is_whitespace() => letter,
            _ => star(letter),
        }));
    }
    shown.push_str(&text[shown.len()..]);
    shown
}

/// A star of as many bytes as a letter.
fn star(letter: char) -> char {
    match letter.len_utf8() {
        1 => '*',
        2 => '×',
        3 => '∗',
        _ => '𝀊',
    }
}

/// The values of variables whose names promise a credential, `API_KEY = "..."`, unless they only name another variable.
fn credentials(text: &str) -> Vec<Range<usize>> {
    let is_of_name = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    let mut found: Vec<Range<usize>> = Vec::new();
    for (equals, _) in text.match_indices('=') {
        if found.last().is_some_and(|last| equals < last.end) {
            continue;
        }
        let before = text[..equals].trim_end_matches([' ', '\t', '"', '\'']);
        let name = &before[before.trim_end_matches(is_of_name).len()..];
        let after = text[equals + 1..].trim_start_matches([' ', '\t']);
        let start = text.len() - after.len();
        let quotes = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quotes| after.starts_with(quotes));
        let Some(quotes) = quotes.filter(|_| is_sensitive(name)) else { continue };
        let value = &after[quotes.len()..];
        let end = end_of(value, quotes);
        if !names_another(&value[..end]) {
            let closing = if value[end..].starts_with(quotes) { quotes.len() } else { 0 };
            found.push(start..start + quotes.len() + end + closing);
        }
    }
    found
}

/// Whether a value is `${NAME}`, with a dollar sign more in a spec, and without a value for where there is none.
fn names_another(value: &str) -> bool {
    let name = value.trim_start_matches('$').strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(crate::env::is_env_name)
}

/// Where a string ends whose beginning was cut off with its first quotation marks: at the next ones, or with the line if
/// it cannot go on in the next.
fn end_of(value: &str, quotes: &str) -> usize {
    let mut is_escaped = false;
    let ends = |(at, letter): &(usize, char)| {
        let ends =
            (*letter == '\n' && quotes.len() == 1) || (!is_escaped && value[*at..].starts_with(quotes));
        is_escaped = *letter == '\\' && quotes.starts_with('"') && !is_escaped;
        ends
    };
    value.char_indices().find(ends).map_or(value.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let shown = masked(text, credentials(text));
        assert_eq!(shown.len(), text.len());
        shown
    }

    #[test]
    fn values_of_credentials_are_masked_where_they_stand() {
        for (text, expected) in [
            (r#"API_KEY = "sk-1" # é"#, r#"API_KEY = "****" # é"#),
            (r#"{ "A_TOKEN"='s\', B = "s" }"#, r#"{ "A_TOKEN"='**', B = "s" }"#),
            (r#"A_KEY = "$${B:-s}", C_KEY="${D}""#, r#"A_KEY = "********", C_KEY="${D}""#),
            (r#"A_SECRET = "a\"b" "c""#, r#"A_SECRET = "****" "c""#),
            ("A_KEY = \"unclosed\nB = 1", "A_KEY = \"********\nB = 1"),
            ("# A_KEY = \"äß€𝄞\"", "# A_KEY = \"××∗𝀊\""),
            ("A_KEY = \"\"\"\na\"b\n\"\"\" # c", "A_KEY = \"**\n***\n**\" # c"),
        ] {
            assert_eq!(shown(text), expected);
        }
        for text in [
            r#"API_KEY = "$${OTHER}""#,
            r#"API_KEY = """#,
            "API_KEY = 3",
            r#"reward_key = "accuracy""#,
            r#"MAX_TOKENS = "7""#,
            "=",
            "KEY=",
            "KEY=\"",
        ] {
            assert_eq!(shown(text), text);
        }
    }
}
