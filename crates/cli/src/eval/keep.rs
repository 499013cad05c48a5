//! Keeps what was evaluated in the ledger, as trials like any others.

use crate::output::say;
use serde_json::json;
use taskwright_base::text::count;
use taskwright_eval::{Attempt, Candidate, ErrorClass, Outcome, SampleResult};
use taskwright_ledger::Ledger;
use taskwright_ledger::agent::described;
use taskwright_ledger::record::{
    Agent, Claimed, Exception, Failure, Metered, Provenance, Reward, Seconds, Source, Status, Tokens, Trial,
};

use super::Evaluated;
use super::candidate::Files;
use super::task::Task;
use crate::ledger::LedgerArguments;

/// Keeps the trials under the name of an experiment. What was kept before under the same names is replaced.
pub fn keep(
    experiment: &str,
    ledger: &LedgerArguments,
    task: &Task,
    files: &Files,
    candidate: &Candidate,
    evaluated: &[Evaluated],
) -> anyhow::Result<()> {
    let agent = agent(task, files, candidate);
    let mut trials = Vec::new();
    for split in evaluated {
        let keeper = Keeper { task, agent: &agent, experiment, split };
        split.result.samples.iter().for_each(|sample| keeper.sample(sample, &mut trials));
    }
    let mut ledger = Ledger::open(ledger.directory()?)?;
    ledger.add(&[agent], &trials)?;
    say(&format!("ledger: {} of the experiment `{experiment}`", count(trials.len() as u64, "trial")));
    Ok(())
}

/// The candidate: its files, and what they were given.
fn agent(task: &Task, files: &Files, candidate: &Candidate) -> Agent {
    let run = task.serve.harbor.as_ref().map(|harbor| &harbor.run);
    let model = run.map(|run| run.model.as_str()).filter(|model| *model != "none");
    let configuration = json!({
        "task": task.serve.task,
        "tree": candidate.tree.as_str(),
        "model": model,
        "arguments": run.map(|run| &run.agent_args),
        "environment": run.map(|run| &run.agent_env),
    });
    described(&files.source, Some(&candidate.tree.as_str()[..12]), model, &configuration)
}

struct Keeper<'a> {
    task: &'a Task,
    agent: &'a Agent,
    experiment: &'a str,
    split: &'a Evaluated,
}

