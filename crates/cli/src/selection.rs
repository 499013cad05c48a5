//! Which trials a command reads, and by what rules it makes numbers of them.

use taskwright_ledger::leaderboard::Rules;
use taskwright_ledger::patterns::TaskPatterns;
use taskwright_ledger::record::Source;
use taskwright_ledger::statistics::{Direction, Measure, is_reward};
use taskwright_ledger::{Filter, Ledger};

use crate::ledger::LedgerArguments;

/// Which trials are read.
#[derive(Debug, clap::Args)]
pub struct Selection {
    #[command(flatten)]
    ledger: LedgerArguments,
    /// Only trials of this experiment.
    #[arg(long, value_name = "ID")]
    experiment: Option<String>,
    /// Only trials of this job.
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// Only tasks whose name, or what follows the `/` in it, matches: `*` stands for any text. May be repeated.
    #[arg(long, value_name = "PATTERN")]
    task: Vec<String>,
    /// Only trials that this command brought: eval, run or import.
    #[arg(long, value_name = "COMMAND")]
    source: Option<Source>,
}

impl Selection {
    /// Opens the ledger.
    pub fn read(&self) -> anyhow::Result<Ledger> {
        self.ledger.read()
    }

    /// What the arguments say of trials, less the patterns of tasks.
    pub fn filter(&self) -> Filter {
        Filter {
            experiment: self.experiment.clone(),
            job: self.job.clone(),
            source: self.source,
            ..Filter::default()
        }
    }

    /// The patterns of tasks.
    pub fn tasks(&self) -> anyhow::Result<TaskPatterns> {
        Ok(TaskPatterns::new(&self.task)?)
    }
}

/// By what rules trials become numbers.
#[derive(Debug, clap::Args)]
pub struct RuleArguments {
    /// Look at the reward with this key [default: `reward`, or the only one that a trial has].
    #[arg(long, value_name = "KEY")]
    metric: Option<String>,
    /// Which rewards are better.
    #[arg(long, value_enum, value_name = "WAY", default_value_t = Way::Maximize)]
    direction: Way,
    /// Count partial trials too, less those that infrastructure broke or somebody stopped.
    #[arg(long, value_enum, value_name = "WHAT")]
    include: Option<Include>,
    /// What a partial trial counts as [default: 0; to be said where smaller is better, or failing would be best].
    #[arg(long, value_name = "NUMBER", value_parser = reward, requires = "include", required_if_eq_all = [("include", "partial"), ("direction", "minimize")], allow_negative_numbers = true)]
    partial_value: Option<f64>,
    /// A trial succeeds from this reward on, or down to it where smaller is better [default: 1, if all rewards are 0 or
    /// 1].
    #[arg(long, value_name = "NUMBER", value_parser = reward, allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// Rank by the reward, by the gain over the baseline, or by the share of the solution's gain [default: the reward; where
    /// rewards of tasks are of different size, the share or else the gain, if it is known of all].
    #[arg(long, value_name = "MEASURE")]
    rank_by: Option<Measure>,
    /// Estimate how likely one of so many trials succeeds.
    #[arg(long, value_name = "K", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    k: Vec<u32>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Way {
    /// Larger ones.
    Maximize,
    /// Smaller ones.
    Minimize,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Include {
    /// Trials that ran and have no valid reward.
    Partial,
}

impl RuleArguments {
    /// The rules.
    pub fn rules(&self) -> Rules {
        Rules {
            metric: self.metric.clone(),
            direction: match self.direction {
                Way::Maximize => Direction::Maximize,
                Way::Minimize => Direction::Minimize,
            },
            partial: self.include.map(|Include::Partial| self.partial_value.unwrap_or(0.0)),
            threshold: self.threshold,
            rank_by: self.rank_by,
            k: self.k.clone(),
        }
    }
}

fn reward(text: &str) -> Result<f64, String> {
    let number = text.parse().map_err(|error| format!("{error}"))?;
    if is_reward(number) { Ok(number) } else { Err("no reward is like that".to_owned()) }
}
