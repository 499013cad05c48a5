//! `cargo xtask bench coverage`: how often the ledger's intervals and tests hold what they promise, in simulated ledgers.

mod bootstrap;
mod draw;

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use serde::Serialize;
use taskwright::exit::{self, Status};
use taskwright::{interrupt, output};
use taskwright_base::number::mean;
use taskwright_base::table::Table;
use taskwright_ledger::Score;
use taskwright_ledger::leaderboard::{Rules, rank};
use taskwright_ledger::record;
use taskwright_ledger::statistics::{SplitMix64, paired_trials, wilson};

use bootstrap::bootstrap;
use draw::{Attempts, Beta, rewards};

/// How many tasks a simulated ledger has.
const TASKS: [u32; 9] = [2, 3, 5, 8, 10, 15, 20, 40, 80];

/// How tasks differ in difficulty: widely around the middle, mostly hard, almost all solved.
const KINDS: [Beta; 3] = [Beta { a: 1.2, b: 1.2 }, Beta { a: 0.3, b: 1.2 }, Beta { a: 4.0, b: 0.2 }];

/// How often two agents that are alike try each task.
const PAIRS: [(&str, Attempts, Attempts); 3] = [
    ("1 to 7 attempts each", Attempts::UpTo(7), Attempts::UpTo(7)),
    ("5 attempts against 5", Attempts::Always(5), Attempts::Always(5)),
    ("7 attempts against 1", Attempts::Always(7), Attempts::Always(1)),
];

/// How many trials of a single task a Wilson interval rests on.
const TRIALS: [u32; 9] = [1, 2, 3, 5, 7, 10, 20, 40, 80];

/// The level below which a p-value is taken for a difference.
const LEVEL: f64 = 0.05;

/// The seed of the first cell; each cell has one of its own, so that no other's work changes what it draws.
const SEED: u64 = 20_261_128;

/// Simulate ledgers, and count how often a stated 95 % holds.
///
/// Every task has a probability of success of its own, drawn from a beta distribution. An interval holds if the mean of all
/// such tasks lies in it. Of two agents that are alike, a test should find one in twenty to differ at most. The same seed
/// gives the same figures on every machine of this kind; docs/statistics.md has them.
#[derive(clap::Args)]
pub struct Arguments {
    /// How many ledgers to simulate for an interval.
    #[arg(long, value_name = "COUNT", default_value_t = 4000, value_parser = clap::value_parser!(u32).range(1..))]
    ledgers: u32,
    /// How many pairs of agents to compare for a test.
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Print a list of {table, row, column, value}.
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print the tables of docs/statistics.md.
    #[arg(long)]
    markdown: bool,
}

/// One figure of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Figure {
    table: &'static str,
    row: String,
    column: u32,
    value: f64,
}

/// What one cell of the simulation is about. It gives a figure for each of its methods.
#[derive(Debug, Clone, Copy)]
enum Cell {
    Intervals { kind: Beta, tasks: u32 },
    Wilson { probability: f64, trials: u32 },
    Alike { kind: Beta, pair: usize, tasks: u32 },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let stop = interrupt::flag()?;
    let figures = figures(arguments, &stop);
    if stop.load(Ordering::Relaxed) {
        output::say("interrupted: nothing was kept");
        return Ok(exit::INTERRUPTED);
    }
    output::print(&if arguments.json {
        serde_json::to_string_pretty(&figures)? + "\n"
    } else {
        text(&figures, arguments.markdown)
    })?;
    Ok(exit::SUCCESS)
}

fn cells() -> Vec<Cell> {
    let of_tasks = |cell: &dyn Fn(u32) -> Cell| TASKS.map(cell).to_vec();
    let intervals = KINDS.iter().flat_map(|kind| of_tasks(&|tasks| Cell::Intervals { kind: *kind, tasks }));
    let wilson = [0.5, 0.2, 0.95]
        .into_iter()
        .flat_map(|probability| TRIALS.map(|trials| Cell::Wilson { probability, trials }));
    let alike = KINDS.iter().flat_map(|kind| {
        (0..PAIRS.len()).flat_map(move |pair| TASKS.map(|tasks| Cell::Alike { kind: *kind, pair, tasks }))
    });
    intervals.chain(wilson).chain(alike).collect()
}

fn figures(arguments: &Arguments, stop: &AtomicBool) -> Vec<Figure> {
    let seeds = std::iter::successors(Some(SEED), |seed| Some(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)));
    let cells: Vec<(Cell, u64)> = cells().into_iter().zip(seeds).collect();
    let each = cells.into_par_iter().flat_map_iter(|(cell, seed)| {
        let mut random = SplitMix64::new(seed);
        let is_over = || stop.load(Ordering::Relaxed);
        match cell {
            _ if is_over() => Vec::new(),
            Cell::Intervals { kind, tasks } => intervals(kind, tasks, arguments.ledgers, &mut random),
            Cell::Wilson { probability, trials } => {
                vec![of_one_task(probability, trials, arguments.ledgers, &mut random)]
            }
            Cell::Alike { kind, pair, tasks } => alike(kind, pair, tasks, arguments.pairs, &mut random),
        }
    });
    each.collect()
}

/// How many of so many times something was so.
fn share(times: u32, mut is_so: impl FnMut() -> bool) -> f64 {
    let found = (0..times).filter(|_| is_so()).count();
    f64::from(u32::try_from(found).unwrap_or(times)) / f64::from(times)
}

