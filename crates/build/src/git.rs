//! Git, asked through its command line: what a revision is, whether files differ from it, and its files as an archive.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};

use camino::{Utf8Path, Utf8PathBuf};
use xshell::{Shell, cmd};

use crate::digest::Digest;
use crate::error::{BuildError, Result, failed};

/// A git repository: a work tree or a bare one.
#[derive(Debug, Clone)]
pub struct Repository {
    /// A folder inside it, from which git is run.
    folder: Utf8PathBuf,
    /// The work tree's root; none if the repository is bare.
    pub work_tree: Option<Utf8PathBuf>,
    /// Where `HEAD` and the index are.
    pub git_dir: Utf8PathBuf,
    /// Where objects and references are; differs from `git_dir` in a linked work tree.
    pub common_dir: Utf8PathBuf,
    format: String,
}

impl Repository {
    /// The repository that holds a folder.
    pub fn containing(folder: &Utf8Path) -> Result<Self> {
        let asked = git(
            folder,
            &[
                "rev-parse",
                "--is-bare-repository",
                "--absolute-git-dir",
                "--git-common-dir",
                "--show-object-format",
            ],
        )
        .map_err(|error| match error.is_interrupt() {
            true => error,
            false if error.to_string().contains("not a git repository") => {
                BuildError::new(format!("`{folder}` is not in a git repository"))
                    .hint("run `git init`, add the files and commit them: a baseline is a revision")
            }
            false => error,
        })?;
        let mut lines = asked.lines();
        let mut next = || lines.next().unwrap_or_default().to_owned();
        let bare = next() == "true";
        let git_dir = Utf8PathBuf::from(next());
        let common_dir = folder.join(next());
        let format = next();
        let work_tree = match bare {
            true => None,
            false => Some(Utf8PathBuf::from(
                git(folder, &["rev-parse", "--show-toplevel"])?.trim_end_matches('\n'),
            )),
        };
        Ok(Self { folder: folder.to_owned(), work_tree, git_dir, common_dir, format })
    }

    /// The identifier of the tree at a path (from the repository's root; empty for the root itself) in a revision.
    pub fn tree(&self, rev: &str, path: &Utf8Path) -> Result<String> {
        if rev.starts_with('-') || rev.contains([':', '\n']) {
            return Err(BuildError::new(format!("`{rev}` is not a revision"))
                .hint("name a commit, a tag or a branch"));
        }
        let commit = self.resolve(&format!("{rev}^{{commit}}"), || {
            BuildError::new(format!("git knows no revision `{rev}` in `{}`", self.folder))
                .hint("commit first, fetch it, or correct `baseline.rev`")
        })?;
        let tree =
            if path.as_str().is_empty() { format!("{commit}^{{tree}}") } else { format!("{commit}:{path}") };
        let missing = || {
            BuildError::new(format!(
                "revision `{rev}` ({}) has no folder `{path}`",
                &commit[..commit.len().min(12)]
            ))
            .hint("commit the folder, or correct `baseline.path`")
        };
        let id = self.resolve(&tree, missing)?;
        match git(&self.folder, &["cat-file", "-t", &id])?.trim_end() {
            "tree" => Ok(id),
            _ => Err(BuildError::new(format!("`{path}` is not a folder in revision `{rev}`"))),
        }
    }

    fn resolve(&self, object: &str, missing: impl FnOnce() -> BuildError) -> Result<String> {
        match git(&self.folder, &["rev-parse", "--verify", "--quiet", "--end-of-options", object]) {
            Ok(id) => Ok(id.trim_end().to_owned()),
            Err(error) if error.is_interrupt() => Err(error),
            Err(_) => Err(missing()),
        }
    }

    /// The full name of the reference that a revision is, such as `refs/heads/main`; none if it is something else.
    pub fn reference(&self, rev: &str) -> Option<String> {
        let name = git(&self.folder, &["rev-parse", "--symbolic-full-name", "--end-of-options", rev]).ok()?;
        name.lines()
            .map(str::trim)
            .find(|line| line.starts_with("refs/") || *line == "HEAD")
            .map(str::to_owned)
    }

