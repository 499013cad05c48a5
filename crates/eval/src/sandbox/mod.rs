//! Runs commands as users of their own, under limits, so that nothing of them survives.
//!
//! ```text
//!  evaluation        │ supervisor: `taskwright sandbox`         │ child
//!  ──────────────────┼──────────────────────────────────────────┼─────────────────────────────────────
//!  order ───────────▶│ waits for the user's lock,               │
//!                    │ ends what an earlier one left, ─ fork ──▶│ gives up its rights ──▶ exec
//!                    │                                          │   │ fails: infrastructure   │ fails: the program
//!  reads pipes       │ watches limits ◀─────────────────────────┼───┴─────────────────────────▶ runs
//!  SIGTERM ─────────▶│   ended, asked to, orphaned, or a limit  │
//!                    │ sweeps: kills whatever descends from it, │ gone
//!                    │ removes its files                        │
//!  report ◀──────────│ writes the report, ends                  │
//! ```
//!
//! `order` is what the two say to each other, `ends` what the end of either is told by, `running` the evaluation's end, `supervise` the process that watches, `guard` one
//! more behind it that does nothing but wait: should the watcher be killed, it inherits what that left, and ends it.
//! `child` what happens between fork and exec, where the kernel is told the files (`landlock`) and calls (`seccomp`) it
//! keeps the command to, and its processes to what they may use together (`group`); `sweep` leaves no process. `way_out` is what a
//! command may be given of the network: connections to the gateway, which the supervisor makes. All unsafe code is in `kernel`.

mod child;
mod ends;
pub(crate) mod folder;
mod group;
mod guard;
mod kernel;
mod landlock;
pub(crate) mod order;
mod procfs;
pub(crate) mod running;
mod seccomp;
pub(crate) mod supervise;
mod sweep;
mod user;
mod users;
mod watch;
mod way_out;

use std::collections::BTreeMap;
use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use taskwright_base::lock::{Attempt, LockFile, Wait};
use taskwright_base::{Error, Result, failed};

use self::group::Groups;
use self::order::{Network, RunLimits};
pub(crate) use self::running::Cell;
pub(crate) use self::users::Lease;
use self::users::Pool;
pub(crate) use taskwright_base::copy::make_folder;

pub use self::supervise::command_main;

/// Where a Debian container has its programs.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The most places that one evaluation can have.
pub(crate) const MOST_CELLS: usize = users::USERS as usize;

/// How much isolation there must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationMode {
    /// As in a task's container: without the means to change user it is an error to open a sandbox.
    Required,
    /// As on a developer's machine: with root as in a container, without it whatever can be had; see [`Sandbox::gaps`].
    BestEffort,
}

/// An isolation that could not be given here, to be shown to who runs the evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IsolationGap {
    /// A short name of it, such as `landlock`.
    pub name: String,
    /// What follows from its absence, and how to get it.
    pub consequence: String,
}

/// What a sandbox needs to know.
#[derive(Debug, Clone)]
pub struct SandboxOptions {
    /// The `taskwright` binary, whose `sandbox` command calls [`command_main`].
    pub taskwright: PathBuf,
    /// A folder of ours for everything that lives no longer than the process; made if missing, emptied if not.
    pub runtime: PathBuf,
    /// How much isolation there must be.
    pub isolation: IsolationMode,
    /// `PATH` of what runs; without it that of a Debian container.
    pub path: Option<String>,
    /// Folders that nothing that runs may read, although they may lie where it may read everything else: labels, scorers, and
    /// what they are made from. What a command is given by name may lie in them.
    pub hidden: Vec<PathBuf>,
}

/// The means to run commands in isolation. Clones share one pool of users and one runtime folder.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    taskwright: PathBuf,
    runtime: PathBuf,
    path: String,
    pool: Option<Arc<Pool>>,
    landlock: bool,
    seccomp: bool,
    /// Folders outside the system's that programs on a developer's `PATH` need.
    programs: Vec<PathBuf>,
    /// Folders that nothing may read, without links.
    hidden: Vec<PathBuf>,
    /// Where the kernel's groups can be made, and how the names of ours begin.
    groups: Option<(Groups, String)>,
    gaps: Vec<IsolationGap>,
    next_cell: AtomicU64,
    /// As long as we live, so that nobody else empties our folder.
    _lock: LockFile,
}

