//! A trial as the ledger keeps it: the same shape whether it came from `eval`, `run` or `import`; and the one table of its
//! columns, which the database, exports, `show` and `docs/columns.md` are made of.
//!
//! A new field stands here twice, in the record and in the table; a column that is stored needs a step in `db/schema.rs`
//! that adds it, and a test compares the two.

use rusqlite::types::{FromSqlResult, ValueRef};
use serde::{Deserialize, Serialize};
use taskwright_base::Digest;

use super::parts::{Agent, Evidence, Exception, Provenance, Reward, Seconds, Step, Tokens};
use super::spending::{Claimed, Metered};
use super::texts;
use super::value::Kind::{self, Boolean, Integer, Json, Local, Real, Text, Utc};
use super::value::{Field, Value};
use super::words::{Failure, Source, Status};

/// One trial.
///
/// Names and messages are what Harbor or a candidate wrote: data of any length and alphabet, to be escaped by whoever
/// prints them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Harbor's identifier of the trial, or ours where Harbor made none. Unique in a ledger.
    pub id: String,
    /// The experiment it was made for, if any.
    pub experiment: Option<String>,
    /// The name of its job, if it is known.
    pub job: Option<String>,
    /// Harbor's name of the trial: the task directory's name and a random end.
    pub trial_name: String,
    /// Harbor's name of the task: `org/name`, or the directory's name where the task has no other.
    pub task: String,
    /// The name of the task's folder, by which a job's plan knows it.
    pub task_folder: Option<String>,
    /// The content digest of the task that was run, `sha256:` and hexadecimal, if the trial's own files tell it.
    pub task_digest: Option<String>,
    /// What the task was built from, if a lock describes its digest.
    pub provenance: Option<Provenance>,
    /// The agent's display label: its name, or the import path of its class. Not an identity.
    pub agent: String,
    /// The SHA-256 of the agent's whole configuration, in hexadecimal ([`crate::record::agent`] says what enters it): the
    /// identity of an agent. Rows of a leaderboard are told apart by this and by nothing else.
    pub agent_digest: String,
    /// The agent's version, as it named itself.
    pub agent_version: Option<String>,
    /// The model, `provider/name`, if the agent has one.
    pub model: Option<String>,
    /// The environment: `docker`, another of Harbor's, or the import path of its class.
    pub environment: Option<String>,
    /// The release of Harbor, where the job's files say it.
    pub harbor_version: Option<String>,
    /// Which command made the record.
    pub source: Source,
    /// How much came of it. Statistics use the complete ones only.
    pub status: Status,
    /// What broke, if something did. A complete trial can have one: an agent that ran out of time and was graded.
    pub failure: Option<Failure>,
    /// The exception that Harbor recorded, the trial's own before its steps'.
    pub exception: Option<Exception>,
    /// The value of the reward that counts; always finite, and always there if the trial is complete.
    pub reward: Option<f64>,
    /// The key of the reward that counts: the one asked for at import, else `reward`, `pass`, or the only one there is.
    pub reward_key: Option<String>,
    /// All rewards, by key, also those without a usable value.
    pub rewards: Vec<Reward>,
    /// Whether the reward can be relied on by Harbor's own rule (as written by Harbor, or worked out by its policy).
    pub reward_valid: bool,
    /// Why no reward counts, where that is not said by the exception.
    pub note: Option<String>,
    /// The identifier of the trial that this one graded anew: both are one attempt, and the newer grade counts.
    pub regrade_of: Option<String>,
    /// When it began: RFC 3339 in UTC with a `Z` at the end, or without a zone when Harbor wrote local time.
    pub started_at: Option<String>,
    /// When it ended, written like [`Self::started_at`].
    pub finished_at: Option<String>,
    /// How long it took.
    pub seconds: Seconds,
    /// What the agent's model read and wrote; [`Self::spending`] says who is believed.
    pub tokens: Tokens,
    /// What that cost, in US dollars, by the same rule.
    pub cost_usd: Option<f64>,
    /// What the agent itself says of both.
    #[serde(default)]
    pub claimed: Claimed,
    /// What the trial's gateway metered.
    #[serde(default)]
    pub metered: Metered,
    /// The steps of a multi-step task, in order.
    pub steps: Vec<Step>,
    /// The files that the trial left, by path.
    pub evidence: Vec<Evidence>,
}

