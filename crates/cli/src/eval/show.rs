//! What is printed in the end: a table of the splits and the samples that are worth a look, or one JSON object.

use crate::exit::{self, Status};
use crate::output::{self, YELLOW, paint, say};
use anyhow::Context;
use serde_json::{Value, json};
use taskwright_eval::{Candidate, End, IsolationGap, Outcome, RunErrorKind, SampleResult};

use super::Evaluated;
use super::baseline::{Baseline, Mean, values};
use super::candidate::Files;
use super::progress::worth;
use super::task::Task;
use taskwright_base::table::{Table, number};
use taskwright_base::text::{brief, clean, count};
use taskwright_language::model::{Direction, Objective};

/// How many characters of a sample's error the table shows.
const SHOWN: usize = 120;
/// How many of the samples that failed are shown, and how many of the worst others.
const MOST_FAILED: usize = 10;
const MOST_WORST: usize = 5;

/// In which form results are printed.
#[derive(Clone, Copy)]
pub enum Form {
    Text(Listed),
    Json,
}

/// Which samples are listed.
#[derive(Clone, Copy)]
pub enum Listed {
    /// Those that failed, and the worst.
    Notable,
    All,
}

/// Says which isolation could not be given.
pub fn gaps(gaps: &[IsolationGap]) {
    for gap in gaps {
        say(&format!("{}: without {}: {}", paint("warning", YELLOW), gap.name, gap.consequence));
    }
}

/// What an evaluation of mode A would run.
pub fn dry_run_a(
    is_json: bool,
    task: &Task,
    candidate: &Candidate,
    splits: &[(String, Vec<String>)],
) -> anyhow::Result<Status> {
    let scorer = task.serve.scorer.as_ref();
    let (run, score) = (scorer.map(|scorer| &scorer.run), scorer.map(|scorer| &scorer.score));
    let text = if is_json {
        let splits: Value = splits.iter().map(|(split, ids)| (split.clone(), json!(ids))).collect();
        format!("{}\n", json!({"tree": candidate.tree, "run": run, "score": score, "splits": splits}))
    } else {
        let line = |arguments: Option<&Vec<String>>| arguments.map(|all| all.join(" ")).unwrap_or_default();
        let mut text = format!("run   {}\nscore {}\n", line(run), line(score));
        for (split, ids) in splits {
            text += &format!("{split}: {}\n", ids.join(" "));
        }
        text
    };
    output::print(&text).context("printing")?;
    Ok(exit::SUCCESS)
}

/// Prints what came out.
pub fn results(
    form: Form,
    task: &Task,
    files: &Files,
    candidate: &Candidate,
    gaps: &[IsolationGap],
    evaluated: &[Evaluated],
) -> std::io::Result<()> {
    let Form::Text(listed) = form else {
        let splits: Vec<Value> = evaluated.iter().map(split_json).collect();
        let whole = json!({
            "task": task.serve.task,
            "mode": task.serve.mode,
            "candidate": {"source": files.source, "tree": candidate.tree, "commit": candidate.commit},
            "isolation_gaps": gaps,
            "objective": task.serve.objective,
            "splits": splits,
        });
        return output::print(&format!("{whole}\n"));
    };
    let objective = &task.serve.objective;
    let is_baseline = candidate.tree.as_str() == task.serve.baseline.tree;
    let mut text = format!("{} on {}\n\n", files.source, task.serve.task);
    text += &splits_text(evaluated, objective);
    if !is_baseline && evaluated.iter().any(|split| split.baseline.is_none()) {
        text += &format!(
            "for the baseline beside it: `cargo xtask eval {}`, with the options of this command\n",
            task.name
        );
    }
    for split in evaluated {
        text += &split_text(split, objective, listed);
    }
    output::print(&text)
}

