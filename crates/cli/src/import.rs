//! `cargo xtask import`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use taskwright_base::Error;

use crate::exit::{self, Status};
use crate::{interrupt, output};
use camino::Utf8PathBuf;
use serde::Serialize;
use taskwright_ledger::Ledger;
use taskwright_ledger::import::{Event, JobSeen, Options, Outcome, Report};
use taskwright_ledger::record::Source;

use crate::ledger::LedgerArguments;
use crate::provenance;
use taskwright_base::text::{clean, count};

/// How long to wait before looking again.
const INTERVAL: Duration = Duration::from_secs(2);

/// How many lines of one kind are printed.
const SHOWN: usize = 20;

/// Take trials that Harbor has run into the ledger.
///
/// Each trial is taken on its own: imported, partial (it has no reward that counts), duplicate, conflict (another with
/// its identifier and other content is there, and stays), rejected, or missing (planned by its job, without a result).
/// Its files are copied into the ledger's store, without the secrets that its configuration holds.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask import jobs/2026-11-27__20-34-52\n  cargo xtask import jobs --experiment \
                        smoke --watch\n  cargo xtask import ~/jobs/old/*/ --reference --json"
)]
pub struct Arguments {
    /// Folders of trials, of jobs, or that hold folders of jobs; or single files like a trial's result.json.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<Utf8PathBuf>,
    #[command(flatten)]
    ledger: LedgerArguments,
    /// The experiment that the trials belong to [default: the one that `cargo xtask run` ran the job for].
    #[arg(long, value_name = "ID")]
    experiment: Option<String>,
    /// Put trials in the place of those with the same identifier and other content, and keep their evidence as is asked
    /// for now.
    #[arg(long)]
    replace: bool,
    /// Go on until the jobs have finished, or Ctrl-C.
    #[arg(long)]
    watch: bool,
    /// Leave the files where they are, and keep their digests only.
    #[arg(long)]
    reference: bool,
    /// The key of the reward that counts [default: the job's experiment's, else `reward`, `pass`, or the only one].
    #[arg(long, value_name = "KEY")]
    reward_key: Option<String>,
    /// Print what became of each trial as JSON; with --watch a line each time something has changed.
    #[arg(long)]
    json: bool,
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    report: &'a Report,
    trials: &'a [Event],
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let stop = interrupt::flag()?;
    if let ([path, ..], false) = (&arguments.paths[..], arguments.paths.iter().any(|path| path.exists())) {
        return Err(Error::new(format!("there is no `{path}`"))
            .hint("name the folder of a job, or one that holds folders of jobs")
            .usage()
            .into());
    }
    let mut ledger = Ledger::open(arguments.ledger.directory()?)?;
    let mut told_before = BTreeSet::new();
    loop {
        let (report, events) = once(arguments, &mut ledger, &stop)?;
        // What was said once need not be said again, each time that somebody looks.
        let news: Vec<Event> = events
            .into_iter()
            .filter(|event| {
                let key = (event.outcome, event.path.clone(), event.trial.clone(), event.reasons.clone());
                !arguments.watch || event.outcome != Outcome::Duplicate && told_before.insert(key)
            })
            .collect();
        let last = !arguments.watch
            || stop.load(Ordering::Relaxed)
            || !report.jobs.is_empty() && report.jobs.iter().all(|job| job.finished);
        if last || !news.is_empty() {
            say(arguments, &report, &news)?;
        }
        if last {
            return status(&report, &news);
        }
        wait(&stop);
    }
}

fn once(
    arguments: &Arguments,
    ledger: &mut Ledger,
    stop: &AtomicBool,
) -> anyhow::Result<(Report, Vec<Event>)> {
    let paths: Vec<_> = arguments.paths.iter().map(|path| path.as_std_path().to_owned()).collect();
    let options = Options {
        experiment: arguments.experiment.clone(),
        source: Source::Import,
        replace: arguments.replace,
        reference: arguments.reference,
        reward_key: arguments.reward_key.clone(),
        provenance: provenance::by_digest()?,
        job: Some(&provenance::describe),
        stop: Some(stop),
        waiting: Some(&|| output::say("another command changes this ledger: waiting until it has finished")),
        ..Options::default()
    };
    let mut events = Vec::new();
    let report = ledger.import(&paths, &options, |event| events.push(event))?;
    Ok((report, events))
}

fn wait(stop: &AtomicBool) {
    for _ in 0..10 {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        thread::sleep(INTERVAL / 10);
    }
}

fn status(report: &Report, events: &[Event]) -> anyhow::Result<Status> {
    if !report.is_empty() {
        return Ok(if report.is_whole() { exit::SUCCESS } else { exit::INCOMPLETE });
    }
    if report.missing > 0 {
        return Ok(exit::INCOMPLETE);
    }
    let rejected = events.iter().filter(|event| event.outcome == Outcome::Rejected).count();
    Err(Error::new("nothing was imported")
        .hint(if rejected > 0 {
            "each file above says why it was rejected"
        } else {
            "name the folder of a job"
        })
        .into())
}

fn say(arguments: &Arguments, report: &Report, events: &[Event]) -> anyhow::Result<()> {
    if arguments.json {
        let answer = Answer { report, trials: events };
        let text = if arguments.watch {
            serde_json::to_string(&answer)?
        } else {
            serde_json::to_string_pretty(&answer)?
        };
        return Ok(output::print(&format!("{text}\n"))?);
    }
    for (outcome, word, color) in [
        (Outcome::Partial, "partial", output::YELLOW),
        (Outcome::Missing, "missing", output::YELLOW),
        (Outcome::Conflict, "conflict", output::RED),
        (Outcome::Rejected, "rejected", output::RED),
    ] {
        let all: Vec<&Event> = events.iter().filter(|event| event.outcome == outcome).collect();
        for event in all.iter().take(SHOWN) {
            let trial = event.trial.as_deref().unwrap_or_default();
            let what = if trial.is_empty() || outcome == Outcome::Partial { &event.path } else { trial };
            let place =
                if *what == event.path { String::new() } else { format!(" (in {})", clean(&event.path)) };
            output::say(&format!(
                "{} {}{place}: {}",
                output::paint(word, color),
                clean(what),
                reasons(event)
            ));
        }
        if all.len() > SHOWN {
            output::say(&format!("  ... and {} more of these; --json lists all", all.len() - SHOWN));
        }
    }
    let kept = |event: &&Event| {
        matches!(event.outcome, Outcome::Imported | Outcome::Replaced | Outcome::Duplicate)
            && !event.reasons.is_empty()
    };
    for event in events.iter().filter(kept).take(SHOWN) {
        output::say(&format!(
            "{} {}: {}",
            output::paint("note", output::CYAN),
            clean(&event.path),
            reasons(event)
        ));
    }
    let mut text = String::new();
    for job in &report.jobs {
        text.push_str(&job_line(job));
    }
    text.push_str(&summary(report));
    text.push('\n');
    Ok(output::print(&text)?)
}

/// What came of a job.
fn job_line(job: &JobSeen) -> String {
    let missing = if job.missing > 0 { format!(", {} missing", job.missing) } else { String::new() };
    let state = if job.finished { "" } else { "; not finished: it runs, or it was stopped" };
    let together = if job.failed_together > 0 {
        format!(
            "  {} of them failed within three seconds of each other: look for what they share, as a machine or an engine \
             that stopped\n",
            job.failed_together
        )
    } else {
        String::new()
    };
    let trials = count(job.planned.unwrap_or(job.found), "trial");
    let found = job.planned.map_or_else(String::new, |_| format!("{} of ", job.found));
    format!("job {}: {found}{trials}{missing}{state}\n{together}", clean(&job.name))
}

fn reasons(event: &Event) -> String {
    event.reasons.iter().map(|reason| clean(reason)).collect::<Vec<_>>().join("; ")
}

/// One line that says how many of each.
pub fn summary(report: &Report) -> String {
    let counts = [
        (report.imported, "imported"),
        (report.partial, "imported as partial"),
        (report.replaced, "replaced"),
        (report.duplicates, "already there"),
        (report.conflicts, "in conflict"),
        (report.rejected, "rejected"),
        (report.missing, "missing"),
    ];
    let words: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let text = if words.is_empty() { "no trials".to_owned() } else { words.join(", ") };
    if report.swept == 0 {
        return text;
    }
    format!("{text}; removed {} that a killed import had left", count(report.swept, "byte"))
}
