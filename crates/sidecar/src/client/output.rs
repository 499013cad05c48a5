//! What a command prints, and with which status it ends.

use std::io::Write;
use std::process::ExitCode;

use serde::Serialize;

use super::failure::Failure;
use crate::api::{Evaluation, State};
use crate::exit;

/// Ends a command with what it came to.
pub fn end(result: Result<u8, Failure>) -> ExitCode {
    match result {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            eprintln!("taskwright: {failure}");
            ExitCode::from(failure.exit())
        }
    }
}

pub fn print_json<T: Serialize>(value: &T) {
    if let Ok(text) = serde_json::to_string(value) {
        print_line(&text);
    }
}

/// Prints a line. A reader that is gone is no reason to fail.
pub fn print_line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// The exit status that an evaluation means.
pub fn status_of(evaluation: &Evaluation) -> u8 {
    match evaluation.state {
        State::Done | State::Queued | State::Running => exit::DONE,
        State::Refused => exit::REFUSED,
        State::Failed | State::Cancelled => exit::FAILED,
    }
}