fn split_json(evaluated: &Evaluated) -> Value {
    let mut value = json!(evaluated.result);
    if let Some(object) = value.as_object_mut() {
        object.insert("split".to_owned(), json!(evaluated.split));
        object.insert("record".to_owned(), json!(evaluated.record));
        object.insert("recorded".to_owned(), json!(evaluated.recorded));
        object.insert("mean".to_owned(), Mean::of(&values(&evaluated.result)).json());
        let baseline = evaluated.baseline.as_ref().and_then(|baseline| {
            let compared = baseline.compare(&evaluated.result)?;
            Some(json!({
                "record": baseline.record(),
                "baseline": compared.baseline.json(),
                "difference": compared.difference.json(),
            }))
        });
        object.insert("baseline".to_owned(), json!(baseline));
        if let Some(facts) = &evaluated.harbor {
            let notes: Vec<Value> =
                facts.notes.iter().map(|note| json!({"path": note.path, "reason": note.reason})).collect();
            object.insert("jobs".to_owned(), json!(facts.jobs));
            object.insert("trials_run".to_owned(), json!(facts.trials_run));
            object.insert("notes".to_owned(), json!(notes));
            object.insert("trouble".to_owned(), json!(facts.trouble));
        }
    }
    value
}

/// The splits, one a row.
fn splits_text(evaluated: &[Evaluated], objective: &Objective) -> String {
    let has_baseline = evaluated.iter().any(|split| split.baseline.is_some());
    let mut columns = vec!["<split", "samples", "failed", "no value", &objective.metric, "<95 %"];
    if has_baseline {
        columns.extend(["baseline", "difference", "<95 %"]);
    }
    let mut table = Table::new(columns);
    for split in evaluated {
        let all = &split.result.aggregate;
        let mean = Mean::of(&values(&split.result));
        let mut row = vec![
            split.split.clone(),
            all.planned.to_string(),
            all.candidate_errors.to_string(),
            all.infrastructure_errors.to_string(),
            number(mean.value),
            interval(mean.interval),
        ];
        if has_baseline {
            let compared = split.baseline.as_ref().and_then(|baseline| baseline.compare(&split.result));
            row.extend(compared.map_or_else(
                || ["-", "-", "-"].map(str::to_owned),
                |compared| {
                    let sign =
                        if compared.difference.value.is_some_and(|mean| mean > 0.0) { "+" } else { "" };
                    [
                        number(compared.baseline.value),
                        format!("{sign}{}", number(compared.difference.value)),
                        interval(compared.difference.interval),
                    ]
                },
            ));
        }
        table.row(row);
    }
    let better = match objective.direction {
        Direction::Maximize => "larger",
        Direction::Minimize => "smaller",
    };
    let mut text = format!("{}`{}`: {better} is better. ", table.text(), objective.metric);
    text += "95 %: where the mean over such samples lies, by Student's distribution";
    text += if has_baseline { "; differences are taken sample by sample\n" } else { "\n" };
    for split in evaluated {
        let compared = split.baseline.as_ref().and_then(|baseline| baseline.compare(&split.result));
        if let Some(compared) = compared
            && compared.difference.count < split.result.samples.len()
        {
            let (shared, all) = (compared.difference.count, split.result.samples.len());
            text += &format!("{}: the baseline has a value of {shared} of its {all} samples\n", split.split);
        }
    }
    text
}

/// What else is to be said of a split: samples that failed and the worst of the others, or all of them, constraints, how it
/// ended and where its record is.
fn split_text(evaluated: &Evaluated, objective: &Objective, listed: Listed) -> String {
    let Evaluated { split, record, recorded, result, baseline, harbor } = evaluated;
    let (samples, others) = match listed {
        Listed::All => (result.samples.iter().collect(), 0),
        Listed::Notable => notable(&result.samples, objective.direction),
    };
    let mut text = format!("\n{split}");
    if matches!(listed, Listed::Notable) && !samples.is_empty() {
        text += &format!(": what failed, and the worst of {}", count(result.samples.len() as u64, "sample"));
    }
    text += "\n";
    if !samples.is_empty() {
        text += &samples_text(&samples, &objective.metric, baseline.as_ref());
    }
    if others > 0 {
        text += &format!("and {others} more that failed; `--list-samples` shows every sample\n");
    }
    for constraint in &result.aggregate.constraints {
        let holds = if constraint.holds { "holds" } else { "does not hold" };
        text +=
            &format!("constraint on {} {holds}: {}\n", constraint.constraint.metric, exact(constraint.value));
    }
    text += match result.end {
        End::Completed => "",
        End::TimedOut => "the evaluation's time was over\n",
        End::Cancelled => "it was stopped\n",
        End::Failed => "it failed: too many samples have no value\n",
    };
    let mean = exact(result.aggregate.mean);
    text += &format!("mean {} {mean}; ", objective.metric);
    text += &match *recorded {
        0 => format!("the record is `{record}`\n"),
        recorded => format!("{recorded} of {} samples from the record `{record}`\n", result.samples.len()),
    };
    if let Some(facts) = harbor {
        for note in &facts.notes {
            text += &format!("not counted: `{}`: {}\n", note.path.display(), clean(&note.reason));
        }
        for line in facts.trouble.iter().flat_map(|trouble| trouble.lines()) {
            text += &format!("{}\n", clean(line));
        }
    }
    text
}

