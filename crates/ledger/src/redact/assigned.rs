//! What is assigned to a sensitive name in any text: `NAME=value`, `name: value`, `"name": "value"`, `--name value`, and
//! headers.

use std::ops::Range;

use super::names::is_sensitive;
use super::random::is_random;

/// The longest name, and the longest value, that are looked at.
const NAME: usize = 96;
const VALUE: usize = 8 << 10;

/// The value that is assigned to the name around a place, if the name is sensitive and the value could be a secret.
pub(super) fn assigned(bytes: &[u8], at: Range<usize>) -> Option<Range<usize>> {
    let name = name(bytes, at)?;
    let text = str::from_utf8(&bytes[name.clone()]).ok()?;
    let is_flag = text.starts_with("--");
    let text = text.trim_start_matches('-');
    let (start, is_tight) = separator(bytes, name.end, is_flag)?;
    let (value, is_quoted) = value(bytes, start);
    let is_variable = !text.bytes().any(|byte| byte.is_ascii_lowercase());
    let content = &bytes[value.clone()];
    let is_one = !is_reference(content)
        && if is_variable && is_tight && !is_quoted {
            content.len() >= 6
        } else {
            is_opaque(content) && (is_quoted || is_flag || !is_code(content))
        };
    (is_one && is_sensitive(text)).then_some(value)
}

/// The whole name.
fn name(bytes: &[u8], at: Range<usize>) -> Option<Range<usize>> {
    let is_in = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let before = &bytes[at.start.saturating_sub(NAME)..at.start];
    let mut start = at.start - before.iter().rev().position(|byte| !is_in(byte)).unwrap_or(before.len());
    // `\nTOKEN=` is how JSON writes a line that begins with it.
    if start > 0 && bytes[start - 1] == b'\\' && matches!(bytes[start], b'n' | b'r' | b't') {
        start += 1;
    }
    let after = &bytes[at.end..bytes.len().min(at.end + NAME)];
    let end = at.end + after.iter().position(|byte| !is_in(byte)).unwrap_or(after.len());
    (start < end && end - start <= NAME).then_some(start..end)
}

/// Where the value begins, and whether it follows a `=` without a space.
fn separator(bytes: &[u8], after: usize, is_flag: bool) -> Option<(usize, bool)> {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let skip = |mut at: usize, most: usize, sign: fn(u8) -> bool| {
        let end = at + most;
        while at < end && sign(byte(at)) {
            at += 1;
        }
        at
    };
    let is_blank = |byte: u8| matches!(byte, b' ' | b'\t');
    let closed = skip(after, 4, |byte| matches!(byte, b'"' | b'\'' | b'\\'));
    let spaced = skip(closed, 4, is_blank);
    let found = match byte(spaced) {
        b'=' if byte(spaced + 1) != b'=' => spaced + 1,
        b':' if byte(spaced + 1) != b':' => spaced + 1,
        b',' if is_flag && closed > after => spaced + 1,
        _ if is_flag && spaced > closed => spaced,
        _ => return None,
    };
    let is_tight = found == after + 1 && byte(after) == b'=';
    Some((skip(found, 4, is_blank), is_tight))
}

/// A value, and whether it stands in quotes. `Bearer` and the like before it are no part of it.
fn value(bytes: &[u8], start: usize) -> (Range<usize>, bool) {
    let rest = &bytes[start.min(bytes.len())..bytes.len().min(start + VALUE)];
    let quote = rest.iter().take(4).take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\')).count();
    let is_quoted = quote > 0;
    let mut from = quote;
    for scheme in ["bearer ", "basic ", "token "] {
        let head = rest.get(from..from + scheme.len());
        if head.is_some_and(|head| head.eq_ignore_ascii_case(scheme.as_bytes())) {
            from += scheme.len();
        }
    }
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace() || b"\"'\\`<>;".contains(byte) || !is_quoted && b",&)}]|".contains(byte)
    };
    let length = rest[from..].iter().position(ends).unwrap_or(rest.len() - from);
    (start + from..start + from + length, is_quoted)
}

/// Whether a value says where a secret is, or that one was taken out, and is none.
fn is_reference(value: &[u8]) -> bool {
    value.first().is_none_or(|first| b"$[{*(%<".contains(first))
        || value.contains(&b'(')
        || value.starts_with(b"/")
            && value[1..].contains(&b'/')
            && !value.iter().any(|byte| b"+=".contains(byte))
        || value.windows(3).any(|three| three == b"***" || three == b"...")
}

/// Whether a value is neither a word nor a number.
fn is_opaque(value: &[u8]) -> bool {
    let has_letter = value.iter().any(u8::is_ascii_alphabetic);
    has_letter && (value.len() >= 8 && value.iter().any(u8::is_ascii_digit) || is_random(value))
}

/// Whether a value without quotes is what a program calls something.
fn is_code(value: &[u8]) -> bool {
    value.iter().any(|byte| b"._[".contains(byte)) && !is_random(value)
}
