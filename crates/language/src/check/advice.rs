//! What builds, and could be better: only `lint` says it.

use super::Context;
use crate::model::Access;
use taskwright_base::rule::Rule;
use taskwright_base::text::count;

/// The fewest samples whose mean says little about one of them.
const ENOUGH_SAMPLES: u64 = 5;

pub fn check(context: &mut Context<'_>) {
    let spec = context.spec;
    for (key, image) in
        [("main", &spec.images.main), ("sidecar", &spec.images.sidecar), ("verifier", &spec.images.verifier)]
    {
        let path = ["images", key];
        if context.is_written(&path) && !image.contains("@sha256:") {
            context.advice(
                Rule::UnpinnedImage,
                &path,
                format!("`{image}` may be another image tomorrow"),
                "`docker buildx imagetools inspect` says its digest: write it as `name:tag@sha256:...`",
            );
        }
    }
    for (name, split) in &spec.splits {
        if split.access == Access::NonViewable && split.min_samples < ENOUGH_SAMPLES {
            context.advice(
                Rule::SmallFloor,
                &["splits", name, "min_samples"],
                format!(
                    "an evaluation of `{name}` may be of {}, whose mean says much about each",
                    count(split.min_samples, "sample")
                ),
                "raise `min_samples`: the differences of two evaluations tell the result of what one has and the other has not",
            );
        }
    }
}
