//! Sets the trials of two agents side by side.

use std::collections::BTreeSet;

use crate::rank::leaderboard::{Cell, Cells, FEW_TASKS, Rules, cell, gather, row, success};
use crate::rank::statistics::{Direction, Paired, SignificanceMethod, mean, paired_trials};
use crate::record::Score;

use super::choose::Choice;
use super::model::{Comparison, Note, Side, TaskPair};

/// Compares two choices by the scores of their trials.
pub(super) fn compare(a: (Choice, Vec<Score>), b: (Choice, Vec<Score>), rules: &Rules) -> Comparison {
    let ((a, scores_a), (b, scores_b)) = (a, b);
    // The same numbers for the same tasks on both sides: both are gathered as one, under names of their own.
    let mut scores = named(scores_a, "a");
    scores.extend(named(scores_b, "b"));
    let gathered = gather(scores, rules);
    let success = success(&gathered.cells, rules);
    let none = Cells::new();
    let of = |side: &str| {
        let place = gathered.agents.iter().position(|agent| agent == side);
        place.map_or(&none, |place| &gathered.cells[place])
    };
    let (cells_a, cells_b) = (of("a"), of("b"));
    let places: BTreeSet<usize> = cells_a.keys().chain(cells_b.keys()).copied().collect();
    let tasks: Vec<TaskPair> = places
        .into_iter()
        .map(|place| {
            let cell = |cells: &Cells| cells.get(&place).map(|outcomes| cell(outcomes, rules, success));
            pair(gathered.tasks[place].clone(), cell(cells_a), cell(cells_b))
        })
        .collect();
    let side = |choice: Choice, cells: &Cells| Side {
        experiment: choice.experiment,
        row: row(choice.agent, choice.label, cells, rules, success),
    };
    let rewards = |cells: &Cells, place: &usize| {
        cells.get(place).map(|outcomes| outcomes.rewards.clone()).filter(|rewards| !rewards.is_empty())
    };
    let trials: Vec<(Vec<f64>, Vec<f64>)> =
        cells_a.keys().filter_map(|place| rewards(cells_a, place).zip(rewards(cells_b, place))).collect();
    let paired = paired_trials(&trials);
    let notes = paired.as_ref().map(|paired| notes(&trials, paired)).unwrap_or_default();
    Comparison { paired, notes, ..summary(side(a, cells_a), side(b, cells_b), tasks, rules, success) }
}

/// The p-value below which agents are commonly said to differ: what the interval's confidence leaves.
const LEVEL: f64 = 0.05;

fn notes(trials: &[(Vec<f64>, Vec<f64>)], paired: &Paired) -> Vec<Note> {
    let mut notes = Vec::new();
    let tasks = trials.len() as u64;
    if paired.interval.is_some() && tasks < FEW_TASKS {
        notes.push(Note::FewTasks { tasks });
    }
    let test = &paired.significance;
    // Where both tried as often, the arrangement that is the mirror of another is as far from zero.
    let extremes = if trials.iter().all(|(a, b)| a.len() == b.len()) { 2.0 } else { 1.0 };
    #[allow(clippy::cast_precision_loss)] // A power of two at most.
    let least = (extremes / test.arrangements as f64).min(1.0);
    if test.method == SignificanceMethod::Exact && least >= LEVEL {
        notes.push(Note::LeastP { value: least });
    }
    let excludes_zero = paired.interval.is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0);
    if paired.interval.is_some() && excludes_zero != (test.p_value < LEVEL) {
        notes.push(Note::Disagree { interval_excludes_zero: excludes_zero });
    }
    notes
}

fn named(mut scores: Vec<Score>, side: &str) -> Vec<Score> {
    for score in &mut scores {
        side.clone_into(&mut score.agent_digest);
    }
    scores
}

fn pair(task: String, a: Option<Cell>, b: Option<Cell>) -> TaskPair {
    let mean = |cell: &Option<Cell>| cell.as_ref().and_then(|cell| cell.mean);
    let difference = mean(&a).zip(mean(&b)).map(|(a, b)| a - b + 0.0);
    TaskPair { task, a, b, difference }
}

fn summary(a: Side, b: Side, tasks: Vec<TaskPair>, rules: &Rules, success: Option<f64>) -> Comparison {
    let common: Vec<(&Cell, &Cell, f64)> = tasks
        .iter()
        .filter_map(|task| Some((task.a.as_ref()?, task.b.as_ref()?, task.difference?)))
        .collect();
    let differences: Vec<f64> = common.iter().map(|(.., difference)| *difference).collect();
    let count = |sign: f64| differences.iter().filter(|difference| sign * **difference > 0.0).count() as u64;
    let sign = if rules.direction == Direction::Maximize { 1.0 } else { -1.0 };
    let mean_of = |value: fn(&Cell) -> Option<f64>, is_first: bool| {
        let values = common.iter().filter_map(|(a, b, _)| value(if is_first { a } else { b }));
        mean(values)
    };
    let difference_of = |value: fn(&Cell) -> Option<f64>| {
        let differences = common.iter().filter_map(|(a, b, _)| Some(value(a)? - value(b)?));
        mean(differences)
    };
    Comparison {
        success,
        common: common.len() as u64,
        better: count(sign),
        worse: count(-sign),
        mean_a: mean_of(|cell| cell.mean, true),
        mean_b: mean_of(|cell| cell.mean, false),
        paired: None,
        notes: Vec::new(),
        cost_usd: difference_of(|cell| cell.cost_usd),
        seconds: difference_of(|cell| cell.seconds),
        rules: rules.clone(),
        a,
        b,
        tasks,
    }
}
