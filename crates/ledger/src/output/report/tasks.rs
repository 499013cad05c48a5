//! The heat map: what each agent made of each task.

use serde::Serialize;

use super::numbers::{Number, reward};
use super::scale::label;
use super::subject::Subject;
use crate::rank::leaderboard::Cell;

/// How many shades there are.
const SHADES: u8 = 11;

#[derive(Serialize)]
pub struct Section {
    about: &'static str,
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
    Section {
        about: "The mean reward of each agent's trials of each task. The small number says how many trials that is; 3/4 \
                are three of four that were planned. A cell leads to its trials.",
        low: label(subject.scale.low),
        high: label(subject.scale.high),
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
                        Some(cell) => square(subject, cell, (agent.number, &agent.name), (number, name)),
                        None => Square::default(),
                    })
                    .collect(),
            })
            .collect(),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A share of ten.
fn square(
    subject: &Subject<'_>,
    cell: &Cell,
    (agent, agent_name): (usize, &str),
    (task, task_name): (usize, &str),
) -> Square {
    let planned = cell.complete + cell.partial + cell.missing;
    let number = Number::reward(cell.mean);
    let shade = cell.mean.map(|mean| (subject.scale.share(mean) * f64::from(SHADES - 1)).round() as u8);
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
