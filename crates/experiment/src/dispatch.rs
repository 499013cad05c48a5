//! Starts `harbor run` for a job and watches it to its end.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::write::{self, Durable};
use taskwright_base::{Error, Result, failed, failed_to};
use taskwright_harbor::child::{Environment, describe, tail};
use taskwright_harbor::command::{HarborCommand, Launcher, UvLauncher};
use taskwright_harbor::endpoints::{self, Endpoint};
use taskwright_harbor::exceptions::reward_is_valid;
use taskwright_harbor::job::{JobFolder, TrialFolder};
use taskwright_harbor::result::TrialResult;
use taskwright_harbor::run::{Run, run};
use taskwright_harbor::tools;
use taskwright_harbor::{HARBOR_VERSION, Release, TRIED};

use crate::jobs::{Job, JobLock};
use crate::plan::Prepared;
use crate::progress::Tally;

/// How much of what Harbor printed is shown when it failed.
const SHOWN: usize = 3000;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By itself, and as it should. Nothing is said of the trials by that.
    Done,
    /// We were asked to stop it.
    Interrupted,
    /// Its time was up.
    OutOfTime,
}

/// How far a run is, told several times a second.
#[derive(Debug)]
pub struct Now<'a> {
    /// The trials that have ended.
    pub tally: &'a Tally,
    /// How many have begun and not ended.
    pub running: usize,
}

/// A Harbor that can be started for a job.
#[derive(Debug, Clone)]
pub struct Harbor {
    environment: Environment,
    launcher: Launcher,
    release: Release,
    arguments: Vec<String>,
    root: Utf8PathBuf,
    docker: bool,
}

/// What Harbor says of a configuration that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Its own words.
    pub answer: String,
    /// Where each agent would ask a language model, in the order of the configuration; empty where it does not say.
    pub endpoints: Vec<Endpoint>,
}

/// The releases of Harbor that can run a job, the one to prefer last: the one that is named, the one that has begun it, or any
/// that was tried and knows all of its configuration.
fn wanted(root: &Utf8Path, prepared: &Prepared) -> Vec<Release> {
    let begun = || {
        let folder = JobFolder::open(root.as_std_path().join(prepared.config.job_dir())).ok()?;
        folder.lock().ok()??.harbor_version
    };
    let named = prepared.harbor.clone().or_else(begun);
    let has_policies = !prepared.config.override_error_policy.is_empty();
    TRIED
        .into_iter()
        .filter(|release| named.as_ref().is_none_or(|named| named == release.version))
        .filter(|release| release.has_error_policies || !has_policies)
        .filter(|release| release.says_endpoints || !prepared.is_metered)
        .filter(|release| release.version == HARBOR_VERSION || !prepared.needs_last)
        .collect()
}

impl Harbor {
    /// Finds the Harbor that a job needs: the installed one, or one that uv installs where packages stand beside it.
    pub fn find(root: &Utf8Path, prepared: &Prepared) -> Result<Self> {
        let wanted = wanted(root, prepared);
        let newest = *wanted
            .last()
            .ok_or_else(|| Error::new("no release of Harbor that was tried can run this job"))?;
        let environment = Environment::inherited();
        let path = environment.get("PATH");
        let path = path.as_deref();
        let beside = !prepared.packages.is_empty() || !prepared.extras.is_empty();
        let uv = || {
            tools::uv(path).map(|uv| {
                let extras = match prepared.extras.as_slice() {
                    [] => String::new(),
                    extras => format!("[{}]", extras.join(",")),
                };
                let launcher = Launcher::Uv(UvLauncher {
                    harbor: format!("harbor{extras}=={}", newest.version),
                    packages: prepared.packages.iter().map(|place| root.join(place).into()).collect(),
                    ..UvLauncher::new(uv)
                });
                (launcher, newest)
            })
        };
        let launcher = if beside {
            uv()
        } else {
            // What is said of a `harbor` that cannot be used is of more use than that there is no uv either.
            tools::harbor(path, &wanted)
                .map(|(harbor, release)| (Launcher::Installed(harbor), release))
                .or_else(|error| uv().map_err(|_| error))
        };
        let (launcher, release) = launcher.map_err(|error| Error::new(error.to_string()))?;
        Ok(Self {
            environment,
            launcher,
            release,
            arguments: prepared.arguments.clone(),
            root: root.to_owned(),
            docker: prepared.config.environment.is_docker(),
        })
    }

