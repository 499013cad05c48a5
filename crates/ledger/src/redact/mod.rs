//! Secrets: found by the names they stand under and by their shapes, and removed before anything is stored.
//!
//! A trial's `config.json`, `lock.json` and `result.json` are looked through ([`documents`]): what stands under a
//! sensitive name becomes `[REDACTED]`, and its value is then removed from every other file of the trial ([`Scrubber`]).
//! A template such as `${OPENAI_API_KEY}` is no secret and stays.

mod documents;
mod names;
mod scrub;
mod secrets;
mod shapes;

pub use documents::redact_document;
pub use names::is_sensitive;
pub use scrub::Scrubber;
pub use secrets::{REDACTED, Secrets};

/// A document without its secrets, wherever in it they stand.
pub fn clean(document: &[u8]) -> Vec<u8> {
    let mut secrets = Secrets::default();
    let redacted = redact_document(document, &mut secrets);
    Scrubber::new(&secrets).scrub(&redacted).into_owned()
}

#[cfg(test)]
mod tests;
