//! Makes the leaderboard of collected scores.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use rayon::prelude::*;

use crate::rank::statistics::{Direction, IntervalMethod, Measure, Reference};
use crate::record::{Agent, Score};

use super::gather::{Cells, gather};
use super::label::labels;
use super::measure::{direction, measure, unlike};
use super::model::{Leaderboard, Note, TaskCells};
use super::row::{Cell, Estimate, Row, cell, row, success};
use super::rules::Rules;

/// With fewer tasks than this, an interval over them is rough.
pub(crate) const FEW_TASKS: u64 = 10;

/// Where all rewards are 0 or 1: so many tasks' worth of successes, and of failures, an interval needs to hold what it
/// promises. With 20 tasks of which 19 succeed it covers four times in five.
const FEW_OUTCOMES: f64 = 5.0;

/// Ranks agents by the scores of their trials.
///
/// `agents` describes the agents whose digests stand in the scores; one that is not described is shown by its digest.
/// Rows are sorted by their mean, the best first; then by the number of tasks that count, the most first; then by label
/// and digest. Agents without a mean come last.
pub fn rank(scores: impl IntoIterator<Item = Score>, agents: &[Agent], rules: &Rules) -> Leaderboard {
    let gathered = gather(scores, rules);
    let success = success(&gathered.cells, rules);
    let agents = described(&gathered.agents, agents);
    let labels = labels(&agents);
    let named: Vec<(Agent, String)> = agents.into_iter().zip(labels).collect();
    let mut rows: Vec<(Row, &Cells)> = named
        .into_par_iter()
        .zip(gathered.cells.par_iter())
        .map(|((agent, label), cells)| (row(agent, label, cells, rules, success), cells))
        .collect();
    let ranked_by = measure(gathered.cells.iter().flatten(), rules);
    rows.sort_by(|(one, _), (other, _)| order(one, other, ranked_by, direction(ranked_by, rules)));
    number(&mut rows, ranked_by);
    let tasks: Vec<TaskCells> = gathered
        .tasks
        .iter()
        .zip(&gathered.contents)
        .enumerate()
        .map(|(place, (task, contents))| {
            let cell =
                |(_, cells): &(Row, &Cells)| cells.get(&place).map(|outcomes| cell(outcomes, rules, success));
            let Reference { baseline, oracle, direction } = contents.reference();
            let cells = rows.iter().map(cell).collect();
            TaskCells { task: task.clone(), baseline, oracle, direction, cells }
        })
        .collect();
    let mut notes = notes_of_what_counts(&rows, &tasks, rules, ranked_by);
    notes.extend(notes_of_agents(&rows, rules, success, ranked_by));
    let tasks_and_contents = gathered.tasks.iter().zip(&gathered.contents);
    let changed = tasks_and_contents.filter(|(_, contents)| contents.are_several);
    let changed: Vec<String> = changed.map(|(task, _)| task.clone()).collect();
    if !changed.is_empty() {
        notes.push(Note::ChangedTasks { tasks: changed });
    }
    let rows = rows.into_iter().map(|(row, _)| row).collect();
    Leaderboard { rules: rules.clone(), success, ranked_by, rows, tasks, notes }
}

/// For each digest the agent that has it.
fn described(digests: &[String], agents: &[Agent]) -> Vec<Agent> {
    let by_digest: HashMap<&str, &Agent> =
        agents.iter().map(|agent| (agent.digest.as_str(), agent)).collect();
    let unknown = |digest: &String| Agent {
        digest: digest.clone(),
        label: digest.clone(),
        version: None,
        model: None,
        configuration: String::new(),
    };
    digests
        .iter()
        .map(|digest| {
            by_digest.get(digest.as_str()).map_or_else(|| unknown(digest), |agent| (*agent).clone())
        })
        .collect()
}

fn order(one: &Row, other: &Row, ranked_by: Measure, direction: Direction) -> Ordering {
    let mean = |row: &Row| row.by(ranked_by).map(|estimate| estimate.mean);
    let means = match (mean(one), mean(other)) {
        (Some(one), Some(other)) => match direction {
            Direction::Maximize => other.total_cmp(&one),
            Direction::Minimize => one.total_cmp(&other),
        },
        (one, other) => other.is_some().cmp(&one.is_some()),
    };
    means
        .then_with(|| other.tasks_counted.cmp(&one.tasks_counted))
        .then_with(|| one.label.cmp(&other.label))
        .then_with(|| one.agent.digest.cmp(&other.agent.digest))
}

