//! Ends processes for good: every one of a user, or every one that descends from us.

use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, wait};

use super::procfs::{self, ProcessId};
use super::user::{User, as_user};

/// How long processes may take to die: one that sleeps in the kernel cannot be hurried.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 10 });

/// Kills every process of a user at one stroke.
pub(crate) fn kill_user(user: User) -> io::Result<()> {
    signal_user(user, Signal::KILL)
}

/// Sends a signal to every process of a user at one stroke.
///
/// `kill(-1)` by a thread with the user's rights reaches all of them at once, under a lock of the kernel's that no
/// fork gets past, so that a fork bomb cannot outrun it. Our own process is left out of it.
pub(crate) fn signal_user(user: User, signal: Signal) -> io::Result<()> {
    as_user(user, || {
        // Process group 1 is spelled kill(-1), which means: all that I may signal.
        match rustix::process::kill_process_group(Pid::INIT, signal) {
            // The errors say that there was none but processes of others.
            Ok(()) | Err(rustix::io::Errno::SRCH | rustix::io::Errno::PERM) => Ok(()),
            Err(error) => Err(io::Error::from(error)),
        }
    })?
}

/// Makes sure that no process of a user is left, whoever its parent is; true if that succeeded.
pub(crate) fn user_is_gone(user: User) -> bool {
    let start = Instant::now();
    while procfs::user_has_processes(user.uid) {
        let _ = kill_user(user);
        if start.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

pub(crate) fn kill_process(process: ProcessId) {
    signal(process, Signal::KILL);
}

pub(crate) fn signal(process: ProcessId, signal: Signal) {
    if let Some(pid) = Pid::from_raw(process).filter(|_| process > 1) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Takes leave of the children that ended; true if none is left, dead or alive.
///
/// `main`'s status is stored when it is among them.
pub(crate) fn reap(main: Option<ProcessId>, status: &mut Option<rustix::process::WaitStatus>) -> bool {
    // Children of `clone` with another signal than SIGCHLD are to be waited for as well.
    const ALL: u32 = 0x4000_0000;
    loop {
        match wait(WaitOptions::NOHANG | WaitOptions::from_bits_retain(ALL)) {
            Ok(Some((pid, how))) if Some(pid.as_raw_nonzero().get()) == main => *status = Some(how),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

/// Ends everything that descends from this process, which must be its reaper; returns how many are left after all.
///
/// A reaper inherits every orphan below it, so once it has no child there is no descendant, however often that one
/// forked and whatever session it is in.
pub(crate) fn end_descendants(
    user: Option<User>,
    main: ProcessId,
    status: &mut Option<rustix::process::WaitStatus>,
) -> usize {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let start = Instant::now();
    let mut pause = Duration::from_micros(200);
    while !reap(Some(main), status) {
        let swept = user.is_some_and(|user| kill_user(user).is_ok());
        if !swept {
            // Stop them all before the first dies: a process that is stopped starts no other.
            let mut seen = Vec::new();
            loop {
                let new: Vec<_> =
                    procfs::descendants(me).into_iter().filter(|process| !seen.contains(process)).collect();
                if new.is_empty() || start.elapsed() > PATIENCE {
                    break;
                }
                for process in &new {
                    signal(*process, Signal::STOP);
                }
                seen.extend(new);
            }
            seen.into_iter().for_each(kill_process);
        }
        if start.elapsed() > PATIENCE {
            return procfs::descendants(me).len();
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
    0
}
