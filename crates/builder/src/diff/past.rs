//! What the workspace was: a revision of its repository, with its lock and its specs, or no more than a lock.

use std::collections::BTreeMap;
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_language::Spec;
use tempfile::TempDir;

use crate::descriptions::{SPEC, TASK};
use crate::engine::described::{self, Described};
use crate::error::failed;
use crate::git::Repository;
use crate::lock::Lock;
use crate::workspace::Workspace;
use taskwright_base::write::{Durable, atomic};
use taskwright_base::{Error, Result};

/// What a workspace was.
pub struct Past {
    /// As it was named; of a revision with its commit.
    pub shown: String,
    /// What its lock says.
    pub lock: Lock,
    commit: Option<Commit>,
}

/// A commit of the workspace's repository.
pub(super) struct Commit {
    repository: Repository,
    id: String,
    /// The workspace, from the repository's root.
    inside: Utf8PathBuf,
    /// The workspace, as it is now.
    root: Utf8PathBuf,
    /// The folder of specs, from the workspace's root.
    specs: Utf8PathBuf,
}

impl Past {
    /// What somebody named: a revision, or the file of a lock, where it is.
    ///
    /// # Errors
    /// It is neither, or there was no lock in it, or it cannot be read.
    pub fn open(workspace: &Workspace, named: &str, file: &Utf8Path) -> Result<Self> {
        let revision = Commit::repository(workspace)?
            .map(|(repository, inside)| Ok::<_, Error>((repository.commit(named)?, repository, inside)))
            .transpose();
        match revision {
            Ok(Some((Some(id), repository, inside))) => {
                Self::at(Commit::new(workspace, repository, id, inside), named)
            }
            // `a:b` is no revision that we take, and may be a file.
            _ if file.is_file() => {
                let bytes = fs::read(file).map_err(failed("reading", file))?;
                Ok(Self { shown: named.to_owned(), lock: Lock::parse(&bytes, named)?, commit: None })
            }
            Err(error) => Err(error.usage()),
            Ok(_) => Err(Error::new(format!("`{named}` is no revision of this repository and no file"))
                .hint("name a commit, a tag or a branch, or a `taskwright.lock`; a shallow clone may lack the commit: fetch it")
                .usage()),
        }
    }

    fn at(commit: Commit, named: &str) -> Result<Self> {
        let path = commit.specs.join("taskwright.lock");
        let short = commit.id.get(..12).unwrap_or(&commit.id);
        let shown =
            if commit.id.starts_with(named) { short.to_owned() } else { format!("{named} ({short})") };
        let bytes = commit.read(&path)?.ok_or_else(|| {
            Error::new(format!("there is no `{path}` at {shown}"))
                .hint("name a revision that has one: without it nobody knows what was built then")
        })?;
        let lock = Lock::parse(&bytes, &format!("{path} at {shown}"))?;
        Ok(Self { shown, lock, commit: Some(commit) })
    }

    /// The newest commit that changed a file of the workspace, and of which something holds; with what is meant of its lock.
    ///
    /// # Errors
    /// Git, or a commit that cannot be read.
    pub fn newest(
        workspace: &Workspace,
        file: &Utf8Path,
        meant: impl Fn(&[u8], &Lock) -> Option<Lock>,
    ) -> Result<Option<Self>> {
        /// How far back it is looked for.
        const MOST: usize = 200;
        let Some((repository, inside)) = Commit::repository(workspace)? else { return Ok(None) };
        if repository.commit("HEAD")?.is_none() {
            return Ok(None);
        }
        for id in repository.commits_of(&inside.join(file), MOST)? {
            let commit = Commit::new(workspace, repository.clone(), id.clone(), inside.clone());
            let Some(bytes) = commit.read(file)? else { continue };
            let Ok(past) = Self::at(commit, &id) else { continue };
            if let Some(lock) = meant(&bytes, &past.lock) {
                return Ok(Some(Self { lock, ..past }));
            }
        }
        Ok(None)
    }

    /// The commit, if it is one.
    pub(super) fn commit(&self) -> Option<&Commit> {
        self.commit.as_ref()
    }
}

