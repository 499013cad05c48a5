//! The optimizer's side: talks to the service, and prints what it says.

mod connection;
pub mod diff;
pub mod eval;
pub mod http;
mod keep;
mod repository;
pub mod show;

use std::process::ExitCode;

use serde::Serialize;

use crate::api::{Evaluation, State};
use crate::exit;
use http::Failure;

/// Ends a command with what it came to.
fn end(result: Result<u8, Failure>) -> ExitCode {
    match result {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            eprintln!("taskwright: {failure}");
            ExitCode::from(failure.exit())
        }
    }
}

/// Prints a value as one line of JSON.
fn print_json<T: Serialize>(value: &T) {
    // A reader that is gone is no reason to fail.
    if let Ok(text) = serde_json::to_string(value) {
        print_line(&text);
    }
}

/// Prints a line, whether or not anybody reads it.
fn print_line(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// The exit status that an evaluation means.
fn status_of(evaluation: &Evaluation) -> u8 {
    match evaluation.state {
        State::Done | State::Queued | State::Running => exit::DONE,
        State::Failed | State::Cancelled => exit::FAILED,
    }
}
