//! Recording trials that a caller made itself, as `eval` does where no Harbor wrote a result.

use rusqlite::TransactionBehavior;
use taskwright_base::Result;

use super::Ledger;
use super::write;
use crate::record::{Agent, Origin, Trial};

impl Ledger {
    /// Writes trials and the agents they name, all or none. A trial whose identifier is there already replaces it.
    ///
    /// The evidence of such trials is not stored; their secrets must have been redacted.
    pub fn add(&mut self, agents: &[Agent], trials: &[Trial]) -> Result<()> {
        let _lock = self.lock(&|_| {}, &|| false)?;
        self.add_all(agents, trials).map_err(|error| self.failed(&error))
    }

    fn add_all(&mut self, agents: &[Agent], trials: &[Trial]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for agent in agents {
            write::agent(&transaction, agent, &agent.digest)?;
        }
        for trial in trials {
            write::remove(&transaction, &trial.id)?;
            write::insert(&transaction, trial, &Origin::default())?;
        }
        transaction.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::statistics::Direction;
    use crate::record::{
        COLUMNS, Evidence, Exception, Failure, Filter, Kept, Kind, Provenance, Reward, Seconds, Source,
        Status, Step, Tokens,
    };
    use taskwright_testing::test;

    fn agent(digest: &str) -> Agent {
        Agent {
            digest: digest.repeat(64),
            label: "oracle".into(),
            version: None,
            model: None,
            configuration: "{}".into(),
        }
    }

    fn full() -> Trial {
        let reward = |key: &str, value: Option<f64>| Reward {
            key: key.into(),
            value,
            text: value.is_none().then(|| "null".into()),
            reason: value.is_none().then(|| "null".into()),
            baseline: value.map(|value| value / 2.0),
            direction: value.map(|_| Direction::Minimize),
        };
        Trial {
            id: "1f\0\u{1f600}".into(),
            experiment: Some("smoke".into()),
            job: Some("job".into()),
            trial_name: "sort__aaaaaaa".into(),
            task: "acme/sort".into(),
            task_folder: Some("sort".into()),
            task_digest: Some("sha256:00".into()),
            provenance: Some(Provenance {
                spec: "sort".into(),
                baseline: Some("sha256:11".into()),
                ..Provenance::default()
            }),
            agent: "oracle".into(),
            agent_digest: "a".repeat(64),
            agent_version: Some("1.0.0".into()),
            model: Some("some/model".into()),
            environment: Some("docker".into()),
            source: Source::Run,
            status: Status::Complete,
            failure: Some(Failure::Timeout),
            exception: Some(Exception {
                kind: "AgentTimeoutError".into(),
                message: "late".into(),
                step: Some("two".into()),
            }),
            reward: Some(0.5),
            reward_key: Some("reward".into()),
            rewards: vec![reward("other", None), reward("reward", Some(0.5))],
            reward_valid: true,
            note: Some("odd".into()),
            started_at: Some("2026-11-27T20:35:13.303432Z".into()),
            finished_at: Some("2026-11-27T20:36:13.303432Z".into()),
            seconds: Seconds {
                environment: Some(1.0),
                agent: Some(2.5),
                total: Some(60.0),
                ..Seconds::default()
            },
            tokens: Tokens { input: Some(10), cached: Some(4), output: Some(3) },
            cost_usd: Some(0.25),
            steps: vec![
                Step { name: "one".into(), rewards: vec![reward("reward", Some(1.0))], ..Step::default() },
                Step {
                    name: "two".into(),
                    exception: Some(Exception { kind: "X".into(), ..Exception::default() }),
                    seconds: Seconds { verifier: Some(1.5), ..Seconds::default() },
                    tokens: Tokens { output: Some(2), ..Tokens::default() },
                    ..Step::default()
                },
            ],
            evidence: vec![
                Evidence { path: "agent/link".into(), ..Evidence::default() },
                Evidence {
                    path: "result.json".into(),
                    digest: Some("0f".repeat(32)),
                    size: 7,
                    kept: Kept::Referenced,
                },
            ],
            ..Trial::default()
        }
    }

    #[test]
    fn a_trial_is_read_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(folder.path()).unwrap();
        ledger.add(&[agent("a")], &[full()]).unwrap();
        ledger.add(&[agent("a")], &[full()]).unwrap();
        assert_eq!(Ledger::read(folder.path()).unwrap().trials(&Filter::default()).unwrap(), [full()]);
        assert_eq!(ledger.find("sort__aaaaaaa").unwrap(), full());
        assert_eq!(ledger.agents().unwrap(), [agent("a")]);
    }

