//! Bakes with the real BuildKit.

fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
