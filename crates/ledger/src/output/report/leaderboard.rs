//! The leaderboard's part of the page.

use serde::Serialize;
use taskwright_base::text::brief;

use super::numbers::{Link, Number, float, how_many, reward};
use super::scale::{Scale, Tick, label, percent};
use super::subject::Subject;
use crate::rank::leaderboard::{Column, Row, Value, columns, gain};
use crate::rank::statistics::{Direction, Interval, Measure};

#[derive(Serialize)]
pub struct Section {
    about: String,
    /// The axis of the intervals.
    ticks: Vec<Tick>,
    columns: Vec<Head>,
    rows: Vec<Line>,
}

#[derive(Serialize)]
struct Head {
    text: String,
    class: &'static str,
    /// Whether the axis stands in it.
    has_axis: bool,
}

#[derive(Serialize)]
struct Line {
    number: usize,
    cells: Vec<Cell>,
}

/// One of these is there.
#[derive(Default, Serialize)]
struct Cell {
    rank: Option<String>,
    agent: Option<Agent>,
    interval: Option<Whiskers>,
    number: Option<Figure>,
}

#[derive(Serialize)]
struct Agent {
    name: String,
    detail: String,
}

#[derive(Serialize)]
struct Whiskers {
    low: Number,
    high: Number,
    bar: Option<Bar>,
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
struct Figure {
    is: String,
    /// What it is called where the head of the table cannot be seen; what agents are ranked by needs no name.
    name: Option<String>,
    shown: Link,
    /// How many tasks it is over, if not over all that count.
    few: Option<String>,
}

pub fn section(subject: &Subject<'_>) -> Section {
    let board = subject.board;
    let drawn = board.rows.iter().filter_map(|row| row.by(board.ranked_by)).flat_map(|found| {
        let ends = telling(found.interval).map(|interval| [interval.low, interval.high]);
        std::iter::once(found.mean).chain(ends.into_iter().flatten())
    });
    let scale = Scale::around(drawn, 3.0);
    let mut columns = columns(board, board.success.is_some());
    columns.retain(|column| !column.heading.is_empty());
    columns.sort_by_key(|column| column.group);
    let line = |(row, agent): (&Row, &super::subject::Agent)| Line {
        number: agent.number,
        cells: columns.iter().map(|column| cell(column, row, agent, &scale, board.ranked_by)).collect(),
    };
    Section {
        about: about(subject),
        ticks: scale
            .ticks()
            .iter()
            .map(|tick| Tick { at: percent(scale.share(*tick)), label: label(*tick) })
            .collect(),
        rows: subject.rows().map(line).collect(),
        columns: columns.iter().map(head).collect(),
    }
}

fn head(column: &Column) -> Head {
    let class = match &*column.name {
        "rank" => "rank",
        "agent" => "",
        "interval" => "interval",
        _ => "number",
    };
    Head { text: column.heading.to_string(), class, has_axis: class == "interval" }
}

fn cell(
    column: &Column,
    row: &Row,
    agent: &super::subject::Agent,
    scale: &Scale,
    ranked_by: Measure,
) -> Cell {
    let anchor = format!("#a-{}", agent.number);
    let trials = |status: &str| format!("s-{}-{status}", agent.number);
    let figure = |shown: Link| Figure {
        is: column.name.to_string(),
        // What agents are ranked by stands out, and says by itself what it is.
        name: (column.name != ranked_by.word()).then(|| column.heading.to_string()),
        shown,
        few: None,
    };
    let number = |number| Cell { number: Some(number), ..Cell::default() };
    match column.value(row) {
        Value::Rank(_) | Value::Text(_) => Cell { rank: Some(agent.mark.clone()), ..Cell::default() },
        Value::Agent(_) => {
            let agent = Agent { name: agent.name.clone(), detail: detail(row) };
            Cell { agent: Some(agent), ..Cell::default() }
        }
        Value::Mean(mean) => {
            let shown = Number::reward(mean).to(&anchor, &trials("complete"));
            number(figure(shown))
        }
        Value::MixedMean(mean) => {
            let shown = Number::reward(mean).to(&anchor, &trials("complete"));
            number(Figure { few: Some("of different size".to_owned()), ..figure(shown) })
        }
        Value::Gain(value) => number(figure(Number { value, text: gain(value) }.into())),
        Value::Part(value) => number(figure(Number::reward(value).into())),
        Value::Interval(found) => Cell {
            interval: Some(whiskers(
                found.map(|found| found.mean),
                found.and_then(|found| telling(found.interval)),
                scale,
            )),
            ..Cell::default()
        },
        Value::Pass(pass, counted) => {
            // Not every task has as many trials as `k`: then it is said how many do.
            let few = (pass.mean.is_some() && pass.tasks < counted).then(|| how_many(pass.tasks, "task"));
            number(Figure { few, ..figure(Number::reward(pass.mean).into()) })
        }
        Value::Share(part, whole) => {
            let text = if part == whole { whole.to_string() } else { format!("{part} of {whole}") };
            number(figure(Number { value: Some(float(part)), text }.into()))
        }
        Value::Trials(count) => {
            let status = &*column.name;
            let says = format!("{count} {status}: {}", agent.name);
            number(figure(Link::count(count, &anchor, &trials(status)).saying(says)))
        }
        Value::Dollars(value) => number(figure(Number::dollars(value).into())),
        Value::Seconds(value) => number(figure(Number::seconds(value).into())),
    }
}

fn whiskers(mean: Option<f64>, interval: Option<Interval>, scale: &Scale) -> Whiskers {
    let at = |value: f64| percent(scale.share(value));
    Whiskers {
        low: Number::reward(interval.map(|interval| interval.low)),
        high: Number::reward(interval.map(|interval| interval.high)),
        bar: mean.map(|mean| Bar {
            mean: at(mean),
            ends: interval.map(|interval| Ends { low: at(interval.low), high: at(interval.high) }),
        }),
    }
}

/// The interval, if it says something.
fn telling(interval: Option<Interval>) -> Option<Interval> {
    interval.filter(|interval| !interval.is_degenerate())
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
    let ranked = match subject.board.ranked_by {
        Measure::Reward => "",
        Measure::Gain => {
            " Ranked by the gain over the baseline, in percent of the baseline's reward, since rewards of tasks are of \
             different size or it was asked for."
        }
        Measure::Share => {
            " Ranked by the share of what the tasks' own solutions gain over the baseline, since rewards of tasks are of \
             different size or it was asked for."
        }
    };
    format!(
        "{of} of each task's trials, then of the tasks; {better}.{ranked} The bar is the 95 % interval of what agents are \
         ranked by. Cost and time are those of a trial.{success}"
    )
}
