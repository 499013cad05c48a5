//! A job's folder and what other folders are.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use taskwright_base::folder::{EntryKind, Folder};

use super::documents::{JobConfig, JobLock, JobResult};
use super::trial_folder::TrialFolder;
use crate::document::{DocumentError, Kind, MAX_DOCUMENT, Problem, read, refused};
use crate::result;

/// A job's folder, opened.
#[derive(Debug)]
pub struct JobFolder {
    path: PathBuf,
    folder: Folder,
}

impl JobFolder {
    /// Opens a job's folder. That it is one is for [`kind_of_folder`] to say.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, DocumentError> {
        let path = path.into();
        match Folder::open(path.as_path()) {
            Ok(folder) => Ok(Self { path, folder }),
            Err(error) => Err(refused(path, error)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the configuration; none if there is no such file.
    pub fn config(&self) -> Result<Option<JobConfig>, DocumentError> {
        self.document("config.json", JobConfig::parse)
    }

    /// Reads the lock; none if there is no such file, as before Harbor 0.6.6.
    pub fn lock(&self) -> Result<Option<JobLock>, DocumentError> {
        self.document("lock.json", JobLock::parse)
    }

    /// Reads the result; none if there is no such file. While the job runs it is what was so far.
    pub fn result(&self) -> Result<Option<JobResult>, DocumentError> {
        self.document("result.json", JobResult::parse)
    }

    /// Reads a file that others put beside Harbor's, with the same bounds; none if there is no such file.
    pub fn other(&self, name: &str) -> Result<Option<Vec<u8>>, DocumentError> {
        self.document(name, |bytes| Ok(bytes.to_vec()))
    }

    /// The trials' folders by name, each opened when it is its turn. What is no trial's folder is an error of its own:
    /// a link, or a folder that vanished. Folders of ours or others' among them are not told apart here; see
    /// [`TrialFolder::is_trial`].
    pub fn trials(&self) -> Result<Trials<'_>, DocumentError> {
        let names = folders(&self.folder).map_err(|error| refused(self.path.clone(), error))?;
        Ok(Trials { job: self, names: names.into_iter() })
    }

    fn document<T>(
        &self,
        name: &str,
        parse: impl Fn(&[u8]) -> Result<T, Problem>,
    ) -> Result<Option<T>, DocumentError> {
        let mut bytes = Vec::new();
        let read = read(&self.folder, name, MAX_DOCUMENT, &mut bytes).and_then(|()| parse(&bytes));
        match read {
            Ok(document) => Ok(Some(document)),
            Err(Problem::Missing) => Ok(None),
            Err(problem) => Err(DocumentError { path: self.path.join(name), problem }),
        }
    }
}

/// The trials' folders of a job, by name.
#[derive(Debug)]
pub struct Trials<'a> {
    job: &'a JobFolder,
    names: std::vec::IntoIter<OsString>,
}

impl Iterator for Trials<'_> {
    type Item = Result<TrialFolder, DocumentError>;

    fn next(&mut self) -> Option<Self::Item> {
        let name = self.names.next()?;
        Some(TrialFolder::open_in(&self.job.folder, &self.job.path, &name))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.names.size_hint()
    }
}

/// The names of the folders, and of the links, in a folder, sorted.
fn folders(folder: &Folder) -> std::io::Result<Vec<OsString>> {
    let is_link = |name: &OsStr| {
        folder.stat(name).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    };
    let may_be = |kind, name: &OsStr| match kind {
        EntryKind::Folder => true,
        EntryKind::File => false,
        EntryKind::Other => is_link(name),
    };
    let entries = folder.entries()?.into_iter();
    let named = entries.filter(|entry| may_be(entry.kind, entry.name()));
    Ok(named.map(|entry| entry.name().to_owned()).collect())
}

/// What a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderKind {
    /// A trial's.
    Trial,
    /// A job's.
    Job,
    /// One that holds jobs' or trials' folders.
    Jobs,
    /// None of those.
    Other,
}

/// Says what a folder is by what it holds.
pub fn kind_of_folder(path: &Path) -> Result<FolderKind, DocumentError> {
    let opened = |error| refused(path.to_owned(), error);
    let folder = Folder::open(path).map_err(opened)?;
    if let Some(kind) = own_kind(&folder) {
        return Ok(kind);
    }
    for name in folders(&folder).map_err(opened)? {
        if folder.folder(name.as_os_str()).ok().and_then(|inner| own_kind(&inner)).is_some() {
            return Ok(FolderKind::Jobs);
        }
    }
    Ok(FolderKind::Other)
}

/// Whether a folder is a trial's or a job's, by the documents in it: a damaged one says nothing, the next may.
fn own_kind(folder: &Folder) -> Option<FolderKind> {
    let mut bytes = Vec::new();
    ["config.json", "lock.json", "result.json"].into_iter().find_map(|name| {
        read(folder, name, MAX_DOCUMENT, &mut bytes).ok()?;
        match result::kind(&bytes).ok()? {
            Kind::Trial | Kind::TrialLock | Kind::TrialConfig => Some(FolderKind::Trial),
            Kind::Job | Kind::JobLock | Kind::JobConfig => Some(FolderKind::Job),
            Kind::TerminalBench1 | Kind::Unknown | Kind::NotAnObject => None,
        }
    })
}
