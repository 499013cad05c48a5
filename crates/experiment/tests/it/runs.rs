//! Real runs: real Harbor on a real Docker engine, with tasks that take a few seconds.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::Space;
use taskwright_experiment::dispatch::{Ending, Harbor, Redo, make_way};
use taskwright_experiment::jobs::{self, Job};
use taskwright_experiment::plan::Prepared;
use taskwright_experiment::progress::{self, State};
use taskwright_testing::{needs_engine, needs_harbor, test};

const MANIFEST: &str = "\
name = \"tiny\"

[[tasks]]
path = \"tasks\"

[[agents]]
name = \"oracle\"

[[agents]]
name = \"nop\"

[compute]
resource_limits = { concurrency = 2 }
";

/// A workspace with two tasks, one of which takes so many seconds, and the job of a manifest about them.
fn space(manifest: &str, seconds: u32) -> (Space, Prepared) {
    let space = Space::new();
    space.task("tasks/quick", "touch /tmp/done");
    space.task("tasks/slow", &format!("sleep {seconds}; touch /tmp/done"));
    space.write("tiny.toml", manifest);
    let prepared = space.prepare("tiny.toml").unwrap();
    (space, prepared)
}

/// As `cargo xtask run` does, we listen to Ctrl-C: what a background job of a shell ignores, Harbor would ignore too.
fn start(space: &Space, prepared: &Prepared) -> (Harbor, Job) {
    let always = std::sync::Arc::new(true.into());
    signal_hook::flag::register_conditional_shutdown(signal_hook::consts::SIGINT, 130, always).unwrap();
    let harbor = Harbor::find(&space.root, prepared).unwrap();
    prepared.keep(&space.workspace()).unwrap();
    (harbor, prepared.write(&space.workspace()).unwrap())
}

#[test]
fn a_run_is_watched_kept_and_finished() {
    needs_harbor();
    needs_engine();
    let (space, prepared) = space(MANIFEST, 3);
    let (harbor, job) = start(&space, &prepared);
    assert!(harbor.check(&prepared.yaml().unwrap()).unwrap().answer.contains("4 trial(s)"));

    // An edit after the copies were made reaches no trial.
    space.task("tasks/quick", "exit 1");
    let lock = job.acquire().unwrap().unwrap();
    assert!(job.acquire().unwrap().is_none());
    let mut most = (0, 0);
    let ending = harbor.run(&job, &lock, None, &AtomicBool::new(false), &mut |now| {
        most = (most.0.max(now.tally.ended()), most.1.max(now.running));
        if now.running > 0 && most.0 == 0 {
            let progress = progress::look(&job).unwrap();
            assert_eq!(progress.state, State::Running);
            assert_eq!(progress.process, Some(std::process::id()));
        }
    });
    assert_eq!(ending.unwrap(), Ending::Done);
    drop(lock);
    assert_eq!(most.0, 4);
    assert!(most.1 == 2, "two at a time: {}", most.1);

    let progress = progress::look(&job).unwrap();
    assert_eq!((progress.state, progress.planned, progress.ended), (State::Finished, Some(4), 4));
    assert_eq!((progress.graded, progress.errored, progress.running), (4, 0, 0));
    assert_eq!(progress.mean, Some(0.5));
    assert!(progress.missing.is_empty());
    assert_eq!(jobs::list(&space.workspace(), Some("tiny")).unwrap(), std::slice::from_ref(&job));

    // Harbor's own record says what was asked for, and where it ran from.
    let config: serde_json::Value =
        serde_json::from_slice(&std::fs::read(job.dir.join("config.json")).unwrap()).unwrap();
    assert_eq!(config["n_concurrent_trials"], 2);
    assert_eq!(config["tasks"][0]["path"], prepared.config.tasks[0].path.as_ref().unwrap().to_str().unwrap());

    // Once more it is nothing new; as a job of its own it would be.
    let mut again = space.prepare("tiny.toml").unwrap();
    assert_ne!(again.config.job_name, prepared.config.job_name, "the task was edited");
    again = prepared.clone();
    again.again(&space.workspace());
    assert_eq!(again.config.job_name, format!("{}-2", prepared.config.job_name));
}

#[test]
fn a_run_that_is_stopped_goes_on_where_it_was() {
    needs_harbor();
    needs_engine();
    let (space, prepared) = space(&MANIFEST.replace("concurrency = 2", "concurrency = 1"), 3);
    let (harbor, job) = start(&space, &prepared);
    let lock = job.acquire().unwrap().unwrap();
    let stop = AtomicBool::new(false);
    let ending = harbor.run(&job, &lock, None, &stop, &mut |now| {
        if now.tally.ended() >= 1 && now.running == 1 {
            stop.store(true, Ordering::Relaxed);
        }
    });
    assert_eq!(ending.unwrap(), Ending::Interrupted);
    let stopped = progress::look(&job).unwrap();
    assert!(stopped.graded >= 1 && stopped.graded < 4, "{stopped:?}");
    assert!(!stopped.missing.is_empty(), "{stopped:?}");
    let first = results(&job);

    make_way(&job, Redo::Cancelled).unwrap();
    let ending = harbor.run(&job, &lock, None, &AtomicBool::new(false), &mut |_| {});
    assert_eq!(ending.unwrap(), Ending::Done);
    drop(lock);
    let finished = progress::look(&job).unwrap();
    assert_eq!((finished.state, finished.ended, finished.graded), (State::Finished, 4, 4), "{finished:?}");
    assert!(finished.missing.is_empty());
    // What was graded then is the same trial now.
    let second = results(&job);
    let kept = first.iter().filter(|trial| second.contains(trial)).count() as u64;
    assert_eq!(kept, stopped.graded);
}

