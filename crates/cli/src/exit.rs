//! Exit statuses, in one place, and how an error becomes one.

#[cfg(feature = "eval")]
use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;
use taskwright_base::Error;
use taskwright_language::Diagnostics;

use crate::output;

/// One table for the constants, and for the end of every help text.
macro_rules! statuses {
    ($first:ident $zero:literal $well:literal; $($constant:ident $number:literal $about:literal;)+) => {
        #[doc = $well]
        pub const $first: Status = Status($zero);
        $(#[doc = $about] pub const $constant: Status = Status($number);)+

        /// The end of every help text.
        pub const HELP: &str = concat!("Exit status: ", $zero, " ", $well, $(", ", $number, " ", $about,)+ ".");
    };
}

statuses! {
    SUCCESS 0 "all went well";
    FAILURE 1 "something failed or is not as it should be";
    USAGE 2 "the command was called wrongly";
    INCOMPLETE 3 "it was done, but part of it is missing, was refused or contradicts what was there";
    INTERRUPTED 130 "interrupted";
}

/// An exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(u8);

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status.0)
    }
}

impl Status {
    /// That of a command that was run for the user: its own; as a shell says it, 128 and the signal that killed it.
    #[cfg(feature = "eval")]
    pub fn of_child(ended: std::process::ExitStatus) -> Self {
        let code = ended.code().or_else(|| ended.signal().map(|signal| 128 + signal));
        code.and_then(|code| u8::try_from(code).ok()).map_or(FAILURE, Self)
    }
}

/// The exit status of an error of the build.
pub fn of(error: &Error) -> Status {
    if error.is_usage() {
        USAGE
    } else if error.is_interrupt() {
        INTERRUPTED
    } else {
        FAILURE
    }
}

/// Prints help or a mistake of the arguments, and gives the status to end with.
pub fn refuse(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { USAGE.into() } else { ExitCode::SUCCESS }
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
    if let Some(mistakes) = error.downcast_ref::<Diagnostics>() {
        output::say(mistakes.render(output::is_colored()).trim_end());
        return FAILURE.into();
    }
    match error.downcast_ref::<Error>() {
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
