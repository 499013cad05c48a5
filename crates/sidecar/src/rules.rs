//! The task's rules in words, from the very config that the service enforces.

use taskwright_language::model::{Access, Mode, Policy};

use crate::api::Plan;
use crate::service::Service;

pub fn plan(service: &Service) -> Plan {
    let config = &service.config;
    let splits = service.split_plans();
    let selection = &config.selection;
    let best = format!(
        "the candidate that did best on `{}` counts, of those evaluated on at least {} % of it{}",
        selection.split,
        selection.min_coverage * 100.0,
        if selection.baseline_floor {
            "; one that is not better than the baseline there does not"
        } else {
            ""
        },
    );
    let selection = match selection.policy {
        Policy::Submit => format!("the commit submitted last counts; if none was submitted, {best}"),
        Policy::AutoBest => best,
    };
    let mut rules = vec![
        "a candidate is a commit; what is not committed is not evaluated".to_owned(),
        "the same files on the same samples are evaluated once if the scorer is deterministic; asking again costs \
         nothing"
            .to_owned(),
        "what fails for reasons of the service costs nothing; what is cancelled costs the samples that were run"
            .to_owned(),
    ];
    if splits.iter().any(|split| split.access == Access::NonViewable && split.min_samples > 1) {
        rules.push(
            "a split that shows only aggregates is cut into fixed blocks of at least `min_samples` samples, and an \
             evaluation covers whole blocks: a number of samples is widened to whole blocks, and fewer than \
             `min_samples` are refused; its samples have no names that could be asked for"
                .to_owned(),
        );
    }
    if config.mode == Mode::A {
        let network = if config.candidates_ask_models() {
            "with no network but the way to language models"
        } else {
            "without a network"
        };
        rules.push(format!(
            "a candidate runs {network} and without `/dev/shm` (no pools, queues and locks of Python's \
             `multiprocessing`), and writes only below `$TMPDIR`"
        ));
    }
    if !config.baseline.read_only.is_empty() {
        rules.push("a candidate that changes a read-only file is refused".to_owned());
    }
    Plan {
        task: config.task.clone(),
        description: config.description.clone(),
        baseline: config.baseline.commit.clone(),
        metric: config.objective.metric.clone(),
        direction: config.objective.direction,
        constraints: config.objective.constraints.clone(),
        read_only: config.baseline.read_only.clone(),
        splits,
        selection,
        rules,
    }
}
