//! The one table of a leaderboard's columns: the terminal's table and the page are made of it. In JSON a column is a field
//! of [`Row`].

use std::borrow::Cow;

use taskwright_base::table::{Table, number};

use super::model::{Leaderboard, Note};
use super::row::{Estimate, PassAtK, Row, Spend};
use crate::rank::statistics::{Interval, Measure};
use crate::record::Failure;

/// A column.
pub struct Column {
    /// Its name where a program looks for it.
    pub name: Cow<'static, str>,
    /// Its head on a terminal; that of a column of words begins with `<`.
    pub head: Cow<'static, str>,
    /// Its head on the page; empty if the page has its like elsewhere.
    pub heading: Cow<'static, str>,
    /// With what it stands on the page.
    pub group: Group,
    value: Get,
}

/// Columns that stand together on the page, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Who.
    Agent,
    /// How good.
    Reward,
    /// Of how much.
    Trials,
    /// For how much.
    Effort,
}

/// What stands in a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// The place.
    Rank(Option<u32>),
    /// The agent's name.
    Agent(String),
    /// The mean reward.
    Mean(Option<f64>),
    /// A mean over rewards of different size.
    MixedMean(Option<f64>),
    /// A gain, as a part of the baseline's reward.
    Gain(Option<f64>),
    /// A share of the solutions' gain.
    Part(Option<f64>),
    /// Where the mean lies of what agents are ranked by, if there is one.
    Interval(Option<Estimate>),
    /// How many of how many.
    Share(u64, u64),
    /// How many trials are of this status.
    Trials(u64),
    /// pass@k, and how many tasks count.
    Pass(PassAtK, u64),
    /// US dollars.
    Dollars(Option<f64>),
    /// Seconds.
    Seconds(Option<f64>),
    /// Words.
    Text(String),
}

#[derive(Clone, Copy)]
enum Get {
    Of(fn(&Row) -> Value),
    /// pass@k, by the place of `k` in the rules.
    Pass(usize),
}

/// The columns of a leaderboard. `has_passes` says whether pass@k are shown.
#[rustfmt::skip] // A line a column.
pub fn columns(board: &Leaderboard, has_passes: bool) -> Vec<Column> {
    let column = |name: &'static str, head: &'static str, heading: &'static str, group, value: fn(&Row) -> Value| Column {
        name: name.into(), head: head.into(), heading: heading.into(), group, value: Get::Of(value),
    };
    let mut columns = vec![
        column("rank", "rank", "#", Group::Agent, |row| Value::Rank(row.rank)),
        column("agent", "<agent", "Agent", Group::Agent, |row| Value::Agent(row.label.clone())),
    ];
    columns.extend(measures(board));
    columns.extend([
        column("tasks", "tasks", "Tasks", Group::Trials, |row| Value::Share(row.tasks_counted, row.tasks)),
        column("complete", "complete", "Complete", Group::Trials, |row| Value::Trials(row.complete)),
        column("partial", "partial", "Partial", Group::Trials, |row| Value::Trials(row.partial)),
        column("missing", "missing", "Missing", Group::Trials, |row| Value::Trials(row.missing)),
    ]);
    if has_passes {
        columns.extend(board.rules.k.iter().enumerate().map(|(place, k)| Column {
            name: format!("pass-{k}").into(), head: format!("pass@{k}").into(), heading: format!("pass@{k}").into(),
            group: Group::Reward, value: Get::Pass(place),
        }));
    }
    columns.push(column("cost", "cost $", "Cost", Group::Effort, |row| Value::Dollars(row.cost_usd.mean)));
    // The page has them beside the cost of the agents, under that head.
    let is_metered = |of: fn(&Row) -> Spend| board.rows.iter().any(|row| of(row).mean.is_some());
    if is_metered(|row| row.evaluation_cost_usd) {
        columns.push(column("search", "search $", "", Group::Effort, |row| Value::Dollars(row.evaluation_cost_usd.mean)));
    }
    if is_metered(|row| row.finalization_cost_usd) {
        columns.push(column("end", "end $", "", Group::Effort, |row| Value::Dollars(row.finalization_cost_usd.mean)));
    }
    columns.extend([
        column("seconds", "seconds", "Time", Group::Effort, |row| Value::Seconds(row.seconds.mean)),
        column("failed", "<failed", "", Group::Effort, |row| Value::Text(failed(row))),
    ]);
    columns
}

