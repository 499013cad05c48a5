//! Opening the service's state: the journal is read, and evaluations that never finished are settled.
//!
//! ```text
//!   journal ──▶ entry by entry into the book ──▶ records that no charge explains? ──▶ unfinished evaluations
//!      │                 │                                   │                          │
//!      │                 │                                   │                          ├ record has its end ──▶ that end
//!      ▼                 ▼                                   ▼                          └ else ──▶ interrupted
//!   a torn last line   a lost, changed or impossible line    charges were lost          (both appended to the journal)
//!   is dropped         └──────────── damaged: no service ────┘
//! ```

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Condvar, Mutex, RwLock};

use taskwright_base::lock::{Attempt, LockFile, Wait};
use taskwright_base::write::on_disk;
use taskwright_base::{Error, failed, failed_to};
use taskwright_language::serve::ServeConfig;

use super::reserve::Reserve;
use super::room::UPLOADS;
use super::state::Service;
use crate::budget::{BudgetBook, KnownEvaluation, Location};
use crate::chooser::Chooser;
use crate::events::{End, Entry, Line, Outcome, Purpose, VERSION};
use crate::journal::{self, Journal};
use crate::runner::Runner;
use taskwright_base::chained_log::{ChainedLog, Damage};

#[derive(Debug)]
pub enum OpenError {
    /// The state does not hold what was written to it: starting again would not help.
    Damaged(Damage),
    /// Something else, which may pass.
    Failed(Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(damage) => {
                write!(formatter, "the state is damaged, so no service is given: {damage}")
            }
            Self::Failed(error) => error.fmt(formatter),
        }
    }
}

impl From<Error> for OpenError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Damage> for OpenError {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

/// Opens the state in a folder, or begins it.
///
/// An evaluation that was running when the service ended is settled here. If its record is complete it is done; otherwise
/// it is over as interrupted, the run and the samples without a result are given back, and the finished samples stay in
/// the record, where the next evaluation of the same candidate finds them.
pub fn open(
    config: ServeConfig,
    config_digest: String,
    state: &Path,
    runner: Box<dyn Runner>,
) -> Result<Service, OpenError> {
    let (records, uploads) = (state.join("records"), state.join(UPLOADS));
    for folder in [&records, &uploads] {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed("making", folder))?;
    }
    let Attempt::Held(lock) = LockFile::acquire(state.join("lock"), &Wait::none())? else {
        let what = format!("another service uses `{}`: only one may run at a time", state.display());
        return Err(Error::new(what).into());
    };
    // The folder stays: on a disk that is full no other could be made.
    for left in fs::read_dir(&uploads).map_err(failed("listing", &uploads))?.flatten() {
        fs::remove_file(left.path()).map_err(failed("removing", &left.path()))?;
    }
    // First, as on a full disk it makes room for what follows.
    let reserve = Reserve::make(&config, state);
    let (mut journal, mut book, recorded) = replay(state, &records, &config_digest)?;
    settle(&mut journal, &mut book, &records, runner.is_deterministic())?;
    if book.sealed {
        reserve.release();
    }
    let choosers: BTreeMap<String, Chooser> =
        config.splits.iter().map(|(name, split)| (name.clone(), Chooser::new(name, split))).collect();
    Ok(Service {
        config,
        config_digest,
        state: state.to_owned(),
        runner,
        choosers,
        journaled: AtomicU64::new(journal.length()),
        uploading: AtomicU64::new(0),
        reserve,
        changes: <_>::default(),
        journal: Mutex::new(journal),
        book: RwLock::new(book),
        live: Mutex::new(HashMap::new()),
        queue: Mutex::new(VecDeque::new()),
        queued: Condvar::new(),
        running: Mutex::new(()),
        importing: Mutex::new(()),
        recorded: AtomicU64::new(recorded),
        _lock: lock,
    })
}

