//! Short commands of ours: nothing to read, a process group of their own, a time limit, output of bounded size.
//!
//! ```text
//!   start ──▶ running ──▶ ended: the group is killed, what was printed is returned
//!                │
//!                └─ time over, or asked to stop ──▶ the group is killed, an error
//! ```
//!
//! Commands that run for long or that must be asked before they are killed have their own modules: Harbor's process and
//! the sandbox's.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How often a command is asked whether it has ended. The first looks follow each other faster: most commands are short.
const AGAIN: Duration = Duration::from_millis(10);

/// What a command may take.
pub struct Limits<'a> {
    /// How long it may run.
    pub time: Duration,
    /// How many bytes of each of its outputs are kept; what comes after is read and dropped.
    pub output: u64,
    /// Whether to end it before.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl Limits<'_> {
    /// A time, and up to 64 MiB of output.
    pub fn of(time: Duration) -> Self {
        Self { time, output: 64 << 20, stop: &|| false }
    }
}

/// How a command ended, and what it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained of.
    pub stderr: Vec<u8>,
}

/// Why there is no output.
#[derive(Debug)]
pub enum NoOutput {
    /// It could not be started, or not be waited for.
    Failed(io::Error),
    /// It did not end in time.
    TimedOut(Duration),
    /// We were asked to stop.
    Stopped,
}

/// Runs a command to its end. Processes that it leaves in its group are killed.
///
/// # Errors
/// It cannot be started, does not end in time, or is not to be waited for any longer.
pub fn run(command: &mut Command, limits: &Limits<'_>) -> Result<Output, NoOutput> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(NoOutput::Failed)?;
    let stdout = gather(child.stdout.take(), limits.output);
    let stderr = gather(child.stderr.take(), limits.output);
    let ended = wait(&mut child, limits);
    kill_group(&child);
    if ended.is_err() {
        let _ = child.wait();
    }
    // The group is gone, so nobody holds the pipes any more, but for what has left the group: that is not waited for.
    let (stdout, stderr) = (collect(stdout), collect(stderr));
    ended.map(|status| Output { status, stdout, stderr })
}

/// Kills all processes of the group that a child leads.
pub fn kill_group(child: &Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn wait(child: &mut Child, limits: &Limits<'_>) -> Result<ExitStatus, NoOutput> {
    let begin = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().map_err(NoOutput::Failed)? {
            return Ok(status);
        }
        if (limits.stop)() {
            return Err(NoOutput::Stopped);
        }
        if begin.elapsed() >= limits.time {
            return Err(NoOutput::TimedOut(limits.time));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(AGAIN);
    }
}

fn gather(pipe: Option<impl Read + Send + 'static>, most: u64) -> Option<JoinHandle<Vec<u8>>> {
    let mut pipe = pipe?;
    let read = move || {
        let mut kept = Vec::new();
        let _ = pipe.by_ref().take(most).read_to_end(&mut kept);
        let _ = io::copy(&mut pipe, &mut io::sink());
        kept
    };
    thread::Builder::new().name("output".to_owned()).spawn(read).ok()
}

/// What was read. A process that has left the group may hold the pipe for ever, so it is given a second.
fn collect(thread: Option<JoinHandle<Vec<u8>>>) -> Vec<u8> {
    let Some(thread) = thread else { return Vec::new() };
    let begin = Instant::now();
    while !thread.is_finished() {
        if begin.elapsed() > Duration::from_secs(1) {
            return Vec::new();
        }
        thread::sleep(Duration::from_millis(1));
    }
    thread.join().unwrap_or_default()
}

/// Allows this process, and those that it starts, as many open files as it may allow itself: a shell's 1024 are few beside
/// hundreds of connections. Where that cannot be, it goes on with what there is.
pub fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_is_printed_comes_back_within_its_bound() {
        let limits = Limits { output: 4, ..Limits::of(Duration::from_secs(60)) };
        let output = run(&mut shell("read -r x; printf 123456; printf ab >&2; exit 3"), &limits).unwrap();
        assert_eq!(
            (output.status.code(), &output.stdout[..], &output.stderr[..]),
            (Some(3), &b"1234"[..], &b"ab"[..])
        );
    }

    #[test]
    fn what_does_not_end_is_killed_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let script = format!("sleep 300 & echo $! > '{}'; wait", pid.display());
        let begin = Instant::now();
        let limits = Limits::of(Duration::from_millis(500));
        assert!(matches!(run(&mut shell(&script), &limits), Err(NoOutput::TimedOut(_))));
        let pid = std::fs::read_to_string(&pid).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        let is_gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        while !is_gone() {
            assert!(begin.elapsed() < Duration::from_secs(60));
        }
        let stopped = Limits { stop: &|| true, ..Limits::of(Duration::from_secs(60)) };
        assert!(matches!(run(&mut shell("sleep 300"), &stopped), Err(NoOutput::Stopped)));
        let missing = run(&mut Command::new("/no/such/program"), &Limits::of(Duration::from_secs(1)));
        assert!(matches!(missing, Err(NoOutput::Failed(error)) if error.kind() == io::ErrorKind::NotFound));
    }
}