/// The columns of what agents are ranked by, with its interval, then of what else is known.
#[rustfmt::skip] // A line a column.
fn measures(board: &Leaderboard) -> Vec<Column> {
    let column = |name: &'static str, head: &'static str, heading: &'static str, value: fn(&Row) -> Value| Column {
        name: name.into(), head: head.into(), heading: heading.into(), group: Group::Reward, value: Get::Of(value),
    };
    let of = |measure: Measure| match measure {
        Measure::Reward if board.is_mixed() => column("reward", "mean", "Reward", |row| Value::MixedMean(row.mean)),
        Measure::Reward => column("reward", "mean", "Reward", |row| Value::Mean(row.mean)),
        Measure::Gain => column("gain", "gain", "Gain", |row| Value::Gain(row.gain.map(|gain| gain.mean))),
        Measure::Share => column("share", "share", "Share", |row| Value::Part(row.share.map(|share| share.mean))),
    };
    let interval: fn(&Row) -> Value = match board.ranked_by {
        Measure::Reward => |row| Value::Interval(row.by(Measure::Reward)),
        Measure::Gain => |row| Value::Interval(row.by(Measure::Gain)),
        Measure::Share => |row| Value::Interval(row.by(Measure::Share)),
    };
    let mut columns = vec![
        of(board.ranked_by),
        column("interval", "<95 % interval", "95\u{a0}% interval", interval),
    ];
    let is_known = |measure: &&Measure| board.rows.iter().any(|row| row.by(**measure).is_some());
    let others = Measure::ALL.iter().filter(|measure| **measure != board.ranked_by).filter(is_known);
    columns.extend(others.rev().map(|measure| of(*measure)));
    columns
}

impl Column {
    /// What stands in it for an agent.
    pub fn value(&self, row: &Row) -> Value {
        match self.value {
            Get::Of(value) => value(row),
            Get::Pass(place) => Value::Pass(row.pass_at_k[place], row.tasks_counted),
        }
    }
}

impl Value {
    /// As a terminal shows it.
    pub fn text(&self) -> String {
        match self {
            Self::Rank(rank) => rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string()),
            Self::Agent(text) | Self::Text(text) => text.clone(),
            Self::Mean(value) | Self::Part(value) | Self::Dollars(value) | Self::Seconds(value) => {
                number(*value)
            }
            Self::MixedMean(value) => number(*value) + if value.is_some() { "!" } else { "" },
            Self::Gain(value) => gain(*value),
            Self::Interval(found) => interval(found.and_then(|found| found.interval)),
            Self::Share(part, whole) if part == whole => whole.to_string(),
            Self::Share(part, whole) => format!("{part}/{whole}"),
            Self::Trials(count) => count.to_string(),
            Self::Pass(pass, counted) if pass.mean.is_some() && pass.tasks < *counted => {
                format!("{} ({})", number(pass.mean), pass.tasks)
            }
            Self::Pass(pass, _) => number(pass.mean),
        }
    }
}

/// A gain in percent of the baseline's reward.
pub fn gain(gain: Option<f64>) -> String {
    gain.map_or_else(
        || number(None),
        |gain| {
            let sign = if gain > 0.0 { "+" } else { "" };
            format!("{sign}{:.1} %", 100.0 * gain)
        },
    )
}

impl Leaderboard {
    /// Whether the mean is over rewards of different size.
    pub fn is_mixed(&self) -> bool {
        self.notes.iter().any(|note| matches!(note, Note::DifferentScales { .. }))
    }

    /// The leaderboard as a table for a terminal.
    pub fn table(&self) -> Table {
        let columns = columns(self, true);
        let mut table = Table::new(columns.iter().map(|column| &*column.head));
        for row in &self.rows {
            table.row(columns.iter().map(|column| column.value(row).text()));
        }
        table
    }
}

/// An interval for a terminal; a star says that it has no width, and why stands below the table.
pub fn interval(interval: Option<Interval>) -> String {
    interval.map_or_else(
        || "-".to_owned(),
        |interval| {
            let star = if interval.is_degenerate() { "*" } else { "" };
            format!("[{}, {}]{star}", number(Some(interval.low)), number(Some(interval.high)))
        },
    )
}

/// Trials by class of failure, those that count nevertheless with a `+`.
fn failed(row: &Row) -> String {
    let list =
        |sign: &'static str| move |(failure, trials): (&Failure, &u64)| format!("{sign}{trials} {failure}");
    // What is partial and broke nothing has no reward that could be used, or not the one that is looked at.
    let classed: u64 = row.failures.values().sum();
    let unclassed = (row.partial + row.missing).saturating_sub(classed).saturating_sub(row.missing);
    let without = (unclassed > 0).then(|| format!("{unclassed} no reward"));
    let broken = row.failures.iter().map(list(""));
    let all: Vec<String> = broken.chain(without).chain(row.flagged.iter().map(list("+"))).collect();
    all.join(", ")
}
