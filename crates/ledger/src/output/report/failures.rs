//! What broke, by agent and class.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use taskwright_base::text::brief;

use super::numbers::{Link, float};
use super::scale::{Scale, label, percent};
use super::subject::{MISSING, Placed, Subject, UNKNOWN};
use crate::rank::leaderboard::Row;

/// The classes in the order of the columns, each with the strokes that tell it from the others without its colour.
const CLASSES: [(&str, &str); 9] = [
    ("infrastructure", "M0 8L8 0"),
    ("candidate", "M0 0L8 8"),
    ("verifier", "M4 0V8"),
    ("budget", "M0 4H8"),
    ("timeout", "M0 8L8 0M0 0L8 8"),
    ("cancelled", "M0 4H8M4 0V8"),
    (UNKNOWN, "M2 2h1M6 6h1"),
    (MISSING, ""),
    (GRADED, "M1 7h1"),
];

/// The column of complete trials in which something failed nevertheless.
const GRADED: &str = "graded";

#[derive(Serialize)]
pub struct Section {
    about: &'static str,
    /// The share that a bar of full width would be, in percent.
    full: String,
    classes: Vec<Class>,
    /// The classes that can be filtered by.
    choices: Vec<&'static str>,
    rows: Vec<Line>,
    lists: Vec<List>,
}

#[derive(Serialize)]
struct Class {
    name: &'static str,
    hatch: &'static str,
}

#[derive(Serialize)]
struct Line {
    number: usize,
    mark: String,
    name: String,
    parts: Vec<Part>,
    counts: Vec<Count>,
    of: Link,
}

/// A part of a bar.
#[derive(Serialize)]
struct Part {
    class: &'static str,
    x: String,
    width: String,
}

#[derive(Serialize)]
struct Count {
    class: &'static str,
    #[serde(flatten)]
    link: Link,
}

/// The trials behind a number, for who has no script.
#[derive(Serialize)]
struct List {
    id: String,
    title: String,
    trials: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    number: usize,
    name: String,
}

pub fn section(subject: &Subject<'_>) -> Section {
    let counts: Vec<BTreeMap<&str, u64>> = subject.board.rows.iter().map(counts).collect();
    let used: Vec<(&str, &str)> = CLASSES
        .into_iter()
        .filter(|(class, _)| counts.iter().any(|counts| counts.contains_key(class)))
        .collect();
    let planned = |row: &Row| row.complete + row.partial + row.missing;
    let failed = |counts: &BTreeMap<&str, u64>| float(counts.values().sum());
    let shares = subject
        .board
        .rows
        .iter()
        .zip(&counts)
        .map(|(row, counts)| failed(counts) / float(planned(row).max(1)));
    let scale = Scale::around(shares.chain([0.0]), 2.0);
    let rows = subject.rows().zip(&counts).map(|((row, agent), counts)| {
        let count = |class: &str| counts.get(class).copied().unwrap_or(0);
        let mut before = 0;
        let parts = used.iter().filter(|(class, _)| count(class) > 0).map(|(class, _)| {
            let share = |count: u64| scale.share(float(count) / float(planned(row)));
            let x = percent(share(before));
            before += count(class);
            Part { class, x, width: percent(share(count(class))) }
        });
        Line {
            number: agent.number,
            mark: agent.mark.clone(),
            name: agent.name.clone(),
            parts: parts.collect(),
            counts: used
                .iter()
                .map(|(class, _)| link(class, count(class), agent.number, &agent.name))
                .collect(),
            of: Link::count(planned(row), &format!("#a-{}", agent.number), &format!("a-{}", agent.number)),
        }
    });
    let classes: BTreeSet<&str> =
        subject.trials.iter().map(Placed::failure).filter(|class| !class.is_empty()).collect();
    Section {
        about: about(&used),
        full: label(100.0 * scale.high),
        choices: CLASSES
            .into_iter()
            .map(|(class, _)| class)
            .filter(|class| classes.contains(class))
            .collect(),
        rows: if used.is_empty() { Vec::new() } else { rows.collect() },
        classes: used.iter().map(|(name, hatch)| Class { name, hatch }).collect(),
        lists: lists(subject),
    }
}

fn about(used: &[(&str, &str)]) -> &'static str {
    if used.is_empty() {
        return "Nothing failed.";
    }
    "Trials that are not complete, by what broke, as a share of all trials that were planned: none of them counts in a \
     mean unless the notes say so. Where something failed in a trial that was graded all the same, as an agent that ran \
     out of time, it counts, and is listed as graded."
}

/// The trials of an agent by column; columns without any are left out.
fn counts(row: &Row) -> BTreeMap<&'static str, u64> {
    let mut counts: BTreeMap<&str, u64> =
        row.failures.iter().map(|(failure, count)| (failure.word(), *count)).collect();
    let classed: u64 = row.failures.values().sum();
    // A trial that is missing has a class only if somebody says why; what remains is of no class.
    let without = (row.partial + row.missing).saturating_sub(classed);
    let missing = without.min(row.missing);
    counts.insert(MISSING, missing);
    counts.insert(UNKNOWN, without - missing);
    counts.insert(GRADED, row.flagged.values().sum());
    counts.retain(|_, count| *count > 0);
    counts
}

fn link(class: &'static str, count: u64, agent: usize, name: &str) -> Count {
    let id = id(agent, class);
    let link = Link::count(count, &format!("#{id}"), &id).saying(format!("{count} {class}: {name}"));
    Count { class, link }
}

fn id(agent: usize, class: &str) -> String {
    format!("f-{agent}-{class}")
}

fn lists(subject: &Subject<'_>) -> Vec<List> {
    let mut lists: BTreeMap<(usize, usize), List> = BTreeMap::new();
    for placed in &subject.trials {
        let class =
            if placed.is_complete() && placed.trial.failure.is_some() { GRADED } else { placed.failure() };
        let Some(column) = CLASSES.iter().position(|(name, _)| *name == class) else { continue };
        let list = lists.entry((placed.agent, column)).or_insert_with(|| List {
            id: id(placed.agent, class),
            title: format!("{}: {class}", subject.agents[placed.agent - 1].name),
            trials: Vec::new(),
        });
        list.trials.push(Entry { number: placed.number, name: brief(&placed.trial.trial_name, 60) });
    }
    lists.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Failure, Status};
    use taskwright_testing::test;

    #[test]
    fn every_class_of_the_record_has_a_column() {
        let columns = CLASSES.map(|(class, _)| class);
        assert!(Failure::ALL.iter().all(|failure| columns.contains(&failure.word())));
        assert!(Status::ALL.iter().any(|status| status.word() == MISSING));
    }
}
