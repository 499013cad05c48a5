//! Harbor's times: ISO 8601, in UTC or, from older versions, in a zone that nobody wrote down.
//!
//! Read here and not by a crate: `jiff`, without its time zones, takes eight seconds of processor time in every first
//! build, and would replace the calendar alone, thirty lines.

use std::fmt;

use crate::document::{Part, object, parts, text};

parts! { SpanParts { started_at, finished_at } }

/// A moment as Harbor wrote it, to the microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Microseconds since 1970-01-01 00:00, in UTC or, if the zone is unknown, on the writer's own clock.
    pub micros: i64,
    /// Whether the zone is known. Times of which one is and one is not known say nothing about each other.
    pub is_utc: bool,
}

/// When a phase of a trial began and ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

impl Timestamp {
    /// Takes a time from a document.
    pub(crate) fn take(part: Part<'_>) -> Option<Self> {
        Self::parse(&text(part)?)
    }

    /// Reads `2026-11-27T20:35:13.303432Z`, the same with `+01:00`, and the same without a zone.
    ///
    /// ```
    /// use taskwright_harbor::time::Timestamp;
    ///
    /// let utc = Timestamp::parse("1970-01-02T00:00:00.5Z").unwrap();
    /// assert_eq!((utc.micros, utc.is_utc), (86_400_500_000, true));
    /// assert_eq!(Timestamp::parse("1970-01-02T01:00:00.5+01:00"), Some(utc));
    /// assert!(!Timestamp::parse("1970-01-02T00:00:00").unwrap().is_utc);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let shape = b"dddd-dd-ddTdd:dd:dd";
        let fits = |byte: u8, kind: u8| match kind {
            b'd' => byte.is_ascii_digit(),
            b'T' => byte == b'T' || byte == b' ',
            other => byte == other,
        };
        if bytes.len() < shape.len() || !bytes.iter().zip(shape).all(|(byte, kind)| fits(*byte, *kind)) {
            return None;
        }
        let field = |from: usize, to: usize| number(&bytes[from..to]);
        let (year, month, day) = (field(0, 4)?, field(5, 7)?, field(8, 10)?);
        let (hour, minute, second) = (field(11, 13)?, field(14, 16)?, field(17, 19)?);
        if !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        // A day that the calendar has is the one that its number stands for: 31 February would be 3 March.
        if civil(days(year, month, day)) != (year, month, day) {
            return None;
        }
        let (fraction, zone) = fraction(&bytes[shape.len()..])?;
        let (offset, is_utc) = offset(zone)?;
        let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
        Some(Self { micros: seconds * 1_000_000 + fraction, is_utc })
    }

    /// Seconds from an earlier moment to this one; none if they cannot be compared.
    #[must_use]
    pub fn since(self, earlier: Self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "microseconds of 200 years fit")]
        (self.is_utc == earlier.is_utc).then(|| (self.micros - earlier.micros) as f64 / 1e6)
    }
}

/// RFC 3339, without a zone if it is unknown.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, micros) = (self.micros.div_euclid(1_000_000), self.micros.rem_euclid(1_000_000));
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}")?;
        f.write_str(if self.is_utc { "Z" } else { "" })
    }
}

impl Span {
    /// Takes a span from a document; none if it has neither end.
    pub(crate) fn take(part: Part<'_>) -> Option<Self> {
        let span: SpanParts<'_> = object(part)?;
        let span = Self {
            started_at: Timestamp::take(span.started_at),
            finished_at: Timestamp::take(span.finished_at),
        };
        (span != Self::default()).then_some(span)
    }

    /// How many seconds it took; none if it has no end, or the ends cannot be compared.
    #[must_use]
    pub fn seconds(self) -> Option<f64> {
        self.finished_at?.since(self.started_at?).filter(|seconds| *seconds >= 0.0)
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The microseconds of a fraction of a second, and what comes after it.
fn fraction(rest: &[u8]) -> Option<(i64, &[u8])> {
    let Some(digits) = rest.strip_prefix(b".") else { return Some((0, rest)) };
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    let shown =
        digits.iter().chain(b"000000").take(6).fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    (!digits.is_empty()).then_some((shown, rest))
}

/// The seconds that a zone is ahead of UTC, and whether there is one.
fn offset(zone: &[u8]) -> Option<(i64, bool)> {
    let (sign, hours, minutes) = match zone {
        [] => return Some((0, false)),
        b"Z" => return Some((0, true)),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] | [sign @ (b'+' | b'-'), h1, h2, m1, m2] => {
            (*sign, number(&[*h1, *h2])?, number(&[*m1, *m2])?)
        }
        _ => return None,
    };
    let seconds = hours * 3600 + minutes * 60;
    Some((if sign == b'-' { -seconds } else { seconds }, true))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar; years begin in March, so that leap days come last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    year * 365 + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (month * 153 + 2) / 5
        + day
        - 1
        - 719_468
}

/// The date of a day, the inverse of [`days`].
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2024-02-29T00:00:00Z", 1_709_164_800),
            ("2026-11-27T20:35:13Z", 1_795_811_713),
            ("1969-12-31T23:59:59Z", -1),
        ] {
            let time = Timestamp::parse(text).unwrap();
            assert_eq!(time.micros, seconds * 1_000_000, "{text}");
            assert_eq!(time.to_string(), text.replace('Z', ".000000Z"));
        }
        for day in (-200_000..200_000).step_by(97) {
            let (year, month, date) = civil(day);
            assert_eq!(days(year, month, date), day);
        }
    }

    #[test]
    fn zones_and_fractions() {
        let at = |text| Timestamp::parse(text).map(|time| (time.micros, time.is_utc));
        assert_eq!(at("1970-01-01T00:00:00.000001"), Some((1, false)));
        assert_eq!(at("1970-01-01 00:00:00.1234567+0000"), Some((123_456, true)));
        assert_eq!(at("1970-01-01T00:00:00-01:30"), Some((5_400_000_000, true)));
        for bad in [
            "",
            "now",
            "1970-01-01",
            "1970-13-01T00:00:00Z",
            "1970-01-00T00:00:00Z",
            "1970-01-32T00:00:00Z",
            "2026-02-31T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00X",
            "1970-01-01T00:00:00+1",
            "+970-01-01T00:00:00Z",
            "é",
        ] {
            assert_eq!(at(bad), None, "{bad}");
        }
    }

    #[test]
    fn times_of_unknown_zones_are_not_compared_with_others() {
        let time = |micros, is_utc| Timestamp { micros, is_utc };
        assert_eq!(time(3_000_000, true).since(time(1_000_000, true)), Some(2.0));
        assert_eq!(time(3_000_000, false).since(time(1_000_000, false)), Some(2.0));
        assert_eq!(time(3_000_000, false).since(time(1_000_000, true)), None);
        let backwards = Span { started_at: Some(time(2, true)), finished_at: Some(time(1, true)) };
        assert_eq!(backwards.seconds(), None);
    }
}
