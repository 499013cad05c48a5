//! Words of unknown origin, made fit for a terminal, a page or a message.

use std::fmt::Write as _;

/// Whether a character shows nothing itself and changes what is shown: control characters, those that turn the direction of
/// writing, and those without width. The one list for terminals, pages, messages and names of files.
pub fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// A text on one line: what cannot be seen is written out, as `\n` or `\u{202e}`.
pub fn clean(text: &str) -> String {
    escape(text.chars(), |_| false)
}

/// The same for a text of several lines.
pub fn clean_lines(text: &str) -> String {
    escape(text.chars(), |character| matches!(character, '\n' | '\t'))
}

/// [`clean`], of at most so many characters before escapes; what is longer ends in `…`.
pub fn brief(text: &str, most: usize) -> String {
    brief_with(text, most, |_| false)
}

/// [`clean_lines`], of at most so many characters before escapes; what is longer ends in `…`.
pub fn brief_lines(text: &str, most: usize) -> String {
    brief_with(text, most, |character| matches!(character, '\n' | '\t'))
}

fn brief_with(text: &str, most: usize, keep: impl Fn(char) -> bool) -> String {
    let mut shown = escape(text.chars().take(most), keep);
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

fn escape(text: impl Iterator<Item = char>, keep: impl Fn(char) -> bool) -> String {
    let mut shown = String::new();
    for character in text {
        match character {
            _ if keep(character) || !is_invisible(character) => shown.push(character),
            '\n' | '\r' | '\t' => shown.extend(character.escape_default()),
            _ => shown.extend(character.escape_unicode()),
        }
    }
    shown
}

/// What a terminal would show in the end: no escape sequences, and of a line that was overwritten what stood there last.
pub fn settled(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.split('\n') {
        let line = line.trim_end_matches('\r');
        let line = line.rsplit('\r').next().unwrap_or_default();
        let mut kept = String::with_capacity(line.len());
        let mut characters = line.chars();
        while let Some(character) = characters.next() {
            match character {
                '\u{1b}' => {
                    // `ESC [ parameters letter`; any other sequence is two characters long.
                    if characters.next() == Some('[') {
                        characters.by_ref().find(|character| ('@'..='~').contains(character));
                    }
                }
                '\t' => kept.push(character),
                _ if character.is_control() => {}
                _ => kept.push(character),
            }
        }
        lines.push(kept.trim_end().to_owned());
    }
    lines.join("\n").trim().to_owned()
}

/// The beginning of a text, in at most so many bytes and without half a character.
pub fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// A text as one word of a POSIX shell.
pub fn shell_word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The known word that somebody who wrote `word` most likely meant.
///
/// Only the first ten thousand are looked at: enough to find a typing mistake in, and looking through millions of sample
/// ids would take longer than a build.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |word: &str| word.to_lowercase().replace('-', "_");
    let folded = fold(word);
    let length = folded.chars().count();
    known
        .into_iter()
        .take(10_000)
        .map(|candidate| (strsim::damerau_levenshtein(&folded, &fold(candidate)), candidate))
        .filter(|(distance, candidate)| {
            let length = candidate.chars().count().max(length);
            *distance < length && *distance <= 1.max(length / 3)
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Words as a choice: "`a`, `b` or `c`". Of very many only the first are named.
pub fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 24;
    let words: Vec<&str> = words.into_iter().collect();
    let mut shown: Vec<String> = words.iter().take(MOST).map(|word| format!("`{word}`")).collect();
    if words.len() > MOST {
        shown.push(format!("{} others", words.len() - MOST));
    }
    match shown.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// `1 trial`, `2 trials`.
pub fn count(number: u64, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    let mut text = String::new();
    let _ = write!(text, "{number} {one}{ending}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        assert_eq!(clean("a\u{202e}b\u{0}\n\tc\u{ad}"), "a\\u{202e}b\\u{0}\\n\\tc\\u{ad}");
        assert_eq!(clean_lines("a\n\tb\u{1b}[31m"), "a\n\tb\\u{1b}[31m");
        assert_eq!(brief("漢字漢字", 3), "漢字漢…");
        assert_eq!(brief("é🦀", 2), "é🦀");
        assert_eq!(brief_lines("a\nb\nc", 3), "a\nb…");
    }

    #[test]
    fn terminals_texts_settle() {
        assert_eq!(settled("a\r\n\u{1b}[31mred\u{1b}[0m\n 1%\r 50%\r100%\n\u{7}x"), "a\nred\n100%\nx");
    }

    #[test]
    fn no_character_is_halved() {
        assert_eq!((cut("aä", 2), cut("aä", 3), cut("", 9)), ("a", "aä", ""));
    }

    #[test]
    fn the_nearest_word_is_near() {
        let known = ["viewable", "non_viewable", "no_access"];
        assert_eq!(nearest("no_acces", known), Some("no_access"));
        assert_eq!(nearest("Non-Viewable", known), Some("non_viewable"));
        assert_eq!(nearest("x", known), None);
        assert_eq!(nearest("ab", ["xy"]), None);
    }

    #[test]
    fn choices_and_counts_read_well() {
        assert_eq!(one_of(["a", "b", "c"]), "`a`, `b` or `c`");
        assert_eq!(one_of([]), "nothing");
        assert_eq!(
            [count(0, "trial"), count(1, "trial"), count(2, "trial")],
            ["0 trials", "1 trial", "2 trials"]
        );
    }
}
