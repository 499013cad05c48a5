//! How the rewards of each agent's trials are spread.

use serde::Serialize;

use super::numbers::{float, how_many, reward};
use super::scale::{BINS, label, percent};
use super::subject::{Agent, Subject};

#[derive(Serialize)]
pub struct Section {
    about: String,
    low: String,
    high: String,
    /// What each bar holds, in words.
    bins: Vec<String>,
    rows: Vec<Histogram>,
}

#[derive(Serialize)]
struct Histogram {
    number: usize,
    mark: String,
    name: String,
    count: String,
    /// Where the mean of the leaderboard lies.
    mean: Option<String>,
    bins: Vec<Bar>,
}

#[derive(Serialize)]
struct Bar {
    agent: usize,
    bin: u8,
    x: String,
    width: String,
    y: String,
    height: String,
    says: String,
}

pub fn section(subject: &Subject<'_>) -> Section {
    let names = bin_names(subject);
    let counts: Vec<[u64; BINS as usize]> =
        subject.agents.iter().map(|agent| counts(subject, agent)).collect();
    // All agents are drawn to one scale: the share of an agent's trials that a bar holds.
    let tallest = counts.iter().flat_map(|bins| bins.iter().map(|bin| share(*bin, bins))).fold(0.0, f64::max);
    let rows = subject.rows().zip(&counts).map(|((row, agent), bins)| Histogram {
        number: agent.number,
        mark: agent.mark.clone(),
        name: agent.name.clone(),
        count: how_many(bins.iter().sum(), "trial"),
        mean: row.mean.map(|mean| percent(subject.scale.share(mean))),
        bins: (0..BINS)
            .zip(bins)
            .filter(|(_, count)| **count > 0)
            .map(|(bin, count)| {
                let height = (share(*count, bins) / tallest).max(0.03);
                Bar {
                    agent: agent.number,
                    bin,
                    x: percent((f64::from(bin) + 0.06) / f64::from(BINS)),
                    width: percent(0.88 / f64::from(BINS)),
                    y: percent(1.0 - height),
                    height: percent(height),
                    says: format!("{}: {}", names[usize::from(bin)], how_many(*count, "trial")),
                }
            })
            .collect(),
    });
    Section {
        about: format!(
            "The rewards of complete trials in {BINS} bars of equal width, each as high as its share of the agent's \
             trials. The line is the agent's mean in the leaderboard. A bar leads to its trials.{}",
            subject.about_scale()
        ),
        low: label(subject.scale.low),
        high: label(subject.scale.high),
        rows: rows.collect(),
        bins: names,
    }
}

fn counts(subject: &Subject<'_>, agent: &Agent) -> [u64; BINS as usize] {
    let mut bins = [0; BINS as usize];
    for placed in subject.of_agent(agent.number).iter().filter(|placed| placed.is_complete()) {
        if let Some(reward) = placed.reward {
            bins[usize::from(subject.scale.bin(reward))] += 1;
        }
    }
    bins
}

fn share(bin: u64, bins: &[u64]) -> f64 {
    float(bin) / float(bins.iter().sum::<u64>().max(1))
}

fn bin_names(subject: &Subject<'_>) -> Vec<String> {
    let ends = |bin| {
        (
            subject.scale.bin_start(bin),
            if bin + 1 == BINS { subject.scale.high } else { subject.scale.bin_start(bin + 1) },
        )
    };
    (0..BINS).map(ends).map(|(from, to)| format!("{} to {}", reward(from), reward(to))).collect()
}
