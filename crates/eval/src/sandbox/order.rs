//! What an evaluation and the process that watches over a command say to each other: an order, and a report in return.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use taskwright_base::write::{self, Durable};
use taskwright_base::{Error, Result};

use super::group::Group;
use super::user::User;

/// The environment variable that holds the order of a `taskwright sandbox`.
pub(crate) const VARIABLE: &str = "TASKWRIGHT_SANDBOX";

/// What a command may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunLimits {
    /// Bytes of memory, all processes together.
    pub memory: u64,
    /// Processes and threads at once.
    pub processes: u64,
    /// Bytes of one file.
    pub file: u64,
    /// Bytes of all files in the temporary folder together.
    pub disk: u64,
    /// Files and folders in it.
    pub files: u64,
    /// Seconds of processor time of one process; a last resort behind the clock on the wall.
    pub processor_seconds: u64,
    /// Seconds until it is killed; the caller's own clock is usually faster.
    pub seconds: u64,
    pub network: Network,
}

/// What a command may reach beyond this machine's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Network {
    Nothing,
    /// Connections by TCP to this address, the gateway's, wherever it asks to be connected to.
    Gateway(SocketAddrV4),
}

/// Everything that a sandboxed command needs besides its arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    /// Whom it runs as; none where we cannot change user.
    pub user: Option<User>,
    pub limits: RunLimits,
    /// A folder of ours in which its temporary folder is made.
    pub temporary: PathBuf,
    /// What it may read besides the system.
    pub read: Vec<PathBuf>,
    /// What it may not read, wherever that lies: every part of it that is not named in `read` itself. Without links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<PathBuf>,
    /// The kernel's group that keeps all its processes together to their memory and number; none where there is no such thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// Whether Landlock keeps it to the files above.
    pub landlock: bool,
    /// Whether system calls are filtered.
    pub seccomp: bool,
    /// Its environment besides `HOME` and `TMPDIR`.
    pub environment: BTreeMap<String, String>,
    /// Where to write the [`Report`].
    pub report: Option<PathBuf>,
}

impl Order {
    /// The order in our environment.
    pub fn from_environment() -> Result<Self> {
        let Some(text) = std::env::var_os(VARIABLE) else {
            return Err(Error::new(
                "this command is for scorers: it needs the environment that an evaluation gives its `score` command",
            ));
        };
        serde_json::from_slice(text.as_encoded_bytes())
            .map_err(|error| Error::new(format!("the variable {VARIABLE} is damaged: {error}")))
    }

    /// The order as the variable's value.
    pub fn to_variable(&self) -> Result<String> {
        serde_json::to_string(self)
            .map_err(|error| Error::new(format!("an order cannot be written: {error}")))
    }
}

/// Why a command was ended by us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Violation {
    /// It used more memory than it may.
    Memory,
    /// It filled more disk than it may.
    Disk,
    /// It made more files or deeper folders than it may.
    Files,
    /// It had more processes than it may.
    Processes,
    /// It was not finished in time.
    Time,
}

/// Why a command did not start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotStarted {
    /// Whose fault that is.
    pub cause: Cause,
    pub message: String,
}

/// Whose fault it is that a command did not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    /// The program's: it is not there, may not be executed, or is none.
    Program,
    /// The machine's or the sandbox's: no process could be made, or its rights not be set up.
    Infrastructure,
}

impl NotStarted {
    pub fn infrastructure(message: impl Into<String>) -> Self {
        Self { cause: Cause::Infrastructure, message: message.into() }
    }

    /// The error of whoever needed the command.
    pub fn to_error(&self) -> Error {
        Error::new(format!("a command could not be started: {}", self.message))
    }
}

impl RunLimits {
    /// What is said of a command that passed one of them.
    pub fn passed(&self, violation: Violation) -> String {
        match violation {
            Violation::Memory => format!("ended: more than {} MiB of memory", self.memory >> 20),
            Violation::Disk => format!("ended: more than {} MiB of temporary files", self.disk >> 20),
            Violation::Files => {
                format!("ended: more than {} temporary files, or folders too deep", self.files)
            }
            Violation::Processes => format!("ended: more than {} processes", self.processes),
            Violation::Time => format!("ended: not finished after {} s", self.seconds),
        }
    }
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Why it did not start.
    pub not_started: Option<NotStarted>,
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The limit that it passed.
    pub violation: Option<Violation>,
    /// Processes that it left behind and that were ended.
    pub left_behind: usize,
    /// Processes that could not be ended.
    pub survivors: usize,
}

impl Report {
    /// Writes it, or leaves nothing: whoever waits for it takes a missing one for a watcher that was killed.
    pub fn write(&self, file: &Path) -> Result<()> {
        let bytes = serde_json::to_vec(self)
            .map_err(|error| Error::new(format!("a report cannot be written: {error}")))?;
        write::atomic(file, Durable::No, &bytes)
    }

    /// Reads it; none if the process was killed before it could write one.
    pub fn read(file: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(file).ok()?).ok()
    }
}
