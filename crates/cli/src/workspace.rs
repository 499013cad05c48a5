//! Which workspace the command works in.

use std::sync::OnceLock;

use anyhow::Context;
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use taskwright_base::Error;
use taskwright_builder::Workspace;
use taskwright_builder::descriptions::{SPEC, TASK, described_by};

/// Where a command's workspace has its parts, for commands that can be told.
#[derive(Debug, Args)]
pub struct Places {
    /// Where tasks are built, instead of where taskwright.toml says [default: target/harbor-tasks].
    #[arg(long, value_name = "DIR")]
    out: Option<Utf8PathBuf>,
    /// Where what spares work the next time is kept, instead of where taskwright.toml says [default: target/taskwright].
    #[arg(long, value_name = "DIR")]
    cache: Option<Utf8PathBuf>,
    /// Where in this workspace the specs are, instead of where taskwright.toml says [default: harbor-tasks].
    #[arg(long, value_name = "DIR")]
    specs: Option<Utf8PathBuf>,
}

impl Places {
    /// The workspace of this command, with its parts where they were said to be.
    pub fn workspace(&self) -> anyhow::Result<Workspace> {
        let mut workspace = this()?;
        if let Some(specs) = &self.specs {
            workspace.specs = specs_folder(&workspace, specs)?;
        }
        if let Some(out) = &self.out {
            workspace.out = from_here(out)?;
        }
        if let Some(cache) = &self.cache {
            workspace.cache = from_here(cache)?;
        }
        Ok(workspace)
    }
}

/// The root that was named on the command line.
static ROOT: OnceLock<Utf8PathBuf> = OnceLock::new();

/// Has every command of this process work in the workspace in a folder, whichever folder it was called in.
///
/// # Errors
/// One of usage: there is no such folder.
pub fn set_root(folder: &Utf8Path) -> anyhow::Result<()> {
    let Ok(root) = from_here(folder)?.canonicalize_utf8() else {
        let error = Error::new(format!("there is no folder `{folder}`"));
        return Err(error.hint("`--root` names the root of a workspace from here").usage().into());
    };
    let _ = ROOT.set(root);
    Ok(())
}

/// The workspace that was named, or the one that the command was called in.
///
/// # Errors
/// There is none, or its `taskwright.toml` is wrong.
pub fn this() -> anyhow::Result<Workspace> {
    let workspace = Workspace::open(root()?)?;
    #[cfg(feature = "trials")]
    let workspace = {
        use taskwright_fleet::{open, own_key};
        Workspace { depot: open(&workspace.fleet, &workspace.root, own_key().as_deref()), ..workspace }
    };
    Ok(workspace)
}

/// The same, for commands that work without one: none if there is none.
///
/// # Errors
/// Its `taskwright.toml` is wrong.
pub fn around() -> anyhow::Result<Option<Workspace>> {
    Ok(root().ok().map(Workspace::open).transpose()?)
}

fn root() -> anyhow::Result<Utf8PathBuf> {
    match ROOT.get() {
        Some(root) => Ok(root.clone()),
        None => Ok(Workspace::root_of(&here()?)?),
    }
}

/// A path given on the command line, from where the command was called.
///
/// # Errors
/// An empty one, which a variable without a value makes: it must not mean the current folder.
pub fn from_here(path: &Utf8Path) -> anyhow::Result<Utf8PathBuf> {
    if path.as_str().is_empty() {
        let error = Error::new("an empty path names no place");
        return Err(error.hint("write `.` for the current folder").usage().into());
    }
    Ok(here()?.join(path))
}

/// The folder that the command was called in.
pub fn here() -> anyhow::Result<Utf8PathBuf> {
    let here = std::env::current_dir().context("finding the current folder")?;
    Utf8PathBuf::from_path_buf(here).map_err(|path| {
        anyhow::anyhow!("the current folder `{}` has a name that is not UTF-8", path.display())
    })
}

/// The folder of specs that was named on the command line, from the workspace's root.
///
/// # Errors
/// A folder that is not in the workspace, or that holds no spec: a slip must not look like a build of nothing.
fn specs_folder(workspace: &Workspace, named: &Utf8Path) -> anyhow::Result<Utf8PathBuf> {
    let wrong = |what: String, hint: &str| Err(Error::new(what).hint(hint).usage().into());
    let Ok(folder) = from_here(named)?.canonicalize_utf8() else {
        return wrong(format!("there is no folder `{named}`"), "`--specs` names a folder from here");
    };
    let root = workspace.root.canonicalize_utf8().context("finding the workspace")?;
    let Ok(inside) = folder.strip_prefix(&root) else {
        return wrong(
            format!("`{named}` is not in this workspace"),
            "copy the specs into it: what they build from is committed with them",
        );
    };
    if !holds_specs(&folder).with_context(|| format!("reading `{named}`"))? {
        return wrong(
            format!("`{named}` holds no spec"),
            "a spec is a `spec.toml` in a folder of its own there, as in `harbor-tasks/digits/spec.toml`",
        );
    }
    Ok(inside.to_owned())
}

/// Whether a folder in this one describes tasks.
pub fn holds_specs(folder: &Utf8Path) -> std::io::Result<bool> {
    Ok(folder.read_dir_utf8()?.flatten().any(|entry| described_by(entry.path()).is_some()))
}

/// The name by which a task or a spec is known, for what was typed: that name, or the path of the spec's folder or file,
/// as a shell completes it.
pub fn task_name(workspace: &Workspace, typed: &str) -> String {
    let named = |typed: &str| {
        let path = from_here(Utf8Path::new(typed)).ok()?.canonicalize_utf8().ok()?;
        let specs = workspace.root.join(&workspace.specs).canonicalize_utf8().ok()?;
        // A folder, or a file, of a spec stands for the spec.
        let folder = path.ancestors().find(|folder| folder.parent() == Some(&specs))?;
        described_by(folder).and(folder.file_name()).map(str::to_owned)
    };
    // A bare name is that of a task, even where a folder of that name lies here.
    let is_path = typed.contains('/') || matches!(typed, "." | ".." | SPEC | TASK);
    is_path.then(|| named(typed)).flatten().unwrap_or_else(|| typed.to_owned())
}
