//! Publication: a task is written beside its place and swapped in by one rename, and later looked at to see whether it
//! is still what was written.
//!
//! ```text
//!  stage ──▶ STAGING/NAME.0 ──exchange──▶ OUT/NAME   (what stood there is at STAGING/NAME.0 now)
//!                 │                            ▲
//!                 │ where directories cannot   │
//!                 │ be exchanged               │
//!                 └─ OUT/NAME ─▶ STAGING/NAME.old, STAGING/NAME.0 ─▶ OUT/NAME
//!
//!  finish ──▶ STAGING is removed
//! ```
//!
//! What no build wrote is moved away before ([`crate::lost`]): neither the exchange nor the removal takes it along.
//!
//! A build that is killed leaves the old output before the rename and the new one after it. Between the two moves it
//! leaves none in its place: `prepare` of the next build puts `NAME.old` back, and sweeps everything else in STAGING.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{AtFlags, CWD, RenameFlags};
use serde::{Deserialize, Serialize};

use crate::error::{failed, io_error};
use crate::store::{Placed, Store, create};
use crate::tree::{Content, Entry, LARGE, Tree};
use taskwright_base::Digest;
use taskwright_base::stamp::Stamp;
use taskwright_base::{Error, Result};

/// The key of Taskwright's part of a task's metadata, by which an output is known to be one.
pub const MARK: &str = "taskwright";

/// Ends the name of an output that was moved aside where directories cannot be exchanged.
const ASIDE: &str = ".old";

/// What was written for one task.
pub type Outputs = OutputsOf<String>;

/// The same, borrowed from where it is encoded.
pub type OutputsView<'a> = OutputsOf<&'a str>;

/// What was written for one task, with paths held one way or the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputsOf<Path> {
    /// The digest of the whole tree.
    pub tree: Option<Digest>,
    folders: Vec<(Path, Stamp)>,
    files: Vec<Output<Path>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Output<Path> {
    path: Path,
    stat: Stamp,
    digest: Digest,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    Plain,
    Executable,
    /// A hard link into the store, whose change time moves when another task links it too.
    Linked,
    LinkedExecutable,
    Symlink,
}

impl<Path: AsRef<str>> OutputsOf<Path> {
    /// Whether everything looks as it was written, by looking and not by reading.
    pub fn is_untouched(&self, folder: &Utf8Path) -> bool {
        let Ok(root) = crate::inputs::open_folder(folder) else { return false };
        let stat = |path: &str| {
            let path = if path.is_empty() { "." } else { path };
            rustix::fs::statat(&root, path, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| Stamp::from(&stat))
        };
        self.folders.iter().all(|(path, was)| stat(path.as_ref()).is_some_and(|now| was.is_still(&now)))
            && self.files.iter().all(|file| {
                stat(file.path.as_ref()).is_some_and(|now| match file.kind {
                    Kind::Linked | Kind::LinkedExecutable => file.stat.is_still_linked(&now),
                    Kind::Plain | Kind::Executable | Kind::Symlink => file.stat.is_still(&now),
                })
            })
    }
}

impl Outputs {
    fn of(tree: &Tree) -> Self {
        Self { tree: Some(tree.digest()), folders: Vec::new(), files: Vec::new() }
    }

    /// Reads every byte and says what is not as it was written; nothing if all is.
    pub fn damage(&self, folder: &Utf8Path) -> Vec<String> {
        self.findings(folder).iter().map(ToString::to_string).collect()
    }

    /// What stands in a folder and no build wrote: files that were added or edited, and what took the place of one. Where a
    /// whole folder is foreign it alone is named; the task's own folder is the empty path.
    pub fn foreign(&self, folder: &Utf8Path) -> Vec<String> {
        let foreign = self.findings(folder).into_iter().filter(|finding| match finding.what {
            Wrong::Edited | Wrong::Replaced(_) | Wrong::Unreadable(_) => true,
            Wrong::Added => !is_empty_folder(&folder.join(&finding.path)),
            Wrong::Permissions | Wrong::Missing => false,
        });
        let mut topmost: Vec<String> = Vec::new();
        for Finding { path, .. } in foreign {
            let is_in =
                |above: &String| path.strip_prefix(above.as_str()).is_some_and(|rest| rest.starts_with('/'));
            if !topmost.iter().any(is_in) {
                topmost.push(path);
            }
        }
        topmost
    }

