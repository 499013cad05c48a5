//! Where a workspace keeps its specs, its templates and what is built, and the lock that one build at a time holds.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use crate::digest::Digest;
use crate::error::{BuildError, Result, failed};
use crate::observe::Observer;

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
    /// How many bytes the store may hold beyond what is needed.
    pub store_limit: u64,
    /// Where the `taskwright` binary comes from.
    pub binary: Binary,
}

/// Where the `taskwright` binary comes from.
#[derive(Debug, Clone)]
pub enum Binary {
    /// A file that is there.
    Prebuilt(Utf8PathBuf),
    /// A package of this workspace, built statically with cargo.
    Package {
        /// The package's name.
        name: String,
        /// The files and folders it is made of, from the root.
        sources: Vec<Utf8PathBuf>,
    },
}

impl Workspace {
    /// The workspace in a folder, with everything where DESIGN puts it.
    pub fn new(root: impl Into<Utf8PathBuf>) -> Self {
        let root = root.into();
        Self {
            out: root.join("target/harbor-tasks"),
            root,
            specs: "harbor-tasks".into(),
            templates: "templates".into(),
            cache: "target/taskwright".into(),
            store_limit: 4 * 1024 * 1024 * 1024,
            binary: Binary::Package {
                name: "taskwright-sidecar".to_owned(),
                sources: [
                    "crates/sidecar/Cargo.toml",
                    "crates/sidecar/src",
                    "crates/eval/Cargo.toml",
                    "crates/eval/src",
                    "crates/language/Cargo.toml",
                    "crates/language/src",
                    "crates/harbor/Cargo.toml",
                    "crates/harbor/src",
                    "Cargo.toml",
                    "Cargo.lock",
                    "rust-toolchain.toml",
                ]
                .map(Utf8PathBuf::from)
                .to_vec(),
            },
        }
    }

    /// Where the store and the state are.
    pub fn cache_dir(&self) -> Utf8PathBuf {
        self.root.join(&self.cache)
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
        let wrong =
            |what: String| Err(BuildError::new(what).hint("name another folder with `--out DIR`").usage());
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

    /// The lock that stands beside the specs.
    pub fn lock_file(&self) -> Utf8PathBuf {
        self.root.join(&self.specs).join("taskwright.lock")
    }

    /// Where tasks are written before they are moved to their place: on the same file system as their place.
    pub fn staging_dir(&self) -> Utf8PathBuf {
        self.out.join(".taskwright-staging")
    }
}

/// A path without links, as far as it exists.
fn resolved(path: &Utf8Path) -> Utf8PathBuf {
    let real = path.ancestors().find_map(|above| Some((above, above.canonicalize_utf8().ok()?)));
    match real {
        Some((above, real)) => real.join(path.strip_prefix(above).unwrap_or(Utf8Path::new(""))),
        None => path.to_owned(),
    }
}

/// How often a build that waits for another one looks whether it is done.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// Held by the one process that builds in a workspace. The kernel lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub struct WorkspaceLock {
    _file: File,
}

impl WorkspaceLock {
    /// Waits until no other process builds in the workspace.
    pub fn acquire(workspace: &Workspace, observer: &dyn Observer, stop: &AtomicBool) -> Result<Self> {
        let folder = workspace.cache_dir();
        fs::create_dir_all(&folder).map_err(failed("creating", &folder))?;
        let path = folder.join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed("opening", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                observer.waiting(holder.trim());
                // Asking again, and not waiting in the kernel, leaves time to hear a request to stop.
                while let Err(error) = file.try_lock() {
                    if let TryLockError::Error(error) = error {
                        return Err(BuildError::io("locking", &path, &error));
                    }
                    if stop.load(Ordering::Relaxed) {
                        return Err(BuildError::interrupted());
                    }
                    std::thread::sleep(ASK_AGAIN);
                }
            }
            Err(TryLockError::Error(error)) => return Err(BuildError::io("locking", &path, &error)),
        }
        // Only words for whoever waits: a disk that is full must not keep a build from saying so properly.
        let _ = file.set_len(0);
        let _ = file.rewind();
        let _ = write!(file, "process {}", std::process::id());
        Ok(Self { _file: file })
    }
}

/// Writes a file whole or not at all: beside its place first, then by a rename.
pub fn replace(path: &Utf8Path, bytes: &[u8]) -> Result<()> {
    replace_with(path, |out| out.write_all(bytes))
}

/// The same for a file that is written piece by piece.
pub fn replace_with(path: &Utf8Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let folder = path.parent().unwrap_or(Utf8Path::new("."));
    fs::create_dir_all(folder).map_err(failed("creating", folder))?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed("creating a file in", folder))?;
    let mut out = BufWriter::with_capacity(256 * 1024, &mut file);
    write(&mut out).and_then(|()| out.flush()).map_err(failed("writing", path))?;
    drop(out);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(mode).map_err(failed("protecting", path))?;
    file.persist(path).map_err(|error| BuildError::io("renaming to", path, &error.error))?;
    Ok(())
}
