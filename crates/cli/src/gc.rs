//! `cargo xtask gc`.

use crate::exit::{self, Status};
use crate::output;
use taskwright_base::text::count;
use taskwright_ledger::Ledger;

use crate::ledger::LedgerArguments;

/// Remove evidence that no trial refers to.
///
/// Such evidence is left by imports that were killed, and by trials that were replaced.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    ledger: LedgerArguments,
    /// Say what would be removed, and remove nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    // So that a mistyped folder is an error and no new ledger.
    arguments.ledger.read()?;
    let mut ledger = Ledger::open(arguments.ledger.directory()?)?;
    let collected = ledger.gc(arguments.dry_run)?;
    output::print(&if arguments.json {
        format!("{}\n", serde_json::to_string_pretty(&collected)?)
    } else {
        let verb = if arguments.dry_run { "would remove" } else { "removed" };
        format!(
            "{verb} {} and {} or parts of them: {}\n",
            count(collected.contents, "content"),
            count(collected.packs, "pack"),
            count(collected.bytes, "byte")
        )
    })?;
    Ok(exit::SUCCESS)
}
