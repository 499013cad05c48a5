//! Numbers as the page writes them: short for the reader, and in full for sorting and for whoever checks them.

use serde::Serialize;

/// A number, and how it is shown. Without a value, a dash is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Number {
    /// The number in full.
    pub value: Option<f64>,
    /// As it is shown.
    pub text: String,
}

/// A number or a word that leads to the trials behind it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Link {
    /// The number in full, for sorting.
    pub value: Option<f64>,
    /// As it is shown.
    pub text: String,
    /// The nearest place of the page that shows them without a script.
    pub href: Option<String>,
    /// Which trials the script shows, if that is more exact than the place.
    pub go: Option<String>,
    /// What a screen reader says, where the text alone says too little.
    pub says: Option<String>,
}

impl Number {
    fn new(value: Option<f64>, show: impl Fn(f64) -> String) -> Self {
        Self { value, text: value.map_or_else(|| "–".to_owned(), show) }
    }

    /// A reward.
    pub fn reward(value: Option<f64>) -> Self {
        Self::new(value, reward)
    }

    /// US dollars.
    pub fn dollars(value: Option<f64>) -> Self {
        Self::new(value, dollars)
    }

    /// Seconds.
    pub fn seconds(value: Option<f64>) -> Self {
        Self::new(value, seconds)
    }

    /// Tokens.
    pub fn tokens(value: Option<u64>) -> Self {
        Self::new(value.map(float), tokens)
    }

    /// The number as a link.
    pub fn to(self, href: &str, go: &str) -> Link {
        let (href, go) = match self.value {
            Some(_) => (Some(href.to_owned()), Some(go.to_owned())),
            None => (None, None),
        };
        Link { value: self.value, text: self.text, href, go, says: None }
    }
}

/// A number that leads nowhere.
impl From<Number> for Link {
    fn from(number: Number) -> Self {
        Self { value: number.value, text: number.text, href: None, go: None, says: None }
    }
}

impl Link {
    /// A count of trials; none of them lead nowhere.
    pub fn count(count: u64, href: &str, go: &str) -> Self {
        let link = Self {
            value: Some(float(count)),
            text: grouped(count),
            href: Some(href.to_owned()),
            go: Some(go.to_owned()),
            says: None,
        };
        if count == 0 { Self { href: None, go: None, ..link } } else { link }
    }

    /// With something better to say to who cannot see where it stands.
    pub fn saying(self, says: String) -> Self {
        Self { says: Some(says), ..self }
    }
}

/// A reward as the command line writes it: three decimals, fewer for large numbers, powers of ten for extreme ones.
pub fn reward(value: f64) -> String {
    match value.abs() {
        0.0 => "0.000".to_owned(),
        0.0005..1000.0 => format!("{value:.3}"),
        1000.0..1e9 => format!("{value:.1}"),
        _ => format!("{value:.2e}"),
    }
}

/// US dollars, with as many decimals as a small sum needs.
pub fn dollars(value: f64) -> String {
    match value.abs() {
        0.0 => "$0".to_owned(),
        size if size < 0.0001 => format!("${value:.0e}"),
        size if size < 0.1 => format!("${value:.4}"),
        size if size < 1000.0 => format!("${value:.2}"),
        size if size < 1e15 => format!("${}", grouped(whole(value))),
        _ => format!("${value:.2e}"),
    }
}

/// A duration, in the unit that suits it.
pub fn seconds(value: f64) -> String {
    match value {
        value if value < 99.95 => format!("{value:.1} s"),
        value if value < 5_970.0 => format!("{:.1} min", value / 60.0),
        _ => format!("{:.1} h", value / 3600.0),
    }
}

/// A number of tokens, in thousands, millions or more.
pub fn tokens(value: f64) -> String {
    match value {
        value if value < 1000.0 => format!("{value}"),
        value if value < 999_950.0 => format!("{:.1} k", value / 1e3),
        value if value < 999_950_000.0 => format!("{:.1} M", value / 1e6),
        _ => format!("{:.1} G", value / 1e9),
    }
}

/// A size in bytes, in the unit that suits it.
pub fn bytes(size: u64) -> String {
    let value = float(size);
    match value {
        value if value < 1000.0 => format!("{value} B"),
        value if value < 999_950.0 => format!("{:.1} kB", value / 1e3),
        value if value < 999_950_000.0 => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.1} GB", value / 1e9),
    }
}

/// A count with its thousands set apart.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 trial`, `12 345 trials`.
pub fn how_many(number: u64, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {one}{ending}", grouped(number))
}

/// A count as a number.
#[allow(clippy::cast_precision_loss)] // Exact up to 2^53.
pub fn float(count: u64) -> f64 {
    count as f64
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Of positive sums below 10^15.
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn numbers_are_short_and_keep_their_size() {
        let rewards = [0.0, -0.0, 0.5, -0.25, 1234.56, 1e12, 1e-7, 0.0005].map(reward);
        assert_eq!(rewards, ["0.000", "0.000", "0.500", "-0.250", "1234.6", "1.00e12", "1.00e-7", "0.001"]);
        let sums = [0.0, 0.000_01, 0.012_34, 1.5, 999.999, 12_345.6].map(dollars);
        assert_eq!(sums, ["$0", "$1e-5", "$0.0123", "$1.50", "$1000.00", "$12\u{202f}346"]);
        assert_eq!([0.04, 99.9, 100.0, 7_200.0].map(seconds), ["0.0 s", "99.9 s", "1.7 min", "2.0 h"]);
        assert_eq!([999.0, 1000.0, 1_500_000.0, 2e9].map(tokens), ["999", "1.0 k", "1.5 M", "2.0 G"]);
        assert_eq!(
            [how_many(0, "trial"), how_many(1, "trial"), how_many(12_345, "trial")],
            ["0 trials", "1 trial", "12\u{202f}345 trials"]
        );
        assert_eq!([999, 1000, u64::MAX].map(bytes), ["999 B", "1.0 kB", "18446744073.7 GB"]);
    }
}