    /// The same, which finds further variables in its environment.
    #[must_use]
    pub fn with<K: Into<OsString>>(mut self, variables: impl IntoIterator<Item = (K, String)>) -> Self {
        for (name, value) in variables {
            self.environment = self.environment.with(name, value);
        }
        self
    }

    fn command(&self, config: &Utf8Path) -> HarborCommand {
        HarborCommand {
            launcher: self.launcher.clone(),
            config: config.into(),
            extra_args: self.arguments.clone(),
        }
    }

    /// The command as a line for a shell in the workspace's root.
    pub fn shell_line(&self, config: &Utf8Path) -> String {
        self.command(config).shell_line()
    }

    /// Has Harbor read a configuration without running anything: it then takes no key that it does not know, and looks
    /// at the arguments of agents and at the variables that must be set. Gives what Harbor says of it.
    pub fn check(&self, config: &str) -> Result<Checked> {
        const DOING: &str = "asking Harbor to check the job's configuration";
        if !self.release.has_dry_run {
            let version = self.release.version;
            let answer = format!("Harbor {version} cannot check a configuration without running it");
            return Ok(Checked { answer, endpoints: Vec::new() });
        }
        let folder = tempfile::tempdir().map_err(failed_to(DOING))?;
        let path = Utf8PathBuf::from_path_buf(folder.path().join("harbor.yaml"))
            .map_err(|path| Error::new(format!("`{}` has a name that is not UTF-8", path.display())))?;
        write::atomic(&path, Durable::No, config.as_bytes())?;
        let log = folder.path().join("log");
        let output = File::create(&log).and_then(|file| Ok((file.try_clone()?, file)));
        let (stdout, stderr) = output.map_err(failed_to(DOING))?;
        let mut line = self.command(&path).command_line().into_iter();
        let mut command = Command::new(line.next().unwrap_or_default());
        self.environment.apply(&mut command);
        command
            .args(line)
            .arg("--dry-run")
            .current_dir(&self.root)
            // Harbor breaks its lines at the width of what it takes for a terminal, and colours what it prints there. Neither is to
            // hang on what somebody has set for other programs.
            .env("COLUMNS", "200")
            .env("LINES", "50")
            .env("NO_COLOR", "1")
            .env("TERM", "dumb")
            .env_remove("FORCE_COLOR")
            .env_remove("TTY_COMPATIBLE")
            // What it says is read, and has signs in it that not every locale has.
            .env("PYTHONUTF8", "1")
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr);
        let status = command.status().map_err(failed_to(DOING))?;
        let said = tail(&log, SHOWN);
        if status.success() {
            let answer = said.lines().rfind(|line| line.contains("OK")).unwrap_or_default().to_owned();
            let all = fs::read(&log).map_err(failed_to(DOING))?;
            return Ok(Checked { answer, endpoints: endpoints::read(&String::from_utf8_lossy(&all)) });
        }
        Err(Error::new(format!("Harbor refuses the job: {}", reason(&said)))
            .hint("nothing was run; see what it says of the agent or the variable, and mend the manifest"))
    }

    /// Runs a job to its end, or until `stop` is set or its time is up. What is finished is kept in any case. `lock` is
    /// what [`Job::acquire`] gave: it is held until the last of the run is gone.
    pub fn run(
        &self,
        job: &Job,
        lock: &JobLock,
        run_sec: Option<f64>,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(&Now<'_>),
    ) -> Result<Ending> {
        let command = self.command(&job.config());
        let log: PathBuf = job.log().into();
        let settings = Run {
            folder: self.root.as_std_path(),
            docker: self.docker,
            hold: Some(lock.file()),
            ..Run::new(&command, job.dir.as_std_path(), &log, &self.environment)
        };
        let tally =
            std::cell::RefCell::new(Tally::new(job.record().and_then(|record| record.reward_key).as_deref()));
        let deadline = run_sec
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .and_then(|time| Instant::now().checked_add(time));
        let mut ending = Ending::Done;
        let ended = run(&settings, &mut |event| tally.borrow_mut().observe(event), &mut |watch| {
            tell(&Now { tally: &tally.borrow(), running: watch.running().count() });
            if stop.load(Ordering::Relaxed) {
                ending = Ending::Interrupted;
            } else if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                ending = Ending::OutOfTime;
            }
            ending == Ending::Done
        })
        .map_err(|error| Error::new(error.to_string()))?;
        tell(&Now { tally: &tally.borrow(), running: 0 });
        if let Some(why) = ended.left_behind {
            return Err(Error::new(format!("containers of the stopped run may be left: {why}"))
                .hint("`docker ps` shows them; their names begin with those of the trials"));
        }
        if ending == Ending::Done && !ended.status.success() {
            return Err(Error::new(format!(
                "Harbor {}: {}",
                describe(ended.status),
                reason(&tail(&log, SHOWN))
            ))
            .hint(format!("all it printed stands in `{}`", job.log())));
        }
        Ok(ending)
    }
}

