//! The values of an export, and their types.

use std::borrow::Cow;

use taskwright_harbor::time::Timestamp;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// Text that holds JSON; in JSON Lines the value itself.
    Json,
    /// A whole number, 64 bits with a sign.
    Integer,
    /// A finite number, a double.
    Real,
    /// Yes or no.
    Boolean,
    /// A moment in UTC, to the microsecond.
    Utc,
    /// A date and a time of day in a zone that nobody wrote down, to the microsecond.
    Local,
}

impl Kind {
    /// The word for it in the dictionary.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "JSON",
            Self::Integer => "integer",
            Self::Real => "real",
            Self::Boolean => "boolean",
            Self::Utc => "timestamp, UTC",
            Self::Local => "timestamp, no zone",
        }
    }
}

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Text(Cow<'a, str>),
    /// Also text; whoever writes JSON writes it as it is.
    Json(String),
    Integer(i64),
    Real(f64),
    Boolean(bool),
    Time(Timestamp),
}

impl<'a> Value<'a> {
    pub(super) fn text(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    pub(super) fn maybe_text(text: Option<&'a String>) -> Self {
        text.map_or(Self::Null, |text| Self::text(text))
    }

    pub(super) fn integer(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }

    pub(super) fn maybe_integer(number: Option<u64>) -> Self {
        number.map_or(Self::Null, Self::integer)
    }

    /// A number; none if it is none that every format can write.
    pub(super) fn real(number: Option<f64>) -> Self {
        number.filter(|number| number.is_finite()).map_or(Self::Null, Self::Real)
    }

    /// A moment, if its zone is known (or, for the other column, if it is not).
    pub(super) fn time(written: Option<&String>, is_utc: bool) -> Self {
        let time = written.and_then(|written| Timestamp::parse(written));
        time.filter(|time| time.is_utc == is_utc).map_or(Self::Null, Self::Time)
    }
}

/// A number as JSON and CSV have it: short, and the same number when it is read.
pub(super) fn real_text(number: f64) -> String {
    serde_json::Number::from_f64(number).map_or_else(String::new, |number| number.to_string())
}
