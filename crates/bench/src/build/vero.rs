//! `vero harbor build`, where it is installed: it compiles one task a call.

use std::fs;
use std::process::Command;

use anyhow::Context as _;
use camino::Utf8Path;

use super::context::Context;
use crate::process;
use crate::rows::Sample;

/// What one task took in a warm process when it was surveyed, in seconds.
const SURVEYED: f64 = 0.081;
/// What stands for a task: the smallest configuration that its documentation gives.
const CONFIGURATION: &str = "\
name: bench/bench
agent_repo: baselines/baseline-00
task_source: bench/tasks@1.0
agent_import_path: part_00.module_000:Agent
harbor_requirement: harbor==0.18.0
environment_name: docker
partitions:
  validation: [bench/a, bench/b, bench/c, bench/d, bench/e]
  test: [bench/f]
agent_access:
  - partition: validation
    disclosure: aggregate
    expose_case_resources: false
    total_runs: 10
    total_cases: 50
selection_partition: validation
targets:
  - partition: test
    reward_key: reward
";

/// What vero takes for a task.
pub struct Vero {
    /// Seconds a task.
    pub seconds: f64,
    /// How that is known.
    pub source: &'static str,
}

/// Lets vero compile the baseline of a generated workspace, if it is installed and can.
pub fn measure(context: &Context, workspace: &Utf8Path) -> anyhow::Result<Vero> {
    if !process::is_installed("vero") {
        return Ok(Vero { seconds: SURVEYED, source: "vero is not installed; the survey's 81 ms a task" });
    }
    let configuration = workspace.join("build.yaml");
    fs::write(&configuration, CONFIGURATION).context("writing a configuration for vero")?;
    let mut seconds = Vec::new();
    for _ in 0..context.runs {
        let fresh = context.part()?;
        let mut command = Command::new("vero");
        command.args(["harbor", "build", "--config", configuration.as_str(), "--output"]);
        match process::run(command.arg(fresh.join("task")), &context.clock.stop) {
            Ok(ran) => seconds.push(ran.seconds),
            Err(error) => {
                taskwright::output::say(&format!("vero is left out: {error:#}"));
                return Ok(Vero { seconds: SURVEYED, source: "vero fails here; the survey's 81 ms a task" });
            }
        }
    }
    Ok(Vero { seconds: Sample::median(&seconds)?, source: "vero, a process a task" })
}
