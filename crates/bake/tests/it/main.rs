//! Bakes small tasks with the real `BuildKit`.

mod bakes;
mod refuses;
mod registry;
mod support;

fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
