//! The one table of a leaderboard's columns: the terminal's table and the page are made of it. In JSON a column is a field
//! of [`Row`].

use std::borrow::Cow;

use taskwright_base::table::{Table, number};

use super::model::Leaderboard;
use super::row::{PassAtK, Row};
use crate::rank::statistics::Interval;
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
    /// Where the mean lies.
    Interval(Option<Interval>),
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
        column("reward", "mean", "Reward", Group::Reward, |row| Value::Mean(row.mean)),
        column("interval", "<95 % interval", "95\u{a0}% interval", Group::Reward, |row| Value::Interval(row.interval)),
        column("tasks", "tasks", "Tasks", Group::Trials, |row| Value::Share(row.tasks_counted, row.tasks)),
        column("complete", "complete", "Complete", Group::Trials, |row| Value::Trials(row.complete)),
        column("partial", "partial", "Partial", Group::Trials, |row| Value::Trials(row.partial)),
        column("missing", "missing", "Missing", Group::Trials, |row| Value::Trials(row.missing)),
    ];
    if has_passes {
        columns.extend(board.rules.k.iter().enumerate().map(|(place, k)| Column {
            name: format!("pass-{k}").into(), head: format!("pass@{k}").into(), heading: format!("pass@{k}").into(),
            group: Group::Reward, value: Get::Pass(place),
        }));
    }
    columns.extend([
        column("cost", "cost $", "Cost", Group::Effort, |row| Value::Dollars(row.cost_usd.mean)),
        column("seconds", "seconds", "Time", Group::Effort, |row| Value::Seconds(row.seconds.mean)),
        column("failed", "<failed", "", Group::Effort, |row| Value::Text(failed(row))),
    ]);
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
            Self::Mean(value) | Self::Dollars(value) | Self::Seconds(value) => number(*value),
            Self::Interval(found) => interval(*found),
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

impl Leaderboard {
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
    let all: Vec<String> =
        row.failures.iter().map(list("")).chain(row.flagged.iter().map(list("+"))).collect();
    all.join(", ")
}
