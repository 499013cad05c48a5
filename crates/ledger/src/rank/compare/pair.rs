//! Sets the trials of two agents side by side.

use std::collections::BTreeSet;

use crate::rank::leaderboard::{
    Cell, Cells, FEW_TASKS, Rules, cell, direction, gather, measure, row, success, unlike,
};
use crate::rank::statistics::{Direction, Measure, Paired, SignificanceMethod, mean, paired_trials};
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
    let counts = |cells: &Cells, place: &usize| cells.get(place).is_some_and(|one| !one.rewards.is_empty());
    let common: Vec<&usize> =
        cells_a.keys().filter(|place| counts(cells_a, place) && counts(cells_b, place)).collect();
    // By what all of their common tasks have: on others they are not compared.
    let outcomes = [cells_a, cells_b].into_iter().flatten().filter(|(place, _)| common.contains(place));
    let compared_by = measure(outcomes.clone(), rules);
    let unlike = unlike(outcomes);
    let places: BTreeSet<usize> = cells_a.keys().chain(cells_b.keys()).copied().collect();
    let tasks: Vec<TaskPair> = places
        .into_iter()
        .map(|place| {
            let cell = |cells: &Cells| cells.get(&place).map(|outcomes| cell(outcomes, rules, success));
            pair(gathered.tasks[place].clone(), cell(cells_a), cell(cells_b), compared_by)
        })
        .collect();
    let side = |choice: Choice, cells: &Cells| Side {
        experiment: choice.experiment,
        row: row(choice.agent, choice.label, cells, rules, success),
    };
    let values = |cells: &Cells, place: &usize| cells.get(place).and_then(|one| one.values(compared_by));
    let trials: Vec<(Vec<f64>, Vec<f64>)> =
        common.iter().filter_map(|place| values(cells_a, place).zip(values(cells_b, place))).collect();
    let paired = paired_trials(&trials);
    let mut notes = paired.as_ref().map(|paired| notes(&trials, paired)).unwrap_or_default();
    notes.extend(
        unlike.map(|tasks| Note::DifferentScales {
            tasks: tasks.map(|task| gathered.tasks[task].clone()).into(),
        }),
    );
    let summary = summary(side(a, cells_a), side(b, cells_b), tasks, rules, compared_by);
    Comparison { success, paired, notes, ..summary }
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

fn pair(task: String, a: Option<Cell>, b: Option<Cell>, compared_by: Measure) -> TaskPair {
    let value = |cell: &Option<Cell>| cell.as_ref().and_then(|cell| cell.by(compared_by));
    let difference = value(&a).zip(value(&b)).map(|(a, b)| a - b + 0.0);
    TaskPair { task, a, b, difference }
}

fn summary(a: Side, b: Side, tasks: Vec<TaskPair>, rules: &Rules, compared_by: Measure) -> Comparison {
    let common: Vec<(&Cell, &Cell, f64)> = tasks
        .iter()
        .filter_map(|task| Some((task.a.as_ref()?, task.b.as_ref()?, task.difference?)))
        .collect();
    let differences: Vec<f64> = common.iter().map(|(.., difference)| *difference).collect();
    let count = |sign: f64| differences.iter().filter(|difference| sign * **difference > 0.0).count() as u64;
    let sign = if direction(compared_by, rules) == Direction::Maximize { 1.0 } else { -1.0 };
    let mean_of = |is_first: bool| {
        mean(common.iter().filter_map(|(a, b, _)| if is_first { a } else { b }.by(compared_by)))
    };
    let difference_of = |value: fn(&Cell) -> Option<f64>| {
        let differences = common.iter().filter_map(|(a, b, _)| Some(value(a)? - value(b)?));
        mean(differences)
    };
    Comparison {
        success: None,
        compared_by,
        common: common.len() as u64,
        better: count(sign),
        worse: count(-sign),
        mean_a: mean_of(true),
        mean_b: mean_of(false),
        paired: None,
        notes: Vec::new(),
        cost_usd: difference_of(|cell| cell.cost_usd),
        evaluation_cost_usd: difference_of(|cell| cell.evaluation_cost_usd),
        finalization_cost_usd: difference_of(|cell| cell.finalization_cost_usd),
        seconds: difference_of(|cell| cell.seconds),
        rules: rules.clone(),
        a,
        b,
        tasks,
    }
}
