//! Inputs: the files a step read, remembered so that the next build can tell by `lstat` alone that nothing changed.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{AtFlags, Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::error::{failed, io_error};
use crate::store::Store;
use crate::tree::{Blob, Content, Entry, LARGE, Tree, refused};
use taskwright_base::Digest;
use taskwright_base::stamp::Stamp;
use taskwright_base::tree::{Fault, check_path};
use taskwright_base::{Error, Result};

/// How often a file that changes while it is read is read again.
const READS: usize = 3;

/// What one step read, as it was then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    inputs: Vec<Input>,
    /// Whether the step depends on something that no file shows, so that it must be asked again each time.
    volatile: bool,
}

/// One thing that was read. Paths are relative to the workspace root, or absolute outside of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Input {
    /// A file with its content.
    File { path: Utf8PathBuf, stat: Stamp, digest: Digest },
    /// A folder's list of names, or a link's target: a change of either moves its times.
    Stamp { path: Utf8PathBuf, stat: Stamp },
    /// Something that was looked for and not found.
    Absent { path: Utf8PathBuf },
}

impl Group {
    /// Whether everything is as it was, by looking and not by reading.
    pub fn is_unchanged(&self, root: &Utf8Path) -> bool {
        open_folder(&root.join(".")).is_ok_and(|root| self.is_unchanged_below(&root))
    }

    /// The same, from the root's descriptor: looking up many paths from there is cheaper.
    pub fn is_unchanged_below(&self, root: &OwnedFd) -> bool {
        let look = |path: &Utf8Path| rustix::fs::statat(root, path.as_std_path(), AtFlags::SYMLINK_NOFOLLOW);
        let is_still =
            |path: &Utf8Path, stat: &Stamp| look(path).is_ok_and(|now| stat.is_still(&Stamp::from(&now)));
        !self.volatile
            && self.inputs.iter().all(|input| match input {
                Input::File { path, stat, .. } | Input::Stamp { path, stat } => is_still(path, stat),
                Input::Absent { path } => look(path).is_err(),
            })
    }
}

/// A folder's descriptor, good for looking up what is in it.
pub fn open_folder(path: &Utf8Path) -> Result<OwnedFd> {
    // Not through a link: an output that became one is not what was written.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path.as_std_path(), flags, Mode::empty())
        .map_err(|error| io_error("opening", path, &error.into()))
}

/// The digests of files as they were last seen.
#[derive(Default)]
pub struct StatCache<'a> {
    /// By their paths as text, which is quicker to hash than a path's names one by one.
    files: HashMap<&'a str, (Stamp, Digest)>,
}

impl<'a> StatCache<'a> {
    /// The cache that some groups amount to.
    pub fn new(groups: impl IntoIterator<Item = &'a Group>) -> Self {
        let files = groups.into_iter().flat_map(|group| &group.inputs).filter_map(|input| match input {
            Input::File { path, stat, digest } => Some((path.as_str(), (*stat, *digest))),
            Input::Stamp { .. } | Input::Absent { .. } => None,
        });
        Self { files: files.collect() }
    }
}

/// Reads inputs and remembers what was read.
pub struct Recorder<'a> {
    root: &'a Utf8Path,
    cache: &'a StatCache<'a>,
    group: Group,
    /// Folders from the root that builds write to: nothing in them is an input.
    made: Vec<Utf8PathBuf>,
    /// Folders that were found to be in the workspace, whatever links lead there.
    inside: HashSet<Utf8PathBuf>,
}

/// What a folder holds under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    File,
    Folder,
    Symlink,
    /// A device, a socket or a pipe.
    Other,
}

impl<'a> Recorder<'a> {
    /// A recorder of what is read below a workspace root.
    pub fn new(root: &'a Utf8Path, cache: &'a StatCache<'a>) -> Self {
        Self { root, cache, group: Group::default(), made: Vec::new(), inside: HashSet::new() }
    }

    /// The same, which refuses what lies in folders that builds write to.
    pub fn avoiding(mut self, made: Vec<Utf8PathBuf>) -> Self {
        self.made = made;
        self
    }

    pub fn finish(self) -> Group {
        self.group
    }

    /// Says that the result depends on something that no file shows.
    pub fn set_volatile(&mut self) {
        self.group.volatile = true;
    }

