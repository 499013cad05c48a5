//! What the end of a process is told by, and what asks one of ours to end.

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::process::Pid;

/// A descriptor that can be read from once the process has ended; none where the kernel has no such thing.
pub(super) fn handle_of(process: i32) -> Option<OwnedFd> {
    rustix::process::pidfd_open(Pid::from_raw(process)?, rustix::process::PidfdFlags::empty()).ok()
}

/// Signals that ask us to end.
pub(super) struct EndRequests {
    requests: UnixStream,
    came: bool,
}

impl EndRequests {
    /// Listens from now on.
    pub fn listen() -> io::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let (requests, notify) = UnixStream::pair()?;
        requests.set_nonblocking(true)?;
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            signal_hook::low_level::pipe::register(signal, notify.try_clone()?)?;
        }
        Ok(Self { requests, came: false })
    }

    /// Can be read from once one came.
    pub fn requests(&self) -> &UnixStream {
        &self.requests
    }

    /// Whether one came.
    pub fn came(&mut self) -> bool {
        self.came |= matches!((&self.requests).read(&mut [0; 16]), Ok(1..));
        self.came
    }
}