/// A trial, with what else its row needs.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub trial: &'a Trial,
    /// What only the database keeps of it.
    pub origin: Option<&'a Origin>,
    pub agent: Option<&'a Agent>,
    /// The key of the reward that is asked for instead of the one that counts.
    pub metric: Option<&'a str>,
}

/// What the database keeps of a trial beside its record.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    /// Which job it belongs to.
    pub job_key: Option<String>,
    /// What the bytes of its result were.
    pub result_digest: Option<Digest>,
    /// The folder it was imported from.
    pub directory: Option<String>,
}

/// How a value is got from a row, and put into a record that is read from the database.
pub(crate) struct Access {
    pub get: for<'a> fn(&Row<'a>) -> Value<'a>,
    pub set: Option<fn(&mut Trial, ValueRef<'_>) -> FromSqlResult<()>>,
}

/// A column.
pub struct Column {
    /// Its name in an export.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// Whether a trial may have no value.
    pub nullable: bool,
    /// What a value says, in which unit.
    pub meaning: &'static str,
    pub(crate) access: Access,
    /// Its name in the database, if it is kept there.
    pub(crate) stored: Option<&'static str>,
    pub(crate) is_exported: bool,
    pub(crate) shown: Shown,
}

/// Of what a line of `show` tells. The lines of one topic stand together, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Which trial it is.
    Name,
    /// What came of it.
    Outcome,
    /// What was asked for.
    Task,
    /// Who tried.
    Agent,
    /// How the agent was configured.
    Configuration,
    /// What it ran in.
    Environment,
    /// What it belongs to, and where it comes from.
    Origin,
    /// What it took.
    Effort,
    /// Its steps and files.
    Parts,
}

/// How `show` has a column.
pub(crate) enum Shown {
    Never,
    /// A line with the value.
    Line(Topic, &'static str),
    /// A part of the line with this label: its name, and the value.
    Part(Topic, &'static str, &'static str),
    /// Lines of its own making.
    Lines(Topic, &'static str, fn(&Trial) -> Vec<String>),
}

impl Column {
    /// A column that a trial may have no value of, in an export and nowhere else.
    pub(super) const fn new(name: &'static str, kind: Kind, access: Access, meaning: &'static str) -> Self {
        let shown = Shown::Never;
        Self { name, kind, nullable: true, meaning, access, stored: None, is_exported: true, shown }
    }

    /// A column of the database that no export has.
    pub(super) const fn inner(name: &'static str, kind: Kind, access: Access) -> Self {
        Self { stored: Some(name), is_exported: false, ..Self::new(name, kind, access, "") }
    }

    /// Every trial has a value.
    pub(super) const fn always(self) -> Self {
        Self { nullable: false, ..self }
    }

    /// The database keeps it, too.
    pub(super) const fn stored(self) -> Self {
        Self { stored: Some(self.name), ..self }
    }

    /// The database keeps it under another name.
    pub(super) const fn stored_as(self, name: &'static str) -> Self {
        Self { stored: Some(name), ..self }
    }

    pub(super) const fn shown(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }

    pub(crate) fn value<'a>(&self, row: &Row<'a>) -> Value<'a> {
        (self.access.get)(row)
    }
}

use Shown::{Line, Lines, Part};

/// A field of the record, both ways.
macro_rules! field {
    ($($part:ident).+) => {
        Access {
            get: |row| row.trial.$($part).+.value(),
            set: Some(|trial, value| trial.$($part).+.read(value)),
        }
    };
}

/// A field of a part that may be absent: it is there as soon as one of its fields is.
macro_rules! part {
    ($part:ident.$field:ident) => {
        Access {
            get: |row| row.trial.$part.as_ref().map_or(Value::Null, |part| part.$field.value()),
            set: Some(|trial, value| match value {
                ValueRef::Null => Ok(()),
                value => trial.$part.get_or_insert_default().$field.read(value),
            }),
        }
    };
}

