//! The table of trials, each with what is known of it and where its evidence lies.

use handlebars::Handlebars;
use rayon::prelude::*;
use serde::Serialize;
use taskwright_base::text::{brief, brief_lines};

use super::content::{Excerpt, ReportError};
use super::numbers::{Number, bytes, dollars, how_many, reward, seconds, tokens};
use super::subject::{Placed, Subject};
use crate::rank::statistics::Direction;
use crate::record::Trial;

/// How much of a message is shown; the rest is in the evidence.
const LONGEST_MESSAGE: usize = 600;
/// How many files of a trial are listed.
const MOST_FILES: usize = 40;
/// How many characters all excerpts may have together, so that a page of thousands of failures can still be opened.
const EXCERPTS: usize = 4_000_000;
/// How many one of them may have.
const LONGEST_EXCERPT: usize = 2_000;

#[derive(Serialize)]
pub struct Section {
    about: &'static str,
    agents: Vec<AgentTrials>,
}

#[derive(Serialize)]
struct AgentTrials {
    number: usize,
    mark: String,
    name: String,
    groups: Vec<Group>,
}

/// The trials of a cell of the heat map.
#[derive(Serialize)]
struct Group {
    agent: usize,
    task: usize,
    /// Their rows as HTML.
    trials: Vec<String>,
}

#[derive(Serialize)]
struct Line {
    number: usize,
    agent: usize,
    task: usize,
    agent_mark: String,
    agent_name: String,
    task_name: String,
    name: String,
    status: &'static str,
    failure: &'static str,
    /// The bar of the histogram that it is in; `-` if it is in none.
    bin: String,
    reward: Number,
    cost: Number,
    seconds: Number,
    tokens: Number,
    started: Option<String>,
    started_short: String,
    exception: Option<String>,
    message: String,
    facts: Vec<Fact>,
    excerpts: Vec<Excerpt>,
    command: String,
    evidence: Vec<File>,
    more: Option<String>,
}

#[derive(Serialize)]
struct Fact {
    name: String,
    text: String,
}

#[derive(Serialize)]
struct File {
    path: String,
    size: String,
    href: Option<String>,
}

/// Renders the rows apart from the page, several at once: there may be thousands, and a row needs nothing of the rest.
pub fn section(subject: &Subject<'_>, registry: &Handlebars<'_>) -> Result<Section, ReportError> {
    let mut room = EXCERPTS;
    let lines: Vec<Line> = subject.trials.iter().map(|placed| line(subject, placed, &mut room)).collect();
    // In the order of the trials, as the groups below are.
    let mut rows = lines
        .par_iter()
        .map(|line| registry.render("trial", line).map_err(Into::into))
        .collect::<Result<Vec<_>, ReportError>>()?
        .into_iter();
    let agents = subject.agents.iter().map(|agent| AgentTrials {
        number: agent.number,
        mark: agent.mark.clone(),
        name: agent.name.clone(),
        groups: subject
            .of_agent(agent.number)
            .chunk_by(|one, next| one.task == next.task)
            .map(|trials| Group {
                agent: agent.number,
                task: trials[0].task,
                trials: rows.by_ref().take(trials.len()).collect(),
            })
            .collect(),
    });
    Ok(Section {
        about: "A trial's name opens what is known of it, with its evidence.",
        agents: agents.collect(),
    })
}

fn line(subject: &Subject<'_>, placed: &Placed<'_>, room: &mut usize) -> Line {
    let trial = placed.trial;
    let bin = placed.reward.filter(|_| placed.is_complete()).map(|reward| subject.scale.bin(reward));
    let started = trial.started_at.as_deref().map(|started| brief(started, 40));
    Line {
        number: placed.number,
        agent: placed.agent,
        task: placed.task,
        agent_mark: subject.agents[placed.agent - 1].mark.clone(),
        agent_name: subject.agents[placed.agent - 1].name.clone(),
        task_name: subject.tasks[placed.task - 1].clone(),
        name: brief(&trial.trial_name, 80),
        status: placed.status.word(),
        failure: placed.failure(),
        bin: bin.map_or_else(|| "-".to_owned(), |bin| bin.to_string()),
        reward: Number::reward(placed.reward),
        cost: Number::dollars(trial.cost_usd),
        seconds: Number::seconds(trial.seconds.total),
        tokens: Number::tokens(all_tokens(trial)),
        started_short: started.as_deref().map_or_else(|| "–".to_owned(), minute),
        started,
        exception: trial.exception.as_ref().map(|exception| brief(&exception.kind, 120)),
        message: trial
            .exception
            .as_ref()
            .map_or_else(String::new, |exception| brief_lines(exception.message.trim(), LONGEST_MESSAGE)),
        facts: facts(trial),
        excerpts: excerpts(subject, placed, room),
        command: command(&trial.id),
        evidence: evidence(subject, trial),
        more: trial
            .evidence
            .len()
            .checked_sub(MOST_FILES)
            .filter(|more| *more > 0)
            .map(|more| format!("and {}", how_many(more as u64, "other file"))),
    }
}

