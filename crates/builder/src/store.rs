//! The content-addressed store: bytes under their digest, and the results of steps under their fingerprint.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{failed, io_error};
use crate::key::Key;
use crate::tree::{Blob, Content, LARGE};
use taskwright_base::digest::{Digest, Hasher};
use taskwright_base::{Error, Result};

/// Every blob carries this modification time. Outputs can be hard links to blobs, and an edit in place moves the time:
/// a blob with another one has been written to since and is not trusted.
const UNTOUCHED: Duration = Duration::from_secs(1_000_000_000);

/// A content-addressed store in a folder.
pub struct Store {
    root: Utf8PathBuf,
    next: AtomicU64,
    added: AtomicU64,
    /// Whether the file system may be able to share blocks between files; one refusal settles it.
    clones: AtomicBool,
}

/// How a blob got into an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// As bytes of its own.
    Copied,
    /// As a hard link to the store.
    Linked,
}

/// The result of a step, kept with the key that made it.
#[derive(Serialize, Deserialize)]
struct StepRecord<T> {
    key: Key,
    result: T,
}

impl Store {
    /// Opens the store in a folder, which is made if need be, and sweeps what a killed build left unfinished.
    ///
    /// Only one process may use a store at a time; the workspace's build lock sees to that.
    pub fn open(root: &Utf8Path) -> Result<Self> {
        for folder in ["blobs", "steps", "incoming"] {
            let folder = root.join(folder);
            fs::create_dir_all(&folder).map_err(failed("creating", &folder))?;
        }
        let incoming = root.join("incoming");
        for entry in fs::read_dir(&incoming).map_err(failed("reading", &incoming))? {
            let entry = entry.map_err(failed("reading", &incoming))?;
            fs::remove_file(entry.path()).map_err(failed("sweeping", &incoming))?;
        }
        Ok(Self {
            root: root.to_owned(),
            next: AtomicU64::new(0),
            added: AtomicU64::new(0),
            clones: AtomicBool::new(true),
        })
    }

    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// How many bytes were added since the store was opened.
    pub fn added(&self) -> u64 {
        self.added.load(Ordering::Relaxed)
    }

    /// Whether the store holds a blob, whole and untouched. One that was tampered with is removed.
    pub fn holds(&self, blob: Blob) -> bool {
        let path = self.blob_path(blob.digest, false);
        let Ok(metadata) = fs::symlink_metadata(&path) else { return false };
        if is_untouched(&metadata, blob.size) {
            return true;
        }
        // The content may still be right (times can be changed alone), but making it again is simpler than finding out.
        let _ = fs::remove_file(&path);
        let _ = fs::remove_file(self.blob_path(blob.digest, true));
        false
    }

    /// Reads a blob, and removes it if it is not what it should be: an edit in place whose traces were wiped is only found
    /// this way.
    pub fn recheck(&self, digest: Digest) {
        for executable in [false, true] {
            let path = self.blob_path(digest, executable);
            let right = File::open(&path)
                .and_then(|mut file| Digest::of_reader(&mut file))
                .is_ok_and(|(found, _)| found == digest);
            if !right {
                let _ = fs::remove_file(&path);
            }
        }
    }

    pub fn add_bytes(&self, bytes: &[u8]) -> Result<Blob> {
        let blob = Blob { digest: Digest::of(bytes), size: bytes.len() as u64 };
        if !self.holds(blob) {
            let (path, mut file) = self.incoming()?;
            file.write_all(bytes).map_err(failed("writing", &path))?;
            self.admit(&path, &file, blob)?;
        }
        Ok(blob)
    }

