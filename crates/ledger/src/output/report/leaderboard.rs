//! The leaderboard's part of the page.

use serde::Serialize;
use taskwright_base::text::brief;

use super::numbers::{Link, Number, float, how_many, reward};
use super::scale::{Scale, Tick, label, percent};
use super::subject::Subject;
use crate::rank::leaderboard::Row;
use crate::rank::statistics::{Direction, Interval};

#[derive(Serialize)]
pub struct Section {
    about: String,
    /// The axis of the intervals.
    ticks: Vec<Tick>,
    /// The `k` of each pass@k.
    passes: Vec<u32>,
    rows: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    number: usize,
    rank: String,
    name: String,
    detail: String,
    reward: Link,
    low: Number,
    high: Number,
    bar: Option<Bar>,
    passes: Vec<Pass>,
    tasks: Number,
    complete: Link,
    partial: Link,
    missing: Link,
    cost: Number,
    seconds: Number,
}

/// Where a mean is drawn, and its interval if it has one.
#[derive(Serialize)]
struct Bar {
    mean: String,
    ends: Option<Ends>,
}

#[derive(Serialize)]
struct Ends {
    low: String,
    high: String,
}

#[derive(Serialize)]
struct Pass {
    k: u32,
    #[serde(flatten)]
    mean: Number,
    /// How many tasks it is over, if not over all that count.
    few: Option<String>,
}

pub fn section(subject: &Subject<'_>) -> Section {
    let board = subject.board;
    let ends = |row: &Row| interval(row).map(|interval| [interval.low, interval.high]);
    let drawn = board.rows.iter().flat_map(|row| row.mean.into_iter().chain(ends(row).into_iter().flatten()));
    let scale = Scale::around(drawn, 3.0);
    let ticks = scale.ticks();
    let has_passes = board.success.is_some();
    Section {
        about: about(subject),
        ticks: ticks
            .iter()
            .map(|tick| Tick { at: percent(scale.share(*tick)), label: label(*tick) })
            .collect(),
        passes: if has_passes { board.rules.k.clone() } else { Vec::new() },
        rows: subject
            .rows()
            .map(|(row, agent)| line(row, agent.number, &agent.name, &scale, has_passes))
            .collect(),
    }
}

fn line(row: &Row, number: usize, name: &str, scale: &Scale, has_passes: bool) -> Line {
    let anchor = format!("#a-{number}");
    let count = |count, status: &str| {
        Link::count(count, &anchor, &format!("s-{number}-{status}"))
            .saying(format!("{count} {status}: {name}"))
    };
    let at = |value: f64| percent(scale.share(value));
    let bar = row.mean.map(|mean| Bar {
        mean: at(mean),
        ends: interval(row).map(|interval| Ends { low: at(interval.low), high: at(interval.high) }),
    });
    // Not every task has as many trials as `k`: then it is said how many do.
    let passes = row.pass_at_k.iter().map(|pass| Pass {
        k: pass.k,
        mean: Number::reward(pass.mean),
        few: (pass.mean.is_some() && pass.tasks < row.tasks_counted).then(|| how_many(pass.tasks, "task")),
    });
    Line {
        number,
        rank: row.rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string()),
        name: name.to_owned(),
        detail: detail(row),
        reward: Number::reward(row.mean).to(&anchor, &format!("s-{number}-complete")),
        low: Number::reward(interval(row).map(|interval| interval.low)),
        high: Number::reward(interval(row).map(|interval| interval.high)),
        bar,
        passes: if has_passes { passes.collect() } else { Vec::new() },
        tasks: Number {
            value: Some(float(row.tasks_counted)),
            text: if row.tasks_counted == row.tasks {
                row.tasks.to_string()
            } else {
                format!("{} of {}", row.tasks_counted, row.tasks)
            },
        },
        complete: count(row.complete, "complete"),
        partial: count(row.partial, "partial"),
        missing: count(row.missing, "missing"),
        cost: Number::dollars(row.cost_usd.mean),
        seconds: Number::seconds(row.seconds.mean),
    }
}

/// The interval, if it says something.
fn interval(row: &Row) -> Option<Interval> {
    row.interval.filter(|interval| !interval.is_degenerate())
}

/// What tells the agent from others: model, version and the beginning of its digest.
fn detail(row: &Row) -> String {
    let digest: String = row.agent.digest.chars().take(8).collect();
    let model = row.agent.model.as_deref().map(|model| brief(model, 60));
    let version = row.agent.version.as_deref().map(|version| brief(version, 30));
    // Where the label names the model already, once is enough.
    let model = model.filter(|model| !row.label.contains(model.as_str()));
    let words = [model, version.map(|version| format!("version {version}")), Some(brief(&digest, 8))];
    words.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn about(subject: &Subject<'_>) -> String {
    let rules = &subject.board.rules;
    let of = rules.metric.as_deref().map_or_else(
        || "Mean reward".to_owned(),
        |metric| format!("Mean of the reward `{}`", brief(metric, 60)),
    );
    let better = match rules.direction {
        Direction::Maximize => "larger is better",
        Direction::Minimize => "smaller is better",
    };
    let success = subject.board.success.map_or_else(String::new, |success| match rules.direction {
        Direction::Maximize => format!(" A trial succeeds from a reward of {} on.", reward(success)),
        Direction::Minimize => format!(" A trial succeeds down to a reward of {}.", reward(success)),
    });
    format!(
        "{of} of each task's trials, then of the tasks; {better}. The bar is the 95 % interval. Cost and time are those \
         of a trial.{success}"
    )
}
