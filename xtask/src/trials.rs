//! The commands that make and read trials: handed over, as they are, to the package `xtask-trials`.
//!
//! They need a database and more; whoever only builds tasks need not wait for these to be compiled.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process;

use anyhow::Context;

use crate::exit::Status;
use crate::output::say;
use crate::workspace;

/// What follows the name of a command.
#[derive(clap::Args)]
pub struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
}

impl Rest {
    /// The words.
    pub fn words(&self) -> &[OsString] {
        &self.words
    }
}

/// One list for the names, the words of the help text and the enumeration.
macro_rules! commands {
    ($($(#[doc = $about:literal])+ $variant:ident $name:literal),+ $(,)?) => {
        /// A command of `xtask-trials`.
        #[derive(clap::Subcommand)]
        pub enum Command {
            $($(#[doc = $about])+ #[command(name = $name, disable_help_flag = true)] $variant(Rest),)+
        }

        impl Command {
            fn name_and_rest(&self) -> (&'static str, &[OsString]) {
                match self {
                    $(Self::$variant(rest) => ($name, &rest.words),)+
                }
            }
        }
    };
}

commands! {
    /// Score a candidate on the samples of a task.
    Eval "eval",
    /// Run an experiment through Harbor and keep its trials in the ledger.
    Run "run",
    /// Say how far an experiment is, whoever runs it.
    Status "status",
    /// Take trials that Harbor has run into the ledger.
    Import "import",
    /// List the trials of the ledger.
    Trials "trials",
    /// Show all that is known of a trial.
    Show "show",
    /// Rank the agents by their trials.
    Leaderboard "leaderboard",
    /// Compare two agents on the tasks that both have tried.
    Compare "compare",
    /// Write a page of HTML that shows the ledger.
    Report "report",
    /// Write the trials as Parquet, CSV or JSON Lines.
    Export "export",
    /// Check every digest of the ledger and its evidence.
    Verify "verify",
    /// Remove evidence that no trial refers to.
    Gc "gc",
}

/// Becomes the command of `xtask-trials`; returns only if that cannot be started.
pub fn run(command: &Command) -> anyhow::Result<Status> {
    let (name, rest) = command.name_and_rest();
    hand_over(&[OsString::from(name)], rest)
}

/// Becomes `xtask-trials` called with these words; returns only if that cannot be started.
pub fn hand_over(names: &[OsString], rest: &[OsString]) -> anyhow::Result<Status> {
    let root = workspace::this()?.root;
    // This program is in `debug/` of the folder that cargo builds to, wherever that is.
    let here = std::env::current_exe().unwrap_or_default();
    let built = here.ancestors().nth(2).map(|target| target.join("trials/xtask-trials"));
    if !built.is_some_and(|built| built.exists()) {
        say("compiling the commands for trials, once");
    }
    let error = process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "--quiet", "--profile", "trials", "--package", "xtask-trials", "--manifest-path"])
        .arg(root.join("Cargo.toml"))
        .arg("--")
        .args(names)
        .args(rest)
        .exec();
    Err(error).context("starting cargo")
}
