//! The log of requests: a line for each, for people who look for what happened. Nothing is decided by it.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use taskwright_base::{Result, failed};

use crate::entry::End;
use crate::money::Money;
use crate::scope::Scope;
use crate::token::TokenId;
use crate::tokens::Tokens;

const NAME: &str = "requests.jsonl";
/// What was written before, when the file was full.
const BEFORE: &str = "requests.1.jsonl";
/// When a file is full.
const FULL: u64 = 64 << 20;

/// A line of the log.
#[derive(Debug, Default, Serialize)]
pub struct Record {
    /// When it ended, in milliseconds since 1970.
    pub at: u64,
    /// The request's number in the journal, if it got as far as that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
    /// Whose token it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenId>,
    /// The token's scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// What the token is for, where the log says that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribution: Option<String>,
    /// What the client calls its session, where it says that and the log does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The path.
    pub path: String,
    /// The model that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model that the upstream was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_model: Option<String>,
    /// The status of the answer, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How it ended, if it was sent on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// Why it was not answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// What it cost, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Whether that is estimated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// How long it took, in milliseconds.
    pub milliseconds: u64,
}

/// The log, open to be written to.
#[derive(Debug)]
pub struct Log {
    folder: PathBuf,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    file: BufWriter<File>,
    length: u64,
}

/// Now, in milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn open(path: &Path) -> Result<Open> {
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(failed("opening", path))?;
    let length = file.metadata().map_err(failed("reading", path))?.len();
    Ok(Open { file: BufWriter::new(file), length })
}

impl Log {
    /// Opens the log in a folder, or begins one.
    pub fn open(folder: &Path) -> Result<Self> {
        Ok(Self { folder: folder.to_owned(), open: Mutex::new(open(&folder.join(NAME))?) })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line. A log that cannot be written stops nobody.
    pub fn write(&self, record: &Record) {
        let Ok(mut line) = serde_json::to_vec(record) else { return };
        line.push(b'\n');
        let mut open = self.lock();
        open.length += line.len() as u64;
        let _ = open.file.write_all(&line);
    }

    /// Hands what was added to the system, and begins another file when this one is full.
    pub fn flush(&self) {
        let mut now = self.lock();
        let _ = now.file.flush();
        if now.length > FULL {
            let path = self.folder.join(NAME);
            let _ = fs::rename(&path, self.folder.join(BEFORE));
            if let Ok(next) = open(&path) {
                *now = next;
            }
        }
    }
}
