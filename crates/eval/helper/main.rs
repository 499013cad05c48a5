//! The sandbox command alone: what `taskwright` is to a task, this is to the tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    let command = std::env::args_os().skip(1).skip_while(|word| word == "sandbox" || word == "--").collect();
    taskwright_eval::sandbox::command_main(command)
}
