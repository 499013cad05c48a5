//! Reward against cost: which agents are worth their money.

use serde::Serialize;

use super::numbers::{Number, dollars, grouped, reward};
use super::scale::{Scale, Tick, label, percent};
use super::subject::Subject;
use crate::rank::leaderboard::{Estimate, Row, direction};
use crate::rank::statistics::{Direction, Measure};

#[derive(Serialize)]
pub struct Section {
    about: String,
    axis: String,
    /// What agents are ranked by, in a word.
    measure: &'static str,
    across: Vec<Tick>,
    up: Vec<Tick>,
    points: Vec<Point>,
    /// The line that no agent is beyond: of all agents that cost at most so much, the best.
    frontier: Vec<Line>,
    /// What language models cost by who asked; empty where no gateway metered anything.
    spent: Vec<Spent>,
}

/// What language models cost in a trial of an agent.
#[derive(Serialize)]
struct Spent {
    number: usize,
    mark: String,
    name: String,
    /// The agent itself.
    agent: Number,
    /// Who says so.
    source: String,
    /// Candidates in the search, and in the end.
    search: Number,
    end: Number,
}

#[derive(Serialize)]
struct Point {
    number: usize,
    mark: String,
    name: String,
    x: String,
    y: String,
    /// The ends of the interval.
    low: Option<String>,
    high: Option<String>,
    cost: Number,
    reward: Number,
    /// The marks of the agents that are better and no dearer.
    beaten: String,
    says: String,
}

#[derive(Serialize)]
struct Line {
    x1: String,
    y1: String,
    x2: String,
    y2: String,
}

/// An agent with both numbers: what it cost, and what agents are ranked by.
struct Agent<'a> {
    found: Estimate,
    number: usize,
    mark: &'a str,
    name: &'a str,
    cost: f64,
    reward: f64,
}

#[expect(clippy::too_many_lines, reason = "one picture, from top to bottom")]
pub fn section(subject: &Subject<'_>) -> Section {
    let measure = subject.board.ranked_by;
    let agents: Vec<Agent<'_>> = subject
        .rows()
        .filter_map(|(row, agent)| {
            let (cost, found) = (row.cost_usd.mean?, row.by(measure)?);
            let (mark, name) = (agent.mark.as_str(), agent.name.as_str());
            Some(Agent { found, number: agent.number, mark, name, cost, reward: found.mean })
        })
        .collect();
    let without: Vec<&str> = subject
        .agents
        .iter()
        .filter(|agent| agents.iter().all(|known| known.number != agent.number))
        .map(|agent| agent.name.as_str())
        .collect();
    let costs = Scale::of_costs(agents.iter().map(|agent| agent.cost));
    let ends = |agent: &Agent<'_>| agent.found.interval.map(|interval| [interval.low, interval.high]);
    let rewards =
        agents.iter().flat_map(|agent| ends(agent).unwrap_or_default().into_iter().chain([agent.reward]));
    let rewards = Scale::around(rewards.collect::<Vec<_>>(), 5.0);
    let x = |cost: f64| percent(costs.share(cost));
    let y = |reward: f64| percent(1.0 - rewards.share(reward));
    let direction = direction(measure, &subject.board.rules);
    let what = measure_name(measure);
    Section {
        spent: spent(subject),
        about: about(agents.len(), &without),
        measure: measure.word(),
        axis: format!(
            "Across: mean cost of a trial in US dollars{}. Up: mean {what}, with its 95 % interval.",
            if costs.is_logarithmic() { ", in powers of ten" } else { "" }
        ),
        across: costs
            .ticks()
            .into_iter()
            .map(|tick| Tick { at: x(tick), label: format!("${}", label(tick)) })
            .collect(),
        up: rewards.ticks().into_iter().map(|tick| Tick { at: y(tick), label: label(tick) }).collect(),
        frontier: frontier(&agents, direction)
            .windows(2)
            .flat_map(|pair| {
                let ((from, low), (to, high)) = (pair[0], pair[1]);
                [(from, low, to, low), (to, low, to, high)]
            })
            .map(|(x1, y1, x2, y2)| Line { x1: x(x1), y1: y(y1), x2: x(x2), y2: y(y2) })
            .collect(),
        points: agents
            .iter()
            .map(|agent| Point {
                number: agent.number,
                mark: agent.mark.to_owned(),
                name: agent.name.to_owned(),
                x: x(agent.cost),
                y: y(agent.reward),
                low: ends(agent).map(|[low, _]| y(low)),
                high: ends(agent).map(|[_, high]| y(high)),
                cost: Number::dollars(Some(agent.cost)),
                reward: Number::reward(Some(agent.reward)),
                beaten: beaten(agent, &agents, direction),
                says: format!(
                    "{}: {what} {}, {} a trial",
                    agent.name,
                    reward(agent.reward),
                    dollars(agent.cost)
                ),
            })
            .collect(),
    }
}

