//! `plan`, `status` and `results`: what the service says, as text or as JSON.

use std::process::ExitCode;

use taskwright_language::model::{Access, Direction, Limit};

use super::http::{Failure, Service};
use super::{end, eval, print_json, print_line};
use crate::api::{Evaluation, Page, Plan, SampleView, Status};
use crate::cli::{OneArguments, Output};
use crate::exit;

/// Shows what the task allows.
pub fn plan(output: Output) -> ExitCode {
    end((|| {
        let plan: Plan = Service::of_environment().get("/plan")?;
        if output.json {
            print_json(&plan);
            return Ok(exit::DONE);
        }
        let better = if plan.direction == Direction::Maximize { "more" } else { "less" };
        print_line(&format!("{}: {}", plan.task, plan.description));
        print_line(&format!("measure: {}, {better} is better", plan.metric));
        let mut rows = vec![
            ["split", "samples", "at least", "you see", "evaluations", "samples in all"].map(String::from),
        ];
        rows.extend(plan.splits.iter().map(|split| {
            [
                split.name.clone(),
                split.samples.to_string(),
                split.min_samples.to_string(),
                if split.access == Access::Viewable { "every sample" } else { "the aggregate" }.to_owned(),
                used(split.runs_used, split.runs),
                used(split.samples_used, split.sample_budget),
            ]
        }));
        print_rows(&rows);
        print_line(&format!("result: {}", plan.selection));
        for path in &plan.read_only {
            print_line(&format!("read-only: {path}"));
        }
        for rule in &plan.rules {
            print_line(&format!("- {rule}"));
        }
        Ok(exit::DONE)
    })())
}

fn used(used: u64, limit: Limit) -> String {
    match limit {
        Limit::Unlimited => format!("{used} used, no limit"),
        Limit::AtMost(limit) => format!("{used} of {limit} used"),
    }
}

/// Shows what is running, the budgets and the submission.
pub fn status(output: Output) -> ExitCode {
    end((|| {
        let status: Status = Service::of_environment().get("/status")?;
        if output.json {
            print_json(&status);
            return Ok(exit::DONE);
        }
        print_line(&format!("{} evaluations, {} active", status.evaluations, status.active.len()));
        for evaluation in &status.active {
            print(evaluation);
        }
        for (split, budget) in &status.budgets {
            print_line(&format!(
                "{split}: evaluations {}; samples {}",
                used(budget.runs_used, budget.runs),
                used(budget.samples_used, budget.samples)
            ));
        }
        match &status.submitted {
            Some(candidate) => print_line(&format!("submitted: {}", candidate.commit)),
            None => print_line("submitted: nothing"),
        }
        if status.sealed {
            print_line("the work is over");
        }
        Ok(exit::DONE)
    })())
}

/// All evaluations.
pub fn all(service: &Service) -> Result<Vec<Evaluation>, Failure> {
    let mut evaluations = Vec::new();
    let mut from = 0;
    loop {
        let page: Page = service.get(&format!("/evaluations?from={from}"))?;
        evaluations.extend(page.evaluations);
        match page.next {
            Some(next) => from = next,
            None => return Ok(evaluations),
        }
    }
}

/// Lists all evaluations.
pub fn list(output: Output) -> ExitCode {
    end((|| {
        let evaluations = all(&Service::of_environment())?;
        if output.json {
            print_json(&Page { evaluations, next: None });
            return Ok(exit::DONE);
        }
        let mut rows = vec![["name", "commit", "split", "samples", "state", "score"].map(String::from)];
        rows.extend(evaluations.iter().map(|evaluation| {
            [
                evaluation.id.clone(),
                short(&evaluation.commit),
                evaluation.split.clone(),
                evaluation.samples.to_string(),
                evaluation.state.word().to_owned(),
                evaluation.score.map_or_else(|| "-".to_owned(), |score| score.to_string()),
            ]
        }));
        print_rows(&rows);
        Ok(exit::DONE)
    })())
}

/// Shows one evaluation.
pub fn one(arguments: &OneArguments) -> ExitCode {
    end((|| {
        let id = eval::checked(&arguments.evaluation)?;
        let evaluation: Evaluation = Service::of_environment().get(&format!("/evaluations/{id}"))?;
        if arguments.output.json {
            print_json(&evaluation);
        } else {
            print(&evaluation);
        }
        Ok(exit::DONE)
    })())
}

/// Shows an evaluation's samples.
pub fn samples(arguments: &OneArguments) -> ExitCode {
    end((|| {
        let id = eval::checked(&arguments.evaluation)?;
        let service = Service::of_environment();
        service.stream(&format!("/evaluations/{id}/samples"), |sample: SampleView| {
            if arguments.output.json {
                print_json(&sample);
            } else {
                print_sample(&sample);
            }
            true
        })?;
        Ok(exit::DONE)
    })())
}

fn print_sample(sample: &SampleView) {
    let score = sample.score.map_or_else(|| "-".to_owned(), |score| score.to_string());
    let error = sample.error.as_ref().map(|error| format!(" [{error}]")).unwrap_or_default();
    print_line(&format!("{}: {score}{error}", sample.id));
    for text in [&sample.feedback, &sample.log].into_iter().flatten() {
        for line in text.lines() {
            print_line(&format!("    {line}"));
        }
    }
}

/// Prints an evaluation.
pub fn print(evaluation: &Evaluation) {
    let on = format!("{} on {}", short(&evaluation.commit), evaluation.split);
    let head = match (evaluation.score, &evaluation.error) {
        (Some(score), _) => format!("{}: {on}: {score}", evaluation.id),
        (None, Some(error)) => format!("{}: {on}: {}: {error}", evaluation.id, evaluation.state.word()),
        (None, None) => format!("{}: {on}: {}", evaluation.id, evaluation.state.word()),
    };
    print_line(&head);
    if evaluation.score.is_some() {
        print_line(&format!(
            "  {} samples in {:.1} s, {} from the record; charged {} evaluations and {} samples",
            evaluation.scored,
            evaluation.seconds,
            evaluation.recorded,
            evaluation.charged.runs,
            evaluation.charged.samples
        ));
    }
    for (name, value) in &evaluation.metrics {
        print_line(&format!("  {name}: {value}"));
    }
    for (kind, count) in &evaluation.failures {
        print_line(&format!("  {count} samples failed: {kind}"));
    }
    if evaluation.eligible == Some(false) {
        print_line("  a constraint does not hold: this evaluation does not count");
    }
}

/// The beginning of a commit's name.
pub fn short(commit: &str) -> String {
    commit.chars().take(10).collect()
}

/// Prints rows in columns.
fn print_rows<const N: usize>(rows: &[[String; N]]) {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        print_line(cells.join("  ").trim_end());
    }
}
