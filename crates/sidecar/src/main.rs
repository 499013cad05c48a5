//! `taskwright`, the one binary of a task's containers: the eval sidecar's server and the optimizer's client.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::iter_over_hash_type, clippy::too_many_lines))]

mod admin;
mod api;
mod budget;
mod chooser;
mod cli;
mod client;
mod container;
mod door;
mod evaluator;
mod events;
mod exit;
mod finalize;
mod gateway;
mod health;
mod journal;
mod paths;
mod problem;
mod rules;
mod runner;
mod serve;
mod server;
mod service;
mod skill;
mod summary;
#[cfg(test)]
mod testing;

use std::process::ExitCode;

use clap::Parser;

use admin::protocol::Request;
use cli::{Arguments, Command, Results};
use paths::Paths;

#[cfg_attr(test, expect(unreachable_code, reason = "its tests are a program of their own"))]
fn main() -> ExitCode {
    #[cfg(test)]
    return taskwright_testing::main();

    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { exit::DONE });
        }
    };
    match arguments.command {
        Command::Plan(output) => client::show::plan(output),
        Command::Eval(arguments) => client::eval::eval(&arguments),
        Command::Wait(arguments) => client::eval::wait(&arguments),
        Command::Status(output) => client::show::status(output),
        Command::Cancel(arguments) => client::eval::cancel(&arguments),
        Command::Results(arguments) => match arguments.what {
            Results::List(output) => client::show::list(output),
            Results::Show(arguments) => client::show::one(&arguments),
            Results::Samples(arguments) => client::show::samples(&arguments),
            Results::Diff(arguments) => client::diff::diff(&arguments),
        },
        Command::Diff(arguments) => client::diff::diff(&arguments),
        Command::Submit(arguments) => client::eval::submit(&arguments),
        Command::Skill(arguments) => skill::run(&arguments),
        Command::Serve(arguments) => {
            match serve::serve(&Paths::under(&arguments.root.root), arguments.listen) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => exit::after(exit::FAILED, &error),
            }
        }
        Command::Finalize(arguments) => admin::ask::ask(Request::Finalize, &arguments),
        Command::Archive(arguments) => admin::ask::ask(Request::Archive, &arguments),
        Command::Models(arguments) => client::models::models(&arguments),
        Command::Gateway(arguments) => gateway::run(&arguments),
        Command::Health(arguments) => health::health(&arguments),
        Command::Sandbox(arguments) => taskwright_eval::sandbox::command_main(arguments.command),
    }
}
