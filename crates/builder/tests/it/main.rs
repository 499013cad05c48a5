//! What the builder promises, tried from the outside: real git, real processes, real disks, in folders of their own.
//!
//! One program holds all topics, because each of them would link the whole crate again.

mod bad_input;
mod by_hand;
mod committed;
mod concurrent;
mod diff;
mod full_disk;
mod git_identity;
mod incremental;
mod inputs;
mod kill;
mod lint;
mod lock;
mod lost;
mod outputs;
mod packages;
mod release;
mod rendered;
mod reproducible;
mod shard;
mod signal;
mod state;
mod support;

fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
