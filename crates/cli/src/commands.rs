//! The one table of commands: what each is called, what it is for, what must be compiled for it, and what it does.
//!
//! Help, completions and the hand-over to a program with more in it all come from this table.

use std::ffi::OsString;

use camino::Utf8PathBuf;
use clap::{Arg, ArgMatches};

use crate::exit::Status;
use crate::hand_over::{Needs, hand_over};
#[cfg(feature = "trials")]
use crate::{
    bake, compare, export, gc, import, leaderboard, release, report, run, show, status, trials, verify,
};
use crate::{
    build_tasks, clean, completions, doctor, exit, init, lint, man, migrate, new, output, schema, workspace,
};
#[cfg(feature = "eval")]
use crate::{eval, gateway, validate};

/// The option that every command has.
const ROOT: &str = "root";

/// A command.
struct Command {
    name: &'static str,
    /// What it is for, in a sentence.
    about: &'static str,
    needs: Needs,
    /// None: this program was compiled without it.
    verb: Option<Verb>,
}

impl Command {
    /// Further names: an installed program builds nothing but tasks.
    fn aliases(&self) -> &'static [&'static str] {
        if self.name == "build-tasks" { &["build"] } else { &[] }
    }
}

/// The arguments of a command, and what it does with them.
struct Verb {
    augment: fn(clap::Command) -> clap::Command,
    run: fn(&ArgMatches) -> anyhow::Result<Status>,
}

/// What a command does, if this program was compiled with it.
macro_rules! verb {
    (Build $arguments:ty, $run:path) => {
        Some(Verb {
            augment: <$arguments as clap::Args>::augment_args,
            run: |matches| $run(&<$arguments as clap::FromArgMatches>::from_arg_matches(matches)?),
        })
    };
    (Eval $($verb:tt)+) => {{
        #[cfg(feature = "eval")]
        let verb = verb!(Build $($verb)+);
        #[cfg(not(feature = "eval"))]
        let verb = None;
        verb
    }};
    (Trials $($verb:tt)+) => {{
        #[cfg(feature = "trials")]
        let verb = verb!(Build $($verb)+);
        #[cfg(not(feature = "trials"))]
        let verb = None;
        verb
    }};
    (Bench) => {
        None
    };
}

macro_rules! commands {
    ($($name:literal $needs:ident ($($verb:tt)*), $about:literal;)+) => {
        const COMMANDS: &[Command] = &[$(
            Command { name: $name, about: $about, needs: Needs::$needs, verb: verb!($needs $($verb)*) },
        )+];
    };
}

