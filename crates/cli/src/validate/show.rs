//! What is printed in the end: a table for each task, or one JSON object.

use anyhow::Context;
use serde_json::{Value, json};
use taskwright_base::table::{Table, number};
use taskwright_eval::controls::Tries;
use taskwright_language::model::Verdict;

use super::Validated;
use crate::output;

/// Prints what came of the controls of tasks.
pub fn results(is_json: bool, all: &[Validated]) -> anyhow::Result<()> {
    let text = if is_json {
        let tasks: Vec<Value> = all.iter().map(as_json).collect();
        format!("{}\n", json!({ "tasks": tasks }))
    } else {
        all.iter().map(as_text).collect::<Vec<_>>().join("\n")
    };
    output::print(&text).context("printing")
}

fn as_json(task: &Validated) -> Value {
    let tries = task.tries.as_ref();
    let controls: Option<Vec<Value>> = tries.map(|tries| {
        let control = |tried: &taskwright_eval::controls::Tried| {
            json!({
                "control": tried.name,
                "score": tried.score,
                "expectation": tried.expectation,
                "verdict": tried.judged.verdict,
                "detail": tried.judged.detail,
            })
        };
        tries.tried.iter().map(control).collect()
    });
    json!({"task": task.task, "controls": controls, "notes": tries.map(|tries| &tries.notes)})
}

fn as_text(task: &Validated) -> String {
    let Some(tries) = &task.tries else {
        return format!("{}: written by hand: there are no samples to score a control on\n", task.task);
    };
    let mut table = Table::new(["<control", "score", "<must be", "<verdict", "<"]);
    for tried in &tries.tried {
        let score = number(tried.score);
        let verdict = tried.judged.verdict.words();
        table.row([tried.name.as_str(), &score, tried.expectation, verdict, &tried.judged.detail]);
    }
    let notes: String = tries.notes.iter().map(|note| format!("note: {note}\n")).collect();
    format!("{}: {}\n{}{notes}", task.task, summary(tries), table.text())
}

/// One line on all of them.
fn summary(tries: &Tries) -> String {
    let count = |verdict| tries.tried.iter().filter(|tried| tried.judged.verdict == verdict).count();
    [Verdict::Pass, Verdict::Fail, Verdict::NotMeasured, Verdict::NotApplicable]
        .into_iter()
        .map(|verdict| (verdict, count(verdict)))
        .filter(|(_, count)| *count > 0)
        .map(|(verdict, count)| format!("{count} {}", verdict.words()))
        .collect::<Vec<_>>()
        .join(", ")
}
