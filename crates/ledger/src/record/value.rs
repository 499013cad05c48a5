//! A value of a column: what fields of a trial become in the database, in an export and on a terminal, and back.

use std::borrow::Cow;
use std::str::FromStr;

use rusqlite::ToSql;
use rusqlite::types::{FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use taskwright_harbor::time::Timestamp;

use super::json::Json;
use super::words::{Failure, Kept, Source, Status};

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
    /// 32 bytes, in the database only.
    Digest,
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
            Self::Digest => "digest",
        }
    }
}

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Text(Cow<'a, str>),
    /// Also text; whoever writes JSON writes it as it is.
    Json(String),
    Integer(i64),
    Real(f64),
    Boolean(bool),
    Time(Timestamp),
    Digest([u8; 32]),
}

impl<'a> Value<'a> {
    pub fn text(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// A count; one beyond what a database holds is unknown, and never another number.
    pub fn integer(number: u64) -> Self {
        i64::try_from(number).map_or(Self::Null, Self::Integer)
    }

    /// The value as a file of a kind of column has it: what is no finite number, no JSON or no such time is none.
    pub fn exported(self, kind: Kind) -> Self {
        match (kind, self) {
            (Kind::Real, Self::Real(number)) if !number.is_finite() => Self::Null,
            (Kind::Json, Self::Text(text)) => {
                Json::parse(&text).map_or(Self::Null, |json| Self::Json(json.to_string()))
            }
            (Kind::Utc | Kind::Local, Self::Text(text)) => Timestamp::parse(&text)
                .filter(|time| time.is_utc == (kind == Kind::Utc))
                .map_or(Self::Null, Self::Time),
            (_, value) => value,
        }
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null | Self::Time(_) => ValueRef::Null,
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Json(text) => ValueRef::Text(text.as_bytes()),
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Boolean(is_true) => ValueRef::Integer(i64::from(*is_true)),
            Self::Digest(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// A number as JSON and CSV have it: short, and the same number when it is read.
pub(crate) fn real_text(number: f64) -> String {
    serde_json::Number::from_f64(number).map_or_else(String::new, |number| number.to_string())
}

/// What a field of a record can be.
pub(crate) trait Field: Default {
    fn value(&self) -> Value<'_>;

    /// Takes over what the database has, in the memory that is there already.
    fn read(&mut self, value: ValueRef<'_>) -> FromSqlResult<()>;
}

impl Field for String {
    fn value(&self) -> Value<'_> {
        Value::text(self)
    }

    fn read(&mut self, value: ValueRef<'_>) -> FromSqlResult<()> {
        self.clear();
        self.push_str(value.as_str()?);
        Ok(())
    }
}

impl Field for f64 {
    fn value(&self) -> Value<'_> {
        Value::Real(*self)
    }

    fn read(&mut self, value: ValueRef<'_>) -> FromSqlResult<()> {
        *self = value.as_f64()?;
        Ok(())
    }
}

impl Field for u64 {
    fn value(&self) -> Value<'_> {
        Value::integer(*self)
    }

    fn read(&mut self, value: ValueRef<'_>) -> FromSqlResult<()> {
        *self = value.as_i64()?.unsigned_abs();
        Ok(())
    }
}

impl Field for bool {
    fn value(&self) -> Value<'_> {
        Value::Boolean(*self)
    }

    fn read(&mut self, value: ValueRef<'_>) -> FromSqlResult<()> {
        *self = value.as_i64()? != 0;
        Ok(())
    }
}

impl<T: Field> Field for Option<T> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, T::value)
    }

    fn read(&mut self, value: ValueRef<'_>) -> FromSqlResult<()> {
        if value == ValueRef::Null {
            *self = None;
            Ok(())
        } else {
            self.get_or_insert_default().read(value)
        }
    }
}

/// A word of the database, which is that of the record.
pub(crate) fn word<T: FromStr<Err = String>>(value: ValueRef<'_>) -> FromSqlResult<T> {
    value.as_str()?.parse().map_err(|message: String| FromSqlError::Other(message.into()))
}

macro_rules! fields_of_one_word {
    ($($name:ty),+) => {
        $(
            impl Field for $name {
                fn value(&self) -> Value<'_> {
                    Value::text(self.word())
                }

                fn read(&mut self, value: ValueRef<'_>) -> FromSqlResult<()> {
                    *self = word(value)?;
                    Ok(())
                }
            }
        )+
    };
}
fields_of_one_word!(Source, Status, Kept);

/// What broke has no default, as the others have: it is a field only where it may be absent.
impl Field for Option<Failure> {
    fn value(&self) -> Value<'_> {
        self.map_or(Value::Null, |failure| Value::text(failure.word()))
    }

    fn read(&mut self, value: ValueRef<'_>) -> FromSqlResult<()> {
        *self = if value == ValueRef::Null { None } else { Some(word(value)?) };
        Ok(())
    }
}
