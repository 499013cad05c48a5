//! Finds and reads manifests: TOML files with the same care for mistakes as specs.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::text::{nearest, one_of};
use taskwright_base::{Error, Result, failed};
use taskwright_builder::Workspace;
use taskwright_language::document::{self, Document};
use taskwright_language::{Diagnostics, Shapes, reference, schema};

use crate::check;
use crate::model::Experiment;

const HEAD: &str = "\
# Reference of experiment manifests

<!-- Generated from the types in crates/experiment/src/model: edit those. -->

A manifest is one TOML file, usually in `experiments/`. Unknown keys, wrong types and contradictions are errors that show
the place. Paths are relative to the file that says them. In any string `${name}` stands for a parameter, and `$${` for a
literal `${`. See [experiments.md](experiments.md) for how it is run.
";

fn shapes() -> &'static Shapes {
    static SHAPES: OnceLock<Shapes> = OnceLock::new();
    SHAPES.get_or_init(|| Shapes::of::<Experiment>("manifest"))
}

/// Reads the manifest `file`, which is relative to `root`, with what `--set` gives its parameters. A failure says every
/// mistake that could be found.
pub fn load(
    root: &Utf8Path,
    file: &Utf8Path,
    set: &BTreeMap<String, String>,
) -> std::result::Result<Document<Experiment>, Diagnostics> {
    document::load(shapes(), root, file, set, check::check)
}

/// The JSON Schema of manifests, which editors complete and check them with.
pub fn schema_text() -> String {
    schema::editor_schema_text::<Experiment>()
}

/// The reference page of manifests, as Markdown.
pub fn reference_page() -> String {
    reference::page(HEAD, &schema::schema_of::<Experiment>())
}

/// The manifest that is meant by `name`: a file, or the name of one in the workspace's folder of them. `here` is the folder
/// that a path is relative to. The answer is relative to the workspace's root.
pub fn find(workspace: &Workspace, here: &Utf8Path, name: &str) -> Result<Utf8PathBuf> {
    let Workspace { root, experiments, .. } = workspace;
    let path = here.join(name);
    if path.is_file() {
        let full = |path: &Utf8Path| path.canonicalize_utf8().map_err(failed("finding", path));
        let file = full(&path)?;
        return file.strip_prefix(full(root)?).map(Utf8Path::to_owned).map_err(|_| {
            Error::new(format!("`{name}` does not lie in this workspace"))
                .usage()
                .hint(format!("put it into `{experiments}/`"))
        });
    }
    let inside = experiments.join(format!("{name}.toml"));
    if !name.contains('/') && root.join(&inside).is_file() {
        return Ok(inside);
    }
    let known = names(&root.join(experiments));
    let hint = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => {
            format!("`{experiments}/` holds no manifest; docs/experiments.md shows one")
        }
        None => format!("`{experiments}/` holds {}", one_of(known.iter().map(String::as_str))),
    };
    Err(Error::new(format!("there is no manifest `{}`", name.escape_debug())).usage().hint(hint))
}

/// The names of the manifests in a folder.
fn names(folder: &Utf8Path) -> Vec<String> {
    let mut names: Vec<String> = folder
        .read_dir_utf8()
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().strip_suffix(".toml").map(str::to_owned))
        .collect();
    names.sort();
    names
}
