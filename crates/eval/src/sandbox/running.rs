//! The evaluation's end of a sandboxed command: starts its watcher, reads what it prints, ends it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{PipeReader, Read};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal};
use taskwright_base::{Result, failed, failed_to};

use super::Sandbox;
use super::ends::handle_of;
use super::group::Group;
use super::order::{self, NotStarted, Order, Report, RunLimits};
use super::supervise::USER_LOCK;
use super::user::User;
use super::users::Lease;
use super::{folder, make_folder};

/// How long a watcher may take to end everything below it before it is ended itself.
const PATIENCE: Duration = Duration::from_secs(15);

/// A place to run commands in, one after the other, with a user of its own.
#[derive(Debug)]
pub(crate) struct Cell {
    sandbox: Sandbox,
    path: PathBuf,
    group: Option<Group>,
    // Dropped last: the user is given back when its files are gone.
    lease: Option<Lease>,
}

/// A command to be run.
pub(crate) struct Start<'a> {
    /// The program and its arguments.
    pub command: &'a [String],
    pub folder: &'a Path,
    pub limits: RunLimits,
    /// What it may read besides the system and the cell.
    pub read: Vec<PathBuf>,
    /// Its environment besides `PATH`, `HOME`, `TMPDIR`, `LANG` and the user's name.
    pub environment: &'a BTreeMap<String, String>,
    /// Its standard input; without one it is empty.
    pub input: Option<File>,
}

impl Cell {
    pub(super) fn make(sandbox: &Sandbox, lease: Option<Lease>) -> Result<Self> {
        let number = sandbox.0.next_cell.fetch_add(1, Ordering::Relaxed);
        let path = sandbox.folder("cells")?.join(number.to_string());
        let group = sandbox.0.groups.as_ref();
        let group = group.map(|(groups, name)| groups.group(&format!("{name}-{number}")));
        let cell = Self { sandbox: sandbox.clone(), path, group, lease };
        make_folder(&cell.path, 0o710)?;
        cell.give(&cell.path)?;
        Ok(cell)
    }

