//! Our own templates: that each stands for a file that there is a template for.

use super::Context;
use crate::shape::{nearest, one_of};

/// The outputs whose template a spec may replace.
pub const TEMPLATES: [&str; 9] = [
    "environment/Dockerfile",
    "environment/docker-compose.yaml",
    "environment/sidecar/Dockerfile",
    "instruction.md",
    "solution/solve.sh",
    "task.toml",
    "tests/Dockerfile",
    "tests/docker-compose.yaml",
    "tests/test.sh",
];

pub fn check(context: &mut Context<'_>) {
    for output in context.spec.templates.keys().filter(|output| !TEMPLATES.contains(&output.as_str())) {
        let hint = match nearest(output, TEMPLATES) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", one_of(TEMPLATES)),
        };
        context.error_at_key(
            &["templates", output],
            format!("no template makes the file `{}`", output.escape_debug()),
            hint,
        );
    }
}
