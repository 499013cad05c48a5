//! What this machine lacks for building, baking and running tasks. It looks, and changes nothing.
//!
//! Every probe has a thread and a time limit of its own: a Docker that hangs, or a network file system that is gone,
//! costs that one answer. What a probe asks goes through [`Machine`], so that tests can answer in its stead.

mod machine;
mod probes;
mod version;

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

pub use machine::{Machine, Outcome, System, ThisMachine};

/// What something is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// `cargo xtask build-tasks`.
    Build,
    /// Making the tasks' images.
    Bake,
    /// `cargo xtask run` and `harbor lint`.
    Run,
    /// `cargo xtask bench`.
    Bench,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Build, Self::Bake, Self::Run, Self::Bench];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Bake => "bake",
            Self::Run => "run",
            Self::Bench => "bench",
        }
    }
}

/// How much something matters that was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is there.
    Ok,
    /// It is not as it should be, and everything works without.
    Advice,
    /// It is missing, and what it is needed for does not work.
    Missing,
}

/// One line of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked for.
    pub name: &'static str,
    /// Whether it is there.
    pub state: State,
    /// What was found, a version for the most part; none if nothing was.
    pub found: Option<String>,
    /// What it is needed for.
    pub needed_for: &'static [Purpose],
    /// What is wrong.
    pub problem: Option<String>,
    /// What mends it: a command for the most part.
    pub remedy: Option<String>,
}

/// All lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// Each check, in the order in which somebody sets a machine up.
    pub checks: Vec<Check>,
}

impl Diagnosis {
    /// What is missing for a purpose, by name.
    pub fn missing_for(&self, purpose: Purpose) -> Vec<&'static str> {
        let missing = |check: &&Check| check.state == State::Missing && check.needed_for.contains(&purpose);
        self.checks.iter().filter(missing).map(|check| check.name).collect()
    }

    /// Whether nothing is missing for any of these purposes.
    pub fn is_ready(&self, purposes: &[Purpose]) -> bool {
        purposes.iter().all(|purpose| self.missing_for(*purpose).is_empty())
    }
}

/// Something to look for.
struct Probe {
    name: &'static str,
    needed_for: &'static [Purpose],
    /// Whether what it is needed for does not work without it.
    required: bool,
    look: fn(&dyn Machine, &Utf8Path) -> Finding,
}

/// What a probe found.
enum Finding {
    /// As it should be.
    Good(String),
    /// Not as it should be.
    Bad { found: Option<String>, problem: String, remedy: Option<Remedy> },
    /// Nothing is known, so that no remedy can be named.
    Unknown(String),
}

impl Finding {
    fn good(found: impl Into<String>) -> Self {
        Self::Good(found.into())
    }

    fn bad(problem: impl Into<String>) -> Self {
        Self::Bad { found: None, problem: problem.into(), remedy: None }
    }

    fn found(self, text: impl Into<String>) -> Self {
        match self {
            Self::Bad { problem, remedy, .. } => Self::Bad { found: Some(text.into()), problem, remedy },
            other => other,
        }
    }

    fn remedy(self, remedy: Remedy) -> Self {
        match self {
            Self::Bad { found, problem, .. } => Self::Bad { found, problem, remedy: Some(remedy) },
            other => other,
        }
    }
}

/// What mends something, for each system; empty where nothing does.
struct Remedy {
    linux: String,
    macos: String,
}

impl Remedy {
    fn new(linux: impl Into<String>, macos: impl Into<String>) -> Self {
        Self { linux: linux.into(), macos: macos.into() }
    }

    /// The same everywhere.
    fn any(command: impl Into<String>) -> Self {
        let command = command.into();
        Self { linux: command.clone(), macos: command }
    }

    fn on(self, system: System) -> Option<String> {
        let command = if system.os == "macos" { self.macos } else { self.linux };
        Some(command).filter(|command| !command.is_empty())
    }
}

/// Looks for everything at once, for at most a limit and a moment.
pub fn examine(machine: &Arc<dyn Machine>, root: &Utf8Path, limit: Duration) -> Diagnosis {
    let deadline = Instant::now() + limit;
    let waiting: Vec<_> = probes::ALL.iter().map(|probe| (probe, start(machine, root, probe.look))).collect();
    let system = machine.system();
    let checks = waiting.into_iter().map(|(probe, answer)| {
        let left = deadline.saturating_duration_since(Instant::now());
        let finding = match answer.recv_timeout(left) {
            Ok(finding) => finding,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                Finding::Unknown(format!("no answer within {} s", limit.as_secs_f64()))
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => Finding::Unknown("cannot be looked at".to_owned()),
        };
        verdict(probe, finding, system)
    });
    Diagnosis { checks: checks.collect() }
}

/// Runs a probe in a thread that nobody has to wait for.
fn start(
    machine: &Arc<dyn Machine>,
    root: &Utf8Path,
    look: fn(&dyn Machine, &Utf8Path) -> Finding,
) -> mpsc::Receiver<Finding> {
    let (sender, answer) = mpsc::channel();
    let machine = Arc::clone(machine);
    let root: Utf8PathBuf = root.to_owned();
    // Without a thread the sender is dropped, which says as much as is known.
    let _ = thread::Builder::new().spawn(move || {
        let _ = sender.send(look(machine.as_ref(), &root));
    });
    answer
}

fn verdict(probe: &Probe, finding: Finding, system: System) -> Check {
    let worst = if probe.required { State::Missing } else { State::Advice };
    let (state, found, problem, remedy) = match finding {
        Finding::Good(found) => (State::Ok, Some(found), None, None),
        Finding::Unknown(problem) => (worst, None, Some(problem), None),
        Finding::Bad { found, problem, remedy } => {
            (worst, found, Some(problem), remedy.and_then(|remedy| remedy.on(system)))
        }
    };
    Check { name: probe.name, state, found, needed_for: probe.needed_for, problem, remedy }
}

#[cfg(test)]
mod tests;