    /// Adds all that a reader gives. Nothing is held in memory.
    pub fn add_stream(&self, from: &Utf8Path, reader: &mut impl Read) -> Result<Blob> {
        let (path, mut file) = self.incoming()?;
        let copied = Digest::copy(reader, &mut file);
        let (digest, size) = copied.map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => io_error("writing", &path, &error),
            _ => io_error("reading", from, &error),
        })?;
        self.admit(&path, &file, Blob { digest, size })
    }

    /// Adds what a function writes. Nothing is held in memory.
    pub fn add_written(&self, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<Blob> {
        let (path, file) = self.incoming()?;
        let mut out = HashingWriter { inner: BufWriter::new(&file), hasher: Hasher::new(), size: 0 };
        write(&mut out)?;
        out.flush().map_err(failed("writing", &path))?;
        let HashingWriter { inner, hasher, size } = out;
        drop(inner);
        let blob = Blob { digest: hasher.finish(), size };
        self.admit(&path, &file, blob)
    }

    /// Adds a blob that somebody else has, if what a function writes is that blob. Says whether it is.
    pub fn add_if(&self, blob: Blob, write: impl FnOnce(&mut dyn Write)) -> Result<bool> {
        let (path, file) = self.incoming()?;
        let mut out = HashingWriter { inner: BufWriter::new(&file), hasher: Hasher::new(), size: 0 };
        write(&mut out);
        let flushed = out.flush();
        let HashingWriter { inner, hasher, size } = out;
        drop(inner);
        if flushed.is_ok() && (Blob { digest: hasher.finish(), size }) == blob {
            return self.admit(&path, &file, blob).map(|_| true);
        }
        // It takes up room, and the disk may be full of it.
        fs::remove_file(&path).map_err(failed("removing", &path))?;
        flushed.map(|()| false).map_err(failed("writing", &path))
    }

    /// Adds a file, by sharing its blocks where the file system can.
    pub fn add_file(&self, source: &Utf8Path) -> Result<Blob> {
        let mut from = File::open(source).map_err(failed("opening", source))?;
        let (path, mut file) = self.incoming()?;
        let (digest, size) = if rustix::fs::ioctl_ficlone(&file, &from).is_ok() {
            let mut clone = File::open(&path).map_err(failed("opening", &path))?;
            Digest::of_reader(&mut clone).map_err(failed("reading", &path))?
        } else {
            Digest::copy(&mut from, &mut file).map_err(failed("copying", source))?
        };
        self.admit(&path, &file, Blob { digest, size })
    }

    /// A blob as the content of a file: a small one is held in memory.
    pub fn content(&self, blob: Blob) -> Result<Content> {
        Ok(if blob.size < LARGE {
            Content::Bytes(self.read(blob)?.into(), blob.digest)
        } else {
            Content::Blob(blob)
        })
    }

    /// Reads a small blob whole.
    pub fn read(&self, blob: Blob) -> Result<Vec<u8>> {
        let path = self.blob_path(blob.digest, false);
        let bytes = fs::read(&path).map_err(failed("reading", &path))?;
        if Digest::of(&bytes) == blob.digest {
            return Ok(bytes);
        }
        let _ = fs::remove_file(&path);
        Err(Error::new(format!("the store's `{path}` is damaged and was removed")).hint("build again"))
    }

    /// Puts a blob at a path that does not exist yet: by sharing its blocks, else as a read-only hard link, else as a
    /// copy. In all three cases the file is read-only.
    pub fn place(&self, blob: Blob, executable: bool, path: &Utf8Path) -> Result<Placed> {
        let mode = if executable { 0o555 } else { 0o444 };
        if self.clones.load(Ordering::Relaxed) {
            if self.clone_to(blob, mode, path)? {
                return Ok(Placed::Copied);
            }
            self.clones.store(false, Ordering::Relaxed);
        }
        let linked = self
            .with_mode(blob, executable)
            .and_then(|variant| fs::hard_link(&variant, path).map_err(failed("linking", path)));
        if linked.is_ok() {
            return Ok(Placed::Linked);
        }
        // Another file system, or as many links as it allows.
        let source = self.blob_path(blob.digest, false);
        let mut from = File::open(&source).map_err(failed("opening", &source))?;
        let mut file = create(path, mode)?;
        io::copy(&mut from, &mut file).map_err(failed("writing", path))?;
        set_mode(path, mode)?;
        Ok(Placed::Copied)
    }

    /// Makes a file that shares a blob's blocks; nothing is left if the file system cannot.
    fn clone_to(&self, blob: Blob, mode: u32, path: &Utf8Path) -> Result<bool> {
        let source = self.blob_path(blob.digest, false);
        let from = File::open(&source).map_err(failed("opening", &source))?;
        let file = create(path, mode)?;
        if rustix::fs::ioctl_ficlone(&file, &from).is_err() {
            fs::remove_file(path).map_err(failed("removing", path))?;
            return Ok(false);
        }
        set_mode(path, mode)?;
        Ok(true)
    }

    /// The file to link to: the mode belongs to the inode, so an executable blob needs one of its own.
    fn with_mode(&self, blob: Blob, executable: bool) -> Result<Utf8PathBuf> {
        let plain = self.blob_path(blob.digest, false);
        if !executable {
            return Ok(plain);
        }
        let variant = self.blob_path(blob.digest, true);
        if fs::symlink_metadata(&variant).is_ok_and(|metadata| is_untouched(&metadata, blob.size)) {
            return Ok(variant);
        }
        let (path, mut file) = self.incoming()?;
        let mut from = File::open(&plain).map_err(failed("opening", &plain))?;
        io::copy(&mut from, &mut file).map_err(failed("writing", &path))?;
        self.settle(&path, &file, 0o555, &variant)?;
        Ok(variant)
    }

    /// The remembered result of a step, if there is one for exactly this key.
    pub fn step<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        let bytes = fs::read(self.step_path(key)).ok()?;
        let record: StepRecord<T> = serde_json::from_slice(&bytes).ok()?;
        (record.key == *key).then_some(record.result)
    }

    /// Remembers the result of a step.
    pub fn remember<T: Serialize>(&self, key: &Key, result: &T) -> Result<()> {
        let record = StepRecord { key: key.clone(), result };
        let bytes = serde_json::to_vec(&record)
            .map_err(|error| Error::new(format!("remembering the result of a step: {error}")))?;
        let (path, mut file) = self.incoming()?;
        file.write_all(&bytes).map_err(failed("writing", &path))?;
        let target = self.step_path(key);
        fs::rename(&path, &target).map_err(failed("renaming to", &target))
    }

    /// Where a blob's bytes are.
    pub fn blob_path(&self, digest: Digest, executable: bool) -> Utf8PathBuf {
        let hex = digest.hex();
        let suffix = if executable { "-x" } else { "" };
        self.root.join(format!("blobs/{}/{}{suffix}", &hex[..2], &hex[2..]))
    }

    /// Where the result of a step is.
    pub fn step_path(&self, key: &Key) -> Utf8PathBuf {
        self.root.join("steps").join(key.fingerprint().hex())
    }

    fn incoming(&self) -> Result<(Utf8PathBuf, File)> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.root.join(format!("incoming/{number}"));
        let file = create(&path, 0o644)?;
        Ok((path, file))
    }

    /// Takes a finished incoming file in, unless its content is there already.
    fn admit(&self, path: &Utf8Path, file: &File, blob: Blob) -> Result<Blob> {
        if self.holds(blob) {
            fs::remove_file(path).map_err(failed("removing", path))?;
        } else {
            self.added.fetch_add(blob.size, Ordering::Relaxed);
            self.settle(path, file, 0o444, &self.blob_path(blob.digest, false))?;
        }
        Ok(blob)
    }

    /// Makes a finished file read-only, stamps it as untouched and moves it to its place.
    fn settle(&self, path: &Utf8Path, file: &File, mode: u32, target: &Utf8Path) -> Result<()> {
        file.set_permissions(Permissions::from_mode(mode)).map_err(failed("protecting", path))?;
        file.set_modified(UNIX_EPOCH + UNTOUCHED).map_err(failed("stamping", path))?;
        match fs::rename(path, target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = target.parent().unwrap_or(&self.root);
                fs::create_dir_all(folder).map_err(failed("creating", folder))?;
                fs::rename(path, target)
            }
            moved => moved,
        }
        .map_err(failed("renaming to", target))
    }
}

/// Hashes what it passes on.
struct HashingWriter<W> {
    inner: W,
    hasher: Hasher,
    size: u64,
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.size += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn is_untouched(metadata: &fs::Metadata, size: u64) -> bool {
    let stamp: SystemTime = UNIX_EPOCH + UNTOUCHED;
    metadata.is_file()
        && metadata.size() == size
        && metadata.modified().is_ok_and(|modified| modified == stamp)
        && metadata.mode() & 0o222 == 0
}

/// Creates a file that must not exist yet.
pub fn create(path: &Utf8Path, mode: u32) -> Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(failed("creating", path))
}

fn set_mode(path: &Utf8Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(failed("protecting", path))
}