impl Sandbox {
    /// Finds out what this machine offers, and tries it.
    #[expect(clippy::too_many_lines, reason = "one step after the other, each with its own way to fail")]
    pub fn open(options: SandboxOptions) -> Result<Self> {
        let SandboxOptions { taskwright, runtime, isolation, path, hidden } = options;
        // What is not there need not be hidden; whoever needs it says that it is missing.
        let hidden: Vec<PathBuf> = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let taskwright = std::path::absolute(&taskwright).map_err(failed("finding", &taskwright))?;
        let lock = prepare(&runtime)?;
        let runtime = runtime.canonicalize().map_err(failed("finding", &runtime))?;
        let mut gaps = Vec::new();
        let pool = match users(&runtime) {
            Ok(pool) => Some(Arc::new(pool)),
            Err(why) if isolation == IsolationMode::Required => {
                return Err(Error::new(format!(
                    "candidates cannot be run as users of their own: {why}; start the eval sidecar as root with the \
                     capabilities SETUID, SETGID, CHOWN, DAC_OVERRIDE, FOWNER and KILL, which Docker gives by default"
                )));
            }
            Err(why) => {
                gaps.push(gap("user", format!(
                    "candidates run as you ({why}): they can signal your processes and, where Landlock does not \
                     reach, read and write your files; do not evaluate candidates that you do not trust, or be root"
                )));
                None
            }
        };
        let landlock = kernel::landlock_version();
        match landlock {
            None => gaps.push(gap("landlock",
                "this kernel has no Landlock or forbids it: candidates are kept from files by file rights alone, and \
                 those that run at the same time can meet in world-writable folders; use Linux 5.13 or later and a \
                 container engine that allows it")),
            Some(..6) => gaps.push(gap("landlock-scopes",
                "this kernel's Landlock does not keep candidates that run at the same time from talking to each other \
                 by abstract sockets; use Linux 6.12 or later")),
            Some(_) => {}
        }
        let programs = path.as_deref().map(|path| programs(path, &hidden)).unwrap_or_default();
        let path = path.unwrap_or_else(|| DEFAULT_PATH.to_owned());
        let mut sandbox = Self(Arc::new(Inner {
            taskwright,
            runtime,
            path,
            pool,
            landlock: landlock.is_some(),
            seccomp: seccomp::filter(Network::Nothing).is_some(),
            programs,
            hidden,
            groups: groups(),
            gaps,
            next_cell: AtomicU64::new(0),
            _lock: lock,
        }));
        let tried = sandbox.try_out();
        if let Some(inner) = Arc::get_mut(&mut sandbox.0) {
            if tried.is_err() {
                // Some kernels in the cloud have no filters, and no groups that are more than folders.
                (inner.seccomp, inner.groups) = (false, None);
            }
            if !inner.seccomp {
                inner.gaps.push(gap(
                    "seccomp",
                    "system calls cannot be filtered here: candidates can use whatever network this container has",
                ));
            }
        }
        match tried {
            Ok(()) => Ok(sandbox),
            Err(first) => sandbox.try_out().map(|()| sandbox).map_err(|_| first),
        }
    }

    /// Runs a command that does nothing, through all that there is.
    fn try_out(&self) -> Result<()> {
        let cell = self.cell()?;
        let limits = RunLimits {
            memory: 1 << 30,
            processes: 64,
            file: 1 << 20,
            disk: 1 << 20,
            files: 100,
            processor_seconds: 10,
            seconds: 10,
            network: Network::Nothing,
        };
        let mut running = cell.start(&running::Start {
            command: &["true".to_owned()],
            folder: Path::new("/"),
            limits,
            read: Vec::new(),
            environment: &BTreeMap::new(),
            input: None,
        })?;
        let mut said = Vec::new();
        while !running.wait(Duration::from_secs(20), &mut |_, bytes| said.extend_from_slice(bytes))?.is_end()
        {
        }
        match running.stop() {
            report if report.status == Some(0) => Ok(()),
            report => Err(Error::new(format!(
                "the sandbox does not work here: a command that does nothing ended with {report:?} {}",
                String::from_utf8_lossy(&said).trim()
            ))),
        }
    }

    /// What could not be given here; empty in a container on a recent kernel.
    pub fn gaps(&self) -> &[IsolationGap] {
        &self.0.gaps
    }

    /// A folder of ours below the runtime folder that users of candidates can pass through but not list.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.0.runtime.join(name);
        if !path.is_dir() {
            make_folder(&path, 0o711)?;
        }
        Ok(path)
    }

    /// A folder of ours that nobody else can look into.
    pub(crate) fn private_folder(&self) -> Result<PathBuf> {
        let path = self.0.runtime.join("private");
        make_folder(&path, 0o700)?;
        Ok(path)
    }

    /// Places to run commands in, one after the other in each, with a user of its own each. Waits until so many users
    /// are free; none if told to give up first.
    pub(crate) fn cells(&self, count: usize, give_up: &dyn Fn() -> bool) -> Result<Option<Vec<Cell>>> {
        let leases: Vec<Option<Lease>> = match &self.0.pool {
            Some(pool) => match pool.take(count.min(MOST_CELLS), give_up) {
                Some(leases) => leases.into_iter().map(Some).collect(),
                None => return Ok(None),
            },
            None => (0..count).map(|_| None).collect(),
        };
        leases.into_iter().map(|lease| Cell::make(self, lease)).collect::<Result<_>>().map(Some)
    }

    /// A user to run something as that is no command of ours. Waits until one is free; none if told to give up first.
    pub(crate) fn lease(&self, give_up: &dyn Fn() -> bool) -> Result<Option<Lease>> {
        let pool =
            self.0.pool.as_ref().ok_or_else(|| Error::new("there is no user to run a candidate as"))?;
        Ok(pool.take(1, give_up).and_then(|mut leases| leases.pop()))
    }

    /// One place to run commands in.
    pub(crate) fn cell(&self) -> Result<Cell> {
        let cells = self.cells(1, &|| false)?;
        cells.into_iter().flatten().next().ok_or_else(|| Error::new("there is no user to run a command as"))
    }

    /// `PATH` of what runs.
    pub(crate) fn search_path(&self) -> &str {
        &self.0.path
    }

    /// The `taskwright` binary.
    pub(crate) fn taskwright(&self) -> &Path {
        &self.0.taskwright
    }
}

