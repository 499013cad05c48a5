//! Leaderboards of few trials, each number worked out by hand.

use proptest::prelude::*;
use taskwright_testing::test;

use super::*;
use crate::rank::statistics::{Direction, IntervalMethod};
use crate::record::{Agent, Failure, Score, Status};

fn agent(digest: &str, label: &str, configuration: &str) -> Agent {
    Agent {
        digest: digest.into(),
        label: label.into(),
        version: None,
        model: None,
        configuration: configuration.into(),
    }
}

fn score(agent: &str, task: &str, reward: f64) -> Score {
    Score {
        task: task.into(),
        agent_digest: agent.into(),
        status: Status::Complete,
        reward: Some(reward),
        ..Score::default()
    }
}

fn broken(agent: &str, task: &str, status: Status, failure: Option<Failure>) -> Score {
    Score { status, failure, reward: None, ..score(agent, task, 0.0) }
}

fn close(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() < 1e-12)
}

#[test]
fn tasks_count_alike_however_many_trials_they_have() {
    // Task a: 1, 1, 1, 0 = 3/4. Task b: 0. The mean over tasks is 3/8; over trials it would be 3/5.
    let scores = [
        score("x", "a", 1.0),
        score("x", "b", 0.0),
        score("x", "a", 1.0),
        score("x", "a", 0.0),
        score("x", "a", 1.0),
    ];
    let board = rank(scores, &[agent("x", "codex", "")], &Rules { k: vec![1, 2, 4, 5], ..Rules::default() });
    let row = &board.rows[0];
    assert_eq!(
        (row.rank, row.mean, row.tasks, row.tasks_counted, row.complete),
        (Some(1), Some(0.375), 2, 2, 5)
    );
    // Two tasks say little: 12.7 standard errors reach beyond 0 and 1, and all rewards are one of these.
    let interval = row.interval.unwrap();
    assert_eq!((interval.low, interval.high, interval.method), (0.0, 1.0, IntervalMethod::StudentT));
    // pass@1: the mean of 3/4 and 0. pass@2: on task a 1 - C(1,2)/C(4,2) = 1; task b has one trial only, and is left out,
    // as it is of pass@4. No task has five.
    let passes: Vec<_> = row.pass_at_k.iter().map(|pass| (pass.k, pass.mean, pass.tasks)).collect();
    assert_eq!(passes, [(1, Some(0.375), 2), (2, Some(1.0), 1), (4, Some(1.0), 1), (5, None, 0)]);
    assert_eq!(board.success, Some(1.0));
    let cells: Vec<_> =
        board.tasks.iter().map(|task| (task.task.as_str(), task.cells[0].as_ref().unwrap())).collect();
    assert_eq!(
        (cells[0].0, cells[0].1.mean, cells[0].1.counted, cells[0].1.successes),
        ("a", Some(0.75), 4, Some(3))
    );
    assert_eq!(
        (cells[1].0, cells[1].1.mean, cells[1].1.interval.unwrap().method),
        ("b", Some(0.0), IntervalMethod::Wilson)
    );
}

