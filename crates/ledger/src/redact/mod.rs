//! Secrets: found by the names they stand under and by their shapes, and removed before anything is stored.
//!
//! A trial's `config.json`, `lock.json` and `result.json` are looked through ([`documents`]): what stands under a
//! sensitive name becomes `[REDACTED]`, and its value is then removed from every other file of the trial ([`Scrubber`]);
//! and so is, from every file, what has the shape of a secret ([`shapes`]), known or not. Names of tasks and trials,
//! identifiers, digests and paths stay as they are, whatever they look like: what tells trials apart is no secret.
//! A template such as `${OPENAI_API_KEY}` is no secret and stays.

mod assigned;
mod documents;
mod names;
mod random;
mod scrub;
mod secrets;
mod shapes;

pub use documents::{Marks, look_through, rewrite};
pub use names::is_sensitive;
pub use scrub::Scrubber;
pub use secrets::{REDACTED, Secrets};
pub use shapes::find;

/// A document without its secrets, wherever in it they stand.
pub fn clean(document: &[u8]) -> Vec<u8> {
    let mut secrets = Secrets::default();
    let marks = look_through(document, &mut secrets);
    rewrite(document, &marks, &Scrubber::new(&secrets)).into_owned()
}

/// Any other text without what has the shape of a secret.
pub fn clean_text(text: &str) -> String {
    String::from_utf8_lossy(&Scrubber::default().scrub(text.as_bytes())).into_owned()
}

#[cfg(test)]
mod tests;
