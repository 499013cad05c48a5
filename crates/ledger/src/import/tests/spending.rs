//! What trials took of language models: by the agent's word, and by the gateway's in the verdict.

use taskwright_testing::test;

use super::*;
use crate::rank::leaderboard::{Leaderboard, Note, Rules};
use crate::rank::patterns::TaskPatterns;
use crate::record::{Claimed, CostSource, Metered, Tokens, Used};

/// A trial whose agent claims to have spent half a dollar, with what its verdict says, if there is one.
fn trial(job: &JobDir, task: &str, usage: Option<&str>) -> PathBuf {
    let trial = job.trial(task, &format!("id-{task}"), "1");
    let path = trial.join("result.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"n_cache_tokens\": 4", "\"n_cache_tokens\": 4, \"cost_usd\": 0.5"))
        .unwrap();
    if let Some(usage) = usage {
        let verdict = format!(
            r#"{{"verdict_version": 1, "outcome": "scored", "targets": [{{"split": "test", "reward_key": "reward",
                "score": 1, "direction": "maximize", "baseline": 0.5}}], "usage": {usage}}}"#
        );
        fs::write(trial.join("verifier/details.json"), verdict).unwrap();
    }
    trial
}

/// What three users took, at so much of the agent's own.
fn three_users(cost: &str) -> String {
    let used = |requests: u64, cost: &str| {
        format!(
            r#"{{"requests": {requests}, "tokens": {{"input": 900, "cached": 300, "written": 0, "output": 40, "reasoning": 0}},
                "cost": {cost}, "estimated": 0, "unpriced": 0, "failed": 1, "refused": 0, "spent": 0, "unreachable": 0,
                "open": 0}}"#
        )
    };
    format!(
        r#"{{"producer": {}, "evaluation": {}, "finalization": {}}}"#,
        used(7, cost),
        used(20, "0.125"),
        used(5, "0.0625")
    )
}

fn used(requests: u64, cost_usd: f64) -> Used {
    let tokens = Tokens { input: Some(900), cached: Some(300), output: Some(40) };
    Used { requests: Some(requests), tokens, cost_usd: Some(cost_usd) }
}

fn board(fixture: &Fixture) -> Leaderboard {
    fixture.ledger.leaderboard(&Filter::default(), &TaskPatterns::default(), &Rules::default()).unwrap()
}

#[test]
fn what_the_gateway_metered_counts_and_what_the_agent_claims_stays_readable() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    trial(&job, "metered", Some(&three_users("0.25")));
    trial(&job, "claimed", None);
    fixture.again();
    let trials = fixture.trials();
    let claimed =
        Claimed { tokens: Tokens { input: Some(10), cached: Some(4), output: None }, cost_usd: Some(0.5) };
    assert_eq!(trials[0].metered, Metered::default());
    assert_eq!((trials[0].claimed, trials[1].claimed), (claimed, claimed));
    assert_eq!((trials[0].cost_usd, trials[0].cost_source()), (Some(0.5), Some(CostSource::Claimed)));
    assert_eq!(trials[0].tokens, claimed.tokens);
    let metered =
        Metered { producer: used(7, 0.25), evaluation: used(20, 0.125), finalization: used(5, 0.0625) };
    assert_eq!(trials[1].metered, metered);
    assert_eq!((trials[1].cost_usd, trials[1].cost_source()), (Some(0.25), Some(CostSource::Metered)));
    assert_eq!(trials[1].tokens, metered.producer.tokens);
    assert_eq!(trials[1].rewards[0].baseline, Some(0.5));

    let row = &board(&fixture).rows[0];
    assert_eq!((row.cost_usd.mean, row.cost_usd.known, row.metered), (Some(0.375), 2, 1));
    assert_eq!((row.evaluation_cost_usd.mean, row.evaluation_cost_usd.known), (Some(0.125), 1));
    assert_eq!((row.finalization_cost_usd.total, row.finalization_cost_usd.known), (Some(0.0625), 1));
    let table = board(&fixture).table().text();
    assert!(table.lines().next().unwrap().contains("cost $  search $  end $"), "{table}");
    assert!(fixture.is_sound());
}

#[test]
fn a_record_that_says_another_sum_than_its_verdict_is_found_and_one_of_an_earlier_release_can_be_read_again()
{
    let mut fixture = Fixture::new();
    trial(&fixture.job("one"), "metered", Some(&three_users("0.25")));
    fixture.again();
    let change = |fixture: &Fixture, sql: &str| fixture.ledger.connection.execute(sql, []).unwrap();
    change(&fixture, "UPDATE trials SET metered_evaluation_cost_usd = 0.0625");
    let problems = fixture.ledger.verify(None, |_| {}).unwrap().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("the record differs from its result: metered"), "{problems:?}");
    // As a release has it that knew nothing of gateways.
    let mut sets = Vec::new();
    for user in ["producer", "evaluation", "finalization"] {
        for what in ["requests", "input_tokens", "cached_tokens", "output_tokens", "cost_usd"] {
            sets.push(format!("metered_{user}_{what} = NULL"));
        }
    }
    for what in ["input_tokens", "cached_tokens", "output_tokens", "cost_usd"] {
        sets.push(format!("{what} = claimed_{what}"));
    }
    change(&fixture, &format!("UPDATE trials SET {}", sets.join(", ")));
    assert_eq!(fixture.trials()[0].cost_source(), Some(CostSource::Claimed));
    assert!(fixture.is_sound());
    let (report, _) = fixture.import(&Options { replace: true, ..Options::default() });
    assert_eq!(report.replaced, 1);
    assert_eq!(fixture.trials()[0].metered.producer, used(7, 0.25));
}

