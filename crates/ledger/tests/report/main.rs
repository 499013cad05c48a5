//! The report, looked at in a real browser and read by hand.

mod chromium;
mod demonstration;
mod look;
mod numbers;
mod pictures;

use taskwright_ledger::leaderboard::Rules;
use taskwright_ledger::record::{Agent, Trial};
use taskwright_ledger::references::References;
use taskwright_ledger::report::{Content, render};

/// The rules of every page here.
fn rules() -> Rules {
    Rules { k: vec![1, 3], threshold: Some(1.0), ..Rules::default() }
}

/// The page of these trials.
fn page(agents: &[Agent], trials: &[Trial]) -> String {
    let content = Content {
        title: "autumn",
        trials,
        agents,
        rules: &rules(),
        link: &|_, _| None,
        references: &References::default(),
        excerpts: &demonstration::excerpts,
    };
    render(&content).unwrap()
}

fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