    /// The files below paths of the work tree that differ from `HEAD`, as lines such as ` M src/main.py`.
    pub fn changes(&self, path: &Utf8Path) -> Result<Vec<String>> {
        let path = if path.as_str().is_empty() { "." } else { path.as_str() };
        let top = self.work_tree.as_deref().unwrap_or(&self.folder);
        let literal = format!(":(top,literal){path}");
        let listed = git(
            top,
            &["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--", &literal],
        )?;
        Ok(listed.split('\0').filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }

    /// The files of the work tree below a path, committed or not, less what the repository itself says to ignore.
    pub fn work_tree_files(&self, path: &Utf8Path) -> Result<Vec<Utf8PathBuf>> {
        let top = self.work_tree.as_deref().unwrap_or(&self.folder);
        let path = if path.as_str().is_empty() { "." } else { path.as_str() };
        let literal = format!(":(top,literal){path}");
        let listed = git(
            top,
            &[
                "-c",
                "core.excludesFile=/dev/null",
                "ls-files",
                "-z",
                "--full-name",
                "--cached",
                "--others",
                "--exclude-standard",
                "--",
                &literal,
            ],
        )?;
        let mut files: Vec<_> =
            listed.split('\0').filter(|name| !name.is_empty()).map(Utf8PathBuf::from).collect();
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// Every file of a tree as `(mode, path)`.
    pub fn list(&self, tree: &str) -> Result<Vec<(String, String)>> {
        let listed = git(&self.folder, &["ls-tree", "-r", "-z", "--full-tree", tree])?;
        let members = listed.split('\0').filter(|line| !line.is_empty()).filter_map(|line| {
            let (facts, path) = line.split_once('\t')?;
            Some((facts.split(' ').next()?.to_owned(), path.to_owned()))
        });
        Ok(members.collect())
    }

    /// Streams the archive of a tree to `read`, and checks that git ended well.
    ///
    /// Git runs on an empty repository that merely borrows the objects, so that neither a configuration nor an
    /// attributes file of this machine or of this clone can reach the archive: only what is in the tree does.
    pub fn archive<T>(
        &self,
        tree: &str,
        cleanroom: &Utf8Path,
        stop: &AtomicBool,
        read: impl FnOnce(&mut dyn Read) -> Result<T>,
    ) -> Result<T> {
        let room = self.cleanroom(cleanroom)?;
        let errors = room.join(format!("errors-{tree}-{:?}", std::thread::current().id()));
        let handle = duct::cmd!("git", "archive", "--format=tar", tree)
            .env("GIT_DIR", &room)
            .env("GIT_OBJECT_DIRECTORY", self.common_dir.join("objects"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("LC_ALL", "C")
            .env_remove("GIT_CONFIG_COUNT")
            .env_remove("GIT_CONFIG_PARAMETERS")
            .dir(&self.folder)
            .stdin_null()
            .stderr_path(&errors)
            .unchecked()
            .reader()
            .map_err(|error| git_missing(&error))?;
        let mut reader = Interruptible { inner: &handle, stop };
        let result = read(&mut reader);
        if result.is_err() {
            // Git may be blocked on a pipe that nobody reads any more.
            let _ = handle.kill();
        }
        let status = drain(&handle);
        let words = std::fs::read_to_string(&errors).unwrap_or_default();
        let _ = std::fs::remove_file(&errors);
        if stop.load(Ordering::Relaxed) {
            return Err(BuildError::interrupted());
        }
        match (result, status) {
            (Ok(value), Some(status)) if status.success() => Ok(value),
            (Err(error), Some(status)) if status.success() => Err(error),
            (Err(error), _) if words.trim().is_empty() => Err(error),
            (_, status) => {
                let how = status.map_or_else(|| "was killed".to_owned(), |status| status.to_string());
                Err(BuildError::new(format!("`git archive {tree}` failed ({how}): {}", words.trim()))
                    .hint("`git fsck` checks the repository; a shallow or partial clone may lack the objects: fetch them"))
            }
        }
    }

    /// A bare repository with nothing of its own.
    fn cleanroom(&self, parent: &Utf8Path) -> Result<Utf8PathBuf> {
        let room = parent.join(format!("git-{}", self.format));
        if room.join("HEAD").exists() {
            return Ok(room);
        }
        for folder in ["objects", "refs"] {
            let folder = room.join(folder);
            std::fs::create_dir_all(&folder).map_err(failed("creating", &folder))?;
        }
        let config = if self.format == "sha1" {
            "[core]\n\trepositoryformatversion = 0\n\tbare = true\n".to_owned()
        } else {
            format!(
                "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = {}\n",
                self.format
            )
        };
        // HEAD comes last: it is what says that the room is ready.
        for (name, text) in [("config", config.as_str()), ("HEAD", "ref: refs/heads/none\n")] {
            let path = room.join(name);
            let written = room.join(format!("{name}-{:?}", std::thread::current().id()));
            std::fs::write(&written, text).map_err(failed("writing", &written))?;
            std::fs::rename(&written, &path).map_err(failed("renaming to", &path))?;
        }
        Ok(room)
    }

    /// A name for what the repository's state is at the moment, as far as files show it.
    pub fn identity(&self) -> String {
        Digest::of(self.common_dir.as_str().as_bytes()).short()
    }
}

/// Waits for a process to end and returns its status; none if it was killed.
fn drain(handle: &duct::ReaderHandle) -> Option<std::process::ExitStatus> {
    let mut rest: &duct::ReaderHandle = handle;
    let mut buffer = [0; 4096];
    while matches!(rest.read(&mut buffer), Ok(count) if count > 0) {}
    handle.try_wait().ok().flatten().map(|output| output.status)
}

/// A reader that ends with an error as soon as the build is asked to stop.
struct Interruptible<'a> {
    inner: &'a duct::ReaderHandle,
    stop: &'a AtomicBool,
}

impl Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(std::io::Error::other("interrupted"));
        }
        self.inner.read(buffer)
    }
}

/// Runs a short git command and returns what it prints.
///
/// The user's own configuration holds here: it decides what counts as a changed file to them, and which repositories
/// they trust. Only words and locks are pinned.
fn git(folder: &Utf8Path, arguments: &[&str]) -> Result<String> {
    let shell = Shell::new().map_err(|error| BuildError::new(format!("starting a shell: {error}")))?;
    shell.change_dir(folder);
    let output = cmd!(shell, "git {arguments...}")
        .env("LC_ALL", "C")
        // `git status` must not rewrite the index: a build changes nothing but its own outputs.
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .quiet()
        .ignore_status()
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) if folder.exists() => {
            return Err(BuildError::new(format!("git cannot be run: {error}"))
                .hint("install git (`apt-get install git`, `brew install git`)"));
        }
        Err(_) => return Err(BuildError::new(format!("`{folder}` does not exist"))),
    };
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(BuildError::new(format!("git failed in `{folder}`: {}", words.trim())));
    }
    String::from_utf8(output.stdout).map_err(|_| {
        BuildError::new(format!("`{folder}` holds file names that are not UTF-8")).hint("rename them")
    })
}

fn git_missing(error: &std::io::Error) -> BuildError {
    BuildError::new(format!("git cannot be run: {error}"))
        .hint("install git (`apt-get install git`, `brew install git`)")
}