    /// The folder: ours to write, the user's to pass through.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn user(&self) -> Option<User> {
        self.lease.as_ref().map(|lease| lease.user)
    }

    /// Makes the user's group a file's group; what that means is up to the file's mode.
    pub fn give(&self, path: &Path) -> Result<()> {
        match self.user() {
            Some(user) => chown(path, None, Some(user.uid)).map_err(failed("giving away", path)),
            None => Ok(()),
        }
    }

    /// Makes a file of ours that the user can read, in the cell.
    pub fn readable(&self, name: &str) -> Result<(File, PathBuf)> {
        let path = self.path.join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed("removing", &path)(error));
            }
            _ => {}
        }
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(failed("making", &path))?;
        file.set_permissions(PermissionsExt::from_mode(0o640)).map_err(failed("changing", &path))?;
        self.give(&path)?;
        Ok((file, path))
    }

    /// The order for a command in this cell.
    pub fn order(
        &self,
        limits: RunLimits,
        mut read: Vec<PathBuf>,
        environment: &BTreeMap<String, String>,
    ) -> Order {
        let sandbox = &self.sandbox.0;
        read.push(self.path.clone());
        read.extend(sandbox.programs.iter().cloned());
        let mut whole: BTreeMap<String, String> = [
            ("PATH", sandbox.path.as_str()),
            ("LANG", "C.UTF-8"),
            ("USER", "candidate"),
            ("LOGNAME", "candidate"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        whole.extend(environment.clone());
        Order {
            user: self.user(),
            limits,
            temporary: self.path.clone(),
            read,
            hidden: sandbox.hidden.clone(),
            group: self.group.clone(),
            landlock: sandbox.landlock,
            seccomp: sandbox.seccomp,
            environment: whole,
            report: None,
        }
    }

    /// Starts a command. One at a time.
    pub fn start(&self, start: &Start<'_>) -> Result<Running> {
        let mut order = self.order(start.limits.clone(), start.read.clone(), start.environment);
        let report = self.path.join("report");
        let _ = std::fs::remove_file(&report);
        order.report = Some(report.clone());
        let sandbox = &self.sandbox.0;
        let (stdout, stdout_end) = self.pipe()?;
        let (stderr, stderr_end) = self.pipe()?;
        let input = match &start.input {
            Some(file) => file.try_clone().map_err(failed_to("handing over the input"))?.into(),
            None => Stdio::null(),
        };
        let child = Command::new(&sandbox.taskwright)
            .args(["sandbox", "--"])
            .args(start.command)
            .env_clear()
            .env("PATH", &sandbox.path)
            .env(order::VARIABLE, order.to_variable()?)
            .current_dir(start.folder)
            .stdin(input)
            .stdout(stdout_end)
            .stderr(stderr_end)
            // A signal from a terminal is for us alone; we end what we started.
            .process_group(0)
            .spawn()
            .map_err(failed("starting", &sandbox.taskwright))?;
        let id = i32::try_from(child.id()).unwrap_or(i32::MAX);
        Ok(Running {
            child: Some(child),
            id,
            handle: handle_of(id),
            pipes: [Some(stdout), Some(stderr)],
            order,
            report,
            user: self.user(),
        })
    }

    /// A pipe whose writing end the user may open again, as `/dev/stdout` and `/dev/stderr`.
    fn pipe(&self) -> Result<(PipeReader, Stdio)> {
        let (reader, writer) = std::io::pipe().map_err(failed_to("making a pipe"))?;
        if let Some(user) = self.user() {
            let _ = rustix::fs::fchown(&writer, Some(user.uid()), Some(user.gid()));
        }
        rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK)
            .map_err(|error| failed_to("preparing a pipe")(error.into()))?;
        Ok((reader, writer.into()))
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        // Whoever watches over a command leaves this file empty when nothing of it is left.
        let left = match std::fs::metadata(self.path.join(USER_LOCK)) {
            Ok(lock) => lock.len() > 0,
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        };
        if let Some(lease) = self.lease.as_ref().filter(|_| left) {
            lease.suspect();
        }
        // Gone already, unless whoever watches was killed.
        if let Some(group) = &self.group {
            group.end();
        }
        let _ = folder::remove(&self.path);
    }
}

/// Which of its two streams a command printed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Output,
    Error,
}

/// What happened while waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// It printed something, or nothing happened in the time given.
    On,
    /// It has ended, and everything that it printed was handed over.
    End,
}

impl Waited {
    pub fn is_end(self) -> bool {
        self == Self::End
    }
}

/// A command that runs. Dropped, it is ended.
#[derive(Debug)]
pub(crate) struct Running {
    child: Option<Child>,
    id: i32,
    handle: Option<std::os::fd::OwnedFd>,
    pipes: [Option<PipeReader>; 2],
    order: Order,
    report: PathBuf,
    user: Option<User>,
}

