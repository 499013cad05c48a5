//! What the trials of one agent come to: a row of the leaderboard, and its cell for each task.

use std::collections::BTreeMap;

use serde::Serialize;

use super::gather::{Cells, Outcomes, Spent};
use super::rules::Rules;
use crate::rank::statistics::{Direction, Interval, Measure, mean, pass_at_k, student, sum, wilson};
use crate::record::{Agent, Failure};

/// One agent configuration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The place, from 1. Agents with the same mean share theirs. None without a mean.
    pub rank: Option<u32>,
    /// The name to show: the agent's, and what sets this configuration apart from others of the same name.
    pub label: String,
    /// Who it is; `agent.digest` is what tells agents apart.
    pub agent: Agent,
    /// How many tasks have trials, whatever their outcome.
    pub tasks: u64,
    /// How many of them have a trial that counts: the tasks that the mean is over.
    pub tasks_counted: u64,
    /// Trials that were graded, with a valid reward.
    pub complete: u64,
    /// Trials that ran and have no valid reward under the metric.
    pub partial: u64,
    /// Trials that were planned and have no result.
    pub missing: u64,
    /// Partial trials that count nevertheless, because the rules say so.
    pub partial_counted: u64,
    /// The mean over tasks of the mean over each task's trials.
    pub mean: Option<f64>,
    /// The other end of the bracket: the mean over all tasks, where every trial that was planned and has no reward counts as
    /// 0. None where smaller is better, or nothing was planned.
    pub planned_mean: Option<f64>,
    /// Where the mean lies with 95 % confidence; none if too little is known to say.
    pub interval: Option<Interval>,
    /// The gain over the baseline, as a part of its reward; none unless it is known of every task that counts.
    pub gain: Option<Estimate>,
    /// The gain as a share of that of the tasks' own solutions; none unless it is known of every task that counts.
    pub share: Option<Estimate>,
    /// pass@k, for each `k` that was asked for.
    pub pass_at_k: Vec<PassAtK>,
    /// What it cost, in US dollars: as gateways metered it, else as it claims.
    pub cost_usd: Spend,
    /// How many trials a gateway metered that cost of.
    pub metered: u64,
    /// What the candidates cost that it had evaluated, where a gateway metered it, in US dollars.
    pub evaluation_cost_usd: Spend,
    /// The same of the candidates that were scored in the end.
    pub finalization_cost_usd: Spend,
    /// How long it took, from the start of a trial to its end, in seconds.
    pub seconds: Spend,
    /// Trials that are not complete, by class of failure.
    pub failures: BTreeMap<Failure, u64>,
    /// Trials that are complete although something failed (as an agent that ran out of time, and was graded), by class.
    pub flagged: BTreeMap<Failure, u64>,
}

/// A mean over tasks of the mean over each task's trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The mean if every trial that was planned and has no reward counts as nothing: no reward, or no gain.
    pub planned_mean: Option<f64>,
    /// Where the mean lies with 95 % confidence; none if too little is known to say.
    pub interval: Option<Interval>,
}

impl Row {
    /// What it comes to by a measure.
    pub fn by(&self, measure: Measure) -> Option<Estimate> {
        match measure {
            Measure::Reward => {
                let (planned_mean, interval) = (self.planned_mean, self.interval);
                self.mean.map(|mean| Estimate { mean, planned_mean, interval })
            }
            Measure::Gain => self.gain,
            Measure::Share => self.share,
        }
    }
}

/// An estimate of pass@k.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PassAtK {
    /// How many trials one may have.
    pub k: u32,
    /// The mean over the tasks that have at least `k` trials that count.
    pub mean: Option<f64>,
    /// How many tasks those are.
    pub tasks: u64,
}

/// Money or time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spend {
    /// The mean over tasks of the mean over each task's trials that count and of which it is known.
    pub mean: Option<f64>,
    /// The sum over all trials of which it is known, whatever their outcome.
    pub total: Option<f64>,
    /// How many trials that sum is over.
    pub known: u64,
    /// How many of these were killed or stopped: what the agent was in the middle of was never reported, so that of money
    /// the mean and the sum are at least what was spent.
    pub cut_short: u64,
}

