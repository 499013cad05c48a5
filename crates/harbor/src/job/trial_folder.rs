//! A trial's folder.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use taskwright_base::folder::{EntryKind, Folder};

use super::planned::PlannedTrial;
use crate::document::{self, DocumentError, MAX_DOCUMENT, Problem, refused};
use crate::result::TrialResult;

/// The files by which Harbor's folder of a trial is known, whether the trial has ended or not.
const OWN_FILES: [&str; 4] = ["result.json", "config.json", "lock.json", "trial.log"];

/// How many files of a folder are looked at: an agent may leave as many as it likes.
const LISTED: usize = 10_000;

/// A trial's folder, opened.
#[derive(Debug)]
pub struct TrialFolder {
    path: PathBuf,
    folder: Folder,
}

impl TrialFolder {
    /// Opens a folder by its path, in that of a job. It must not be a link: others may write into the job's folder.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, DocumentError> {
        let path = path.into();
        let (Some(job), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(refused(path, io::ErrorKind::NotFound.into()));
        };
        match Folder::open(job) {
            Ok(folder) => Self::open_in(&folder, job, name),
            Err(error) => Err(refused(job.to_owned(), error)),
        }
    }

    /// Opens a folder of a job, which must not be a link.
    pub(super) fn open_in(job: &Folder, job_path: &Path, name: &OsStr) -> Result<Self, DocumentError> {
        let path = job_path.join(name);
        match job.folder(name) {
            Ok(folder) => Ok(Self { path, folder }),
            Err(error) => Err(refused(path, error)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name, which was the trial's when it ran.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Whether Harbor has written anything into it: if not, it is no trial's.
    pub fn is_trial(&self) -> bool {
        OWN_FILES.iter().any(|name| document::size(&self.folder, name).is_some())
    }

    /// Reads the trial's result. The buffer is for reading many without asking for memory each time; it then holds the
    /// bytes of the document. That the trial has not ended is [`DocumentError::is_missing`].
    pub fn result(&self, buffer: &mut Vec<u8>) -> Result<TrialResult, DocumentError> {
        self.read("result.json", buffer)?;
        TrialResult::parse(buffer).map_err(|problem| self.error("result.json", problem))
    }

    /// Reads the trial's own lock, which holds the digest that its task had when it began; none before Harbor 0.17.1.
    pub fn lock(&self, buffer: &mut Vec<u8>) -> Result<Option<PlannedTrial>, DocumentError> {
        match self.read("lock.json", buffer) {
            Ok(()) => {
                PlannedTrial::parse(buffer).map(Some).map_err(|problem| self.error("lock.json", problem))
            }
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads one of its documents into a buffer.
    pub fn read(&self, name: &str, buffer: &mut Vec<u8>) -> Result<(), DocumentError> {
        document::read(&self.folder, name, MAX_DOCUMENT, buffer).map_err(|problem| self.error(name, problem))
    }

    /// The last bytes of a file of a folder in it, as `tail("verifier", "test-stdout.txt", 2000)`; none if there is no
    /// such file, or something else in its place.
    pub fn tail(&self, folder: &str, file: &str, most: usize) -> Option<Vec<u8>> {
        use std::io::{Read, Seek, SeekFrom};
        let (mut opened, size) = document::open(&self.folder.folder(folder).ok()?, file).ok()?;
        opened.seek(SeekFrom::Start(size.saturating_sub(most as u64))).ok()?;
        let mut bytes = Vec::new();
        opened.take(most as u64).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The regular files of a folder in it with their sizes, by name; of very many only the first ten thousand.
    pub fn files(&self, folder: &str) -> Vec<(String, u64)> {
        let Ok(folder) = self.folder.folder(folder) else { return Vec::new() };
        let files =
            folder.entries().unwrap_or_default().into_iter().filter(|entry| entry.kind == EntryKind::File);
        let names = files.take(LISTED).filter_map(|file| file.name().to_str().map(str::to_owned));
        names.filter_map(|name| document::size(&folder, &name).map(|size| (name, size))).collect()
    }

    fn error(&self, name: &str, problem: Problem) -> DocumentError {
        DocumentError { path: self.path.join(name), problem }
    }
}
