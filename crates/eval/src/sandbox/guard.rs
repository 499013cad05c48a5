//! A second process behind the one that watches, for the case that this one is killed: by hand, or by the kernel when memory
//! runs out. What a command left in the background would then go on for ever where candidates have no user of their own
//! and there is no group, as nobody could tell any more whose it is.

use std::process::ExitCode;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitStatus};
use taskwright_base::{Error, Result, failed_to};

use super::ends::{EndRequests, handle_of};
use super::kernel::{self, Forked};
use super::sweep;

/// How often it is asked whether our maker is still there, and whether the watcher is, where no handle tells us.
const INTERVAL: Duration = Duration::from_millis(100);

/// Has a copy of this process do the work, and stays behind to end what that leaves should it be killed. Returns in both. The
/// copy is told who stays behind: it may be gone before the copy can ask.
pub(super) fn guarded(work: impl FnOnce(Pid) -> ExitCode) -> Result<ExitCode> {
    let maker = rustix::process::getppid();
    let ours = rustix::process::getpid();
    // Before there is anything to inherit: whatever descends from the watcher comes to us when it is gone.
    rustix::process::set_child_subreaper(Some(ours))
        .map_err(|error| failed_to("becoming the reaper of orphans")(error.into()))?;
    // And before there is anything to end: a request that came too early would end us alone.
    let end = EndRequests::listen().map_err(failed_to("listening for signals"))?;
    match kernel::fork().map_err(failed_to("making the process that watches"))? {
        Forked::Child => Ok(work(ours)),
        Forked::Parent(watcher) => stand_by(watcher, maker, end),
    }
}

/// Waits for the watcher's end, and hands on to it what asks us to end.
fn stand_by(watcher: Pid, maker: Option<Pid>, mut end: EndRequests) -> Result<ExitCode> {
    let id = watcher.as_raw_nonzero().get();
    let handle = handle_of(id);
    let mut status = None;
    let mut asked = false;
    loop {
        sweep::reap(Some(id), &mut status);
        if let Some(status) = status {
            return outcome(id, status);
        }
        if !asked && (end.came() || rustix::process::getppid() != maker) {
            sweep::signal(id, Signal::TERM);
            asked = true;
        }
        let timeout = Timespec::try_from(INTERVAL).unwrap_or_default();
        let mut waiting = vec![PollFd::new(end.requests(), PollFlags::IN)];
        waiting.extend(handle.as_ref().map(|handle| PollFd::new(handle, PollFlags::IN)));
        match poll(&mut waiting, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(failed_to("waiting for the process that watches")(error.into())),
        }
    }
}

/// The watcher's exit status; if it was killed, an error once nothing is left of what it watched over.
fn outcome(watcher: i32, status: WaitStatus) -> Result<ExitCode> {
    if let Some(code) = status.exit_status() {
        return Ok(u8::try_from(code & 0xff).unwrap_or(u8::MAX).into());
    }
    // By descent and not by user: whoever waited for this user's turn has it now.
    let left = sweep::end_descendants(None, watcher, &mut None);
    let reason = match left {
        0 => String::new(),
        left => format!(", and {left} processes cannot be ended"),
    };
    Err(Error::new(format!("the process that watched over the command was killed{reason}")))
}
