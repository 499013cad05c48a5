//! Rewards of different kinds: what they are held against comes from verdicts and from the agents `nop` and `oracle`.

use taskwright_testing::test;

use super::*;
use crate::rank::leaderboard::{Leaderboard, Note, Rules};
use crate::rank::patterns::TaskPatterns;
use crate::rank::statistics::{Direction, Measure};

/// A trial by an agent of another name, with the verdict of a task of ours if a baseline is given.
fn trial(job: &JobDir, agent: &str, task: &str, reward: f64, verdict: Option<(Option<f64>, &str)>) {
    let trial = job.trial(task, &format!("{agent}-{task}"), &reward.to_string());
    let path = trial.join("result.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"oracle\"", &format!("\"{agent}\""))).unwrap();
    if let Some((baseline, direction)) = verdict {
        let baseline = baseline.map_or_else(|| "null".to_owned(), |baseline| baseline.to_string());
        let verdict = format!(
            r#"{{"verdict_version": 1, "outcome": "scored", "targets": [{{"split": "test", "reward_key": "reward",
                "score": {reward}, "direction": "{direction}", "baseline": {baseline}}}]}}"#
        );
        fs::write(trial.join("verifier/details.json"), verdict).unwrap();
    }
}

fn board(fixture: &Fixture, filter: &Filter, rules: &Rules) -> Leaderboard {
    fixture.ledger.leaderboard(filter, &TaskPatterns::default(), rules).unwrap()
}

/// Each agent with what it is ranked by, rounded.
fn ranked(board: &Leaderboard) -> Vec<(u32, &str, f64)> {
    let shown = |mean: f64| (mean * 1000.0).round() / 1000.0;
    let row = |row: &crate::rank::leaderboard::Row| row.by(board.ranked_by).map(|found| shown(found.mean));
    board.rows.iter().filter_map(|one| Some((one.rank?, one.label.as_str(), row(one)?))).collect()
}

/// A sum of radii, an accuracy, and seconds.
fn three_kinds() -> Fixture {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    job.plan(&["radii", "digits", "seconds"]);
    for (agent, radii, digits, seconds) in [
        ("oracle", 2.6, 0.96, 2.0),
        ("nop", 2.0, 0.88, 10.0),
        ("codex", 2.3, 0.98, 6.0),
        ("bold", 2.9, 0.5, 12.0),
    ] {
        trial(&job, agent, "radii", radii, Some((Some(2.0), "maximize")));
        trial(&job, agent, "digits", digits, Some((None, "maximize")));
        trial(&job, agent, "seconds", seconds, Some((Some(10.0), "minimize")));
    }
    fixture.again();
    fixture
}

#[test]
fn agents_are_ranked_by_their_share_of_the_solutions_gain_where_rewards_are_of_different_kinds() {
    let fixture = three_kinds();
    let found = board(&fixture, &Filter::default(), &Rules::default());
    assert_eq!(found.ranked_by, Measure::Share);
    // codex: half of 0.6, 1.25 of 0.08 (the baseline is what `nop` had), half of 8. bold: 1.5, -4.75, -0.25.
    assert_eq!(
        ranked(&found),
        [(1, "oracle", 1.0), (2, "codex", 0.75), (3, "nop", 0.0), (4, "bold", -1.167)]
    );
    let codex = &found.rows[1];
    let cells: Vec<_> = found.tasks.iter().map(|task| task.cells[1].as_ref().unwrap()).collect();
    let gains: Vec<_> = cells.iter().map(|cell| (cell.gain.unwrap() * 100.0).round()).collect();
    assert_eq!(gains, [10.0, 30.0, 400.0], "digits, radii, seconds, each in its own units");
    let known: Vec<_> = found.tasks.iter().map(|task| (task.baseline, task.oracle, task.direction)).collect();
    assert_eq!(
        known,
        [
            (Some(0.88), Some(0.96), Some(Direction::Maximize)),
            (Some(2.0), Some(2.6), Some(Direction::Maximize)),
            (Some(10.0), Some(2.0), Some(Direction::Minimize))
        ]
    );
    assert!(codex.share.unwrap().interval.is_some());
    assert!(found.is_mixed(), "the mean is marked");
    assert!(!found.notes.iter().any(|note| matches!(note, Note::OtherDirection { .. })));
    // Whichever trials are asked for, the ledger knows what they are held against.
    let of_codex = Filter { agent: Some("codex".into()), ..Filter::default() };
    assert_eq!(ranked(&board(&fixture, &of_codex, &Rules::default())), [(1, "codex", 0.75)]);
    assert!(fixture.is_sound());
}

