//! A task directory that somebody wrote: its `task.toml`, read as Harbor reads it and rewritten by nobody.

use std::sync::{Arc, OnceLock};

use camino::Utf8Path;
use taskwright_harbor::names::{check_dir_name, shorten};
use taskwright_harbor::task_toml::TaskToml;

use crate::check::Context;
use crate::diagnostic::{Diagnostic, Diagnostics, Label};
use crate::document::typed;
use crate::extend::unreadable;
use crate::shape::Shapes;
use crate::source::{self, Source};
use crate::tree::{self, Sources};
use taskwright_base::rule::Rule;

/// A task that somebody wrote by hand.
#[derive(Debug, Clone)]
pub struct TaskByHand {
    /// The name of its folder, by which builds and trials know it.
    pub name: String,
    /// The version that its `[task]` says.
    pub version: Option<String>,
    /// Where it says it.
    pub version_at: Option<Label>,
    source: Arc<Source>,
}

impl TaskByHand {
    /// Its folder, relative to the workspace root.
    pub fn folder(&self) -> &Utf8Path {
        self.source.folder()
    }

    /// An error about the task as a whole, found later by the build.
    pub fn error(&self, message: impl Into<String>, hint: impl Into<String>) -> Diagnostic {
        Diagnostic::error(whole(&self.source), message).with_hint(hint)
    }
}

/// Reads the `task.toml` of a task directory, and gives with the task what is doubtful in it. What Harbor refuses to load is an
/// error; what it takes without the effect that its author meant, and keys that it passes over, are warnings.
///
/// # Errors
/// Every mistake that could be found.
pub fn load(root: &Utf8Path, file: &Utf8Path) -> Result<(TaskByHand, Diagnostics), Diagnostics> {
    static SHAPES: OnceLock<Shapes> = OnceLock::new();
    let files = || vec![file.to_owned()];
    let source = source::read(root, file).map_err(|problem| {
        Diagnostics::new(vec![unreadable(file.to_owned(), problem, None)], files()).of(Rule::Syntax)
    })?;
    let mut sources = Sources::default();
    let id = sources.push(Arc::clone(&source));
    let mut tree =
        tree::parse(id, &source).map_err(|found| Diagnostics::new(found, files()).of(Rule::Syntax))?;
    let name = source.folder().file_name().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    if let Err(error) = check_dir_name(&name) {
        let hint = format!("rename the folder, for example `{}`", shorten(&name));
        found.push(Diagnostic::error(whole(&source), error.to_string()).with_hint(hint));
    }
    let shapes = SHAPES.get_or_init(|| Shapes::of::<TaskToml>("task.toml").foreign());
    // None of its values is a path of the workspace.
    let resolve = |_: &[String], text: &str, _| Ok(text.to_owned());
    let task = typed(root, &mut tree, shapes, &sources, &resolve, rules, &mut found);
    let found = Diagnostics::new(found, files()).of(Rule::TaskToml);
    match task {
        Some(task) if !found.has_errors() => {
            let version = task.task.and_then(|task| task.version);
            let version_at = tree.at(&["task", "version"]).map(|node| sources.label(node.origin));
            Ok((TaskByHand { name, version, version_at, source }, found))
        }
        _ => Err(found),
    }
}

fn rules(context: &mut Context<'_, TaskToml>) {
    for problem in context.value().validate() {
        let path: Vec<&str> = problem.path.iter().map(String::as_str).collect();
        // Looking through a folder of tasks, Harbor passes over one whose name it refuses without a word.
        if path == ["task", "name"] {
            context.error(&path, problem.message, problem.hint);
        } else {
            context.warning(&path, problem.message, problem.hint);
        }
    }
}

fn whole(source: &Arc<Source>) -> Label {
    Label::new(Arc::clone(source), source.first_line())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(folder: &str, text: &str) -> Result<(TaskByHand, Diagnostics), Diagnostics> {
        let root = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(root.path()).unwrap();
        std::fs::create_dir(root.join(folder)).unwrap();
        std::fs::write(root.join(folder).join("task.toml"), text).unwrap();
        load(root, &Utf8Path::new(folder).join("task.toml"))
    }

    fn said(found: &Diagnostics) -> String {
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_harbor_takes_is_taken() {
        let text = "[task]\nname = \"org/sort\"\nversion = \"1.2.0\"\n[metadata]\nmade = 2026-01-02\n[agent]\ntimeout_sec = 60\n";
        let (task, warnings) = read("sort", text).unwrap();
        assert_eq!((task.name.as_str(), task.version.as_deref()), ("sort", Some("1.2.0")));
        assert_eq!(task.folder(), "sort");
        assert_eq!(said(&warnings), "");
    }

    #[test]
    fn a_key_that_harbor_passes_over_is_doubtful_only() {
        let (_, warnings) = read("sort", "[agent]\ntimeout = 60\n[environment]\ncpus = 1\n").unwrap();
        let said = said(&warnings);
        assert!(said.starts_with("warning: unknown key `timeout` in `[agent]`"), "{said}");
        assert!(said.contains("sort/task.toml:2:1"), "{said}");
    }

    #[test]
    fn what_harbor_refuses_is_shown_at_its_place() {
        for (folder, text, expected) in [
            ("sort", "[task]\nname = \"sort\"\n", "cannot name a task"),
            ("sort", "[agent\n", "not TOML"),
            ("sort", "[agent]\ntimeout_sec = \"long\"\n", "must be"),
            ("Sort_all", "", "rename the folder, for example `sort-all"),
        ] {
            let said = said(&read(folder, text).unwrap_err());
            assert!(said.contains(expected) && said.contains("task.toml:"), "{text}: {said}");
        }
    }
}
