//! `cargo xtask`.

fn main() -> std::process::ExitCode {
    taskwright::main()
}