/// What the database keeps beside the record.
macro_rules! origin {
    ($field:ident) => {
        Access { get: |row| row.origin.map_or(Value::Null, |origin| origin.$field.value()), set: None }
    };
}

/// What is worked out from the row.
macro_rules! made {
    ($get:expr) => {
        Access { get: $get, set: None }
    };
}

/// Every column, in the order of an export.
#[rustfmt::skip] // A column and its meaning, then what else becomes of it.
pub const COLUMNS: &[Column] = &[
    Column::new("id", Text, field!(id),
        "Harbor's identifier of the trial, or ours where Harbor made none. Unique in a ledger.")
        .always().stored().shown(Line(Topic::Outcome, "id")),
    Column::new("experiment", Text, field!(experiment), "The experiment that the trial was made for.")
        .stored().shown(Line(Topic::Origin, "experiment")),
    Column::new("job", Text, field!(job), "The name of its Harbor job.")
        .stored().shown(Line(Topic::Origin, "job")),
    Column::inner("job_key", Text, origin!(job_key)),
    Column::new("trial_name", Text, field!(trial_name), "Harbor's name of the trial.")
        .always().stored().shown(Line(Topic::Name, "trial")),
    Column::new("task", Text, field!(task), "The task's name, `org/name` where it has one.")
        .always().stored().shown(Line(Topic::Task, "task")),
    Column::inner("task_folder", Text, field!(task_folder)),
    Column::new("task_digest", Text, field!(task_digest), "The digest of the task's content as it was run.")
        .stored().shown(Line(Topic::Task, "task digest")),
    Column::new("spec", Text, part!(provenance.spec),
        "The spec that the task was built from, if a lock describes its digest.")
        .stored().shown(Lines(Topic::Task, "spec", |trial| trial.provenance.iter().map(texts::spec).collect())),
    Column::new("spec_digest", Text, part!(provenance.spec_digest), "The digest of the spec.").stored(),
    Column::new("baseline_digest", Text, part!(provenance.baseline),
        "The digest of the baseline that the task was built with.")
        .stored_as("baseline").shown(Line(Topic::Task, "baseline")),
    Column::new("dataset_digest", Text, part!(provenance.dataset),
        "The digest of the dataset that the task was built with.")
        .stored_as("dataset").shown(Line(Topic::Task, "dataset")),
    Column::new("agent", Text, field!(agent),
        "The agent's name, or the import path of its class. Not an identity.")
        .always().stored().shown(Line(Topic::Agent, "agent")),
    Column::new("agent_digest", Text, field!(agent_digest),
        "The SHA-256 of the agent's whole configuration, which tells agents apart: group by this.")
        .always().stored().shown(Line(Topic::Agent, "agent digest")),
    Column::new("agent_version", Text, field!(agent_version), "The version that the agent reported.")
        .stored().shown(Line(Topic::Agent, "version")),
    Column::new("agent_configuration", Json,
        made!(|row| row.agent.map_or(Value::Null, |agent| Value::text(&agent.configuration))),
        "The agent's whole configuration, without secrets.")
        .shown(Line(Topic::Configuration, "configuration")),
    Column::new("model", Text, field!(model), "The model, `provider/name`.")
        .stored().shown(Line(Topic::Agent, "model")),
    Column::new("environment", Text, field!(environment),
        "What the trial ran in: `docker`, another of Harbor's environments, or the import path of its class.")
        .stored().shown(Line(Topic::Environment, "environment")),
    Column::new("harbor_version", Text, field!(harbor_version), "The release of Harbor that ran it.")
        .stored().shown(Line(Topic::Environment, "harbor")),
    Column::new("source", Text, field!(source), "The command that brought the trial: `eval`, `run` or `import`.")
        .always().stored().shown(Line(Topic::Origin, "source")),
    Column::new("status", Text, Access { get: status, set: Some(|trial, value| trial.status.read(value)) },
        "`complete` (graded, with a valid reward), `partial` (ran, without one) or `missing` (planned, without a result). \
         Averages are to be taken over complete trials only.")
        .always().stored().shown(Line(Topic::Outcome, "status")),
    Column::new("failure", Text, field!(failure),
        "What broke: `infrastructure`, `candidate`, `verifier`, `budget`, `timeout` or `cancelled`. A complete trial can \
         have one, as an agent that ran out of time and was graded.")
        .stored().shown(Line(Topic::Outcome, "failure")),
    Column::new("exception_type", Text, part!(exception.kind), "The Python type of the exception that Harbor recorded.")
        .stored().shown(Lines(Topic::Outcome, "exception", |trial| trial.exception.iter().map(texts::exception).collect())),
    Column::new("exception_message", Text, part!(exception.message), "Its message.").stored(),
    Column::new("exception_step", Text, part!(exception.step),
        "The step that it was raised in, if it is not the trial's own.").stored(),
    Column::inner("note", Text, field!(note)).shown(Line(Topic::Outcome, "note")),
    Column::new("regrade_of", Text, field!(regrade_of),
        "The trial that this one graded anew. Both are one attempt: count the newer only.")
        .stored().shown(Line(Topic::Outcome, "regrade of")),
    Column::new("reward", Real, Access { get: reward, set: Some(|trial, value| trial.reward.read(value)) },
        "The reward: the one that counts, or the one that `--metric` names.")
        .stored().shown(Lines(Topic::Outcome, "reward", |trial| {
            let said = |value: &f64| texts::reward(*value, trial.reward_key.as_deref(), trial.reward_valid);
            trial.reward.iter().map(said).collect()
        })),
    Column::new("reward_key", Text, Access { get: reward_key, set: Some(|trial, value| trial.reward_key.read(value)) },
        "The key of that reward.").stored(),
    Column::new("reward_baseline", Real, made!(|row| counted(row).map_or(Value::Null, |reward| reward.baseline.value())),
        "The baseline's reward by that key, where the trial's verdict says it."),
    Column::new("reward_direction", Text,
        made!(|row| counted(row).and_then(|reward| reward.direction).map_or(Value::Null, |way| Value::text(way.word()))),
        "Which of these rewards are better, `maximize` or `minimize`, where the trial's verdict says it."),
    Column::new("reward_valid", Boolean, field!(reward_valid),
        "Whether the trial's rewards can be relied on, by Harbor's rule.")
        .always().stored(),
    Column::new("rewards", Json, made!(|row| Value::Json(texts::rewards_json(&row.trial.rewards).to_string())),
        "All rewards of the trial: an object with a number for each key, null where what was written is no finite number.")
        .always().shown(Lines(Topic::Outcome, "rewards", |trial| vec![texts::rewards(&trial.rewards)])),
    Column::new("started_at", Utc, field!(started_at),
        "When the trial began. Empty where Harbor wrote a time without a zone.")
        .stored().shown(Line(Topic::Effort, "started")),
    Column::new("finished_at", Utc, field!(finished_at), "When it ended.")
        .stored().shown(Line(Topic::Effort, "finished")),
    Column::new("started_at_local", Local, field!(started_at),
        "When the trial began, on the clock of the machine that ran it, where Harbor wrote no zone."),
    Column::new("finished_at_local", Local, field!(finished_at), "When it ended, on the same clock."),
    Column::new("environment_seconds", Real, field!(seconds.environment),
        "How long building and starting the environment took.")
        .stored_as("seconds_environment").shown(Part(Topic::Effort, "seconds", "environment")),
    Column::new("agent_setup_seconds", Real, field!(seconds.agent_setup), "How long setting up the agent took.")
        .stored_as("seconds_agent_setup").shown(Part(Topic::Effort, "seconds", "agent setup")),
    Column::new("agent_seconds", Real, field!(seconds.agent), "How long the agent worked.")
        .stored_as("seconds_agent").shown(Part(Topic::Effort, "seconds", "agent")),
    Column::new("verifier_seconds", Real, field!(seconds.verifier), "How long the verifier took.")
        .stored_as("seconds_verifier").shown(Part(Topic::Effort, "seconds", "verifier")),
    Column::new("total_seconds", Real, field!(seconds.total), "How long the trial took as a whole.")
        .stored_as("seconds_total").shown(Part(Topic::Effort, "seconds", "total")),
    Column::new("input_tokens", Integer, field!(tokens.input),
        "Tokens that the agent's model read, those from a cache included: as a gateway metered them, else as the agent claims.")
        .stored().shown(Part(Topic::Effort, "tokens", "input")),
    Column::new("cached_tokens", Integer, field!(tokens.cached),
        "Of these, tokens from a cache: part of `input_tokens`, never to be added to it.")
        .stored().shown(Part(Topic::Effort, "tokens", "of these cached")),
    Column::new("output_tokens", Integer, field!(tokens.output), "Tokens that the model wrote.")
        .stored().shown(Part(Topic::Effort, "tokens", "output")),
    Column::new("cost_usd", Real, field!(cost_usd),
        "What the agent's model cost, in US dollars: as a gateway metered it, else as the agent claims.")
        .stored().shown(Lines(Topic::Effort, "cost", |trial| trial.cost_words(texts::dollars).into_iter().collect())),
    Column::new("cost_source", Text,
        made!(|row| row.trial.cost_source().map_or(Value::Null, |source| Value::text(source.word()))),
        "Who says `cost_usd`: `metered` by the trial's gateway, or `claimed` by the agent."),
    Column::new("claimed_input_tokens", Integer, field!(claimed.tokens.input),
        "Tokens that the agent says its model read, those from a cache included.")
        .stored(),
    Column::new("claimed_cached_tokens", Integer, field!(claimed.tokens.cached), "Of these, tokens from a cache.").stored(),
    Column::new("claimed_output_tokens", Integer, field!(claimed.tokens.output),
        "Tokens that the agent says its model wrote.")
        .stored(),
    Column::new("claimed_cost_usd", Real, field!(claimed.cost_usd), "What the agent says that cost, in US dollars.").stored(),
    Column::new("metered_producer_requests", Integer, field!(metered.producer.requests),
        "Requests of the agent to language models, as the trial's gateway metered them; empty where there is none.")
        .stored().shown(Lines(Topic::Effort, "agent metered", |trial| texts::used(&trial.metered.producer))),
    Column::new("metered_producer_input_tokens", Integer, field!(metered.producer.tokens.input),
        "Tokens that these read, those from a cache included.")
        .stored(),
    Column::new("metered_producer_cached_tokens", Integer, field!(metered.producer.tokens.cached),
        "Of these, tokens from a cache.")
        .stored(),
    Column::new("metered_producer_output_tokens", Integer, field!(metered.producer.tokens.output), "Tokens that these wrote.")
        .stored(),
    Column::new("metered_producer_cost_usd", Real, field!(metered.producer.cost_usd),
        "What these cost, in US dollars; empty where the gateway had no price of a model.")
        .stored(),
    Column::new("metered_evaluation_requests", Integer, field!(metered.evaluation.requests),
        "The same of the candidates that the agent had evaluated.")
        .stored().shown(Lines(Topic::Effort, "search metered", |trial| texts::used(&trial.metered.evaluation))),
    Column::new("metered_evaluation_input_tokens", Integer, field!(metered.evaluation.tokens.input),
        "Tokens that these read, those from a cache included.")
        .stored(),
    Column::new("metered_evaluation_cached_tokens", Integer, field!(metered.evaluation.tokens.cached),
        "Of these, tokens from a cache.")
        .stored(),
    Column::new("metered_evaluation_output_tokens", Integer, field!(metered.evaluation.tokens.output), "Tokens that these wrote.")
        .stored(),
    Column::new("metered_evaluation_cost_usd", Real, field!(metered.evaluation.cost_usd),
        "What these cost, in US dollars; empty where the gateway had no price of a model.")
        .stored(),
    Column::new("metered_finalization_requests", Integer, field!(metered.finalization.requests),
        "The same of the candidates that were scored in the end.")
        .stored().shown(Lines(Topic::Effort, "end metered", |trial| texts::used(&trial.metered.finalization))),
    Column::new("metered_finalization_input_tokens", Integer, field!(metered.finalization.tokens.input),
        "Tokens that these read, those from a cache included.")
        .stored(),
    Column::new("metered_finalization_cached_tokens", Integer, field!(metered.finalization.tokens.cached),
        "Of these, tokens from a cache.")
        .stored(),
    Column::new("metered_finalization_output_tokens", Integer, field!(metered.finalization.tokens.output), "Tokens that these wrote.")
        .stored(),
    Column::new("metered_finalization_cost_usd", Real, field!(metered.finalization.cost_usd),
        "What these cost, in US dollars; empty where the gateway had no price of a model.")
        .stored(),
    Column::new("steps", Json, made!(|row| Value::Json(texts::steps_json(&row.trial.steps).to_string())),
        "The steps of a multi-step task in order: an array, empty for other tasks, of objects with `name`, `rewards`, \
         `exception_type`, `agent_seconds`, `verifier_seconds`, and what the agent claims: `input_tokens`, `cached_tokens`, \
         `output_tokens` and `cost_usd`.")
        .always().shown(Lines(Topic::Parts, "step", |trial| trial.steps.iter().map(texts::step).collect())),
    Column::new("evidence_files", Integer, made!(|row| Value::integer(row.trial.evidence.len() as u64)),
        "How many files of evidence the ledger knows of.")
        .always().shown(Lines(Topic::Parts, "evidence", |trial| trial.evidence.iter().map(texts::file).collect())),
    Column::new("evidence_bytes", Integer, made!(|row| Value::integer(row.trial.evidence.iter().map(|file| file.size).sum())),
        "Their size in bytes.").always(),
    Column::inner("result_digest", Kind::Digest, made!(|row| {
        row.origin.and_then(|origin| origin.result_digest).map_or(Value::Null, |digest| Value::Digest(digest.bytes()))
    })),
    Column::inner("evidence_digest", Kind::Digest, made!(|row| Value::Digest(Evidence::digest_of(&row.trial.evidence).bytes()))),
    Column::inner("directory", Text, origin!(directory)),
];

