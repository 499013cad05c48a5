//! `cargo xtask status`.

use crate::exit::{self, Status};
use crate::output::{self, say};
use crate::workspace;
use serde_json::json;
use taskwright_base::Error;
use taskwright_builder::Workspace;
use taskwright_experiment::find;
use taskwright_experiment::jobs::{self, Job};
use taskwright_experiment::progress::{self, Progress, State};

use crate::run::show;
use taskwright_base::table::{Table, number};

/// Say how far an experiment is, whoever runs it.
///
/// It reads the folders of the jobs in jobs/ and nothing else, so it may be asked at any time.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo xtask status\n  cargo xtask status smoke --json")]
pub struct Arguments {
    /// A manifest, the name of an experiment, or that of a job; all jobs if nothing is named.
    experiment: Option<String>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let workspace = workspace::this()?;
    let jobs = match &arguments.experiment {
        None => jobs::list(&workspace, None)?,
        Some(name) => named(&workspace, name)?,
    };
    let mut all = Vec::new();
    let mut unreadable = false;
    for job in &jobs {
        match progress::look(job) {
            Ok(progress) => all.push(progress),
            Err(error) => {
                unreadable = true;
                output::error(&error.to_string(), error.hint_text());
            }
        }
    }
    if arguments.json {
        output::print(&format!("{:#}\n", json!(all)))?;
    } else if all.is_empty() {
        say("there is no job; `cargo xtask run EXPERIMENT` makes one");
    } else {
        output::print(&table(&all))?;
        // Of a job that goes on, trials are not missing yet.
        for progress in all.iter().filter(|progress| progress.state != State::Running) {
            show::missing(progress);
        }
    }
    Ok(if unreadable { exit::INCOMPLETE } else { exit::SUCCESS })
}

/// The jobs that a name means.
fn named(workspace: &Workspace, name: &str) -> anyhow::Result<Vec<Job>> {
    let job = Job::new(workspace, name);
    if !name.contains('/') && job.exists() {
        return Ok(vec![job]);
    }
    // The manifest may be gone, or wrong by now; its jobs say themselves whose they are.
    let jobs = jobs::list(workspace, Some(name))?;
    if !jobs.is_empty() {
        return Ok(jobs);
    }
    let manifest = find(workspace, &workspace::here()?, name)?;
    let all = jobs::list(workspace, None)?;
    let jobs: Vec<Job> = all
        .into_iter()
        .filter(|job| job.record().is_some_and(|record| record.manifest == manifest.as_str()))
        .collect();
    if jobs.is_empty() {
        let message = format!("`{manifest}` was not run yet");
        return Err(Error::new(message).usage().hint(format!("`cargo xtask run {name}` does")).into());
    }
    Ok(jobs)
}

fn table(all: &[Progress]) -> String {
    let mut table = Table::new([
        "<job",
        "<state",
        "done",
        "planned",
        "running",
        "graded",
        "errors",
        "mean",
        "<last change",
    ]);
    for progress in all {
        let state = match (progress.state, progress.process) {
            (State::Running, Some(process)) => format!("running ({process})"),
            (state, _) => state.word().to_owned(),
        };
        let running = if progress.state == State::Running { progress.running } else { 0 };
        table.row(vec![
            progress.job.clone(),
            state,
            progress.ended.to_string(),
            progress.planned.map_or_else(|| "?".to_owned(), |planned| planned.to_string()),
            running.to_string(),
            progress.graded.to_string(),
            progress.errored.to_string(),
            number(progress.mean),
            progress.updated_at.as_deref().map_or("-", |time| time.get(..19).unwrap_or(time)).to_owned(),
        ]);
    }
    table.text()
}
