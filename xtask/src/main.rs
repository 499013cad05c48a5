//! `cargo xtask`.

fn main() -> std::process::ExitCode {
    taskwright_cli::main()
}
