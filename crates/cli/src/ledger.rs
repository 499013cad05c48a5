//! Which ledger a command works on.

// `eval` without a ledger only says which options it would have.
#![cfg_attr(not(feature = "trials"), allow(dead_code))]

use camino::{Utf8Path, Utf8PathBuf};
#[cfg(feature = "trials")]
use taskwright_ledger::Ledger;

use crate::workspace;

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
    #[cfg(feature = "trials")]
    pub fn read(&self) -> anyhow::Result<Ledger> {
        Ok(Ledger::read(self.directory()?)?)
    }
}

/// The folder of the ledger: the one that was named, else `ledger/` in the workspace.
pub fn directory(named: Option<&Utf8Path>) -> anyhow::Result<Utf8PathBuf> {
    match named {
        Some(path) => workspace::from_here(path),
        None => Ok(workspace::this()?.ledger),
    }
}
