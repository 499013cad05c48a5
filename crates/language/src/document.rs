//! Files of any type, read with the same care as specs: parents, parameters, shapes, rules, each mistake at its place.
//!
//! A language is a type: its schema says what fits, [`load`] reads a file of it, and a function of the caller's holds it
//! against the rules that a schema cannot say.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::DeserializeOwned;

use crate::check::Context;
use crate::diagnostic::{Diagnostic, Diagnostics, Label, Severity};
use crate::extend;
use crate::params;
use crate::paths;
use crate::shape::{self, Resolve, Shapes};
use crate::tree::{Node, Origin, Sources};
use taskwright_base::rule::Rule;
use taskwright_base::text::{nearest, one_of};

/// A file that was read and found good.
#[derive(Debug, Clone)]
pub struct Document<T> {
    /// What it says, defaults included; its paths are relative to the workspace root.
    pub value: T,
    /// Every file that was read, relative to the workspace root: the file and its parents.
    pub files: Vec<Utf8PathBuf>,
    /// What is allowed but doubtful.
    pub warnings: Diagnostics,
    tree: Node,
    sources: Arc<Sources>,
}

impl<T> Document<T> {
    /// The file, relative to the workspace root.
    pub fn file(&self) -> &Utf8Path {
        self.sources.get(0).name()
    }

    /// An error about the value at `path` that shows only later, in the world the file speaks of. A value that was left
    /// out is shown at the nearest table around it.
    pub fn error(&self, path: &[&str], message: impl Into<String>, hint: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.label(path), message).with_hint(hint)
    }

    /// The place of the value at `path`.
    pub fn label(&self, path: &[&str]) -> Label {
        self.sources.label(self.tree.place(path))
    }
}

/// Reads `file`, which is relative to `root`, with what `--set` gives its parameters, and applies `rules`. A failure says
/// every mistake that could be found. Paths may lead out of the workspace.
pub fn load<T: DeserializeOwned>(
    shapes: &Shapes,
    root: &Utf8Path,
    file: &Utf8Path,
    set: &BTreeMap<String, String>,
    rules: impl FnOnce(&mut Context<'_, T>),
) -> Result<Document<T>, Diagnostics> {
    let (mut chain, mut found) = extend::read(root, file);
    let files = std::mem::take(&mut chain.files);
    if !found.is_empty() {
        return Err(Diagnostics::new(found, files).of(Rule::Syntax));
    }
    let sources = Arc::new(chain.sources.clone());
    let Some(mut tree) = chain.merged(shapes) else { return Err(Diagnostics::new(found, files)) };
    let parameters = params::declared(&tree, &sources, set, &mut found);
    refuse_unknown_parameters(set, &parameters, &sources, &tree, &mut found);
    params::substitute(&mut tree, &sources, &parameters, &mut found);
    let resolve = |_: &[String], text: &str, origin: Origin| {
        paths::resolve_anywhere(sources.get(origin.file).folder(), text).map(Utf8PathBuf::into_string)
    };
    let value = typed(root, &mut tree, shapes, &sources, &resolve, rules, &mut found);
    let found = Diagnostics::new(found, files.clone()).of(Rule::Parameters);
    match value {
        Some(value) if !found.has_errors() => Ok(Document { value, files, warnings: found, tree, sources }),
        _ => Err(found),
    }
}

/// A spec is one of many, so a name that it does not know may be another's; other files are read alone.
fn refuse_unknown_parameters(
    set: &BTreeMap<String, String>,
    parameters: &params::Parameters,
    sources: &Sources,
    tree: &Node,
    found: &mut Vec<Diagnostic>,
) {
    for name in set.keys().filter(|name| !parameters.contains_key(*name)) {
        let place = tree.key_place(&[params::KEY]).unwrap_or(tree.origin);
        let known = parameters.keys().map(String::as_str);
        let hint = match nearest(name, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if parameters.is_empty() => "it declares no parameters: see `[params]`".to_owned(),
            None => format!("declared are {}", one_of(known)),
        };
        let message = format!("`--set {}=...`: there is no such parameter", name.escape_debug());
        found.push(Diagnostic::error(sources.label(place), message).with_hint(hint));
    }
}

/// What a tree says, unless a mistake of shape stands in its way; with what the rules have to say of it.
pub(crate) fn typed<T: DeserializeOwned>(
    root: &Utf8Path,
    tree: &mut Node,
    shapes: &Shapes,
    sources: &Sources,
    resolve: &Resolve<'_>,
    rules: impl FnOnce(&mut Context<'_, T>),
    found: &mut Vec<Diagnostic>,
) -> Option<T> {
    let report = shape::check(shapes, sources, tree, resolve);
    let shapely = report.found.iter().all(|item| item.severity != Severity::Error);
    found.extend(report.found.into_iter().map(|item| item.of(Rule::Shape)));
    if report.fatal {
        return None;
    }
    let value = match T::deserialize(tree.to_toml()) {
        Ok(value) => value,
        Err(error) => {
            // The shapes allow what the types refuse only if the two have come apart; a taken-out value explains it.
            if shapely && report.doubtful.is_empty() {
                found.push(
                    Diagnostic::error(
                        sources.label(tree.origin),
                        format!("the {} is not understood: {error}", shapes.noun()),
                    )
                    .with_hint("this should have been reported at its place; please report it as a bug"),
                );
            }
            return None;
        }
    };
    let mut context = Context::new(root, &value, tree, sources, &report.doubtful);
    rules(&mut context);
    found.extend(context.into_found());
    Some(value)
}
