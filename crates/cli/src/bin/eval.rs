//! The command line with what scores candidates, and without a ledger: compiled when `cargo xtask eval` is first called.

fn main() -> std::process::ExitCode {
    taskwright::main()
}
