//! `plan`, `status` and `results`: what the service says, as text or as JSON.

use std::process::ExitCode;

use taskwright_base::table::Table;
use taskwright_base::text::{clean_lines, cut};
use taskwright_language::model::{Access, Direction, Limit};

use super::failure::Failure;
use super::output::{end, print_json, print_line};
use super::remote::{Remote, evaluation_path};
use crate::api::{Evaluation, Page, Plan, SampleView, Status};
use crate::cli::{OneArguments, Output};
use crate::exit;

pub fn plan(output: Output) -> ExitCode {
    end((|| {
        let plan: Plan = Remote::of_environment().get("/plan")?;
        if output.json {
            print_json(&plan);
            return Ok(exit::DONE);
        }
        let better = if plan.direction == Direction::Maximize { "more" } else { "less" };
        print_line(&format!("{}: {}", plan.task, plan.description));
        print_line(&format!("measure: {}, {better} is better", plan.metric));
        let mut table =
            Table::new(["<split", "<samples", "<at least", "<you see", "<evaluations", "<samples in all"]);
        for split in &plan.splits {
            let seen = if split.access == Access::Viewable { "every sample" } else { "the aggregate" };
            table.row([
                split.name.as_str(),
                &split.samples.to_string(),
                &split.min_samples.to_string(),
                seen,
                &used(split.runs_used, split.runs),
                &used(split.samples_used, split.sample_budget),
            ]);
        }
        print_table(&table);
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
        let status: Status = Remote::of_environment().get("/status")?;
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
        for (user, budget) in &status.models {
            print_line(&format!("language models, {user}: {budget}"));
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

pub fn all(service: &Remote) -> Result<Vec<Evaluation>, Failure> {
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

pub fn list(output: Output) -> ExitCode {
    end((|| {
        let evaluations = all(&Remote::of_environment())?;
        if output.json {
            print_json(&Page { evaluations, next: None });
            return Ok(exit::DONE);
        }
        let mut table = Table::new(["<name", "<commit", "<split", "<samples", "<state", "<score"]);
        for evaluation in &evaluations {
            table.row([
                evaluation.id.as_str(),
                short(&evaluation.commit),
                &evaluation.split,
                &evaluation.samples.to_string(),
                evaluation.state.word(),
                &with_left_out(evaluation),
            ]);
        }
        print_table(&table);
        Ok(exit::DONE)
    })())
}

/// The score, and how many samples it is without.
fn with_left_out(evaluation: &Evaluation) -> String {
    let score = text_of(evaluation.score);
    match evaluation.failures.get("infrastructure") {
        Some(count) if evaluation.score.is_some() => format!("{score} ({count} left out)"),
        _ => score,
    }
}

pub fn one(arguments: &OneArguments) -> ExitCode {
    end((|| {
        let path = evaluation_path(&arguments.evaluation)?;
        let evaluation: Evaluation = Remote::of_environment().get(&path)?;
        if arguments.output.json {
            print_json(&evaluation);
        } else {
            print(&evaluation);
        }
        Ok(exit::DONE)
    })())
}

pub fn samples(arguments: &OneArguments) -> ExitCode {
    end((|| {
        let path = evaluation_path(&arguments.evaluation)?;
        Remote::of_environment().stream(&format!("{path}/samples"), |sample: SampleView| {
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
    let error = sample.error.as_ref().map(|error| format!(" [{error}]")).unwrap_or_default();
    print_line(&format!("{}: {}{error}", sample.id, text_of(sample.score)));
    for text in [&sample.feedback, &sample.log].into_iter().flatten() {
        for line in clean_lines(text).lines() {
            print_line(&format!("    {line}"));
        }
    }
}

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
    if let Some(models) = &evaluation.models {
        print_line(&format!("  language models: {models}"));
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
pub fn short(commit: &str) -> &str {
    cut(commit, 10)
}

/// A score as it is printed: all its digits.
pub fn text_of(score: Option<f64>) -> String {
    score.map_or_else(|| "-".to_owned(), |score| score.to_string())
}

fn print_table(table: &Table) {
    print_line(table.text().trim_end());
}
