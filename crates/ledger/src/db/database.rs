//! Opening a ledger, and keeping two of those who change it apart.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use taskwright_base::lock::{Attempt, LockFile, Wait};
use taskwright_base::{Error, Result};

use super::layout::{self, DATABASE};
use super::schema;
use crate::error::{database_failed, failed};

/// How long to wait for another process that writes: transactions are short, imports exclude each other by a lock of their own.
const PATIENCE: Duration = Duration::from_secs(30);

/// How much memory the pages of a database that is written to may take, in negative kilobytes: digests come in no order,
/// and a batch of them should not have to be written out and read in again.
const CACHE: i32 = -(8 << 10);

/// A ledger: a folder with a database and the evidence beside it.
#[derive(Debug)]
pub struct Ledger {
    directory: PathBuf,
    pub(crate) connection: Connection,
    writable: bool,
}

impl Ledger {
    /// Opens the ledger in a folder, which is made if it is not there, and brings it to the current schema.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self> {
        let directory = directory.as_ref();
        let evidence = layout::evidence(directory);
        for folder in [directory, &evidence] {
            if folder.exists() && !folder.is_dir() {
                return Err(Error::new(format!("`{}` is in the way: it is no folder", folder.display()))
                    .hint("move it away, or name another place with `--ledger DIR`"));
            }
        }
        fs::create_dir_all(evidence).map_err(failed("creating the ledger", directory))?;
        let path = directory.join(DATABASE);
        let mut connection =
            connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        if schema::version(&connection, &path)? == 0 {
            refuse_lost(directory)?;
        }
        let failed = |error: rusqlite::Error| database_failed(&path, &error);
        connection.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
        connection.pragma_update(None, "cache_size", CACHE).map_err(failed)?;
        schema::migrate(&mut connection, &path)?;
        Ok(Self { directory: directory.to_owned(), connection, writable: true })
    }

    /// Whether there is one in a folder: a database, and not only the folder.
    pub fn is_at(directory: impl AsRef<Path>) -> bool {
        directory.as_ref().join(DATABASE).exists()
    }

    /// Opens a ledger to read it. It must be there; it may be on a read-only medium.
    pub fn read(directory: impl AsRef<Path>) -> Result<Self> {
        let directory = directory.as_ref();
        let path = directory.join(DATABASE);
        if !Self::is_at(directory) {
            return Err(Error::new(format!("there is no ledger at `{}`", directory.display()))
                .hint("`cargo xtask run` and `cargo xtask import` make one; `--ledger DIR` names another"));
        }
        let connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        match schema::version(&connection, &path) {
            Ok(version) if version == schema::current() => {
                Ok(Self { directory: directory.to_owned(), connection, writable: false })
            }
            Ok(_) => Self::open(directory),
            // Without write access SQLite cannot make the files that readers of a live database share. If nobody
            // writes to it, it can be read without them.
            Err(_) if is_at_rest(&path) => {
                let connection = connect_at_rest(&path)?;
                refuse_old(&connection, &path)?;
                Ok(Self { directory: directory.to_owned(), connection, writable: false })
            }
            Err(error) => Err(error),
        }
    }

    /// The folder it is in.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The database's file.
    pub fn database(&self) -> PathBuf {
        self.directory.join(DATABASE)
    }

    /// Whether it was opened for writing.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The right to change the ledger, which one process has at a time. `waiting` is called once, with its name, if another
    /// has it; `stop` is asked meanwhile whether to give up.
    pub(crate) fn lock(&self, waiting: &dyn Fn(&str), stop: &dyn Fn() -> bool) -> Result<LockFile> {
        // Named as ever, so that programs of other releases are kept out too.
        match LockFile::acquire(self.directory.join("turn"), &Wait::until(waiting, stop))? {
            Attempt::Held(lock) => Ok(lock),
            Attempt::Busy(_) | Attempt::Stopped => Err(Error::interrupted()),
        }
    }

    /// An error of its database.
    pub(crate) fn failed(&self, error: &rusqlite::Error) -> Error {
        database_failed(self.database(), error)
    }
}

/// Refuses to read a database as it is that would have to be brought to the current schema first.
fn refuse_old(connection: &Connection, path: &Path) -> Result<()> {
    let (version, current) = (schema::version(connection, path)?, schema::current());
    if version == current {
        return Ok(());
    }
    Err(Error::new(format!(
        "the ledger `{}` has version {version}, and cannot be brought to version {current} where it is: nothing can be written there",
        path.display()
    ))
    .hint("copy its folder to where it can be written, and open it once, with `cargo xtask trials --ledger DIR`"))
}

/// Refuses to begin anew where evidence lies: whatever became of the database, it spoke of that evidence, and a new one would
/// take it for the remains of an import that was killed.
fn refuse_lost(directory: &Path) -> Result<()> {
    let packs = layout::packs(directory)?;
    if packs.iter().all(|(_, size)| *size == 0) {
        return Ok(());
    }
    Err(Error::new(format!(
        "`{}` is empty, and evidence lies beside it: the records are lost",
        directory.join(DATABASE).display()
    ))
    .hint("restore it from a copy; or move `evidence` away and import the jobs again"))
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection> {
    if path.is_dir() {
        return Err(Error::new(format!("`{}` is a folder, not a database", path.display()))
            .hint("name the folder of a ledger with `--ledger DIR`"));
    }
    let set_up = || {
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    };
    set_up().map_err(|error: rusqlite::Error| database_failed(path, &error))
}

/// Whether everything that was written to a database is in its file.
fn is_at_rest(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    fs::metadata(log).map_or(true, |metadata| metadata.len() == 0)
}

fn connect_at_rest(path: &Path) -> Result<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    connect(Path::new(&uri), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}

#[cfg(test)]
mod tests;