/// The samples that failed, the first of many, then the worst of the others unless all are alike; and how many more failed.
fn notable(samples: &[SampleResult], direction: Direction) -> (Vec<&SampleResult>, usize) {
    let (mut failed, mut others): (Vec<_>, Vec<_>) =
        samples.iter().partition(|sample| !matches!(sample.outcome, Outcome::Scored(_)));
    let more = failed.len().saturating_sub(MOST_FAILED);
    failed.truncate(MOST_FAILED);
    let value = |sample: &&SampleResult| sample.value.unwrap_or(f64::NAN);
    others.sort_by(|one, other| {
        let order = value(one).total_cmp(&value(other));
        if direction == Direction::Maximize { order } else { order.reverse() }
    });
    // The best are none of the worst, however few there are.
    let best = others.last().map(value);
    failed.extend(others.into_iter().take_while(|sample| Some(value(sample)) != best).take(MOST_WORST));
    (failed, more)
}

fn samples_text(samples: &[&SampleResult], metric: &str, baseline: Option<&Baseline>) -> String {
    let has_attempts = samples.iter().any(|sample| sample.attempts.is_some());
    let mut columns = vec!["<sample", metric];
    columns.extend(baseline.map(|_| "baseline"));
    columns.extend(has_attempts.then_some("attempts"));
    columns.extend(["seconds", "<"]);
    let mut table = Table::new(columns);
    for sample in samples {
        let mut row = vec![sample.id.clone(), worth(sample)];
        row.extend(baseline.map(|baseline| number(baseline.value(&sample.id))));
        if has_attempts {
            let attempts = sample.attempts.as_ref();
            row.push(attempts.map_or_else(String::new, |all| format!("{}/{}", all.graded, all.expected)));
        }
        row.extend([format!("{:.1}", sample.seconds), what_failed(sample)]);
        table.row(row);
    }
    table.text()
}

fn interval(interval: Option<(f64, f64)>) -> String {
    interval.map_or_else(
        || "-".to_owned(),
        |(low, high)| format!("[{}, {}]", number(Some(low)), number(Some(high))),
    )
}

fn what_failed(sample: &SampleResult) -> String {
    let words = match &sample.outcome {
        Outcome::Scored(_) => {
            let flagged = sample.attempts.iter().flat_map(|attempts| &attempts.list);
            flagged.filter_map(|attempt| attempt.exception.as_deref()).collect::<Vec<_>>().join(", ")
        }
        // A program that ended with an error has mostly said why in its last line.
        Outcome::CandidateError { kind: RunErrorKind::Crash, detail, .. } => {
            let last = sample.transcript.lines().rev().find(|line| !line.trim().is_empty());
            last.map_or_else(|| detail.clone(), |last| format!("{detail}: {last}"))
        }
        Outcome::CandidateError { detail, .. } => detail.clone(),
        Outcome::Infrastructure { message, .. } => message.clone(),
    };
    brief(&words.split_whitespace().collect::<Vec<_>>().join(" "), SHOWN)
}