#[test]
fn without_solutions_the_gain_over_the_baseline_ranks_and_without_baselines_the_marked_mean() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    job.plan(&["radii", "digits"]);
    for (agent, radii, digits) in [("codex", 2.2, 0.98), ("bold", 2.4, 0.88)] {
        trial(&job, agent, "radii", radii, Some((Some(2.0), "maximize")));
        trial(&job, agent, "digits", digits, Some((Some(0.88), "maximize")));
    }
    fixture.again();
    let found = board(&fixture, &Filter::default(), &Rules::default());
    assert_eq!(found.ranked_by, Measure::Gain);
    assert_eq!(ranked(&found), [(1, "codex", 0.107), (2, "bold", 0.1)]);
    // The mean would have it the other way round: 1.59 and 1.64.
    let by_mean =
        board(&fixture, &Filter::default(), &Rules { rank_by: Some(Measure::Reward), ..Rules::default() });
    assert_eq!(by_mean.rows[0].label, "bold");

    trial(&fixture.job("two"), "codex", "other", 0.5, None);
    fixture.again();
    let found = board(&fixture, &Filter::default(), &Rules::default());
    assert_eq!(found.ranked_by, Measure::Reward);
    let note = found.notes.iter().find_map(|note| match note {
        Note::DifferentScales { without_baseline, .. } => Some(without_baseline.clone()),
        _ => None,
    });
    assert_eq!(note, Some(vec!["acme/other".to_owned()]));
    let rules = Rules { rank_by: Some(Measure::Share), ..Rules::default() };
    let refused =
        fixture.ledger.leaderboard(&Filter::default(), &TaskPatterns::default(), &rules).unwrap_err();
    assert_eq!(refused.to_string(), "no agent can be ranked by `share`");
}

#[test]
fn rewards_of_one_kind_are_ranked_as_ever_and_a_task_that_wants_less_is_named() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    job.plan(&["a", "b"]);
    for task in ["a", "b"] {
        trial(&job, "codex", task, 0.5, Some((Some(0.25), "minimize")));
    }
    fixture.again();
    let found = board(&fixture, &Filter::default(), &Rules::default());
    assert_eq!((found.ranked_by, found.rows[0].mean), (Measure::Reward, Some(0.5)));
    // More is worse here: a gain of less than nothing.
    assert_eq!(found.rows[0].gain.map(|gain| gain.mean), Some(-1.0));
    let other = Note::OtherDirection { tasks: vec!["acme/a".into(), "acme/b".into()] };
    assert!(found.notes.contains(&other));
    let least = Rules { direction: Direction::Minimize, ..Rules::default() };
    assert!(!board(&fixture, &Filter::default(), &least).notes.contains(&other));
}

#[test]
fn a_comparison_is_by_what_all_common_tasks_have() {
    let fixture = three_kinds();
    let compare = |rules: &Rules| {
        let words = ("codex", "nop");
        fixture.ledger.compare(words, &Filter::default(), &TaskPatterns::default(), rules).unwrap()
    };
    let found = compare(&Rules::default());
    assert_eq!((found.compared_by, found.common, found.better), (Measure::Share, 3, 3));
    let difference = found.paired.unwrap().difference;
    assert!((difference - 0.75).abs() < 1e-9, "{difference}");
    // By the reward alone, the seconds would speak against codex, and they alone would decide.
    let by_reward = compare(&Rules { rank_by: Some(Measure::Reward), ..Rules::default() });
    assert!(by_reward.paired.unwrap().difference < 0.0);
    assert_eq!((by_reward.better, by_reward.worse), (2, 1));
}

#[test]
fn what_a_verdict_says_is_checked_against_it_and_can_be_read_later() {
    let mut fixture = three_kinds();
    let sql = "UPDATE rewards SET baseline = 1.0 WHERE baseline = 2.0";
    fixture.ledger.connection.execute(sql, []).unwrap();
    let verified = fixture.ledger.verify(None, |_| {}).unwrap();
    assert_eq!(verified.problems.len(), 4, "{:?}", verified.problems);
    // As a ledger of an earlier release has it, which was told nothing.
    let sql = "UPDATE rewards SET baseline = NULL, direction = NULL";
    fixture.ledger.connection.execute(sql, []).unwrap();
    assert!(fixture.is_sound());
    // What `nop` had is the baseline still; that fewer seconds are better, and what the solution gains by it, nobody says.
    assert_eq!(board(&fixture, &Filter::default(), &Rules::default()).ranked_by, Measure::Gain);
    let (report, _) = fixture.import(&Options { replace: true, ..Options::default() });
    assert_eq!(report.replaced, 12);
    assert_eq!(board(&fixture, &Filter::default(), &Rules::default()).ranked_by, Measure::Share);
}
