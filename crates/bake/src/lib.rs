//! Bakes the images of built tasks: from pinned bases, by one call of `BuildKit`, the same bytes wherever that is; and makes the tasks that
//! name them by digest.
//!
//! ```text
//!   built tasks ─▶ which images, made from what ─▶ bases resolved, once: their digests stand in the lock
//!                          │                                   │
//!                          │ same inputs as an image           ▼
//!                          │ that is there ─▶ that one    BuildKit makes the others, each into a folder of its own
//!                          ▼                                   │ read in whole, digest by digest
//!                     the layout of images ◀───────────────────┘
//!                          │
//!                          ├─▶ --locked: as the lock says? if not: which layer, which files, and nothing below is done
//!                          ├─▶ the engine, a registry
//!                          ├─▶ the baked tasks, each put in its place by a rename
//!                          └─▶ last of all the lock
//! ```
//!
//! A bake that is killed leaves everything as it was, but for images in the layout that the next one finds.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::iter_over_hash_type, clippy::too_many_lines))]

mod baked;
mod buildkit;
mod differ;
mod docker;
mod engine;
mod layout;
mod provenance;
mod sbom;
mod task;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;
use taskwright_base::digest::Hasher;
use taskwright_base::error::failed;
use taskwright_base::lock::{Attempt, LockFile, Wait};
use taskwright_base::text::count;
use taskwright_base::{Digest, Error, Result};
use taskwright_builder::evidence::Images;
use taskwright_builder::lock::{self, Lock};
use taskwright_builder::{Observer, Workspace};
use taskwright_harbor::digest::content_digest;
use taskwright_language::workspace::Platform;

use crate::buildkit::{Kitchen, Target};
use crate::engine::Named;
use crate::layout::{Descriptor, Layout};
use crate::task::{BuiltTask, Image};

/// Moves when the same inputs would give other images.
const RECIPE: u64 = 1;
/// What the names of bases begin with in the layout.
const BASE: &str = "base/";
/// What the names of folders begin with that `BuildKit` exports to.
const WORK: &str = "bake-";
/// What those of folders begin with that hold a baked task before it is in its place.
const STAGED: &str = ".taskwright-";

/// Where images go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// They stay in the folder of images.
    Oci,
    /// Into this machine's Docker engine.
    Docker,
    /// Into the engine, and from there to the registry.
    Registry,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// Bake what changed, and write the lock.
    Bake,
    /// Bake, and refuse images that are not those of the lock.
    Locked,
    /// Bake nothing; say what would be.
    Check,
}

/// How to bake.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is asked for.
    pub intent: Intent,
    /// Where the images go.
    pub output: Output,
    /// For which platforms, instead of those that the workspace says.
    pub platforms: Vec<Platform>,
    /// Whether bases are resolved anew.
    pub update_bases: bool,
    /// Whether everything is made again, without anything that was made before.
    pub force: bool,
}

/// What became of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskBaked {
    /// Its name.
    pub name: String,
    /// Whether there was anything to do.
    pub changed: bool,
    /// Its images: the name and digest by which the baked task calls each, by service.
    pub images: BTreeMap<String, String>,
    /// Where something was moved that stood in the baked task's place, and that no bake wrote.
    pub aside: Option<Utf8PathBuf>,
}

/// A base whose name stands for another image than the lock said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BaseMoved {
    /// Its name.
    pub name: String,
    /// The digest before; none if it is new.
    pub before: Option<String>,
    /// The digest now.
    pub now: String,
}

/// What a bake did.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// The tasks.
    pub tasks: Vec<TaskBaked>,
    /// Bases that were resolved and stand for something else than before.
    pub bases: Vec<BaseMoved>,
    /// How many images `BuildKit` made.
    pub made: usize,
    /// How many images went into the engine.
    pub loaded: usize,
}

