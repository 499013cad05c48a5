//! Exit statuses, in one place, and how an error becomes one.

use std::process::ExitCode;

use taskwright_base::Error as BuildError;

use crate::output;

/// Everything went well.
pub const SUCCESS: Status = Status(0);
/// Something could not be built, or is not as it should be.
pub const FAILURE: Status = Status(1);
/// The command was called wrongly.
pub const USAGE: Status = Status(2);
/// It was done, but part of it is missing, was refused or contradicts what was there.
pub const INCOMPLETE: Status = Status(3);
/// The command was asked to stop.
pub const INTERRUPTED: Status = Status(130);

/// The end of every help text.
pub const HELP: &str = "Exit status: 0 all went well, 1 something failed or is not as it should be, \
                        2 the command was called wrongly, 3 (trials only) part of it is missing or was refused, \
                        130 interrupted.";

/// An exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(u8);

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status.0)
    }
}

/// The exit status of an error of the build.
pub fn of(error: &BuildError) -> Status {
    if error.is_usage() {
        USAGE
    } else if error.is_interrupt() {
        INTERRUPTED
    } else {
        FAILURE
    }
}

/// The arguments that the process was called with. Help and mistakes are printed, and the status to end with is returned.
///
/// # Errors
/// The status to end with: 0 for help, 2 for a mistake.
pub fn parse<A: clap::Parser>() -> Result<A, ExitCode> {
    A::try_parse().map_err(|error| {
        let _ = error.print();
        if error.use_stderr() { USAGE.into() } else { ExitCode::SUCCESS }
    })
}

/// The exit status of a command's result; an error is printed.
pub fn code(result: anyhow::Result<Status>) -> ExitCode {
    let error = match result {
        Ok(status) => return status.into(),
        Err(error) => error,
    };
    // A pipe that nobody reads any more (`| head`) is no mistake of anybody's.
    let broken = |cause: &(dyn std::error::Error + 'static)| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(broken) {
        return SUCCESS.into();
    }
    match error.downcast_ref::<BuildError>() {
        Some(build) => {
            output::error(&build.to_string(), build.hint_text());
            of(build).into()
        }
        None => {
            output::error(&format!("{error:#}"), None);
            FAILURE.into()
        }
    }
}
