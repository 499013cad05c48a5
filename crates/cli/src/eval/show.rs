//! What is printed in the end: a table per split, or one JSON object.

use crate::exit::{self, Status};
use crate::output::{self, YELLOW, paint, say};
use anyhow::Context;
use serde_json::{Value, json};
use taskwright_eval::{Candidate, End, EvaluationResult, IsolationGap, Outcome, RunErrorKind, SampleResult};

use super::Evaluated;
use super::candidate::Files;
use super::progress::worth;
use super::task::Task;
use taskwright_base::table::{Table, number};
use taskwright_base::text::{brief, clean};

/// How many characters of a sample's error the table shows.
const SHOWN: usize = 120;

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
    is_json: bool,
    task: &Task,
    files: &Files,
    candidate: &Candidate,
    gaps: &[IsolationGap],
    evaluated: &[Evaluated],
) -> std::io::Result<()> {
    if is_json {
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
    }
    let mut text = format!("{} on {}\n", files.source, task.serve.task);
    for split in evaluated {
        text += &split_text(split, &task.serve.objective.metric);
    }
    output::print(&text)
}

fn split_json(evaluated: &Evaluated) -> Value {
    let mut value = json!(evaluated.result);
    if let Some(object) = value.as_object_mut() {
        object.insert("split".to_owned(), json!(evaluated.split));
        object.insert("record".to_owned(), json!(evaluated.record));
        object.insert("recorded".to_owned(), json!(evaluated.recorded));
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

fn split_text(evaluated: &Evaluated, metric: &str) -> String {
    let Evaluated { split, record, recorded, result, harbor } = evaluated;
    let mut text = format!("\n{split}\n");
    let has_attempts = result.samples.iter().any(|sample| sample.attempts.is_some());
    let columns: &[&str] = if has_attempts {
        &["<sample", metric, "attempts", "seconds", "<"]
    } else {
        &["<sample", metric, "seconds", "<"]
    };
    let mut table = Table::new(columns.iter().copied());
    for sample in &result.samples {
        let mut row = vec![sample.id.clone(), worth(sample)];
        if has_attempts {
            row.push(
                sample.attempts.as_ref().map_or_else(String::new, |attempts| {
                    format!("{}/{}", attempts.graded, attempts.expected)
                }),
            );
        }
        row.extend([format!("{:.1}", sample.seconds), what_failed(sample)]);
        table.row(row);
    }
    text += &table.text();
    text += &summary(result, metric);
    let mut from = format!("{recorded} of {} samples from the record `{record}`", result.samples.len());
    if *recorded == 0 {
        from = format!("the record is `{record}`");
    }
    text += &format!("{from}\n");
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

fn summary(result: &EvaluationResult, metric: &str) -> String {
    let all = &result.aggregate;
    let mut text = format!("mean {metric} {}", exact(all.mean));
    if let Some(error) = all.standard_error {
        text += &format!(" ± {}", number(Some(error)));
    }
    text += &format!(" over {} of {} samples", all.scored + all.candidate_errors, all.planned);
    if all.candidate_errors > 0 {
        text += &format!(", {} failed by the candidate", all.candidate_errors);
    }
    if all.infrastructure_errors > 0 {
        text += &format!(", {} without a value", all.infrastructure_errors);
    }
    let end = match result.end {
        End::Completed => "",
        End::TimedOut => "; the evaluation's time was over",
        End::Cancelled => "; stopped",
        End::Failed => "; failed: too many samples have no value",
    };
    let mut text = format!("{text}{end}\n");
    for constraint in &all.constraints {
        let holds = if constraint.holds { "holds" } else { "does not hold" };
        text +=
            &format!("constraint on {} {holds}: {}\n", constraint.constraint.metric, exact(constraint.value));
    }
    text
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