fn intervals(kind: Beta, tasks: u32, ledgers: u32, random: &mut SplitMix64) -> Vec<Figure> {
    let truth = kind.mean();
    let holds = |low: f64, high: f64| low <= truth && truth <= high;
    let mut by_bootstrap = 0;
    let student = share(ledgers, || {
        let ledger: Vec<Vec<f64>> =
            (0..tasks).map(|_| rewards(Attempts::UpTo(7).draw(random), kind.draw(random), random)).collect();
        let means: Vec<f64> = ledger.iter().filter_map(|rewards| mean(rewards.iter().copied())).collect();
        by_bootstrap += u32::from(bootstrap(&means, random).is_some_and(|(low, high)| holds(low, high)));
        let board = rank(scores(&ledger), &[], &Rules::default());
        board.rows[0].interval.is_some_and(|interval| holds(interval.low, interval.high))
    });
    let bootstrap = f64::from(by_bootstrap) / f64::from(ledgers);
    let row = |method: &str| format!("*p* ~ beta({}, {}), mean {truth:.2}: {method}", kind.a, kind.b);
    [("Student", student), ("bootstrap", bootstrap)]
        .map(|(method, value)| Figure {
            table: "coverage of 95 % by tasks",
            row: row(method),
            column: tasks,
            value,
        })
        .into()
}

/// The scores of an agent's trials, by task.
fn scores(ledger: &[Vec<f64>]) -> impl Iterator<Item = Score> + '_ {
    ledger.iter().enumerate().flat_map(|(task, rewards)| {
        rewards.iter().map(move |reward| Score {
            task: task.to_string(),
            agent_digest: "agent".to_owned(),
            status: record::Status::Complete,
            reward: Some(*reward),
            ..Score::default()
        })
    })
}

fn of_one_task(probability: f64, trials: u32, times: u32, random: &mut SplitMix64) -> Figure {
    let value = share(times, || {
        let successes =
            rewards(trials, probability, random).into_iter().filter(|reward| *reward > 0.5).count();
        wilson(successes as u64, u64::from(trials))
            .is_some_and(|interval| interval.low <= probability && probability <= interval.high)
    });
    let row = format!("*p* = {probability}: Wilson");
    Figure { table: "coverage of 95 % by trials of one task", row, column: trials, value }
}

fn alike(kind: Beta, pair: usize, tasks: u32, pairs: u32, random: &mut SplitMix64) -> Vec<Figure> {
    let (name, first, second) = PAIRS[pair];
    let mut excluded = 0;
    let rejected = share(pairs, || {
        let trials: Vec<(Vec<f64>, Vec<f64>)> = (0..tasks)
            .map(|_| {
                let probability = kind.draw(random);
                let mut of = |attempts: Attempts| rewards(attempts.draw(random), probability, random);
                (of(first), of(second))
            })
            .collect();
        let Some(found) = paired_trials(&trials) else { return false };
        let excludes = found.interval.is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0);
        excluded += u32::from(excludes);
        found.significance.p_value < LEVEL
    });
    let excluded = f64::from(excluded) / f64::from(pairs);
    let row = |what: &str| format!("beta({}, {}), {name}: {what}", kind.a, kind.b);
    [("p < 0.05", rejected), ("interval excludes 0", excluded)]
        .map(|(what, value)| Figure {
            table: "two agents that are alike, by tasks",
            row: row(what),
            column: tasks,
            value,
        })
        .into()
}

/// The tables, each with a column for each number of tasks or trials.
fn text(figures: &[Figure], is_markdown: bool) -> String {
    let mut text = String::new();
    for table in figures.chunk_by(|one, next| one.table == next.table) {
        let mut columns: Vec<u32> = table.iter().map(|figure| figure.column).collect();
        columns.sort_unstable();
        columns.dedup();
        let heads: Vec<String> = columns.iter().map(ToString::to_string).collect();
        let title = format!("<{}", table[0].table);
        let mut shown = Table::new(std::iter::once(title.as_str()).chain(heads.iter().map(String::as_str)));
        let mut rows: Vec<&str> = Vec::new();
        for figure in table {
            if !rows.contains(&figure.row.as_str()) {
                rows.push(&figure.row);
            }
        }
        for row in rows {
            let value = |column: &u32| {
                let figure = table.iter().find(|figure| figure.row == row && figure.column == *column);
                figure.map_or_else(String::new, |figure| format!("{:.3}", figure.value))
            };
            shown.row(std::iter::once(row.to_owned()).chain(columns.iter().map(value)));
        }
        text.push_str(&if is_markdown { shown.markdown() } else { shown.text() });
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_figures_and_each_is_a_share() {
        let arguments = Arguments { ledgers: 3, pairs: 2, json: false, markdown: false };
        let stop = AtomicBool::new(false);
        let found = figures(&arguments, &stop);
        assert_eq!(found, figures(&arguments, &stop));
        assert!(found.iter().all(|figure| (0.0..=1.0).contains(&figure.value)));
        let table = text(&found, true);
        assert_eq!(table.lines().filter(|line| line.starts_with("|---")).count(), 3, "{table}");
        assert_eq!(table.lines().filter(|line| line.contains("Student")).count(), KINDS.len());
    }
}
