//! The serve config: what the spec says, resolved, as the eval sidecar reads it.

use taskwright_language::model::{Selection, Spec};
use taskwright_language::pattern::literal;
use taskwright_language::serve::{
    SERVE_VERSION, ServeBaseline, ServeConfig, ServeHarbor, ServeScorer, ServeSplit, ServeTarget,
};

use super::splits::Resolved;
use super::{baseline, dataset};
use taskwright_base::Digest;

/// The serve config of a spec.
#[expect(clippy::too_many_lines, reason = "one field after the other")]
pub fn config(
    spec: &Spec,
    baseline: &baseline::Node,
    resolved: &Resolved,
    rows: Option<(&dataset::Node, Digest)>,
    harbor: Option<ServeHarbor>,
) -> ServeConfig {
    let splits = spec.splits.iter().map(|(name, split)| {
        let samples = resolved.splits.get(name).cloned().unwrap_or_default();
        let split = ServeSplit {
            access: split.access,
            budget: split.budget.clone(),
            min_samples: split.min_samples,
            expose: split.expose,
            samples,
        };
        (name.clone(), split)
    });
    let targets = spec.targets.iter().zip(&resolved.targets).map(|(target, samples)| ServeTarget {
        split: target.split.clone(),
        reward_key: target.reward_key.clone(),
        samples: samples.clone(),
        attempts: target.attempts,
        aggregate: target.aggregate,
        baseline_reward: target.baseline_reward,
        failure_value: target.failure_value.unwrap_or(spec.objective.failure_value),
        direction: target.direction.unwrap_or(spec.objective.direction),
        max_attempts: target.max_attempts,
    });
    let mut read_only = spec.baseline.read_only.clone();
    read_only.extend(baseline.read_only.iter().map(|path| literal(path)));
    ServeConfig {
        serve_version: SERVE_VERSION,
        task: format!("{}/{}", spec.organization, spec.name),
        version: spec.version.clone(),
        description: spec.description.clone(),
        mode: spec.mode,
        baseline: ServeBaseline {
            commit: baseline.commit.clone(),
            tree: baseline.tree_id.clone(),
            read_only,
        },
        objective: spec.objective.clone(),
        splits: splits.collect(),
        selection: Selection {
            split: spec.selection_split().unwrap_or_default().to_owned(),
            ..spec.selection.clone()
        },
        targets: targets.collect(),
        limits: spec.limits.clone(),
        feedback: spec.feedback.clone(),
        scorer: spec.scorer.as_ref().zip(spec.dataset.as_ref()).zip(rows).map(
            |((scorer, dataset), (node, scorer_digest))| ServeScorer {
                run: scorer.run.clone(),
                score: scorer.score.clone(),
                batch: scorer.batch,
                deterministic: scorer.deterministic.unwrap_or(!spec.candidates_ask_models()),
                env: scorer.env.clone(),
                rows: node.rows.clone(),
                id: dataset.id.clone(),
                labels: dataset.labels.clone(),
                scorer_digest: scorer_digest.to_string(),
                dataset_digest: node.digest.to_string(),
            },
        ),
        harbor,
        secrets: spec.secret_names(),
        gateway: spec.gateway.clone(),
        wandb: spec.wandb.clone(),
    }
}
