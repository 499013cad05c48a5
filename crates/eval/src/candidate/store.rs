//! Our own repository of candidates: the baseline and every commit that was found fit to be run.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use taskwright_base::git::{complaint, identity, sign};
use taskwright_base::write::{self, Durable};
use taskwright_base::{Error, Result, failed, failed_to};
use taskwright_language::serve::ServeBaseline;

use super::checkout::{Checkout, Checkouts, Links, check_links};
use super::git::{Git, Reading};
use super::tree::{self, Change, Entries, ReadOnly};
use super::{Candidate, CommitId, ImportError, ImportLimits, Refusal, TreeId, import};
use crate::sandbox::{Sandbox, folder, make_folder};

/// Files are taken as they are, whatever an attributes file among them says; as in the optimizer's container.
const ATTRIBUTES: &str = "* -text -filter -ident -working-tree-encoding\n";
const BASELINE: &str = "refs/heads/baseline";
/// How many bytes of the disk the baseline's objects take.
const BASELINE_BYTES: &str = "baseline-bytes";

/// Our own repository of candidates. Share it: it may be used from several threads, but by one process at a time.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    git: Git,
    sandbox: Sandbox,
    baseline: Candidate,
    baseline_entries: Entries,
    read_only: ReadOnly,
    known: Mutex<HashMap<CommitId, Candidate>>,
    trees: Mutex<HashMap<TreeId, Arc<Entries>>>,
    checkouts: Checkouts,
    next: AtomicU64,
    /// Bytes on disk of all objects but the baseline's.
    kept: AtomicU64,
}

impl Store {
    /// Opens the repository in a folder of ours, or makes it. The baseline is committed into it from its plain files
    /// and must be the very commit that the serve config names.
    pub fn open(dir: &Path, baseline: &ServeBaseline, files: &Path, sandbox: Sandbox) -> Result<Self> {
        std::fs::create_dir_all(dir).map_err(failed("making", dir))?;
        let dir = dir.canonicalize().map_err(failed("finding", dir))?;
        make_folder(&dir, 0o700)?;
        let git = Git::new(&dir.join("git"), sandbox.search_path());
        // What a process before us was in the middle of.
        let incoming = dir.join("incoming");
        folder::remove(&incoming).map_err(failed("removing", &incoming))?;
        make_folder(&incoming, 0o700)?;
        make_folder(&dir.join("known"), 0o700)?;
        prepare(&git)?;
        let objects = git.dir().join("objects");
        let commit: CommitId = baseline.commit.parse()?;
        let tree: TreeId = baseline.tree.parse()?;
        if std::fs::read_to_string(git.dir().join(BASELINE)).ok().as_deref() != Some(&format!("{commit}\n")) {
            commit_baseline(&git, &dir, files, &commit, &tree)?;
            let bytes = folder::usage(&objects, u64::MAX).bytes.to_string();
            write::atomic(dir.join(BASELINE_BYTES), Durable::Yes, bytes.as_bytes())?;
        }
        let kept = kept(&dir, &objects);
        let unlimited = ImportLimits { entries: u64::MAX, ..ImportLimits::none() };
        let baseline_entries = tree::list(&git, &tree, &unlimited)
            .map_err(|error| Error::new(format!("the baseline cannot be used: {error}")))?;
        let count = baseline_entries.values().filter(|entry| entry.kind != tree::Kind::Folder).count();
        Ok(Self {
            git,
            sandbox,
            baseline: Candidate { commit, tree: tree.clone(), files: count as u64, added_bytes: 0 },
            read_only: ReadOnly::new(&baseline.read_only)?,
            known: Mutex::default(),
            trees: Mutex::new(HashMap::from([(tree, Arc::new(baseline_entries.clone()))])),
            baseline_entries,
            checkouts: Checkouts::default(),
            next: AtomicU64::new(0),
            kept: AtomicU64::new(kept),
            dir,
        })
    }

    /// The baseline itself, always fit to be run.
    pub fn baseline(&self) -> &Candidate {
        &self.baseline
    }

