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
    /// Its place in the leaderboard's order, from 1: what links and filters go by.
    pub number: usize,
    /// Its rank, as it is shown everywhere; a letter behind it tells agents apart that share one.
    pub mark: String,
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
    /// Whether a few rewards are so far from the others that these look alike on that axis.
    pub is_crowded: bool,
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
        let rewards: Vec<f64> = complete.filter_map(|placed| placed.reward).collect();
        let scale = Scale::of_rewards(&rewards);
        let agent = |((row, number), mark): ((&Row, usize), String)| Agent {
            number,
            mark,
            name: brief(&row.label, 80),
        };
        Self {
            content,
            board,
            agents: board.rows.iter().zip(1..).zip(marks(&board.rows)).map(agent).collect(),
            tasks: board.tasks.iter().map(|task| brief(&task.task, 120)).collect(),
            trials,
            is_crowded: scale.crowds(&rewards),
            scale,
        }
    }

    /// What has to be said of the axis of rewards.
    pub fn about_scale(&self) -> &'static str {
        if self.scale.is_logarithmic() {
            " Rewards lie so far apart that equal distances are equal ratios."
        } else if self.is_crowded {
            " A few rewards are so far from the others that these look alike here; their numbers tell them apart."
        } else {
            ""
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

/// The ranks of rows that are in order: `1a`, `1b`, `3`; a dash where there is none.
fn marks(rows: &[Row]) -> Vec<String> {
    let mark = |(place, row): (usize, &Row)| {
        let Some(rank) = row.rank else { return "–".to_owned() };
        let before = rows[..place].iter().filter(|other| other.rank == row.rank).count();
        let is_shared = before > 0 || rows.get(place + 1).is_some_and(|next| next.rank == row.rank);
        let letter =
            u8::try_from(before).ok().filter(|before| *before < 26).map(|before| char::from(b'a' + before));
        match letter {
            _ if !is_shared => rank.to_string(),
            Some(letter) => format!("{rank}{letter}"),
            None => format!("{rank}.{}", before + 1),
        }
    };
    rows.iter().enumerate().map(mark).collect()
}

/// The leaderboard of these trials.
pub fn leaderboard(content: &Content<'_>) -> Leaderboard {
    let metric = content.rules.metric.as_deref();
    let mut scores: Vec<Score> =
        content.trials.iter().map(|trial| Score::of(trial, reward(trial, metric))).collect();
    content.references.add_to(&mut scores);
    rank(scores, content.agents, content.rules)
}

/// The reward that is looked at: that of the metric, else the one that the trial's task declares.
fn reward(trial: &Trial, metric: Option<&str>) -> Option<f64> {
    match metric {
        None => trial.reward,
        Some(metric) => trial.rewards.iter().find(|reward| reward.key == metric)?.value,
    }
}
