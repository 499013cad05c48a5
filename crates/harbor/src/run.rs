//! One `harbor run` from its start to its end: the process, its trials as they finish, and what it left behind.
//!
//! ```no_run
//! use taskwright_harbor::child::Environment;
//! use taskwright_harbor::command::{HarborCommand, Launcher};
//! use taskwright_harbor::run::{Run, run};
//! # fn example(config: taskwright_harbor::job_config::JobConfig) -> Result<(), Box<dyn std::error::Error>> {
//! let environment = Environment::inherited();
//! let harbor = taskwright_harbor::tools::harbor(environment.get("PATH").as_deref(), &taskwright_harbor::TRIED)?.0;
//! config.write("/jobs/first.json".as_ref())?;
//! let job_dir = config.job_dir();
//! let command = HarborCommand {
//!     launcher: Launcher::Installed(harbor),
//!     config: "/jobs/first.json".into(),
//!     extra_args: Vec::new(),
//! };
//! let job = Run {
//!     folder: "/jobs".as_ref(),
//!     docker: config.environment.is_docker(),
//!     ..Run::new(&command, &job_dir, "/jobs/first.log".as_ref(), &environment)
//! };
//! let ended = run(&job, &mut |event| println!("{event:?}"), &mut |_| true)?;
//! // It ends well even if every trial failed: read the results.
//! println!("{}", ended.status);
//! # Ok(())
//! # }
//! ```

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use crate::child::{Child, ChildError, Environment, Patience, Start};
use crate::command::HarborCommand;
use crate::containers::{self, Removed};
use crate::watch::{TrialEvent, Watch, trial_names};

/// How often the process and the job's folder are looked at.
const TICK: Duration = Duration::from_millis(100);

/// A run to be done.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The command.
    pub command: &'a HarborCommand,
    /// The folder that Harbor will keep the job in.
    pub job_dir: &'a Path,
    /// The environment.
    pub environment: &'a Environment,
    /// The folder that Harbor runs in.
    pub folder: &'a Path,
    /// Where its output goes.
    pub log: &'a Path,
    /// A file that is kept open until the last of the run is gone, even if we go before: a lock, say.
    pub hold: Option<&'a File>,
    /// Whether trials run in the local Docker engine, which is then cleaned of what a killed run left there.
    pub docker: bool,
    /// How long Harbor is given to stop.
    pub patience: Patience,
}

impl<'a> Run<'a> {
    /// A run in the root folder.
    pub fn new(
        command: &'a HarborCommand,
        job_dir: &'a Path,
        log: &'a Path,
        environment: &'a Environment,
    ) -> Self {
        Self {
            command,
            job_dir,
            environment,
            folder: Path::new("/"),
            log,
            hold: None,
            docker: false,
            patience: Patience::default(),
        }
    }
}

/// How a run ended. What became of its trials stands in their results.
#[derive(Debug, Clone)]
pub struct Ended {
    /// How the process ended: well, even if every trial failed.
    pub status: ExitStatus,
    /// Whether it was stopped by us.
    pub stopped: bool,
    /// What was removed after it.
    pub removed: Removed,
    /// Why what it left behind could not be removed.
    pub left_behind: Option<String>,
}

/// Why a run could not be done or watched.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The process.
    #[error(transparent)]
    Child(#[from] ChildError),
    /// The job's folder.
    #[error("reading the job's folder `{}` failed: {source}", job.display())]
    Job {
        /// The folder.
        job: std::path::PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Runs Harbor and blocks until it has ended. `observe` is told of each trial that begins and ends; `go_on` is asked
/// several times a second whether to go on, and Harbor is stopped when it says no.
pub fn run(
    run: &Run<'_>,
    observe: &mut dyn FnMut(&TrialEvent),
    go_on: &mut dyn FnMut(&Watch) -> bool,
) -> Result<Ended, RunError> {
    let mut watch = Watch::new(run.job_dir);
    let unreadable = |source| RunError::Job { job: run.job_dir.to_owned(), source };
    let command_line = run.command.command_line();
    let mut child = Child::start(&Start {
        command_line: &command_line,
        folder: run.folder,
        environment: run.environment,
        log: run.log,
        hold: run.hold,
    })?;
    let mut stopped = false;
    let status = loop {
        let ended = child.poll()?;
        let start = Instant::now();
        watch.look().map_err(unreadable)?.iter().for_each(&mut *observe);
        // A job of ten thousand trials takes a while to look through: not more than a tenth of our time.
        let pause = TICK.max(start.elapsed() * 10);
        if let Some(status) = ended {
            break status;
        }
        if !go_on(&watch) {
            stopped = true;
            let status = child.stop(&run.patience)?;
            watch.look().map_err(unreadable)?.iter().for_each(&mut *observe);
            break status;
        }
        std::thread::sleep(pause);
    };
    let (removed, left_behind) = match clean(run, stopped || !status.success()) {
        Ok(removed) => (removed, None),
        Err(why) => (Removed::default(), Some(why)),
    };
    Ok(Ended { status, stopped, removed, left_behind })
}

fn clean(run: &Run<'_>, is_needed: bool) -> Result<Removed, String> {
    if is_needed { clean_up(run.job_dir, run.docker, run.environment) } else { Ok(Removed::default()) }
}

/// Removes what a run left behind in the local Docker engine that was killed, perhaps together with us.
pub fn clean_up(job_dir: &Path, docker: bool, environment: &Environment) -> Result<Removed, String> {
    if !docker {
        return Ok(Removed::default());
    }
    let trials = trial_names(job_dir).map_err(|error| error.to_string())?;
    containers::remove(&trials, environment)
}
