//! Opening the service's state: the journal is read, and evaluations that never finished are settled.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Condvar, Mutex, RwLock};

use taskwright_language::serve::ServeConfig;

use super::Service;
use crate::blocks::Chooser;
use crate::events::{End, Entry, Line, Outcome, Purpose, VERSION};
use crate::journal::{self, Journal};
use crate::ledger::{Known, Ledger, Place};
use crate::lines::{Damage, Lines};
use crate::runner::Runner;

/// Why the service cannot start.
#[derive(Debug)]
pub enum OpenError {
    /// The state does not hold what was written to it: starting again would not help.
    Damaged(Damage),
    /// Something else, which may pass.
    Failed(String),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Damaged(damage) => {
                write!(formatter, "the state is damaged, so no service is given: {damage}")
            }
            Self::Failed(what) => formatter.write_str(what),
        }
    }
}

impl std::error::Error for OpenError {}

/// Opens the state in a folder, or begins it.
///
/// An evaluation that was running when the service ended is settled here. If its record is whole it is done; otherwise
/// it is over as interrupted, the run and the samples without a result are given back, and the finished samples stay in
/// the record, where the next evaluation of the same candidate finds them.
pub fn open(
    config: ServeConfig,
    config_digest: String,
    state: &Path,
    runner: Box<dyn Runner>,
) -> Result<Service, OpenError> {
    let failed = |what: &str| {
        let what = format!("{what} in `{}`", state.display());
        move |error: std::io::Error| OpenError::Failed(format!("{what}: {error}"))
    };
    let records = state.join("records");
    DirBuilder::new().recursive(true).mode(0o700).create(&records).map_err(failed("making folders"))?;
    let held = File::create(state.join("lock")).map_err(failed("making the lock"))?;
    held.try_lock().map_err(|_| {
        OpenError::Failed(format!("another service uses `{}`: only one may run at a time", state.display()))
    })?;
    let (mut journal, entries, torn) = Journal::open(state).map_err(OpenError::Damaged)?;
    if torn > 0 {
        eprintln!("taskwright: the journal's last line was cut short and is dropped ({torn} bytes)");
    }
    let damaged = |line: usize, what: String| {
        OpenError::Damaged(Damage { path: journal::path(state), line: line as u64, what })
    };
    let mut ledger = Ledger::default();
    for (line, entry) in (1..).zip(&entries) {
        let wrong = match entry {
            Entry::Opened { version, config } if line == 1 => {
                check_head(*version, config, &config_digest).err()
            }
            Entry::Opened { .. } => Some("the journal begins twice".to_owned()),
            _ if line == 1 => Some("the journal's beginning is missing".to_owned()),
            entry => ledger.apply(entry).err(),
        };
        if let Some(what) = wrong {
            return Err(damaged(line, what));
        }
    }
    // An evaluation is charged before its record is made: a record without its charge means that charges were lost.
    let (numbers, recorded) = list_records(&records).map_err(failed("listing the records"))?;
    if let Some(number) = numbers.iter().find(|number| **number >= ledger.next_number()) {
        return Err(damaged(entries.len() + 1, format!("the charge of evaluation {number} is missing")));
    }
    if entries.is_empty() {
        append(
            &mut journal,
            &mut ledger,
            &Entry::Opened { version: VERSION, config: config_digest.clone() },
        )?;
    }
    settle(&mut journal, &mut ledger, &records, runner.is_deterministic())?;
    let choosers: BTreeMap<String, Chooser> =
        config.splits.iter().map(|(name, split)| (name.clone(), Chooser::new(name, split))).collect();
    Ok(Service {
        config,
        config_digest,
        state: state.to_owned(),
        runner,
        choosers,
        journal: Mutex::new(journal),
        ledger: RwLock::new(ledger),
        live: Mutex::new(HashMap::new()),
        queue: Mutex::new(VecDeque::new()),
        queued: Condvar::new(),
        running: Mutex::new(()),
        importing: Mutex::new(()),
        recorded: AtomicU64::new(recorded),
        lock: held,
    })
}

fn check_head(version: u32, config: &str, expected: &str) -> Result<(), String> {
    if version != VERSION {
        return Err(format!("this is version {version} of the format, and this program reads {VERSION}"));
    }
    if config != expected {
        return Err("the journal belongs to another task or to another build of this one".to_owned());
    }
    Ok(())
}

/// The numbers of the records that there are, and how many bytes they have together.
fn list_records(records: &Path) -> std::io::Result<(Vec<u64>, u64)> {
    let (mut numbers, mut bytes) = (Vec::new(), 0);
    for entry in fs::read_dir(records)? {
        let entry = entry?;
        bytes += entry.metadata()?.len();
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    Ok((numbers, bytes))
}

fn append(journal: &mut Journal, ledger: &mut Ledger, entry: &Entry) -> Result<(), OpenError> {
    journal.append(entry).map_err(|error| OpenError::Failed(format!("writing the journal: {error}")))?;
    ledger.apply(entry).map_err(OpenError::Failed)
}

/// Settles what never finished, and learns where the results stand.
fn settle(
    journal: &mut Journal,
    ledger: &mut Ledger,
    records: &Path,
    deterministic: bool,
) -> Result<(), OpenError> {
    for number in 1..ledger.next_number() {
        let Some(known) = ledger.evaluation(number).cloned() else { continue };
        let path = records.join(format!("{number:06}.jsonl"));
        if known.end.is_some() && !deterministic {
            continue;
        }
        let lines = if path.exists() {
            Lines::open::<Line>(&path).map_err(OpenError::Damaged)?.values
        } else {
            Vec::new()
        };
        let is_done = known.end.as_ref().is_some_and(|end| end.outcome == Outcome::Done);
        if is_done && !matches!(lines.last(), Some((_, Line::End(_)))) {
            let what = "the record of a finished evaluation lacks its end".to_owned();
            return Err(OpenError::Damaged(Damage { path, line: lines.len() as u64 + 1, what }));
        }
        if known.end.is_none() {
            let end = lines.iter().find_map(|(_, line)| match line {
                Line::End(end) => Some(end.clone()),
                Line::Sample(_) => None,
            });
            let end = end.unwrap_or_else(|| interrupted(&known, &lines, deterministic));
            append(journal, ledger, &Entry::Ended { number, end })?;
        }
        if !deterministic {
            continue;
        }
        for (offset, line) in &lines {
            if let Line::Sample(sample) = line
                && sample.copied.is_none()
                && is_lasting(sample)
            {
                let place = Place { number, offset: *offset };
                ledger.remember(&known.charged.tree, &known.charged.split, sample.index, place);
            }
        }
    }
    Ok(())
}

/// The end of an evaluation that the service did not live to see.
fn interrupted(known: &Known, lines: &[(u64, Line)], deterministic: bool) -> End {
    let mut refund = known.charged.charge;
    if deterministic && known.charged.purpose == Purpose::Optimizer {
        let kept = lines.iter().filter(|(_, line)| match line {
            Line::Sample(sample) => sample.copied.is_none() && is_lasting(sample),
            Line::End(_) => false,
        });
        refund.samples = refund.samples.saturating_sub(kept.count() as u64);
    }
    End {
        outcome: Outcome::Interrupted,
        refund,
        summary: None,
        recorded: 0,
        error: Some("the eval sidecar was restarted while it ran".to_owned()),
        seconds: 0.0,
    }
}

/// Whether a result would come out the same again: a failure of ours would not, and one for want of time might not.
pub fn is_lasting(sample: &crate::events::Sample) -> bool {
    sample.value.is_some() && sample.failure != Some(taskwright_eval::FailureKind::Timeout)
}