    fn findings(&self, folder: &Utf8Path) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut found = |path: &str, what| findings.push(Finding { path: path.to_owned(), what });
        let mut expected: BTreeSet<&str> = self.folders.iter().map(|(path, _)| path.as_str()).collect();
        for (path, was) in &self.folders {
            match fs::symlink_metadata(below(folder, path)) {
                Ok(metadata) if metadata.is_dir() => {
                    if Stamp::of(&metadata).mode() != was.mode() {
                        found(path, Wrong::Permissions);
                    }
                }
                // Behind a link stands something else, and nothing below a folder that is not there is news.
                Ok(_) if path.is_empty() => {
                    return vec![Finding { path: String::new(), what: Wrong::Replaced("folder") }];
                }
                Err(_) if path.is_empty() => {
                    return vec![Finding { path: String::new(), what: Wrong::Missing }];
                }
                Ok(_) => found(path, Wrong::Replaced("folder")),
                Err(_) => found(path, Wrong::Missing),
            }
        }
        for file in &self.files {
            expected.insert(&file.path);
            let full = folder.join(&file.path);
            match digest_of(&full, file.kind) {
                Ok(digest) if digest == file.digest => {
                    if fs::symlink_metadata(&full).is_ok_and(|now| Stamp::of(&now).mode() != file.stat.mode())
                    {
                        found(&file.path, Wrong::Permissions);
                    }
                }
                Ok(_) => found(&file.path, Wrong::Edited),
                Err(wrong) => found(&file.path, wrong),
            }
        }
        for entry in walkdir::WalkDir::new(folder).min_depth(1).sort_by_file_name().into_iter().flatten() {
            let path =
                entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_string_lossy().into_owned();
            if !expected.contains(path.as_str()) {
                findings.push(Finding { path, what: Wrong::Added });
            }
        }
        findings
    }

    /// The same outputs with what the file system says of them now, after their content was found to be right.
    pub fn looked_at_again(&self, folder: &Utf8Path) -> Result<Self> {
        let now = |path: &str| {
            let full = below(folder, path);
            fs::symlink_metadata(&full)
                .map(|metadata| Stamp::of(&metadata))
                .map_err(failed("looking at", &full))
        };
        let folders =
            self.folders.iter().map(|(path, _)| Ok((path.clone(), now(path)?))).collect::<Result<_>>()?;
        let files = self
            .files
            .iter()
            .map(|file| Ok(Output { stat: now(&file.path)?, ..file.clone() }))
            .collect::<Result<_>>()?;
        Ok(Self { tree: self.tree, folders, files })
    }

    /// The outputs as they may be remembered by a state that is saved at `now`.
    #[must_use]
    pub fn settled(mut self, now: SystemTime) -> Self {
        self.folders.iter_mut().for_each(|(_, stat)| *stat = stat.settled(now));
        self.files.iter_mut().for_each(|file| file.stat = file.stat.settled(now));
        self
    }

    /// The content of every file that may be a link into the store.
    pub fn linked(&self) -> impl Iterator<Item = Digest> {
        self.files.iter().filter(|file| file.stat.size() >= LARGE).map(|file| file.digest)
    }
}

/// Something in an output's folder that is not as it was written.
struct Finding {
    /// From the task's folder, which is itself the empty path.
    path: String,
    what: Wrong,
}

