//! The three Mode A examples, evaluated end to end: the scores are those that their own pages state.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use taskwright_eval::{End, EvaluationResult, ModeA};
use taskwright_testing::test;

use crate::common::{self, Task, evaluate, evaluator, repository};

/// An evaluator of an example, its baseline and its solution, and the samples of a split.
fn prepared(name: &str, split: &str, settings: &[(&str, Value)]) -> (ModeA, [PathBuf; 2], Vec<String>, Task) {
    let task = repository().join("harbor-tasks").join(name);
    let dataset = repository().join("datasets").join(name);
    let rows = std::fs::read_dir(&dataset)
        .expect("the dataset")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .expect("a file of rows");
    let samples: Vec<String> = std::fs::read_to_string(&rows)
        .expect("the rows")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a row"))
        .filter(|row| row["split"] == split)
        .map(|row| row["id"].as_str().expect("an id").to_owned())
        .collect();
    let mut settled = Task::new()
        .set("splits.all.samples", samples.clone())
        .set("scorer.rows", vec![rows.file_name().and_then(|name| name.to_str()).expect("a name")])
        .set("limits.memory_mb", 2048)
        .set("limits.file_size_mb", 256)
        .set("limits.output_mb", 16)
        .set("limits.processes", 64);
    for (path, value) in settings {
        settled = settled.set(path, value.clone());
    }
    let folder = settled.folder.path().to_owned();
    let evaluator =
        evaluator(Arc::clone(&settled.serve()), &dataset, &task.join("scorer"), &folder.join("run"));
    let candidates = ["baseline", "solution"].map(|candidate| {
        let checkout = folder.join(candidate);
        copy(&task.join("baseline"), &checkout);
        copy(&task.join(candidate), &checkout);
        checkout
    });
    (evaluator, candidates, samples, settled)
}

/// Evaluates both candidates of an example on a split.
fn example(name: &str, split: &str, settings: &[(&str, Value)]) -> [EvaluationResult; 2] {
    let (evaluator, candidates, samples, _task) = prepared(name, split, settings);
    let samples: Vec<&str> = samples.iter().map(String::as_str).collect();
    candidates.map(|checkout| {
        let result = evaluate(&evaluator, &checkout, &samples);
        assert_eq!(result.end, End::Completed, "{:#?}", result.samples.first());
        assert_eq!(result.aggregate.scored, samples.len() as u64, "{:#?}", result.samples.first());
        result
    })
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("a type").is_file() {
            common::write(to.join(entry.file_name()), std::fs::read(entry.path()).expect("a file"));
        }
    }
}

fn words(words: &[&str]) -> Value {
    words.iter().map(|word| Value::from(*word)).collect()
}

#[test]
fn circle_packing() {
    let settings = [("scorer.run", words(&["python3", "{scorer}/run.py"]))];
    let [baseline, solution] = example("circle-packing", "validation", &settings);
    let [baseline, solution] = [baseline, solution].map(|result| result.aggregate.mean.expect("a mean"));
    assert!((baseline - 2.166_666_666_664).abs() < 1e-10, "{baseline}");
    assert!((solution - 2.629_866_371_438).abs() < 1e-10, "{solution}");
}

#[test]
fn the_same_candidate_ten_times_has_one_score() {
    let settings = [("scorer.run", words(&["python3", "{scorer}/run.py"]))];
    let (evaluator, [_, solution], samples, _task) = prepared("circle-packing", "validation", &settings);
    let samples: Vec<&str> = samples.iter().map(String::as_str).collect();
    let mean = || evaluate(&evaluator, &solution, &samples).aggregate.mean.expect("a mean").to_bits();
    let first = mean();
    assert!((1..10).all(|_| mean() == first));
}

#[test]
fn digits() {
    let settings = [
        ("scorer.run", words(&["python3", "{scorer}/run.py"])),
        ("scorer.labels", words(&["label"])),
        ("scorer.batch", 2000.into()),
    ];
    let results = example("digits", "validation", &settings);
    let right =
        results.map(|result| result.samples.iter().filter(|sample| sample.value == Some(1.0)).count());
    assert_eq!(right, [326, 356]);
}

#[test]
fn c_matmul() {
    let settings = [
        ("scorer.run", words(&[])),
        ("scorer.score", words(&["python3", "{scorer}/score.py", "{taskwright}", "{scorer}", "{candidate}"])),
        ("scorer.labels", words(&["seed"])),
        ("limits.concurrency", 1.into()),
        ("limits.infrastructure_max_attempts", 3.into()),
        ("limits.infrastructure_retry_delay_sec", 0.into()),
        ("limits.sample_timeout_sec", 600.into()),
    ];
    let [baseline, solution] = example("c-matmul", "train", &settings);
    let [baseline, solution] = [baseline, solution].map(|result| result.aggregate.mean.expect("a mean"));
    // The baseline is about as fast as itself and the solution several times faster, however busy the machine is: what is
    // compared takes turns. The medians of a few runs say no more than that while something else computes.
    assert!((0.3..3.0).contains(&baseline), "{baseline}");
    assert!(solution > 1.5 * baseline, "{solution} and {baseline}");
}
