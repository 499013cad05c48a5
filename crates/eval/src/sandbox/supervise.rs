//! The process that watches over one sandboxed command: `taskwright sandbox -- COMMAND`.
//!
//! It is a process of its own so that it can be the reaper of everything below it, for scorers as for the evaluation,
//! and so that it can clean up when whoever asked for it is gone.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, WaitStatus};
use taskwright_base::{Error, Result, failed, failed_to};

use super::child::{self, NotSpawned, Spawned};
use super::ends::{EndRequests, handle_of};
use super::folder;
use super::group::{self, Bounds};
use super::guard;
use super::order::{Cause, NotStarted, Order, Report, RunLimits, Violation};
use super::sweep;
use super::watch::{INTERVAL, Watch};
use super::way_out::WayOut;

/// The sandbox itself failed.
const SANDBOX_FAILED: u8 = 125;

/// The lock's name in the folder of a cell.
pub(super) const USER_LOCK: &str = "turn";

/// Folders that everyone may write to.
const SHARED: &[&str] = &["/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/dev/mqueue"];

/// What `taskwright sandbox -- COMMAND` does: runs the command as the user and under the limits that its environment
/// names, and returns its exit status (128 and the signal's number if one ended it, 125 if the sandbox itself failed,
/// 126 and 127 as in a shell). Standard input, output and error and the working directory are the caller's. When it
/// returns, or is asked to end by `SIGTERM`, no process of that user is left.
///
/// Its order reaches it by the variable `TASKWRIGHT_SANDBOX`, which an evaluation gives to the `score` command.
/// Commands that one scorer starts at the same time wait for each other.
///
/// It is two processes, so that this holds too when the one that watches is killed; see [`guard`].
#[expect(clippy::needless_pass_by_value, reason = "the end of a main function: nobody needs it any more")]
pub fn command_main(command: Vec<OsString>) -> ExitCode {
    guard::guarded(|maker| watch_over(&command, maker)).unwrap_or_else(|error| {
        eprintln!("taskwright sandbox: {error}");
        SANDBOX_FAILED.into()
    })
}

/// Runs the command to its end, or to that of whoever made us, and writes the report that was asked for.
fn watch_over(command: &[OsString], maker: Pid) -> ExitCode {
    let (order, mut end) = match Order::from_environment()
        .and_then(|order| Ok((order, EndRequests::listen().map_err(failed_to("listening for signals"))?)))
    {
        Ok(ready) => ready,
        Err(error) => {
            eprintln!("taskwright sandbox: {error}");
            return SANDBOX_FAILED.into();
        }
    };
    let (code, report) = match supervise(&order, command, maker, &mut end) {
        Ok(outcome) => outcome,
        Err(error) => {
            eprintln!("taskwright sandbox: {error}");
            let not_started = Some(NotStarted::infrastructure(error.to_string()));
            (SANDBOX_FAILED, Report { not_started, ..Report::default() })
        }
    };
    if let Some(file) = &order.report
        && let Err(error) = report.write(file)
    {
        eprintln!("taskwright sandbox: {error}");
        return SANDBOX_FAILED.into();
    }
    code.into()
}