/// What is wrong with a file or a folder of an output.
enum Wrong {
    Permissions,
    Missing,
    Edited,
    Added,
    /// Something of another kind stands there: this is what stood there.
    Replaced(&'static str),
    Unreadable(String),
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => formatter.write_str("the task's folder ")?,
            path => write!(formatter, "`{path}` ")?,
        }
        match &self.what {
            Wrong::Permissions => formatter.write_str("had its permissions changed"),
            Wrong::Missing => formatter.write_str("is missing"),
            Wrong::Edited => formatter.write_str("was edited"),
            Wrong::Added => formatter.write_str("was added"),
            Wrong::Replaced(what) => write!(formatter, "is no {what} any more"),
            Wrong::Unreadable(why) => write!(formatter, "cannot be read: {why}"),
        }
    }
}

/// The digest of what stands at a path if it is of the right kind; else what is wrong.
fn digest_of(path: &Utf8Path, kind: Kind) -> std::result::Result<Digest, Wrong> {
    let metadata = fs::symlink_metadata(path).map_err(|_| Wrong::Missing)?;
    let unreadable = |error: std::io::Error| Wrong::Unreadable(error.to_string());
    if kind == Kind::Symlink {
        let target = fs::read_link(path).map_err(|_| Wrong::Replaced("symbolic link"))?;
        return Ok(Digest::of(target.as_os_str().as_encoded_bytes()));
    }
    if !metadata.is_file() {
        return Err(Wrong::Replaced("file"));
    }
    let mut file = File::open(path).map_err(unreadable)?;
    Digest::of_reader(&mut file).map(|(digest, _)| digest).map_err(unreadable)
}

/// Whether a folder holds no file, however deep: nobody's loss.
fn is_empty_folder(path: &Utf8Path) -> bool {
    walkdir::WalkDir::new(path).into_iter().all(|entry| entry.is_ok_and(|entry| entry.file_type().is_dir()))
}

/// Puts tasks into an output folder.
pub struct Publisher<'a> {
    out: &'a Utf8Path,
    staging: Utf8PathBuf,
    store: &'a Store,
    next: AtomicU64,
}

/// A task that is written beside its place.
pub struct Staged {
    folder: Utf8PathBuf,
    outputs: Outputs,
}

impl<'a> Publisher<'a> {
    /// A publisher into a folder.
    pub fn new(out: &'a Utf8Path, staging: Utf8PathBuf, store: &'a Store) -> Self {
        Self { out, staging, store, next: AtomicU64::new(0) }
    }

    /// Makes the folder if need be. What a killed build left beside outputs is put back or swept.
    pub fn prepare(&self) -> Result<()> {
        fs::create_dir_all(self.out).map_err(failed("creating", self.out))?;
        self.recover()
    }

