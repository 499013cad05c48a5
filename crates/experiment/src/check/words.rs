//! What agents are told besides the task: further instructions, and a user who is played.

use taskwright_language::check::{self, Context, refuse_doubles};

use super::rules::filled;
use super::{agents, secrets};
use crate::model::Experiment;

pub fn check(context: &mut Context<'_, Experiment>) {
    let experiment = context.value();
    for (index, text) in experiment.extra_instructions.iter().enumerate() {
        if text.trim().is_empty() {
            let place = ["extra_instructions", &index.to_string()].map(str::to_owned);
            context.error(&place.each_ref().map(String::as_str), "the text says nothing", "take it out");
        }
    }
    refuse_doubles(context, &["extra_instructions"], &experiment.extra_instructions, "text");
    let Some(user) = &experiment.simulated_user else { return };
    let table = &["simulated_user"][..];
    agents::who(context, table, user.name.as_deref(), user.import_path.as_deref());
    filled(context, &["simulated_user", "model"], user.model.as_deref());
    check::keyword_arguments(context, &["simulated_user", "args"], &user.args);
    secrets::arguments(context, &["simulated_user", "args"], &user.args);
    secrets::variables(context, table, &user.secrets, &user.env);
    secrets::arguments(context, &["simulated_user", "bridge", "args"], &user.bridge.args);
    if experiment.gateway.is_some() {
        context.error_with(
            &["simulated_user"],
            "Harbor does not say where agents that talk with a user ask their models, so that none is known to use the gateway",
            "take one of the two out",
            (&["gateway"], "the gateway"),
        );
    }
}
