//! `taskwright`, the one binary of a task's containers: the eval sidecar's server and the optimizer's client.

mod api;
mod blocks;
mod cli;
mod client;
mod evaluator;
mod events;
mod exit;
mod finalize;
mod health;
mod journal;
mod ledger;
mod lines;
mod places;
mod plan;
mod problem;
mod root;
mod runner;
mod serve;
mod server;
mod service;
mod skill;
mod tally;
#[cfg(test)]
mod testing;

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use sha2::{Digest, Sha256};

use cli::{Arguments, Command, Results};
use places::Places;

fn main() -> ExitCode {
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
            match serve::serve(&Places::under(&arguments.root.root), arguments.listen) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("taskwright: {error}");
                    ExitCode::from(exit::FAILED)
                }
            }
        }
        Command::Finalize(arguments) => root::ask(server::admin::Ask::Finalize, &arguments),
        Command::Archive(arguments) => root::ask(server::admin::Ask::Archive, &arguments),
        Command::Health(arguments) => health::health(&arguments),
        Command::Sandbox(arguments) => taskwright_eval::sandbox::command_main(arguments.command),
    }
}

/// Bytes as lower-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// The digest of bytes, as it is written everywhere.
fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// The digest of a file, read piece by piece.
fn sha256_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match io::Read::read(&mut file, &mut buffer)? {
            0 => return Ok(format!("sha256:{}", hex(&hasher.finalize()))),
            read => hasher.update(&buffer[..read]),
        }
    }
}