/// Tokens read, those from a cache among them, and written.
fn all_tokens(trial: &Trial) -> Option<u64> {
    match (trial.tokens.input, trial.tokens.output) {
        (None, None) => None,
        (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
    }
}

/// A time to the minute.
fn minute(time: &str) -> String {
    time.chars().take(16).map(|character| if character == 'T' { ' ' } else { character }).collect()
}

/// The ends of files that say what went wrong, as long as there is room for more of them.
fn excerpts(subject: &Subject<'_>, placed: &Placed<'_>, room: &mut usize) -> Vec<Excerpt> {
    // A trial that was graded, and came to nothing: what the verifier said tells why.
    let is_nothing = subject.board.rules.direction == Direction::Maximize
        && placed.reward.is_some_and(|reward| reward <= 0.0);
    if *room == 0 || placed.failure().is_empty() && !is_nothing {
        return Vec::new();
    }
    let shorten = |excerpt: Excerpt| {
        let from = excerpt.text.char_indices().rev().nth(LONGEST_EXCERPT - 1).map_or(0, |(from, _)| from);
        let text = brief_lines(excerpt.text[from..].trim_matches('\n'), LONGEST_EXCERPT);
        Excerpt { title: brief(&excerpt.title, 120), text }
    };
    let mut excerpts: Vec<Excerpt> =
        (subject.content.excerpts)(placed.trial).into_iter().map(shorten).collect();
    excerpts.retain(|excerpt| !excerpt.text.is_empty());
    *room = room.saturating_sub(excerpts.iter().map(|excerpt| excerpt.text.len()).sum());
    excerpts
}

/// The command that prints all that the ledger has of a trial.
fn command(id: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let id = brief(id, 200);
    let id = if !id.is_empty() && id.bytes().all(is_plain) {
        id
    } else {
        format!("'{}'", id.replace('\'', r"'\''"))
    };
    format!("cargo xtask show {id}")
}

fn evidence(subject: &Subject<'_>, trial: &Trial) -> Vec<File> {
    let file = |evidence| File {
        href: (subject.content.link)(trial, evidence),
        path: brief(&evidence.path, 160),
        size: bytes(evidence.size),
    };
    trial.evidence.iter().take(MOST_FILES).map(file).collect()
}

/// What is known of a trial beside what its row says.
fn facts(trial: &Trial) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut add = |name: &str, text: Option<String>| {
        if let Some(text) = text {
            facts.push(Fact { name: brief(name, 60), text: brief(&text, 160) });
        }
    };
    for one in trial.rewards.iter().take(20) {
        let value = one.value.map(reward).or_else(|| one.reason.clone());
        add(&format!("reward {}", one.key), value);
    }
    for step in trial.steps.iter().take(20) {
        let rewards = step
            .rewards
            .iter()
            .map(|one| format!("{} {}", one.key, one.value.map_or_else(|| "none".to_owned(), reward)));
        let words = rewards.chain(step.exception.iter().map(|exception| exception.kind.clone()));
        add(&format!("step {}", step.name), Some(words.collect::<Vec<_>>().join(", ")));
    }
    add("note", trial.note.clone());
    add("experiment", trial.experiment.clone());
    add("job", trial.job.clone());
    add("model", trial.model.clone());
    add("agent version", trial.agent_version.clone());
    add("environment", trial.environment.clone());
    add("Harbor", trial.harbor_version.clone());
    add("task digest", trial.task_digest.as_deref().map(|digest| digest.chars().take(19).collect()));
    add("built from", trial.provenance.as_ref().map(|provenance| provenance.spec.clone()));
    let phases = [
        ("environment", trial.seconds.environment),
        ("agent set-up", trial.seconds.agent_setup),
        ("agent", trial.seconds.agent),
        ("verifier", trial.seconds.verifier),
    ];
    let phases: Vec<String> =
        phases.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", seconds(value?)))).collect();
    add("time", Some(phases.join(", ")).filter(|text| !text.is_empty()));
    let counts = [
        ("read", trial.tokens.input),
        ("of these cached", trial.tokens.cached),
        ("written", trial.tokens.output),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name} {}", tokens(super::numbers::float(value?)))))
        .collect();
    add("tokens", Some(counts.join(", ")).filter(|text| !text.is_empty()));
    // Where the table is narrow its columns leave these out.
    add("cost", trial.cost_words(dollars));
    for (name, used) in [
        ("metered, agent", trial.metered.producer),
        ("metered, search", trial.metered.evaluation),
        ("metered, end", trial.metered.finalization),
    ] {
        add(name, used.words(|count| tokens(super::numbers::float(count)), dollars));
    }
    add("started", trial.started_at.clone());
    facts
}
