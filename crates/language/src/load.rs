//! From a file to checked tasks: reads, extends, expands, substitutes, checks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::check;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::document;
use crate::extend::{self, Chain};
use crate::model::Spec;
use crate::params::Parameters;
use crate::shape::Shapes;
use crate::tree::{Node, Origin, Sources};
use crate::{matrix, params, paths};
use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::rule::Rule;

/// What came of one spec file.
#[derive(Debug)]
pub struct Loaded {
    /// The tasks that it describes: one, or one for each combination of its matrix.
    pub tasks: Vec<LoadedSpec>,
    /// Every file that was read, relative to the workspace root: the spec and its parents.
    pub files: Vec<Utf8PathBuf>,
    /// What `--set` can give a value to: the parameters and the axes. A name that none of several specs knows is the
    /// caller's to refuse: one spec alone cannot tell.
    pub names: BTreeSet<String>,
    /// What is allowed but doubtful.
    pub warnings: Diagnostics,
    /// What builds, and could be better. It is for who asks for it.
    pub advice: Vec<Diagnostic>,
}

/// A checked task. Cheap to hold and to clone: the texts are shared, and places are found again only when asked for.
#[derive(Debug, Clone)]
pub struct LoadedSpec {
    /// What the spec says.
    pub spec: Spec,
    sources: Arc<Sources>,
}

impl LoadedSpec {
    /// The spec's file, relative to the workspace root.
    pub fn file(&self) -> &Utf8Path {
        self.sources.get(0).name()
    }

    /// An error about the field at `path` (`["baseline", "path"]`, `["targets", "0", "split"]`), found later by the
    /// build. A field that was left out is shown at the nearest table around it.
    pub fn error(&self, path: &[&str], message: impl Into<String>, hint: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.sources.label(self.place(path)), message).with_hint(hint)
    }

    /// A warning about the field at `path`.
    pub fn warning(&self, path: &[&str], message: impl Into<String>, hint: impl Into<String>) -> Diagnostic {
        Diagnostic::warning(self.sources.label(self.place(path)), message).with_hint(hint)
    }

    fn place(&self, path: &[&str]) -> Origin {
        Chain::again(&self.sources)
            .merged(Shapes::of_spec())
            .map_or(Origin::new(0, self.sources.get(0).first_line()), |tree| tree.place(path))
    }
}

/// Reads the spec `file`, which is relative to `root`, with what `--set` gives its parameters. A failure says every
/// mistake that could be found, and the files to watch.
pub fn load(root: &Utf8Path, file: &Utf8Path, set: &BTreeMap<String, String>) -> Result<Loaded, Diagnostics> {
    let (mut chain, mut found) = extend::read(root, file);
    let files = std::mem::take(&mut chain.files);
    if !found.is_empty() {
        return Err(Diagnostics::new(found, files).of(Rule::Syntax));
    }
    let sources = Arc::new(chain.sources.clone());
    let Some(tree) = chain.merged(Shapes::of_spec()) else { return Err(Diagnostics::new(found, files)) };

    let parameters = params::declared(&tree, &sources, set, &mut found);
    let axes = matrix::axes(&tree, &sources, set, &parameters, &mut found);
    let names = parameters.keys().chain(axes.keys()).cloned().collect();

    let mut specs = Vec::new();
    let name_place = tree.place(&["name"]);
    let mut combinations = matrix::combinations(&axes);
    let last = combinations.pop();
    let mut one = |tree: Node, combination: Parameters| {
        let mut values = parameters.clone();
        values.extend(combination);
        specs.extend(task(root, tree, &sources, &values, &mut found));
    };
    for combination in combinations {
        one(tree.clone(), combination);
    }
    if let Some(combination) = last {
        one(tree, combination);
    }
    matrix::refuse_equal_names(specs.iter().map(|spec| spec.name.as_str()), name_place, &sources, &mut found);

    let (advice, found): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|item| item.severity == Severity::Advice);
    let found = Diagnostics::new(found, files.clone()).of(Rule::Parameters);
    if found.has_errors() {
        return Err(found);
    }
    let tasks = specs.into_iter().map(|spec| LoadedSpec { spec, sources: Arc::clone(&sources) }).collect();
    Ok(Loaded { tasks, files, names, warnings: found, advice })
}

/// One combination: the typed spec, unless a mistake of shape stands in its way.
fn task(
    root: &Utf8Path,
    mut tree: Node,
    sources: &Sources,
    values: &Parameters,
    found: &mut Vec<Diagnostic>,
) -> Option<Spec> {
    params::substitute(&mut tree, sources, values, found);
    let foreign = tree.at(&["baseline", "git"]).is_some();
    let resolve = |path: &[String], text: &str, origin: Origin| {
        let folder = sources.get(origin.file).folder();
        let steps: Vec<&str> = path.iter().map(String::as_str).collect();
        match steps.as_slice() {
            ["baseline", "git"] => paths::resolve_anywhere(folder, text),
            ["baseline", "path"] if foreign => paths::inside(text, "that repository"),
            _ => paths::resolve(folder, text),
        }
        .map(Utf8PathBuf::into_string)
    };
    document::typed(root, &mut tree, Shapes::of_spec(), sources, &resolve, check::check, found)
}
