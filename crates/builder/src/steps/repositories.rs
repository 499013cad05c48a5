//! What git says of the repositories that hold baselines, asked once per repository and not once per baseline.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_language::model::{Baseline, BaselineSource};

use super::{Context, Memo};
use crate::error::failed;
use crate::git::{AT_ONCE, Repository, no_repository};
use taskwright_base::{Error, Result};

/// A kind of object and its identifier, by path.
type Objects = BTreeMap<Utf8PathBuf, (String, String)>;

/// A repository, with the answers that several baselines need.
pub struct Answers {
    /// The repository; none if the folder is in none.
    repository: Option<Repository>,
    commits: Memo<String, Option<String>>,
    references: Memo<String, Option<String>>,
    objects: Memo<String, Objects>,
    changes: Memo<(), Vec<String>>,
    superproject: Memo<(), Option<(Repository, Utf8PathBuf)>>,
}

/// Where a baseline is: in which repository, and at which path from its root.
pub struct Located {
    pub answers: Arc<Answers>,
    /// The folder by which the repository is known.
    key: Utf8PathBuf,
    /// The path from the repository's root; empty for the root itself.
    pub inside: Utf8PathBuf,
}

pub fn place(context: &Context<'_>, baseline: &Baseline) -> Result<Located> {
    let path = baseline.path.as_path();
    let key = folder_of(context, baseline);
    let (field, shown) = match &baseline.git {
        Some(git) => ("git", git.as_path()),
        None => ("path", path),
    };
    let answers = context
        .shared
        .repositories
        .get(&key, || {
            Ok(Answers {
                repository: Repository::containing(&key)?,
                commits: Memo::default(),
                references: Memo::default(),
                objects: Memo::default(),
                changes: Memo::default(),
                superproject: Memo::default(),
            })
        })
        .map_err(|error| error.at(&["baseline", field]))?;
    let Some(repository) = &answers.repository else {
        return Err(
            no_repository(&context.root().join(shown), shown, baseline.source).at(&["baseline", field])
        );
    };
    if baseline.git.is_some() {
        let inside = if path == "." { Utf8PathBuf::new() } else { path.to_owned() };
        return Ok(Located { answers, key, inside });
    }
    let Some(top) = &repository.work_tree else {
        return Err(Error::new(format!("`{path}` is in a bare repository, which has no files to look at"))
            .hint("name the bare repository in `baseline.git`, and the folder inside it in `baseline.path`")
            .at(&["baseline", "path"]));
    };
    let folder = context.root().join(path);
    let real = folder.canonicalize_utf8().map_err(failed("resolving", &folder))?;
    let real_top = top.canonicalize_utf8().map_err(failed("resolving", top))?;
    let inside = real.strip_prefix(&real_top).map(Utf8Path::to_owned).map_err(|_| {
        Error::new(format!("`{path}` is not inside the git work tree `{top}`")).at(&["baseline", "path"])
    })?;
    Ok(Located { answers, key, inside })
}

/// The nearest folder above a baseline that is a work tree's root, so that baselines of one repository share the answers.
fn folder_of(context: &Context<'_>, baseline: &Baseline) -> Utf8PathBuf {
    if let Some(git) = &baseline.git {
        return context.root().join(git.as_path());
    }
    let folder = context.root().join(baseline.path.as_path());
    // A bare repository has no `.git`: it is one.
    let is_bare = |above: &Utf8Path| ["HEAD", "objects", "refs"].iter().all(|name| above.join(name).exists());
    let top = folder.ancestors().find(|above| above.join(".git").exists() || is_bare(above));
    top.unwrap_or(&folder).to_owned()
}

impl Located {
    pub fn repository(&self) -> Result<&Repository> {
        // A place is only made where there is one.
        self.answers.repository.as_ref().ok_or_else(|| Error::new("there is no git repository"))
    }

    /// The commit that the baseline's revision is; none if git knows no such revision.
    pub fn commit(&self, rev: &str) -> Result<Option<String>> {
        let commit = self.answers.commits.get(&rev.to_owned(), || self.repository()?.commit(rev))?;
        Ok(commit.as_ref().clone())
    }

    /// The full name of the reference that the baseline's revision is; none if it is something else.
    pub fn reference(&self, rev: &str) -> Result<Arc<Option<String>>> {
        self.answers.references.get(&rev.to_owned(), || Ok(self.repository()?.reference(rev)))
    }

    /// The kind and the identifier of what stands at the baseline's path in its revision, which is a commit.
    pub fn object(&self, context: &Context<'_>, rev: &str, commit: &str) -> Result<Option<(String, String)>> {
        let objects = self.answers.objects.get(&rev.to_owned(), || {
            let inside = self.neighbours(context, |baseline| baseline.rev == rev);
            let mut objects = Objects::new();
            for some in inside.chunks(AT_ONCE) {
                let some: Vec<_> = some.iter().map(Utf8PathBuf::as_path).collect();
                objects.extend(self.repository()?.objects(commit, &some)?);
            }
            Ok(objects)
        })?;
        Ok(objects.get(&self.inside).cloned())
    }

    /// The repository of which this one is a submodule, and where in its work tree.
    pub fn superproject(&self) -> Result<Arc<Option<(Repository, Utf8PathBuf)>>> {
        self.answers.superproject.get(&(), || self.repository()?.superproject())
    }

    /// The lines of `git status` below the baseline's path.
    pub fn changes(&self, context: &Context<'_>) -> Result<Vec<String>> {
        let all = self.answers.changes.get(&(), || {
            let inside = self.neighbours(context, |baseline| {
                baseline.rev == "HEAD" && baseline.source == BaselineSource::Commit
            });
            let mut changes = Vec::new();
            for some in inside.chunks(AT_ONCE) {
                let some: Vec<_> = some.iter().map(Utf8PathBuf::as_path).collect();
                changes.extend(self.repository()?.changes(&some, &context.workspace.cache_dir())?);
            }
            Ok(changes)
        })?;
        // A line is two letters of state, a blank and the path.
        let below =
            |line: &&String| line.get(3..).is_some_and(|path| Utf8Path::new(path).starts_with(&self.inside));
        Ok(all.iter().filter(below).cloned().collect())
    }

    /// The places in this repository of every baseline of the build that the same question is about.
    fn neighbours(&self, context: &Context<'_>, asks: impl Fn(&Baseline) -> bool) -> Vec<Utf8PathBuf> {
        let mut inside: Vec<_> = context
            .baselines
            .iter()
            .filter(|baseline| asks(baseline) && folder_of(context, baseline) == self.key)
            .filter_map(|baseline| place(context, baseline).ok())
            .map(|place| place.inside)
            .chain([self.inside.clone()])
            .collect();
        inside.sort();
        inside.dedup();
        inside
    }
}
