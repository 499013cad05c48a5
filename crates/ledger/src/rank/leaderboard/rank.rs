//! Makes the leaderboard of collected scores.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use rayon::prelude::*;

use crate::rank::statistics::Direction;
use crate::record::{Agent, Score};

use super::gather::{Cells, gather};
use super::label::labels;
use super::model::{Leaderboard, Note, TaskCells};
use super::row::{Row, cell, row, success};
use super::rules::Rules;

/// With fewer tasks than this, a bootstrap over them makes intervals that are too narrow.
const FEW_TASKS: u64 = 10;

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
    let mut notes = notes(&rows, rules, success);
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

fn notes(rows: &[(Row, &Cells)], rules: &Rules, success: Option<f64>) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some(value) = rules.partial {
        let trials = rows.iter().map(|(row, _)| row.partial_counted).sum();
        notes.push(Note::PartialCounted { trials, value });
    }
    let counted = |cells: &Cells| -> BTreeSet<usize> {
        cells.iter().filter(|(_, outcomes)| !outcomes.rewards.is_empty()).map(|(task, _)| *task).collect()
    };
    let ranked = rows.iter().filter(|(row, _)| row.mean.is_some());
    let sets: BTreeSet<_> = ranked.map(|(_, cells)| counted(cells)).collect();
    if sets.len() > 1 {
        notes.push(Note::DifferentTasks);
    }
    if success.is_none() && !rules.k.is_empty() {
        notes.push(Note::NoThreshold);
    }
    let labels = |is_meant: fn(&Row) -> bool| -> Vec<String> {
        rows.iter().map(|(row, _)| row).filter(|row| is_meant(row)).map(|row| row.label.clone()).collect()
    };
    let still = labels(|row| row.interval.is_some_and(|interval| interval.is_degenerate()));
    if !still.is_empty() {
        notes.push(Note::NoVariation { agents: still });
    }
    let few = labels(|row| row.mean.is_some() && row.tasks_counted < FEW_TASKS);
    if !few.is_empty() {
        notes.push(Note::FewTasks { agents: few });
    }
    notes
}
