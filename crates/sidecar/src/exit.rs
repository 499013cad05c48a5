//! The exit statuses of all commands, and how a command ends with an error.

use std::process::ExitCode;

use taskwright_base::Error;

pub const DONE: u8 = 0;
pub const FAILED: u8 = 1;
/// The command was not understood.
pub const USAGE: u8 = 2;
/// Refused: the budget, the access or the candidate does not allow it.
pub const REFUSED: u8 = 3;
/// The eval sidecar cannot be reached.
pub const UNREACHABLE: u8 = 4;

/// The table, as help shows it.
pub const HELP: &str = "Exit status: 0 done, 1 the evaluation failed, 2 wrong usage, \
3 refused (budget, access, candidate), 4 the eval sidecar cannot be reached.";

/// Says what went wrong and what to do about it, and ends with a status.
pub fn after(status: u8, error: &Error) -> ExitCode {
    eprintln!("taskwright: {error}");
    if let Some(hint) = error.hint_text() {
        eprintln!("  {hint}");
    }
    ExitCode::from(status)
}
