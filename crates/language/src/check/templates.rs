//! Templates of a spec's own: that each stands for a file that a template makes.

use super::Context;
use taskwright_base::text::{nearest, one_of};

/// The outputs that templates make: each of these a spec may replace. The one list, which the builder has its standard
/// templates for.
pub const TEMPLATES: [&str; 9] = [
    "environment/Dockerfile",
    "environment/docker-compose.yaml",
    "environment/gateway/Dockerfile",
    "environment/sidecar/Dockerfile",
    "instruction.md",
    "solution/solve.sh",
    "tests/Dockerfile",
    "tests/docker-compose.yaml",
    "tests/test.sh",
];

pub fn check(context: &mut Context<'_>) {
    for output in context.spec.templates.keys().filter(|output| !TEMPLATES.contains(&output.as_str())) {
        let hint = match nearest(output, TEMPLATES) {
            _ if output == "task.toml" => {
                "task.toml is made from the spec: `[task]` says what else it is to hold".to_owned()
            }
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
