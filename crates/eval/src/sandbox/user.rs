//! A user that candidates run as, and threads of ours that act with its rights.

use std::io;

use rustix::process::{Gid, Uid};
use serde::{Deserialize, Serialize};

/// A user that candidates run as. Its group has the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct User {
    pub uid: u32,
    /// The number under which our own threads act on its processes, so that those cannot act on our threads.
    pub shadow: u32,
}

impl User {
    pub fn uid(self) -> Uid {
        Uid::from_raw(self.uid)
    }

    pub fn gid(self) -> Gid {
        Gid::from_raw(self.uid)
    }
}

/// Does some work in a thread that has this user's rights and no others.
///
/// Linux keeps credentials for each thread, so neither a process nor unsafe code is needed. The real and the saved
/// user are the shadow: a process may signal or trace another only if it matches one of those two (or all three), so
/// the user's own processes cannot touch the thread while it acts on them.
pub(crate) fn as_user<T: Send>(user: User, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, || {
            become_user(user)?;
            Ok(work())
        })?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread of ours panicked")))
    })
}

fn become_user(user: User) -> io::Result<()> {
    use rustix::thread::{capabilities, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    let (uid, shadow, gid) = (user.uid(), Uid::from_raw(user.shadow), user.gid());
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(shadow, uid, shadow)?;
    // What follows may signal everything that it has the right to: never go on with more rights than meant.
    let safe = !uid.is_root()
        && !shadow.is_root()
        && rustix::process::geteuid() == uid
        && rustix::process::getuid() == shadow
        && capabilities(None)?.effective.is_empty();
    if safe { Ok(()) } else { Err(io::Error::other("a thread could not give up its rights")) }
}