#[test]
fn sums_that_cannot_be_leave_the_trial_as_one_without_a_gateway() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    for (place, cost) in ["-1", "1e400", "\"0.25\"", "[]", "1e9"].into_iter().enumerate() {
        trial(&job, &format!("task-{place}"), Some(&three_users(cost)));
    }
    let (report, _) = fixture.again();
    assert_eq!(report.rejected, 0);
    for trial in fixture.trials() {
        assert_eq!((trial.metered.producer, trial.cost_usd), (Used::default(), Some(0.5)));
        // That is the user's own: what the others took stands beside it. A number that JSON cannot have leaves no verdict.
        let is_whole = trial.rewards[0].baseline.is_some();
        assert_eq!(trial.metered.evaluation.cost_usd, is_whole.then_some(0.125), "{}", trial.task);
    }
    assert!(fixture.is_sound());
}

#[test]
fn a_gateway_knows_what_an_agent_cost_that_was_killed() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    let killed = |path: &Path| {
        let text = fs::read_to_string(path.join("result.json")).unwrap();
        let raised = r#""exception_info": {"exception_type": "AgentTimeoutError", "exception_message": "late"}, "verifier_result""#;
        fs::write(path.join("result.json"), text.replace("\"verifier_result\"", raised)).unwrap();
    };
    killed(&trial(&job, "metered", Some(&three_users("0.25"))));
    fixture.again();
    let found = board(&fixture);
    assert_eq!((found.rows[0].cost_usd.cut_short, found.rows[0].cost_usd.mean), (0, Some(0.25)));
    killed(&trial(&job, "claimed", None));
    fixture.again();
    let found = board(&fixture);
    assert_eq!(found.rows[0].cost_usd.cut_short, 1);
    assert!(found.notes.iter().any(|note| matches!(note, Note::CostAtLeast { .. })));
}

/// A regrade runs no agent: what its attempt took stands in the trial that it is of.
#[test]
fn a_trial_that_was_graded_anew_cost_what_its_attempt_did() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    trial(&job, "metered", Some(&three_users("0.25")));
    fixture.again();
    let agent = fixture.ledger.agents().unwrap().remove(0);
    let old = fixture.trials().remove(0);
    let again = Trial {
        id: "again".to_owned(),
        regrade_of: Some(old.id.clone()),
        evidence: Vec::new(),
        ..old.spending(Claimed::default(), Metered::default())
    };
    fixture.ledger.add(&[agent], &[again]).unwrap();
    let row = &board(&fixture).rows[0];
    assert_eq!((row.complete, row.cost_usd.mean, row.metered), (1, Some(0.25), 1));
    assert_eq!(row.evaluation_cost_usd.mean, Some(0.125));
}

/// Its own columns may say other things of spending. None of them is mixed with those of the attempt.
#[test]
fn what_an_attempt_claimed_is_no_metered_cost_for_a_regrade() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    trial(&job, "claimed", None);
    fixture.again();
    let agent = fixture.ledger.agents().unwrap().remove(0);
    let old = fixture.trials().remove(0);
    let metered = Metered { producer: used(7, 0.25), evaluation: used(20, 0.125), ..Metered::default() };
    let again = Trial {
        id: "again".to_owned(),
        regrade_of: Some(old.id.clone()),
        evidence: Vec::new(),
        ..old.spending(Claimed::default(), metered)
    };
    fixture.ledger.add(&[agent], &[again]).unwrap();
    let row = &board(&fixture).rows[0];
    assert_eq!((row.complete, row.cost_usd.mean, row.metered), (1, Some(0.5), 0));
    assert_eq!(row.evaluation_cost_usd.mean, None);
}

#[test]
fn an_attempt_cost_once_and_no_amount_that_nobody_can_have_spent() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    trial(&job, "one", None);
    fixture.again();
    let agent = fixture.ledger.agents().unwrap().remove(0);
    let old = fixture.trials().remove(0);
    let like = |id: &str, regrade_of: Option<&str>, cost_usd: Option<f64>| Trial {
        id: id.to_owned(),
        regrade_of: regrade_of.map(str::to_owned),
        evidence: Vec::new(),
        ..old.clone().spending(Claimed { cost_usd, ..Claimed::default() }, Metered::default())
    };
    let more = [
        like("again", Some(old.id.as_str()), None),
        like("less", None, Some(-5.0)),
        like("more", None, Some(1e308)),
        like("other", None, Some(0.75)),
    ];
    fixture.ledger.add(&[agent], &more).unwrap();
    let mut costs: Vec<f64> = fixture.ledger.costs().unwrap().into_iter().map(|cost| cost.usd).collect();
    costs.sort_by(f64::total_cmp);
    assert_eq!(costs, [0.5, 0.75]);
}
