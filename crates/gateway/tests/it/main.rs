//! The gateway as its clients, its upstream and its own side see it: real sockets, real processes.

mod bad;
mod budget;
mod control;
mod key;
mod kill;
mod pass;
mod sdk;
mod stream;
mod support;

fn main() -> std::process::ExitCode {
    if let Some(folder) = std::env::var_os(kill::CHILD) {
        return kill::child(folder.as_ref());
    }
    taskwright_testing::main()
}