/// Numbers rows that are in order; the same mean gives the same number.
#[allow(clippy::float_cmp)]
fn number(rows: &mut [(Row, &Cells)], ranked_by: Measure) {
    let mut before: Option<(f64, u32)> = None;
    for ((row, _), place) in rows.iter_mut().zip(1..) {
        let Some(Estimate { mean, .. }) = row.by(ranked_by) else { return };
        let rank = before.filter(|(before, _)| *before == mean).map_or(place, |(_, rank)| rank);
        row.rank = Some(rank);
        before = Some((mean, rank));
    }
}

/// Notes of what the means are over: which trials, of which tasks, of which kinds of reward.
fn notes_of_what_counts(
    rows: &[(Row, &Cells)],
    tasks: &[TaskCells],
    rules: &Rules,
    ranked_by: Measure,
) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some(value) = rules.partial {
        let trials: u64 = rows.iter().map(|(row, _)| row.partial_counted).sum();
        if trials > 0 {
            notes.push(Note::PartialCounted { trials, value });
        }
    }
    let is_counted = |cell: &Option<Cell>| cell.as_ref().is_some_and(|cell| cell.counted > 0);
    let is_ranked = |place: usize| rows[place].0.mean.is_some();
    let uneven = |task: &&TaskCells| {
        let counted: BTreeSet<bool> = (0..task.cells.len())
            .filter(|place| is_ranked(*place))
            .map(|place| is_counted(&task.cells[place]))
            .collect();
        counted.len() > 1
    };
    let uneven: Vec<String> = tasks.iter().filter(uneven).map(|task| task.task.clone()).collect();
    if !uneven.is_empty() {
        notes.push(Note::DifferentTasks { tasks: uneven });
    }
    if let Some(unlike) = unlike(rows.iter().flat_map(|(_, cells)| *cells)) {
        let is_without = |task: &&TaskCells| {
            let mut cells = task.cells.iter().flatten();
            cells.any(|cell| cell.counted > 0 && cell.relative_gain.is_none())
        };
        let without = tasks.iter().filter(is_without).map(|task| task.task.clone());
        notes.push(Note::DifferentScales {
            tasks: unlike.map(|task| tasks[task].task.clone()).into(),
            without_baseline: if ranked_by == Measure::Reward { without.collect() } else { Vec::new() },
        });
    }
    let other = |task: &&TaskCells| task.direction.is_some_and(|direction| direction != rules.direction);
    let other: Vec<String> = tasks.iter().filter(other).map(|task| task.task.clone()).collect();
    if ranked_by == Measure::Reward && !other.is_empty() {
        notes.push(Note::OtherDirection { tasks: other });
    }
    notes
}

#[allow(clippy::cast_precision_loss)] // Nobody has 2^53 tasks.
fn count(tasks: u64) -> f64 {
    tasks as f64
}

/// Notes of agents whose numbers say less than they seem to.
fn notes_of_agents(
    rows: &[(Row, &Cells)],
    rules: &Rules,
    success: Option<f64>,
    ranked_by: Measure,
) -> Vec<Note> {
    let mut notes = Vec::new();
    if success.is_none() && !rules.k.is_empty() {
        notes.push(Note::NoThreshold);
    }
    let labels = |is_meant: &dyn Fn(&Row) -> bool| -> Vec<String> {
        rows.iter().map(|(row, _)| row).filter(|row| is_meant(row)).map(|row| row.label.clone()).collect()
    };
    let killed = labels(&|row| row.cost_usd.cut_short > 0);
    if !killed.is_empty() {
        notes.push(Note::CostAtLeast { agents: killed });
    }
    let interval = |row: &Row| row.by(ranked_by).and_then(|estimate| estimate.interval);
    let still = labels(&|row| interval(row).is_some_and(|interval| interval.is_degenerate()));
    if !still.is_empty() {
        notes.push(Note::NoVariation { agents: still });
    }
    let is_spread = |row: &Row| {
        interval(row).is_some_and(|found| found.method == IntervalMethod::StudentT && !found.is_degenerate())
    };
    let few = labels(&|row| is_spread(row) && row.tasks_counted < FEW_TASKS);
    if !few.is_empty() {
        notes.push(Note::FewTasks { agents: few });
    }
    let is_binary = ranked_by == Measure::Reward
        && success == Some(1.0)
        && rules.direction == Direction::Maximize
        && rules.threshold.is_none();
    let near = labels(&|row| {
        let outcomes = row.mean.map(|mean| mean.min(1.0 - mean) * count(row.tasks_counted));
        is_binary
            && is_spread(row)
            && row.tasks_counted >= FEW_TASKS
            && outcomes.is_some_and(|few| few < FEW_OUTCOMES)
    });
    if !near.is_empty() {
        notes.push(Note::NearAnEnd { agents: near });
    }
    notes
}
