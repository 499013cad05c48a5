//! What has to be looked at: which specs changed, which tasks look as they were left, and which nobody asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_language::{Diagnostic, Diagnostics};

use super::Build;
use super::described::{self, Described};
use super::task::Open;
use crate::inputs::{Group, Recorder, StatCache};
use crate::lock::Lock;
use crate::report::Failure;
use crate::state::{SpecRecord, State, TaskRecord};
use crate::store::Store;
use taskwright_base::Digest;
use taskwright_base::text::nearest;
use taskwright_base::{Error, Result};

/// What is known of one spec before its tasks are looked at.
pub(super) struct SpecPlan {
    pub(super) path: Utf8PathBuf,
    /// None if the spec is wrong.
    pub(super) record: Option<Arc<SpecRecord>>,
    /// Tasks that are up to date as far as looking shows.
    pub(super) fresh: Vec<String>,
    /// Tasks that have to be looked into.
    pub(super) open: Vec<Described>,
    /// Tasks that nobody asked for.
    pub(super) skipped: Vec<String>,
    pub(super) warnings: Vec<Diagnostic>,
    pub(super) failure: Option<Failure>,
    /// What `--set` can give a value to; none if the spec was not read or is wrong.
    pub(super) parameters: Option<BTreeSet<String>>,
    /// Whether the spec was read.
    pub(super) loaded: bool,
}

impl SpecPlan {
    /// The tasks that have to be looked into.
    pub(super) fn open(&self, set: Digest) -> impl Iterator<Item = Open<'_>> {
        let record = self.record.iter();
        record.flat_map(move |record| {
            self.open.iter().map(move |task| Open { task, group: &record.group, set })
        })
    }
}

