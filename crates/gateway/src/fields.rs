//! The fields of a JSON object, with where each value stands in the text: what is changed is changed there, and all else passes
//! as it came.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The most fields of an object, and the most items of a list, that are looked at. Nobody needs more, and each takes memory of
/// its own.
const MOST: usize = 4096;

/// The fields of an object, in their order. A name may stand there twice.
pub struct Fields<'a>(pub Vec<(Cow<'a, str>, &'a str)>);

impl<'a> Fields<'a> {
    /// The fields of a text that is one object.
    pub fn of(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// The text of the value of the first field of a name.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// The value of the first field of a name, if it is of a type.
    pub fn read<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.get(name)?).ok()
    }
}

/// Where a part of a text stands in it.
pub fn place(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr().saturating_sub(text.as_ptr().addr()).min(text.len());
    start..(start + part.len()).min(text.len())
}

/// A text with other words at some places, which do not overlap.
pub fn edited(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut result = String::with_capacity(text.len() + 64);
    let mut done = 0;
    for (range, words) in edits {
        result.push_str(&text[done..range.start]);
        result.push_str(&words);
        done = range.end;
    }
    result.push_str(&text[done..]);
    result
}

/// A whole number of 0 or more, however JSON writes it: `7.0` is one too.
pub fn whole_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..1e15).contains(number));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number in range"
        )]
        number.map(|number| number as u64)
    })
}

/// A string as JSON.
pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// The items of a list.
pub struct Items<'a>(pub Vec<&'a str>);

impl<'de> Deserialize<'de> for Items<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Items<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Items<'de>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = values.next_element::<&'de RawValue>()? {
                    if items.len() == MOST {
                        return Err(A::Error::custom("it has too many items"));
                    }
                    items.push(item.get());
                }
                Ok(Items(items))
            }
        }
        deserializer.deserialize_seq(List)
    }
}

struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Name<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the name of a field")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(Names)
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some((name, value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
                    if fields.len() == MOST {
                        return Err(A::Error::custom("it has too many fields"));
                    }
                    fields.push((name.0, value.get()));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn a_value_is_changed_where_it_stands() {
        let text = " {\"a\" : [1, 2] ,\"mod\\u0065l\":\"x\", \"z\":null }\n";
        let fields = Fields::of(text).unwrap();
        let at = |name| place(text, fields.get(name).unwrap());
        let edits = vec![(at("model"), quoted("y\"")), (at("a"), "3".to_owned())];
        assert_eq!(edited(text, edits), " {\"a\" : 3 ,\"mod\\u0065l\":\"y\\\"\", \"z\":null }\n");
        assert_eq!(fields.read::<Vec<u8>>("a"), Some(vec![1, 2]));
        assert!(fields.read::<u8>("model").is_none());
        for wrong in ["[]", "{\"a\":1} x", "{\"a\":}", ""] {
            assert!(Fields::of(wrong).is_err(), "{wrong}");
        }
        let many: Vec<String> = (0..=MOST).map(|number| format!("\"{number}\":0")).collect();
        assert!(Fields::of(&format!("{{{}}}", many.join(","))).is_err());
    }
}