/// What an agent did on a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// Trials that were graded, with a valid reward.
    pub complete: u64,
    /// Trials that ran and have no valid reward under the metric.
    pub partial: u64,
    /// Trials that were planned and have no result.
    pub missing: u64,
    /// The trials that the mean is over.
    pub counted: u64,
    /// Their mean reward.
    pub mean: Option<f64>,
    /// Their mean gain over the baseline, in the units of the reward.
    pub gain: Option<f64>,
    /// The same as a part of the baseline's reward.
    pub relative_gain: Option<f64>,
    /// The same as a share of what the task's own solution gains.
    pub share: Option<f64>,
    /// Wilson's interval, if all of their rewards are 0 or 1.
    pub interval: Option<Interval>,
    /// How many of them succeeded, where success is defined.
    pub successes: Option<u64>,
    /// The mean cost of the trials that count and of which it is known, in US dollars.
    pub cost_usd: Option<f64>,
    /// The same of the candidates that were evaluated in the search, where a gateway metered it.
    pub evaluation_cost_usd: Option<f64>,
    /// The same of those that were scored in the end.
    pub finalization_cost_usd: Option<f64>,
    /// The mean duration of the trials that count and of which it is known, in seconds.
    pub seconds: Option<f64>,
}

impl Cell {
    /// What it comes to by a measure.
    pub fn by(&self, measure: Measure) -> Option<f64> {
        match measure {
            Measure::Reward => self.mean,
            Measure::Gain => self.relative_gain,
            Measure::Share => self.share,
        }
    }
}

/// The reward at which a trial succeeds: the stated one, else 1 if all rewards of these agents are 0 or 1.
pub(crate) fn success(agents: &[Cells], rules: &Rules) -> Option<f64> {
    let are_binary = || {
        let mut outcomes = agents.iter().flat_map(BTreeMap::values);
        rules.direction == Direction::Maximize && outcomes.all(|outcomes| is_binary(&outcomes.rewards))
    };
    rules.threshold.or_else(|| are_binary().then_some(1.0))
}

#[allow(clippy::float_cmp)] // Exactly these two numbers are meant.
fn is_binary(rewards: &[f64]) -> bool {
    rewards.iter().all(|reward| *reward == 0.0 || *reward == 1.0)
}

fn successes(rewards: &[f64], threshold: f64, direction: Direction) -> u64 {
    let is_success = |reward: &&f64| match direction {
        Direction::Maximize => **reward >= threshold,
        Direction::Minimize => **reward <= threshold,
    };
    rewards.iter().filter(is_success).count() as u64
}

/// Wilson's interval of rewards that are all 0 or 1.
fn binary_interval(rewards: &[f64]) -> Option<Interval> {
    if !is_binary(rewards) {
        return None;
    }
    wilson(successes(rewards, 1.0, Direction::Maximize), rewards.len() as u64)
}

/// What an interval says of rewards that are all 0 or 1: a mean of these lies between.
fn within_bounds(interval: Interval, outcomes: &[&Outcomes]) -> Interval {
    if !outcomes.iter().all(|outcomes| is_binary(&outcomes.rewards)) {
        return interval;
    }
    Interval { low: interval.low.max(0.0), high: interval.high.min(1.0), ..interval }
}

/// The row of an agent in a leaderboard, not yet ranked.
pub(crate) fn row(agent: Agent, label: String, cells: &Cells, rules: &Rules, success: Option<f64>) -> Row {
    let outcomes: Vec<&Outcomes> = cells.values().collect();
    let total = |count: fn(&Outcomes) -> u64| outcomes.iter().map(|outcomes| count(outcomes)).sum::<u64>();
    let counted: Vec<&Outcomes> =
        outcomes.iter().copied().filter(|outcomes| !outcomes.rewards.is_empty()).collect();
    let means: Vec<f64> =
        counted.iter().filter_map(|outcomes| mean(outcomes.rewards.iter().copied())).collect();
    let interval = match counted[..] {
        [one] => binary_interval(&one.rewards),
        _ => student(&means).map(|interval| within_bounds(interval, &counted)),
    };
    let pass = |k: &u32| {
        let estimates: Vec<f64> = success
            .into_iter()
            .flat_map(|threshold| counted.iter().map(move |outcomes| (threshold, &outcomes.rewards)))
            .filter_map(|(threshold, rewards)| {
                let successes = successes(rewards, threshold, rules.direction);
                pass_at_k(rewards.len() as u64, successes, u64::from(*k))
            })
            .collect();
        PassAtK { k: *k, tasks: estimates.len() as u64, mean: mean(estimates) }
    };
    Row {
        rank: None,
        label,
        agent,
        tasks: outcomes.len() as u64,
        tasks_counted: counted.len() as u64,
        complete: total(|outcomes| outcomes.complete),
        partial: total(|outcomes| outcomes.partial),
        missing: total(|outcomes| outcomes.missing),
        partial_counted: total(|outcomes| outcomes.partial_counted),
        mean: mean(means),
        planned_mean: planned_mean(&outcomes, rules),
        interval,
        gain: estimate(&outcomes, Measure::Gain),
        share: estimate(&outcomes, Measure::Share),
        pass_at_k: rules.k.iter().map(pass).collect(),
        cost_usd: spend(&outcomes, |outcomes| &outcomes.cost_usd),
        metered: total(|outcomes| outcomes.metered),
        evaluation_cost_usd: spend(&outcomes, |outcomes| &outcomes.evaluation_cost_usd),
        finalization_cost_usd: spend(&outcomes, |outcomes| &outcomes.finalization_cost_usd),
        seconds: spend(&outcomes, |outcomes| &outcomes.seconds),
        failures: failures(&outcomes, |outcomes| &outcomes.failures),
        flagged: failures(&outcomes, |outcomes| &outcomes.flagged),
    }
}

