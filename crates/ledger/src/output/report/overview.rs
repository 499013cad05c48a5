//! What stands above and below everything else: how much there is, of when, and what to know before reading numbers.

use std::collections::BTreeSet;

use serde::Serialize;
use taskwright_base::text::brief;

use super::numbers::{Link, Number, dollars, how_many, reward, tokens};
use super::subject::Subject;
use crate::rank::leaderboard::{Note, Row};

#[derive(Serialize)]
pub struct Overview {
    lede: String,
    /// What would mislead whoever does not know it.
    warnings: Vec<String>,
    facts: Vec<Fact>,
    notes: Vec<String>,
    footer: String,
    empty: bool,
}

#[derive(Serialize)]
struct Fact {
    name: &'static str,
    #[serde(flatten)]
    link: Link,
}

pub fn overview(subject: &Subject<'_>) -> Overview {
    let warnings = subject.board.notes.iter().map(warning).collect();
    Overview {
        lede: lede(subject),
        warnings,
        facts: facts(subject),
        notes: notes(),
        footer: footer(subject),
        empty: subject.trials.is_empty(),
    }
}

fn lede(subject: &Subject<'_>) -> String {
    let counts = format!(
        "{} by {} of {}",
        how_many(subject.trials.len() as u64, "trial"),
        how_many(subject.agents.len() as u64, "agent"),
        how_many(subject.tasks.len() as u64, "task"),
    );
    match days(subject) {
        None => format!("{counts}."),
        Some((first, last)) if first == last => format!("{counts}, run on {first}."),
        Some((first, last)) => format!("{counts}, run from {first} to {last}."),
    }
}

/// The days of the first start and the last end.
fn days(subject: &Subject<'_>) -> Option<(String, String)> {
    let times = || {
        let trials = subject.trials.iter().map(|placed| placed.trial);
        trials.flat_map(|trial| [&trial.started_at, &trial.finished_at]).flatten()
    };
    let day = |time: &String| brief(&time.chars().take(10).collect::<String>(), 10);
    Some((day(times().min()?), day(times().max()?)))
}

fn facts(subject: &Subject<'_>) -> Vec<Fact> {
    let rows = &subject.board.rows;
    let sum = |of: fn(&Row) -> u64| rows.iter().map(of).sum::<u64>();
    let count = |count, status: &str| Link::count(count, "#trials", &format!("s-0-{status}"));
    let cost = rows.iter().filter_map(|row| row.cost_usd.total).reduce(|sum, cost| sum + cost);
    let used = subject.trials.iter().map(|placed| placed.trial.tokens);
    let used = used.fold(None, |sum: Option<u64>, tokens| match (tokens.input, tokens.output) {
        (None, None) => sum,
        (input, output) => {
            Some(sum.unwrap_or(0).saturating_add(input.unwrap_or(0)).saturating_add(output.unwrap_or(0)))
        }
    });
    let mut facts = vec![
        Fact { name: "Complete", link: count(sum(|row| row.complete), "complete") },
        Fact { name: "Partial", link: count(sum(|row| row.partial), "partial") },
        Fact { name: "Missing", link: count(sum(|row| row.missing), "missing") },
    ];
    if let Some(cost) = cost {
        facts.push(Fact { name: "Cost", link: Number { value: Some(cost), text: dollars(cost) }.into() });
    }
    let candidates =
        rows.iter().flat_map(|row| [row.evaluation_cost_usd.total, row.finalization_cost_usd.total]);
    if let Some(cost) = candidates.flatten().reduce(|sum, cost| sum + cost) {
        let link = Number { value: Some(cost), text: dollars(cost) }.into();
        facts.push(Fact { name: "Candidates’ cost", link });
    }
    if let Some(used) = used.map(super::numbers::float) {
        facts.push(Fact { name: "Tokens", link: Number { value: Some(used), text: tokens(used) }.into() });
    }
    facts
}

/// What a note of the leaderboard says to the reader of the page.
fn warning(note: &Note) -> String {
    let names = |names: &[String]| {
        let mut shown: Vec<String> = names.iter().take(6).map(|name| brief(name, 80)).collect();
        if names.len() > 6 {
            shown.push(format!("{} others", names.len() - 6));
        }
        shown.join(", ")
    };
    match note {
        Note::PartialCounted { trials, value } => {
            format!("{} without a valid reward count as {}.", how_many(*trials, "partial trial"), reward(*value))
        }
        Note::DifferentTasks { tasks } => format!(
            "The agents' means are not over the same tasks, since some have no trial that counts of: {}. cargo xtask \
             compare compares two agents on the tasks that both have.",
            names(tasks)
        ),
        Note::NoThreshold => {
            "There is no pass@k, because nothing says which rewards are a success; the option --threshold does.".to_owned()
        }
        Note::NoVariation { agents } => format!(
            "All tasks of these have the same mean, so that there is no interval to give: {}.",
            names(agents)
        ),
        Note::FewTasks { agents } => {
            format!("Fewer than ten tasks make a rough interval: {}.", names(agents))
        }
        Note::NearAnEnd { agents } => format!(
            "So near 0 or 1, intervals of so few tasks are too narrow: {}.",
            names(agents)
        ),
        Note::CostAtLeast { agents } => format!(
            "What agents cost that were killed is a lower bound, since they had not reported all: {}.",
            names(agents)
        ),
        Note::DifferentScales { tasks, without_baseline } => {
            let why = if without_baseline.is_empty() {
                String::new()
            } else {
                format!(" Ranking by gain takes the baseline's reward of {}.", names(without_baseline))
            };
            format!(
                "The means are over rewards of different size, and mostly those of the larger: {}.{why}",
                names(tasks)
            )
        }
        Note::OtherDirection { tasks } => {
            format!("These say that other rewards are better than the ranking takes for it: {}.", names(tasks))
        }
        Note::ChangedTasks { tasks } => {
            format!("Tasks that changed between trials, by their digests: {}.", names(tasks))
        }
    }
}

fn notes() -> Vec<String> {
    vec![
        "A trial is complete if it was graded, its reward is valid, and infrastructure did not break it; partial if it ran \
         and has no valid reward; missing if it was planned and has no result."
            .to_owned(),
        "An agent's reward is the mean over tasks of the mean over each task's complete trials. Its 95 % interval is \
         Student's, from the spread of the tasks' means. For a single task of zeros and ones it is Wilson's."
            .to_owned(),
        "Cost and time of an agent are means over tasks as well; the sums at the top are over all trials of which they \
         are known. Tokens from a cache are part of those read, and are not counted twice."
            .to_owned(),
        "What an agent cost is what its trial's gateway metered of it, and what it claims itself where none did. What \
         candidates cost that it had evaluated is not part of it."
            .to_owned(),
        "An agent is its whole configuration: two with one name and other parameters are two rows.".to_owned(),
        "Numbers here are rounded; cargo xtask export has them in full, and cargo xtask leaderboard makes \
         them from the same trials by the same rules."
            .to_owned(),
    ]
}

fn footer(subject: &Subject<'_>) -> String {
    let versions: BTreeSet<&str> =
        subject.trials.iter().filter_map(|placed| placed.trial.harbor_version.as_deref()).collect();
    let versions: Vec<String> = versions.into_iter().take(8).map(|version| brief(version, 20)).collect();
    let harbor = match &versions[..] {
        [] => String::new(),
        versions => format!(" Trials run by Harbor {}.", versions.join(", ")),
    };
    let newest = days(subject).map_or_else(String::new, |(_, last)| format!(" State of {last}."));
    format!("Written by cargo xtask report.{newest}{harbor}")
}
