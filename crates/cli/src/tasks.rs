//! Brings tasks up to date before they are run, or says why they are not.

use std::sync::atomic::AtomicBool;

use crate::exit::{self, Status};
use crate::output::{self, say};
use indicatif::ProgressBar;
use taskwright_builder::{
    self as builder, Failure, Intent, Observer, Options, Report, Status as TaskStatus, TaskReport, Workspace,
};
use taskwright_language::Diagnostic;

/// Says on a terminal what the build is at.
struct Spinner(ProgressBar);

impl Observer for Spinner {
    fn waiting(&self, holder: &str) {
        self.0.suspend(|| say(&output::waiting(holder, "building")));
    }

    fn warning(&self, what: &str) {
        self.0.suspend(|| output::warning(what));
    }

    fn working(&self, what: &str) {
        self.0.set_message(what.to_owned());
        self.0.tick();
    }
}

/// The names of the tasks that stand as their specs say.
pub fn standing(report: &Report) -> Vec<String> {
    let stands = |task: &&TaskReport| matches!(task.status, TaskStatus::Built | TaskStatus::UpToDate);
    report.tasks.iter().filter(stands).map(|task| task.name.clone()).collect()
}

/// Builds, or only looks, and says what there is to say, of warnings those that matter to what comes then. An exit status
/// is why it cannot go on.
pub fn build(
    workspace: &Workspace,
    options: &Options,
    matters: fn(&Diagnostic) -> bool,
    stop: &AtomicBool,
) -> anyhow::Result<Result<Report, Status>> {
    // Without a terminal it draws nothing.
    let spinner = Spinner(ProgressBar::new_spinner());
    let report = builder::build(workspace, options, &spinner, stop);
    spinner.0.finish_and_clear();
    let report = report?;
    let color = output::is_colored();
    for warning in report.warnings.iter().filter(|warning| matters(warning)) {
        say(warning.render(color).trim_end());
    }
    for task in &report.tasks {
        match &task.status {
            TaskStatus::Failed(Failure::Spec(diagnostics)) => say(diagnostics.render(color).trim_end()),
            TaskStatus::Failed(Failure::Error(error)) => {
                let name = &task.name;
                let hint = match (options.intent, error.hint_text()) {
                    (Intent::Locked, None) => Some("`--build` builds it, and brings the lock up to date"),
                    (_, hint) => hint,
                };
                output::error(&format!("{name}: {error}"), hint);
            }
            TaskStatus::Stale => output::error(
                &format!("{} is not built as its spec says", task.name),
                Some("run `cargo xtask build-tasks`; `--explain` says what changed"),
            ),
            TaskStatus::Abandoned => output::error(
                &format!("{} is built, and no spec describes it any more", task.name),
                Some("run `cargo xtask build-tasks`, which removes it"),
            ),
            TaskStatus::Built => say(&format!("built {}", task.name)),
            TaskStatus::UpToDate | TaskStatus::Removed | TaskStatus::Orphaned => {}
        }
    }
    for error in &report.errors {
        output::error(&error.to_string(), error.hint_text());
    }
    Ok(if report.is_interrupted() {
        Err(exit::INTERRUPTED)
    } else if report.is_success() {
        Ok(report)
    } else {
        Err(exit::FAILURE)
    })
}
