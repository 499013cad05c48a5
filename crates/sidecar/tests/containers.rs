//! Attacks on a task, in real containers: as the optimizer's user, as candidate code, and by killing the sidecar.
//!
//! Needs a container engine and the image `python:3.13-trixie`; without them every test says loudly that it was skipped.

#[path = "containers/candidate_code.rs"]
mod candidate_code;
#[path = "containers/interruptions.rs"]
mod interruptions;
#[path = "containers/optimizer.rs"]
mod optimizer;
#[path = "containers/repositories.rs"]
mod repositories;
#[path = "containers/stage.rs"]
mod stage;
#[path = "containers/task.rs"]
mod task;

fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
