//! Looks from time to time at what a running command uses, as the kernel sets no limit for files in a folder, nor without a
//! group for the memory of all processes together.

use std::collections::BTreeSet;
use std::os::linux::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::folder;
use super::group::Group;
use super::order::{Order, RunLimits, Violation};
use super::procfs;
use super::sweep;
use super::user::{User, as_user};

/// How often memory is looked at.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);
/// How often where more than half of it is used: what is left can be gone soon.
const CLOSE: Duration = Duration::from_millis(20);
/// How often at the most, where it would be gone sooner still at the pace of the last look.
const CLOSEST: Duration = Duration::from_millis(5);

/// The watch over one command.
pub(crate) struct Watch {
    limits: RunLimits,
    user: Option<User>,
    group: Option<Group>,
    temporary: PathBuf,
    next_disk: Instant,
    /// What processes had in memory together when last looked at, counting what they share for each, and when that was.
    resident: u64,
    looked: Instant,
    /// In how much time the rest would be used at the pace that there was between the last two looks.
    left: Duration,
}

impl Watch {
    pub fn new(order: &Order, temporary: &Path) -> Self {
        Self {
            limits: order.limits.clone(),
            user: order.user,
            group: order.group.clone(),
            temporary: temporary.to_owned(),
            next_disk: Instant::now(),
            resident: 0,
            looked: Instant::now(),
            left: INTERVAL,
        }
    }

    /// How long until the next look.
    pub fn pause(&self) -> Duration {
        // Where the kernel does not count a candidate's processes by themselves, others can start none meanwhile.
        let is_shared = self.user.is_none();
        let most = if is_shared || self.resident > self.limits.memory / 2 { CLOSE } else { INTERVAL };
        (self.left / 2).clamp(CLOSEST, most)
    }

    /// The limit that is passed at this moment, if one is.
    pub fn look(&mut self) -> Option<Violation> {
        let processes = descendants();
        // Twice, because those that ended and were not yet waited for are among them.
        let count = match self.user {
            Some(_) => processes.len() as u64,
            // The kernel counts for a user of its own only; see `limits` in `child`.
            None => processes.iter().map(|process| procfs::threads(*process)).sum(),
        };
        if count > self.limits.processes.saturating_mul(2) {
            return Some(Violation::Processes);
        }
        if self.group.as_ref().is_some_and(Group::ran_out) || self.memory_is_passed(&processes) {
            return Some(Violation::Memory);
        }
        if self.next_disk <= Instant::now() {
            let start = Instant::now();
            let violation = self.disk(&processes);
            // Never spend more than a tenth of the time on looking.
            self.next_disk = Instant::now() + INTERVAL.max(start.elapsed() * 9);
            return violation;
        }
        None
    }

    fn memory_is_passed(&mut self, processes: &[procfs::ProcessId]) -> bool {
        let resident =
            processes.iter().map(|process| procfs::resident(*process)).fold(0, u64::saturating_add);
        self.note(resident);
        if resident <= self.limits.memory {
            return false;
        }
        // Pages that processes share were counted for each; the exact figure takes longer to get, and the right to. What
        // comes and goes meanwhile may be counted twice: look again.
        (0..3).all(|time| {
            if time > 0 {
                std::thread::sleep(Duration::from_millis(10));
            }
            // Held still meanwhile: what many busy processes used while they are looked at would come on top of it.
            self.signal(Signal::STOP);
            let processes = largest_first(descendants());
            let is_passed = self.ask(|| is_more(&processes, self.limits.memory)).unwrap_or(true);
            // What is to be ended need not go on before.
            if !is_passed || time < 2 {
                self.signal(Signal::CONT);
            }
            is_passed
        })
    }

    /// Notes what is used now, and how long the rest would last.
    fn note(&mut self, resident: u64) {
        let rest = self.limits.memory.saturating_sub(resident);
        let grown = resident.saturating_sub(self.resident);
        let nanoseconds =
            self.looked.elapsed().as_nanos().saturating_mul(rest.into()) / u128::from(grown.max(1));
        self.left = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
        (self.resident, self.looked) = (resident, Instant::now());
    }

    fn signal(&self, signal: Signal) {
        match self.user {
            Some(user) => drop(sweep::signal_user(user, signal)),
            None => descendants().into_iter().for_each(|process| sweep::signal(process, signal)),
        }
    }

    fn disk(&self, processes: &[procfs::ProcessId]) -> Option<Violation> {
        let used = folder::usage(&self.temporary, self.limits.files);
        if used.too_deep || used.files > self.limits.files {
            return Some(Violation::Files);
        }
        let unnamed = self.ask(|| unnamed_files(processes)).unwrap_or(0);
        (used.bytes.saturating_add(unnamed) > self.limits.disk).then_some(Violation::Disk)
    }

    /// Asks what only the user itself, or root, may ask.
    fn ask<T: Send>(&self, question: impl FnOnce() -> T + Send) -> Option<T> {
        match self.user {
            Some(user) => as_user(user, question).ok(),
            None => Some(question()),
        }
    }
}

/// Processes by what they have in memory, so that few have to be asked for the exact figure if it is too much.
fn largest_first(mut processes: Vec<procfs::ProcessId>) -> Vec<procfs::ProcessId> {
    processes.sort_by_cached_key(|process| std::cmp::Reverse(procfs::resident(*process)));
    processes
}

/// Whether processes use more than this together. No more of them are looked at than it takes to say yes.
pub(super) fn is_more(processes: &[procfs::ProcessId], most: u64) -> bool {
    let mut sum = 0_u64;
    // One for each that lends: it can start no other program meanwhile.
    let mut lenders = BTreeSet::new();
    processes.iter().any(|process| {
        if procfs::lender(*process).is_some_and(|lender| lenders.insert(lender)) {
            return false;
        }
        sum = sum.saturating_add(procfs::used(*process));
        sum > most
    })
}

fn descendants() -> Vec<procfs::ProcessId> {
    procfs::descendants(rustix::process::getpid().as_raw_nonzero().get())
}

/// Bytes on disk of files that have no name any more but are still open.
fn unnamed_files(processes: &[procfs::ProcessId]) -> u64 {
    let mut seen = BTreeSet::new();
    let mut bytes = 0_u64;
    for process in processes {
        let Ok(open) = std::fs::read_dir(procfs::open_files(*process)) else { continue };
        for file in open.flatten() {
            // Through the link, to the file itself.
            let Ok(metadata) = std::fs::metadata(file.path()) else { continue };
            if metadata.is_file()
                && metadata.st_nlink() == 0
                && seen.insert((metadata.st_dev(), metadata.st_ino()))
            {
                bytes = bytes.saturating_add(metadata.st_blocks().saturating_mul(512));
            }
        }
    }
    bytes
}