impl Build<'_> {
    pub(super) fn plan(
        &self,
        path: &Utf8Path,
        state: &State,
        lock: &Lock,
        store: &Store,
        is_unchanged: &(impl Fn(&Arc<Group>) -> bool + Sync),
        set: Digest,
    ) -> SpecPlan {
        let mut plan = SpecPlan {
            path: path.to_owned(),
            record: None,
            fresh: Vec::new(),
            open: Vec::new(),
            skipped: Vec::new(),
            warnings: Vec::new(),
            failure: None,
            parameters: None,
            loaded: false,
        };
        let known =
            state.specs.get(path.as_str()).filter(|spec| spec.set == set && is_unchanged(&spec.group));
        if let Some(spec) = known {
            let is_fresh = |name: &String| {
                !self.options.force
                    && state.tasks.get(name).is_some_and(|task| {
                        task.set == set
                            && task.groups.iter().all(is_unchanged)
                            && self.is_whole(task, name, store)
                            // A task that the lock does not describe is looked into, which says what differs.
                            && (!self.is_held_to_lock() || task.lock().is_some_and(|lines| lock.says(name, lines)))
                    })
            };
            let (wanted, skipped): (Vec<_>, Vec<_>) =
                spec.tasks.iter().cloned().partition(|name| self.is_wanted(name, path));
            let (fresh, open): (Vec<_>, Vec<_>) = wanted.into_iter().partition(is_fresh);
            (plan.fresh, plan.skipped, plan.record) = (fresh, skipped, Some(Arc::clone(spec)));
            if open.is_empty() {
                if spec.warns && !plan.fresh.is_empty() {
                    plan.warnings = self.warnings(path);
                }
                return plan;
            }
        }
        self.load(path, state, set, plan)
    }

    /// Whether outputs are as they were written: by a look, or by reading every byte if that was asked for. If they are
    /// not, what they link to in the store is read as well, before anything is made from it.
    fn is_whole(&self, task: &TaskRecord, name: &str, store: &Store) -> bool {
        let folder = self.workspace.out.join(name);
        if task.is_untouched(&folder) && !self.options.verify {
            return true;
        }
        let Some(outputs) = task.outputs() else { return false };
        let whole = outputs.damage(&folder).is_empty();
        if !whole {
            outputs.linked().for_each(|digest| store.recheck(digest));
        }
        // Young entries are looked into even if they are right, so that they are trusted the next time.
        whole && outputs.is_untouched(&folder)
    }

    /// What is doubtful in a spec that need not be looked into otherwise: it stays so until somebody does something about it.
    fn warnings(&self, path: &Utf8Path) -> Vec<Diagnostic> {
        let loaded = described::read(&self.workspace.root, path, &self.options.set);
        loaded.map(|loaded| loaded.warnings.into_iter().collect()).unwrap_or_default()
    }

    fn load(&self, path: &Utf8Path, state: &State, set: Digest, mut plan: SpecPlan) -> SpecPlan {
        plan.loaded = true;
        let loaded = described::read(&self.workspace.root, path, &self.options.set);
        match loaded {
            Ok(loaded) => {
                let names: Vec<_> = loaded.tasks.iter().map(|task| task.name().clone()).collect();
                let warns = !loaded.warnings.is_empty();
                plan.parameters = Some(loaded.names);
                if loaded.tasks.iter().any(|task| self.is_wanted(task.name(), path)) {
                    plan.warnings = loaded.warnings.into_iter().collect();
                }
                match self.watch(&loaded.files) {
                    Ok(group) => {
                        plan.record =
                            Some(Arc::new(SpecRecord { group: Arc::new(group), set, tasks: names, warns }));
                    }
                    Err(error) => plan.failure = Some(Failure::Error(error)),
                }
                for task in loaded.tasks {
                    let name = task.name();
                    if !self.is_wanted(name, path) {
                        plan.skipped.push(name.clone());
                    } else if !plan.fresh.contains(name) {
                        plan.open.push(task);
                    }
                }
                plan.skipped.dedup();
            }
            Err(diagnostics) => {
                // A build of some tasks is not concerned with a spec that was never known to hold any of them.
                let known = state.specs.get(path.as_str()).map_or(&[][..], |spec| &spec.tasks);
                let concerned = self.options.names.is_empty()
                    || self.is_wanted("", path)
                    || known.iter().any(|name| self.options.names.contains(name));
                plan.skipped = known.to_vec();
                plan.record = None;
                plan.fresh.clear();
                if concerned {
                    plan.failure = Some(Failure::Spec(diagnostics));
                }
            }
        }
        plan
    }

    fn watch(&self, files: &[Utf8PathBuf]) -> Result<Group> {
        let cache = StatCache::default();
        let mut recorder = Recorder::new(&self.workspace.root, &cache);
        for file in files {
            recorder.digest(file)?;
        }
        Ok(recorder.finish())
    }

    /// Passes over the tasks that are other machines' part. What is divided are the tasks that were asked for, so that machines which
    /// are asked the same divide the same.
    pub(super) fn leave_to_others(&self, plans: &mut [SpecPlan]) {
        let Some(shard) = self.options.shard else { return };
        let ours: BTreeSet<String> = {
            let open = plans.iter().flat_map(|plan| plan.open.iter().map(Described::name));
            let asked_for = open.chain(plans.iter().flat_map(|plan| &plan.fresh)).map(String::as_str);
            shard.of(&asked_for.collect()).into_iter().map(str::to_owned).collect()
        };
        for plan in plans {
            let (fresh, others) =
                mem::take(&mut plan.fresh).into_iter().partition(|name| ours.contains(name));
            plan.fresh = fresh;
            plan.skipped.extend::<Vec<String>>(others);
            let (open, others): (Vec<_>, Vec<_>) =
                mem::take(&mut plan.open).into_iter().partition(|task| ours.contains(task.name()));
            plan.open = open;
            plan.skipped.extend(others.iter().map(|task| task.name().clone()));
        }
    }

    fn is_wanted(&self, name: &str, spec: &Utf8Path) -> bool {
        let folder = spec.parent().and_then(Utf8Path::file_name).unwrap_or_default();
        self.options.names.is_empty()
            || self.options.names.iter().any(|wanted| wanted == name || wanted == folder)
    }

    pub(super) fn refuse_unknown_names(&self, plans: &[SpecPlan]) -> Result<()> {
        let known: BTreeSet<&str> = plans
            .iter()
            .flat_map(|plan| {
                let folder = plan.path.parent().and_then(Utf8Path::file_name);
                let tasks = plan.record.iter().flat_map(|record| record.tasks.iter().map(String::as_str));
                folder.into_iter().chain(tasks).chain(plan.skipped.iter().map(String::as_str))
            })
            .collect();
        for name in &self.options.names {
            if !known.contains(name.as_str()) {
                let folder = self.workspace.specs.join(name);
                let is_folder = !name.is_empty() && self.workspace.root.join(&folder).is_dir();
                let hint = if is_folder {
                    format!("`{folder}` holds neither a `spec.toml` nor a `task.toml`")
                } else {
                    nearest_hint(name, &known, "there is no task at all: `cargo xtask new` makes one")
                };
                return Err(Error::new(format!("there is no task `{name}`")).hint(hint).usage());
            }
        }
        Ok(())
    }

    /// Refuses a parameter that no spec has; as long as one was not read or is wrong, it may be that one's.
    pub(super) fn refuse_unknown_parameters(&self, plans: &[SpecPlan]) -> Result<()> {
        let wanted = plans
            .iter()
            .filter(|plan| !(plan.open.is_empty() && plan.fresh.is_empty() && plan.failure.is_none()));
        let Some(known) = wanted.map(|plan| plan.parameters.as_ref()).collect::<Option<Vec<_>>>() else {
            return Ok(());
        };
        let known: BTreeSet<&str> = known.into_iter().flatten().map(String::as_str).collect();
        match self.options.set.keys().find(|name| !known.contains(name.as_str())) {
            None => Ok(()),
            Some(name) => Err(Error::new(format!("`--set {name}=...`: no spec has a parameter `{name}`"))
                .hint(nearest_hint(name, &known, "the specs that are built declare no parameter"))
                .usage()),
        }
    }
}

