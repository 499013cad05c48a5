//! Mode B: candidates are scored through Harbor, as `eval` scores them, and what was scored before is taken from its record.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use camino::Utf8PathBuf;
use taskwright_base::process::{self, Limits};
use taskwright_base::{Error, Result};
use taskwright_builder::Workspace;
use taskwright_eval::controls::judge::{Ran, Scored};
use taskwright_eval::controls::{Rows, Scores};
use taskwright_eval::{Cancel, End};
use taskwright_harbor::tools;
use taskwright_language::serve::ServeTarget;

use crate::eval::candidate::Files;
use crate::eval::mode_b::Runner;
use crate::eval::paths::{Occasion, Paths};
use crate::eval::task::Task;

/// How long the engine may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(20);

/// Scores candidates on inner tasks.
pub struct Inner<'a> {
    target: &'a ServeTarget,
    paths: Paths,
    runner: Runner<'a>,
    cancel: &'a Cancel,
}

/// What is missing here for inner trials; none if nothing is.
pub fn lacking(task: &Task) -> Option<String> {
    if let Err(error) = tools::uv(std::env::var_os("PATH").as_deref()) {
        return Some(error.to_string());
    }
    let environment = task.serve.harbor.as_ref().map(|harbor| harbor.run.environment.as_str());
    if environment != Some("docker") {
        return None;
    }
    let answer = process::run(Command::new("docker").arg("version"), &Limits::of(PATIENCE));
    let is_there = answer.is_ok_and(|answer| answer.status.success());
    (!is_there).then(|| "no Docker engine answers here, and inner tasks are run in its containers".to_owned())
}

impl<'a> Inner<'a> {
    /// Opens the built task.
    pub fn open(
        workspace: &Workspace,
        task: &'a Task,
        target: &'a ServeTarget,
        cancel: &'a Cancel,
    ) -> anyhow::Result<Self> {
        let paths = Paths::new(workspace, &task.name)?;
        let runner = Runner::open(task, &paths, None, false)?;
        Ok(Self { target, paths, runner, cancel })
    }

    fn evaluate(&self, files: &Files) -> anyhow::Result<Ran> {
        let imported = match self.runner.import(files, &self.paths) {
            Ok(imported) => imported,
            Err(error) => return Ok(Ran::Refused(format!("{error:#}"))),
        };
        let split = &self.target.split;
        let settings = self.runner.settings(split);
        let record = self.paths.record(split, &imported.candidate, &settings, Occasion::Any)?;
        let Some(done) = self.runner.evaluate(&imported, split, &self.target.samples, record, self.cancel)?
        else {
            return Err(Error::new(
                "a control needs more of language models than `[gateway.evaluation]` allows",
            )
            .into());
        };
        if done.result.end == End::Cancelled {
            return Err(Error::interrupted().into());
        }
        Ok(Ran::Scored(Box::new(Scored { result: done.result, answers: [].into() })))
    }
}

impl Scores for Inner<'_> {
    fn score(&self, files: &Path) -> Result<Ran> {
        let Ok(path) = Utf8PathBuf::from_path_buf(files.to_owned()) else {
            return Err(Error::new(format!("`{}` is not UTF-8", files.display())));
        };
        let name = path.file_name().unwrap_or_default().to_owned();
        self.evaluate(&Files::of_folder(name, path)).map_err(|error| match error.downcast::<Error>() {
            Ok(error) => error,
            Err(error) => Error::new(format!("{error:#}")),
        })
    }

    fn rows(&self) -> std::result::Result<&Rows<'_>, &str> {
        Err(
            "samples are inner tasks, whose agent is the candidate itself: there is no `run` to put a program in the place of",
        )
    }

    fn runs_again(&self) -> bool {
        false
    }
}
