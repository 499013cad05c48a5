//! Makes the leaderboard of collected scores.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use rayon::prelude::*;

use crate::rank::statistics::{Direction, IntervalMethod};
use crate::record::{Agent, Score};

use super::gather::{Cells, gather};
use super::label::labels;
use super::model::{Leaderboard, Note, TaskCells};
use super::row::{Row, cell, row, success};
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
    rows.sort_by(|(one, _), (other, _)| order(one, other, rules.direction));
    number(&mut rows);
    let tasks = gathered
        .tasks
        .iter()
        .enumerate()
        .map(|(place, task)| {
            let cell =
                |(_, cells): &(Row, &Cells)| cells.get(&place).map(|outcomes| cell(outcomes, rules, success));
            TaskCells { task: task.clone(), cells: rows.iter().map(cell).collect() }
        })
        .collect();
    let mut notes = notes(&rows, rules, success, &gathered.tasks);
    let tasks_and_changes = gathered.tasks.iter().zip(&gathered.changed);
    let changed: Vec<String> =
        tasks_and_changes.filter(|(_, is_changed)| **is_changed).map(|(task, _)| task.clone()).collect();
    if !changed.is_empty() {
        notes.push(Note::ChangedTasks { tasks: changed });
    }
    let rows = rows.into_iter().map(|(row, _)| row).collect();
    Leaderboard { rules: rules.clone(), success, rows, tasks, notes }
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

fn order(one: &Row, other: &Row, direction: Direction) -> Ordering {
    let means = match (one.mean, other.mean) {
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
fn number(rows: &mut [(Row, &Cells)]) {
    let mut before: Option<(f64, u32)> = None;
    for ((row, _), place) in rows.iter_mut().zip(1..) {
        let Some(mean) = row.mean else { return };
        let rank = before.filter(|(before, _)| *before == mean).map_or(place, |(_, rank)| rank);
        row.rank = Some(rank);
        before = Some((mean, rank));
    }
}

/// Two tasks, if there are any, whose rewards are of different size: the largest of one is more than twice that of another,
/// and not all lie between 0 and 1. A mean over them is mostly that of the larger.
fn unlike(rows: &[(Row, &Cells)]) -> Vec<usize> {
    let mut sizes: BTreeMap<usize, f64> = BTreeMap::new();
    for (task, outcomes) in rows.iter().flat_map(|(_, cells)| cells.iter()) {
        for reward in &outcomes.rewards {
            let size = sizes.entry(*task).or_default();
            *size = size.max(reward.abs());
        }
    }
    let by_size = |one: &(&usize, &f64), other: &(&usize, &f64)| one.1.total_cmp(other.1);
    let (Some(least), Some(most)) = (sizes.iter().min_by(by_size), sizes.iter().max_by(by_size)) else {
        return Vec::new();
    };
    if *most.1 > 1.0 && *most.1 > 2.0 * *least.1 { vec![*most.0, *least.0] } else { Vec::new() }
}

#[allow(clippy::cast_precision_loss)] // Nobody has 2^53 tasks.
fn count(tasks: u64) -> f64 {
    tasks as f64
}

fn notes(rows: &[(Row, &Cells)], rules: &Rules, success: Option<f64>, tasks: &[String]) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some(value) = rules.partial {
        let trials: u64 = rows.iter().map(|(row, _)| row.partial_counted).sum();
        if trials > 0 {
            notes.push(Note::PartialCounted { trials, value });
        }
    }
    let counted = |cells: &Cells| -> BTreeSet<usize> {
        cells.iter().filter(|(_, outcomes)| !outcomes.rewards.is_empty()).map(|(task, _)| *task).collect()
    };
    let ranked = rows.iter().filter(|(row, _)| row.mean.is_some());
    let sets: BTreeSet<_> = ranked.map(|(_, cells)| counted(cells)).collect();
    if sets.len() > 1 {
        notes.push(Note::DifferentTasks);
    }
    let scales = unlike(rows);
    if scales.len() > 1 {
        notes.push(Note::DifferentScales {
            tasks: scales.into_iter().map(|task| tasks[task].clone()).collect(),
        });
    }
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
    let still = labels(&|row| row.interval.is_some_and(|interval| interval.is_degenerate()));
    if !still.is_empty() {
        notes.push(Note::NoVariation { agents: still });
    }
    let is_spread = |row: &Row| {
        row.interval.is_some_and(|found| found.method == IntervalMethod::StudentT && !found.is_degenerate())
    };
    let few = labels(&|row| is_spread(row) && row.tasks_counted < FEW_TASKS);
    if !few.is_empty() {
        notes.push(Note::FewTasks { agents: few });
    }
    let is_binary =
        success == Some(1.0) && rules.direction == Direction::Maximize && rules.threshold.is_none();
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
