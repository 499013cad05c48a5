//! Results of every version, and what is none.

use taskwright_testing::test;

use super::*;
use crate::document::Problem;
use crate::exceptions::{AgentCode, FailureClass, Phase, failure, policy, reward_is_valid};
use crate::rewards::{InvalidReward, RewardError};

/// A trial's result with some keys set by hand.
pub(crate) fn result_with(keys: &str) -> String {
    let comma = if keys.is_empty() { "" } else { "," };
    format!(r#"{{"trial_name": "a__1234567", "task_checksum": "00", "config": {{}}{comma} {keys}}}"#)
}

fn trial(keys: &str) -> TrialResult {
    TrialResult::parse(result_with(keys).as_bytes()).unwrap()
}

fn reward(trial: &TrialResult) -> Result<f64, RewardError> {
    trial.rewards.as_ref().unwrap().choose(None).map(|chosen| chosen.value)
}

fn problem(bytes: impl AsRef<[u8]>) -> String {
    TrialResult::parse(bytes.as_ref()).unwrap_err().to_string()
}

#[test]
fn every_part_is_read() {
    let trial = trial(
        r#""schema_version": 1, "id": "i", "task_name": "acme/a", "trial_uri": "file:///x", "source": "s",
        "task_id": {"git_url": "u", "git_commit_id": "c", "path": "tasks/a/"},
        "agent_info": {"name": "n", "version": "v", "model_info": {"name": "m", "provider": null}},
        "agent_result": {"n_input_tokens": 10, "n_cache_tokens": 4, "n_output_tokens": 2, "cost_usd": 0.5,
            "model_usage": {"m": {}}, "rollout_details": [1], "metadata": {}},
        "verifier_result": {"rewards": {"reward": 1, "speed": 0.5}}, "verifier_environment_mode": "separate",
        "exception_info": {"exception_type": "E", "exception_message": "m", "exception_traceback": "t",
            "occurred_at": "2026-01-01T00:00:03Z",
            "policy": {"should_retry": true, "should_grade": false, "has_valid_reward": true},
            "policy_override": {"should_grade": false}},
        "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:09Z",
        "environment_setup": {"started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:02Z"},
        "agent_setup": null, "step_results": null, "reward_valid": true, "brought_by_a_later_version": [1]"#,
    );
    assert_eq!((trial.schema_version, trial.id.as_deref()), (Some(1), Some("i")));
    assert_eq!((trial.task_name.as_deref(), trial.task_id.folder()), (Some("acme/a"), Some("a")));
    assert_eq!(trial.agent_info.model_name.as_deref(), Some("m"));
    assert_eq!(trial.agent_info.model_provider, None);
    let usage = trial.usage();
    assert_eq!(
        (usage.n_input_tokens, usage.n_cache_tokens, usage.n_output_tokens),
        (Some(10), Some(4), Some(2))
    );
    assert_eq!((usage.cost_usd, usage.model_usage.unwrap().get()), (Some(0.5), r#"{"m": {}}"#));
    assert_eq!(reward(&trial), Ok(1.0));
    let exception = trial.exception.as_ref().unwrap();
    assert_eq!((exception.kind.as_str(), exception.policy_overridden), ("E", true));
    assert!(exception.policy.is_some_and(|policy| policy.retry && !policy.grade && policy.valid));
    assert_eq!(trial.environment_setup.unwrap().seconds(), Some(2.0));
    assert_eq!(trial.finished_at.unwrap().since(trial.started_at.unwrap()), Some(9.0));
    assert_eq!((trial.agent_setup, trial.steps.len(), trial.reward_valid), (None, 0, Some(true)));
}

#[test]
fn what_has_another_type_is_unknown_and_the_rest_stands() {
    let trial = trial(
        r#""id": 7, "task_id": "old", "agent_info": [], "started_at": "yesterday", "step_results": {},
        "agent_result": {"n_input_tokens": -1, "n_output_tokens": "many", "cost_usd": 1e999},
        "environment_setup": {"started_at": null}, "reward_valid": "yes", "exception_info": {"exception_type": 1},
        "verifier_result": {"rewards": {"reward": 0.25}}"#,
    );
    assert_eq!((trial.id.as_ref(), &trial.task_id), (None, &TaskId::Unknown));
    assert_eq!((trial.started_at, trial.environment_setup, trial.reward_valid), (None, None, None));
    let usage = trial.agent_result.as_ref().unwrap();
    assert_eq!((usage.n_input_tokens, usage.n_output_tokens, usage.cost_usd), (None, None, None));
    assert_eq!(trial.exception.as_ref().unwrap().kind, "unknown");
    assert_eq!(reward(&trial), Ok(0.25));
}

#[test]
fn rewards_survive_whatever_they_are() {
    let read = |rewards: &str| {
        let trial = trial(&format!(r#""verifier_result": {{"rewards": {rewards}}}"#));
        trial.rewards.map(|rewards| rewards.choose(None).map(|chosen| chosen.value))
    };
    let invalid = |rewards: &str| match read(rewards) {
        Some(Err(RewardError::Invalid { reason, text, .. })) => (reason, text),
        other => panic!("{rewards}: {other:?}"),
    };
    assert_eq!(
        read(r#"{"reward": 123456789012345678901234567890}"#),
        Some(Ok(123_456_789_012_345_678_901_234_567_890.0))
    );
    assert_eq!(invalid(r#"{"reward": null}"#).0, InvalidReward::Null);
    assert_eq!(invalid(r#"{"reward": true}"#).0, InvalidReward::Bool);
    assert_eq!(invalid(r#"{"reward": "0.5"}"#), (InvalidReward::Text, r#""0.5""#.to_owned()));
    assert_eq!(invalid(r#"{"reward": "NaN"}"#), (InvalidReward::Text, r#""NaN""#.to_owned()));
    assert_eq!(invalid(r#"{"reward": NaN}"#), (InvalidReward::NotFinite, "NaN".to_owned()));
    assert_eq!(
        invalid(r#"{"reward": -Infinity, "x": "NaN"}"#),
        (InvalidReward::NotFinite, "-Infinity".to_owned())
    );
    assert_eq!(invalid(r#"{"reward": 1e309}"#), (InvalidReward::NotFinite, "1e309".to_owned()));
    assert_eq!(invalid(r#"{"reward": {"a": [1]}}"#).0, InvalidReward::Nested);
    assert_eq!(read("{}"), Some(Err(RewardError::Empty)));
    assert_eq!(read("null"), None);
    for what in ["[1]", "1", "NaN", "\"1\"", "true"] {
        assert!(matches!(read(what), Some(Err(RewardError::NotAMap(_)))), "{what}");
    }
    let whole = trial(r#""verifier_result": {"rewards": {"reward": 1000000000000000000001, "b": 1.10}}"#);
    let texts: Vec<_> =
        whole.rewards.as_ref().unwrap().iter().map(|(_, reward)| reward.text.as_str()).collect();
    assert_eq!(texts, ["1.10", "1000000000000000000001"]);
}

#[test]
fn numbers_that_json_lacks_do_not_hide_the_rest() {
    let trial = trial(
        r#""agent_result": {"cost_usd": NaN, "n_input_tokens": 3},
        "exception_info": {"exception_type": "E", "exception_message": "NaN \" Infinity"}"#,
    );
    assert_eq!(trial.agent_result.as_ref().unwrap().cost_usd, None);
    assert_eq!(trial.agent_result.as_ref().unwrap().n_input_tokens, Some(3));
    assert_eq!(trial.exception.unwrap().message, "NaN \" Infinity");
}

#[test]
fn what_is_no_result_is_refused_by_name() {
    let whole = result_with("");
    assert!(problem(&whole[..whole.len() - 1]).contains("ends in the middle"));
    assert!(problem("").contains("is empty") && problem(" \n").contains("is empty"));
    assert!(problem("\0\0\0\0").contains("is not valid JSON"));
    assert!(problem(b"{\"a\": \"\xff\"}").contains("byte 7 is damaged"));
    assert!(problem(format!("\u{feff}{whole}")).contains("begins with a byte order mark"));
    assert!(problem("[]").contains("JSON without keys") && problem("NaN").contains("JSON without keys"));
    assert!(problem("{}").contains("a JSON object that Harbor does not write"));
    assert!(problem(r#"{"n_total_trials": 1, "stats": {}}"#).contains("a Harbor job"));
    assert!(problem(r#"{"is_resolved": false}"#).contains("Terminal-Bench 1"));
    assert!(problem(r#"{"trials": [], "harbor": {}}"#).contains("the lock of a Harbor job"));
    assert!(problem(r#"{"task": {}, "agent": {}}"#).contains("the lock of a Harbor trial"));
    assert!(
        problem(r#"{"task": {}, "agent": {}, "trial_name": "x"}"#)
            .contains("configuration of a Harbor trial")
    );
    assert!(problem(r#"{"job_name": "x"}"#).contains("configuration of a Harbor job"));
    assert!(problem(result_with(r#""schema_version": 2"#)).contains("schema_version 2"));
    assert!(problem(result_with(r#""id": "1", "id": "2""#)).contains("says a key twice"));
    assert!(problem(r#"{"trial_name": 1, "task_checksum": "", "config": {}}"#).contains("is a JSON object"));
}

#[test]
fn deep_and_strange_documents_do_no_harm() {
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    let deep_rewards =
        trial(&format!(r#""x": {deep}, "verifier_result": {{"rewards": {{"reward": {deep}}}}}"#));
    let error = deep_rewards.rewards.unwrap().choose(None).unwrap_err().to_string();
    assert!(error.len() < 200, "{error}");
    assert!(problem("[".repeat(200_000)).contains("ends in the middle"));
    assert!(problem("{\"a\":".repeat(200_000)).contains("ends in the middle"));
    let halves = trial(r#""exception_info": {"exception_type": "E", "exception_message": "a\ud83dz"}"#);
    assert!(halves.exception.unwrap().message.starts_with('a'));
    let names = trial(r#""task_name": "../../etc\u0000/passwd", "trial_uri": "file:///../../x""#);
    assert_eq!(names.task_name.as_deref(), Some("../../etc\0/passwd"));
}

#[test]
fn counts_beyond_64_bits_are_unknown_and_never_cut() {
    let most = u64::MAX;
    let usage = |tokens: [&str; 2]| {
        let step = tokens.map(|tokens| format!(r#"{{"agent_result": {{"n_input_tokens": {tokens}}}}}"#));
        trial(&format!(r#""step_results": [{}]"#, step.join(","))).usage().n_input_tokens
    };
    assert_eq!(usage(["18446744073709551614", "1"]), Some(most));
    assert_eq!(usage(["18446744073709551615", "1"]), None);
}

#[test]
fn steps_are_looked_into() {
    let trial = trial(
        r#""verifier_result": {"rewards": {"reward": 0.75}}, "agent_result": null,
        "environment_setup": {"started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:02Z"},
        "step_results": [
            {"step_name": "one", "agent_result": {"n_input_tokens": 5, "cost_usd": 0.5}, "exception_info": null},
            {"step_name": "two", "agent_result": {"n_input_tokens": 6, "n_output_tokens": 1},
             "agent_execution": {"started_at": "2026-01-01T00:00:02Z"},
             "verifier": {"started_at": "2026-01-01T00:00:03Z"},
             "exception_info": {"exception_type": "RewardFileNotFoundError", "occurred_at": "2026-01-01T00:00:04Z"}},
            7]"#,
    );
    assert!(!reward_is_valid(&trial));
    let failure = failure(&trial, AgentCode::Stock).unwrap();
    assert_eq!((failure.class, failure.step), (FailureClass::Verifier, Some("two")));
    let usage = trial.usage();
    assert_eq!(
        (usage.n_input_tokens, usage.n_output_tokens, usage.n_cache_tokens),
        (Some(11), Some(1), None)
    );
    assert_eq!((usage.cost_usd, trial.steps.len()), (Some(0.5), 3));
}

#[test]
fn versions_are_told_by_fields() {
    let range = |json: &str| infer_version(json.as_bytes()).unwrap().to_string();
    assert_eq!(
        range(r#"{"config": {"environment": {}, "task": {}, "agent": {}}}"#),
        "0.1.0 or later, before 0.1.36"
    );
    assert_eq!(
        range(r#"{"config": {"environment": {"import_path": null, "mounts_json": null, "env": {}}}}"#),
        "0.2 or later, before 0.5"
    );
    assert!(matches!(infer_version(b"[]"), Err(Problem::WrongKind { .. })));
}

#[test]
fn the_table_is_harbors_own() {
    let python = crate::python::of_harbor();
    let listed = crate::python::run(
        &python,
        "from harbor.models.trial.error_policy import ERROR_POLICIES, UNKNOWN_ERROR_POLICY as unknown\n\
         for name, policy in [*ERROR_POLICIES.items(), ('Whatever', unknown)]:\n\
         \x20   print(name, policy.should_retry, policy.should_grade, policy.has_valid_reward)",
        "",
    );
    let mut seen = 0;
    for line in listed.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let ours = policy(words[0]);
        assert_eq!([ours.retry, ours.grade, ours.valid], [1, 2, 3].map(|at| words[at] == "True"), "{line}");
        seen += 1;
    }
    assert!(seen > 50, "{listed}");
}

/// A trial that raised something at a second, with phases that began at some.
fn raised(kind: &str, at: Option<u32>, phases: &[(&str, u32)], more: &str) -> TrialResult {
    let spans = phases
        .iter()
        .map(|(phase, second)| format!(r#", "{phase}": {{"started_at": "2026-01-01T00:00:{second:02}Z"}}"#))
        .collect::<Vec<_>>()
        .concat();
    let at = at.map_or_else(|| "2026-01-01T09:00:00".to_owned(), |at| format!("2026-01-01T00:00:{at:02}Z"));
    trial(&format!(
        r#""exception_info": {{"exception_type": "{kind}", "exception_message": "Forbidden: quota, connection refused",
        "occurred_at": "{at}"{more}}}{spans}"#
    ))
}

#[test]
fn classes_come_from_types_and_phases() {
    use FailureClass as C;
    let all = [("environment_setup", 1), ("agent_setup", 2), ("agent_execution", 3), ("verifier", 5)];
    let class = |trial: &TrialResult, code| {
        let failure = failure(trial, code).unwrap();
        (failure.class, failure.phase)
    };
    let stock = |kind, at, phases| class(&raised(kind, at, phases, ""), AgentCode::Stock);
    let own = |kind, at, phases| class(&raised(kind, at, phases, ""), AgentCode::Candidate);
    assert_eq!(stock("RuntimeError", Some(1), &[]), (C::Infrastructure, Phase::Environment));
    assert_eq!(stock("RuntimeError", Some(1), &all[..1]), (C::Infrastructure, Phase::Environment));
    assert_eq!(stock("RuntimeError", Some(2), &all[..2]), (C::Infrastructure, Phase::AgentSetup));
    assert_eq!(own("RuntimeError", Some(2), &all[..2]), (C::Candidate, Phase::AgentSetup));
    assert_eq!(own("AgentSetupTimeoutError", Some(2), &all[..2]).0, C::Timeout);
    assert_eq!(stock("AgentSetupTimeoutError", Some(2), &all[..2]).0, C::Infrastructure);
    assert_eq!(stock("RuntimeError", Some(4), &all[..3]), (C::Candidate, Phase::Agent));
    // It was graded after the agent had failed, and then the verifier failed as well.
    assert_eq!(stock("RuntimeError", Some(4), &all), (C::Candidate, Phase::Agent));
    assert_eq!(stock("RuntimeError", Some(6), &all), (C::Verifier, Phase::Verifier));
    // A time that cannot be compared.
    assert_eq!(stock("RuntimeError", None, &all), (C::Verifier, Phase::Verifier));
    assert_eq!(stock("AgentTimeoutError", None, &all).0, C::Timeout);
    assert_eq!(stock("BudgetExceededError", Some(4), &all[..3]).0, C::Budget);
    assert_eq!(stock("CancelledError", Some(4), &all[..3]).0, C::Cancelled);
    assert_eq!(stock("RewardFileEmptyError", Some(6), &all).0, C::Verifier);
    assert_eq!(stock("ApiRateLimitError", Some(4), &all[..3]).0, C::Infrastructure);
    // A candidate may call its own error whatever it likes.
    assert_eq!(own("HealthcheckError", Some(4), &all[..3]), (C::Candidate, Phase::Agent));
    assert_eq!(own("RewardFileNotFoundError", Some(4), &all), (C::Candidate, Phase::Agent));
    assert_eq!(own("RewardFileNotFoundError", Some(6), &all), (C::Verifier, Phase::Verifier));
    assert_eq!(own("HealthcheckError", Some(1), &all[..1]).0, C::Infrastructure);
    assert_eq!(own("RateLimitError", Some(4), &all[..3]), (C::Candidate, Phase::Agent));
    assert_eq!(own("AuthenticationError", Some(2), &all[..2]), (C::Candidate, Phase::AgentSetup));
    // Unless it was Harbor itself that raised it.
    let message = "Forbidden: quota, connection refused";
    let packages = "/v/lib/python3.13/site-packages/harbor";
    let traceback = |files: &[&str]| {
        let frames: String = files.iter().map(|file| format!("  File \"{file}\", line 1, in f\n")).collect();
        let text = format!("Traceback (most recent call last):\n{frames}NewError: {message}\n");
        format!(r#", "exception_traceback": {}"#, serde_json::to_string(&text).unwrap())
    };
    let trial_py = format!("{packages}/trial/trial.py");
    let of_harbor = traceback(&[&trial_py, "/c/agent.py", &format!("{packages}/environments/base.py")]);
    let of_agent = traceback(&[&trial_py, "/c/agent.py"]);
    let with = |kind, more: &str| class(&raised(kind, Some(4), &all[..3], more), AgentCode::Candidate).0;
    assert_eq!(with("RateLimitError", &of_harbor), C::Infrastructure);
    assert_eq!(with("RateLimitError", &of_agent), C::Candidate);
    // A type that this table does not know and a later Harbor does.
    let policy = |retry, grade, valid| {
        format!(
            r#", "policy": {{"should_retry": {retry}, "should_grade": {grade}, "has_valid_reward": {valid}}}"#
        )
    };
    let later = |policy: &str| class(&raised("NewError", Some(4), &all[..3], policy), AgentCode::Candidate).0;
    assert_eq!(later(&policy(true, true, true)), C::Candidate);
    for known in [policy(true, true, false), policy(false, false, false)] {
        assert_eq!(later(&(known.clone() + &of_harbor)), C::Infrastructure);
        assert_eq!(later(&(known.clone() + &of_agent)), C::Candidate);
        assert_eq!(later(&known), C::Candidate);
    }
    assert_eq!(later(&policy(false, true, false)), C::Candidate);
}

#[test]
fn validity_follows_from_exceptions_where_harbor_does_not_say() {
    let rewards = r#""verifier_result": {"rewards": {"reward": 1}}"#;
    let exception = |kind: &str| format!(r#"{rewards}, "exception_info": {{"exception_type": "{kind}"}}"#);
    assert!(reward_is_valid(&trial(rewards)));
    assert!(reward_is_valid(&trial(&exception("AgentTimeoutError"))));
    assert!(reward_is_valid(&trial(&exception("ValueError"))));
    assert!(!reward_is_valid(&trial(&exception("ApiError"))));
    assert!(reward_is_valid(&trial(&(exception("ApiError") + r#", "reward_valid": true"#))));
    assert!(!reward_is_valid(&trial(&(rewards.to_owned() + r#", "reward_valid": false"#))));
    assert!(!reward_is_valid(&trial(r#""verifier_result": {"rewards": {}}"#)));
    assert!(!reward_is_valid(&trial("")));
}
