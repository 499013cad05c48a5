//! `diff`: what changed from one evaluation to another.

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde::Serialize;

use super::failure::Failure;
use super::output::{end, print_json, print_line};
use super::remote::{Remote, evaluation_path};
use super::show;
use crate::api::{Evaluation, SampleView};
use crate::cli::DiffArguments;
use crate::exit;

#[derive(Serialize)]
struct Difference {
    a: Evaluation,
    b: Evaluation,
    /// The score of `b` less that of `a`.
    score: Option<f64>,
    /// Samples whose score changed, where both show their samples.
    samples: Vec<Changed>,
}

#[derive(Serialize)]
struct Changed {
    id: String,
    a: Option<f64>,
    b: Option<f64>,
}

pub fn diff(arguments: &DiffArguments) -> ExitCode {
    end((|| {
        let service = Remote::of_environment();
        let get = |id: &str| service.get::<Evaluation>(&evaluation_path(id)?);
        let (a, b) = (get(&arguments.a)?, get(&arguments.b)?);
        let samples = match (scores(&service, &a)?, scores(&service, &b)?) {
            (Some(before), Some(after)) => changed(&before, &after),
            _ => Vec::new(),
        };
        let score = a.score.zip(b.score).map(|(a, b)| b - a);
        if arguments.output.json {
            print_json(&Difference { a, b, score, samples });
            return Ok(exit::DONE);
        }
        show::print(&a);
        show::print(&b);
        if a.split != b.split || a.samples != b.samples {
            print_line("they are not of the same samples: their scores cannot be compared");
        }
        if let Some(score) = score {
            print_line(&format!("difference: {score:+}"));
        }
        if a.commit != b.commit {
            print_line(&format!(
                "what changed in the code: git diff {} {}",
                show::short(&a.commit),
                show::short(&b.commit)
            ));
        }
        for sample in &samples {
            print_line(&format!(
                "  {}: {} -> {}",
                sample.id,
                show::text_of(sample.a),
                show::text_of(sample.b)
            ));
        }
        Ok(exit::DONE)
    })())
}

/// The score of each sample; none if the split does not show them.
fn scores(
    service: &Remote,
    evaluation: &Evaluation,
) -> Result<Option<BTreeMap<String, Option<f64>>>, Failure> {
    let mut scores = BTreeMap::new();
    let path = format!("{}/samples", evaluation_path(&evaluation.id)?);
    match service.stream(&path, |sample: SampleView| scores.insert(sample.id, sample.score).is_none()) {
        Ok(()) => Ok(Some(scores)),
        Err(Failure::Problem(problem)) if problem.kind == crate::problem::Kind::Access => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn changed(a: &BTreeMap<String, Option<f64>>, b: &BTreeMap<String, Option<f64>>) -> Vec<Changed> {
    a.iter()
        .filter_map(|(id, before)| {
            let after = b.get(id)?;
            (before != after).then(|| Changed { id: id.clone(), a: *before, b: *after })
        })
        .collect()
}
