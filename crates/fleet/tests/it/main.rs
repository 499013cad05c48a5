//! A store that machines share, tried with clones, processes and servers of their own.

mod child;
mod folder;
mod s3;
mod shards;
mod support;

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    match env::var(child::ROOT) {
        Ok(root) => child::run(&root),
        Err(_) => taskwright_testing::main(),
    }
}