fn supervise(order: &Order, command: &[OsString], maker: Pid, end: &mut EndRequests) -> Result<(u8, Report)> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| failed_to("becoming the reaper of orphans")(error.into()))?;
    let Some(lock) = lock_user(&order.temporary, end)? else { return Ok((143, Report::default())) };
    if let Some(user) = order.user
        && lock.begin()?
        && !sweep::user_is_gone(user)
    {
        return Err(Error::new("processes of an earlier run cannot be ended"));
    }
    let temporary = Temporary::make(order)?;
    if let Some(group) = &order.group {
        group.make(&bounds(&order.limits, &temporary.0))?;
    }
    let Spawned { child, mut way_out } = match child::spawn(order, command, &temporary.0, step_forward()) {
        Ok(spawned) => spawned,
        Err(error) => return Ok(not_started(command, error)),
    };
    let main = i32::try_from(child.id()).unwrap_or(i32::MAX);
    let mut status = None;
    let watched = watch(order, &temporary.0, (maker, main), &mut status, end, way_out.as_mut());
    // Whoever still waits for a socket is told that there is none.
    drop(way_out);
    let left = super::procfs::descendants(rustix::process::getpid().as_raw_nonzero().get());
    let left_behind = left.iter().filter(|process| **process != main).count();
    let survivors = sweep::end_descendants(order.user, main, &mut status);
    let ran_out = order.group.as_ref().is_some_and(|group| {
        let ran_out = group.ran_out();
        group.end();
        ran_out
    });
    temporary.remove()?;
    if survivors == 0 {
        lock.end()?;
    }
    if let Some(user) = order.user.filter(|_| !order.landlock) {
        // Nothing but file rights kept it from these.
        folder::remove_files_of(user.uid, SHARED);
    }
    let violation = watched?.or(ran_out.then_some(Violation::Memory));
    let report = Report {
        not_started: None,
        status: status.and_then(WaitStatus::exit_status),
        signal: status.and_then(WaitStatus::terminating_signal),
        violation,
        left_behind,
        survivors,
    };
    if let Some(violation) = violation {
        eprintln!("taskwright sandbox: {}", order.limits.passed(violation));
    }
    Ok((exit_code(&report), report))
}

/// What the kernel's group is told. Files that are kept in memory count as memory there, and have a bound of their own.
fn bounds(limits: &RunLimits, temporary: &Path) -> Bounds {
    let files = if group::is_memory(temporary) { limits.disk } else { 0 };
    Bounds { memory: limits.memory.saturating_add(files), processes: limits.processes }
}

/// The exit status and the report of a command that did not start.
fn not_started(command: &[OsString], error: NotSpawned) -> (u8, Report) {
    let name = command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (code, cause, error) = match error {
        NotSpawned::Program(error) if error.kind() == io::ErrorKind::NotFound => (127, Cause::Program, error),
        NotSpawned::Program(error) => (126, Cause::Program, error),
        NotSpawned::Sandbox(error) => (SANDBOX_FAILED, Cause::Infrastructure, error),
    };
    let what = match cause {
        Cause::Program => "cannot run",
        Cause::Infrastructure => "cannot set up a sandbox for",
    };
    let message = format!("{what} `{name}`: {error}");
    eprintln!("taskwright sandbox: {message}");
    (code, Report { not_started: Some(NotStarted { cause, message }), ..Report::default() })
}

fn exit_code(report: &Report) -> u8 {
    match (report.status, report.signal) {
        _ if report.survivors > 0 => SANDBOX_FAILED,
        _ if report.violation.is_some() => 137,
        (Some(status), _) => u8::try_from(status & 0xff).unwrap_or(SANDBOX_FAILED),
        (_, Some(signal)) => 128 + u8::try_from(signal & 0x7f).unwrap_or(0),
        _ => SANDBOX_FAILED,
    }
}

/// Makes sure that we have our turn beside however many busy processes of the command's: by a higher priority of our own, where
/// we may have it, else by a lower one for the command, which is returned.
fn step_forward() -> Option<i32> {
    const AHEAD: i32 = 10;
    match rustix::process::setpriority_process(None, -AHEAD) {
        Ok(()) => Some(0),
        Err(_) => rustix::process::getpriority_process(None).ok().map(|ours| ours.saturating_add(AHEAD)),
    }
}

