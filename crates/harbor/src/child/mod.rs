//! A Harbor process of ours: it reads nothing, its output goes to a bounded log, and it ends when we do.
//!
//! ```text
//!   start ──▶ running ──────────────── ends by itself ───────────────▶ ended: what is left of its group is killed
//!                │ stop: SIGINT to Harbor alone                          ▲
//!                ▼                                                       │
//!           interrupted ── stops its trials, removes containers ─────────┤
//!                │ 40 s: SIGTERM to the group                            │
//!                ▼                                                       │
//!           terminated ──────────────────────────────────────────────────┤
//!                │ 10 s: SIGKILL to the group                            │
//!                ▼                                                       │
//!              killed ───────────────────────────────────────────────────┘
//! ```
//!
//! If it is dropped while it runs, the group is killed at once. If we are gone without a word, a watchdog (`watchdog`)
//! takes the same steps in our place.
//!
//! It runs in a process group of its own, so that a Ctrl-C at the terminal reaches us alone and we decide. It is asked to
//! end by SIGINT, which must not be ignored here, since it would be there too: who starts Harbor has a handler for it.

mod log;
mod watchdog;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use self::log::Log;
pub use self::log::tail;
use self::watchdog::Watchdog;

/// How often an ending process is looked at.
const TICK: Duration = Duration::from_millis(20);

/// What a process finds in its environment.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Whether it finds what we find.
    pub inherit: bool,
    /// What it finds besides, or instead.
    pub set: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Our own environment.
    pub fn inherited() -> Self {
        Self { inherit: true, set: BTreeMap::new() }
    }

    /// The same with another variable.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.set.insert(name.into(), value.into());
        self
    }

    /// The value that the process will find.
    pub fn get(&self, name: &str) -> Option<OsString> {
        let own = || self.inherit.then(|| std::env::var_os(name)).flatten();
        self.set.get(OsStr::new(name)).cloned().or_else(own)
    }

    /// Gives it to a command.
    pub fn apply(&self, command: &mut Command) {
        if !self.inherit {
            command.env_clear();
        }
        command.envs(&self.set);
    }
}

/// What a process is started with.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The command, the program first.
    pub command_line: &'a [OsString],
    /// The folder it runs in.
    pub folder: &'a Path,
    /// Its environment.
    pub environment: &'a Environment,
    /// Where its output goes; what was there is lost.
    pub log: &'a Path,
    /// A file that is kept open until the last of the process is gone, even if we go before: a lock, say.
    pub hold: Option<&'a File>,
}

/// How long a process is given to end by itself, at each step.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// After the interrupt: Harbor stops what it runs, writes a result for each trial and removes the containers.
    pub interrupt: Duration,
    /// After the request to terminate. Then it is killed.
    pub terminate: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { interrupt: Duration::from_secs(40), terminate: Duration::from_secs(10) }
    }
}

/// Why there is no process, or none any more that we know of.
#[derive(Debug, thiserror::Error)]
#[error("{what} failed: {source}")]
pub struct ChildError {
    what: String,
    #[source]
    source: io::Error,
}

fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> ChildError {
    let what = what.into();
    move |source| ChildError { what, source }
}

/// A running process.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
    group: Pid,
    log: Log,
    watchdog: Watchdog,
    ended: Option<ExitStatus>,
}

impl Child {
    /// Starts a process.
    pub fn start(start: &Start<'_>) -> Result<Self, ChildError> {
        let [program, arguments @ ..] = start.command_line else {
            return Err(failed("starting Harbor")(io::Error::other("the command is empty")));
        };
        let log =
            Log::create(start.log).map_err(failed(format!("making the log `{}`", start.log.display())))?;
        let output = || log.output().map_err(failed("opening the log again"));
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(start.folder)
            .stdin(Stdio::null())
            .stdout(output()?)
            .stderr(output()?)
            .process_group(0);
        start.environment.apply(&mut command);
        let mut process =
            command.spawn().map_err(failed(format!("starting `{}`", PathBuf::from(program).display())))?;
        let group = Pid::from_child(&process);
        match Watchdog::over(group, start.hold) {
            Ok(watchdog) => Ok(Self { process, group, log, watchdog, ended: None }),
            Err(error) => {
                let _ = kill_process_group(group, Signal::KILL);
                let _ = process.wait();
                Err(failed("starting the watchdog, which needs `sh`,")(error))
            }
        }
    }

    /// How the process ended; none while it runs. To be asked often: the log is kept small on the way.
    pub fn poll(&mut self) -> Result<Option<ExitStatus>, ChildError> {
        if self.ended.is_some() {
            return Ok(self.ended);
        }
        self.ended = self.process.try_wait().map_err(failed("waiting for Harbor"))?;
        if self.ended.is_none() {
            self.log.relieve().map_err(failed("keeping Harbor's log small"))?;
        } else {
            // What it left behind in its group has nobody to report to.
            let _ = kill_process_group(self.group, Signal::KILL);
            self.watchdog.dismiss();
            self.log.close().map_err(failed("shortening Harbor's log"))?;
        }
        Ok(self.ended)
    }

    /// Ends the process and all of its group: asks once, asks again, kills.
    pub fn stop(&mut self, patience: &Patience) -> Result<ExitStatus, ChildError> {
        // The first request goes to the leader alone: uv hands it on, and who is asked twice stops cleaning up.
        let _ = kill_process(self.group, Signal::INT);
        if let Some(status) = self.wait(patience.interrupt)? {
            return Ok(status);
        }
        let _ = kill_process_group(self.group, Signal::TERM);
        if let Some(status) = self.wait(patience.terminate)? {
            return Ok(status);
        }
        let _ = kill_process_group(self.group, Signal::KILL);
        loop {
            if let Some(status) = self.wait(Duration::from_secs(1))? {
                return Ok(status);
            }
        }
    }

    fn wait(&mut self, patience: Duration) -> Result<Option<ExitStatus>, ChildError> {
        let start = Instant::now();
        loop {
            let ended = self.poll()?;
            if ended.is_some() || start.elapsed() > patience {
                return Ok(ended);
            }
            std::thread::sleep(TICK);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ended.is_none() {
            let _ = kill_process_group(self.group, Signal::KILL);
            let _ = self.process.wait();
            self.watchdog.dismiss();
        }
    }
}

/// How a process ended, in words.
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

#[cfg(test)]
mod tests;
