//! What is said of one measurement: what was found, what stands beside it, what is aimed at and whether it is met.

use anyhow::ensure;

/// Rows that belong together.
#[derive(Debug)]
pub struct Section {
    /// What they have in common.
    pub title: String,
    /// The rows.
    pub rows: Vec<Row>,
}

/// One measurement. Its values are in seconds or in bytes; the unit says how they are written.
#[derive(Debug)]
pub struct Row {
    /// Stays the same from run to run, such as `thirty/no-op/lstat`.
    pub name: String,
    /// What was measured, in words.
    pub what: String,
    /// What was found.
    pub found: Sample,
    /// How its values are written.
    pub unit: Unit,
    /// What it is held against.
    pub beside: Option<Beside>,
    /// What is aimed at; without it a row only informs.
    pub aim: Option<Aim>,
    /// How busy the machine was with other things, from 0 to 1.
    pub busy: f64,
}

/// What several runs found.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// The median.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// How many runs there were.
    pub runs: usize,
}

/// A limit, or what a peer took in the same run.
#[derive(Debug)]
pub struct Beside {
    /// What it is, in words.
    pub what: String,
    /// Its value: of a peer, the median.
    pub value: f64,
}

/// How values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Thousandths of seconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Millions of bytes.
    Megabytes,
    /// So many in a second.
    PerSecond,
    /// So many of what the row names.
    Count,
}

/// What a value should be, seen from what stands beside it.
#[derive(Debug, Clone, Copy)]
pub enum Aim {
    /// At most so many times as much.
    Times(f64),
    /// At most so much more.
    More(f64),
    /// So many times less.
    Ahead(f64),
    /// At most this, whatever stands beside it.
    Most(f64),
    /// At least this, whatever stands beside it.
    Least(f64),
}

/// A count among the values that are found.
#[expect(clippy::cast_precision_loss, reason = "nothing is counted here up to 2^52")]
pub fn number(count: u64) -> f64 {
    count as f64
}

impl Sample {
    /// The 99th percentile of many runs; there must be one at least.
    pub fn late(values: &[f64]) -> anyhow::Result<f64> {
        ensure!(!values.is_empty(), "nothing was measured");
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Ok(sorted[(sorted.len() * 99 / 100).min(sorted.len() - 1)])
    }

    /// The median of several runs; there must be one at least.
    pub fn median(values: &[f64]) -> anyhow::Result<f64> {
        Ok(Self::of(values)?.median)
    }

    /// What several runs found; there must be one at least.
    pub fn of(values: &[f64]) -> anyhow::Result<Self> {
        ensure!(!values.is_empty(), "nothing was measured");
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Ok(Self { median, min: sorted[0], runs: sorted.len() })
    }
}

impl Unit {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Megabytes => "MB",
            Self::PerSecond => "/s",
            Self::Count => "",
        }
    }

    /// A number of seconds or bytes in this unit.
    pub fn of(self, value: f64) -> f64 {
        match self {
            Self::Milliseconds => value * 1e3,
            Self::Seconds | Self::PerSecond | Self::Count => value,
            Self::Megabytes => value / 1e6,
        }
    }
}

impl Row {
    /// A row that only informs.
    pub fn new(
        name: impl Into<String>,
        what: impl Into<String>,
        unit: Unit,
        values: &[f64],
        busy: f64,
    ) -> anyhow::Result<Self> {
        let found = Sample::of(values)?;
        Ok(Self { name: name.into(), what: what.into(), found, unit, beside: None, aim: None, busy })
    }

    /// Puts a limit or a peer beside it.
    #[must_use]
    pub fn beside(mut self, what: impl Into<String>, value: f64) -> Self {
        self.beside = Some(Beside { what: what.into(), value });
        self
    }

    /// Says what is aimed at.
    #[must_use]
    pub fn aim(mut self, aim: Aim) -> Self {
        self.aim = Some(aim);
        self
    }

    /// Puts a limit beside it that is not to be passed.
    #[must_use]
    pub fn within(self, limit: f64) -> Self {
        self.beside("limit", limit).aim(Aim::Times(1.0))
    }

    /// What was found as a multiple of what stands beside it.
    pub fn ratio(&self) -> Option<f64> {
        self.beside.as_ref().map(|beside| self.found.median / beside.value)
    }

    /// Whether the aim is met.
    pub fn is_met(&self) -> Option<bool> {
        let (found, limit) = (self.found.median, self.beside.as_ref()?.value);
        Some(match self.aim? {
            Aim::Times(times) => found <= limit * times,
            Aim::More(more) => found <= limit + more,
            Aim::Ahead(times) => found * times <= limit,
            Aim::Most(most) => found <= most,
            Aim::Least(least) => found >= least,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        let sample = Sample::of(&[4.0, 1.0, 3.0, 9.0]).unwrap();
        assert!((sample.median - 3.5).abs() < 1e-9 && (sample.min - 1.0).abs() < 1e-9);
        assert!((Sample::of(&[2.0, 7.0, 1.0]).unwrap().median - 2.0).abs() < 1e-9);
        assert!(Sample::of(&[]).is_err());
        let many: Vec<f64> = (0..200).map(f64::from).collect();
        assert!((Sample::late(&many).unwrap() - 198.0).abs() < 1e-9);
        assert!((Sample::late(&[2.0]).unwrap() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn aims_are_met_or_not() {
        let row = |aim| {
            let row = Row::new("a", "b", Unit::Milliseconds, &[0.020], 0.0).unwrap().beside("c", 0.010);
            row.aim(aim).is_met().unwrap()
        };
        assert!(row(Aim::Times(2.0)) && !row(Aim::Times(1.9)));
        assert!(row(Aim::More(0.011)) && !row(Aim::More(0.009)));
        assert!(row(Aim::Ahead(0.5)) && !row(Aim::Ahead(2.0)));
        assert!(row(Aim::Most(0.021)) && !row(Aim::Most(0.019)));
        assert!(row(Aim::Least(0.019)) && !row(Aim::Least(0.021)));
    }
}