    /// Where a path leads if it is a symbolic link, which is remembered as well; else the path itself.
    fn resolve(&mut self, path: &Utf8Path) -> Result<Utf8PathBuf> {
        // Outside of the workspace only git's own files are read.
        if path.is_absolute() {
            return Ok(path.to_owned());
        }
        self.refuse_made(path)?;
        if let Some(folder) = path.parent() {
            self.stay_inside(folder)?;
        }
        let full = self.root.join(path);
        if !fs::symlink_metadata(&full).is_ok_and(|metadata| metadata.is_symlink()) {
            return Ok(path.to_owned());
        }
        self.link(path)?;
        let real = full.canonicalize_utf8().map_err(|error| missing(path, &error))?;
        let real = self.below_root(&real)?.ok_or_else(|| leads_out(path))?;
        self.refuse_made(&real)?;
        Ok(real)
    }

    /// Refuses a folder that a link, itself or above it, leads out of the workspace to; links that do not are remembered.
    pub fn stay_inside(&mut self, folder: &Utf8Path) -> Result<()> {
        if folder.as_str().is_empty() || !self.inside.insert(folder.to_owned()) {
            return Ok(());
        }
        // What is not there is said by whoever reads it.
        let Ok(real) = self.root.join(folder).canonicalize_utf8() else { return Ok(()) };
        let is_plain = self.below_root(&real)?.is_some_and(|real| real == folder);
        if is_plain {
            return Ok(());
        }
        let mut above: Vec<_> = folder.ancestors().filter(|above| !above.as_str().is_empty()).collect();
        above.reverse();
        for above in above {
            let full = self.root.join(above);
            if fs::symlink_metadata(&full).is_ok_and(|metadata| metadata.is_symlink()) {
                let real = full.canonicalize_utf8().map_err(|error| missing(above, &error))?;
                let real = self.below_root(&real)?.ok_or_else(|| leads_out(above))?;
                self.refuse_made(&real)?;
                self.link(above)?;
            }
        }
        Ok(())
    }

    /// A path without links from the workspace's root; none if it is not in it.
    fn below_root(&self, real: &Utf8Path) -> Result<Option<Utf8PathBuf>> {
        let root = self.root.canonicalize_utf8().map_err(failed("resolving", self.root))?;
        Ok(real.strip_prefix(root).ok().map(Utf8Path::to_owned))
    }

    /// What a build made differs from one build to the next, and may hold the very thing that is being built.
    fn refuse_made(&self, path: &Utf8Path) -> Result<()> {
        match self.made.iter().find(|made| path.starts_with(made)) {
            Some(made) => Err(Error::new(format!("`{path}` is in `{made}`, which builds write to"))
                .hint("an input has to be the same for everybody: copy it to a place among the sources")),
            None => Ok(()),
        }
    }

    /// What stands at a path, a symbolic link counting as what it leads to; nothing is remembered if something is there.
    pub fn kind_behind(&mut self, path: &Utf8Path) -> Result<Option<Kind>> {
        match self.kind(path)? {
            Some(Kind::Symlink) => {
                let real = self.resolve(path)?;
                self.kind(&real)
            }
            kind => Ok(kind),
        }
    }

