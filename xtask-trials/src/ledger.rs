//! Which ledger a command works on, and how its errors are told.

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::Error;
use taskwright_ledger::Ledger;
use xtask::workspace;

/// Which ledger a command works on.
#[derive(Debug, clap::Args)]
pub struct LedgerArguments {
    /// The folder of the ledger [default: `ledger/` in the workspace].
    #[arg(long, value_name = "DIR")]
    ledger: Option<Utf8PathBuf>,
}

impl LedgerArguments {
    /// The folder of the ledger.
    pub fn directory(&self) -> anyhow::Result<Utf8PathBuf> {
        directory(self.ledger.as_deref())
    }

    /// Opens the ledger to read it.
    pub fn read(&self) -> anyhow::Result<Ledger> {
        Ledger::read(self.directory()?).map_err(told)
    }
}

/// The folder of the ledger: the one that was named, else `ledger/` in the workspace.
pub fn directory(named: Option<&Utf8Path>) -> anyhow::Result<Utf8PathBuf> {
    match named {
        Some(path) => workspace::from_here(path),
        None => Ok(workspace::this()?.root.join("ledger")),
    }
}

/// An error of the ledger as one that is printed with its hint.
pub fn told(error: Error) -> anyhow::Error {
    error.into()
}
