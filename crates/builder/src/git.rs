//! Git, asked through its command line: what a revision is, whether files differ from it, and its files as an archive.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::git::{ask, in_folder, missing, variables};
use taskwright_base::write::{Durable, atomic};
use taskwright_harbor::digest::is_ignored_by_default;
use taskwright_language::model::BaselineSource;

use crate::error::{advised, failed};
use taskwright_base::{Error, Result};

/// The error of a folder that is in no repository.
pub fn no_repository(folder: &Utf8Path, shown: &Utf8Path, source: BaselineSource) -> Error {
    let error = Error::new(format!("`{shown}` is not in a git repository"));
    // Git passes over what is none, and a new repository would not mend it.
    match folder.ancestors().map(|above| above.join(".git")).find(|git| git.exists()) {
        Some(git) => {
            error.hint(format!("git takes `{git}` for none: mend or remove it; `git status` says more"))
        }
        None => error.hint(match source {
            BaselineSource::Commit => {
                "run `git init`, add the files and commit them: a baseline is a revision"
            }
            BaselineSource::WorkTree => "run `git init`: git tells which files are not ignored",
        }),
    }
}

/// How often a request to stop is listened for while git works.
const LISTEN: Duration = Duration::from_millis(20);

/// How many paths one git command is given.
pub const AT_ONCE: usize = 1000;

/// What a user ignores in all repositories decides nothing.
const NO_IGNORED_BY_USER: [&str; 2] = ["-c", "core.excludesFile=/dev/null"];

