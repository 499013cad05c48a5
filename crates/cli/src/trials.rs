//! `cargo xtask trials`.

use std::io::Write;

use crate::exit::{self, Status};
use crate::output;
use taskwright_base::Error;
use taskwright_ledger::Filter;
use taskwright_ledger::record::{CostSource, Failure, Source, Status as TrialStatus, Trial};

use crate::ledger::LedgerArguments;
use taskwright_base::table::{Table, number};
use taskwright_base::text::brief;

/// List the trials of the ledger.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask trials --experiment smoke --status partial\n  cargo xtask trials --agent \
                        oracle --columns trial,reward,cost,seconds\n  cargo xtask trials --failure infrastructure --json"
)]
pub struct Arguments {
    #[command(flatten)]
    ledger: LedgerArguments,
    /// Only trials of this experiment.
    #[arg(long, value_name = "ID")]
    experiment: Option<String>,
    /// Only trials of this job.
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// Only trials of this task; what stands before the `/` in its name may be left out.
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// Only trials of the agent with this label, or whose digest begins like this.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only trials like this: complete, partial or missing.
    #[arg(long, value_name = "STATUS")]
    status: Option<TrialStatus>,
    /// Only trials that failed of this: infrastructure, candidate, verifier, budget, timeout or cancelled.
    #[arg(long, value_name = "CLASS")]
    failure: Option<Failure>,
    /// Only trials that this command brought: eval, run or import.
    #[arg(long, value_name = "COMMAND")]
    source: Option<Source>,
    /// Which columns to show, in this order.
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', default_values_t = Column::USUAL)]
    columns: Vec<Column>,
    /// Print whole records as JSON.
    #[arg(long)]
    json: bool,
}

/// How many letters of a value a line shows; JSON has all of them.
const LONGEST: usize = 60;

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Column {
    Id,
    Trial,
    Task,
    Agent,
    Digest,
    Model,
    Status,
    Failure,
    Exception,
    Reward,
    Rewards,
    Experiment,
    Job,
    Spec,
    Environment,
    Source,
    Started,
    Seconds,
    Tokens,
    Cost,
    CostSource,
    Claimed,
    Search,
    End,
}

impl Column {
    const USUAL: [Self; 11] = [
        Self::Id,
        Self::Trial,
        Self::Task,
        Self::Agent,
        Self::Model,
        Self::Status,
        Self::Reward,
        Self::Failure,
        Self::Exception,
        Self::Seconds,
        Self::Cost,
    ];

    /// Its head; that of a column of words begins with `<`.
    fn head(self) -> &'static str {
        match self {
            Self::Id => "<id",
            Self::Trial => "<trial",
            Self::Task => "<task",
            Self::Agent => "<agent",
            Self::Digest => "<digest",
            Self::Model => "<model",
            Self::Status => "<status",
            Self::Failure => "<failure",
            Self::Exception => "<exception",
            Self::Reward => "reward",
            Self::Rewards => "<rewards",
            Self::Experiment => "<experiment",
            Self::Job => "<job",
            Self::Spec => "<spec",
            Self::Environment => "<environment",
            Self::Source => "<source",
            Self::Started => "<started",
            Self::Seconds => "seconds",
            Self::Tokens => "tokens",
            Self::Cost => "cost $",
            Self::CostSource => "<said by",
            Self::Claimed => "claimed $",
            Self::Search => "search $",
            Self::End => "end $",
        }
    }

    fn cell(self, trial: &Trial) -> String {
        let or_dash = |text: Option<&String>| text.map_or("-", String::as_str).to_owned();
        match self {
            Self::Id => beginning(&trial.id, if trial.id.starts_with("missing-") { 16 } else { 8 }),
            Self::Trial => trial.trial_name.clone(),
            Self::Task => trial.task.clone(),
            Self::Agent => trial.agent.clone(),
            Self::Digest => beginning(&trial.agent_digest, 12),
            Self::Model => or_dash(trial.model.as_ref()),
            Self::Status => trial.status.to_string(),
            Self::Failure => trial.failure.map_or("-", Failure::word).to_owned(),
            Self::Exception => trial.exception.as_ref().map_or("-", |exception| &exception.kind).to_owned(),
            Self::Reward => number(trial.reward),
            Self::Rewards => {
                let each = trial.rewards.iter().map(|reward| {
                    let value = reward.value.map(|value| value.to_string());
                    let text = reward.text.clone().or(value).unwrap_or_default();
                    format!("{}={text}", reward.key)
                });
                each.collect::<Vec<_>>().join(" ")
            }
            Self::Experiment => or_dash(trial.experiment.as_ref()),
            Self::Job => or_dash(trial.job.as_ref()),
            Self::Spec => trial.provenance.as_ref().map_or("-", |provenance| &provenance.spec).to_owned(),
            Self::Environment => or_dash(trial.environment.as_ref()),
            Self::Source => trial.source.to_string(),
            Self::Started => or_dash(trial.started_at.as_ref()),
            Self::Seconds => number(trial.seconds.total),
            Self::Tokens => {
                let counts = [trial.tokens.input, trial.tokens.output];
                counts
                    .into_iter()
                    .flatten()
                    .reduce(u64::saturating_add)
                    .map_or("-".to_owned(), |sum| sum.to_string())
            }
            Self::Cost => number(trial.cost_usd),
            Self::CostSource => trial.cost_source().map_or("-", CostSource::word).to_owned(),
            Self::Claimed => number(trial.claimed.cost_usd),
            Self::Search => number(trial.metered.evaluation.cost_usd),
            Self::End => number(trial.metered.finalization.cost_usd),
        }
    }
}

/// The first letters of an identifier.
fn beginning(text: &str, letters: usize) -> String {
    text.chars().take(letters).collect()
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let ledger = arguments.ledger.read()?;
    let filter = Filter {
        experiment: arguments.experiment.clone(),
        job: arguments.job.clone(),
        task: arguments.task.clone(),
        agent: arguments.agent.clone(),
        status: arguments.status,
        failure: arguments.failure,
        source: arguments.source,
        reward_key: None,
    };
    if arguments.json {
        return json(&ledger, &filter);
    }
    let heads: Vec<&str> = arguments.columns.iter().map(|column| column.head()).collect();
    let mut table = Table::new(heads);
    let mut count = 0_u64;
    let listed = ledger.visit(&filter, |trial| {
        count += 1;
        table.row(arguments.columns.iter().map(|column| brief(&column.cell(&trial), LONGEST)));
        Ok(())
    });
    listed?;
    if count > 0 {
        output::print(&table.text())?;
    }
    if count == 0 && filter != Filter::default() {
        let what = "no trial in the ledger is like that";
        return Err(Error::new(what).hint("`cargo xtask trials` without conditions lists all").into());
    }
    output::say(&taskwright_base::text::count(count, "trial"));
    Ok(exit::SUCCESS)
}

/// A list of records, written as they are read.
fn json(ledger: &taskwright_ledger::Ledger, filter: &Filter) -> anyhow::Result<Status> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut failure = None;
    let mut separator = "[\n";
    let listed = ledger.visit(filter, |trial| {
        let written = serde_json::to_string(&trial)
            .map_err(std::io::Error::from)
            .and_then(|text| write!(out, "{separator}{text}"));
        separator = ",\n";
        written.map_err(|error| {
            let told = Error::new(error.to_string());
            failure = Some(error);
            told
        })
    });
    if let Some(error) = failure {
        return Err(error.into());
    }
    listed?;
    out.write_all(if separator == "[\n" { b"[]\n" } else { b"\n]\n" })?;
    out.flush()?;
    Ok(exit::SUCCESS)
}
