//! What a plain scalar stands for by the rules of YAML 1.1, as vero's reader has them.

use super::Value;

/// The value of a plain scalar.
///
/// # Errors
/// A number that does not fit, in words.
pub(super) fn resolve(text: &str) -> Result<Value, String> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Value::Bool(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Value::Bool(false),
        _ => match (integer(text), float(text)) {
            (Some(number), _) => {
                let fits = i64::try_from(number);
                Value::Integer(fits.map_err(|_| format!("`{text}` is more than a whole number can be"))?)
            }
            (None, Some(number)) if number.is_finite() => Value::Float(number),
            (None, Some(_)) => return Err(format!("`{text}` is no number to count with")),
            (None, None) => Value::Text(text.to_owned()),
        },
    })
}

fn split_sign(text: &str) -> (i128, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// A whole number, or the largest there is where it is even more.
fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = split_sign(text);
    let is_of = |digits: &str, radix: u32| {
        digits.starts_with(|first: char| first.is_digit(radix) || first == '_')
            && digits.chars().all(|digit| digit.is_digit(radix) || digit == '_')
    };
    let value = if let Some(digits) = digits.strip_prefix("0b").filter(|digits| is_of(digits, 2)) {
        parse(digits, 2)
    } else if let Some(digits) = digits.strip_prefix("0x").filter(|digits| is_of(digits, 16)) {
        parse(digits, 16)
    } else if digits.starts_with('0') && digits.len() > 1 && is_of(digits, 8) {
        parse(digits, 8)
    } else if digits == "0" || (digits.starts_with(|first| ('1'..='9').contains(&first)) && is_of(digits, 10))
    {
        parse(digits, 10)
    } else {
        sexagesimal(digits)?
    };
    Some(sign * value)
}

fn parse(digits: &str, radix: u32) -> i128 {
    i128::from_str_radix(&digits.replace('_', ""), radix).unwrap_or(i128::MAX)
}

/// `1:30` is ninety.
fn sexagesimal(text: &str) -> Option<i128> {
    let (first, rest) = text.split_once(':')?;
    if !first.starts_with(|first| ('1'..='9').contains(&first)) || !first.chars().all(is_digit) {
        return None;
    }
    let mut value = parse(first, 10);
    for part in rest.split(':') {
        let number = part.parse::<u64>().ok().filter(|number| *number < 60 && part.chars().all(is_digit))?;
        value = value.saturating_mul(60).saturating_add(number.into());
    }
    Some(value)
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit() || character == '_'
}

/// A number with a point; its exponent, if it has one, has a sign. `1e3` is a text.
fn float(text: &str) -> Option<f64> {
    let (_, number) = split_sign(text);
    if let ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN" = number {
        return Some(f64::NAN);
    }
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (number, None),
    };
    let (whole, fraction) = mantissa.split_once('.')?;
    let has_digit = whole.starts_with(|first: char| first.is_ascii_digit())
        || whole.is_empty() && fraction.starts_with(|first: char| first.is_ascii_digit());
    let is_exponent = |exponent: &str| {
        exponent
            .strip_prefix(['+', '-'])
            .is_some_and(|digits| !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit()))
    };
    let is_number =
        has_digit && whole.chars().chain(fraction.chars()).all(is_digit) && exponent.is_none_or(is_exponent);
    is_number.then(|| text.replace('_', "").parse().ok())?
}