/// Removes a folder, if it is there, whatever a candidate has made in it.
///
/// # Errors
/// What the system said.
pub fn remove_folder(path: &Path) -> std::io::Result<()> {
    folder::remove(path)
}

/// Makes the runtime folder ours, alone and empty.
fn prepare(runtime: &Path) -> Result<LockFile> {
    if !runtime.is_dir() {
        DirBuilder::new().recursive(true).mode(0o711).create(runtime).map_err(failed("making", runtime))?;
    }
    let owner = std::fs::metadata(runtime).map_err(failed("reading", runtime))?.uid();
    if owner != rustix::process::geteuid().as_raw() {
        return Err(Error::new(format!(
            "the runtime folder `{}` belongs to user {owner}: name one that is ours",
            runtime.display()
        )));
    }
    std::fs::set_permissions(runtime, Permissions::from_mode(0o711)).map_err(failed("changing", runtime))?;
    // Whoever held it may have died while a process was being started, which has it open until it executes its program.
    let wait = Wait { limit: Some(Duration::from_secs(1)), ..Wait::none() };
    let Attempt::Held(lock) = LockFile::acquire(runtime.join("lock"), &wait)? else {
        return Err(Error::new(format!(
            "another process works in the runtime folder `{}`: end it, or name another folder",
            runtime.display()
        )));
    };
    for entry in std::fs::read_dir(runtime).map_err(failed("reading", runtime))? {
        let path = entry.map_err(failed("reading", runtime))?.path();
        if path.ends_with("lock") {
            continue;
        }
        if path.symlink_metadata().map_err(failed("reading", &path))?.is_dir() {
            folder::remove(&path).map_err(failed("removing", &path))?;
        } else {
            std::fs::remove_file(&path).map_err(failed("removing", &path))?;
        }
    }
    Ok(lock)
}

/// A pool of users, if we may change to them and they can come to the runtime folder.
fn users(runtime: &Path) -> Result<Pool, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("we are not root".to_owned());
    }
    let pool = Pool::new().map_err(|error| error.to_string())?;
    let user = pool.any().ok_or("the pool is empty")?;
    match user::as_user(user, || rustix::fs::stat(runtime.join("lock"))) {
        Ok(Ok(_)) => Ok(pool),
        Ok(Err(error)) => Err(format!(
            "the runtime folder `{}` cannot be reached by others than us ({error}), choose one below folders that everyone may pass",
            runtime.display()
        )),
        Err(error) => Err(format!("changing user failed: {error}")),
    }
}

/// Where the kernel's groups can be made, and a beginning of their names that nobody else has.
fn groups() -> Option<(Groups, String)> {
    Some((Groups::find()?, format!("taskwright-{:08x}", users::random().ok()?)))
}

fn gap(name: &str, consequence: impl Into<String>) -> IsolationGap {
    IsolationGap { name: name.to_owned(), consequence: consequence.into() }
}

/// Folders that hold the programs of a developer's `PATH` with what they need: for one below the home folder the
/// folder in it, so that `~/.pyenv/shims` means `~/.pyenv`, and for that of a virtual environment of Python all of it.
/// None of them holds what is hidden, if a smaller one will do.
fn programs(path: &str, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let home = std::env::home_dir().filter(|home| home.is_absolute() && home.parent().is_some());
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let around = |folder: PathBuf| {
        let below_home =
            |home: &PathBuf| Some(home.join(folder.strip_prefix(home).ok()?.components().next()?));
        let environment = || folder.parent().filter(|above| above.join("pyvenv.cfg").is_file());
        let holds_hidden = |folder: &PathBuf| hidden.iter().any(|hidden| hidden.starts_with(folder));
        home.as_ref()
            .and_then(below_home)
            .filter(|folder| !holds_hidden(folder))
            .or_else(|| environment().map(Path::to_owned).filter(|folder| !holds_hidden(folder)))
            .unwrap_or_else(|| folder.clone())
    };
    let mut found: Vec<_> = folders.map(around).filter(|folder| Some(folder) != home.as_ref()).collect();
    found.sort();
    found.dedup();
    found
}