impl Keeper<'_> {
    fn sample(&self, sample: &SampleResult, trials: &mut Vec<Trial>) {
        match &sample.attempts {
            None => trials.push(self.row(sample)),
            Some(attempts) => {
                let list = attempts.list.iter().enumerate();
                trials.extend(list.map(|(number, attempt)| self.attempt(sample, number, attempt)));
                trials.extend((0..attempts.missing).map(|number| Trial {
                    status: Status::Missing,
                    ..self.trial(sample, &format!("missing-{number}"))
                }));
            }
        }
    }

    /// What all trials of a sample have in common. Its name is the same whenever the same record is kept.
    fn trial(&self, sample: &SampleResult, end: &str) -> Trial {
        let inner = self.task.serve.harbor.as_ref().and_then(|harbor| harbor.tasks.get(&sample.id));
        let number = self.split.record.file_name().unwrap_or("1");
        let job = format!("{}-{}-{}-{number}", self.task.name, self.split.split, &self.agent.digest[..12]);
        Trial {
            id: format!("{job}/{}/{end}", sample.id),
            experiment: Some(self.experiment.to_owned()),
            trial_name: format!("{}/{end}", sample.id),
            job: Some(job),
            task: inner.map_or_else(
                || format!("{}:{}", self.task.serve.task, sample.id),
                |inner| inner.name.clone(),
            ),
            task_folder: inner.map(|inner| inner.directory.clone()),
            task_digest: inner.map(|inner| inner.digest.clone()),
            provenance: Some(Provenance { spec: self.task.name.clone(), ..Provenance::default() }),
            agent: self.agent.label.clone(),
            agent_digest: self.agent.digest.clone(),
            agent_version: self.agent.version.clone(),
            model: self.agent.model.clone(),
            environment: self.task.serve.harbor.as_ref().map(|harbor| harbor.run.environment.clone()),
            harbor_version: self.task.serve.harbor.as_ref().map(|harbor| harbor.run.version.clone()),
            source: Source::Eval,
            ..Trial::default()
        }
    }

    /// A sample of mode A: one trial, which the scorer graded even if the candidate failed.
    fn row(&self, sample: &SampleResult) -> Trial {
        let failed = |kind: &str, message: &str| {
            Some(Exception { kind: kind.to_owned(), message: message.to_owned(), step: None })
        };
        let exception = match &sample.outcome {
            Outcome::Scored(_) => None,
            Outcome::CandidateError { kind, detail, .. } => failed(kind.as_str(), detail),
            Outcome::Infrastructure { message, .. } => failed("infrastructure", message),
        };
        let metric = &self.task.serve.objective.metric;
        let others = sample.score().map(|score| score.metrics.clone()).unwrap_or_default();
        let mut rewards: Vec<Reward> =
            others.iter().filter(|(key, _)| *key != metric).map(|(key, value)| reward(key, *value)).collect();
        rewards.extend(sample.value.map(|value| reward(metric, value)));
        Trial {
            status: if sample.value.is_some() { Status::Complete } else { Status::Partial },
            failure: sample.error_class().map(failure),
            exception,
            reward: sample.value,
            reward_key: sample.value.map(|_| metric.clone()),
            rewards,
            reward_valid: sample.value.is_some(),
            seconds: Seconds { total: Some(sample.seconds), ..Seconds::default() },
            ..self.trial(sample, "1")
        }
    }

    /// One attempt of mode B: a trial of Harbor's.
    fn attempt(&self, sample: &SampleResult, number: usize, attempt: &Attempt) -> Trial {
        let base = self.trial(sample, &(number + 1).to_string());
        let phases = attempt.phases;
        // The gateway of `eval` counts a whole run, and not each of its trials.
        let said = attempt.claimed;
        let claimed = Claimed {
            tokens: Tokens {
                input: said.n_input_tokens,
                cached: said.n_cache_tokens,
                output: said.n_output_tokens,
            },
            cost_usd: said.cost_usd,
        };
        let trial = Trial {
            id: attempt.id.clone().unwrap_or(base.id.clone()),
            trial_name: attempt.trial.clone(),
            status: if attempt.reward.is_some() { Status::Complete } else { Status::Partial },
            failure: attempt.class.map(failure),
            exception: attempt.exception.as_ref().map(|kind| Exception {
                kind: kind.clone(),
                message: attempt.message.clone(),
                step: None,
            }),
            reward: attempt.reward,
            reward_key: attempt.reward_key.clone(),
            rewards: attempt.metrics.iter().map(|(key, value)| reward(key, *value)).collect(),
            reward_valid: attempt.reward.is_some(),
            note: (attempt.exception.is_none() && !attempt.message.is_empty())
                .then(|| attempt.message.clone()),
            seconds: Seconds {
                environment: phases.environment_setup,
                agent_setup: phases.agent_setup,
                agent: phases.agent_execution,
                verifier: phases.verifier,
                total: attempt.seconds,
            },
            ..base
        };
        trial.spending(claimed, Metered::default())
    }
}

fn reward(key: &str, value: f64) -> Reward {
    Reward { key: key.to_owned(), value: Some(value), ..Reward::default() }
}

fn failure(class: ErrorClass) -> Failure {
    match class {
        ErrorClass::Infrastructure => Failure::Infrastructure,
        ErrorClass::Candidate => Failure::Candidate,
        ErrorClass::Verifier => Failure::Verifier,
        ErrorClass::Budget => Failure::Budget,
        ErrorClass::Timeout => Failure::Timeout,
    }
}