    /// Whatever column is added: what the table says of it goes both ways.
    #[test]
    fn every_column_of_the_table_is_read_back() {
        use rusqlite::types::ValueRef;

        let mut trial = Trial::default();
        for (column, number) in COLUMNS.iter().zip(1..) {
            let Some(set) = column.access.set else { continue };
            let text = match column.name {
                "source" => "run",
                "status" => "complete",
                "failure" => "timeout",
                name => name,
            };
            let value = match column.kind {
                Kind::Integer | Kind::Boolean => ValueRef::Integer(number),
                Kind::Real => ValueRef::Real(0.5 + f64::from(i32::try_from(number).unwrap())),
                _ => ValueRef::Text(text.as_bytes()),
            };
            if column.kind == Kind::Boolean {
                set(&mut trial, ValueRef::Integer(1))
            } else {
                set(&mut trial, value)
            }
            .unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(folder.path()).unwrap();
        let agent = Agent { digest: "agent_digest".into(), ..agent("a") };
        ledger.add(&[agent], std::slice::from_ref(&trial)).unwrap();
        assert_eq!(ledger.trials(&Filter::default()).unwrap(), [trial]);
    }

    #[test]
    fn filters_let_through_what_meets_every_condition() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(folder.path()).unwrap();
        let other = Trial {
            id: "22222222".into(),
            agent_digest: "b".repeat(64),
            agent: "nop".into(),
            status: Status::Missing,
            failure: None,
            reward: None,
            rewards: Vec::new(),
            ..full()
        };
        ledger.add(&[agent("a"), agent("b")], &[full(), other.clone()]).unwrap();
        let ids = |filter: Filter| -> Vec<String> {
            assert_eq!(ledger.count(&filter).unwrap(), ledger.scores(&filter).unwrap().len() as u64);
            ledger.trials(&filter).unwrap().into_iter().map(|trial| trial.id).collect()
        };
        let (one, two) = (full().id, other.id);
        assert_eq!(
            ids(Filter { task: Some("sort".into()), ..Filter::default() }),
            [one.clone(), two.clone()]
        );
        assert_eq!(
            ids(Filter { task: Some("acme/sort".into()), agent: Some("nop".into()), ..Filter::default() }),
            std::slice::from_ref(&two)
        );
        assert_eq!(
            ids(Filter { agent: Some("aaaaaaaa".into()), ..Filter::default() }),
            std::slice::from_ref(&one)
        );
        assert_eq!(ids(Filter { status: Some(Status::Missing), ..Filter::default() }), [two]);
        assert_eq!(
            ids(Filter { failure: Some(Failure::Timeout), source: Some(Source::Run), ..Filter::default() }),
            [one]
        );
        assert!(ids(Filter { experiment: Some("smoke' OR 1".into()), ..Filter::default() }).is_empty());
        let scores = ledger.scores(&Filter {
            reward_key: Some("reward".into()),
            experiment: Some("smoke".into()),
            ..Filter::default()
        });
        assert_eq!(scores.unwrap().iter().map(|score| score.reward).collect::<Vec<_>>(), [Some(0.5), None]);
        let message = ledger.find("sort__aaaaaaa").unwrap_err().to_string();
        assert!(message.starts_with("2 trials go by"), "{message}");
        assert_eq!(ledger.find("222222").unwrap().agent, "nop");
        assert!(ledger.find("22222").is_err());
    }
}