/// Bakes the images of tasks that are built and up to date.
///
/// # Errors
/// What kept it from it. Nothing that was there before is lost then, and the lock says what it said.
pub fn bake(
    workspace: &Workspace,
    names: &[String],
    options: &Options,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Report> {
    let folder = workspace.images_dir();
    let work = layout::work_in(&folder);
    fs::create_dir_all(&work).map_err(failed("creating", &work))?;
    let stopped = || stop.load(Ordering::Relaxed);
    let waiting = |holder: &str| observer.waiting(holder);
    let _lock = match LockFile::acquire(work.join("lock"), &Wait::until(&waiting, &stopped))? {
        Attempt::Held(file) => file,
        Attempt::Busy(_) | Attempt::Stopped => return Err(Error::interrupted()),
    };
    for (folder, prefix) in [(&work, WORK), (&workspace.baked_dir(), STAGED)] {
        sweep(folder, prefix)?;
    }
    let layout = Layout::open(&folder)?;
    let lock = Lock::read(&workspace.lock_file())?.unwrap_or_default();
    let platforms = if options.platforms.is_empty() { &workspace.bake.platforms } else { &options.platforms };
    let platforms: Vec<_> =
        platforms.iter().collect::<BTreeSet<_>>().into_iter().map(|one| one.word()).collect();
    Bake { workspace, options, observer, stop, lock, layout, platforms, report: Report::default() }.run(names)
}

/// Removes what a bake that was killed has left.
fn sweep(folder: &Utf8Path, prefix: &str) -> Result<()> {
    for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
        if entry.file_name().starts_with(prefix) {
            fs::remove_dir_all(entry.path()).map_err(failed("removing", entry.path()))?;
        }
    }
    Ok(())
}

struct Bake<'a> {
    workspace: &'a Workspace,
    options: &'a Options,
    observer: &'a dyn Observer,
    stop: &'a AtomicBool,
    lock: Lock,
    layout: Layout,
    platforms: Vec<&'static str>,
    report: Report,
}

