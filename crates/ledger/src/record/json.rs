//! JSON whose numbers keep their digits: an integer beyond 64 bits would become another number as a double.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use serde_json::value::RawValue;

/// How deep a document may be nested; what is deeper is not taken apart.
const DEEPEST: usize = 100;

/// A JSON value. Written, its keys are sorted and there are no spaces, so that the same value is the same text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Json {
    Object(BTreeMap<String, Self>),
    Array(Vec<Self>),
    Text(String),
    /// A number, `true`, `false` or `null`, as it is written.
    Plain(String),
}

impl Json {
    /// Reads a text; nothing if it is no JSON, is nested too deep, or has text that Rust cannot hold.
    pub fn parse(text: &str) -> Option<Self> {
        Self::read(serde_json::from_str(text).ok()?, 0)
    }

    fn read(raw: &RawValue, depth: usize) -> Option<Self> {
        if depth > DEEPEST {
            return None;
        }
        let text = raw.get();
        Some(match text.as_bytes().first()? {
            b'{' => {
                let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
                let read = |(key, raw)| Some((key, Self::read(raw, depth + 1)?));
                Self::Object(members.into_iter().map(read).collect::<Option<_>>()?)
            }
            b'[' => {
                let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                Self::Array(items.into_iter().map(|raw| Self::read(raw, depth + 1)).collect::<Option<_>>()?)
            }
            b'"' => Self::Text(serde_json::from_str(text).ok()?),
            _ => Self::Plain(plain(text)?),
        })
    }

    /// Whether it says no more than if it were not there.
    pub fn is_nothing(&self) -> bool {
        match self {
            Self::Object(members) => members.is_empty(),
            Self::Array(items) => items.is_empty(),
            Self::Text(_) => false,
            Self::Plain(text) => text == "null" || text == "false",
        }
    }
}

/// A number as Rust writes it, unless that would be another number.
fn plain(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    let is_integer = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    Some(if value.is_f64() && is_integer { text.to_owned() } else { value.to_string() })
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::Object(members) => {
                Self::Object(members.iter().map(|(key, value)| (key.clone(), value.into())).collect())
            }
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::String(text) => Self::Text(text.clone()),
            plain => Self::Plain(plain.to_string()),
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &String| Value::from(text.as_str()).to_string();
        match self {
            Self::Object(members) => {
                f.write_str("{")?;
                for (index, (key, value)) in members.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{}:{value}", quoted(key))?;
                }
                f.write_str("}")
            }
            Self::Array(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str("]")
            }
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::Plain(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn an_integer_of_any_length_keeps_its_digits() {
        let text = r#"{"b":[12345678901234567890123,-9223372036854775809,18446744073709551615],"a":1.0,"c":1e5,"d":0.10}"#;
        let read = Json::parse(text).unwrap().to_string();
        assert_eq!(
            read,
            r#"{"a":1.0,"b":[12345678901234567890123,-9223372036854775809,18446744073709551615],"c":100000.0,"d":0.1}"#
        );
        let nested = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        for none in ["", "{", r#""\ud800""#, &nested] {
            assert_eq!(Json::parse(none), None);
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_64_bits_hold_is_written_as_serde_has_it(value in any_value()) {
            let text = value.to_string();
            let expected = serde_json::from_str::<Value>(&text).unwrap().to_string();
            prop_assert_eq!(Json::parse(&text).unwrap().to_string(), expected);
        }
    }
}
