//! Where the nested run happens: on a machine of one's own, or in an eval sidecar, where the candidate is a stranger.

use std::ffi::OsString;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use taskwright_base::{Error, Result, failed};
use taskwright_harbor::child::Environment;
use taskwright_harbor::command::BesideLauncher;
use taskwright_language::model::{HarborRun, RunAs};

use super::record_folder::Record;
use crate::cancel::Cancel;
use crate::sandbox::{Lease, Sandbox};

/// Where the nested run happens.
#[derive(Debug, Clone)]
pub enum Place {
    /// A machine of one's own: uv brings Harbor and the candidate together, and all of it runs as the caller.
    Host(HostPlace),
    /// An eval sidecar.
    Sidecar(SidecarPlace),
}

/// A machine of one's own.
#[derive(Debug, Clone)]
pub struct HostPlace {
    /// The built task's folder `environment`, which holds the baseline and, if the task is locked to some, the versions of
    /// packages.
    pub environment: PathBuf,
}

/// An eval sidecar: its image brings Harbor, and the run is a user of its own.
///
/// The candidate's agent is part of Harbor's process. It can read the inner tasks of its own evaluation, and where that
/// process has a Docker socket the candidate has it too; everything else of the sidecar is closed to it.
#[derive(Debug, Clone)]
pub struct SidecarPlace {
    /// Harbor's virtual environment.
    pub harbor: PathBuf,
    /// The file with the version of each package in it.
    pub requirements: PathBuf,
    /// uv's cache with what the baseline needs.
    pub cache: PathBuf,
    /// Where the users come from.
    pub sandbox: Sandbox,
    /// The socket of the Docker engine that inner trials run in, if they do.
    pub docker_socket: Option<PathBuf>,
}

/// The user that one evaluation runs as, and the arguments that change to it. Its processes end with it.
#[derive(Debug)]
pub(super) struct Runner {
    before: Vec<OsString>,
    lease: Option<Lease>,
}

impl Drop for Runner {
    fn drop(&mut self) {
        if let Some(lease) = &self.lease {
            lease.suspect();
        }
    }
}

impl Place {
    /// Takes a user, waiting until one is free; none if cancelled meanwhile.
    pub(super) fn runner(&self, run: &HarborRun, cancel: &Cancel) -> Result<Option<Runner>> {
        let Self::Sidecar(place) = self else {
            return Ok(Some(Runner { before: Vec::new(), lease: None }));
        };
        if run.run_as == RunAs::Root {
            return Ok(Some(Runner { before: Vec::new(), lease: None }));
        }
        let Some(lease) = place.sandbox.lease(&|| cancel.is_cancelled())? else { return Ok(None) };
        let user = lease.user.uid;
        let groups = match &place.docker_socket {
            Some(socket) => {
                let group = std::fs::metadata(socket).map_err(failed("reading", socket))?.gid();
                format!("--groups={group}")
            }
            None => "--clear-groups".to_owned(),
        };
        let before = [
            "setpriv".to_owned(),
            format!("--reuid={user}"),
            format!("--regid={user}"),
            groups,
            "--no-new-privs".to_owned(),
            "--inh-caps=-all".to_owned(),
            "--bounding-set=-all".to_owned(),
        ];
        Ok(Some(Runner { before: before.map(Into::into).to_vec(), lease: Some(lease) }))
    }

    /// What the run finds in its environment: in a sidecar a home of its own.
    pub(super) fn environment(&self, environment: &Environment, record: &Record) -> Environment {
        match self {
            Self::Host(_) => environment.clone(),
            Self::Sidecar(_) => environment.clone().with("HOME", record.home()),
        }
    }
}

impl SidecarPlace {
    /// How Harbor is started beside a candidate.
    pub(super) fn launcher(&self, runner: &Runner, record: &Record, candidate: &Path) -> BesideLauncher {
        BesideLauncher {
            before: runner.before.clone(),
            harbor: self.harbor.clone(),
            requirements: self.requirements.clone(),
            cache: self.cache.clone(),
            package: Some(candidate.to_owned()),
            path: record.home().join("environment"),
        }
    }
}

impl Runner {
    /// Ends what a job left running: from then on nobody but us writes into its folder.
    pub fn settle(&self) -> Result<()> {
        match &self.lease {
            Some(lease) if !lease.end_processes() => {
                Err(Error::new("processes that the nested run left behind cannot be ended"))
            }
            _ => Ok(()),
        }
    }

    /// Opens the record to the user, and to nobody else: what it installs, writes and finds at home is its own. Only
    /// before the first job of it: afterwards the folders hold whatever the candidate put there, links among it.
    pub fn admit(&self, record: &Record, candidate: &Path) -> Result<()> {
        let Some(lease) = &self.lease else { return Ok(()) };
        let user = lease.user.uid;
        let dir = record.dir();
        lchown(dir, None, Some(user)).map_err(failed("giving away", dir))?;
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o710))
            .map_err(failed("closing", dir))?;
        std::fs::create_dir_all(record.home()).map_err(failed("making", &record.home()))?;
        for folder in [record.home().as_path(), &record.jobs_dir(), candidate] {
            give(folder, user)?;
        }
        Ok(())
    }
}

/// Gives a folder of ours to a user that has no process yet, and so could not have put anything into it.
fn give(path: &Path, user: u32) -> Result<()> {
    lchown(path, Some(user), Some(user)).map_err(failed("giving away", path))?;
    if path.symlink_metadata().map_err(failed("reading", path))?.is_dir() {
        for entry in std::fs::read_dir(path).map_err(failed("reading", path))? {
            give(&entry.map_err(failed("reading", path))?.path(), user)?;
        }
    }
    Ok(())
}
