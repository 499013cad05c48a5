//! The heat map: what each agent made of each task.

use serde::Serialize;

use super::numbers::{Number, reward};
use super::scale::{Scale, label};
use super::subject::Subject;
use crate::rank::leaderboard::Cell;
use crate::rank::statistics::Measure;

/// How many shades there are.
const SHADES: u8 = 11;

#[derive(Serialize)]
pub struct Section {
    about: String,
    /// The ends of the scale of shades.
    low: String,
    high: String,
    steps: Vec<u8>,
    rows: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    number: usize,
    name: String,
    cells: Vec<Square>,
}

/// A cell of the map.
#[derive(Default, Serialize)]
struct Square {
    /// Its shade.
    class: String,
    value: Option<f64>,
    text: String,
    /// How many trials the mean is over, of how many.
    count: String,
    href: Option<String>,
    says: String,
}

pub fn section(subject: &Subject<'_>) -> Section {
    let lines = subject.board.tasks.iter().zip(&subject.tasks).zip(1..);
    let shades = shades(subject);
    let shade = match subject.board.ranked_by {
        Measure::Reward => subject.about_scale(),
        Measure::Gain => " Its shade goes by the gain over the baseline, as a part of the baseline's reward.",
        Measure::Share => {
            " Its shade goes by the share of what the task's own solution gains over the baseline."
        }
    };
    Section {
        about: format!(
            "The mean reward of each agent's trials of each task. The small number says how many trials that is; 3/4 are \
             three of four that were planned. A cell leads to its trials.{shade}"
        ),
        low: label(shades.low),
        high: label(shades.high),
        steps: (0..SHADES).collect(),
        rows: lines
            .map(|((task, name), number)| Line {
                number,
                name: name.clone(),
                cells: task
                    .cells
                    .iter()
                    .zip(&subject.agents)
                    .map(|(cell, agent)| match cell {
                        Some(cell) => square(
                            (subject.board.ranked_by, &shades),
                            cell,
                            (agent.number, &agent.name),
                            (number, name),
                        ),
                        None => Square::default(),
                    })
                    .collect(),
            })
            .collect(),
    }
}

/// The axis of what shades go by.
fn shades(subject: &Subject<'_>) -> Scale {
    let measure = subject.board.ranked_by;
    let cells = subject.board.tasks.iter().flat_map(|task| task.cells.iter().flatten());
    match measure {
        Measure::Reward => subject.scale,
        // More than the solution's gain is as dark as that, less than none as light as none.
        Measure::Share => Scale::of_rewards(&[]),
        Measure::Gain => Scale::around(cells.filter_map(|cell| cell.by(measure)).chain([0.0]), 4.0),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A share of ten.
fn square(
    (measure, shades): (Measure, &Scale),
    cell: &Cell,
    (agent, agent_name): (usize, &str),
    (task, task_name): (usize, &str),
) -> Square {
    let planned = cell.complete + cell.partial + cell.missing;
    let number = Number::reward(cell.mean);
    let shade = cell.by(measure).map(|value| (shades.share(value) * f64::from(SHADES - 1)).round() as u8);
    let said = cell.mean.map_or_else(|| "no reward".to_owned(), reward);
    Square {
        class: shade.map_or_else(|| "blank".to_owned(), |shade| format!("h{shade}")),
        value: number.value,
        text: number.text,
        count: if cell.counted == planned {
            planned.to_string()
        } else {
            format!("{}/{planned}", cell.counted)
        },
        href: Some(format!("#c-{agent}-{task}")),
        says: format!("{agent_name}, {task_name}: {said}, {} of {planned} trials count", cell.counted),
    }
}
