//! Rules about artifacts: where they may come from, where they may go, and that no two go to one path.

use std::borrow::Cow;

use super::Checker;
use crate::task_toml::{Artifact, ArtifactEntry, MAIN_SERVICE, Os, TaskToml};

pub(super) fn check(c: &mut Checker, task: &TaskToml) {
    let convention = match task.environment.os.unwrap_or_default() {
        Os::Linux => "/logs/artifacts",
        Os::Windows => "C:/logs/artifacts",
    };
    c.each("artifacts", &task.artifacts, |c, entry| check_one(c, &entry.artifact()));
    overlaps(c, &[], &task.artifacts, convention);
    c.each("steps", &task.steps, |c, step| {
        c.each("artifacts", &step.artifacts, |c, entry| check_one(c, &entry.artifact()));
        overlaps(c, &task.artifacts, &step.artifacts, convention);
    });
}

fn check_one(c: &mut Checker, artifact: &Artifact) {
    let source = &artifact.source;
    c.service(artifact.service.as_deref());
    if source.is_empty() || source.split('/').any(|part| part == "..") {
        c.problem(
            "source",
            format!("`{}` cannot be collected", source.escape_debug()),
            "give a path in the container, without `..`",
        );
    } else if service(artifact) != MAIN_SERVICE && !is_absolute(source) {
        c.problem(
            "source",
            format!(
                "`{}` is a relative path, and a sidecar has no folder to start from",
                source.escape_debug()
            ),
            "give the absolute path in the service's container",
        );
    }
    if let Some((destination, reason)) = fault_of_destination(artifact) {
        c.problem(
            "destination",
            format!("`{}` {reason}", destination.escape_debug()),
            "give a relative path below the trial's `artifacts/`, without `..`",
        );
    }
}

/// An artifact's destination and what is wrong with it, if something is.
fn fault_of_destination(artifact: &Artifact) -> Option<(&str, &'static str)> {
    let destination = destination(artifact)?;
    let reason = if destination.contains('\\') {
        "has a backslash, where only `/` separates"
    } else if destination.starts_with('/') {
        "is an absolute path"
    } else if destination.split('/').any(|part| part == "..") {
        "leaves the folder of the artifacts"
    } else if parts(destination).is_empty() {
        "names nothing"
    } else if destination.trim_end_matches('/') == "manifest.json" {
        "is where Harbor lists what it collected"
    } else {
        return None;
    };
    Some((destination, reason))
}

/// The destination, where an empty one counts as none, as it does for Harbor.
fn destination(artifact: &Artifact) -> Option<&str> {
    artifact.destination.as_deref().filter(|text| !text.is_empty())
}

fn service(artifact: &Artifact) -> &str {
    artifact.service.as_deref().unwrap_or(MAIN_SERVICE)
}

fn is_absolute(path: &str) -> bool {
    let bytes = path.as_bytes();
    let has_drive =
        bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && b"/\\".contains(&bytes[2]);
    path.starts_with('/') || has_drive
}

fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect()
}

fn output(artifact: &Artifact) -> Vec<&str> {
    parts(destination(artifact).unwrap_or(&artifact.source))
}

/// Reports each entry of `own` whose path another entry before it takes, `inherited` ones included.
fn overlaps(c: &mut Checker, inherited: &[ArtifactEntry], own: &[ArtifactEntry], convention: &str) {
    let mut entries: Vec<_> = inherited.iter().chain(own).map(ArtifactEntry::artifact).collect();
    let is_convention =
        |a: &Artifact| a.source.trim_end_matches('/') == convention && service(a) == MAIN_SERVICE;
    let mut first_own = inherited.len();
    if !entries.iter().any(|artifact| is_convention(artifact)) {
        entries.insert(0, Cow::Owned(Artifact { source: convention.to_owned(), ..Artifact::default() }));
        first_own += 1;
    }
    for later in first_own..entries.len() {
        for earlier in 0..later {
            let (first, second) = (&entries[earlier], &entries[later]);
            // One with a destination of no use has been reported for that.
            if fault_of_destination(first).or(fault_of_destination(second)).is_some() {
                continue;
            }
            let (a, b) = (output(first), output(second));
            if !covers(first, second) && (a.starts_with(&b) || b.starts_with(&a)) {
                c.within("artifacts", |c| {
                    c.problem(
                        (later - first_own).to_string(),
                        format!(
                            "`{}` would go to `{}`, which overlaps with `{}` from `{}`; Harbor keeps only the first",
                            second.source.escape_debug(),
                            b.join("/"),
                            a.join("/"),
                            first.source.escape_debug(),
                        ),
                        "give one of them another `destination`, or collect it only once",
                    );
                });
                break;
            }
        }
    }
}

/// Whether collecting `first` already puts all of `second` exactly where it belongs, so that nothing is lost.
fn covers(first: &Artifact, second: &Artifact) -> bool {
    let (from, to) = (parts(&first.source), parts(&second.source));
    if service(first) != service(second)
        || first.source.starts_with('/') != second.source.starts_with('/')
        || !to.starts_with(&from)
    {
        return false;
    }
    let (a, b) = (output(first), output(second));
    if from == to && a == b {
        return first.exclude == second.exclude;
    }
    first.exclude.is_empty() && b.len() >= a.len() && b.starts_with(&a) && b[a.len()..] == to[from.len()..]
}
