//! Bounded experiments: what their waves are on the disk, and what is said of trials that were left out.

use std::fs;

use crate::support::Space;
use taskwright_experiment::progress::{self, LeftOut, State};
use taskwright_experiment::waves::{self, Line, Waves};
use taskwright_testing::test;

const MANIFEST: &str = "\
name = \"tiny\"
repetitions = 3

[[tasks]]
path = \"tasks\"

[[agents]]
name = \"oracle\"

[[agents]]
name = \"codex\"
model = \"openai/m\"

[compute]
resource_limits = { concurrency = 4 }
";

fn space() -> Space {
    let space = Space::new();
    space.task("tasks/one", "true");
    space.task("tasks/two", "true");
    space.write("tiny.toml", MANIFEST);
    space
}

#[test]
fn a_wave_is_a_job_below_that_of_the_experiment() {
    let space = space();
    let prepared = space.prepare("tiny.toml").unwrap();
    let waves = waves::split(&prepared).unwrap();
    assert_eq!(waves.len(), 3, "both agents on both tasks, three times");
    let name = &prepared.config.job_name;
    for (number, wave) in waves.iter().enumerate() {
        assert_eq!(wave.config.job_name, format!("{name}.{}", number + 1));
        assert_eq!(wave.config.job_dir(), prepared.config.job_dir().join(&wave.config.job_name));
        assert_eq!((wave.config.n_attempts, wave.record.planned), (1, Some(4)));
        assert_eq!(wave.config.agents, prepared.config.agents);
        assert_eq!(wave.config.tasks, prepared.config.tasks);
    }
}

#[test]
fn what_was_not_started_for_want_of_money_is_missing_for_that() {
    let space = space();
    let prepared = space.prepare("tiny.toml").unwrap();
    let split = waves::split(&prepared).unwrap();
    let job = prepared.job(&space.workspace());
    let mut waves = Waves::new(&split);
    waves.write(&job).unwrap();
    prepared.write(&space.workspace()).unwrap();

    let look = || progress::look(&job).unwrap();
    let (progress, all) = (look(), 12);
    assert_eq!((progress.state, progress.planned, progress.ended), (State::Stopped, Some(all), 0));
    assert_eq!(progress.missing.iter().map(|missing| missing.trials).sum::<u64>(), all);
    assert!(progress.missing.iter().all(|missing| missing.why.is_none()), "{progress:?}");

    waves.line = Some(Line { max_usd: 1.0, spent_usd: 1.5, is_reached: true });
    waves.write(&job).unwrap();
    let progress = look();
    assert_eq!(progress.missing.len(), 4, "two agents on two tasks: {progress:?}");
    for missing in &progress.missing {
        assert_eq!((missing.trials, missing.why), (3, Some(LeftOut::Budget)), "{missing:?}");
    }
    assert_eq!(progress.missing[0].agent, "codex");
    assert_eq!(progress.missing[0].model.as_deref(), Some("openai/m"));

    // While it runs, nothing is left out yet.
    let lock = job.acquire().unwrap();
    assert!(look().missing.iter().all(|missing| missing.why.is_none()));
    drop(lock);

    // A wave that was begun, and whose trials Harbor has not planned yet.
    let part = waves.jobs(&job).next().unwrap();
    part.create(&split[0].yaml().unwrap(), &split[0].record).unwrap();
    assert_eq!(look().missing.iter().map(|missing| missing.trials).sum::<u64>(), all, "nothing has begun");

    // The same once they are planned: it was stopped, and there was no money to go on with it.
    let trial = |task: &str| {
        serde_json::json!({"trial_name": format!("{task}__1"), "agent": {"name": "oracle"},
            "task": {"path": format!("/tasks/{task}")}})
    };
    let lock = serde_json::json!({"trials": [trial("one"), trial("two")]});
    fs::write(part.dir.join("lock.json"), lock.to_string()).unwrap();
    let progress = look();
    assert!(progress.missing.iter().all(|missing| missing.why == Some(LeftOut::Budget)), "{progress:?}");
    assert_eq!(progress.missing.iter().map(|missing| missing.trials).sum::<u64>(), all - 2, "{progress:?}");
}

#[test]
fn a_bound_that_cannot_be_read_is_not_none() {
    let space = space();
    let prepared = space.prepare("tiny.toml").unwrap();
    let job = prepared.job(&space.workspace());
    assert_eq!(Waves::of(&job).unwrap(), None, "no job");
    prepared.write(&space.workspace()).unwrap();
    assert_eq!(Waves::of(&job).unwrap(), None, "no bound");
    for text in ["", "{\"waves\": [", "{\"version\": 1}", "{\"version\": 2, \"parts\": []}"] {
        fs::write(job.dir.join("waves.json"), text).unwrap();
        let error = Waves::of(&job).unwrap_err();
        assert!(error.to_string().contains("waves.json") && error.hint_text().is_some(), "{text}: {error}");
        assert!(progress::look(&job).is_err(), "{text}");
    }
}

#[test]
fn no_trial_of_a_wave_waits_for_another_of_its_agent() {
    let space = space();
    space.write("tiny.toml", &MANIFEST.replace("name = \"oracle\"", "name = \"oracle\"\nconcurrency = 1"));
    let waves = waves::split(&space.prepare("tiny.toml").unwrap()).unwrap();
    assert!(waves.iter().all(|wave| wave.record.planned == Some(2)), "both agents on one task");
    assert_eq!(waves.len(), 6);
}

#[test]
fn a_dataset_cannot_be_bounded() {
    let space = space();
    let dataset = "[[tasks]]\nregistry = \"bench\"\nversion = \"1.0\"\n";
    space.write(
        "tiny.toml",
        &MANIFEST
            .replace("[[agents]]\nname = \"oracle\"", &format!("{dataset}[[agents]]\nname = \"oracle\"")),
    );
    let error = waves::split(&space.prepare("tiny.toml").unwrap()).unwrap_err();
    assert!(error.to_string().contains("needs to know the tasks") && error.is_usage(), "{error}");
}
