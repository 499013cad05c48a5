//! What the page is about, put in order: agents as the leaderboard ranks them, tasks by name, and trials by both.

use std::collections::BTreeMap;

use serde::Serialize;
use taskwright_base::text::brief;

use super::content::Content;
use super::scale::Scale;
use crate::rank::leaderboard::{Leaderboard, Row, rank};
use crate::rank::statistics::is_reward;
use crate::record::{Score, Status, Trial};

/// An agent, as every part of the page calls it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Agent {
    /// Its place in the leaderboard's order, from 1.
    pub number: usize,
    /// Its name.
    pub name: String,
}

/// A trial in its place.
pub struct Placed<'a> {
    /// From 1, in the page's order.
    pub number: usize,
    /// The number of its agent.
    pub agent: usize,
    /// The number of its task.
    pub task: usize,
    /// The reward that the leaderboard looks at.
    pub reward: Option<f64>,
    /// As the leaderboard sees it: a trial without the reward that is looked at is not complete.
    pub status: Status,
    pub trial: &'a Trial,
}

/// Of a trial that is not complete and has no class of failure: it has no result.
pub const MISSING: &str = "missing";
/// The same: it has a result, and nothing says what is wrong with it.
pub const UNKNOWN: &str = "unknown";

impl Placed<'_> {
    pub fn is_complete(&self) -> bool {
        self.status == Status::Complete
    }

    /// What broke; empty if nothing did.
    pub fn failure(&self) -> &'static str {
        match (self.trial.failure, self.status) {
            (Some(failure), _) => failure.word(),
            (None, Status::Complete) => "",
            (None, Status::Partial) => UNKNOWN,
            (None, Status::Missing) => MISSING,
        }
    }
}

/// All that the parts of the page are made from.
pub struct Subject<'a> {
    pub content: &'a Content<'a>,
    pub board: &'a Leaderboard,
    pub agents: Vec<Agent>,
    /// The names of tasks; task number 1 comes first.
    pub tasks: Vec<String>,
    /// By agent, then task, then time.
    pub trials: Vec<Placed<'a>>,
    /// The axis of rewards.
    pub scale: Scale,
}

impl<'a> Subject<'a> {
    /// Puts trials in the order of the leaderboard that was made from them.
    pub fn new(content: &'a Content<'a>, board: &'a Leaderboard) -> Self {
        let rows: BTreeMap<&str, usize> =
            board.rows.iter().zip(1..).map(|(row, number)| (row.agent.digest.as_str(), number)).collect();
        let tasks: BTreeMap<&str, usize> =
            board.tasks.iter().zip(1..).map(|(task, number)| (task.task.as_str(), number)).collect();
        let place = |trial: &'a Trial| {
            let reward = reward(trial, board.rules.metric.as_deref()).filter(|reward| is_reward(*reward));
            let status = match trial.status {
                Status::Complete if reward.is_none() => Status::Partial,
                status => status,
            };
            let (agent, task) = (*rows.get(trial.agent_digest.as_str())?, *tasks.get(trial.task.as_str())?);
            Some(Placed { number: 0, agent, task, reward, status, trial })
        };
        let mut trials: Vec<Placed<'_>> = content.trials.iter().filter_map(place).collect();
        trials.sort_by(|a, b| {
            let key =
                |placed: &Placed<'a>| (placed.agent, placed.task, &placed.trial.started_at, &placed.trial.id);
            key(a).cmp(&key(b))
        });
        for (placed, number) in trials.iter_mut().zip(1..) {
            placed.number = number;
        }
        let complete = trials.iter().filter(|placed| placed.is_complete());
        let scale = Scale::of_rewards(&complete.filter_map(|placed| placed.reward).collect::<Vec<_>>());
        let agent = |(row, number): (&Row, usize)| Agent { number, name: brief(&row.label, 80) };
        Self {
            content,
            board,
            agents: board.rows.iter().zip(1..).map(agent).collect(),
            tasks: board.tasks.iter().map(|task| brief(&task.task, 120)).collect(),
            trials,
            scale,
        }
    }

    /// The rows of the leaderboard, each with its agent's number and name.
    pub fn rows(&self) -> impl Iterator<Item = (&'a Row, &Agent)> {
        self.board.rows.iter().zip(&self.agents)
    }

    /// The trials of an agent.
    pub fn of_agent(&self, agent: usize) -> &[Placed<'a>] {
        let from = self.trials.partition_point(|placed| placed.agent < agent);
        let to = self.trials.partition_point(|placed| placed.agent <= agent);
        &self.trials[from..to]
    }
}

/// The leaderboard of these trials.
pub fn leaderboard(content: &Content<'_>) -> Leaderboard {
    let metric = content.rules.metric.as_deref();
    let scores = content.trials.iter().map(|trial| Score::of(trial, reward(trial, metric)));
    rank(scores, content.agents, content.rules)
}

/// The reward that is looked at: that of the metric, else the one that the trial's task declares.
fn reward(trial: &Trial, metric: Option<&str>) -> Option<f64> {
    match metric {
        None => trial.reward,
        Some(metric) => trial.rewards.iter().find(|reward| reward.key == metric)?.value,
    }
}
