//! The page says what the leaderboard says, and what was made of the same trials by hand.

use std::collections::BTreeMap;

use taskwright_ledger::leaderboard::{Leaderboard, Rules};
use taskwright_ledger::patterns::TaskPatterns;
use taskwright_ledger::record::{Failure, Metered, Status, Tokens, Used};
use taskwright_ledger::{Filter, Ledger};
use taskwright_testing::test;

use crate::demonstration::{Demonstration, demonstration};
use crate::{page, rules};

/// The text between two others, and what follows.
fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<(&'a str, &'a str)> {
    let (_, rest) = text.split_once(from)?;
    rest.split_once(to)
}

/// Every element that begins so, up to where it ends.
fn all<'a>(mut text: &'a str, from: &str, to: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    while let Some((one, rest)) = between(text, from, to) {
        found.push(one);
        text = rest;
    }
    found
}

/// The numbers that an element says it is, by what they are.
fn numbers(row: &str) -> BTreeMap<String, Option<f64>> {
    let attribute =
        |tag: &str, name: &str| between(tag, &format!(" {name}=\""), "\"").map(|(value, _)| value.to_owned());
    all(row, "<", ">")
        .into_iter()
        .filter_map(|tag| Some((attribute(tag, "data-is")?, attribute(tag, "data-v")?)))
        .map(|(name, value)| (name, (!value.is_empty()).then(|| value.parse().unwrap())))
        .collect()
}

/// The leaderboard of these trials, as the command makes it: by way of a database.
fn board(demonstration: &Demonstration, rules: &Rules) -> Leaderboard {
    let directory = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(directory.path()).unwrap();
    ledger.add(&demonstration.agents, &demonstration.trials).unwrap();
    ledger.leaderboard(&Filter::default(), &TaskPatterns::default(), rules).unwrap()
}

#[test]
#[allow(clippy::cast_precision_loss, clippy::float_cmp)]
fn every_number_is_the_leaderboards() {
    let demonstration = demonstration(3);
    let board = board(&demonstration, &rules());
    let page = page(&demonstration.agents, &demonstration.trials);

    let rows = all(&page, "<tr role=\"row\" data-agent=", "</tr>");
    assert_eq!(rows.len(), board.rows.len());
    for (html, row) in rows.iter().zip(&board.rows) {
        let numbers = numbers(html);
        let is = |name: &str, value: Option<f64>| {
            assert_eq!(numbers.get(name).copied().flatten(), value, "{name} of {}", row.label);
        };
        is("reward", row.mean);
        let interval = row.interval.filter(|interval| !interval.is_degenerate());
        is("low", interval.map(|interval| interval.low));
        is("high", interval.map(|interval| interval.high));
        is("tasks", Some(row.tasks_counted as f64));
        is("complete", Some(row.complete as f64));
        is("partial", Some(row.partial as f64));
        is("missing", Some(row.missing as f64));
        is("cost", row.cost_usd.mean);
        is("seconds", row.seconds.mean);
        for pass in &row.pass_at_k {
            is(&format!("pass-{}", pass.k), pass.mean);
        }
    }

    let (heat, _) = between(&page, "<table class=\"heat\"", "</table>").unwrap();
    let lines = all(heat, "<tr id=\"k-", "</tr>");
    assert_eq!(lines.len(), board.tasks.len());
    for (html, task) in lines.iter().zip(&board.tasks) {
        let values: Vec<Option<f64>> = all(html, "data-v=\"", "\"")
            .into_iter()
            .map(|value| (!value.is_empty()).then(|| value.parse().unwrap()))
            .collect();
        let means: Vec<Option<f64>> = task.cells.iter().map(|cell| cell.as_ref()?.mean).collect();
        assert_eq!(values, means, "{}", task.task);
    }

    let (failures, _) = between(&page, "<table class=\"failures\"", "</table>").unwrap();
    let lines = all(failures, "<tr><td class=\"rank\"", "</tr>");
    assert_eq!(lines.len(), board.rows.len());
    for (html, row) in lines.iter().zip(&board.rows) {
        let numbers = numbers(html);
        for failure in Failure::ALL {
            let count = row.failures.get(failure).copied().unwrap_or(0) as f64;
            assert_eq!(numbers.get(failure.word()).copied().flatten().unwrap_or(0.0), count, "{failure}");
        }
        assert_eq!(numbers["missing"], Some(row.missing as f64));
        assert_eq!(numbers["graded"], Some(row.flagged.values().sum::<u64>() as f64));
    }
}