/// The columns of an export.
pub fn exported() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(|column| column.is_exported)
}

impl Trial {
    /// How much came of it by another reward than the one that counts: that none could be chosen, or another one was, says
    /// nothing of it.
    pub(crate) fn status_by(&self, metric: &str) -> Status {
        let broken =
            matches!(self.failure, Some(Failure::Infrastructure | Failure::Verifier | Failure::Cancelled));
        match self.status {
            Status::Missing => Status::Missing,
            _ if self.reward_valid
                && !broken
                && chosen(self, metric).is_some_and(|reward| reward.value.is_some()) =>
            {
                Status::Complete
            }
            _ => Status::Partial,
        }
    }
}

fn status<'a>(row: &Row<'a>) -> Value<'a> {
    match row.metric {
        None => row.trial.status.value(),
        Some(metric) => Value::text(row.trial.status_by(metric).word()),
    }
}

fn reward<'a>(row: &Row<'a>) -> Value<'a> {
    match row.metric {
        None => row.trial.reward.value(),
        Some(metric) => chosen(row.trial, metric).map_or(Value::Null, |reward| reward.value.value()),
    }
}

fn reward_key<'a>(row: &Row<'a>) -> Value<'a> {
    match row.metric {
        None => row.trial.reward_key.value(),
        Some(metric) => chosen(row.trial, metric).map_or(Value::Null, |reward| reward.key.value()),
    }
}

/// The reward that is looked at.
fn counted<'a>(row: &Row<'a>) -> Option<&'a Reward> {
    chosen(row.trial, row.metric.or(row.trial.reward_key.as_deref())?)
}

fn chosen<'a>(trial: &'a Trial, metric: &str) -> Option<&'a Reward> {
    trial.rewards.iter().find(|reward| reward.key == metric)
}