#[test]
fn what_infrastructure_broke_is_never_a_zero() {
    let scores = || {
        [
            score("x", "a", 1.0),
            broken("x", "a", Status::Partial, Some(Failure::Infrastructure)),
            broken("x", "a", Status::Partial, Some(Failure::Cancelled)),
            broken("x", "b", Status::Partial, Some(Failure::Candidate)),
            broken("x", "b", Status::Partial, None),
            broken("x", "c", Status::Missing, None),
            Score { failure: Some(Failure::Timeout), ..score("x", "d", 0.5) },
        ]
    };
    let board = rank(scores(), &[], &Rules::default());
    let row = &board.rows[0];
    assert_eq!((row.complete, row.partial, row.missing, row.partial_counted), (2, 4, 1, 0));
    assert_eq!((row.tasks, row.tasks_counted, row.mean), (4, 2, Some(0.75)));
    assert_eq!(row.failures.values().copied().collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(row.flagged.get(&Failure::Timeout), Some(&1));

    let rules = Rules { partial: Some(0.0), ..Rules::default() };
    let board = rank(scores(), &[], &rules);
    let row = &board.rows[0];
    // Task a: 1 as before. Task b: two partial trials as 0. Task d: 1/2. The mean of 1, 0 and 1/2 is 1/2.
    assert_eq!((row.mean, row.tasks_counted, row.partial_counted, row.complete), (Some(0.5), 3, 2, 2));
    assert_eq!(board.notes[0], Note::PartialCounted { trials: 2, value: 0.0 });
}

#[test]
fn without_trials_that_count_there_is_no_number() {
    let board = rank([], &[], &Rules::default());
    assert!(board.rows.is_empty() && board.tasks.is_empty() && board.notes.is_empty());
    let scores = [
        broken("x", "a", Status::Missing, None),
        broken("y", "a", Status::Partial, None),
        Score { reward: Some(f64::NAN), ..score("y", "a", 0.0) },
        Score { reward: Some(f64::MAX), ..score("y", "a", 0.0) },
        Score { reward: None, ..score("y", "a", 0.0) },
        Score { cost_usd: Some(f64::INFINITY), ..score("z", "a", -1.0) },
    ];
    let board = rank(scores, &[], &Rules::default());
    let rows: Vec<_> =
        board.rows.iter().map(|row| (row.label.as_str(), row.rank, row.mean, row.partial)).collect();
    assert_eq!(rows, [("z", Some(1), Some(-1.0), 0), ("x", None, None, 0), ("y", None, None, 4)]);
    assert_eq!(board.rows[0].interval, None, "a single task, not of zeros and ones");
    assert_eq!(board.rows[0].cost_usd.total, None);
    assert_eq!(board.rows[1].interval, None);
    assert!(board.notes.contains(&Note::NoThreshold));
    assert!(!serde_json::to_string(&board).unwrap().contains("NaN"));
}

#[test]
fn a_single_task_of_zeros_and_ones_has_wilsons_interval() {
    let scores = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0].map(|reward| score("x", "a", reward));
    let board = rank(scores, &[], &Rules::default());
    let interval = board.rows[0].interval.unwrap();
    assert_eq!(interval.method, IntervalMethod::Wilson);
    // 7 of 10, as in the statistics' own test.
    assert!(
        close(Some(interval.low), 0.396_778_147_461_145_26)
            && close(Some(interval.high), 0.892_208_732_593_699)
    );
}

#[test]
fn ranks_go_by_mean_then_tasks_then_name_and_ties_share_one() {
    let scores = || {
        [
            score("c", "a", 0.5),
            score("b", "a", 0.5),
            score("b", "b", 0.5),
            score("d", "a", 0.9),
            score("a", "a", 0.1),
            score("e", "a", 0.5),
        ]
    };
    let ranks = |rules: &Rules| -> Vec<(String, u32)> {
        rank(scores(), &[], rules).rows.into_iter().map(|row| (row.label, row.rank.unwrap())).collect()
    };
    let named = |ranks: [(&str, u32); 5]| ranks.map(|(name, rank)| (name.to_owned(), rank));
    assert_eq!(ranks(&Rules::default()), named([("d", 1), ("b", 2), ("c", 2), ("e", 2), ("a", 5)]));
    let least = Rules { direction: Direction::Minimize, ..Rules::default() };
    assert_eq!(ranks(&least), named([("a", 1), ("b", 2), ("c", 2), ("e", 2), ("d", 5)]));
    assert!(rank(scores(), &[], &least).notes.contains(&Note::DifferentTasks { tasks: vec!["b".into()] }));
}

#[test]
fn a_task_that_changed_between_trials_that_count_is_named() {
    let of = |task: &str, digest: Option<&str>| Score {
        task_digest: digest.map(str::to_owned),
        ..score("x", task, 1.0)
    };
    let scores = [
        of("same", Some("1")),
        of("same", Some("1")),
        of("same", None),
        of("other", Some("1")),
        Score { task_digest: Some("2".into()), ..broken("x", "same", Status::Partial, None) },
        Score { agent_digest: "y".into(), ..of("other", Some("2")) },
    ];
    let notes = rank(scores, &[], &Rules::default()).notes;
    assert!(notes.contains(&Note::ChangedTasks { tasks: vec!["other".into()] }), "{notes:?}");
}

#[test]
fn success_is_at_a_stated_reward_or_at_one() {
    let scores = || [score("x", "a", 0.2), score("x", "a", 0.6), score("x", "a", 0.7), score("x", "a", 1.0)];
    let pass = |rules: Rules| rank(scores(), &[], &rules).rows[0].pass_at_k[0].mean;
    assert_eq!(pass(Rules::default()), None, "not all rewards are 0 or 1");
    assert_eq!(pass(Rules { threshold: Some(0.6), ..Rules::default() }), Some(0.75));
    let least = Rules { direction: Direction::Minimize, ..Rules::default() };
    assert_eq!(pass(Rules { threshold: Some(0.6), ..least.clone() }), Some(0.5));
    let zeros = rank([score("x", "a", 0.0)], &[], &least);
    assert_eq!(
        (zeros.success, zeros.rows[0].pass_at_k[0].mean),
        (None, None),
        "smaller is better: 1 is no success"
    );
}

