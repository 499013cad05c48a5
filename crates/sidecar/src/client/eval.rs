//! `eval`, `wait`, `cancel` and `submit`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::failure::Failure;
use super::output::{end, print_json, print_line, status_of};
use super::remote::{Remote, evaluation_path};
use super::{keep, repository, show};
use crate::api::{Candidate, Choice, Evaluation, Event, NewEvaluation, Nomination, Page, Plan, Progress};
use crate::cli::{EvalArguments, OneArguments, SubmitArguments, WaitArguments};
use crate::exit;
use crate::problem::Kind;

/// How long a service that went away may take to come back.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn eval(arguments: &EvalArguments) -> ExitCode {
    end(try_eval(arguments))
}

fn try_eval(arguments: &EvalArguments) -> Result<u8, Failure> {
    let service = Remote::of_environment();
    let samples = choice(arguments.samples.as_deref())?;
    let commit = repository::commit(&arguments.commit)?;
    warn(&arguments.commit, "evaluated");
    let wanted = NewEvaluation { commit: commit.clone(), split: arguments.split.clone(), samples };
    let evaluation: Evaluation = with_upload(&service, &commit, || service.post("/evaluations", &wanted))?;
    if let Some(note) = &evaluation.note {
        eprintln!("{note}");
    }
    if arguments.detach {
        if arguments.output.json {
            print_json(&evaluation);
        } else {
            print_line(&evaluation.id);
        }
        return Ok(exit::DONE);
    }
    let evaluation =
        if evaluation.state.is_final() { evaluation } else { follow(&service, &evaluation.id, None)? };
    keep::keep(&service, &evaluation);
    if arguments.output.json {
        print_json(&evaluation);
    } else {
        show::print(&evaluation);
    }
    Ok(status_of(&evaluation))
}

/// What `--samples` says: a number, or names separated by commas.
fn choice(text: Option<&str>) -> Result<Choice, Failure> {
    let Some(text) = text else { return Ok(Choice::All) };
    if let Ok(count) = text.parse() {
        return Ok(Choice::Count(count));
    }
    let ids: Vec<String> = text.split(',').map(|id| id.trim().to_owned()).collect();
    if ids.iter().any(String::is_empty) {
        return Err(Failure::here(
            "`--samples` names a sample without a name",
            "give a number, or the samples' names separated by commas",
        ));
    }
    Ok(Choice::Ids(ids))
}

/// Says that what is not committed does not count, where that matters.
fn warn(revision: &str, what: &str) {
    if revision == "HEAD" {
        match repository::uncommitted() {
            0 => {}
            files => eprintln!("warning: uncommitted changes of {files} files are not {what}"),
        }
    }
}

/// Asks, and if the service does not know the candidate, uploads it and asks again.
fn with_upload<T>(
    service: &Remote,
    commit: &str,
    ask: impl Fn() -> Result<T, Failure>,
) -> Result<T, Failure> {
    match ask() {
        Err(Failure::Problem(problem)) if problem.kind == Kind::NotFound => {}
        answer => return answer,
    }
    let plan: Plan = service.get("/plan")?;
    let mut pack = repository::pack(commit, &plan.baseline)?;
    let uploaded = service.put::<Candidate>(&format!("/candidates/{commit}"), &mut pack.bytes);
    match (pack.finish(), uploaded) {
        // A refused upload may end git early: the refusal is what counts.
        (_, Err(failure @ Failure::Problem(_))) | (Ok(()), Err(failure)) | (Err(failure), _) => {
            return Err(failure);
        }
        (Ok(()), Ok(_)) => {}
    }
    ask()
}

/// Waits for an evaluation, with a line whenever it has come a tenth further.
fn follow(service: &Remote, id: &str, deadline: Option<Instant>) -> Result<Evaluation, Failure> {
    let path = evaluation_path(id)?;
    let mut shown = None;
    let mut lost: Option<Instant> = None;
    let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    loop {
        let mut over = None;
        let streamed = service.stream(&format!("{path}/events"), |event: Event| {
            match event {
                Event::Progress(now) | Event::Waiting(now) => report(id, now, &mut shown),
                Event::Sample(_) => {}
                Event::End(evaluation) => over = Some(evaluation),
            }
            over.is_none() && !is_late()
        });
        if let Some(evaluation) = over {
            return Ok(evaluation);
        }
        if is_late() {
            return service.get(&path);
        }
        match streamed {
            Err(failure @ Failure::Problem(_)) => return Err(failure),
            Err(failure) if lost.get_or_insert_with(Instant::now).elapsed() > PATIENCE => {
                return Err(failure);
            }
            _ => std::thread::sleep(Duration::from_millis(500)),
        }
    }
}

fn report(id: &str, now: Progress, shown: &mut Option<Progress>) {
    let tenth = |progress: Progress| progress.finished * 10 / progress.samples.max(1);
    let is_news = shown.is_none_or(|before| before.state != now.state || tenth(before) != tenth(now));
    if is_news {
        eprintln!("{id}: {}, {} of {} samples", now.state.word(), now.finished, now.samples);
        *shown = Some(now);
    }
}

pub fn wait(arguments: &WaitArguments) -> ExitCode {
    end(try_wait(arguments))
}

fn try_wait(arguments: &WaitArguments) -> Result<u8, Failure> {
    let service = Remote::of_environment();
    let deadline =
        arguments.timeout.map(|seconds| Instant::now() + Duration::from_secs(seconds.min(1 << 30)));
    let ids = if arguments.evaluations.is_empty() {
        let status: crate::api::Status = service.get("/status")?;
        status.active.into_iter().map(|evaluation| evaluation.id).collect()
    } else {
        arguments.evaluations.clone()
    };
    let mut worst = exit::DONE;
    let mut evaluations = Vec::new();
    for id in ids {
        let evaluation = follow(&service, &id, deadline)?;
        keep::keep(&service, &evaluation);
        if !arguments.output.json {
            show::print(&evaluation);
        }
        // Not over in time is no success either.
        worst = worst.max(if evaluation.state.is_final() { status_of(&evaluation) } else { exit::FAILED });
        evaluations.push(evaluation);
    }
    if arguments.output.json {
        print_json(&Page { evaluations, next: None });
    }
    Ok(worst)
}

pub fn cancel(arguments: &OneArguments) -> ExitCode {
    end((|| {
        let service = Remote::of_environment();
        let id = arguments.evaluation.as_str();
        let path = format!("{}/cancel", evaluation_path(id)?);
        let mut evaluation: Evaluation = service.post(&path, &serde_json::json!({}))?;
        if !evaluation.state.is_final() {
            evaluation = follow(&service, id, None)?;
        }
        if arguments.output.json {
            print_json(&evaluation);
        } else {
            show::print(&evaluation);
        }
        Ok(exit::DONE)
    })())
}

pub fn submit(arguments: &SubmitArguments) -> ExitCode {
    end((|| {
        let service = Remote::of_environment();
        let commit = repository::commit(&arguments.commit)?;
        warn(&arguments.commit, "submitted");
        let wanted = Nomination { commit: commit.clone() };
        let candidate: Candidate = with_upload(&service, &commit, || service.post("/submit", &wanted))?;
        if arguments.output.json {
            print_json(&candidate);
        } else {
            print_line(&format!("submitted {}", candidate.commit));
        }
        Ok(exit::DONE)
    })())
}
