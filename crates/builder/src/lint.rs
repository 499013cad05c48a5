//! What there is to say of specs and of what they name, whether they are built or not: mistakes, doubts and advice.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicBool;

use camino::Utf8Path;
use taskwright_language::Diagnostic;

use crate::engine::{Intent, Options, build, described};
use crate::observe::Observer;
use crate::report::{Failure, Status};
use crate::workspace::Workspace;
use taskwright_base::Result;

/// Everything that can be said of some tasks, or of all if none is named, in the order of their files.
///
/// # Errors
/// What keeps it from being looked for: a name that is no task's, a folder that cannot be read, an interrupt.
pub fn lint(
    workspace: &Workspace,
    names: &[String],
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Vec<Diagnostic>> {
    let options = Options { names: names.to_vec(), intent: Intent::Judge, ..Options::default() };
    let report = build(workspace, &options, observer, stop)?;
    if let Some(error) = report.errors.into_iter().next() {
        return Err(error);
    }
    let mut failures: HashMap<String, Failure> = HashMap::new();
    for task in report.tasks {
        match task.status {
            Status::Failed(Failure::Error(error)) if error.is_interrupt() => return Err(error),
            Status::Failed(failure) => drop(failures.insert(task.name, failure)),
            _ => {}
        }
    }
    let is_named = |name: &str| names.is_empty() || names.iter().any(|named| named == name);
    let mut found = Vec::new();
    for path in workspace.descriptions()? {
        let folder = path.parent().and_then(Utf8Path::file_name).unwrap_or_default();
        let read = match described::read(&workspace.root, &path, &BTreeMap::new()) {
            Ok(read) => read,
            Err(mistakes) if is_named(folder) => {
                found.extend(mistakes);
                continue;
            }
            Err(_) => continue,
        };
        let tasks = read.tasks.iter().filter(|task| is_named(folder) || is_named(task.name()));
        let mut is_meant = false;
        for task in tasks {
            is_meant = true;
            match failures.remove(task.name()) {
                Some(Failure::Spec(mistakes)) => found.extend(mistakes),
                Some(Failure::Error(error)) => found.push(task.place(&error)),
                None => {}
            }
        }
        if is_meant {
            // What several describe is a mistake of the file.
            if let Some(Failure::Spec(mistakes)) = failures.remove(path.as_str()) {
                found.extend(mistakes);
            }
            found.extend(read.warnings.into_iter().chain(read.advice));
        }
    }
    Ok(found)
}