    /// How many bytes of the disk all candidates take beside the baseline.
    pub fn kept_bytes(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// A commit that was imported before; survives a restart.
    pub fn find(&self, commit: &CommitId) -> Result<Option<Candidate>> {
        if *commit == self.baseline.commit {
            return Ok(Some(self.baseline.clone()));
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(candidate) = known.get(commit) {
            return Ok(Some(candidate.clone()));
        }
        let path = self.record(commit);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("reading", &path)(error)),
        };
        let candidate: Candidate = serde_json::from_slice(&bytes).map_err(|error| {
            Error::new(format!("the record `{}` is damaged ({error}): remove it", path.display()))
        })?;
        known.insert(commit.clone(), candidate.clone());
        Ok(Some(candidate))
    }

    /// Imports a commit from an uploaded pack. Whatever is refused leaves nothing behind.
    pub fn import(
        &self,
        commit: &CommitId,
        pack: &mut dyn Read,
        limits: &ImportLimits,
    ) -> Result<Candidate, ImportError> {
        if let Some(known) = self.find(commit)? {
            return Ok(known);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let incoming = Incoming(self.dir.join("incoming").join(number.to_string()));
        make_folder(&incoming.0, 0o700)?;
        import::unpack(&self.sandbox, pack, limits, &incoming.0)?;
        let git = self.git.with_objects(&incoming.0);
        let (candidate, entries) = self.examine(&git, commit, limits)?;
        self.examine_history(&git, commit)?;
        let more = folder::usage(&incoming.0, u64::MAX).bytes;
        let objects = self.git.dir().join("objects");
        if let Err(error) = import::adopt(&incoming.0, &objects) {
            // Some are there by now, and nobody refers to them; they count all the same.
            self.kept.store(kept(&self.dir, &objects), Ordering::Relaxed);
            return Err(error.into());
        }
        self.kept.fetch_add(more, Ordering::Relaxed);
        self.remember(&candidate)?;
        self.trees().insert(candidate.tree.clone(), Arc::new(entries));
        Ok(candidate)
    }

    /// Imports a folder as it is, as a commit of ours on the baseline: for whoever works on this machine and has files
    /// instead of an upload. The same rules hold for it. A folder with the baseline's files is the baseline.
    pub fn take_folder(&self, files: &Path, limits: &ImportLimits) -> Result<Candidate, ImportError> {
        let tree = write_tree(&self.git, &self.dir, files)?;
        if tree == self.baseline.tree {
            return Ok(self.baseline.clone());
        }
        let parent = self.baseline.commit.as_str();
        let commit = commit_tree(&self.git, &tree, &["-p", parent, "-m", "Candidate"])?;
        if let Some(known) = self.find(&commit)? {
            return Ok(known);
        }
        let (candidate, entries) = self.examine(&self.git, &commit, limits)?;
        self.remember(&candidate)?;
        self.trees().insert(tree, Arc::new(entries));
        Ok(candidate)
    }

    /// Decides whether a commit is fit to be run.
    fn examine(
        &self,
        git: &Git,
        commit: &CommitId,
        limits: &ImportLimits,
    ) -> Result<(Candidate, Entries), ImportError> {
        let incomplete = |reason: String| Refusal::Incomplete { commit: commit.clone(), reason };
        let kind = git.ask_with(&["cat-file", "--batch-check"], &format!("{commit}\n"))?;
        match kind.split(' ').nth(1).map(str::trim) {
            Some("commit") => {}
            Some("blob" | "tree" | "tag") => {
                return Err(incomplete("that is the name of something else than a commit".to_owned()).into());
            }
            _ => return Err(incomplete("the upload does not hold it".to_owned()).into()),
        }
        let range = format!("{commit}\n^{}\n", self.baseline.commit);
        git.ask_with(&["rev-list", "--objects", "--quiet", "--stdin"], &range)
            .map_err(|error| incomplete(error.to_string()))?;
        let tree: TreeId = git
            .ask(&["rev-parse", "--verify", "--end-of-options", &format!("{commit}^{{tree}}")])?
            .trim_end()
            .parse()?;
        let baseline = &self.baseline_entries;
        let limits = ImportLimits { entries: limits.entries.max(2 * baseline.len() as u64), ..*limits };
        let entries = tree::list(git, &tree, &limits)?;
        let added_bytes = tree::check_size(&entries, baseline, &limits)?;
        self.read_only.check(&entries, baseline)?;
        check_links(git, &entries)?;
        let files = entries.values().filter(|entry| entry.kind != tree::Kind::Folder).count() as u64;
        Ok((Candidate { commit: commit.clone(), tree, files, added_bytes }, entries))
    }

    /// Holds every commit since the baseline to the rules of the last one: the evidence has them all, and who looks into it
    /// checks one out.
    fn examine_history(&self, git: &Git, commit: &CommitId) -> Result<(), ImportError> {
        let range = format!("{commit}\n^{}\n", self.baseline.commit);
        let commits = git.ask_with(&["rev-list", "--stdin"], &range)?;
        // The candidate itself was looked at whole.
        if commits.lines().count() < 2 {
            return Ok(());
        }
        let mut links = Links::open(git)?;
        let check = |path: &str, change: &Change| {
            self.read_only.check_change(path, change, self.baseline_entries.get(path))?;
            match change {
                Change::Made(entry) if entry.kind == tree::Kind::Link => links.check(path, &entry.object),
                _ => Ok(()),
            }
        };
        tree::each_change(git, &commits, check)
    }

    /// Keeps a commit: as a reference, so that git holds on to its objects, and as a record of what was found.
    fn remember(&self, candidate: &Candidate) -> Result<()> {
        let reference = self.git.dir().join("refs/candidates").join(candidate.commit.as_str());
        write::atomic(&reference, Durable::Yes, format!("{}\n", candidate.commit).as_bytes())?;
        let record = serde_json::to_vec(candidate)
            .map_err(|error| Error::new(format!("a candidate cannot be recorded: {error}")))?;
        write::atomic(self.record(&candidate.commit), Durable::Yes, &record)?;
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(candidate.commit.clone(), candidate.clone());
        Ok(())
    }

    fn record(&self, commit: &CommitId) -> PathBuf {
        self.dir.join("known").join(format!("{commit}.json"))
    }

    fn trees(&self) -> std::sync::MutexGuard<'_, HashMap<TreeId, Arc<Entries>>> {
        /// How many listings are kept besides the baseline's.
        const KEPT: usize = 16;
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        if trees.len() > KEPT {
            trees.retain(|tree, _| *tree == self.baseline.tree);
        }
        trees
    }