#[test]
fn money_and_time_are_averaged_as_rewards_are() {
    let spent = |task: &str, cost: Option<f64>, seconds: f64| Score {
        cost_usd: cost,
        seconds: Some(seconds),
        ..score("x", task, 1.0)
    };
    let scores = [
        spent("a", Some(1.0), 10.0),
        spent("a", Some(3.0), 20.0),
        spent("b", Some(4.0), 45.0),
        spent("b", None, 15.0),
        Score { cost_usd: Some(100.0), ..broken("x", "b", Status::Partial, None) },
    ];
    let row = rank(scores, &[], &Rules::default()).rows.remove(0);
    // Task a: 2 $ and 15 s; task b: 4 $ and 30 s. What a broken trial cost is in the total only.
    assert_eq!((row.cost_usd.mean, row.cost_usd.total, row.cost_usd.known), (Some(3.0), Some(108.0), 4));
    assert_eq!((row.seconds.mean, row.seconds.total, row.seconds.known), (Some(22.5), Some(90.0), 4));
}

#[test]
fn agents_of_one_name_are_told_apart_by_what_differs() {
    let configured = |digest: &str, kwargs: &str| {
        agent(digest, "codex", &format!(r#"{{"configuration":{{"name":"codex","kwargs":{kwargs}}}}}"#))
    };
    let model = |digest: &str, model: &str| Agent {
        model: Some(model.into()),
        configuration: format!(r#"{{"configuration":{{"model_name":"{model}"}}}}"#),
        ..agent(digest, "claude", "")
    };
    let long = "m".repeat(200);
    let agents = [
        configured("1", r#"{"effort":"high"}"#),
        configured("2", r#"{"effort":"low","turns":9}"#),
        agent("3", "oracle", "{}"),
        model("4", "one"),
        model("5", "two"),
        agent("666666666666aa", "same", "{}"),
        agent("666666666666bb", "same", "not json"),
        agent("7", "deep", &format!(r#"{{"configuration":{{"prompt":"{long}1"}}}}"#)),
        agent("8", "deep", &format!(r#"{{"configuration":{{"prompt":"{long}2"}}}}"#)),
    ];
    let mut labels = labels(&agents);
    assert_eq!(
        labels,
        [
            "codex (effort=high, turns=-)",
            "codex (effort=low, turns=9)",
            "oracle",
            "claude (model=one)",
            "claude (model=two)",
            "same #666666666666aa",
            "same #666666666666bb",
            "deep #7",
            "deep #8"
        ]
    );
    labels.sort_unstable();
    labels.dedup();
    assert_eq!(labels.len(), agents.len());
}

fn any_score() -> impl Strategy<Value = Score> {
    let status =
        prop_oneof![4 => Just(Status::Complete), 1 => Just(Status::Partial), 1 => Just(Status::Missing)];
    let failure = prop_oneof![2 => Just(None), 1 => Just(Some(Failure::Infrastructure)), 1 => Just(Some(Failure::Timeout))];
    let number = prop_oneof![Just(None), Just(Some(f64::NAN)), (0.0..1.0).prop_map(Some), Just(Some(1.0))];
    ("[xyz]", "[abcdef]", status, failure, number.clone(), number.clone(), number).prop_map(
        |(agent_digest, task, status, failure, reward, cost_usd, seconds)| Score {
            task,
            agent_digest,
            status,
            failure,
            reward,
            cost_usd,
            seconds,
            ..Score::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// The bytes of the answer, not only its numbers.
    #[test]
    fn the_order_of_trials_changes_nothing_and_none_is_lost((scores, other) in prop::collection::vec(any_score(), 0..60)
        .prop_flat_map(|scores| (Just(scores.clone()), Just(scores).prop_shuffle())))
    {
        for rules in [Rules::default(), Rules { partial: Some(0.25), threshold: Some(0.5), k: vec![1, 3], ..Rules::default() }] {
            let board = rank(scores.clone(), &[], &rules);
            let text = serde_json::to_string(&board).unwrap();
            prop_assert_eq!(&text, &serde_json::to_string(&rank(other.clone(), &[], &rules)).unwrap());
            let trials: u64 = board.rows.iter().map(|row| row.complete + row.partial + row.missing).sum();
            prop_assert_eq!(trials, scores.len() as u64);
            for row in &board.rows {
                prop_assert_eq!(row.mean.is_some(), row.tasks_counted > 0);
                prop_assert!(row.partial_counted <= row.partial && row.tasks_counted <= row.tasks);
            }
        }
    }
}
