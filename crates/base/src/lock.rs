//! A lock file: one process at a time, with the holder's number in the file for whoever waits.
//!
//! The kernel lets go of it when the holder ends, however it ends. A process that the holder is just starting has the file
//! open until it executes its program, so a lock can look held for a moment after its holder has gone: who must not
//! wait should still give it [`MOMENT`].

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result, failed};

/// Long enough for a process that is being started to close what it inherited.
pub const MOMENT: Duration = Duration::from_millis(200);
/// How often a lock that is waited for is tried again. Trying, and not waiting in the kernel, leaves time to hear a request
/// to stop.
const AGAIN: Duration = Duration::from_millis(10);

/// Held by one process, until it is dropped.
#[derive(Debug)]
pub struct LockFile(File);

/// How long to wait for who holds a lock, and what to do meanwhile.
pub struct Wait<'a> {
    /// How long; none for as long as it takes.
    pub limit: Option<Duration>,
    /// Called once, with who holds it ("process 17"), when it is not free within [`MOMENT`].
    pub waiting: &'a dyn Fn(&str),
    /// Whether to give up.
    pub stop: &'a dyn Fn() -> bool,
}

impl Wait<'_> {
    /// No longer than a moment.
    pub fn none() -> Self {
        Self { limit: Some(MOMENT), waiting: &|_| {}, stop: &|| false }
    }
}

impl<'a> Wait<'a> {
    /// For as long as it takes.
    pub fn told(waiting: &'a dyn Fn(&str)) -> Self {
        Self { limit: None, waiting, stop: &|| false }
    }

    /// For as long as it takes, or until a request to stop.
    pub fn until(waiting: &'a dyn Fn(&str), stop: &'a dyn Fn() -> bool) -> Self {
        Self { limit: None, waiting, stop }
    }
}

/// What became of the attempt to hold a lock.
#[derive(Debug)]
pub enum Attempt {
    /// It is ours.
    Held(LockFile),
    /// Somebody else held it for as long as we waited: "process 17", or nothing if it does not say.
    Busy(String),
    /// We were asked to stop before it was free.
    Stopped,
}

impl LockFile {
    /// Makes the file if it is not there, and holds it.
    ///
    /// # Errors
    /// The file cannot be made, opened or locked.
    pub fn acquire(path: impl AsRef<Path>, wait: &Wait<'_>) -> Result<Attempt> {
        let path = path.as_ref();
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o644)
            .open(path)
            .map_err(failed("opening", path))?;
        let begin = Instant::now();
        let mut was_told = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(Error::io("locking", path, &error)),
            }
            let waited = begin.elapsed();
            if (wait.stop)() {
                return Ok(Attempt::Stopped);
            }
            if wait.limit.is_some_and(|limit| waited >= limit) {
                return Ok(Attempt::Busy(name(&mut file)));
            }
            if !was_told && waited >= MOMENT {
                was_told = true;
                (wait.waiting)(&name(&mut file));
            }
            thread::sleep(AGAIN.min(wait.limit.map_or(AGAIN, |limit| limit.saturating_sub(waited))));
        }
        // Only words for whoever waits: a full disk must not keep anybody from saying so properly.
        let _ = file.set_len(0);
        let _ = file.rewind();
        let _ = write!(file, "process {}", std::process::id());
        Ok(Attempt::Held(Self(file)))
    }

    /// Who holds a lock now; none if nobody does. Looking keeps nobody from taking it for longer than a moment.
    pub fn holder(path: impl AsRef<Path>) -> Option<String> {
        let path = path.as_ref();
        let file = File::open(path).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => fs::read_to_string(path).ok(),
            _ => None,
        }
    }

    /// The open file: a process that inherits it holds the lock too.
    pub fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // Closing is not enough: a process that is just being started has it open until it executes its program.
        let _ = self.0.unlock();
    }
}

fn name(file: &mut File) -> String {
    let mut text = String::new();
    let _: io::Result<()> = file.rewind().and_then(|()| file.take(64).read_to_string(&mut text).map(drop));
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn held(attempt: Result<Attempt>) -> Option<LockFile> {
        match attempt.unwrap() {
            Attempt::Held(lock) => Some(lock),
            Attempt::Busy(_) | Attempt::Stopped => None,
        }
    }

    #[test]
    fn one_at_a_time_and_the_holder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert_eq!(LockFile::holder(&path), None);
        let first = held(LockFile::acquire(&path, &Wait::none())).unwrap();
        let us = format!("process {}", std::process::id());
        assert_eq!(LockFile::holder(&path), Some(us.clone()));
        assert!(
            matches!(LockFile::acquire(&path, &Wait::none()).unwrap(), Attempt::Busy(holder) if holder == us)
        );
        let told = RefCell::new(Vec::new());
        let waiting = |holder: &str| told.borrow_mut().push(holder.to_owned());
        let stop = || !told.borrow().is_empty();
        let attempt = LockFile::acquire(&path, &Wait::until(&waiting, &stop)).unwrap();
        assert!(matches!(attempt, Attempt::Stopped));
        assert_eq!(told.into_inner(), [us]);
        drop(first);
        assert_eq!(LockFile::holder(&path), None);
        assert!(held(LockFile::acquire(&path, &Wait::none())).is_some());
    }

    #[test]
    fn who_only_looks_keeps_nobody_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        drop(held(LockFile::acquire(&path, &Wait::none())));
        thread::scope(|scope| {
            let looking = scope.spawn(|| (0..20_000).for_each(|_| drop(LockFile::holder(&path))));
            while !looking.is_finished() {
                assert!(held(LockFile::acquire(&path, &Wait::none())).is_some());
            }
        });
    }
}
