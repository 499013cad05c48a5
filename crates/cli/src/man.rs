//! `cargo xtask man`.

use camino::Utf8PathBuf;
use taskwright_base::failed;

use crate::exit::{self, Status};
use crate::workspace::from_here;

/// Write the manual pages: one of the program, and one of each command.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  cargo xtask man ~/.local/share/man/man1\n  man taskwright-build-tasks")]
pub struct Arguments {
    /// The folder that they are written to; it is made if it is not there.
    folder: Utf8PathBuf,
}

/// Runs the command.
pub fn run(arguments: &Arguments, command: clap::Command) -> anyhow::Result<Status> {
    let folder = from_here(&arguments.folder)?;
    std::fs::create_dir_all(&folder).map_err(failed("making", &folder))?;
    // The pages are called after the program, whatever it was called by.
    let command = command.name("taskwright").bin_name("taskwright");
    clap_mangen::generate_to(command, &folder).map_err(failed("writing to", &folder))?;
    Ok(exit::SUCCESS)
}
