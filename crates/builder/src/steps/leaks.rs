//! What must not reach the optimizer, or the lock, through the baseline: the files of a baseline and of its overlays are in the
//! optimizer's container, so nothing that scores it may be among them.

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_language::model::{Spec, TaskSource};

use super::{Context, baseline, repositories};
use taskwright_base::rule::Rule;
use taskwright_base::{Error, Result};

/// Something that the baseline must not hold.
struct Kept {
    what: &'static str,
    path: Utf8PathBuf,
    why: &'static str,
    /// Whether a part of it is as bad as all of it.
    in_parts: bool,
}

const HELD_OUT: &str = "the optimizer must not see";

/// A place from which files come into the baseline.
struct Source {
    folder: Utf8PathBuf,
    /// Where they go, from the baseline's root.
    to: String,
    field: Vec<String>,
}

/// Refuses a baseline that holds, itself or by an overlay, what its own spec keeps from the optimizer, or the lock.
pub fn check(context: &Context<'_>, spec: &Spec, baseline: &baseline::Node) -> Result<()> {
    let kept = kept(context, spec);
    for source in sources(context, spec)? {
        for kept in &kept {
            let (place, path) = (resolved(&source.folder), resolved(&kept.path));
            let (member, is_part) = match (path.strip_prefix(&place), place.strip_prefix(&path)) {
                (Ok(inside), _) => (below(&source.to, inside.as_str()), false),
                (_, Ok(_)) if kept.in_parts => (source.to.clone(), true),
                _ => continue,
            };
            if baseline.tree.holds(&member) {
                return Err(refused(context, spec, &source, kept, is_part));
            }
        }
    }
    Ok(())
}

fn refused(context: &Context<'_>, spec: &Spec, source: &Source, kept: &Kept, is_part: bool) -> Error {
    let shown = |path: &Utf8Path| path.strip_prefix(context.root()).unwrap_or(path).to_owned();
    let holder = if source.field.len() > 2 { "an overlay brings" } else { "the baseline holds" };
    let part = if is_part { "a part of " } else { "" };
    let hint = if kept.in_parts && spec.dataset.is_some() {
        "keep it in a folder of its own; `expose = true` gives the optimizer the samples of a split without their labels"
    } else {
        "keep it apart: improve a folder below, or a repository of its own that `baseline.git` names"
    };
    let field: Vec<&str> = source.field.iter().map(String::as_str).collect();
    Error::new(format!("{holder} {part}{} `{}`, which {}", kept.what, shown(&kept.path), kept.why))
        .hint(hint)
        .of(Rule::Answers)
        .at(&field)
}

fn kept(context: &Context<'_>, spec: &Spec) -> Vec<Kept> {
    let full = |path: &Utf8Path| context.root().join(path);
    let mut kept = Vec::new();
    let mut add = |what, path: &Utf8Path, in_parts| {
        kept.push(Kept { what, path: full(path), why: HELD_OUT, in_parts });
    };
    if let Some(dataset) = &spec.dataset {
        add("the dataset", dataset.path.as_path(), true);
    }
    if let Some(TaskSource::Local(local)) = spec.harbor.as_ref().map(|harbor| &harbor.source) {
        add("the inner tasks", local.path.as_path(), true);
    }
    if let Some(scorer) = &spec.scorer {
        add("the scorer", scorer.path.as_path(), false);
    }
    if let Some(solution) = &spec.solution {
        add("the solution", solution.path.as_path(), false);
    }
    if let Some(candidates) = &spec.controls.candidates {
        add("the candidates that cheat", candidates.as_path(), false);
    }
    kept.push(Kept {
        what: "the lock",
        path: context.workspace.lock_file(),
        why: "holds the baseline's digest: each build would change it, and with it the baseline",
        in_parts: false,
    });
    kept
}

/// The folders that the baseline is made from, as far as they are on disk.
fn sources(context: &Context<'_>, spec: &Spec) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    let place = repositories::place(context, &spec.baseline)?;
    if let Some(top) = &place.repository()?.work_tree {
        let field = vec!["baseline".to_owned(), "path".to_owned()];
        sources.push(Source { folder: top.join(&place.inside), to: String::new(), field });
    }
    for (index, overlay) in spec.baseline.overlays.iter().enumerate() {
        let from = context.root().join(overlay.from.as_path());
        let mut to = baseline::folder_of_overlay(&overlay.to);
        if from.is_file() {
            to = below(&to, from.file_name().unwrap_or_default());
        }
        let field = ["baseline", "overlays", &index.to_string(), "from"].map(str::to_owned).to_vec();
        sources.push(Source { folder: from, to, field });
    }
    Ok(sources)
}

fn below(folder: &str, path: &str) -> String {
    match (folder, path) {
        ("", path) => path.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}

/// A path without links, as far as it can be told.
fn resolved(path: &Utf8Path) -> Utf8PathBuf {
    path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned())
}
