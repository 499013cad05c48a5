//! What this machine lacks for building and running tasks. It looks, and changes nothing.
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

use crate::workspace::{Binary, Workspace};
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
    /// In the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::Build, Self::Bake, Self::Run, Self::Bench];

    /// As it is written on the command line and in JSON.
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

/// Something to look for: a line of the table.
struct Probe {
    name: &'static str,
    needed_for: &'static [Purpose],
    /// Whether what it is needed for does not work without it.
    required: bool,
    /// Whether only a program needs it that has to compile the binary for the images.
    compiles: bool,
    look: fn(&dyn Machine, &Utf8Path) -> Finding,
    /// What mends it; empty where nothing does.
    linux: &'static str,
    /// The same on a Mac: empty if it is the same command, `-` where nothing mends it.
    macos: &'static str,
}

/// What was found, or what is wrong.
type Finding = Result<String, Trouble>;

/// What is wrong with something that was looked for.
struct Trouble {
    found: Option<String>,
    problem: String,
    hint: Hint,
}

/// What mends it.
enum Hint {
    /// Nothing that could be named.
    None,
    /// The command in the table.
    Table,
    /// This, or the command in the table.
    Or(String),
    /// This on each system.
    Each { linux: &'static str, macos: &'static str },
    /// This everywhere.
    Other(String),
}

impl Trouble {
    fn new(problem: impl Into<String>) -> Self {
        Self { found: None, problem: problem.into(), hint: Hint::Table }
    }

    fn found(self, text: impl Into<String>) -> Self {
        Self { found: Some(text.into()), ..self }
    }

    fn hint(self, hint: Hint) -> Self {
        Self { hint, ..self }
    }
}

/// Looks for everything that a workspace needs at once, for at most a limit and a moment.
pub fn examine(machine: &Arc<dyn Machine>, workspace: &Workspace, limit: Duration) -> Diagnosis {
    let root = &workspace.root;
    let deadline = Instant::now() + limit;
    let compiles = matches!(workspace.binary, Binary::Sources(_));
    let wanted = probes::ALL.iter().filter(|probe| compiles || !probe.compiles);
    let waiting: Vec<_> = wanted.map(|probe| (probe, start(machine, root, probe.look))).collect();
    let checks = waiting.into_iter().map(|(probe, answer)| {
        let left = deadline.saturating_duration_since(Instant::now());
        let silent = |problem: String| Err(Trouble::new(problem).hint(Hint::None));
        let finding = answer.recv_timeout(left).unwrap_or_else(|error| match error {
            mpsc::RecvTimeoutError::Timeout => silent(format!("no answer within {} s", limit.as_secs_f64())),
            mpsc::RecvTimeoutError::Disconnected => silent("cannot be looked at".to_owned()),
        });
        verdict(probe, finding, machine.as_ref(), root)
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

fn verdict(probe: &Probe, finding: Finding, machine: &dyn Machine, root: &Utf8Path) -> Check {
    let Probe { name, needed_for, required, linux, macos, .. } = *probe;
    let trouble = match finding {
        Ok(found) => {
            return Check {
                name,
                state: State::Ok,
                found: Some(found),
                needed_for,
                problem: None,
                remedy: None,
            };
        }
        Err(trouble) => trouble,
    };
    let is_mac = machine.system().os == "macos";
    let table = match (is_mac, macos) {
        (true, "-") => String::new(),
        (false, _) | (true, "") => probes::filled(linux, machine, root),
        (true, macos) => probes::filled(macos, machine, root),
    };
    let hint = match trouble.hint {
        Hint::None => String::new(),
        Hint::Table => table,
        Hint::Or(first) => format!("{first}, or {table}"),
        Hint::Each { linux, macos } => if is_mac { macos } else { linux }.to_owned(),
        Hint::Other(hint) => hint,
    };
    Check {
        name,
        state: if required { State::Missing } else { State::Advice },
        found: trouble.found,
        needed_for,
        problem: Some(trouble.problem),
        remedy: Some(hint).filter(|hint| !hint.is_empty()),
    }
}

#[cfg(test)]
mod tests;
