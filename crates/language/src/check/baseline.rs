//! The baseline: its revision, what a candidate must leave alone, and what is laid over it.

use camino::Utf8Path;
use taskwright_base::tree::{Fault, check_path};

use super::Context;
use crate::model::BaselineSource;
use crate::paths;
use crate::pattern::Pattern;

pub fn check(context: &mut Context<'_>) {
    let baseline = &context.spec.baseline;
    if baseline.source == BaselineSource::WorkTree && context.is_written(&["baseline", "rev"]) {
        context.error(
            &["baseline", "rev"],
            "`rev` means nothing when the files are taken from the work tree",
            "leave it out, or write `source = \"commit\"`",
        );
    } else if baseline.rev.trim().is_empty() || baseline.rev.starts_with('-') || has_space(&baseline.rev) {
        context.error(
            &["baseline", "rev"],
            format!("`{}` cannot be a revision", baseline.rev.escape_debug()),
            "write a commit, a tag or a branch, for example \"HEAD\"",
        );
    }
    for (index, pattern) in baseline.read_only.iter().enumerate() {
        if let Some((message, hint)) = pattern_problem(pattern) {
            context.error(&["baseline", "read_only", &index.to_string()], message, hint);
        }
    }
    for (index, overlay) in baseline.overlays.iter().enumerate() {
        let index = index.to_string();
        let problem = if overlay.to.is_empty() {
            Some(("`to` is empty".to_owned(), "\".\" is the baseline's root".to_owned()))
        } else {
            paths::inside(&overlay.to, "the baseline").map_or_else(Some, |folder| folder_problem(&folder))
        };
        if let Some((message, hint)) = problem {
            context.error(&["baseline", "overlays", &index, "to"], message, hint);
        }
    }
}

/// Why a folder of the baseline cannot be one: git keeps some names for itself.
fn folder_problem(folder: &Utf8Path) -> Option<(String, String)> {
    if folder == "." {
        return None;
    }
    let fault = check_path(&format!("{folder}/file")).err()?;
    let hint = match fault {
        Fault::Git => {
            "the optimizer's container makes a repository of its own of the baseline: name another folder"
        }
        fault => fault.hint(),
    };
    Some((format!("`{folder}` {fault}"), hint.to_owned()))
}

fn has_space(text: &str) -> bool {
    text.contains(|character: char| character.is_whitespace() || character.is_control())
}

/// Why a pattern of files cannot be used.
pub fn pattern_problem(pattern: &str) -> Option<(String, String)> {
    if pattern.trim().is_empty() {
        return Some((
            "the pattern is empty".to_owned(),
            "take it out, or write for example \"tests/**\"".to_owned(),
        ));
    }
    if pattern.starts_with('!') {
        return Some((
            format!("`{pattern}` would take something out of the others"),
            "patterns only add; name what is meant itself".to_owned(),
        ));
    }
    if let Err((message, hint)) = paths::inside(pattern, "the folder") {
        return Some((message, hint));
    }
    match Pattern::new(pattern) {
        Ok(_) => None,
        Err(problem) => Some((
            format!("`{pattern}` is not a pattern: {problem}"),
            "`*` is anything within a name, `**` any folders, `[ab]` one of these".to_owned(),
        )),
    }
}
