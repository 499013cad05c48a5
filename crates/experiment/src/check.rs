//! What must hold between the fields of a manifest: each rule with its place, its message and what to do.

mod agents;
mod connection;
mod environment;
mod gateway;
mod rules;
mod schedule;
mod secrets;
mod tasks;
mod words;

use taskwright_harbor::names::check_dir_name;
use taskwright_language::check::{Context, at_least_one};

use self::rules::filled;
use crate::model::Experiment;

/// Applies every rule.
pub fn check(context: &mut Context<'_, Experiment>) {
    let experiment = context.value();
    if check_dir_name(&experiment.name).is_err() {
        context.error(
            &["name"],
            format!("`{}` cannot name an experiment", experiment.name.escape_debug()),
            "use 1 to 32 of a-z, 0-9 and `-`, with no `-` at either end: it becomes a part of folder names",
        );
    }
    at_least_one(context, &["repetitions"], experiment.repetitions, "1 runs each agent once on each task");
    filled(context, &["reward_key"], experiment.reward_key.as_deref());
    tasks::check(context);
    agents::check(context);
    words::check(context);
    environment::check(context);
    gateway::check(context);
    schedule::check(context);
}
