//! `cargo xtask completions`.

use anyhow::bail;
use clap_complete::Shell;
use taskwright_base::Error;

use crate::exit::{self, Status};
use crate::output;

/// Print the completions for a shell.
#[derive(clap::Args)]
#[command(
    after_help = "Example, for the alias `xt`:\n  alias xt='cargo xtask'\n  cargo xtask completions bash --command xt > ~/.local/share/bash-completion/completions/xt"
)]
pub struct Arguments {
    /// The shell.
    shell: Shell,
    /// The name of the command to complete: cargo itself completes `cargo`, so give an alias or the binary.
    #[arg(long, default_value = "xtask")]
    command: String,
}

/// Runs the command.
pub fn run(arguments: &Arguments, mut command: clap::Command) -> anyhow::Result<Status> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if arguments.command.is_empty() || !arguments.command.chars().all(is_plain) {
        bail!(
            Error::new(format!("`--command {}` is not the name of a command", arguments.command))
                .hint("give the alias or the binary as it is typed: letters, digits, `-`, `_` and `.`")
                .usage()
        );
    }
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, &arguments.command, &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(exit::SUCCESS)
}
