//! The tests of this crate, as one program: linked once, and run side by side.

mod fields;
mod gateway;
mod manifest;
mod pages;
mod runs;
mod support;
mod tasks;
mod waves;

fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
