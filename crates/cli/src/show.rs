//! `cargo xtask show`.

use std::io::{self, IsTerminal, Read, Write};

use crate::exit::{self, Status};
use crate::output;
use serde::Serialize;
use serde_json::value::RawValue;
use taskwright_ledger::Trial;
use taskwright_ledger::record::{Topic, shown};

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
    /// What of its evidence is not what was recorded.
    damaged: Vec<String>,
    drift: Option<String>,
    agent_configuration: Option<Box<RawValue>>,
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
        damaged: ledger.damage(&trial),
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

fn text(answer: &Answer<'_>) -> String {
    let trial = answer.trial;
    let mut more = vec![
        (Topic::Task, "drift", answer.drift.clone()),
        (Topic::Configuration, "configuration", answer.agent_configuration.as_ref().map(ToString::to_string)),
        (Topic::Origin, "imported from", answer.imported_from.clone()),
    ];
    more.extend(answer.damaged.iter().map(|what| (Topic::Parts, "damaged", Some(what.clone()))));
    let lines = shown(trial, None, &more).into_iter();
    let mut text: String = lines.map(|(label, value)| format!("{label:<14} {}\n", clean(&value))).collect();
    if let Some(file) = trial.evidence.iter().find(|file| file.digest.is_some()) {
        let id: String = trial.id.chars().take(8).collect();
        text.push_str(&format!(
            "\n`cargo xtask show {} --evidence {}` prints a file\n",
            clean(&id),
            clean(&file.path)
        ));
    }
    text
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
