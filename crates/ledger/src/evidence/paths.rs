//! Names of files as text: any name there can be has a text, and every such text names one file.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A name as text: a byte that is not UTF-8 is written `\xNN`, a backslash `\\`.
pub fn escape(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        if chunk.valid().contains('\\') {
            text.push_str(&chunk.valid().replace('\\', "\\\\"));
        } else {
            text.push_str(chunk.valid());
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// The name that a text stands for; none if it is no text that [`escape`] gives.
pub fn unescape(text: &str) -> Option<PathBuf> {
    let mut name = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = match (first, tail) {
            (b'\\', [b'\\', tail @ ..]) => {
                name.push(b'\\');
                tail
            }
            (b'\\', [b'x', high, low, tail @ ..]) => {
                let digit = |digit: u8| char::from(digit).to_digit(16);
                name.push(u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()?);
                tail
            }
            (b'\\', _) => return None,
            (byte, tail) => {
                name.push(byte);
                tail
            }
        };
    }
    Some(PathBuf::from(OsString::from_vec(name)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn names_that_are_no_text_are_told_apart() {
        assert_eq!(escape(b"agent/\xff\\x"), "agent/\\xff\\\\x");
        assert_eq!(unescape("\\y"), None);
        assert_eq!(unescape("\\x+f"), None);
    }

    proptest! {
        #[test]
        fn every_name_comes_back(name: Vec<u8>) {
            prop_assert_eq!(unescape(&escape(&name)).unwrap().into_os_string().into_vec(), name);
        }
    }
}
