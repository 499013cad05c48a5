//! `cargo xtask bench`.

fn main() -> std::process::ExitCode {
    taskwright_bench::main()
}
