//! Writes a candidate's files out: by our own code, so that no filter, attribute or setting of git has a say.

use std::collections::{HashMap, VecDeque};
use std::io::{BufReader, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use taskwright_base::{Error, Result, failed, failed_to};

use super::git::Git;
use super::import::batch_header;
use super::tree::{Entries, Kind, check_link};
use super::{ImportError, TreeId};
use crate::sandbox::{folder, make_folder};

/// How many checkouts are kept although nobody uses them.
const KEPT: usize = 4;

/// A candidate's files on disk: ours to write, everyone's to read who may come near. The folder goes when the last
/// clone is dropped and some others were made since.
#[derive(Debug, Clone)]
pub struct Checkout(Arc<Folder>);

impl Checkout {
    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0.0
    }
}

#[derive(Debug)]
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = folder::remove(&self.0);
    }
}

/// The checkouts that there are.
#[derive(Debug, Default)]
pub(super) struct Checkouts {
    folders: Mutex<Folders>,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct Folders {
    known: HashMap<TreeId, Weak<Folder>>,
    kept: VecDeque<Arc<Folder>>,
}

impl Checkouts {
    /// The checkout of a tree, written unless it is there.
    pub fn get(&self, git: &Git, tree: &TreeId, entries: &Entries, within: &Path) -> Result<Checkout> {
        // Held while files are written: who wants the same tree waits for it instead of writing it too.
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = folders.known.get(tree).and_then(Weak::upgrade) {
            return Ok(Checkout(folder));
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let folder = Arc::new(Folder(within.join(number.to_string())));
        make_folder(&folder.0, 0o700)?;
        write(git, entries, &folder.0)?;
        std::fs::set_permissions(&folder.0, PermissionsExt::from_mode(0o755))
            .map_err(failed("changing", &folder.0))?;
        folders.known.retain(|_, folder| folder.strong_count() > 0);
        folders.known.insert(tree.clone(), Arc::downgrade(&folder));
        folders.kept.push_back(Arc::clone(&folder));
        if folders.kept.len() > KEPT {
            folders.kept.pop_front();
        }
        Ok(Checkout(folder))
    }
}

/// Writes a tree into an empty folder that nobody else can enter.
fn write(git: &Git, entries: &Entries, folder: &Path) -> Result<()> {
    // In order of paths a folder comes before what is in it; links come last, so that nothing is written through one.
    for (path, _) in entries.iter().filter(|(_, entry)| entry.kind == Kind::Folder) {
        make_folder(&folder.join(path), 0o755)?;
    }
    let mut objects = Objects::open(git)?;
    for (path, entry) in entries {
        let Kind::File { executable } = entry.kind else { continue };
        let place = folder.join(path);
        let mut file = std::fs::File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&place)
            .map_err(failed("making", &place))?;
        objects.read(&entry.object, |content, size| {
            let copied = std::io::copy(content, &mut file).map_err(failed("writing", &place))?;
            if copied == size {
                Ok(())
            } else {
                Err(Error::new("an object in the store of candidates is cut off"))
            }
        })?;
        let mode = if executable { 0o755 } else { 0o644 };
        file.set_permissions(PermissionsExt::from_mode(mode)).map_err(failed("changing", &place))?;
    }
    for (path, entry) in entries.iter().filter(|(_, entry)| entry.kind == Kind::Link) {
        let target = objects.text(&entry.object)?;
        let target = check_link(path, &target).map_err(|refusal| Error::new(refusal.to_string()))?;
        let place = folder.join(path);
        symlink(target, &place).map_err(failed("making", &place))?;
    }
    Ok(())
}

/// Refuses a tree with a link that leaves it.
pub(super) fn check_links(git: &Git, entries: &Entries) -> Result<(), ImportError> {
    let mut links = entries.iter().filter(|(_, entry)| entry.kind == Kind::Link).peekable();
    if links.peek().is_none() {
        return Ok(());
    }
    let mut objects = Objects::open(git)?;
    for (path, entry) in links {
        check_link(path, &objects.text(&entry.object)?)?;
    }
    Ok(())
}

/// Looks where links lead, one by one.
pub(super) struct Links(Objects);

impl Links {
    pub fn open(git: &Git) -> Result<Self> {
        Objects::open(git).map(Self)
    }

    pub fn check(&mut self, path: &str, object: &str) -> Result<(), ImportError> {
        let target = self.0.read(object, |content, _| {
            let mut text = Vec::new();
            let most = taskwright_base::tree::LONGEST_LINK as u64 + 1;
            content.take(most).read_to_end(&mut text).map_err(failed_to("reading an object"))?;
            std::io::copy(content, &mut std::io::sink()).map_err(failed_to("reading an object"))?;
            Ok(text)
        })?;
        check_link(path, &target)?;
        Ok(())
    }
}

/// A git process that hands out objects.
struct Objects {
    child: std::process::Child,
    stdin: std::process::ChildStdin,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Objects {
    fn open(git: &Git) -> Result<Self> {
        let mut command = git.command(&["cat-file", "--batch"]);
        let mut child = super::git::start(command.stdin(Stdio::piped()).stderr(Stdio::null()))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => {
                Ok(Self { child, stdin, stdout: BufReader::with_capacity(64 << 10, stdout) })
            }
            _ => Err(Error::new("git has no standard streams")),
        }
    }

    /// Hands over a blob's content, which must be read to its end.
    fn read<T>(&mut self, object: &str, take: impl FnOnce(&mut dyn Read, u64) -> Result<T>) -> Result<T> {
        let asking = failed_to("asking git for an object");
        self.stdin.write_all(format!("{object}\n").as_bytes()).map_err(asking)?;
        let (kind, size) = batch_header(&mut self.stdout)?;
        if kind != "blob" {
            return Err(Error::new(format!("object {object} is a {kind} where a file was expected")));
        }
        let taken = take(&mut (&mut self.stdout).take(size), size)?;
        let mut end = [0];
        self.stdout.read_exact(&mut end).map_err(failed_to("reading an object"))?;
        Ok(taken)
    }

    fn text(&mut self, object: &str) -> Result<Vec<u8>> {
        self.read(object, |content, _| {
            let mut text = Vec::new();
            content.read_to_end(&mut text).map_err(failed_to("reading an object"))?;
            Ok(text)
        })
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