    /// What stands at a path, or nothing; the latter is remembered.
    pub fn kind(&mut self, path: &Utf8Path) -> Result<Option<Kind>> {
        let full = self.root.join(path);
        match fs::symlink_metadata(&full) {
            Ok(metadata) => Ok(Some(kind_of(&metadata))),
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                self.group.inputs.push(Input::Absent { path: path.to_owned() });
                Ok(None)
            }
            Err(error) => Err(io_error("looking at", path, &error)),
        }
    }

    /// The digest of a file, read only if it may have changed.
    pub fn digest(&mut self, path: &Utf8Path) -> Result<Blob> {
        let path = &self.resolve(path)?;
        if let Some(blob) = self.known(path)? {
            return Ok(blob);
        }
        self.stable(
            path,
            |file| Digest::of_reader(file).map_err(failed("reading", path)),
            |(digest, size)| Blob { digest: *digest, size: *size },
        )
        .map(|(digest, size)| Blob { digest, size })
    }

    /// The digest of a file that has not changed since it was last read.
    pub fn known(&mut self, path: &Utf8Path) -> Result<Option<Blob>> {
        let Some((remembered, digest)) = self.cache.files.get(path.as_str()) else { return Ok(None) };
        let full = self.root.join(path);
        let now = Stamp::of(&fs::symlink_metadata(&full).map_err(failed("looking at", path))?);
        if !remembered.is_still(&now) {
            return Ok(None);
        }
        self.group.inputs.push(Input::File { path: path.to_owned(), stat: now, digest: *digest });
        Ok(Some(Blob { digest: *digest, size: now.size() }))
    }

    /// Reads a small file whole.
    pub fn bytes(&mut self, path: &Utf8Path) -> Result<Vec<u8>> {
        let read = |file: &mut File| {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(failed("reading", path))?;
            Ok(bytes)
        };
        self.stable(path, read, |bytes| Blob { digest: Digest::of(bytes), size: bytes.len() as u64 })
    }

    /// Reads a small text file whole.
    pub fn text(&mut self, path: &Utf8Path) -> Result<String> {
        String::from_utf8(self.bytes(path)?).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Error::new(format!("`{path}` is not UTF-8 at byte {at}")).hint("save it as UTF-8")
        })
    }

    /// Reads a file as a stream, again from the start if it changes meanwhile, and remembers it.
    pub fn stable<T>(
        &mut self,
        path: &Utf8Path,
        mut read: impl FnMut(&mut File) -> Result<T>,
        blob: impl Fn(&T) -> Blob,
    ) -> Result<T> {
        let real = self.resolve(path)?;
        let full = self.root.join(&real);
        for _ in 0..READS {
            // Not blocking: a pipe in the place of a file would wait for somebody who writes to it.
            let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
            let mut file = OpenOptions::new()
                .read(true)
                .custom_flags(flags)
                .open(&full)
                .map_err(|error| missing(path, &error))?;
            let now = SystemTime::now();
            let before = file.metadata().map_err(failed("looking at", path))?;
            if !before.is_file() {
                return Err(Error::new(format!("`{path}` is not a file")));
            }
            let result = read(&mut file)?;
            let after = file.metadata().map_err(failed("looking at", path))?;
            let stat = Stamp::of(&before);
            if stat == Stamp::of(&after) {
                let digest = blob(&result).digest;
                self.group.inputs.push(Input::File { path: real, stat: stat.settled(now), digest });
                return Ok(result);
            }
        }
        Err(Error::new(format!("`{path}` changes while it is read"))
            .hint("stop whatever writes to it, and build again"))
    }

    /// Remembers a symbolic link itself.
    pub fn link(&mut self, path: &Utf8Path) -> Result<()> {
        let now = SystemTime::now();
        let metadata = fs::symlink_metadata(self.root.join(path)).map_err(failed("looking at", path))?;
        self.group
            .inputs
            .push(Input::Stamp { path: path.to_owned(), stat: Stamp::of(&metadata).settled(now) });
        Ok(())
    }

    /// The names in a folder, sorted by their bytes.
    pub fn folder(&mut self, path: &Utf8Path) -> Result<Vec<(String, Kind)>> {
        let path = &self.resolve(path)?;
        let full = self.root.join(path);
        let now = SystemTime::now();
        let metadata = fs::metadata(&full).map_err(|error| missing(path, &error))?;
        if !metadata.is_dir() {
            return Err(Error::new(format!("`{path}` is not a folder")));
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(&full).map_err(failed("reading", path))? {
            let entry = entry.map_err(failed("reading", path))?;
            let name = entry.file_name().into_string().map_err(|name| {
                Error::new(format!("`{path}` holds a name that is not UTF-8: {}", name.to_string_lossy()))
                    .hint("rename it")
            })?;
            let metadata = entry.metadata().map_err(failed("looking at", path))?;
            names.push((name, kind_of(&metadata)));
        }
        self.group
            .inputs
            .push(Input::Stamp { path: path.to_owned(), stat: Stamp::of(&metadata).settled(now) });
        names.sort();
        Ok(names)
    }

    /// A file, or all files below a folder, as a tree. Large ones go into the store.
    pub fn tree(&mut self, path: &Utf8Path, store: &Store) -> Result<Tree> {
        // Before a gigabyte of it is read.
        if let Some(made) = self
            .made
            .iter()
            .find(|made| *made != path && made.starts_with(path) && self.root.join(made).exists())
        {
            return Err(Error::new(format!("`{path}` holds `{made}`, which builds write to"))
                .hint("an input has to be the same for everybody: name the folder below it that is meant"));
        }
        let mut tree = Tree::default();
        match self.kind_behind(path)? {
            None => return Err(absent(path)),
            Some(Kind::Other) => return Err(not_buildable(path)),
            Some(Kind::Folder) => self.descend(path, "", store, &mut tree)?,
            Some(_) => {
                let name = path.file_name().unwrap_or("file").to_owned();
                tree.insert(name, self.entry(path, store)?);
            }
        }
        Ok(tree)
    }

    fn descend(&mut self, folder: &Utf8Path, inside: &str, store: &Store, tree: &mut Tree) -> Result<()> {
        for (name, kind) in self.folder(folder)? {
            let path = folder.join(&name);
            let member = if inside.is_empty() { name } else { format!("{inside}/{name}") };
            check_path(&member).map_err(|fault| refused(&format!("`{folder}`"), &member, fault))?;
            if is_litter(&member) {
                continue;
            }
            match kind {
                Kind::Folder => self.descend(&path, &member, store, tree)?,
                Kind::Symlink => tree.insert(member, self.symlink(&path)?),
                Kind::Other => return Err(not_buildable(&path)),
                Kind::File => {
                    let entry = self.entry(&path, store)?;
                    tree.insert(member, entry);
                }
            }
        }
        Ok(())
    }

    /// A symbolic link as an entry of a tree; the folder that holds it is remembered by whoever lists it.
    pub fn symlink(&self, path: &Utf8Path) -> Result<Entry> {
        let target = fs::read_link(self.root.join(path)).map_err(failed("reading the link", path))?;
        match target.into_os_string().into_string() {
            Ok(target) => Ok(Entry::Symlink { target }),
            Err(_) => Err(Error::new(format!("the symbolic link `{path}` has a target that is not UTF-8"))
                .hint(Fault::LinkNotText.hint())),
        }
    }

    /// A file as an entry of a tree.
    pub fn entry(&mut self, path: &Utf8Path, store: &Store) -> Result<Entry> {
        let path = &self.resolve(path)?;
        let full = self.root.join(path);
        let metadata = fs::metadata(&full).map_err(|error| missing(path, &error))?;
        let executable = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o100 != 0;
        let content = if metadata.len() < LARGE {
            Content::bytes(self.bytes(path)?)
        } else {
            let known = self.known(path)?.filter(|blob| store.holds(*blob));
            Content::Blob(match known {
                Some(blob) => blob,
                None => self.stable(path, |_| store.add_file(&full), |blob| *blob)?,
            })
        };
        Ok(Entry::File { content, executable })
    }
}