/// A number with all that a double holds.
fn exact(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(sample: Value) -> String {
        what_failed(&serde_json::from_value(sample).unwrap())
    }

    fn sample(id: &str, value: Option<f64>, outcome: &Value) -> Value {
        let mut sample = json!({"id": id, "value": value, "score": value, "metrics": {}, "seconds": 0.1});
        for (key, value) in outcome.as_object().unwrap() {
            sample[key] = value.clone();
        }
        sample
    }

    fn evaluated(samples: &[Value], baseline: Option<&str>) -> Evaluated {
        let samples: Vec<SampleResult> =
            samples.iter().map(|sample| serde_json::from_value(sample.clone()).unwrap()).collect();
        let measured = samples.iter().map(taskwright_eval::Measured::from);
        let aggregate = taskwright_eval::summarize(&Objective::default(), measured);
        let baseline = baseline.and_then(|text| {
            let folder = tempfile::tempdir().unwrap();
            let record = camino::Utf8Path::from_path(folder.path()).unwrap();
            std::fs::write(record.join("values.json"), text).unwrap();
            Baseline::read(record.to_owned()).unwrap()
        });
        Evaluated {
            split: "test".to_owned(),
            record: "records/1".into(),
            recorded: 0,
            result: taskwright_eval::EvaluationResult {
                end: End::Completed,
                samples,
                aggregate,
                seconds: 1.0,
            },
            baseline,
            harbor: None,
        }
    }

    fn scored(id: &str, value: f64) -> Value {
        sample(id, Some(value), &json!({"outcome": "scored"}))
    }

    #[test]
    fn splits_stand_in_a_table_with_the_baseline_beside_the_candidate() {
        let samples = [
            scored("a", 1.0),
            scored("b", 0.5),
            sample(
                "c",
                Some(0.0),
                &json!({"outcome": "candidate_error", "kind": "timeout", "detail": "late"}),
            ),
            sample("d", None, &json!({"outcome": "infrastructure", "class": "verifier", "message": "no"})),
        ];
        let alone = splits_text(&[evaluated(&samples, None)], &Objective::default());
        insta::assert_snapshot!(alone, @r"
        split  samples  failed  no value  score  95 %
        test         4       1         1  0.500  [-0.742, 1.742]
        `score`: larger is better. 95 %: where the mean over such samples lies, by Student's distribution
        ");
        let known = r#"{"a": 0.5, "b": 0.5}"#;
        let beside = splits_text(&[evaluated(&samples, Some(known))], &Objective::default());
        insta::assert_snapshot!(beside, @r"
        split  samples  failed  no value  score  95 %             baseline  difference  95 %
        test         4       1         1  0.500  [-0.742, 1.742]     0.500      +0.250  [-2.927, 3.427]
        `score`: larger is better. 95 %: where the mean over such samples lies, by Student's distribution; differences are taken sample by sample
        test: the baseline has a value of 2 of its 4 samples
        ");
    }

    #[test]
    fn of_many_samples_those_are_shown_that_failed_and_the_worst() {
        let fail = |id| json!({"outcome": "candidate_error", "kind": "crash", "detail": id});
        let mut samples: Vec<Value> =
            (0..12).map(|i| sample(&format!("failed-{i}"), Some(0.0), &fail("x"))).collect();
        samples.extend((0..1000).map(|i| scored(&format!("s{i}"), f64::from(1 + i % 500))));
        let evaluated = evaluated(&samples, None);
        let shown = |direction| {
            let (samples, more) = notable(&evaluated.result.samples, direction);
            (samples.iter().skip(MOST_FAILED).map(|sample| sample.id.as_str()).collect::<Vec<_>>(), more)
        };
        assert_eq!(shown(Direction::Maximize), (vec!["s0", "s500", "s1", "s501", "s2"], 2));
        assert_eq!(shown(Direction::Minimize), (vec!["s499", "s999", "s498", "s998", "s497"], 2));
        let text = |listed| split_text(&evaluated, &Objective::default(), listed).lines().count();
        assert!(text(Listed::Notable) < 25 && text(Listed::All) > 1012);
        // Where all are alike, none is the worst.
        let alike = self::evaluated(&[scored("a", 1.0), scored("b", 1.0)], None);
        assert!(notable(&alike.result.samples, Direction::Maximize).0.is_empty());
    }

    #[test]
    fn a_crash_is_told_with_the_last_words() {
        let crash = json!({
            "id": "one", "outcome": "candidate_error", "kind": "crash",
            "detail": "the program ended with exit status 1", "score": 0.0, "value": 0.0, "metrics": {}, "feedback": "", "seconds": 0.1,
            "transcript": "Traceback (most recent call last):\n  File \"run.py\"\nNameError: name 'x'\n\n",
        });
        assert_eq!(said(crash.clone()), "the program ended with exit status 1: NameError: name 'x'");
        let silent = crash.as_object().unwrap().iter().filter(|(key, _)| *key != "transcript");
        let silent = silent.map(|(key, value)| (key.clone(), value.clone())).collect();
        assert_eq!(said(silent), "the program ended with exit status 1");
    }
}
