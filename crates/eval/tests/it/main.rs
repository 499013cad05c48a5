//! The tests of this crate, as one program: linked once, and run side by side.

// Clippy spares tests from this one, and knows only Rust's own attribute for them.
#![allow(clippy::unnecessary_debug_formatting)]

mod accepted;
mod candidates;
mod common;
mod evaluations;
mod examples;
mod hostile;
mod nested;
mod real_harbor;
mod watchers;
mod way_out;

fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