impl Running {
    /// Waits until the command prints, ends, or some time has passed; what it prints goes to `sink` in pieces of at
    /// most 64 KiB, and at most one piece of each stream at a time.
    pub fn wait(&mut self, most: Duration, sink: &mut dyn FnMut(Stream, &[u8])) -> Result<Waited> {
        let without_handle = Duration::from_millis(5);
        let most = if self.handle.is_some() { most } else { most.min(without_handle) };
        let timeout = Timespec::try_from(most).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        let mut waiting: Vec<PollFd<'_>> = Vec::with_capacity(3);
        waiting.extend(self.pipes.iter().flatten().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        waiting.extend(self.handle.as_ref().map(|handle| PollFd::new(handle, PollFlags::IN)));
        match poll(&mut waiting, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(failed_to("waiting for a command")(error.into())),
        }
        // Asked before the pipes are read: once the watcher has ended, nobody can write to them any more.
        let ended = match &mut self.child {
            Some(child) => child.try_wait().map_err(failed_to("waiting for a command"))?.is_some(),
            None => true,
        };
        let read = self.read(sink)?;
        if ended && !read {
            self.child = None;
            return Ok(Waited::End);
        }
        Ok(Waited::On)
    }

    /// Reads a piece of each stream; true if there was any.
    ///
    /// Output is read first and handed over last: what a command complained of before it answered is there by then, so
    /// that it is heard before the answer.
    fn read(&mut self, sink: &mut dyn FnMut(Stream, &[u8])) -> Result<bool> {
        let [output, error] = &mut self.pipes;
        let output = piece(output)?;
        let error = piece(error)?;
        if let Some(bytes) = &error {
            sink(Stream::Error, bytes);
        }
        if let Some(bytes) = &output {
            sink(Stream::Output, bytes);
        }
        Ok(output.is_some() || error.is_some())
    }

    pub fn order(&self) -> &Order {
        &self.order
    }

    /// Ends the command, if it has not ended, with everything it started. What became of it.
    pub fn stop(mut self) -> Report {
        self.end();
        Report::read(&self.report).unwrap_or_else(|| Report {
            not_started: Some(NotStarted::infrastructure("the process that watched over it was killed")),
            ..Report::default()
        })
    }

    fn end(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if let Some(pid) = Pid::from_raw(self.id) {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
        let start = Instant::now();
        let mut ended = false;
        while !ended && start.elapsed() < PATIENCE {
            // Someone who waits for room in a pipe must not wait for us.
            let _ = self.read(&mut |_, _| {});
            ended = !matches!(child.try_wait(), Ok(None));
            if !ended {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        if !ended {
            let _ = child.kill();
            let _ = child.wait();
            // What it watched over goes when the cell's user is given back.
            if let Some(user) = self.user {
                let _ = super::sweep::kill_user(user);
            }
        }
    }
}

/// What a pipe has to give at the moment; the pipe is closed when it has nothing more.
fn piece(pipe: &mut Option<PipeReader>) -> Result<Option<Vec<u8>>> {
    use std::io::ErrorKind::{Interrupted, WouldBlock};
    let Some(reader) = pipe else { return Ok(None) };
    let mut buffer = vec![0; 64 << 10];
    match reader.read(&mut buffer) {
        Ok(0) => *pipe = None,
        Ok(count) => {
            buffer.truncate(count);
            return Ok(Some(buffer));
        }
        Err(error) if matches!(error.kind(), WouldBlock | Interrupted) => {}
        Err(error) => return Err(failed_to("reading what a command prints")(error)),
    }
    Ok(None)
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use taskwright_base::lock::{Attempt, LockFile, Wait};
    use taskwright_testing::{Need, not_run, test};

    use super::super::Inner;
    use super::super::users::Pool;
    use super::*;

    #[test]
    fn a_user_whose_command_was_not_seen_to_its_end_is_not_given_out_with_its_processes() {
        if !rustix::process::geteuid().is_root() {
            not_run(Need::Root, "only root has users for candidates");
        }
        let folder = tempfile::tempdir().unwrap();
        let lock = LockFile::acquire(folder.path().join("lock"), &Wait::none()).unwrap();
        let Attempt::Held(lock) = lock else { panic!("the folder is ours") };
        let pool = Arc::new(Pool::new().unwrap());
        let sandbox = Sandbox(Arc::new(Inner {
            taskwright: "/nowhere".into(),
            runtime: folder.path().to_owned(),
            path: String::new(),
            pool: Some(Arc::clone(&pool)),
            landlock: false,
            seccomp: false,
            programs: Vec::new(),
            hidden: Vec::new(),
            groups: None,
            gaps: Vec::new(),
            next_cell: AtomicU64::new(0),
            _lock: lock,
        }));
        let lives = |is_left: bool| {
            let lease = pool.take(1, &|| false).unwrap().pop().unwrap();
            let id = lease.user.uid;
            let mut left = Command::new("sleep").arg("1000").uid(id).gid(id).spawn().unwrap();
            let cell = Cell::make(&sandbox, Some(lease)).unwrap();
            // As a watcher leaves it that was killed, or that saw its command to the end.
            std::fs::write(cell.path().join(USER_LOCK), if is_left { "x" } else { "" }).unwrap();
            drop(cell);
            let lives = left.try_wait().unwrap().is_none();
            let _ = left.kill();
            let _ = left.wait();
            lives
        };
        assert!(!lives(true));
        // Otherwise nobody looks, and nobody has to.
        assert!(lives(false));
    }
}