commands! {
    "build-tasks" Build (build_tasks::Arguments, build_tasks::run),
        "Build the task directories that the specs in harbor-tasks/ describe";
    "bake" Trials (bake::Arguments, bake::run),
        "Bake the images of tasks, the same bytes everywhere, and make the tasks that name them by digest";
    "lint" Build (lint::Arguments, lint::run),
        "Say what is wrong, doubtful or could be better in specs and in what they name";
    "release" Trials (release::Arguments, release::run),
        "Make the data set of built tasks that goes out, and say what changed in it since the last one";
    "init" Build (init::Arguments, init::run),
        "Make a repository a workspace: write what is missing, and leave what is there as it is";
    "new" Build (new::Arguments, new::run),
        "Make the folder of a new spec, with an example that builds at once";
    "migrate" Build (migrate::Arguments, migrate::run),
        "Turn configurations of vero into specs, and say what could not come along";
    "doctor" Build (doctor::Arguments, doctor::run),
        "Say what this machine lacks for building tasks and their images and for running them, and how to get it";
    "clean" Build (clean::Arguments, clean::run),
        "Remove the built tasks, the store, or what the store holds without need";
    "schema" Build (schema::SchemaArguments, schema::schema),
        "Print the JSON Schema of spec.toml, which editors complete and check specs with";
    "reference" Build (schema::ReferenceArguments, schema::reference),
        "Write the generated pages of docs/, or check that they are current";
    "eval" Eval (eval::Arguments, eval::run),
        "Score a candidate on the samples of a task";
    "validate" Eval (validate::Arguments, validate::run),
        "Try tasks out by controls: candidates whose score is known before";
    "gateway" Eval (gateway::Arguments, gateway::run),
        "Run a command whose requests to language models are metered and bounded";
    "run" Trials (run::Arguments, run::run),
        "Run an experiment through Harbor and keep its trials in the ledger";
    "status" Trials (status::Arguments, status::run),
        "Say how far an experiment is, whoever runs it";
    "import" Trials (import::Arguments, import::run),
        "Import trials that Harbor has run into the ledger";
    "trials" Trials (trials::Arguments, trials::run),
        "List the trials of the ledger";
    "show" Trials (show::Arguments, show::run),
        "Show all that is known of a trial";
    "leaderboard" Trials (leaderboard::Arguments, leaderboard::run),
        "Rank the agents by their trials";
    "compare" Trials (compare::Arguments, compare::run),
        "Compare two agents on the tasks that both have tried";
    "report" Trials (report::Arguments, report::run),
        "Write a page of HTML that shows the ledger";
    "export" Trials (export::Arguments, export::run),
        "Write the trials as Parquet, CSV or JSON Lines";
    "verify" Trials (verify::Arguments, verify::run),
        "Check every digest of the ledger and its evidence";
    "gc" Trials (gc::Arguments, gc::run),
        "Remove evidence that no trial refers to";
    "completions" Build (completions::Arguments, complete),
        "Print the completions for a shell";
    "man" Build (man::Arguments, pages),
        "Write the manual pages";
    "bench" Bench (),
        "Measure how fast this is, beside what it is held against";
}

// Here, because completions are made of the whole table.
fn complete(arguments: &completions::Arguments) -> anyhow::Result<Status> {
    completions::run(arguments, command())
}

// The same.
fn pages(arguments: &man::Arguments) -> anyhow::Result<Status> {
    man::run(arguments, command())
}

/// All of the command line, for clap.
pub fn command() -> clap::Command {
    let command = clap::Command::new(output::program())
        .bin_name(output::program())
        .about("The declarative build system for Harbor tasks")
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(exit::HELP)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .arg(
            Arg::new(ROOT)
                .long(ROOT)
                .value_name("DIR")
                .help("The root of the workspace, instead of the nearest folder with a taskwright.toml from here upwards")
                .value_parser(clap::value_parser!(Utf8PathBuf))
                .global(true),
        )
        .subcommands(COMMANDS.iter().map(|command| {
            let clap = clap::Command::new(command.name).visible_aliases(command.aliases());
            match &command.verb {
                // What the command says of itself at length is for its own help.
                Some(verb) => (verb.augment)(clap).about(command.about),
                None => clap.about(command.about).disable_help_flag(true).arg(
                    Arg::new("arguments")
                        .num_args(0..)
                        .trailing_var_arg(true)
                        .allow_hyphen_values(true)
                        .hide(true)
                        .value_parser(clap::value_parser!(OsString)),
                ),
            }
        }));
    named(command)
}

/// The same, which calls itself in its examples what it was called.
fn named(command: clap::Command) -> clap::Command {
    let examples = command.get_after_help().map(|text| output::named(&text.to_string()).into_owned());
    let command = match examples {
        Some(text) => command.after_help(text),
        None => command,
    };
    command.mut_subcommands(named)
}

/// Does what was asked for, or has it done by a program that was compiled with it.
pub fn run(matches: &ArgMatches) -> anyhow::Result<Status> {
    let root = |matches: &ArgMatches| matches.try_get_one::<Utf8PathBuf>(ROOT).ok().flatten().cloned();
    if let Some(root) = root(matches) {
        workspace::set_root(&root)?;
    }
    let chosen = matches.subcommand();
    let found = chosen
        .and_then(|(name, matches)| Some((COMMANDS.iter().find(|command| command.name == name)?, matches)));
    match found {
        Some((Command { verb: Some(verb), .. }, matches)) => (verb.run)(matches),
        Some((command, _)) => hand_over(command.needs),
        // Clap has printed the help before.
        None => Ok(exit::USAGE),
    }
}
