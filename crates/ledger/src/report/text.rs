//! Texts of others, made fit to be looked at: one line or many, of a bounded length, without invisible characters.

/// A text of at most so many characters, in which characters that cannot be seen are written out: control characters,
/// and those that turn the direction of writing around. What is longer ends in `…`.
pub fn plain(text: &str, limit: usize) -> String {
    visible(text, limit, |_| false)
}

/// The same for a text of several lines.
pub fn lines(text: &str, limit: usize) -> String {
    visible(text, limit, |character| matches!(character, '\n' | '\t'))
}

fn visible(text: &str, limit: usize, keep: impl Fn(char) -> bool) -> String {
    let mut visible = String::with_capacity(text.len().min(4 * limit));
    for (count, character) in text.chars().enumerate() {
        if count == limit {
            visible.push('…');
            break;
        }
        if keep(character) || !is_invisible(character) {
            visible.push(character);
        } else {
            visible.extend(character.escape_unicode());
        }
    }
    visible
}

fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// `1 trial`, `2 trials`.
pub fn count(number: u64, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {one}{ending}", super::numbers::grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        assert_eq!(plain("a\u{202e}b\u{0}\n", 99), "a\\u{202e}b\\u{0}\\u{a}");
        assert_eq!(lines("a\n\tb\u{1b}[31m", 99), "a\n\tb\\u{1b}[31m");
        assert_eq!(plain("漢字漢字", 3), "漢字漢…");
        assert_eq!(plain("é🦀", 2), "é🦀");
    }

    #[test]
    fn counts_agree_with_their_nouns() {
        assert_eq!(
            [count(0, "trial"), count(1, "trial"), count(12_345, "trial")],
            ["0 trials", "1 trial", "12\u{202f}345 trials"]
        );
    }
}
