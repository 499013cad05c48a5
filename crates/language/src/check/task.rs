//! The part of Harbor's task.toml that passes through, by Harbor's own rules.

use super::Context;

pub fn check(context: &mut Context<'_>) {
    for problem in context.spec.task.validate() {
        let mut path = vec!["task"];
        path.extend(problem.path.iter().map(String::as_str));
        context.error(&path, problem.message, problem.hint);
    }
}
