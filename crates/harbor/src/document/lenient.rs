//! Parts of a document whose type another Harbor may have changed: what does not fit is absent, the rest stands.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::value::RawValue;

/// A part of a document as it stands there.
pub(crate) type Part<'a> = Option<&'a RawValue>;

/// A string. Halves of characters, which Python can write and Rust cannot hold, become U+FFFD.
pub(crate) fn text(part: Part<'_>) -> Option<String> {
    let raw = part?.get();
    if !raw.starts_with('"') {
        return None;
    }
    serde_json::from_str(raw).ok().or_else(|| serde_json::from_str(raw).ok().map(|Lossy(text)| text))
}

/// A whole number that is not negative.
pub(crate) fn count(part: Part<'_>) -> Option<u64> {
    part?.get().parse().ok()
}

/// A finite number.
pub(crate) fn number(part: Part<'_>) -> Option<f64> {
    let raw = part?.get();
    let is_number = raw.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    is_number.then(|| raw.parse().ok()).flatten().filter(|number: &f64| number.is_finite())
}

/// A truth value.
pub(crate) fn flag(part: Part<'_>) -> Option<bool> {
    part?.get().parse().ok()
}

/// An object.
pub(crate) fn object<'a, T: Deserialize<'a>>(part: Part<'a>) -> Option<T> {
    let raw = part?.get();
    raw.starts_with('{').then(|| serde_json::from_str(raw).ok()).flatten()
}

/// Whatever stands there.
pub(crate) fn any(part: Part<'_>) -> Option<Box<RawValue>> {
    part.map(ToOwned::to_owned)
}

/// A list, each item as it stands there.
pub(crate) fn items(part: Part<'_>) -> Vec<&RawValue> {
    part.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// An object's keys, in order, each with what stands under it. Of keys that are the same the last counts.
pub(crate) fn keys(part: Part<'_>) -> Option<BTreeMap<String, &RawValue>> {
    let whole = object::<BTreeMap<String, &RawValue>>(part);
    let lossy =
        || Some(object::<BTreeMap<Lossy, &RawValue>>(part)?.into_iter().map(|(Lossy(key), raw)| (key, raw)));
    whole.or_else(|| lossy().map(Iterator::collect))
}

/// A string with half characters.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Lossy;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn what_fits_is_taken_and_what_does_not_is_absent() {
        let all = ["null", "true", "1", "-1.5", "1e999", "\"x\"", "[1]", "{}"].map(raw);
        let each = |take: &dyn Fn(Part<'_>) -> bool| {
            all.iter().filter(|json| take(Some(json))).map(|json| json.get()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(each(&|part| text(part).is_some()), "\"x\"");
        assert_eq!(each(&|part| count(part).is_some()), "1");
        assert_eq!(each(&|part| number(part).is_some()), "1 -1.5");
        assert_eq!(each(&|part| flag(part).is_some()), "true");
        assert_eq!(each(&|part| object::<serde_json::Map<_, _>>(part).is_some()), "{}");
        assert_eq!(each(&|part| !items(part).is_empty()), "[1]");
    }

    #[test]
    fn half_characters_are_replaced() {
        assert_eq!(text(Some(&raw(r#""a\ud800b\n""#))).unwrap().chars().next(), Some('a'));
        assert!(text(Some(&raw(r#""a\ud800b\n""#))).unwrap().contains('\u{fffd}'));
        assert_eq!(text(Some(&raw(r#""\u00e9""#))).as_deref(), Some("é"));
    }
}
