//! What a migration promises, tried on configurations of our own and on the public ones.

mod bad;
mod carried;
mod corpus;
mod lost;
mod support;

fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
