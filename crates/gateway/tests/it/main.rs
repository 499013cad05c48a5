//! The gateway as its clients see it.

fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
