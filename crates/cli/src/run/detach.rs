//! Leaves a run behind in a session of its own.

use std::fs::OpenOptions;
use std::process::{Command, Stdio};

use crate::exit::{self, Status};
use crate::output;
use anyhow::Context;
use serde_json::json;
use taskwright_experiment::jobs::Job;

use super::Arguments;

/// What the process that is left behind prints, in the job's folder.
const LOG: &str = "detached.log";

/// Starts this command once more, without a terminal, to run a job whose folder is there.
pub fn start(arguments: &Arguments, job: &Job, experiment: &str) -> anyhow::Result<Status> {
    let log = job.dir.join(LOG);
    let output = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&log)
        .with_context(|| format!("opening `{log}`"))?;
    let mut command = Command::new(std::env::current_exe().context("finding this program")?);
    command.args(["run", arguments.experiment.as_deref().unwrap_or_default(), "--detached", "--resume"]);
    for pair in &arguments.set {
        command.args(["--set", pair]);
    }
    if let Some(most) = arguments.max_usd {
        command.arg("--max-usd").arg(most.as_dollars().to_string());
    }
    if arguments.failed {
        command.arg("--failed");
    }
    command.arg("--ledger").arg(arguments.ledger.directory()?);
    let child = command
        .stdin(Stdio::null())
        .stdout(output.try_clone().context("opening the log again")?)
        .stderr(output)
        .spawn()
        .context("starting the process that runs it")?;
    if arguments.json {
        let object = json!({"job": job.name, "dir": job.dir, "process": child.id(), "log": log});
        output::print(&format!("{object:#}\n"))?;
    } else {
        output::print(&format!(
            "process {} runs {}\n`cargo xtask status {experiment}` says how far it is, `kill {}` stops it, `{log}` is \
             what it prints\n",
            child.id(),
            job.name,
            child.id()
        ))?;
    }
    Ok(exit::SUCCESS)
}
