//! Where a workspace keeps its specs, its templates and what is built, and the lock that one build at a time holds.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use crate::depot::Depot;
use crate::embedded;
use crate::error::{advised, failed};
use crate::observe::Observer;
use taskwright_base::Digest;
use taskwright_base::lock::{Attempt, LockFile, Wait};
use taskwright_base::{Error, Result};
use taskwright_language::Diagnostics;
use taskwright_language::model::SpecPath;
use taskwright_language::workspace::{self as file, Bake, Fleet, Places};

/// What the name of a file begins with that says where a state's tasks are built.
pub const WHERE: &str = "where-";

/// A workspace: a folder with specs, and where things go.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// The workspace's root folder; absolute.
    pub root: Utf8PathBuf,
    /// The folder with one folder a spec.
    pub specs: Utf8PathBuf,
    /// The folder of the templates; those that are missing there are the standard ones.
    pub templates: Utf8PathBuf,
    /// Where the tasks are built; absolute.
    pub out: Utf8PathBuf,
    /// Where the store and the state are; from the root.
    pub cache: Utf8PathBuf,
    /// The folder of the ledger; absolute.
    pub ledger: Utf8PathBuf,
    /// The folder of the manifests of experiments; from the root.
    pub experiments: Utf8PathBuf,
    /// Where Harbor's jobs are kept; from the root.
    pub jobs: Utf8PathBuf,
    /// How many bytes the store may hold beyond what is needed.
    pub store_limit: u64,
    /// Where the `taskwright` binary comes from.
    pub binary: Binary,
    /// How images are baked; its places are from the root.
    pub bake: Bake,
    /// What this machine has in common with others.
    pub fleet: Fleet,
    /// The store that they share, where it was opened.
    pub depot: Option<Arc<dyn Depot>>,
    /// Whether a build that is held to the lock refuses a task whose controls did not pass.
    pub demands_controls: bool,
}

/// Where the `taskwright` binary comes from.
#[derive(Debug, Clone)]
pub enum Binary {
    /// A file that is there, or a folder with one for each platform; from the root.
    Prebuilt(Utf8PathBuf),
    /// Those that this program was built with.
    Embedded(&'static [&'static [u8]]),
    /// Taskwright's own sources, built statically with cargo: their root.
    Sources(Utf8PathBuf),
}

impl Workspace {
    /// The root of the workspace that a folder is in: the nearest one, itself included, that holds a `taskwright.toml`.
    ///
    /// # Errors
    /// One of usage: there is none.
    pub fn root_of(folder: &Utf8Path) -> Result<Utf8PathBuf> {
        let root = folder.ancestors().find(|folder| folder.join(file::FILE).is_file());
        root.map(Utf8Path::to_owned).ok_or_else(|| {
            Error::new(format!(
                "`{folder}` is in no workspace: neither it nor a folder above holds a `{}`",
                file::FILE
            ))
            .hint(
                "`cargo xtask init` in your repository's root makes one; or name its root with `--root DIR`",
            )
            .usage()
        })
    }

    /// The workspace in a folder, with its parts where its `taskwright.toml` says, if there is one.
    ///
    /// # Errors
    /// Every mistake in that file.
    pub fn open(root: impl Into<Utf8PathBuf>) -> std::result::Result<Self, Diagnostics> {
        let root = root.into();
        let places =
            if root.join(file::FILE).exists() { file::load(&root)?.value } else { Places::default() };
        Ok(Self::with(root, &places))
    }

    /// The workspace in a folder, with every part where a `taskwright.toml` that says nothing puts it.
    pub fn new(root: impl Into<Utf8PathBuf>) -> Self {
        Self::with(root.into(), &Places::default())
    }

    fn with(root: Utf8PathBuf, places: &Places) -> Self {
        let from_root = |path: &SpecPath| match path.as_path() {
            here if here == "." => Utf8PathBuf::new(),
            path => path.to_owned(),
        };
        let full = |path: &SpecPath| below(&root, path.as_path());
        let own = || match embedded::BINARIES {
            [] => Binary::Sources(embedded::sources().unwrap_or_default()),
            binaries => Binary::Embedded(binaries),
        };
        Self {
            specs: from_root(&places.specs),
            templates: from_root(&places.templates),
            experiments: from_root(&places.experiments),
            out: full(&places.output),
            cache: from_root(&places.cache),
            ledger: full(&places.ledger),
            jobs: from_root(&places.jobs),
            binary: places.binary.as_ref().map_or_else(own, |path| Binary::Prebuilt(from_root(path))),
            store_limit: 4 * 1024 * 1024 * 1024,
            bake: places.bake.clone(),
            fleet: places.fleet.clone(),
            depot: None,
            demands_controls: places.controls,
            root,
        }
    }

