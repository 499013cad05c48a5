//! Telling what was drawn at random from words.

/// Whether a text looks drawn at random, and not made of words: twenty letters and digits on end, or small ones, capitals and
/// digits mixed.
pub(super) fn is_random(text: &[u8]) -> bool {
    let longest = text.split(|byte| !byte.is_ascii_alphanumeric()).map(<[u8]>::len).max();
    longest.is_some_and(|longest| longest >= 20)
        || text.len() >= 16
            && text.iter().any(u8::is_ascii_digit)
            && text.iter().any(u8::is_ascii_uppercase)
            && text.iter().any(u8::is_ascii_lowercase)
}