/// Waits for the command's end, a request to end it, its maker's end, or a limit that it passes.
fn watch(
    order: &Order,
    temporary: &Path,
    (maker, main): (Pid, i32),
    status: &mut Option<WaitStatus>,
    end: &mut EndRequests,
    mut way_out: Option<&mut WayOut>,
) -> Result<Option<Violation>> {
    let wait = |error: rustix::io::Errno| failed_to("waiting for a command")(error.into());
    let handle = handle_of(main);
    // Where a process has no handle to wait for, look often.
    let interval = if handle.is_some() { INTERVAL } else { Duration::from_millis(5) };
    let start = Instant::now();
    let deadline = start.checked_add(Duration::from_secs(order.limits.seconds));
    let mut watch = Watch::new(order, temporary);
    let mut tick = start + INTERVAL;
    loop {
        let now = Instant::now();
        let wake = deadline.map_or(tick, |deadline| deadline.min(tick)).min(now + interval);
        let timeout = Timespec::try_from(wake.saturating_duration_since(now)).unwrap_or_default();
        let mut waiting = vec![PollFd::new(end.requests(), PollFlags::IN)];
        waiting.extend(handle.as_ref().map(|handle| PollFd::new(handle, PollFlags::IN)));
        waiting.extend(way_out.iter().flat_map(|way_out| way_out.events()));
        match poll(&mut waiting, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(wait(error)),
        }
        if let Some(way_out) = &mut way_out {
            way_out.serve().map_err(failed_to("giving a command a connection to the gateway"))?;
        }
        sweep::reap(Some(main), status);
        if status.is_some() || end.came() || rustix::process::getppid() != Some(maker) {
            return Ok(None);
        }
        let now = Instant::now();
        if deadline.is_some_and(|deadline| deadline <= now) {
            return Ok(Some(Violation::Time));
        }
        if tick <= now {
            if let Some(violation) = watch.look() {
                return Ok(Some(violation));
            }
            tick = Instant::now() + watch.pause();
        }
    }
}

/// The lock of one command among those that run as one user: ending the one would end the other. Not base's lock file,
/// which names its holder: this one is empty unless a command was not seen to its end, and only root may open it.
struct UserLock {
    file: File,
    path: PathBuf,
}

impl UserLock {
    /// Whether the command before this one was not seen to its end, so that processes of it may be left.
    fn begin(&self) -> Result<bool> {
        let left = self.file.metadata().map_err(failed("reading", &self.path))?.len() > 0;
        (&self.file).write_all(b"x").map_err(failed("writing", &self.path))?;
        Ok(left)
    }

    fn end(&self) -> Result<()> {
        self.file.set_len(0).map_err(failed("writing", &self.path))
    }
}

/// Waits until no other command runs as this user. None if we are to end before.
fn lock_user(folder: &Path, end: &mut EndRequests) -> Result<Option<UserLock>> {
    let path = folder.join(USER_LOCK);
    let file = File::options()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&path)
        .map_err(failed("opening", &path))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(UserLock { file, path })),
            Err(std::fs::TryLockError::WouldBlock) => {}
            Err(std::fs::TryLockError::Error(error)) => return Err(failed("locking", &path)(error)),
        }
        let mut waiting = [PollFd::from_borrowed_fd(end.requests().as_fd(), PollFlags::IN)];
        let pause = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
        let _ = poll(&mut waiting, Some(&pause));
        if end.came() {
            return Ok(None);
        }
    }
}

/// The command's temporary folder: new for it, gone after it.
struct Temporary(PathBuf);

impl Temporary {
    fn make(order: &Order) -> Result<Self> {
        let path = order.temporary.join("tmp");
        // Left over if the process before us was killed.
        folder::remove(&path).map_err(failed("removing", &path))?;
        std::fs::DirBuilder::new().mode(0o700).create(&path).map_err(failed("making", &path))?;
        let made = Self(path);
        if let Some(user) = order.user {
            chown(&made.0, Some(user.uid), Some(user.uid)).map_err(failed("giving away", &made.0))?;
        }
        Ok(made)
    }

    fn remove(self) -> Result<()> {
        folder::remove(&self.0).map_err(failed("removing", &self.0))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = folder::remove(&self.0);
    }
}
