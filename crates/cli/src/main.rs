//! The command line as a program of its own, with whichever of its features it is built.

fn main() -> std::process::ExitCode {
    taskwright_cli::main()
}