/// The journal, begun if there is none, what it adds up to, and how many bytes of the disk the records take.
fn replay(state: &Path, records: &Path, digest: &str) -> Result<(Journal, BudgetBook, u64), OpenError> {
    let (mut journal, entries, torn) = Journal::open(state)?;
    if torn > 0 {
        eprintln!("taskwright: the journal's last line was cut short and is dropped ({torn} bytes)");
    }
    let damage = |line: usize, what: String| Damage { path: journal::path(state), line: line as u64, what };
    let mut book = BudgetBook::default();
    for (line, entry) in (1..).zip(&entries) {
        let applied = match entry {
            Entry::Opened { version, config } if line == 1 => check_head(*version, config, digest),
            Entry::Opened { .. } => Err("the journal begins twice".to_owned()),
            _ if line == 1 => Err("the journal's beginning is missing".to_owned()),
            entry => book.apply(entry),
        };
        applied.map_err(|what| damage(line, what))?;
    }
    // An evaluation is charged before its record is made: a record without its charge means that charges were lost.
    let (numbers, bytes) = list_records(records).map_err(failed("listing", records))?;
    if let Some(number) = numbers.iter().find(|number| **number >= book.next_number()) {
        return Err(damage(entries.len() + 1, format!("the charge of evaluation {number} is missing")).into());
    }
    if entries.is_empty() {
        let opened = Entry::Opened { version: VERSION, config: digest.to_owned() };
        append(&mut journal, &mut book, &opened)?;
    }
    Ok((journal, book, bytes))
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

/// The numbers of the records that there are, and how many bytes of the disk they take together.
fn list_records(records: &Path) -> std::io::Result<(Vec<u64>, u64)> {
    let (mut numbers, mut bytes) = (Vec::new(), 0);
    for entry in fs::read_dir(records)? {
        let entry = entry?;
        bytes += on_disk(entry.metadata()?.len());
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    Ok((numbers, bytes))
}

fn append(journal: &mut Journal, book: &mut BudgetBook, entry: &Entry) -> Result<(), Error> {
    journal.append(entry).map_err(failed_to("writing the journal"))?;
    book.apply(entry).map_err(Error::new)
}

/// Settles what never finished, and learns where the results stand.
fn settle(
    journal: &mut Journal,
    book: &mut BudgetBook,
    records: &Path,
    deterministic: bool,
) -> Result<(), OpenError> {
    for number in 1..book.next_number() {
        let Some(known) = book.evaluation(number).cloned() else { continue };
        let path = records.join(format!("{number:06}.jsonl"));
        if known.end.is_some() && !deterministic {
            continue;
        }
        let lines = if path.exists() { ChainedLog::open::<Line>(&path)?.values } else { Vec::new() };
        let is_done = known.end.as_ref().is_some_and(|end| end.outcome == Outcome::Done);
        if is_done && !matches!(lines.last(), Some((_, Line::End(_)))) {
            let what = "the record of a finished evaluation lacks its end".to_owned();
            return Err(Damage { path, line: lines.len() as u64 + 1, what }.into());
        }
        if known.end.is_none() {
            let end = lines.iter().find_map(|(_, line)| match line {
                Line::End(end) => Some(end.clone()),
                Line::Sample(_) => None,
            });
            let end = end.unwrap_or_else(|| interrupted(&known, &lines, deterministic));
            append(journal, book, &Entry::Ended { number, end })?;
        }
        if !deterministic {
            continue;
        }
        for (offset, line) in &lines {
            if let Line::Sample(sample) = line
                && sample.copied.is_none()
                && sample.is_lasting()
            {
                let location = Location { number, offset: *offset };
                book.remember(&known.charged.tree, &known.charged.split, sample.index, location);
            }
        }
    }
    Ok(())
}

/// The end of an evaluation that the service did not live to see.
fn interrupted(known: &KnownEvaluation, lines: &[(u64, Line)], deterministic: bool) -> End {
    let mut refund = known.charged.charge;
    if deterministic && known.charged.purpose == Purpose::Optimizer {
        let kept = lines.iter().filter(|(_, line)| match line {
            Line::Sample(sample) => sample.copied.is_none() && sample.is_lasting(),
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
        models: None,
    }
}