    /// Where the store and the state are.
    pub fn cache_dir(&self) -> Utf8PathBuf {
        self.root.join(&self.cache)
    }

    /// Where Harbor's jobs are kept.
    pub fn jobs_dir(&self) -> Utf8PathBuf {
        self.root.join(&self.jobs)
    }

    /// Where the tasks go whose images are baked.
    pub fn baked_dir(&self) -> Utf8PathBuf {
        below(&self.root, self.bake.output.as_path())
    }

    /// The folder of the images that were baked, an OCI layout.
    pub fn images_dir(&self) -> Utf8PathBuf {
        below(&self.root, self.bake.images.as_path())
    }

    /// Where the store is.
    pub fn store_dir(&self) -> Utf8PathBuf {
        self.cache_dir().join("store")
    }

    /// The state of what was built from these specs to this output folder.
    pub fn state_file(&self) -> Utf8PathBuf {
        self.cache_dir().join(format!("state-{}", self.pair()))
    }

    /// The names of tasks that a build is about to publish for the first time.
    pub fn pending_file(&self) -> Utf8PathBuf {
        self.cache_dir().join(format!("pending-{}", self.pair()))
    }

    /// The file that says where the tasks of the state are.
    pub fn where_file(&self) -> Utf8PathBuf {
        self.cache_dir().join(format!("{WHERE}{}", self.pair()))
    }

    /// A name for specs and where they are built: other specs that are built to the same place do not belong to these,
    /// and are not removed because these do not describe them.
    fn pair(&self) -> String {
        Digest::of(format!("{}\n{}", self.out, self.specs).as_bytes()).short()
    }

    /// Refuses an output folder that is no folder, and one among what outputs are made from.
    ///
    /// # Errors
    /// One of usage, with what to name instead.
    pub fn check_out(&self) -> Result<()> {
        let out = &self.out;
        let wrong = |what: String| Err(Error::new(what).hint("name another folder with `--out DIR`").usage());
        if fs::metadata(out).is_ok_and(|metadata| !metadata.is_dir()) {
            return wrong(format!("`{out}` is not a folder, so nothing can be built into it"));
        }
        let (real, root) = (resolved(out), resolved(&self.root));
        let taken = [
            (self.root.join(&self.specs), "the specs are"),
            (self.root.join(&self.templates), "the templates are"),
            (self.store_dir(), "the store is"),
        ];
        // Specs that lie at the root leave no other place in the workspace.
        let holds = |folder: Utf8PathBuf| folder != root && real.starts_with(folder);
        match taken.iter().find(|(folder, _)| holds(resolved(folder))) {
            Some((folder, what)) => wrong(format!("`{out}` is in `{folder}`, where {what}")),
            None => Ok(()),
        }
    }

    /// The folders from the root that builds write to.
    pub fn made(&self) -> Vec<Utf8PathBuf> {
        let specs = self.root.join(&self.specs);
        let made = [self.out.clone(), self.lost_dir(), self.cache_dir(), self.baked_dir(), self.images_dir()];
        // Tasks may be built among the sources, as far as those do not lie in one folder with them.
        let made = made.iter().filter(|folder| !specs.starts_with(folder));
        made.filter_map(|folder| folder.strip_prefix(&self.root).ok().map(Utf8Path::to_owned)).collect()
    }

    /// The lock that stands beside the specs.
    pub fn lock_file(&self) -> Utf8PathBuf {
        self.root.join(&self.specs).join("taskwright.lock")
    }

    /// Where what no build wrote is moved before an output that holds it goes.
    pub fn lost_dir(&self) -> Utf8PathBuf {
        Utf8PathBuf::from(format!("{}.lost", self.out))
    }

    /// Where tasks are written before they are moved to their place: on the same file system as their place.
    pub fn staging_dir(&self) -> Utf8PathBuf {
        self.out.join(".taskwright-staging")
    }
}

/// A path from a folder, without `..`, so that it shows whether it lies in it.
fn below(folder: &Utf8Path, path: &Utf8Path) -> Utf8PathBuf {
    path.components().fold(folder.to_owned(), |mut full, part| {
        match part {
            Utf8Component::ParentDir => {
                full.pop();
            }
            part => full.push(part),
        }
        full
    })
}

