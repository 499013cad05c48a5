//! The command line as a program of its own, with whichever of its features it is built.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::iter_over_hash_type, clippy::too_many_lines))]

fn main() -> std::process::ExitCode {
    taskwright::main()
}
