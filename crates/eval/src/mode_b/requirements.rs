//! The versions of packages on a machine of one's own: those that the task is locked to, or those that suit Harbor and the
//! baseline on the day that somebody first asked.

use std::path::{Path, PathBuf};

use taskwright_base::digest::Digest;
use taskwright_base::{Error, Result, failed};
use taskwright_harbor::child::{Environment, Start};
use taskwright_harbor::project::Project;
use taskwright_harbor::requirements::resolution;
use taskwright_language::serve::{ServeConfig, ServeHarbor};

use super::host_or_sidecar::HostPlace;
use super::step::{Step, take};
use crate::cancel::Cancel;
use taskwright_base::copy::copy;

/// What is asked with, where no lock answers.
pub(super) struct Question<'a> {
    pub serve: &'a ServeConfig,
    pub harbor: &'a ServeHarbor,
    pub place: &'a HostPlace,
    /// A folder of ours where the answer is kept: every candidate gets the same one.
    pub work: &'a Path,
    pub environment: &'a Environment,
}

impl Question<'_> {
    /// The file with the answer; none if cancelled before there was one.
    pub fn answer(&self, cancel: &Cancel) -> Result<Option<PathBuf>> {
        if self.harbor.requirements.is_some() {
            return Ok(Some(self.place.environment.join("sidecar/requirements.txt")));
        }
        let folder = self.work.join("requirements");
        let answer = folder.join(format!("{}.txt", self.key().hex()));
        if answer.is_file() {
            return Ok(Some(answer));
        }
        std::fs::create_dir_all(&folder).map_err(failed("making", &folder))?;
        self.ask(&folder, &answer, cancel)
    }

    /// All that the answer depends on, but the day.
    fn key(&self) -> Digest {
        let run = &self.harbor.run;
        Digest::of([run.requirement().as_str(), &run.python, &self.serve.baseline.tree].join("\n").as_bytes())
    }

    fn ask(&self, folder: &Path, answer: &Path, cancel: &Cancel) -> Result<Option<PathBuf>> {
        let run = &self.harbor.run;
        let own = tempfile::tempdir_in(folder).map_err(failed("making", folder))?;
        // A copy, since a project that says what it needs by running something may write where it lies.
        let baseline = own.path().join("baseline");
        copy(&self.place.environment.join("baseline"), &baseline)?;
        let project =
            Project::open(&baseline).map_err(|fault| Error::new(format!("the baseline: {fault}")))?;
        let found = own.path().join("requirements.txt");
        let [file, found_at] =
            [baseline.join(project.file()), found.clone()].map(|path| path.to_string_lossy().into_owned());
        let line = resolution(&run.requirement(), &run.python, &file, &found_at);
        let command_line = ["/bin/sh", "-c", &line].map(Into::into);
        let start = Start {
            command_line: &command_line,
            folder: own.path(),
            environment: self.environment,
            log: &own.path().join("log"),
            hold: None,
        };
        match take(&start, cancel) {
            Step::Cancelled => Ok(None),
            Step::Failed(said) => Err(Error::new(format!(
                "no versions of packages suit both Harbor {} and the baseline, or the index cannot be reached: {said}",
                run.version
            ))
            .hint(format!("change what the baseline's `{}` asks for", project.file()))),
            Step::Done => {
                std::fs::rename(&found, answer).map_err(failed("keeping", answer))?;
                Ok(Some(answer.to_owned()))
            }
        }
    }
}