/// A path without links, as far as it exists.
pub fn resolved(path: &Utf8Path) -> Utf8PathBuf {
    let real = path.ancestors().find_map(|above| Some((above, above.canonicalize_utf8().ok()?)));
    match real {
        Some((above, real)) => real.join(path.strip_prefix(above).unwrap_or(Utf8Path::new(""))),
        None => path.to_owned(),
    }
}

/// Held by the one process that builds in a workspace.
#[derive(Debug)]
pub struct WorkspaceLock {
    _file: LockFile,
}

impl WorkspaceLock {
    /// Waits until no other process builds in the workspace.
    pub fn acquire(workspace: &Workspace, observer: &dyn Observer, stop: &AtomicBool) -> Result<Self> {
        let folder = workspace.cache_dir();
        fs::create_dir_all(&folder).map_err(failed("creating", &folder))?;
        let waiting = |holder: &str| observer.waiting(holder);
        let stop = || stop.load(Ordering::Relaxed);
        match LockFile::acquire(folder.join("lock"), &Wait::until(&waiting, &stop)).map_err(advised)? {
            Attempt::Held(file) => Ok(Self { _file: file }),
            Attempt::Busy(_) | Attempt::Stopped => Err(Error::interrupted()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The folders of the crates that a crate of this repository is made of, itself included.
    fn made_of(name: &str, found: &mut BTreeSet<String>) {
        if !found.insert(name.to_owned()) {
            return;
        }
        let manifest = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("Cargo.toml");
        let manifest: toml::Table = fs::read_to_string(&manifest).unwrap().parse().unwrap();
        let needs = ["dependencies", "build-dependencies"].into_iter().filter_map(|kind| manifest.get(kind));
        for package in needs.filter_map(toml::Value::as_table).flat_map(toml::Table::keys) {
            if let Some(other) = package.strip_prefix("taskwright-") {
                made_of(other, found);
            }
        }
    }

    #[test]
    fn a_file_says_where_the_parts_are() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap().join("inner");
        fs::create_dir_all(root.join("below")).unwrap();
        let text = "specs = \".\"\ncontrols = true\noutput = \"../made/tasks\"\nledger = \"results\"\nbinary = \"bin/tw\"\n";
        fs::write(root.join(file::FILE), text).unwrap();
        assert_eq!(Workspace::root_of(&root.join("below")).unwrap(), root);
        let workspace = Workspace::open(&root).unwrap();
        assert_eq!(workspace.specs, "");
        assert!(workspace.demands_controls);
        assert_eq!(workspace.out, root.with_file_name("made").join("tasks"));
        assert_eq!(workspace.ledger, root.join("results"));
        assert_eq!((workspace.jobs.as_str(), workspace.cache.as_str()), ("jobs", "target/taskwright"));
        assert!(matches!(workspace.binary, Binary::Prebuilt(path) if path == "bin/tw"));
        assert!(Workspace::root_of(Utf8Path::new("/")).unwrap_err().is_usage());
    }

    #[test]
    fn the_binary_is_rebuilt_when_any_crate_in_it_changes() {
        let mut crates = BTreeSet::new();
        made_of("sidecar", &mut crates);
        let expected: BTreeSet<Utf8PathBuf> = crates
            .iter()
            .flat_map(|name| [format!("crates/{name}/Cargo.toml"), format!("crates/{name}/src")])
            .chain(["Cargo.toml", "Cargo.lock", "rust-toolchain.toml"].map(str::to_owned))
            .map(Utf8PathBuf::from)
            .collect();
        assert_eq!(crate::compile::SOURCES.iter().map(Utf8PathBuf::from).collect::<BTreeSet<_>>(), expected);
    }

    #[test]
    fn the_crates_identity_counts_every_crate_that_it_is_made_of() {
        let mut crates = BTreeSet::new();
        made_of("builder", &mut crates);
        let script = include_str!("../build.rs");
        let listed = script.split_once("else { &[").and_then(|(_, rest)| rest.split_once(']')).unwrap().0;
        let listed: BTreeSet<String> = listed
            .split(", ")
            .map(|path| path.trim_matches('"').trim_end_matches("src").trim_matches(['.', '/']))
            .map(|name| if name.is_empty() { "builder".to_owned() } else { name.to_owned() })
            .collect();
        assert_eq!(listed, crates);
    }
}