    /// Where exchanging two directories is not possible, a build can be killed between moving the old output aside and
    /// moving the new one in: then the old one goes back.
    fn recover(&self) -> Result<()> {
        let Ok(entries) = fs::read_dir(&self.staging) else { return Ok(()) };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(task) = name.strip_suffix(ASIDE) {
                let place = self.out.join(task);
                if !stands(&place) {
                    fs::rename(entry.path(), &place).map_err(failed("putting back", &place))?;
                }
            }
        }
        remove_tree(&self.staging)
    }

    /// Refuses to put a task in the place of something that no build made. Only asked where none is remembered.
    pub fn refuse_strangers(&self, name: &str) -> Result<()> {
        let place = self.out.join(name);
        // An empty folder is nobody's loss.
        let is_empty = fs::read_dir(&place).is_ok_and(|mut entries| entries.next().is_none());
        if !stands(&place) || is_output(&place) || (is_empty && !place.is_symlink()) {
            return Ok(());
        }
        Err(Error::new(format!("`{place}` is in the way: no build made what is there"))
            .hint("move it away, or build to another place with `--out DIR`"))
    }

    /// Writes a task beside its place.
    pub fn stage(&self, name: &str, tree: &Tree) -> Result<Staged> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let folder = self.staging.join(format!("{name}.{number}"));
        let mut staged = Staged { folder: folder.clone(), outputs: Outputs::of(tree) };
        self.write(tree, &folder, &mut staged.outputs)?;
        Ok(staged)
    }

    fn write(&self, tree: &Tree, folder: &Utf8Path, outputs: &mut Outputs) -> Result<()> {
        let mut folders = BTreeSet::from([""]);
        fs::create_dir_all(folder).map_err(failed("creating", folder))?;
        set_folder_mode(folder)?;
        for (path, entry) in tree.iter() {
            for (index, _) in path.match_indices('/') {
                if folders.insert(&path[..index]) {
                    let new = folder.join(&path[..index]);
                    fs::create_dir(&new).map_err(failed("creating", &new))?;
                    set_folder_mode(&new)?;
                }
            }
            outputs.files.push(self.write_entry(path, entry, &folder.join(path))?);
        }
        // Only now: each file made in a folder moved its times.
        for path in folders {
            let full = folder.join(path);
            let metadata = fs::symlink_metadata(&full).map_err(failed("looking at", &full))?;
            outputs.folders.push((path.to_owned(), Stamp::of(&metadata)));
        }
        Ok(())
    }

    fn write_entry(&self, path: &str, entry: &Entry, full: &Utf8Path) -> Result<Output<String>> {
        let output = |stat, kind| Output { path: path.to_owned(), stat, digest: entry.digest(), kind };
        let look = |full: &Utf8Path| {
            fs::symlink_metadata(full)
                .map(|metadata| Stamp::of(&metadata))
                .map_err(failed("looking at", full))
        };
        match entry {
            Entry::Symlink { target } => {
                std::os::unix::fs::symlink(target, full).map_err(failed("linking", full))?;
                Ok(output(look(full)?, Kind::Symlink))
            }
            Entry::File { content: Content::Blob(blob), executable } => {
                let placed = self.store.place(*blob, *executable, full)?;
                let kind = match (placed, executable) {
                    (Placed::Linked, false) => Kind::Linked,
                    (Placed::Linked, true) => Kind::LinkedExecutable,
                    (Placed::Copied, false) => Kind::Plain,
                    (Placed::Copied, true) => Kind::Executable,
                };
                Ok(output(look(full)?, kind))
            }
            Entry::File { content: Content::Bytes(bytes, _), executable } => {
                let kind = if *executable { Kind::Executable } else { Kind::Plain };
                let mode = if *executable { 0o755 } else { 0o644 };
                let mut file = create(full, mode)?;
                file.write_all(bytes).map_err(failed("writing", full))?;
                let mut metadata = file.metadata().map_err(failed("looking at", full))?;
                if metadata.mode() & 0o7777 != mode {
                    file.set_permissions(Permissions::from_mode(mode)).map_err(failed("protecting", full))?;
                    metadata = file.metadata().map_err(failed("looking at", full))?;
                }
                Ok(output(Stamp::of(&metadata), kind))
            }
        }
    }

    /// Moves a staged task to its place by one rename. Until then the old output stands whole.
    pub fn publish(&self, name: &str, staged: Staged) -> Result<Outputs> {
        let place = self.out.join(name);
        let swapped = rustix::fs::renameat_with(
            CWD,
            staged.folder.as_std_path(),
            CWD,
            place.as_std_path(),
            if stands(&place) { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE },
        );
        if let Err(error) = swapped {
            match error {
                rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP => {
                    self.replace_in_two_moves(name, &staged.folder, &place)?;
                }
                error => return Err(io_error("renaming to", &place, &error.into())),
            }
        }
        let mut outputs = staged.outputs;
        // Being renamed moved the top folder's change time.
        if let Some((_, stat)) = outputs.folders.first_mut() {
            *stat = Stamp::of(&fs::symlink_metadata(&place).map_err(failed("looking at", &place))?);
        }
        Ok(outputs)
    }

    fn replace_in_two_moves(&self, name: &str, staged: &Utf8Path, place: &Utf8Path) -> Result<()> {
        let aside = self.staging.join(format!("{name}{ASIDE}"));
        if stands(place) {
            fs::rename(place, &aside).map_err(failed("moving aside", place))?;
        }
        fs::rename(staged, place).map_err(|error| {
            let _ = fs::rename(&aside, place);
            io_error("renaming to", place, &error)
        })
    }

    pub fn remove(&self, name: &str) -> Result<()> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        fs::create_dir_all(&self.staging).map_err(failed("creating", &self.staging))?;
        let away = self.staging.join(format!("{name}.{number}"));
        match fs::rename(self.out.join(name), &away) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(io_error("removing", self.out.join(name), &error))
            }
            _ => Ok(()),
        }
    }

    /// The outputs that stand in a task's place, if they are exactly a tree.
    pub fn adopt(&self, name: &str, tree: &Tree) -> Option<Outputs> {
        let folder = self.out.join(name);
        let mut folders = BTreeSet::from([String::new()]);
        let mut outputs = Outputs::of(tree);
        for (path, entry) in tree.iter() {
            folders.extend(path.match_indices('/').map(|(index, _)| path[..index].to_owned()));
            let full = folder.join(path);
            let metadata = fs::symlink_metadata(&full).ok()?;
            let kind = kind_as_written(entry, &metadata)?;
            if digest_of(&full, kind).ok()? != entry.digest() {
                return None;
            }
            outputs.files.push(Output {
                path: path.to_owned(),
                stat: Stamp::of(&metadata),
                digest: entry.digest(),
                kind,
            });
        }
        for path in folders {
            let metadata = fs::symlink_metadata(below(&folder, &path)).ok()?;
            if !metadata.is_dir() || metadata.mode() & 0o7777 != 0o755 {
                return None;
            }
            outputs.folders.push((path, Stamp::of(&metadata)));
        }
        outputs.damage(&folder).is_empty().then_some(outputs)
    }

    /// Sweeps everything that was written beside outputs.
    pub fn finish(&self) -> Result<()> {
        remove_tree(&self.staging)
    }
}