/// A line for each agent of which a gateway metered anything.
fn spent(subject: &Subject<'_>) -> Vec<Spent> {
    let is_metered = |row: &Row| {
        row.metered > 0 || row.evaluation_cost_usd.known > 0 || row.finalization_cost_usd.known > 0
    };
    let rows = subject.rows().filter(|(row, _)| is_metered(row));
    rows.map(|(row, agent)| Spent {
        number: agent.number,
        mark: agent.mark.clone(),
        name: agent.name.clone(),
        agent: Number::dollars(row.cost_usd.mean),
        source: source(row),
        search: Number::dollars(row.evaluation_cost_usd.mean),
        end: Number::dollars(row.finalization_cost_usd.mean),
    })
    .collect()
}

/// Who says what an agent cost.
fn source(row: &Row) -> String {
    match (row.metered, row.cost_usd.known) {
        (_, 0) => "–".to_owned(),
        (0, _) => "the agent".to_owned(),
        (metered, known) if metered == known => "the gateway".to_owned(),
        (metered, known) => format!("the gateway in {} of {} trials", grouped(metered), grouped(known)),
    }
}

fn measure_name(measure: Measure) -> &'static str {
    match measure {
        Measure::Reward => "reward",
        Measure::Gain => "gain as a part of the baseline's reward",
        Measure::Share => "share of the solutions' gain",
    }
}

/// Cost and reward of the agents that are better than every cheaper one, by cost.
fn frontier(agents: &[Agent<'_>], direction: Direction) -> Vec<(f64, f64)> {
    let mut sorted: Vec<(f64, f64)> = agents.iter().map(|agent| (agent.cost, agent.reward)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| worse(a.1, b.1, direction)));
    let mut frontier: Vec<(f64, f64)> = Vec::new();
    for point in sorted {
        if frontier.last().is_none_or(|last| worse(last.1, point.1, direction).is_gt()) {
            frontier.push(point);
        }
    }
    frontier
}

/// The order of rewards from the best to the worst.
fn worse(a: f64, b: f64, direction: Direction) -> std::cmp::Ordering {
    match direction {
        Direction::Maximize => b.total_cmp(&a),
        Direction::Minimize => a.total_cmp(&b),
    }
}

/// The marks of the agents that are better for no more money.
fn beaten(agent: &Agent<'_>, agents: &[Agent<'_>], direction: Direction) -> String {
    let by = agents
        .iter()
        .filter(|other| other.cost <= agent.cost && worse(other.reward, agent.reward, direction).is_lt());
    let marks: Vec<&str> = by.map(|other| other.mark).collect();
    if marks.is_empty() { "none".to_owned() } else { marks.join(", ") }
}

fn about(known: usize, without: &[&str]) -> String {
    let line = "The stepped line joins the agents that no other beats for the same money or less.";
    match (known, without) {
        (0, _) => "No trial that counts says what it cost.".to_owned(),
        (_, []) => line.to_owned(),
        _ => format!("{line} Nothing is known of what these cost: {}.", without.join(", ")),
    }
}
