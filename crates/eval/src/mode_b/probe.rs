//! Finds out why a job ran nothing: by asking for the environment without the candidate, and then for the candidate.
//!
//! Harbor imports and makes the candidate's agent before it runs a trial; if that fails the whole job ends without a
//! result, and so it does if a package cannot be fetched. Whose failure it is decides what it costs, and no words of a
//! log are to be believed: what the candidate prints is its own to choose. So the same steps are taken one at a time.

use std::ffi::OsString;
use std::path::Path;

use taskwright_harbor::child::{Environment, Start};
use taskwright_harbor::command::{BesideLauncher, Launcher, UvLauncher};
use taskwright_harbor::job_config::AgentConfig;

use super::step::{Step, take};
use crate::cancel::Cancel;

/// Makes the agent as Harbor does; the arguments are its configuration and a folder.
const MAKE: &str = "\
import json, pathlib, sys
from harbor.agents.factory import AgentFactory
from harbor.models.trial.config import AgentConfig
config = AgentConfig(**json.loads(sys.argv[1]))
AgentFactory.create_agent_from_config(config, logs_dir=pathlib.Path(sys.argv[2]))
";

/// Whose failure it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding {
    /// The infrastructure's: Harbor does not even start without the candidate.
    Infrastructure(String),
    /// The candidate's: it cannot be installed beside Harbor, or its agent cannot be made.
    Candidate(String),
    Neither,
    /// We were told to stop asking.
    Cancelled,
}

/// What the steps are taken with.
pub(super) struct Probe<'a> {
    pub launcher: &'a Launcher,
    pub agent: &'a AgentConfig,
    pub environment: &'a Environment,
    /// A folder that the candidate may write to.
    pub folder: &'a Path,
    /// Where its output goes, out of its reach.
    pub log: &'a Path,
    pub cancel: &'a Cancel,
}

impl Probe<'_> {
    pub fn ask(&self) -> Finding {
        let without = match self.launcher {
            Launcher::Uv(uv) => Launcher::Uv(UvLauncher { packages: Vec::new(), ..uv.clone() }),
            Launcher::Beside(beside) => Launcher::Beside(BesideLauncher { package: None, ..beside.clone() }),
            // No candidate is beside it.
            Launcher::Installed(_) => return Finding::Neither,
        };
        match self.step(&without.python(&["-c", "import harbor.cli.main"])) {
            Step::Done => {}
            Step::Failed(said) => {
                return Finding::Infrastructure(format!("Harbor cannot be started: {said}"));
            }
            Step::Cancelled => return Finding::Cancelled,
        }
        let config = serde_json::to_string(self.agent).unwrap_or_default();
        let logs = self.folder.to_string_lossy();
        match self.step(&self.launcher.python(&["-c", MAKE, &config, &logs])) {
            Step::Done => Finding::Neither,
            Step::Failed(said) => Finding::Candidate(format!("its agent cannot be made: {said}")),
            Step::Cancelled => Finding::Cancelled,
        }
    }

    fn step(&self, command_line: &[OsString]) -> Step {
        take(
            &Start {
                command_line,
                folder: self.folder,
                environment: self.environment,
                log: self.log,
                hold: None,
            },
            self.cancel,
        )
    }
}