fn planned_mean(outcomes: &[&Outcomes], rules: &Rules) -> Option<f64> {
    if rules.direction == Direction::Minimize {
        return None;
    }
    mean(outcomes.iter().filter_map(|outcomes| planned(outcomes, outcomes.rewards.clone())))
}

/// The mean of the values of a task's trials that count, with nothing for each of the others that were planned.
fn planned(outcomes: &Outcomes, values: Vec<f64>) -> Option<f64> {
    let planned = outcomes.complete + outcomes.partial + outcomes.missing;
    let without = planned.saturating_sub(values.len() as u64);
    let zeros = std::iter::repeat_n(0.0, usize::try_from(without).unwrap_or_default());
    mean(values.into_iter().chain(zeros))
}

/// What an agent comes to by a measure that each task which counts must have.
fn estimate(outcomes: &[&Outcomes], measure: Measure) -> Option<Estimate> {
    let counted = outcomes.iter().filter(|outcomes| !outcomes.rewards.is_empty());
    let means: Vec<f64> = counted.map(|outcomes| mean(outcomes.values(measure)?)).collect::<Option<_>>()?;
    let all = outcomes
        .iter()
        .filter_map(|outcomes| planned(outcomes, outcomes.values(measure).unwrap_or_default()));
    Some(Estimate { planned_mean: mean(all), interval: student(&means), mean: mean(means)? })
}

fn spend(outcomes: &[&Outcomes], of: fn(&Outcomes) -> &Spent) -> Spend {
    let means = outcomes.iter().filter_map(|outcomes| mean(of(outcomes).counted.iter().copied()));
    let all: Vec<f64> = outcomes
        .iter()
        .flat_map(|outcomes| of(outcomes).counted.iter().chain(&of(outcomes).others))
        .copied()
        .collect();
    Spend {
        mean: mean(means),
        total: (!all.is_empty()).then(|| sum(all.iter().copied())),
        known: all.len() as u64,
        cut_short: outcomes.iter().map(|outcomes| of(outcomes).cut_short).sum(),
    }
}

fn failures(outcomes: &[&Outcomes], of: fn(&Outcomes) -> &BTreeMap<Failure, u64>) -> BTreeMap<Failure, u64> {
    let mut total = BTreeMap::new();
    for (failure, count) in outcomes.iter().flat_map(|outcomes| of(outcomes)) {
        *total.entry(*failure).or_default() += count;
    }
    total
}

/// What an agent did on a task.
pub(crate) fn cell(outcomes: &Outcomes, rules: &Rules, success: Option<f64>) -> Cell {
    let rewards = &outcomes.rewards;
    let by = |measure| outcomes.values(measure).and_then(mean);
    let is_known = outcomes.gains.len() == rewards.len();
    let of_one = |spent: &Spent| mean(spent.counted.iter().copied());
    Cell {
        complete: outcomes.complete,
        partial: outcomes.partial,
        missing: outcomes.missing,
        counted: rewards.len() as u64,
        mean: mean(rewards.iter().copied()),
        gain: mean(outcomes.gains.iter().map(|gain| gain.amount)).filter(|_| is_known),
        relative_gain: by(Measure::Gain),
        share: by(Measure::Share),
        interval: binary_interval(rewards),
        successes: success.map(|threshold| successes(rewards, threshold, rules.direction)),
        cost_usd: of_one(&outcomes.cost_usd),
        evaluation_cost_usd: of_one(&outcomes.evaluation_cost_usd),
        finalization_cost_usd: of_one(&outcomes.finalization_cost_usd),
        seconds: of_one(&outcomes.seconds),
    }
}
