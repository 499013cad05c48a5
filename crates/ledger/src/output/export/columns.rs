//! The columns of an export. `docs/columns.md` is made of this list.

use serde_json::{Map, Value as Json};

use crate::record::{Agent, Reward, Trial};

use super::value::{Kind, Value};

/// A trial, with what else its row needs.
pub(super) struct Row<'a> {
    pub(super) trial: &'a Trial,
    pub(super) agent: Option<&'a Agent>,
    /// The key of the reward that was asked for.
    pub(super) metric: Option<&'a str>,
}

/// A column.
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// Whether a trial may have no value.
    pub nullable: bool,
    /// What a value says, in which unit.
    pub meaning: &'static str,
    value: for<'a> fn(&Row<'a>) -> Value<'a>,
}

impl Column {
    pub(super) fn value<'a>(&self, row: &Row<'a>) -> Value<'a> {
        (self.value)(row)
    }
}

/// A column that every trial has a value of.
const fn always(
    name: &'static str,
    kind: Kind,
    value: for<'a> fn(&Row<'a>) -> Value<'a>,
    meaning: &'static str,
) -> Column {
    Column { name, kind, nullable: false, meaning, value }
}

/// A column that a trial may have no value of.
const fn maybe(
    name: &'static str,
    kind: Kind,
    value: for<'a> fn(&Row<'a>) -> Value<'a>,
    meaning: &'static str,
) -> Column {
    Column { name, kind, nullable: true, meaning, value }
}

/// Every column, in the order of the file.
#[rustfmt::skip] // A line a column, and its meaning.
pub const COLUMNS: &[Column] = &[
    always("id", Kind::Text, |row| Value::text(&row.trial.id),
        "Harbor's identifier of the trial, or ours where Harbor made none. Unique in a ledger."),
    maybe("experiment", Kind::Text, |row| Value::maybe_text(row.trial.experiment.as_ref()),
        "The experiment that the trial was made for."),
    maybe("job", Kind::Text, |row| Value::maybe_text(row.trial.job.as_ref()),
        "The name of its Harbor job."),
    always("trial_name", Kind::Text, |row| Value::text(&row.trial.trial_name),
        "Harbor's name of the trial."),
    always("task", Kind::Text, |row| Value::text(&row.trial.task),
        "The task's name, `org/name` where it has one."),
    maybe("task_digest", Kind::Text, |row| Value::maybe_text(row.trial.task_digest.as_ref()),
        "The digest of the task's content as it was run."),
    maybe("spec", Kind::Text, |row| Value::maybe_text(row.trial.provenance.as_ref().map(|it| &it.spec)),
        "The spec that the task was built from, if a lock describes its digest."),
    maybe("spec_digest", Kind::Text, |row| Value::maybe_text(row.trial.provenance.as_ref().and_then(|it| it.spec_digest.as_ref())),
        "The digest of the spec."),
    maybe("baseline_digest", Kind::Text, |row| Value::maybe_text(row.trial.provenance.as_ref().and_then(|it| it.baseline.as_ref())),
        "The digest of the baseline that the task was built with."),
    maybe("dataset_digest", Kind::Text, |row| Value::maybe_text(row.trial.provenance.as_ref().and_then(|it| it.dataset.as_ref())),
        "The digest of the dataset that the task was built with."),
    always("agent", Kind::Text, |row| Value::text(&row.trial.agent),
        "The agent's name, or the import path of its class. Not an identity."),
    always("agent_digest", Kind::Text, |row| Value::text(&row.trial.agent_digest),
        "The SHA-256 of the agent's whole configuration, which tells agents apart: group by this."),
    maybe("agent_version", Kind::Text, |row| Value::maybe_text(row.trial.agent_version.as_ref()),
        "The version that the agent reported."),
    maybe("agent_configuration", Kind::Json, |row| row.agent.map_or(Value::Null, |agent| json(&agent.configuration)),
        "The agent's whole configuration, without secrets."),
    maybe("model", Kind::Text, |row| Value::maybe_text(row.trial.model.as_ref()),
        "The model, `provider/name`."),
    maybe("environment", Kind::Text, |row| Value::maybe_text(row.trial.environment.as_ref()),
        "What the trial ran in: `docker`, another of Harbor's environments, or the import path of its class."),
    maybe("harbor_version", Kind::Text, |row| Value::maybe_text(row.trial.harbor_version.as_ref()),
        "The release of Harbor that ran it."),
    always("source", Kind::Text, |row| Value::text(row.trial.source.word()),
        "The command that brought the trial: `eval`, `run` or `import`."),
    always("status", Kind::Text, |row| Value::text(row.trial.status.word()),
        "`complete` (graded, with a valid reward), `partial` (ran, without one) or `missing` (planned, without a result). \
         Averages are to be taken over complete trials only."),
    maybe("failure", Kind::Text, |row| row.trial.failure.map_or(Value::Null, |failure| Value::text(failure.word())),
        "What broke: `infrastructure`, `candidate`, `verifier`, `budget`, `timeout` or `cancelled`. A complete trial can \
         have one, as an agent that ran out of time and was graded."),
    maybe("exception_type", Kind::Text, |row| Value::maybe_text(row.trial.exception.as_ref().map(|it| &it.kind)),
        "The Python type of the exception that Harbor recorded."),
    maybe("exception_message", Kind::Text, |row| Value::maybe_text(row.trial.exception.as_ref().map(|it| &it.message)),
        "Its message."),
    maybe("exception_step", Kind::Text, |row| Value::maybe_text(row.trial.exception.as_ref().and_then(|it| it.step.as_ref())),
        "The step that it was raised in, if it is not the trial's own."),
    maybe("reward", Kind::Real, reward,
        "The reward: the one that counts, or the one that `--metric` names."),
    maybe("reward_key", Kind::Text, reward_key,
        "The key of that reward."),
    always("reward_valid", Kind::Boolean, |row| Value::Boolean(row.trial.reward_valid),
        "Whether the trial's rewards can be relied on, by Harbor's rule."),
    always("rewards", Kind::Json, |row| Value::Json(rewards(&row.trial.rewards).to_string()),
        "All rewards of the trial: an object with a number for each key, null where what was written is no finite number."),
    maybe("started_at", Kind::Utc, |row| Value::time(row.trial.started_at.as_ref(), true),
        "When the trial began. Empty where Harbor wrote a time without a zone."),
    maybe("finished_at", Kind::Utc, |row| Value::time(row.trial.finished_at.as_ref(), true),
        "When it ended."),
    maybe("started_at_local", Kind::Local, |row| Value::time(row.trial.started_at.as_ref(), false),
        "When the trial began, on the clock of the machine that ran it, where Harbor wrote no zone."),
    maybe("finished_at_local", Kind::Local, |row| Value::time(row.trial.finished_at.as_ref(), false),
        "When it ended, on the same clock."),
    maybe("environment_seconds", Kind::Real, |row| Value::real(row.trial.seconds.environment),
        "How long building and starting the environment took."),
    maybe("agent_setup_seconds", Kind::Real, |row| Value::real(row.trial.seconds.agent_setup),
        "How long setting up the agent took."),
    maybe("agent_seconds", Kind::Real, |row| Value::real(row.trial.seconds.agent),
        "How long the agent worked."),
    maybe("verifier_seconds", Kind::Real, |row| Value::real(row.trial.seconds.verifier),
        "How long the verifier took."),
    maybe("total_seconds", Kind::Real, |row| Value::real(row.trial.seconds.total),
        "How long the trial took as a whole."),
    maybe("input_tokens", Kind::Integer, |row| Value::maybe_integer(row.trial.tokens.input),
        "Tokens that the model read, those from a cache included."),
    maybe("cached_tokens", Kind::Integer, |row| Value::maybe_integer(row.trial.tokens.cached),
        "Of these, tokens from a cache: part of `input_tokens`, never to be added to it."),
    maybe("output_tokens", Kind::Integer, |row| Value::maybe_integer(row.trial.tokens.output),
        "Tokens that the model wrote."),
    maybe("cost_usd", Kind::Real, |row| Value::real(row.trial.cost_usd),
        "What the model cost, in US dollars."),
    always("steps", Kind::Json, steps,
        "The steps of a multi-step task in order: an array, empty for other tasks, of objects with `name`, `rewards`, \
         `exception_type`, `agent_seconds`, `verifier_seconds`, `input_tokens`, `cached_tokens`, `output_tokens` and \
         `cost_usd`."),
    always("evidence_files", Kind::Integer, |row| Value::integer(row.trial.evidence.len() as u64),
        "How many files of evidence the ledger knows of."),
    always("evidence_bytes", Kind::Integer, |row| Value::integer(row.trial.evidence.iter().map(|file| file.size).sum()),
        "Their size in bytes."),
];