    /// The candidate's files, written out by our own code without filters and attributes. Two checkouts of one tree
    /// are one folder.
    pub fn checkout(&self, candidate: &Candidate) -> Result<Checkout> {
        let tree = &candidate.tree;
        let listed = self.trees().get(tree).cloned();
        let entries = match listed {
            Some(entries) => entries,
            None => {
                let unlimited = ImportLimits { entries: u64::MAX, ..ImportLimits::none() };
                let entries = tree::list(&self.git, tree, &unlimited)
                    .map_err(|error| Error::new(format!("tree {tree} cannot be written out: {error}")))?;
                let entries = Arc::new(entries);
                self.trees().insert(tree.clone(), Arc::clone(&entries));
                entries
            }
        };
        self.checkouts.get(&self.git, tree, &entries, &self.sandbox.folder("candidates")?)
    }

    /// Writes a git bundle that holds commits which were imported, each as `refs/candidates/COMMIT`, and the baseline
    /// as `refs/heads/baseline`.
    pub fn bundle(&self, commits: &[CommitId], file: &Path) -> Result<()> {
        let file = std::path::absolute(file).map_err(failed("finding", file))?;
        let mut references = format!("{BASELINE}\n");
        for commit in commits.iter().filter(|commit| **commit != self.baseline.commit) {
            if self.find(commit)?.is_none() {
                return Err(Error::new(format!("commit {commit} cannot be bundled: it was never imported")));
            }
            references.push_str(&format!("refs/candidates/{commit}\n"));
        }
        let target = file.to_string_lossy();
        self.git.ask_with(&["bundle", "create", "--quiet", &target, "--stdin"], &references).map(drop)
    }

