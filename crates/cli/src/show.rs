//! `cargo xtask show`.

use std::io::{self, IsTerminal, Read, Write};

use crate::exit::{self, Status};
use crate::output;
use serde::Serialize;
use taskwright_ledger::Trial;
use taskwright_ledger::record::{Exception, Reward, Step};

use crate::ledger::LedgerArguments;
use crate::provenance;
use taskwright_base::text::clean;

/// Show all that is known of a trial.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask show 270ec5c2\n  cargo xtask show sort__8njYEZ4 --evidence \
                        verifier/test-stdout.txt"
)]
pub struct Arguments {
    /// Its identifier, a beginning of it that no other has, or its name.
    trial: String,
    #[command(flatten)]
    ledger: LedgerArguments,
    /// Print this file of its evidence: as it was kept, or on a terminal without what would steer that.
    #[arg(long, value_name = "PATH", conflicts_with = "json")]
    evidence: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    trial: &'a Trial,
    imported_from: Option<String>,
    drift: Option<String>,
    agent_configuration: Option<serde_json::Value>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let ledger = arguments.ledger.read()?;
    let trial = ledger.find(&arguments.trial)?;
    if let Some(path) = &arguments.evidence {
        let mut content = ledger.evidence(&trial, path)?;
        let mut out = io::stdout().lock();
        if out.is_terminal() {
            copy_harmless(&mut content, &mut out)?;
        } else {
            io::copy(&mut content, &mut out)?;
        }
        out.flush()?;
        return Ok(exit::SUCCESS);
    }
    let agents = ledger.agents()?;
    let agent = agents.into_iter().find(|agent| agent.digest == trial.agent_digest);
    let answer = Answer {
        trial: &trial,
        imported_from: ledger.origin(&trial.id)?,
        drift: provenance::drift(&trial)?,
        agent_configuration: agent.and_then(|agent| serde_json::from_str(&agent.configuration).ok()),
    };
    output::print(&if arguments.json {
        format!("{}\n", serde_json::to_string_pretty(&answer)?)
    } else {
        text(&answer)
    })?;
    Ok(exit::SUCCESS)
}

/// Copies text for a terminal: an agent may have written signs into it that a terminal obeys.
fn copy_harmless(content: &mut impl Read, out: &mut impl Write) -> io::Result<()> {
    const PART: u64 = 64 << 10;
    let mut bytes = Vec::new();
    while content.by_ref().take(PART).read_to_end(&mut bytes)? > 0 {
        // A letter may begin in one part and end in the next.
        let whole = match str::from_utf8(&bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => bytes.len(),
        };
        for word in String::from_utf8_lossy(&bytes[..whole]).split_inclusive(['\n', '\t']) {
            let ends = ["\r\n", "\n", "\t"];
            let text = ends.iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
            write!(out, "{}{}", clean(text), &word[text.len()..])?;
        }
        bytes.drain(..whole);
    }
    out.write_all(String::from_utf8_lossy(&bytes).as_bytes())
}

/// Lines of a label and what it labels.
struct Lines(String);

impl Lines {
    fn add(&mut self, label: &str, value: impl Into<Option<String>>) {
        if let Some(value) = value.into().filter(|value| !value.is_empty()) {
            self.0.push_str(&format!("{label:<14} {}\n", clean(&value)));
        }
    }
}

