//! `cargo xtask verify`.

use crate::exit::{self, Status};
use crate::{interrupt, output};

use crate::ledger::LedgerArguments;
use taskwright_base::text::{clean, count};

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
            1 => "1 thing is wrong".to_owned(),
            many => format!("{many} things are wrong"),
        };
        output::print(&format!(
            "{}, {} and {} outside of the store, {}: {wrong}\n",
            count(verified.trials, "trial"),
            count(verified.contents, "content"),
            count(verified.files, "file"),
            count(verified.bytes, "byte")
        ))?;
    }
    Ok(if verified.problems.is_empty() { exit::SUCCESS } else { exit::FAILURE })
}
