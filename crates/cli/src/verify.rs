//! `cargo xtask verify`.

use crate::exit::{self, Status};
use crate::{interrupt, output};

use crate::ledger::LedgerArguments;
use taskwright_base::text::clean;

/// Check every digest of the ledger and its evidence.
///
/// That is: the database's own structure, every content of the store, every file that was left where it was, and every
/// record against the result that it was made from.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    ledger: LedgerArguments,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let stop = interrupt::flag()?;
    let ledger = arguments.ledger.read()?;
    let verified = ledger.verify(Some(&stop), |problem| {
        if !arguments.json {
            output::say(&format!("{} {}", output::paint("wrong", output::RED), clean(problem)));
        }
    })?;
    if arguments.json {
        output::print(&format!("{}\n", serde_json::to_string_pretty(&verified)?))?;
    } else {
        for orphan in &verified.orphans {
            output::say(&format!(
                "{} evidence/{} belongs to no trial: `cargo xtask gc` removes it",
                output::paint("note", output::CYAN),
                clean(orphan)
            ));
        }
        let wrong = match verified.problems.len() {
            0 => "all as it was stored".to_owned(),
            count => format!("{count} things are wrong"),
        };
        output::print(&format!(
            "{} trials, {} contents and {} files outside of the store, {} bytes: {wrong}\n",
            verified.trials, verified.contents, verified.files, verified.bytes
        ))?;
    }
    Ok(if verified.problems.is_empty() { exit::SUCCESS } else { exit::FAILURE })
}