fn text(answer: &Answer<'_>) -> String {
    let trial = answer.trial;
    let mut lines = Lines(String::new());
    lines.add("trial", trial.trial_name.clone());
    lines.add("id", trial.id.clone());
    lines.add("status", trial.status.to_string());
    lines.add("failure", trial.failure.map(|failure| failure.to_string()));
    lines.add("exception", trial.exception.as_ref().map(exception));
    lines.add("note", trial.note.clone());
    lines.add(
        "reward",
        trial.reward.map(|value| {
            let doubt = if trial.reward_valid { "" } else { ", not valid by Harbor's policy" };
            format!("{value} (`{}`{doubt})", trial.reward_key.as_deref().unwrap_or_default())
        }),
    );
    lines.add("rewards", rewards(&trial.rewards));
    lines.add("task", trial.task.clone());
    lines.add("task digest", trial.task_digest.clone());
    if let Some(provenance) = &trial.provenance {
        lines.add(
            "spec",
            format!("{} {}", provenance.spec, provenance.spec_digest.as_deref().unwrap_or_default()),
        );
        lines.add("baseline", provenance.baseline.clone());
        lines.add("dataset", provenance.dataset.clone());
    }
    lines.add("drift", answer.drift.clone());
    lines.add("agent", trial.agent.clone());
    lines.add("agent digest", trial.agent_digest.clone());
    lines.add("version", trial.agent_version.clone());
    lines.add("model", trial.model.clone());
    lines.add("configuration", answer.agent_configuration.as_ref().map(ToString::to_string));
    lines.add("environment", trial.environment.clone());
    lines.add("harbor", trial.harbor_version.clone());
    lines.add("experiment", trial.experiment.clone());
    lines.add("job", trial.job.clone());
    lines.add("source", trial.source.to_string());
    lines.add("imported from", answer.imported_from.clone());
    let zone = |time: &String| {
        if time.ends_with('Z') { time.clone() } else { format!("{time} (local time, zone unknown)") }
    };
    lines.add("started", trial.started_at.as_ref().map(zone));
    lines.add("finished", trial.finished_at.as_ref().map(zone));
    lines.add("seconds", seconds(trial));
    lines.add("tokens", tokens(trial));
    lines.add("cost", trial.cost_usd.map(|cost| format!("${cost}")));
    for step in &trial.steps {
        lines.add("step", step_line(step));
    }
    for file in &trial.evidence {
        let digest = file.digest.as_deref().map_or("", |digest| &digest[..digest.len().min(12)]);
        lines.add("evidence", format!("{:<40} {:>10}  {digest:12}  {}", file.path, file.size, file.kept));
    }
    if let Some(file) = trial.evidence.iter().find(|file| file.digest.is_some()) {
        let id: String = trial.id.chars().take(8).collect();
        lines.0.push_str(&format!(
            "\n`cargo xtask show {} --evidence {}` prints a file\n",
            clean(&id),
            clean(&file.path)
        ));
    }
    lines.0
}

fn exception(exception: &Exception) -> String {
    let step = exception.step.as_ref().map_or_else(String::new, |step| format!(" in step `{step}`"));
    let message =
        if exception.message.is_empty() { String::new() } else { format!(": {}", exception.message) };
    format!("{}{step}{message}", exception.kind)
}

fn rewards(rewards: &[Reward]) -> String {
    let each = rewards.iter().map(|reward| {
        let value = reward.value.map(|value| value.to_string());
        let text = reward.text.clone().or(value).unwrap_or_default();
        let reason = reward.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
        format!("{} = {text}{reason}", reward.key)
    });
    each.collect::<Vec<_>>().join(", ")
}

fn seconds(trial: &Trial) -> String {
    let seconds = trial.seconds;
    let phases = [
        ("environment", seconds.environment),
        ("agent setup", seconds.agent_setup),
        ("agent", seconds.agent),
        ("verifier", seconds.verifier),
        ("total", seconds.total),
    ];
    let known = phases.iter().filter_map(|(phase, time)| Some(format!("{phase} {:.3}", (*time)?)));
    known.collect::<Vec<_>>().join(", ")
}

fn tokens(trial: &Trial) -> String {
    let tokens = trial.tokens;
    let counts = [("input", tokens.input), ("of these cached", tokens.cached), ("output", tokens.output)];
    counts
        .iter()
        .filter_map(|(kind, count)| Some(format!("{kind} {}", (*count)?)))
        .collect::<Vec<_>>()
        .join(", ")
}

fn step_line(step: &Step) -> String {
    let raised =
        step.exception.as_ref().map_or_else(String::new, |raised| format!("; {}", exception(raised)));
    format!("{}: {}{raised}", step.name, rewards(&step.rewards))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(content: &[u8]) -> String {
        let mut out = Vec::new();
        copy_harmless(&mut &*content, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_terminal_gets_text_that_it_does_not_obey() {
        assert_eq!(shown(b"a\tb\r\nc\n"), "a\tb\r\nc\n");
        assert_eq!(shown(b"\x1b]0;title\x07 x\ry \xff"), "\\u{1b}]0;title\\u{7} x\\ry \u{fffd}");
        // However long it is, and wherever a part of it ends.
        let long = "€\n".repeat(50_000);
        assert_eq!(shown(long.as_bytes()), long);
        assert_eq!(shown("x".repeat(200_000).as_bytes()).len(), 200_000);
    }
}