fn reward<'a>(row: &Row<'a>) -> Value<'a> {
    match row.metric {
        None => Value::real(row.trial.reward),
        Some(metric) => Value::real(chosen(row.trial, metric).and_then(|reward| reward.value)),
    }
}

fn reward_key<'a>(row: &Row<'a>) -> Value<'a> {
    match row.metric {
        None => Value::maybe_text(row.trial.reward_key.as_ref()),
        Some(metric) => Value::maybe_text(chosen(row.trial, metric).map(|reward| &reward.key)),
    }
}

fn chosen<'a>(trial: &'a Trial, metric: &str) -> Option<&'a Reward> {
    trial.rewards.iter().find(|reward| reward.key == metric)
}

fn rewards(rewards: &[Reward]) -> Json {
    let pairs = rewards.iter().map(|reward| (reward.key.clone(), Json::from(reward.value)));
    Json::Object(pairs.collect::<Map<_, _>>())
}

/// JSON from the database, if it is some: a line of JSON Lines must not break because of a text that is not.
fn json<'a>(text: &str) -> Value<'a> {
    serde_json::from_str::<Json>(text).map_or(Value::Null, |json| Value::Json(json.to_string()))
}

fn steps<'a>(row: &Row<'a>) -> Value<'a> {
    let steps = row.trial.steps.iter().map(|step| {
        serde_json::json!({
            "name": step.name,
            "rewards": rewards(&step.rewards),
            "exception_type": step.exception.as_ref().map(|exception| &exception.kind),
            "agent_seconds": step.seconds.agent,
            "verifier_seconds": step.seconds.verifier,
            "input_tokens": step.tokens.input,
            "cached_tokens": step.tokens.cached,
            "output_tokens": step.tokens.output,
            "cost_usd": step.cost_usd,
        })
    });
    Value::Json(Json::Array(steps.collect()).to_string())
}