/// The identifiers of the trials that have a result.
fn results(job: &Job) -> Vec<String> {
    let mut ids = Vec::new();
    for entry in job.dir.read_dir_utf8().unwrap() {
        let path = entry.unwrap().path().join("result.json");
        let Ok(bytes) = std::fs::read(path) else { continue };
        let result: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        ids.extend(result["id"].as_str().map(str::to_owned));
    }
    ids
}

#[test]
fn a_run_ends_when_its_time_is_up() {
    needs_harbor();
    needs_engine();
    let (space, prepared) = space(&format!("{MANIFEST}[timeouts]\nrun_sec = 4.0\n"), 100);
    let (harbor, job) = start(&space, &prepared);
    let lock = job.acquire().unwrap().unwrap();
    let ending = harbor.run(&job, &lock, prepared.run_sec, &AtomicBool::new(false), &mut |_| {});
    assert_eq!(ending.unwrap(), Ending::OutOfTime);
    drop(lock);
    let progress = progress::look(&job).unwrap();
    assert_eq!(progress.state, State::Stopped);
    assert!(progress.graded < 4);
}

#[test]
fn what_harbor_refuses_is_said_in_its_words() {
    needs_harbor();
    let (space, mut prepared) = space(
        &MANIFEST.replace(
            "name = \"nop\"",
            "name = \"claude-code\"\nmodel = \"anthropic/x\"\nargs = { max_trns = 3 }\nsecrets = [\"TRY_NO_SUCH_VARIABLE\"]",
        ),
        3,
    );
    let harbor = Harbor::find(&space.root, &prepared).unwrap();
    prepared.keep(&space.workspace()).unwrap();
    let said = harbor.check(&prepared.yaml().unwrap()).unwrap_err().to_string();
    assert!(said.contains("TRY_NO_SUCH_VARIABLE") || said.contains("max_trns"), "{said}");
    prepared.config.agents.truncate(1);
    assert!(harbor.check(&prepared.yaml().unwrap()).is_ok());
    // A key that Harbor does not know would be ignored by a run, and is not by this.
    let said = harbor.check(&format!("{}bogus: 1\n", prepared.yaml().unwrap())).unwrap_err().to_string();
    assert!(said.contains("bogus"), "{said}");
}

#[test]
fn a_job_that_cannot_begin_says_why() {
    needs_harbor();
    needs_engine();
    let (space, _) = space(MANIFEST, 3);
    // A closed network needs an image that the local engine has not.
    let toml = std::fs::read_to_string(space.root.join("tasks/slow/task.toml")).unwrap();
    space.write(
        "tasks/slow/task.toml",
        &toml.replace("[environment]", "[environment]\nnetwork_mode = \"no-network\"\ngpus = 64"),
    );
    let prepared = space.prepare("tiny.toml").unwrap();
    let (harbor, job) = start(&space, &prepared);
    let lock = job.acquire().unwrap().unwrap();
    let ran = harbor.run(&job, &lock, None, &AtomicBool::new(false), &mut |_| {});
    let progress = progress::look(&job).unwrap();
    match ran {
        Err(error) => {
            assert!(error.to_string().starts_with("Harbor ended with status"), "{error}");
            assert!(error.hint_text().unwrap().contains("run.log"));
            assert!(progress.ended < 4 && !progress.missing.is_empty(), "{progress:?}");
        }
        // A Harbor that can do it all the same.
        Ok(ending) => assert_eq!(ending, Ending::Done),
    }
}

#[test]
fn a_task_of_a_repository_runs_with_what_is_laid_over_it() {
    needs_harbor();
    needs_engine();
    let space = Space::new();
    space.task("bench/tasks/laid", "[ -s /opt/more/note.txt ] && [ \"$MORE\" = yes ] && touch /tmp/done");
    space.write("more/note.txt", "here\n");
    space.write("more.yaml", "services:\n  main:\n    environment:\n      MORE: \"yes\"\n");
    let repository = space.root.join("bench");
    let git = |words: &[&str]| {
        let output = std::process::Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(words)
            .current_dir(&repository)
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "One task"]);
    let commit = git(&["rev-parse", "HEAD"]);
    space.write(
        "tiny.toml",
        &format!(
            "name = \"laid\"\nextra_instructions = [\"Be quick.\"]\n[[tasks]]\ngit = \"file://{repository}\"\n\
             commit = \"{commit}\"\npaths = [\"tasks/laid\"]\n[[agents]]\nname = \"oracle\"\n[compute]\n\
             compose = [\"more.yaml\"]\nmounts = [{{ path = \"more\", target = \"/opt/more\" }}]\n"
        ),
    );
    let prepared = space.prepare("tiny.toml").unwrap();
    let (harbor, job) = start(&space, &prepared);
    harbor.check(&prepared.yaml().unwrap()).unwrap();
    let lock = job.acquire().unwrap().unwrap();
    let ending = harbor.run(&job, &lock, None, &AtomicBool::new(false), &mut |_| {});
    assert_eq!(ending.unwrap(), Ending::Done);
    drop(lock);
    let progress = progress::look(&job).unwrap();
    assert_eq!((progress.planned, progress.graded, progress.mean), (Some(1), 1, Some(1.0)), "{progress:?}");
    assert!(progress.missing.is_empty(), "{progress:?}");
}
