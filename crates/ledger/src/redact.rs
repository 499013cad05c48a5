//! Secrets: found by the names they stand under and by their shapes, and removed before anything is stored.
//!
//! A trial's `config.json`, `lock.json` and `result.json` are looked through ([`documents`]): what stands under a
//! sensitive name becomes `[REDACTED]`, and its value is then removed from every other file of the trial ([`Scrubber`]).
//! A template such as `${OPENAI_API_KEY}` is no secret and stays.

mod documents;
mod names;
mod scrub;
mod shapes;

pub use documents::redact_document;
pub use names::is_sensitive;
pub use scrub::Scrubber;

/// What stands where a secret was.
pub const REDACTED: &str = "[REDACTED]";

/// The shortest value that is looked for in other files: shorter ones stand in too many places that mean nothing.
const SHORTEST: usize = 6;

/// The secrets of a trial.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    values: Vec<String>,
}

impl Secrets {
    /// Adds a value, unless it is too short or too plain to be looked for elsewhere.
    fn add(&mut self, value: &str) {
        let plain = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && value.len() < 12;
        if value.len() >= SHORTEST
            && value != REDACTED
            && !plain
            && !self.values.iter().any(|known| known == value)
        {
            self.values.push(value.to_owned());
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// A document without its secrets, wherever in it they stand.
pub fn clean(document: &[u8]) -> Vec<u8> {
    let mut secrets = Secrets::default();
    let redacted = redact_document(document, &mut secrets);
    Scrubber::new(&secrets).scrub(&redacted).into_owned()
}

/// Whether a value is a template that names a variable, `${NAME}` or `${NAME:-default}`.
fn is_template(value: &str) -> bool {
    value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).is_some_and(|inner| {
        let name = inner.split(":-").next().unwrap_or_default();
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !inner.contains(":-")
    })
}

#[cfg(test)]
mod tests;
