//! Plain file operations on the very files that a build made: looking at them, writing them, copying them.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Instant;

use anyhow::Context;
use camino::{Utf8Path, Utf8PathBuf};

/// How many threads these use, whatever the machine has.
pub const THREADS: usize = 2;

/// All files below a folder.
pub fn files(folder: &Utf8Path) -> anyhow::Result<Vec<Utf8PathBuf>> {
    Ok(walk(folder)?.files)
}

/// The seconds that looking at files takes.
pub fn lstat(files: &[Utf8PathBuf]) -> anyhow::Result<f64> {
    let started = Instant::now();
    on_threads(files, |file| fs::symlink_metadata(file).map(drop))?;
    Ok(started.elapsed().as_secs_f64())
}

/// Built tasks, in memory.
pub struct Tasks {
    tasks: Vec<Task>,
    /// What the build made hard links to, once each.
    shared: Vec<Vec<u8>>,
}

struct Task {
    /// From the folder of all tasks; parents come first.
    folders: Vec<Utf8PathBuf>,
    files: Vec<(Utf8PathBuf, Content)>,
}

enum Content {
    Own(Vec<u8>),
    /// A place in [`Tasks::shared`].
    Shared(usize),
}

impl Tasks {
    /// Reads them.
    pub fn read(folder: &Utf8Path) -> anyhow::Result<Self> {
        let mut all = Self { tasks: Vec::new(), shared: Vec::new() };
        let mut places = HashMap::new();
        for entry in folder.read_dir_utf8().with_context(|| format!("reading {folder}"))? {
            let walked = walk(entry?.path())?;
            let mut files = Vec::new();
            for path in walked.files {
                let metadata = path.metadata().with_context(|| format!("looking at {path}"))?;
                let read = || fs::read(&path).with_context(|| format!("reading {path}"));
                let content = if metadata.nlink() == 1 {
                    Content::Own(read()?)
                } else if let Some(&place) = places.get(&metadata.ino()) {
                    Content::Shared(place)
                } else {
                    places.insert(metadata.ino(), all.shared.len());
                    all.shared.push(read()?);
                    Content::Shared(all.shared.len() - 1)
                };
                files.push((path.strip_prefix(folder)?.to_owned(), content));
            }
            let folders = walked.folders.iter().map(|path| path.strip_prefix(folder).map(Utf8Path::to_owned));
            all.tasks.push(Task { folders: folders.collect::<Result<_, _>>()?, files });
        }
        Ok(all)
    }

    /// The seconds in which they are written to an empty folder. What the build linked is linked, or written in full.
    pub fn write(&self, to: &Utf8Path, links: bool) -> anyhow::Result<f64> {
        let source = |place: usize| to.join(format!(".shared-{place}"));
        let started = Instant::now();
        if links {
            for (place, bytes) in self.shared.iter().enumerate() {
                fs::write(source(place), bytes)?;
            }
        }
        on_threads(&self.tasks, |task| {
            task.folders.iter().try_for_each(|folder| fs::create_dir(to.join(folder)))?;
            task.files.iter().try_for_each(|(path, content)| match content {
                Content::Own(bytes) => fs::write(to.join(path), bytes),
                Content::Shared(place) if links => fs::hard_link(source(*place), to.join(path)),
                Content::Shared(place) => fs::write(to.join(path), &self.shared[*place]),
            })
        })?;
        Ok(started.elapsed().as_secs_f64())
    }
}

struct Walked {
    /// With the one where the walk began, parents first.
    folders: Vec<Utf8PathBuf>,
    files: Vec<Utf8PathBuf>,
}

fn walk(folder: &Utf8Path) -> anyhow::Result<Walked> {
    let mut walked = Walked { folders: vec![folder.to_owned()], files: Vec::new() };
    let mut next = 0;
    while let Some(folder) = walked.folders.get(next).cloned() {
        next += 1;
        for entry in folder.read_dir_utf8().with_context(|| format!("reading {folder}"))? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                walked.folders.push(entry.into_path());
            } else {
                walked.files.push(entry.into_path());
            }
        }
    }
    Ok(walked)
}

fn on_threads<T: Sync>(all: &[T], each: impl Fn(&T) -> std::io::Result<()> + Sync) -> anyhow::Result<()> {
    let size = all.len().div_ceil(THREADS).max(1);
    thread::scope(|scope| {
        let threads: Vec<_> =
            all.chunks(size).map(|part| scope.spawn(|| part.iter().try_for_each(&each))).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked")))
        })
    })?;
    Ok(())
}
