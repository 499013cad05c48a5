//! Imports a job of an experiment into the ledger, and shows what the ledger then says of the experiment.

use crate::output::say;
use clap::{Args, FromArgMatches};
use serde_json::{Value, json};
use taskwright_experiment::jobs::Job;
use taskwright_ledger::Ledger;
use taskwright_ledger::import::{Event, Options, Outcome, Report};
use taskwright_ledger::record::Source;
use taskwright_ledger::redact::Secrets;

use crate::ledger::LedgerArguments;
use crate::{import, leaderboard, provenance, report};
use taskwright_base::text::clean;

/// The most trials that are named because something is odd about them.
const MOST_NAMED: usize = 20;

/// What came of it.
pub struct Imported {
    report: Report,
    /// What is odd: everything but trials that are complete, or were there before.
    odd: Vec<Event>,
}

/// Imports what is there of a job. `token` is a further text that must not be recorded.
pub fn import(ledger: &LedgerArguments, job: &Job, token: Option<&str>) -> anyhow::Result<Imported> {
    let mut secrets = secrets(job)?;
    token.into_iter().for_each(|token| secrets.add(token));
    let options = Options {
        source: Source::Run,
        secrets,
        job: Some(&provenance::describe),
        waiting: Some(&|| say("waiting: another process changes the ledger")),
        ..Options::default()
    };
    let mut odd = Vec::new();
    let mut ledger = Ledger::open(ledger.directory()?)?;
    let report = ledger.import(&[job.dir.clone().into()], &options, |event| {
        if !matches!(event.outcome, Outcome::Imported | Outcome::Duplicate) {
            odd.push(event);
        }
    })?;
    Ok(Imported { report, odd })
}

/// The values of the variables that a job takes from this machine: an agent that prints them must not have them recorded.
fn secrets(job: &Job) -> taskwright_base::Result<Secrets> {
    let mut secrets = Secrets::default();
    for name in job.variables()? {
        if let Some(value) = std::env::var(name).ok().filter(|value| !value.is_empty()) {
            secrets.add(&value);
        }
    }
    Ok(secrets)
}

impl Imported {
    /// Whether nothing was refused and nothing contradicts what was there.
    pub fn is_clean(&self) -> bool {
        self.report.conflicts == 0 && self.report.rejected == 0
    }

    /// Says how many trials came of it, and names those that are odd.
    pub fn tell(&self) {
        // Missing trials are told of by the job, which knows their agents.
        let odd = || self.odd.iter().filter(|event| event.outcome != Outcome::Missing);
        for event in odd().take(MOST_NAMED) {
            let name = event.trial.as_deref().unwrap_or(&event.path);
            let why: Vec<String> = event.reasons.iter().map(|reason| clean(reason)).collect();
            say(&format!("{}: {}: {}", word(event.outcome), clean(name), why.join("; ")));
        }
        let more = odd().count().saturating_sub(MOST_NAMED);
        if more > 0 {
            say(&format!("... and {more} more; `cargo xtask trials` lists them"));
        }
        say(&format!("ledger: {}", import::summary(&self.report)));
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        json!({"report": self.report, "odd": self.odd})
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Imported => "imported",
        Outcome::Partial => "partial",
        Outcome::Replaced => "replaced",
        Outcome::Duplicate => "already there",
        Outcome::Conflict => "conflict",
        Outcome::Rejected => "rejected",
        Outcome::Missing => "missing",
    }
}

/// Prints the leaderboard of an experiment, and writes its report into the job's folder.
pub fn show(
    ledger: &LedgerArguments,
    job: &Job,
    experiment: &str,
    metric: Option<&str>,
) -> anyhow::Result<()> {
    let directory = ledger.directory()?;
    let mut all = vec!["--ledger", directory.as_str(), "--experiment", experiment];
    all.extend(metric.into_iter().flat_map(|metric| ["--metric", metric]));
    leaderboard::run(&arguments(&all)?)?;
    let page = job.dir.join("report.html");
    all.extend(["--output", page.as_str()]);
    report::run(&arguments(&all)?)?;
    Ok(())
}

/// Arguments of another command, from their text.
fn arguments<A: Args + FromArgMatches>(texts: &[&str]) -> Result<A, clap::Error> {
    let command = A::augment_args(clap::Command::new("arguments").no_binary_name(true));
    A::from_arg_matches(&command.try_get_matches_from(texts)?)
}