/// The kind that a file on disk has, if it is one that writing this entry could have given it.
fn kind_as_written(entry: &Entry, metadata: &fs::Metadata) -> Option<Kind> {
    let mode = metadata.mode() & 0o7777;
    match entry {
        Entry::Symlink { .. } => metadata.is_symlink().then_some(Kind::Symlink),
        Entry::File { content, executable } => {
            let large = matches!(content, Content::Blob(_));
            let (plain, kind) = match (large, executable) {
                (false, false) => (0o644, Kind::Plain),
                (false, true) => (0o755, Kind::Executable),
                (true, false) => (0o444, if metadata.nlink() > 1 { Kind::Linked } else { Kind::Plain }),
                (true, true) => {
                    (0o555, if metadata.nlink() > 1 { Kind::LinkedExecutable } else { Kind::Executable })
                }
            };
            (metadata.is_file() && mode == plain).then_some(kind)
        }
    }
}

/// A path in a folder; the folder itself without the slash that would lead through a link in its place.
fn below(folder: &Utf8Path, path: &str) -> Utf8PathBuf {
    if path.is_empty() { folder.to_owned() } else { folder.join(path) }
}

/// Whether a task that Taskwright made stands in a place: its task.toml says so.
pub fn is_output(place: &Utf8Path) -> bool {
    let text = || fs::read_to_string(place.join("task.toml")).ok();
    let is_marked = |text: String| {
        let task = text.parse::<toml::Table>().ok();
        task.is_some_and(|task| task.get("metadata").is_some_and(|metadata| metadata.get(MARK).is_some()))
    };
    !place.is_symlink() && text().is_some_and(is_marked)
}

/// Whether anything stands at a path, be it a link to nothing.
pub fn stands(path: &Utf8Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Folders are 755 whatever the umask: a container's users must be able to read them.
fn set_folder_mode(path: &Utf8Path) -> Result<()> {
    let metadata = fs::symlink_metadata(path).map_err(failed("looking at", path))?;
    if metadata.mode() & 0o7777 == 0o755 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(0o755)).map_err(failed("protecting", path))
}

/// Removes a file, if it is there.
pub fn remove_file(path: &Utf8Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_error("removing", path, &error)),
        _ => Ok(()),
    }
}

/// Removes a folder with everything in it, if it is there.
pub fn remove_tree(path: &Utf8Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_error("removing", path, &error)),
        _ => Ok(()),
    }
}