/// What tools leave behind beside sources. It is no part of any input: taking it would make a build depend on who ran
/// a test before, and Harbor leaves it out of its digest.
fn is_litter(member: &str) -> bool {
    taskwright_harbor::digest::is_ignored_by_default(member)
}

fn kind_of(metadata: &fs::Metadata) -> Kind {
    let kind = metadata.file_type();
    if kind.is_dir() {
        Kind::Folder
    } else if kind.is_file() {
        Kind::File
    } else if kind.is_symlink() {
        Kind::Symlink
    } else {
        Kind::Other
    }
}

fn not_buildable(path: &Utf8Path) -> Error {
    Error::new(format!("`{path}` is neither a file, a folder nor a symbolic link"))
        .hint("remove it: devices, sockets and pipes cannot be built into a task")
}

fn leads_out(path: &Utf8Path) -> Error {
    Error::new(format!("`{path}` is a symbolic link that leads out of the workspace"))
        .hint("copy what it leads to into the workspace: a clone elsewhere would not have it")
}

fn absent(path: &Utf8Path) -> Error {
    Error::new(format!("`{path}` does not exist")).hint("make it, or correct the path")
}

fn missing(path: &Utf8Path, error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::NotFound => absent(path),
        _ => io_error("reading", path, error),
    }
}