    /// What another tree changes against one, as `git diff` prints it, cut after so many bytes.
    pub fn diff(&self, from: &TreeId, to: &TreeId, max_bytes: usize) -> Result<String> {
        let arguments = [
            "diff-tree",
            "-r",
            "-p",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--no-renames",
            from.as_str(),
            to.as_str(),
        ];
        let mut reading = Reading::start(&self.git, &arguments)?;
        let mut bytes = Vec::new();
        let most = max_bytes as u64;
        (&mut reading.stdout).take(most).read_to_end(&mut bytes).map_err(failed_to("reading a diff"))?;
        if bytes.len() < max_bytes && !reading.finish()? {
            return Err(Error::new(format!("git cannot compare {from} and {to}")));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Bytes on disk of all objects but the baseline's.
fn kept(dir: &Path, objects: &Path) -> u64 {
    let of_baseline = std::fs::read_to_string(dir.join(BASELINE_BYTES)).ok();
    let of_baseline = of_baseline.and_then(|text| text.parse().ok()).unwrap_or(0);
    folder::usage(objects, u64::MAX).bytes.saturating_sub(of_baseline)
}

/// Makes the repository, unless it is there.
fn prepare(git: &Git) -> Result<()> {
    let dir = git.dir().to_string_lossy().into_owned();
    if !git.dir().join("HEAD").is_file() {
        git.ask(&[
            "init",
            "--quiet",
            "--bare",
            "--template=",
            "--object-format=sha1",
            "--initial-branch=baseline",
            &dir,
        ])?;
    }
    for folder in ["info", "refs/candidates"] {
        make_folder(&git.dir().join(folder), 0o755)?;
    }
    write::atomic(git.dir().join("info/attributes"), Durable::Yes, ATTRIBUTES.as_bytes())
}

fn commit_baseline(git: &Git, dir: &Path, files: &Path, commit: &CommitId, tree: &TreeId) -> Result<()> {
    let found = write_tree(git, dir, files)?;
    if found != *tree {
        return Err(Error::new(format!(
            "the baseline in `{}` has tree {found}, not {tree} as the task was built for: build the task again",
            files.display()
        )));
    }
    let made = commit_tree(git, tree, &["-m", identity::MESSAGE])?;
    if made != *commit {
        return Err(Error::new(format!(
            "the baseline's commit is {made}, not {commit} as the task was built for: build the task again"
        )));
    }
    write::atomic(git.dir().join(BASELINE), Durable::Yes, format!("{commit}\n").as_bytes())
}

/// Stores all files of a folder of ours, as they are.
fn write_tree(git: &Git, dir: &Path, files: &Path) -> Result<TreeId> {
    let files = files.canonicalize().map_err(failed("finding", files))?;
    let place = tempfile::Builder::new()
        .prefix("index-")
        .tempdir_in(dir)
        .map_err(failed("making a folder in", dir))?;
    let staging = git.with("GIT_INDEX_FILE", &place.path().join("index")).with("GIT_WORK_TREE", &files);
    let settings = [
        "-c",
        "core.autocrlf=false",
        "-c",
        "core.fileMode=true",
        "-c",
        "core.symlinks=true",
        "-c",
        "core.ignoreCase=false",
        "-c",
        "core.excludesFile=/dev/null",
        "-c",
        "core.fsmonitor=false",
        "add",
        "--all",
        "--force",
        ".",
    ];
    let added = super::git::start(staging.command(&settings).current_dir(&files))?
        .wait_with_output()
        .map_err(failed_to("waiting for git"))?;
    if !added.status.success() {
        let why = complaint(&added.stderr);
        return Err(Error::new(format!("the files in `{}` cannot be read: {why}", files.display())));
    }
    staging.ask(&["write-tree"])?.trim_end().parse()
}

/// Commits a tree as we commit everything: the same tree is always the same commit.
fn commit_tree(git: &Git, tree: &TreeId, arguments: &[&str]) -> Result<CommitId> {
    let arguments: Vec<&str> =
        ["commit-tree"].iter().chain(arguments).copied().chain([tree.as_str()]).collect();
    let mut command = git.command(&arguments);
    let made =
        super::git::start(sign(&mut command))?.wait_with_output().map_err(failed_to("waiting for git"))?;
    if !made.status.success() {
        let why = complaint(&made.stderr);
        return Err(Error::new(format!("tree {tree} cannot be committed: {why}")));
    }
    String::from_utf8_lossy(&made.stdout).trim_end().parse()
}

/// A folder of objects that are not yet ours.
struct Incoming(PathBuf);

impl Drop for Incoming {
    fn drop(&mut self) {
        let _ = folder::remove(&self.0);
    }
}

impl ImportLimits {
    /// No limits: for what was imported already.
    fn none() -> Self {
        let none = u64::MAX;
        Self {
            pack_bytes: none,
            objects: none,
            unpacked_bytes: none,
            added_bytes: none,
            entries: none,
            disk_bytes: none,
            seconds: none,
        }
    }
}
