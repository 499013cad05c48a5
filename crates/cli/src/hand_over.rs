//! Commands that this program was compiled without: the same arguments are handed over to a program that has them.
//!
//! They need a database and more; whoever only builds tasks need not wait for these to be compiled.

use std::os::unix::process::CommandExt;
use std::process;

use anyhow::Context;

use crate::exit::Status;
use crate::output::say;
use taskwright_base::Error;

/// What must be compiled for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// What every program has.
    Build,
    /// The feature `eval`.
    Eval,
    /// The feature `trials`.
    Trials,
    /// The package `taskwright-bench`.
    Bench,
}

/// A program that has more commands.
struct Program {
    package: &'static str,
    features: &'static str,
    name: &'static str,
    /// What is compiled when it is first called.
    what: &'static str,
}

fn program(needs: Needs) -> Program {
    match needs {
        Needs::Build | Needs::Eval => Program {
            package: "taskwright",
            features: "eval",
            name: "taskwright-eval",
            what: "what scores candidates",
        },
        Needs::Trials => Program {
            package: "taskwright",
            features: "trials",
            name: "taskwright",
            what: "the commands for trials",
        },
        Needs::Bench => Program {
            package: "taskwright-bench",
            features: "",
            name: "taskwright-bench",
            what: "what measures",
        },
    }
}

/// Becomes a program that has what is needed, called as this one was; returns only if that cannot be started.
///
/// It is built in the profile of this one, so that what is compiled already is used again.
pub fn hand_over(needs: Needs) -> anyhow::Result<Status> {
    let program = program(needs);
    let Some(root) = taskwright_builder::embedded::sources().filter(|root| root.join("Cargo.toml").is_file())
    else {
        let error = Error::new(format!("this program was compiled without {}", program.what));
        return Err(error.hint("it is in a clone of Taskwright, as `cargo xtask`").into());
    };
    // This program is in the folder that cargo builds to, wherever that is.
    let here = std::env::current_exe().unwrap_or_default();
    if !here.with_file_name(program.name).exists() {
        say(&format!("compiling {}, once", program.what));
    }
    let mut cargo = process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["run", "--quiet", "--manifest-path"]).arg(root.join("Cargo.toml"));
    cargo.args(["--package", program.package, "--bin", program.name, "--no-default-features"]);
    cargo.args(["--features", program.features]);
    let error = cargo.arg("--").args(std::env::args_os().skip(1)).exec();
    Err(error).context("starting cargo")
}