/// Which trials of a job are made again when it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redo {
    /// Those that somebody stopped.
    Cancelled,
    /// Those without a reward that counts, too.
    Failed,
}

/// Removes the results that are to be made again, so that Harbor's own resume makes them: it takes every trial that has
/// a result for done. Gives how many those were.
pub fn make_way(job: &Job, redo: Redo) -> Result<usize> {
    let again = made_again(job, redo)?;
    for path in &again {
        let shown = Utf8Path::from_path(path).unwrap_or(&job.dir);
        fs::remove_dir_all(path).map_err(failed("removing", shown))?;
    }
    Ok(again.len())
}

/// The folders of the trials that are to be made again, although they have a result. Nothing is removed.
pub fn made_again(job: &Job, redo: Redo) -> Result<Vec<PathBuf>> {
    let said = |error: &dyn std::fmt::Display| Error::new(error.to_string());
    let folder = match JobFolder::open(job.dir.as_std_path()) {
        Ok(folder) => folder,
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        Err(error) => return Err(said(&error)),
    };
    let mut buffer = Vec::new();
    let mut found = Vec::new();
    for trial in folder.trials().map_err(|error| said(&error))?.flatten().filter(TrialFolder::is_trial) {
        let again = match trial.result(&mut buffer) {
            Ok(result) => is_again(&result, redo),
            // Without a result Harbor makes it again by itself; one that cannot be read it takes for done.
            Err(error) => !error.is_missing(),
        };
        if again {
            found.push(trial.path().to_owned());
        }
    }
    Ok(found)
}

fn is_again(result: &TrialResult, redo: Redo) -> bool {
    let cancelled = result.exceptions().any(|exception| exception.kind == "CancelledError");
    cancelled || (redo == Redo::Failed && !reward_is_valid(result))
}

/// What Harbor says went wrong, without the frames and the pictures of code around it.
fn reason(said: &str) -> String {
    let framed = |line: &&str| !line.starts_with(['│', '╭', '╰', '❱']) && !line.trim().is_empty();
    let lines: Vec<&str> = said.lines().filter(framed).collect();
    let last = lines.len().saturating_sub(12);
    match lines.get(last..) {
        Some(lines) if !lines.is_empty() => lines.join("\n"),
        _ => "it says nothing".to_owned(),
    }
}