/// A file of the work tree that is committed, or might be.
pub struct WorkTreeFile {
    /// From the repository's root.
    pub path: Utf8PathBuf,
    /// Whether a sparse checkout leaves it out, or the index says otherwise that it need not be there.
    pub is_hidden: bool,
}

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
    /// The repository that holds a folder; none if none does.
    pub fn containing(folder: &Utf8Path) -> Result<Option<Self>> {
        const ASKED: [&str; 5] = [
            "rev-parse",
            "--is-bare-repository",
            "--absolute-git-dir",
            "--git-common-dir",
            "--show-object-format",
        ];
        // A bare repository has no work tree to show and refuses the question as a whole.
        let asked =
            git(folder, &[&ASKED[..], &["--show-toplevel"]].concat()).or_else(|_| git(folder, &ASKED));
        let asked = match asked {
            Ok(asked) => asked,
            Err(error) if error.to_string().contains("not a git repository") => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut lines = asked.lines();
        let mut next = || lines.next().unwrap_or_default().to_owned();
        let bare = next() == "true";
        let git_dir = Utf8PathBuf::from(next());
        let common_dir = folder.join(next());
        let format = next();
        let top = next();
        let work_tree = (!bare && !top.is_empty()).then(|| Utf8PathBuf::from(top));
        Ok(Some(Self { folder: folder.to_owned(), work_tree, git_dir, common_dir, format }))
    }

    /// The identifier of the commit that a revision is; none if git knows no such revision.
    pub fn commit(&self, rev: &str) -> Result<Option<String>> {
        if rev.starts_with('-') || rev.contains([':', '\n']) || rev.contains("@{") {
            return Err(
                Error::new(format!("`{rev}` is not a revision")).hint("name a commit, a tag or a branch")
            );
        }
        let object = format!("{rev}^{{commit}}");
        // Quiet: a revision that is not there is said by the status alone.
        match git(&self.folder, &["rev-parse", "--verify", "--quiet", "--end-of-options", &object]) {
            Ok(id) => Ok(Some(id.trim_end().to_owned())),
            Err(_) => Ok(None),
        }
    }

    /// What stands at paths (from the repository's root; empty for the root itself) in a commit or a tree, by path: the kind of
    /// object, `tree` or `blob`, and its identifier. What is not there is left out.
    pub fn objects(
        &self,
        commit: &str,
        paths: &[&Utf8Path],
    ) -> Result<BTreeMap<Utf8PathBuf, (String, String)>> {
        let mut found = BTreeMap::new();
        if paths.iter().any(|path| path.as_str().is_empty()) {
            let tree = format!("{commit}^{{tree}}");
            let id = git(&self.folder, &["rev-parse", "--verify", "--end-of-options", &tree])?;
            found.insert(Utf8PathBuf::new(), ("tree".to_owned(), id.trim_end().to_owned()));
        }
        let mut arguments = vec!["ls-tree", "-z", "--full-tree", commit, "--"];
        arguments.extend(paths.iter().map(|path| path.as_str()).filter(|path| !path.is_empty()));
        if arguments.len() > 5 {
            for line in git(&self.folder, &arguments)?.split('\0') {
                let Some((facts, path)) = line.split_once('\t') else { continue };
                let mut facts = facts.split(' ').skip(1);
                if let (Some(kind), Some(id)) = (facts.next(), facts.next()) {
                    found.insert(path.into(), (kind.to_owned(), id.to_owned()));
                }
            }
        }
        Ok(found)
    }

    /// The bytes of a file's object, by its identifier.
    pub fn blob(&self, id: &str) -> Result<Vec<u8>> {
        ask(in_folder(self.folder.as_std_path()).args(["cat-file", "blob", id]))
    }

    /// The files below a path from the repository's root that are others in the work tree than in a commit, as far as git
    /// knows of them.
    pub fn changed_since(&self, commit: &str, path: &Utf8Path) -> Result<Vec<Utf8PathBuf>> {
        let mut command = in_folder(self.top().as_std_path());
        command.args([
            "diff",
            "--name-only",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            commit,
            "--",
        ]);
        Ok(lines(&ask(command.arg(pathspec(path)))?).into_iter().map(Utf8PathBuf::from).collect())
    }

    /// The commits that changed a file, the newest first, at most so many.
    pub fn commits_of(&self, path: &Utf8Path, most: usize) -> Result<Vec<String>> {
        let mut command = in_folder(self.top().as_std_path());
        command.args(["rev-list", &format!("--max-count={most}"), "HEAD", "--"]);
        Ok(String::from_utf8_lossy(&ask(command.arg(pathspec(path)))?).lines().map(str::to_owned).collect())
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
    ///
    /// What this machine's user ignores everywhere is listed as well, and so are edits that the index hides: what is refused
    /// must be the same for everybody. Only `core.fileMode` counts, since it says that the disk has no permissions to compare.
    pub fn changes(&self, paths: &[&Utf8Path], scratch: &Utf8Path) -> Result<Vec<String>> {
        let mut changes = self.status(paths, &["--untracked-files=all"], None)?;
        // What tools leave behind is no part of a baseline, whoever's configuration ignores it.
        changes.retain(|line| !line.strip_prefix("?? ").is_some_and(is_ignored_by_default));
        changes.extend(self.hidden_changes(paths, scratch)?);
        Ok(changes)
    }

    /// The lines of `git status`, of this index or of another one.
    fn status(&self, paths: &[&Utf8Path], options: &[&str], index: Option<&Path>) -> Result<Vec<String>> {
        let mut command = in_folder(self.top().as_std_path());
        command
            .args(NO_IGNORED_BY_USER)
            .args(["status", "--porcelain=v1", "-z", "--no-renames"])
            .args(options);
        if let Some(index) = index {
            command.env("GIT_INDEX_FILE", index);
        }
        command.arg("--").args(paths.iter().map(|path| pathspec(path)));
        // These lines are only shown and compared by their beginning: a name that is not UTF-8 concerns nobody else.
        Ok(lines(&ask(&mut command)?))
    }

    /// Edits of files of which the index says that they are not to be looked at (`git update-index --assume-unchanged` and
    /// `--skip-worktree`). A file that is not there, as in a sparse checkout, is no edit.
    fn hidden_changes(&self, paths: &[&Utf8Path], scratch: &Utf8Path) -> Result<Vec<String>> {
        let mut command = in_folder(self.top().as_std_path());
        command.args(["ls-files", "-z", "-v", "--full-name", "--"]);
        command.args(paths.iter().map(|path| pathspec(path)));
        let listed = lines(&ask(&mut command)?);
        let hidden = listed.iter().filter_map(|line| line.split_once(' '));
        let hidden =
            hidden.filter(|(tag, _)| *tag == "S" || tag.starts_with(|tag: char| tag.is_ascii_lowercase()));
        let hidden: Vec<&str> = hidden
            .map(|(_, path)| path)
            .filter(|path| std::fs::symlink_metadata(self.top().join(path)).is_ok())
            .collect();
        if hidden.is_empty() {
            return Ok(Vec::new());
        }
        // A copy of the index that hides nothing is asked.
        let room = tempfile::tempdir_in(scratch).map_err(failed("creating a folder in", scratch))?;
        let copy = room.path().join("index");
        let index = self.git_dir.join("index");
        std::fs::copy(&index, &copy).map_err(failed("copying", &index))?;
        let mut changes = Vec::new();
        for some in hidden.chunks(AT_ONCE) {
            for flag in ["--no-assume-unchanged", "--no-skip-worktree"] {
                let mut command = in_folder(self.top().as_std_path());
                command.env("GIT_INDEX_FILE", &copy).args(["update-index", flag, "--"]).args(some);
                ask(&mut command)?;
            }
            let some: Vec<_> = some.iter().map(Utf8Path::new).collect();
            changes.extend(self.status(&some, &["--untracked-files=no"], Some(&copy))?);
        }
        Ok(changes
            .into_iter()
            .map(|line| format!("{line} (hidden from `git status` by the index)"))
            .collect())
    }

    /// The files of the work tree below a path, committed or not, less what the repository itself says to ignore.
    pub fn work_tree_files(&self, path: &Utf8Path) -> Result<Vec<WorkTreeFile>> {
        // Not what this user ignores everywhere or in this clone: another clone would not do so.
        let listed = git(
            self.top(),
            &[
                "ls-files",
                "-z",
                "-t",
                "--full-name",
                "--cached",
                "--others",
                "--exclude-per-directory=.gitignore",
                "--",
                &pathspec(path),
            ],
        )?;
        let mut files: Vec<_> = listed
            .split('\0')
            .filter_map(|line| line.split_once(' '))
            .map(|(tag, path)| WorkTreeFile { path: path.into(), is_hidden: tag == "S" })
            .collect();
        files.sort_by(|left, right| left.path.cmp(&right.path));
        files.dedup_by(|left, right| left.path == right.path);
        Ok(files)
    }

    /// The repository of which this one is a submodule, and where in its work tree; none if it is in none.
    pub fn superproject(&self) -> Result<Option<(Self, Utf8PathBuf)>> {
        let Some(top) = &self.work_tree else { return Ok(None) };
        let above = git(top, &["rev-parse", "--show-superproject-working-tree"])?;
        let Some(above) = Some(above.trim_end()).filter(|above| !above.is_empty()) else { return Ok(None) };
        let inside = top.strip_prefix(above).map(Utf8Path::to_owned);
        let repository = Self::containing(Utf8Path::new(above))?;
        Ok(repository.zip(inside.ok()))
    }

    /// The folder from which paths of the work tree count.
    fn top(&self) -> &Utf8Path {
        self.work_tree.as_deref().unwrap_or(&self.folder)
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
        let mut command =
            duct::cmd!("git", "-c", "core.attributesFile=/dev/null", "archive", "--format=tar", tree);
        for name in variables() {
            command = command.env_remove(name);
        }
        let handle = command
            .env("GIT_DIR", &room)
            .env("GIT_OBJECT_DIRECTORY", self.common_dir.join("objects"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("LC_ALL", "C")
            .dir(&self.folder)
            .stdin_null()
            .stderr_path(&errors)
            .unchecked()
            .reader()
            .map_err(|error| missing(&in_folder(self.folder.as_std_path()), &error))?;
        let done = AtomicBool::new(false);
        let (result, status) = std::thread::scope(|scope| {
            // Reading may wait for git as long as git likes: being asked to stop ends git, and with it the waiting.
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if stop.load(Ordering::Relaxed) {
                        let _ = handle.kill();
                        return;
                    }
                    std::thread::sleep(LISTEN);
                }
            });
            let mut reader = &handle;
            let result = read(&mut reader);
            if result.is_err() {
                // Git may be blocked on a pipe that nobody reads any more.
                let _ = handle.kill();
            }
            let status = drain(&handle);
            done.store(true, Ordering::Relaxed);
            (result, status)
        });
        let words = std::fs::read_to_string(&errors).unwrap_or_default();
        let _ = std::fs::remove_file(&errors);
        if stop.load(Ordering::Relaxed) {
            return Err(Error::interrupted());
        }
        match (result, status) {
            (Ok(value), Some(status)) if status.success() => Ok(value),
            (Err(error), Some(status)) if status.success() => Err(error),
            (Err(error), _) if words.trim().is_empty() => Err(error),
            (_, status) => {
                let how = status.map_or_else(|| "was killed".to_owned(), |status| status.to_string());
                Err(Error::new(format!("`git archive {tree}` failed ({how}): {}", words.trim()))
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
            atomic(room.join(name), Durable::No, text.as_bytes()).map_err(advised)?;
        }
        Ok(room)
    }
}

/// A path from the repository's root as git takes it, whatever characters it holds. Nothing stands for the root itself:
/// where each character is literal, `.` is a file of that name.
fn pathspec(path: &Utf8Path) -> String {
    format!(":(top,literal){path}")
}

/// What git prints with `-z`.
fn lines(printed: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(printed);
    text.split('\0').filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Waits for a process to end and returns its status; none if it was killed.
fn drain(handle: &duct::ReaderHandle) -> Option<std::process::ExitStatus> {
    let mut rest: &duct::ReaderHandle = handle;
    let mut buffer = [0; 4096];
    while matches!(rest.read(&mut buffer), Ok(count) if count > 0) {}
    handle.try_wait().ok().flatten().map(|output| output.status)
}

/// What a short git command prints.
fn git(folder: &Utf8Path, arguments: &[&str]) -> Result<String> {
    String::from_utf8(ask(in_folder(folder.as_std_path()).args(arguments))?).map_err(|_| {
        Error::new(format!("`{folder}` holds file names that are not UTF-8")).hint("rename them")
    })
}
