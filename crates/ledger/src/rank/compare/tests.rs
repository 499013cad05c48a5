//! Comparisons of few trials, worked out by hand, and what words may mean.

use taskwright_testing::test;

use crate::db::Ledger;
use crate::rank::leaderboard::Rules;
use crate::rank::patterns::TaskPatterns;
use crate::rank::statistics::{Direction, SignificanceMethod};
use crate::record::{Agent, Filter, Status, Trial};

use super::{Comparison, Note};

/// A ledger with trials given by agent (of whose digest this is the first digit), label, experiment, task and reward.
fn ledger(folder: &std::path::Path, trials: &[(char, &str, &str, &str, Option<f64>)]) -> Ledger {
    let digest = |digit: char| digit.to_string().repeat(64);
    let agents: Vec<Agent> = trials
        .iter()
        .map(|(digit, label, ..)| Agent {
            digest: digest(*digit),
            label: (*label).into(),
            version: None,
            model: Some(format!("model-{digit}")),
            configuration: "{}".into(),
        })
        .collect();
    let trials: Vec<Trial> = trials
        .iter()
        .enumerate()
        .map(|(number, (digit, label, experiment, task, reward))| Trial {
            id: number.to_string(),
            experiment: Some((*experiment).into()),
            task: (*task).into(),
            agent: (*label).into(),
            agent_digest: digest(*digit),
            status: if reward.is_some() { Status::Complete } else { Status::Partial },
            reward: *reward,
            seconds: crate::record::Seconds { total: Some(10.0), ..Default::default() },
            ..Trial::default()
        })
        .collect();
    let mut ledger = Ledger::open(folder).unwrap();
    ledger.add(&agents, &trials).unwrap();
    ledger
}

fn ask(ledger: &Ledger, a: &str, b: &str) -> taskwright_base::Result<Comparison> {
    ledger.compare((a, b), &Filter::default(), &TaskPatterns::default(), &Rules::default())
}

const TRIALS: &[(char, &str, &str, &str, Option<f64>)] = &[
    ('a', "codex", "monday", "one", Some(1.0)),
    ('a', "codex", "monday", "one", Some(0.5)),
    ('a', "codex", "monday", "two", Some(0.5)),
    ('a', "codex", "monday", "three", Some(0.0)),
    ('a', "codex", "tuesday", "one", Some(0.0)),
    ('b', "claude", "monday", "one", Some(0.25)),
    ('b', "claude", "monday", "two", Some(0.5)),
    ('b', "claude", "monday", "three", None),
    ('b', "claude", "monday", "four", Some(1.0)),
    ('c', "claude", "wednesday", "one", Some(0.75)),
];

#[test]
fn only_tasks_that_both_have_count() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path(), TRIALS);
    let found = ask(&ledger, "monday:codex", "bbbbbb").unwrap();
    let tasks: Vec<_> = found.tasks.iter().map(|task| (task.task.as_str(), task.difference)).collect();
    assert_eq!(tasks, [("four", None), ("one", Some(0.5)), ("three", None), ("two", Some(0.0))]);
    assert_eq!((found.common, found.better, found.worse), (2, 1, 0));
    // Of what A did on `one` and `two`: the mean of 3/4 and 1/2. Of B: of 1/4 and 1/2.
    assert_eq!((found.mean_a, found.mean_b), (Some(0.625), Some(0.375)));
    let paired = found.paired.unwrap();
    // Differences 1/2 and 0: their standard error is 1/4, and with one degree of freedom that is multiplied with 12.7.
    let interval = paired.interval.unwrap();
    assert!((paired.difference - 0.25).abs() < 1e-12 && (interval.low + 2.926_55).abs() < 1e-4, "{paired:?}");
    // On `one`, 1 and 1/2 against 1/4: of the three ways to deal them out, two are as far from zero.
    assert_eq!(
        (paired.significance.arrangements, paired.significance.method),
        (3, SignificanceMethod::Exact)
    );
    assert!((paired.significance.p_value - 2.0 / 3.0).abs() < 1e-12, "{paired:?}");
    assert_eq!(found.notes, [Note::FewTasks { tasks: 2 }, Note::LeastP { value: 1.0 / 3.0 }]);
    assert_eq!((found.seconds, found.cost_usd), (Some(0.0), None));
    assert_eq!(
        (found.a.experiment.as_deref(), found.a.row.complete, found.b.row.partial),
        (Some("monday"), 4, 1)
    );

    let mirrored = ask(&ledger, "bbbbbb", "monday:codex").unwrap();
    assert_eq!((mirrored.paired.unwrap().difference, mirrored.better, mirrored.worse), (-0.25, 0, 1));
    let least = Rules { direction: Direction::Minimize, ..Rules::default() };
    let found =
        ledger.compare(("bbbbbb", "codex"), &Filter::default(), &TaskPatterns::default(), &least).unwrap();
    assert_eq!((found.better, found.worse), (1, 0), "a smaller reward is better");
}

#[test]
fn without_a_common_task_there_is_nothing_to_say() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path(), TRIALS);
    let tasks = TaskPatterns::new(&["four"]).unwrap();
    let found = ledger.compare(("codex", "bbbbbb"), &Filter::default(), &tasks, &Rules::default()).unwrap();
    assert_eq!((found.common, found.paired, found.mean_a, found.a.row.tasks), (0, None, None, 0));
    assert!(!serde_json::to_string(&found).unwrap().contains("NaN"));
}

#[test]
fn the_same_agent_can_be_compared_across_experiments() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path(), TRIALS);
    let found = ask(&ledger, "tuesday", "monday:codex").unwrap();
    assert_eq!((found.common, found.paired.unwrap().difference), (1, -0.75));
    assert_eq!(found.paired.unwrap().interval, None, "one task says nothing of the others");
}

#[test]
fn a_word_that_may_mean_several_is_refused_with_the_choices() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path(), TRIALS);
    let error = |a: &str, b: &str| {
        let error = ask(&ledger, a, b).unwrap_err();
        format!("{error} / {}", error.hint_text().unwrap_or_default())
    };
    assert_eq!(
        error("claude", "codex"),
        "`claude` may mean 2 things / say which: `bbbbbbbbbbbb` = claude (model=model-b), `cccccccccccc` = claude \
         (model=model-c)"
    );
    assert_eq!(
        error("codex", "monday"),
        "`monday` may mean 2 things / say which: `monday:bbbbbbbbbbbb` = claude (model=model-b), \
         `monday:aaaaaaaaaaaa` = codex"
    );
    assert!(error("codex", "aaaaaaaa").contains("are the same agent"));
    assert!(
        error("codex", "nobody")
            .starts_with("no agent or experiment here is called `nobody` / name one of these")
    );
    assert!(error("codex", "bbbbb").starts_with("no agent"), "five digits are too few");
    assert!(error("monday:monday", "codex").starts_with("no agent"));
    // The name that a leaderboard shows is a word for it, too.
    assert!(ask(&ledger, "claude (model=model-b)", "wednesday").is_ok());
}