impl Bake<'_> {
    fn run(mut self, names: &[String]) -> Result<Report> {
        let tasks = names.iter().map(|name| BuiltTask::read(name, &self.workspace.out.join(name)));
        let tasks: Vec<BuiltTask> = tasks.collect::<Result<_>>()?;
        let work = tempfile::Builder::new().prefix(WORK).tempdir_in(self.layout.work());
        let work = work.map_err(failed("creating", &self.layout.work()))?;
        let work = Utf8Path::from_path(work.path())
            .ok_or_else(|| Error::new("the folder of images has a name that is not UTF-8"))?;
        let bases = self.bases(&tasks, work)?;
        let mut images = Vec::new();
        for task in &tasks {
            let inputs = self.inputs(task, &bases)?;
            if self.is_still(task, &inputs) {
                self.report.tasks.push(self.known(task));
            } else {
                images.push((task, inputs));
            }
        }
        if self.options.intent == Intent::Check {
            let stale = images.iter().map(|(task, _)| TaskBaked {
                name: task.name.clone(),
                changed: true,
                images: BTreeMap::new(),
                aside: None,
            });
            self.report.tasks.extend(stale);
            return Ok(self.report);
        }
        let made = self.make(&images, &bases, work)?;
        if self.options.intent == Intent::Locked {
            self.refuse_others(&images, &made)?;
        }
        self.layout.save()?;
        self.hand_out(&tasks, &bases)?;
        for ((task, inputs), made) in images.iter().zip(&made) {
            let baked = self.publish(task, inputs, made, &bases)?;
            self.report.tasks.push(baked);
        }
        self.report.tasks.sort_by(|one, other| one.name.cmp(&other.name));
        self.conclude(&bases)
    }

    /// The digest of every base that has none of its own in a Dockerfile, by its name.
    fn bases(&mut self, tasks: &[BuiltTask], work: &Utf8Path) -> Result<BTreeMap<String, String>> {
        let all = tasks.iter().flat_map(|task| &task.images).flat_map(Image::open_bases);
        let all: BTreeSet<&str> = all.collect();
        let known = |name: &str| self.lock.bases.get(name).filter(|_| !self.options.update_bases);
        let mut bases: BTreeMap<String, String> =
            all.iter().filter_map(|name| Some(((*name).to_owned(), known(name)?.clone()))).collect();
        // The layers of a base are taken in before all images that have them.
        let is_here = |name: &str| {
            let inputs = bases.get(name).map(|digest| self.base_inputs(name, digest));
            inputs.is_some_and(|inputs| self.layout.made_from(&inputs).is_some())
        };
        let asked: Vec<&str> = all.iter().copied().filter(|name| !is_here(name)).collect();
        if asked.is_empty() || self.options.intent == Intent::Check {
            return Ok(bases);
        }
        if self.options.intent == Intent::Locked
            && let Some(name) = all.iter().find(|name| !bases.contains_key(**name))
        {
            return Err(Error::new(format!("the lock does not say which image the base `{name}` is"))
                .hint("run `cargo xtask bake` and commit `taskwright.lock`"));
        }
        let from =
            |name: &str| bases.get(name).map_or_else(|| name.to_owned(), |digest| format!("{name}@{digest}"));
        let folder = |number: usize| work.join(format!("base-{number}"));
        let targets: Vec<Target> = asked
            .iter()
            .enumerate()
            .map(|(number, name)| Target {
                name: format!("base_{number}"),
                context: work.to_owned(),
                dockerfile: format!("FROM {}\n", from(name)),
                args: BTreeMap::new(),
                stage: None,
                to: folder(number),
                is_timeless: false,
            })
            .collect();
        self.observer.working(&format!("BuildKit makes {}", count(targets.len() as u64, "image")));
        let made = self.kitchen(work, false).make(&targets)?;
        for (number, name) in asked.into_iter().enumerate() {
            let digest = made.get(&format!("base_{number}")).and_then(|bases| bases.first()).cloned();
            let digest = digest.or_else(|| bases.get(name).cloned()).ok_or_else(|| {
                Error::new(format!("BuildKit does not say which image the base `{name}` is"))
                    .hint("write its digest in the spec: `NAME@sha256:...`")
            })?;
            let image = self.layout.take(&folder(number))?;
            let inputs = self.base_inputs(name, &digest);
            self.layout.name(&format!("{BASE}{name}"), &image, &inputs);
            let before = self.lock.bases.get(name).cloned();
            if before.as_ref() != Some(&digest) {
                self.report.bases.push(BaseMoved { name: name.to_owned(), before, now: digest.clone() });
            }
            bases.insert(name.to_owned(), digest);
        }
        Ok(bases)
    }

    fn kitchen<'a>(&'a self, work: &'a Utf8Path, is_cold: bool) -> Kitchen<'a> {
        let (settings, stop) = (&self.workspace.bake, self.stop);
        Kitchen { settings, platforms: &self.platforms, is_cold, folder: work, stop }
    }

    fn base_inputs(&self, name: &str, digest: &str) -> Digest {
        Digest::of(format!("{name}\n{digest}\n{}", self.platforms.join(",")).as_bytes())
    }

    /// Everything that a task's images and its baked form are made from.
    fn inputs(&self, task: &BuiltTask, bases: &BTreeMap<String, String>) -> Result<Digest> {
        let name = &task.name;
        let entry = self.lock.tasks.get(name).ok_or_else(|| {
            Error::new(format!("the lock does not know the task `{name}`"))
                .hint("run `cargo xtask build-tasks`: what is baked is what the lock says was built")
        })?;
        let mut hasher = Hasher::new();
        hasher.field(entry.tree.as_bytes());
        hasher.field(self.workspace.bake.registry.as_bytes());
        hasher.field(self.platforms.join(",").as_bytes());
        hasher.field(&RECIPE.to_le_bytes());
        // One that is not resolved is like no digest.
        for name in task.images.iter().flat_map(Image::open_bases) {
            hasher.field(name.as_bytes());
            hasher.field(bases.get(name).map_or(&[][..], |digest| digest.as_bytes()));
        }
        Ok(hasher.finish())
    }

    /// Whether a task was baked from the same, and all that came of it is there.
    fn is_still(&self, task: &BuiltTask, inputs: &Digest) -> bool {
        let Some(images) = self.lock.tasks.get(&task.name).and_then(|entry| entry.images.as_ref()) else {
            return false;
        };
        let place = self.workspace.baked_dir().join(&task.name);
        let is_here = |image: &Image| {
            let found = self.layout.named(&format!("{}/{}", task.name, image.service));
            found.map(|found| found.digest.to_string()).as_ref() == images.digest.get(&image.service)
        };
        !self.options.force
            && images.inputs == inputs.to_string()
            && task.images.iter().all(is_here)
            && content_digest(place.as_std_path()).is_ok_and(|digest| digest.to_string() == images.harbor)
    }

    /// What the lock says of a task that needs no baking.
    fn known(&self, task: &BuiltTask) -> TaskBaked {
        let images = task.images.iter().filter_map(|image| {
            let found = self.layout.named(&format!("{}/{}", task.name, image.service))?;
            Some((image.service.clone(), self.named(&task.name, &image.service, found).pinned()))
        });
        TaskBaked { name: task.name.clone(), changed: false, images: images.collect(), aside: None }
    }

    fn named<'a>(&self, task: &str, service: &str, image: &'a Descriptor) -> Named<'a> {
        Named { image, repository: format!("{}/{task}/{service}", self.workspace.bake.registry) }
    }

    /// Makes the images of tasks, each only once and none that is there, and says which they are.
    fn make(
        &mut self,
        tasks: &[(&BuiltTask, Digest)],
        bases: &BTreeMap<String, String>,
        work: &Utf8Path,
    ) -> Result<Vec<BTreeMap<String, Descriptor>>> {
        let platforms = self.platforms.join(",");
        let mut wanted: Vec<BTreeMap<String, Digest>> = Vec::new();
        let mut targets: BTreeMap<Digest, Target> = BTreeMap::new();
        for (task, _) in tasks {
            let mut services = BTreeMap::new();
            for image in &task.images {
                let dockerfile = image.dockerfile.pinned(bases);
                let inputs = image.inputs(&dockerfile, &platforms)?;
                services.insert(image.service.clone(), inputs);
                if !self.options.force && self.layout.made_from(&inputs).is_some() {
                    continue;
                }
                let number = targets.len();
                targets.entry(inputs).or_insert_with(|| Target {
                    name: format!("{}_{}", task.name, image.service.replace(['.', ':'], "-")),
                    context: image.context.clone(),
                    dockerfile,
                    args: image.args.clone(),
                    stage: image.stage.clone(),
                    to: work.join(format!("image-{number}")),
                    is_timeless: true,
                });
            }
            wanted.push(services);
        }
        let mut made = BTreeMap::new();
        if !targets.is_empty() {
            let lent = self.base_images(bases);
            for target in targets.values() {
                self.layout.lend(&target.to, &lent)?;
            }
            self.observer.working(&format!("BuildKit makes {}", count(targets.len() as u64, "image")));
            let (inputs, targets): (Vec<Digest>, Vec<Target>) = targets.into_iter().unzip();
            self.kitchen(work, self.options.force).make(&targets)?;
            self.report.made = targets.len();
            for (inputs, target) in inputs.into_iter().zip(&targets) {
                made.insert(
                    inputs,
                    self.layout.take(&target.to).map_err(|error| error.within(&target.name))?,
                );
            }
        }
        let mut all = Vec::new();
        for ((task, _), services) in tasks.iter().zip(wanted) {
            let mut images = BTreeMap::new();
            for (service, inputs) in services {
                let there = made.get(&inputs).or_else(|| self.layout.made_from(&inputs)).cloned();
                let image = there
                    .ok_or_else(|| Error::new(format!("BuildKit did not make `{}/{service}`", task.name)))?;
                if self.options.intent == Intent::Bake {
                    self.layout.name(&format!("{}/{service}", task.name), &image, &inputs);
                }
                images.insert(service, image);
            }
            all.push(images);
        }
        Ok(all)
    }

    fn base_images(&self, bases: &BTreeMap<String, String>) -> Vec<Descriptor> {
        bases.keys().filter_map(|name| self.layout.named(&format!("{BASE}{name}")).cloned()).collect()
    }

    /// Refuses images that are not those of the lock, with what differs.
    fn refuse_others(
        &mut self,
        tasks: &[(&BuiltTask, Digest)],
        made: &[BTreeMap<String, Descriptor>],
    ) -> Result<()> {
        let mut wrong = Vec::new();
        for ((task, _), images) in tasks.iter().zip(made) {
            let locked = self.lock.tasks.get(&task.name).and_then(|entry| entry.images.as_ref());
            for (service, now) in images {
                let said = locked.and_then(|images| images.digest.get(service));
                let Some(said) = said else {
                    wrong.push(format!("  {}/{service}: the lock names no such image", task.name));
                    continue;
                };
                if *said == now.digest.to_string() {
                    continue;
                }
                wrong.push(format!("  {}/{service}: {} in the lock, {} now", task.name, said, now.digest));
                if let Ok(digest) = said.parse() {
                    let before = Descriptor { digest, ..now.clone() };
                    wrong.extend(
                        differ::lines(&self.layout, &before, now)?
                            .into_iter()
                            .map(|line| format!("    {line}")),
                    );
                }
            }
        }
        if wrong.is_empty() {
            for ((task, inputs), images) in tasks.iter().zip(made) {
                for (service, image) in images {
                    self.layout.name(&format!("{}/{service}", task.name), image, inputs);
                }
            }
            return Ok(());
        }
        Err(Error::new(format!("images are not those of the lock:\n{}", wrong.join("\n")))
            .hint("where that is meant: `cargo xtask bake`, and commit `taskwright.lock`"))
    }

    /// Brings images where they are wanted.
    fn hand_out(&mut self, tasks: &[BuiltTask], bases: &BTreeMap<String, String>) -> Result<()> {
        if self.options.output == Output::Oci {
            return Ok(());
        }
        let all = tasks.iter().flat_map(|task| task.images.iter().map(move |image| (task, image)));
        let all: Vec<_> = all
            .filter_map(|(task, image)| {
                let found = self.layout.named(&format!("{}/{}", task.name, image.service))?;
                Some(self.named(&task.name, &image.service, found))
            })
            .collect();
        let loaded = engine::load(&self.layout, &all, &self.base_images(bases), self.stop)?;
        if self.options.output == Output::Registry {
            engine::push(&all, self.stop)?;
        }
        self.report.loaded = loaded;
        Ok(())
    }

    /// Puts the baked task in its place, with what is known of its images beside them, and has the lock say so.
    fn publish(
        &mut self,
        task: &BuiltTask,
        inputs: &Digest,
        images: &BTreeMap<String, Descriptor>,
        bases: &BTreeMap<String, String>,
    ) -> Result<TaskBaked> {
        let names: BTreeMap<String, String> = images
            .iter()
            .map(|(service, image)| (service.clone(), self.named(&task.name, service, image).pinned()))
            .collect();
        let out = self.workspace.baked_dir();
        fs::create_dir_all(&out).map_err(failed("creating", &out))?;
        let staged =
            tempfile::Builder::new().prefix(STAGED).tempdir_in(&out).map_err(failed("creating", &out))?;
        let staged = Utf8PathBuf::try_from(staged.path().join(&task.name))
            .map_err(|error| Error::new(error.to_string()))?;
        fs::create_dir(&staged).map_err(failed("creating", &staged))?;
        let harbor = baked::write(task, &names, &staged)?;
        if let Some(entry) = self.lock.tasks.get(&task.name) {
            for image in &task.images {
                let Some(made) = images.get(&image.service) else { continue };
                let name = format!("{}/{}", task.name, image.service);
                let own = image.open_bases().filter_map(|base| Some((base, bases.get(base)?.as_str())));
                sbom::write(&self.layout, &name, made)?;
                provenance::write(self.workspace, &self.layout, &name, made, entry, &own.collect())?;
            }
        }
        let entry = self.lock.tasks.get_mut(&task.name);
        let was = entry.as_ref().and_then(|entry| entry.images.as_ref()).map(|images| images.harbor.clone());
        let aside = baked::publish(&staged, &out.join(&task.name), &harbor, was.as_deref())?;
        if let Some(entry) = entry {
            let digest =
                images.iter().map(|(service, image)| (service.clone(), image.digest.to_string())).collect();
            let tree = entry.tree.clone();
            entry.images =
                Some(Images { tree, inputs: inputs.to_string(), harbor: harbor.to_string(), digest });
        }
        Ok(TaskBaked { name: task.name.clone(), changed: true, images: names, aside })
    }

    /// Writes the lock, last of all, and removes what no image has any more.
    fn conclude(mut self, bases: &BTreeMap<String, String>) -> Result<Report> {
        if self.options.intent == Intent::Bake {
            // A build may have written the lock meanwhile: what it says of tasks is its own.
            let mut now = Lock::default();
            lock::amend(self.workspace, self.observer, self.stop, |lock| {
                for (name, entry) in &mut lock.tasks {
                    if let Some(ours) = self.lock.tasks.get(name).filter(|ours| ours.tree == entry.tree) {
                        entry.images.clone_from(&ours.images);
                    }
                }
                lock.bases.extend(bases.iter().map(|(name, digest)| (name.clone(), digest.clone())));
                now.clone_from(lock);
                Ok(())
            })?;
            self.lock = now;
        }
        let is_known = |name: &str| {
            name.starts_with(BASE)
                || name.split('/').next().is_some_and(|task| self.lock.tasks.contains_key(task))
        };
        self.layout.keep(is_known);
        self.layout.save()?;
        self.layout.sweep()?;
        Ok(self.report)
    }
}
