//! The secrets of a trial, as they are collected.

/// What stands where a secret was.
pub const REDACTED: &str = "[REDACTED]";

/// The shortest value that is looked for in other files: shorter ones stand in too many places that mean nothing.
const SHORTEST: usize = 6;

/// The secrets of a trial.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    pub(super) values: Vec<String>,
}

impl Secrets {
    /// Adds a value, unless it is too short or too plain to be looked for elsewhere.
    pub fn add(&mut self, value: &str) {
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let plain = value.len() < 12 && (is_number || is_word(value));
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

/// Whether a value is a word, as `always` under `use_api_key`: without it, every other text would have holes in it.
fn is_word(value: &str) -> bool {
    let rest = value.strip_prefix(|first: char| first.is_ascii_uppercase()).unwrap_or(value);
    let is_all = |is_in: fn(&u8) -> bool| value.as_bytes().iter().all(is_in);
    rest.bytes().all(|byte| byte.is_ascii_lowercase()) || is_all(u8::is_ascii_uppercase)
}

/// Whether a value is a template that names a variable, `${NAME}` or `${NAME:-default}`.
pub(super) fn is_template(value: &str) -> bool {
    value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).is_some_and(|inner| {
        let name = inner.split(":-").next().unwrap_or_default();
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !inner.contains(":-")
    })
}
