//! A machine of the fleet: this program again, with an environment of its own, builds a clone and prints what it did.

use std::env;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use taskwright_builder::{Intent, Observer, Options, TaskReport, Workspace, build};

/// The variable that names the clone.
pub const ROOT: &str = "FLEET_TEST_ROOT";
/// The variable that says which part.
pub const SHARD: &str = "FLEET_TEST_SHARD";
/// The variable that says to hold the build to its lock.
pub const LOCKED: &str = "FLEET_TEST_LOCKED";

struct Aloud;

impl Observer for Aloud {
    fn working(&self, what: &str) {
        println!("making: {what}");
    }

    fn warning(&self, what: &str) {
        println!("warning: {what}");
    }

    fn task(&self, report: &TaskReport) {
        println!("{}: {}", report.status.word(), report.name);
    }
}

/// Builds, and says each thing on a line.
pub fn run(root: &str) -> ExitCode {
    let workspace = Workspace::open(root).unwrap();
    let secret = taskwright_fleet::own_key();
    let depot = taskwright_fleet::open(&workspace.fleet, &workspace.root, secret.as_deref());
    let workspace = Workspace { depot, ..workspace };
    let options = Options {
        shard: env::var(SHARD).ok().map(|shard| shard.parse().unwrap()),
        intent: if env::var_os(LOCKED).is_some() { Intent::Locked } else { Intent::Build },
        ..Options::default()
    };
    let report = build(&workspace, &options, &Aloud, &AtomicBool::new(false)).unwrap();
    for error in &report.errors {
        println!("error: {error}");
    }
    ExitCode::from(u8::from(!report.is_success()))
}