/// What a name may have been meant to be.
fn nearest_hint(name: &str, known: &BTreeSet<&str>, none: &str) -> String {
    match nearest(name, known.iter().copied()) {
        Some(other) => format!("did you mean `{other}`?"),
        None if known.is_empty() => none.to_owned(),
        None => format!("there are: {}", known.iter().copied().collect::<Vec<_>>().join(", ")),
    }
}

impl Build<'_> {
    /// Specs that describe a task of one name would overwrite each other: all of them fail, as far as they were asked for.
    pub(super) fn refuse_twins(&self, plans: &mut [SpecPlan]) {
        let mut owners: BTreeMap<String, Vec<Utf8PathBuf>> = BTreeMap::new();
        for plan in plans.iter() {
            for name in plan.record.iter().flat_map(|record| &record.tasks) {
                owners.entry(name.clone()).or_default().push(plan.path.clone());
            }
        }
        owners.retain(|_, specs| specs.len() > 1);
        for plan in plans.iter_mut() {
            let Some(record) = &plan.record else { continue };
            let Some((name, specs)) = owners.iter().find(|(name, _)| record.tasks.contains(name)) else {
                continue;
            };
            if record.tasks.iter().any(|name| self.is_wanted(name, &plan.path)) {
                plan.failure = Some(self.twins(name, &plan.path, specs));
            }
            plan.open.clear();
            // What stands there may be right for one of them: it stays, and so does what is remembered of it.
            plan.skipped.append(&mut plan.fresh);
            plan.skipped.extend(record.tasks.iter().cloned());
        }
    }

    /// The failure of a spec that describes a task as others do, with each place.
    fn twins(&self, name: &str, path: &Utf8Path, specs: &[Utf8PathBuf]) -> Failure {
        let shown: Vec<_> = specs.iter().map(|path| format!("`{path}`")).collect();
        let message = format!("{} describe a task named `{name}`", shown.join(" and "));
        let hint = "give each a name of its own; `extends` hands the name down too";
        let place = |path: &Utf8Path| {
            let read = described::read(&self.workspace.root, path, &self.options.set).ok()?;
            let task = read.tasks.into_iter().find(|task| task.name() == name)?;
            Some(task.error(&["name"], message.clone(), hint))
        };
        let Some(mut found) = place(path) else {
            return Failure::Error(Error::new(message.clone()).hint(hint));
        };
        for other in specs.iter().filter(|other| *other != path) {
            found.secondary.extend(place(other).map(|other| other.primary.saying("described here too")));
        }
        Failure::Spec(Diagnostics::new(vec![found], Vec::new()))
    }
}