/// The mean of each agent by hand, without anything of ours.
#[test]
#[allow(clippy::cast_precision_loss)]
fn means_are_those_that_one_works_out_by_hand() {
    let demonstration = demonstration(3);
    let page = page(&demonstration.agents, &demonstration.trials);
    let mut by_agent: BTreeMap<&str, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for trial in demonstration.trials.iter().filter(|trial| trial.status == Status::Complete) {
        let tasks = by_agent.entry(&trial.agent_digest).or_default();
        tasks.entry(&trial.task).or_default().push(trial.reward.unwrap());
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    for html in all(&page, "<tr role=\"row\" data-agent=", "</tr>") {
        let agent = demonstration.agents.iter().find(|agent| html.contains(&agent.digest[..8])).unwrap();
        let means: Vec<f64> = by_agent[agent.digest.as_str()].values().map(|rewards| mean(rewards)).collect();
        let shown = numbers(html)["reward"].unwrap();
        assert!((shown - mean(&means)).abs() < 1e-12, "{shown} {}", agent.label);
    }
}

/// Of two agents one asked through a gateway, in each second of its trials; the others' costs are their own word.
#[test]
#[allow(clippy::cast_precision_loss)]
fn what_gateways_metered_stands_by_who_asked_and_is_the_leaderboards() {
    let plain = demonstration(2);
    assert!(!page(&plain.agents, &plain.trials).contains("spent-title"));
    let mut metered = demonstration(2);
    let digest = metered.agents[2].digest.clone();
    let used = |requests: usize, cost: f64| Used {
        requests: Some(requests as u64),
        tokens: Tokens { input: Some(1000), cached: Some(10), output: Some(100) },
        cost_usd: Some(cost),
    };
    let of_agent =
        metered.trials.iter_mut().filter(|trial| trial.agent_digest == digest && trial.cost_usd.is_some());
    for (place, trial) in of_agent.enumerate().filter(|(place, _)| place % 2 == 0) {
        let metered = Metered {
            producer: used(1 + place, 0.01 * (1 + place) as f64),
            evaluation: used(20, 2.5),
            finalization: used(5, 0.75),
        };
        let claimed = trial.claimed;
        *trial = std::mem::take(trial).spending(claimed, metered);
    }
    let board = board(&metered, &rules());
    let page = page(&metered.agents, &metered.trials);
    let (table, _) = between(&page, "<table class=\"small spent\">", "</table>").unwrap();
    let lines = all(table, "<tr data-spent=", "</tr>");
    assert_eq!(lines.len(), 1);
    let row = board.rows.iter().find(|row| row.agent.digest == digest).unwrap();
    let shown = numbers(lines[0]);
    assert_eq!(shown["agent"], row.cost_usd.mean);
    assert_eq!((shown["search"], shown["end"]), (Some(2.5), Some(0.75)));
    let said = format!("the gateway in {} of {} trials", row.metered, row.cost_usd.known);
    assert!(row.metered > 0 && row.metered < row.cost_usd.known && lines[0].contains(&said), "{said}");
    // A trial shows both words for its cost.
    let (one, _) = between(&page, "metered, search</dt><dd>", "</dd>").unwrap();
    assert_eq!(one, "20 requests, 1.0 k read, 10 of these cached, 100 written, $2.50");
    assert!(page.contains("$0.0100 metered, $") && page.contains("<dt>Candidates’ cost</dt>"));
}

#[test]
fn the_same_trials_give_the_same_bytes() {
    let mut demonstration = demonstration(2);
    let page = page(&demonstration.agents, &demonstration.trials);
    demonstration.trials.reverse();
    demonstration.agents.reverse();
    assert!(page == crate::page(&demonstration.agents, &demonstration.trials));
}

/// Agents that share a rank are told apart by the same letter in the leaderboard, the map, the plot and the table.
#[test]
fn an_agent_has_one_mark_everywhere() {
    let mut demonstration = demonstration(2);
    for trial in demonstration.trials.iter_mut().filter(|trial| trial.status == Status::Complete) {
        trial.reward = Some(1.0);
        trial.rewards[0].value = Some(1.0);
    }
    let page = page(&demonstration.agents, &demonstration.trials);
    let marks = |from: &str, to: &str| -> Vec<&str> {
        let (part, _) = between(&page, from, to).unwrap();
        all(part, "class=\"rank\"", "<")
            .into_iter()
            .filter_map(|mark| mark.split_once('>'))
            .map(|(_, mark)| mark)
            .filter(|mark| *mark != "#")
            .collect()
    };
    let leaderboard = marks("<section id=\"leaderboard\"", "</section>");
    assert!(leaderboard.starts_with(&["1a", "1b"]), "{leaderboard:?}");
    assert_eq!(marks("<table class=\"heat\"", "</thead>"), leaderboard);
    assert_eq!(marks("<section id=\"rewards\"", "</section>"), leaderboard);
    assert_eq!(marks("<table class=\"failures\"", "</section>"), leaderboard);
}

#[test]
fn an_empty_ledger_has_a_page_too() {
    let page = page(&[], &[]);
    assert!(page.contains("The ledger holds no trial"));
}