impl Commit {
    fn new(workspace: &Workspace, repository: Repository, id: String, inside: Utf8PathBuf) -> Self {
        Self { repository, id, inside, root: workspace.root.clone(), specs: workspace.specs.clone() }
    }

    /// The repository that a workspace is in, and where in it.
    fn repository(workspace: &Workspace) -> Result<Option<(Repository, Utf8PathBuf)>> {
        let Some(repository) = Repository::containing(&workspace.root)? else { return Ok(None) };
        let place = |top: &Utf8Path| {
            let root = workspace.root.canonicalize_utf8().ok()?;
            root.strip_prefix(top.canonicalize_utf8().ok()?).ok().map(Utf8Path::to_owned)
        };
        let inside = repository.work_tree.as_deref().and_then(place);
        Ok(inside.map(|inside| (repository, inside)))
    }

    /// The bytes of a file of the workspace, as they were.
    pub(super) fn read(&self, path: &Utf8Path) -> Result<Option<Vec<u8>>> {
        let path = self.inside.join(path);
        let found = self.repository.objects(&self.id, &[&path])?;
        match found.get(&path) {
            Some((kind, id)) if kind == "blob" => self.repository.blob(id).map(Some),
            _ => Ok(None),
        }
    }

    /// The files below a path of the workspace that are others now, from that path.
    pub(super) fn changed(&self, path: &Utf8Path) -> Result<Vec<Utf8PathBuf>> {
        let path = self.inside.join(path);
        let changed = self.repository.changed_since(&self.id, &path)?;
        Ok(changed
            .into_iter()
            .filter_map(|file| file.strip_prefix(&path).map(Utf8Path::to_owned).ok())
            .collect())
    }

    /// What the specs said, by the names of their tasks. One that cannot be read any more is left out.
    pub(super) fn specs(&self) -> Result<BTreeMap<String, Spec>> {
        let room = tempfile::tempdir().map_err(|error| Error::os("making a folder", &error))?;
        let root = Utf8Path::from_path(room.path())
            .ok_or_else(|| Error::new("the folder of temporary files has a name that is not UTF-8"))?;
        let below = self.inside.join(&self.specs).join("");
        let mut specs = BTreeMap::new();
        for (folder, (kind, _)) in self.repository.objects(&self.id, &[&below])? {
            let Some(folder) = folder.strip_prefix(&self.inside).ok().filter(|_| kind == "tree") else {
                continue;
            };
            let file = folder.join(SPEC);
            if !self.fetch(&room, &file)? {
                continue;
            }
            // What a spec extends is known only once the spec is there.
            let mut known = 0;
            let read = loop {
                match described::read(root, &file, &BTreeMap::new()) {
                    Err(found) if found.files().len() > known => {
                        known = found.files().len();
                        for file in found.files() {
                            self.fetch(&room, file)?;
                        }
                    }
                    read => break read,
                }
            };
            for task in read.into_iter().flat_map(|read| read.tasks) {
                if let Described::Spec(loaded) = task {
                    specs.insert(loaded.spec.name.clone(), loaded.spec);
                }
            }
        }
        Ok(specs)
    }

    /// Puts a file as it was into a folder; whether there was one.
    fn fetch(&self, room: &TempDir, path: &Utf8Path) -> Result<bool> {
        let to = room.path().join(path);
        // A path that leads out of the workspace has no place here, and none in the commit.
        if path.starts_with("..") || path.is_absolute() {
            return Ok(false);
        }
        let Some(bytes) = self.read(path)? else { return Ok(false) };
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(failed("making", parent))?;
        }
        atomic(&to, Durable::No, &bytes)?;
        Ok(true)
    }

    /// Where a folder of the workspace is now.
    pub(super) fn here(&self, folder: &Utf8Path) -> Utf8PathBuf {
        self.root.join(folder)
    }

    /// What the `task.toml` of a task that somebody wrote said.
    pub(super) fn task_toml(&self, folder: &Utf8Path) -> Option<toml::Table> {
        let bytes = self.read(&folder.join(TASK)).ok()??;
        String::from_utf8(bytes).ok()?.parse().ok()
    }
}
