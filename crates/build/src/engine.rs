//! The build itself: which tasks have to be looked at, what becomes of each, and what is remembered of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
use taskwright_spec::{Diagnostic, Diagnostics, LoadedSpec};

use crate::digest::Digest;
use crate::error::{BuildError, Result, failed};
use crate::inputs::{Group, Recorder, StatCache};
use crate::key::{Change, Key};
use crate::lock::{Lock, LockEntry};
use crate::observe::{Boundary, Observer};
use crate::publish::{Outputs, Publisher};
use crate::report::{Failure, Report, Status, TaskReport};
use crate::stat::Stat;
use crate::state::{NodeRecord, SpecRecord, State, TaskRecord};
use crate::steps::{Context, Shared, assemble};
use crate::store::Store;
use crate::workspace::{Workspace, WorkspaceLock};

/// What a build is asked to do.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The tasks, or the folders of specs, to build; empty means all.
    pub names: Vec<String>,
    /// What it may do.
    pub intent: Intent,
    /// Whether to build tasks that are up to date too.
    pub force: bool,
    /// Whether to read every byte of the outputs instead of looking at sizes and times.
    pub verify: bool,
    /// Values of parameters.
    pub set: BTreeMap<String, String>,
    /// How many threads work; none means as many as there are processors.
    pub jobs: Option<usize>,
}

/// What a build may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Intent {
    /// Build what is not up to date, and bring the lock up to date.
    #[default]
    Build,
    /// Build, but refuse a task that is not what the lock says.
    Locked,
    /// Build nothing: only say what is not up to date.
    Look,
}

/// Builds the tasks of a workspace.
///
/// # Errors
/// Only what keeps the whole build from being tried; what is wrong with one task is said in the report.
pub fn build(
    workspace: &Workspace,
    options: &Options,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Report> {
    let started = Instant::now();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.jobs.unwrap_or(0))
        .build()
        .map_err(|error| BuildError::new(format!("starting threads: {error}")))?;
    let mut report = pool.install(|| Build { workspace, options, observer, stop }.run())?;
    report.elapsed = started.elapsed();
    Ok(report)
}

struct Build<'a> {
    workspace: &'a Workspace,
    options: &'a Options,
    observer: &'a dyn Observer,
    stop: &'a AtomicBool,
}

/// What is known of one spec before its tasks are looked at.
struct SpecPlan {
    path: Utf8PathBuf,
    /// None if the spec is wrong.
    record: Option<SpecRecord>,
    /// Tasks that are up to date as far as looking shows.
    fresh: Vec<String>,
    /// Tasks that have to be looked into.
    open: Vec<LoadedSpec>,
    /// Tasks that nobody asked for.
    skipped: Vec<String>,
    warnings: Vec<Diagnostic>,
    failure: Option<Failure>,
    /// Whether the spec was read.
    loaded: bool,
}

/// What became of one task that was looked into.
struct Done {
    report: TaskReport,
    /// None if there is nothing to remember beyond what was remembered before.
    record: Option<TaskRecord>,
}

impl Build<'_> {
    fn run(&self) -> Result<Report> {
        let _lock = WorkspaceLock::acquire(self.workspace, self.observer)?;
        let state = State::load(&self.workspace.state_file());
        let store = Store::open(&self.workspace.store_dir())?;
        self.observer.boundary(Boundary::Started);

        let paths = self.discover()?;
        let groups = state.groups();
        let unchanged: Vec<bool> =
            groups.par_iter().map(|group| group.is_unchanged(&self.workspace.root)).collect();
        // By address: a group is the same to two tasks only if they share it.
        let unchanged: HashMap<usize, bool> = groups.iter().map(address).zip(unchanged).collect();
        let is_unchanged = |group: &Arc<Group>| unchanged.get(&address(group)).copied().unwrap_or(false);
        let set = Digest::of(serde_json::to_string(&self.options.set).unwrap_or_default().as_bytes());
        let mut plans: Vec<SpecPlan> =
            paths.par_iter().map(|path| self.plan(path, &state, &is_unchanged, set)).collect();
        self.refuse_unknown_names(&plans)?;
        refuse_twins(&mut plans);
        self.observer.planned(plans.iter().map(|plan| plan.fresh.len() + plan.open.len()).sum());
        self.observer.boundary(Boundary::Planned);

        let cache = if plans.iter().all(|plan| plan.open.is_empty()) {
            StatCache::default()
        } else {
            StatCache::new(groups.iter().map(Arc::as_ref))
        };
        let shared = Shared::default();
        let context = Context {
            workspace: self.workspace,
            store: &store,
            state: &state,
            cache: &cache,
            look_only: self.options.intent == Intent::Look,
            stop: self.stop,
            observer: self.observer,
            shared: &shared,
        };
        let old_lock = self.old_lock(&state)?;
        let publisher = Publisher::new(&self.workspace.out, self.workspace.staging_dir(), &store)?;
        let open: Vec<&LoadedSpec> = plans.iter().flat_map(|plan| &plan.open).collect();
        let done: Vec<Done> =
            open.par_iter().map(|loaded| self.task(&context, &publisher, &old_lock, loaded)).collect();

        let mut report =
            Report { tasks: Vec::new(), warnings: Vec::new(), errors: Vec::new(), elapsed: Duration::ZERO };
        for plan in &plans {
            report.warnings.extend(plan.warnings.iter().cloned());
            report.tasks.extend(plan.failure.iter().map(|failure| {
                self.tell(TaskReport::new(plan.path.as_str(), Status::Failed(failure.clone())))
            }));
            report
                .tasks
                .extend(plan.fresh.iter().map(|name| self.tell(TaskReport::new(name, Status::UpToDate))));
        }
        let mut next = State { lock: state.lock, ..State::default() };
        self.remember(&state, &plans, &shared, &mut next);
        let mut changed = plans.iter().any(|plan| plan.loaded);
        for done in done {
            if let Some(record) = done.record {
                changed = true;
                next.tasks.insert(done.report.name.clone(), record);
            }
            report.tasks.push(done.report);
        }
        if self.options.intent != Intent::Look {
            changed |= self.prune(&state, &plans, &publisher, &mut next, &mut report);
            if let Err(error) = publisher.finish() {
                report.errors.push(error);
            }
            self.conclude(&state, next, changed, &old_lock, &mut report);
        }
        report.tasks.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(report)
    }

    /// The specs: every `spec.toml` one folder below the folder of specs.
    fn discover(&self) -> Result<Vec<Utf8PathBuf>> {
        let folder = &self.workspace.specs;
        let full = self.workspace.root.join(folder);
        let entries = fs::read_dir(&full).map_err(|error| {
            BuildError::io("reading", folder, &error)
                .hint("`cargo xtask new NAME --mode a` makes a first spec")
        })?;
        let mut paths = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed("reading", folder))?;
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let path = folder.join(name).join("spec.toml");
            if !path.as_str().contains("/.") && self.workspace.root.join(&path).exists() {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    }

    fn plan(
        &self,
        path: &Utf8Path,
        state: &State,
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
            loaded: false,
        };
        let known = state.specs.get(path).filter(|spec| spec.set == set && is_unchanged(&spec.group));
        if let Some(spec) = known {
            let is_fresh = |name: &String| {
                !self.options.force
                    && state.tasks.get(name).is_some_and(|task| {
                        task.groups.iter().all(is_unchanged) && self.is_whole(&task.outputs, name)
                    })
            };
            let (wanted, skipped): (Vec<_>, Vec<_>) =
                spec.tasks.iter().cloned().partition(|name| self.is_wanted(name, path));
            let (fresh, open): (Vec<_>, Vec<_>) = wanted.into_iter().partition(is_fresh);
            (plan.fresh, plan.skipped, plan.record) = (fresh, skipped, Some(spec.clone()));
            if open.is_empty() {
                return plan;
            }
        }
        self.load(path, state, set, plan)
    }

    /// Whether outputs are as they were written: by a look, or by reading every byte if that was asked for.
    fn is_whole(&self, outputs: &Outputs, name: &str) -> bool {
        let folder = self.workspace.out.join(name);
        outputs.is_untouched(&folder) && (!self.options.verify || outputs.damage(&folder).is_empty())
    }

    fn load(&self, path: &Utf8Path, state: &State, set: Digest, mut plan: SpecPlan) -> SpecPlan {
        plan.loaded = true;
        let loaded = taskwright_spec::load(&self.workspace.root, path, &self.options.set);
        match loaded {
            Ok(loaded) => {
                let names: Vec<_> = loaded.tasks.iter().map(|task| task.spec.name.clone()).collect();
                plan.warnings = loaded.warnings.iter().cloned().collect();
                match self.watch(&loaded.files) {
                    Ok(group) => plan.record = Some(SpecRecord { group: Arc::new(group), set, tasks: names }),
                    Err(error) => plan.failure = Some(Failure::Error(error)),
                }
                for task in loaded.tasks {
                    let name = &task.spec.name;
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
                let known = state.specs.get(path).map_or(&[][..], |spec| &spec.tasks);
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

    fn is_wanted(&self, name: &str, spec: &Utf8Path) -> bool {
        let folder = spec.parent().and_then(Utf8Path::file_name).unwrap_or_default();
        self.options.names.is_empty()
            || self.options.names.iter().any(|wanted| wanted == name || wanted == folder)
    }

    fn refuse_unknown_names(&self, plans: &[SpecPlan]) -> Result<()> {
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
                let near = known
                    .iter()
                    .map(|other| (strsim::damerau_levenshtein(name, other), other))
                    .min()
                    .filter(|(distance, _)| *distance <= name.len() / 3 + 1);
                let hint = near.map_or_else(
                    || format!("there are: {}", known.iter().copied().collect::<Vec<_>>().join(", ")),
                    |(_, other)| format!("did you mean `{other}`?"),
                );
                return Err(BuildError::new(format!("there is no task `{name}`")).hint(hint).usage());
            }
        }
        Ok(())
    }

    /// The lock as it stood before the build.
    fn old_lock(&self, state: &State) -> Result<Lock> {
        let path = self.workspace.lock_file();
        let now = fs::symlink_metadata(&path).ok().map(|metadata| Stat::of(&metadata));
        if let (Some(remembered), Some(now)) = (state.lock, now)
            && remembered.is_still(&now)
        {
            let entries = state.tasks.iter().filter_map(|(name, task)| Some((name.clone(), task.lock()?)));
            return Ok(Lock { tasks: entries.collect() });
        }
        match Lock::read(&path) {
            Ok(lock) => Ok(lock.unwrap_or_default()),
            // What cannot be read is made anew, unless it is what the build is to be held against.
            Err(error) if self.options.intent == Intent::Locked => Err(error),
            Err(_) => Ok(Lock::default()),
        }
    }

    fn tell(&self, report: TaskReport) -> TaskReport {
        self.observer.task(&report);
        report
    }

    fn task(
        &self,
        context: &Context<'_>,
        publisher: &Publisher<'_>,
        lock: &Lock,
        loaded: &LoadedSpec,
    ) -> Done {
        let name = &loaded.spec.name;
        let mut report = TaskReport::new(name, Status::UpToDate);
        let record = match self.look_into(context, publisher, lock, loaded, &mut report) {
            Ok(record) => record,
            Err(error) if error.is_stale() => {
                report.status = Status::Stale;
                report.damage.push(error.to_string());
                None
            }
            Err(error) => {
                report.status = Status::Failed(located(loaded, error));
                None
            }
        };
        Done { report: self.tell(report), record }
    }

    fn look_into(
        &self,
        context: &Context<'_>,
        publisher: &Publisher<'_>,
        lock: &Lock,
        loaded: &LoadedSpec,
        report: &mut TaskReport,
    ) -> Result<Option<TaskRecord>> {
        context.check_stop()?;
        let spec = &loaded.spec;
        let folder = self.workspace.out.join(&spec.name);
        let old = context.state.tasks.get(&spec.name);
        let ingredients = assemble::gather(context, loaded)?;
        let key = ingredients.key(spec);
        let old_key = old.and_then(TaskRecord::key);
        report.changes = old_key.as_ref().map(|old| Key::changes(old, &key)).unwrap_or_default();
        let whole = old.is_some_and(|old| {
            let untouched = !self.options.verify && old.outputs.is_untouched(&folder);
            if !untouched {
                report.damage = old.outputs.damage(&folder);
            }
            report.damage.is_empty()
        });
        if let Some(old) = old
            && let Some(entry) = old.lock()
            && whole
            && old_key.as_ref() == Some(&key)
            && !self.options.force
            && (self.options.intent != Intent::Locked || lock.tasks.get(&spec.name) == Some(&entry))
        {
            let outputs = old.outputs.looked_at_again(&folder)?.settled(SystemTime::now());
            return Ok(Some(TaskRecord::new(ingredients.groups, outputs, &key, &entry)));
        }
        if self.options.intent == Intent::Look {
            report.status = Status::Stale;
            return Ok(None);
        }
        let (tree, entry) = ingredients.assemble(context, spec)?;
        if self.options.intent == Intent::Locked {
            refuse_unlocked(&spec.name, lock.tasks.get(&spec.name), &entry)?;
        }
        context.boundary(Boundary::Rendered)?;
        let standing = match old {
            _ if self.options.force => None,
            Some(old) if whole && old.outputs.tree == Some(tree.digest()) => {
                Some(old.outputs.looked_at_again(&folder)?)
            }
            _ => publisher.adopt(&spec.name, &tree),
        };
        let outputs = match standing {
            Some(outputs) => outputs,
            None => {
                let staged = publisher.stage(&spec.name, &tree)?;
                context.boundary(Boundary::Staged)?;
                report.status = Status::Built;
                publisher.publish(&spec.name, staged)?
            }
        };
        self.observer.boundary(Boundary::Published);
        Ok(Some(TaskRecord::new(ingredients.groups, outputs, &key, &entry)))
    }

    /// Takes over what is still true, so that only what changed has to be said again.
    fn remember(&self, state: &State, plans: &[SpecPlan], shared: &Shared, next: &mut State) {
        for plan in plans {
            let record = plan.record.clone();
            let names = plan.fresh.iter().chain(&plan.skipped).cloned();
            let open = plan.open.iter().map(|loaded| loaded.spec.name.clone());
            // A task that fails now keeps what was remembered of its last good output.
            for name in names.chain(open) {
                if let Some(task) = state.tasks.get(&name) {
                    next.tasks.insert(name, task.clone());
                }
            }
            if let Some(record) = record {
                next.specs.insert(plan.path.clone(), record);
            }
        }
        next.baselines.clone_from(&state.baselines);
        next.baselines.extend(
            shared
                .baselines
                .made()
                .into_iter()
                .map(|(id, node)| (id, NodeRecord { group: Arc::clone(&node.group), key: node.key.clone() })),
        );
        next.binary = shared
            .binary
            .made()
            .into_iter()
            .next()
            .map(|((), node)| NodeRecord { group: Arc::clone(&node.group), key: node.key.clone() })
            .or_else(|| state.binary.clone());
    }

    /// Removes the outputs of tasks that no spec describes any more; only when every spec could be read.
    fn prune(
        &self,
        state: &State,
        plans: &[SpecPlan],
        publisher: &Publisher<'_>,
        next: &mut State,
        report: &mut Report,
    ) -> bool {
        if plans.iter().any(|plan| plan.record.is_none()) || report.is_interrupted() {
            return false;
        }
        let described: BTreeSet<&String> =
            plans.iter().flat_map(|plan| plan.record.iter().flat_map(|record| &record.tasks)).collect();
        let gone: Vec<_> = state.tasks.keys().filter(|name| !described.contains(name)).cloned().collect();
        for name in &gone {
            next.tasks.remove(name);
            match publisher.remove(name) {
                Ok(()) => report.tasks.push(self.tell(TaskReport::new(name, Status::Removed))),
                Err(error) => report.errors.push(error),
            }
        }
        self.observer.boundary(Boundary::Pruned);
        !gone.is_empty()
    }

    /// Writes the lock and, last of all, the state.
    fn conclude(&self, state: &State, mut next: State, changed: bool, old_lock: &Lock, report: &mut Report) {
        let path = self.workspace.lock_file();
        let look = || fs::symlink_metadata(&path).ok().map(|metadata| Stat::of(&metadata));
        // What `--set` builds is not what the specs say, and a lock that is held against the build is not rewritten.
        let writes_lock = self.options.intent == Intent::Build && self.options.set.is_empty();
        let lock_is_still = matches!((state.lock, look()), (Some(then), Some(now)) if then.is_still(&now));
        if !changed && (lock_is_still || !writes_lock) {
            return;
        }
        if writes_lock {
            let lock = self.new_lock(&next, old_lock);
            match lock.write(&path) {
                Ok(_) => next.lock = look().map(|stat| stat.settled(SystemTime::now())),
                Err(error) => report.errors.push(error),
            }
            self.observer.boundary(Boundary::Locked);
        }
        let now = SystemTime::now();
        for task in next.tasks.values_mut() {
            task.outputs = std::mem::take(&mut task.outputs).settled(now);
        }
        if let Err(error) = next.save(&self.workspace.state_file()) {
            report.errors.push(error);
        }
        self.observer.boundary(Boundary::Saved);
    }

    /// The lock after the build: what was built as it is now, everything else that specs describe as it was.
    fn new_lock(&self, next: &State, old: &Lock) -> Lock {
        let mut lock = Lock::default();
        for name in next.specs.values().flat_map(|spec| &spec.tasks) {
            let entry =
                next.tasks.get(name).and_then(TaskRecord::lock).or_else(|| old.tasks.get(name).cloned());
            lock.tasks.extend(entry.map(|entry| (name.clone(), entry)));
        }
        // A spec that cannot be read may still describe what the lock says of it.
        if next.specs.len() < old.tasks.len() {
            let unread =
                self.discover().unwrap_or_default().iter().any(|path| !next.specs.contains_key(path));
            if unread {
                for (name, entry) in &old.tasks {
                    lock.tasks.entry(name.clone()).or_insert_with(|| entry.clone());
                }
            }
        }
        lock
    }
}

impl TaskReport {
    fn new(name: impl Into<String>, status: Status) -> Self {
        Self { name: name.into(), status, changes: Vec::<Change>::new(), damage: Vec::new() }
    }
}

fn address(group: &Arc<Group>) -> usize {
    Arc::as_ptr(group).addr()
}

/// Two specs that describe a task of one name would overwrite each other: the second one fails.
fn refuse_twins(plans: &mut [SpecPlan]) {
    let mut owners: HashMap<String, Utf8PathBuf> = HashMap::new();
    for plan in plans {
        let Some(record) = &plan.record else { continue };
        for name in &record.tasks {
            if let Some(owner) = owners.insert(name.clone(), plan.path.clone()) {
                let error = BuildError::new(format!(
                    "`{owner}` and `{}` both describe a task named `{name}`",
                    plan.path
                ))
                .hint("give one of them another name");
                plan.failure = Some(Failure::Error(error));
            }
        }
        if plan.failure.is_some() {
            plan.open.clear();
            plan.fresh.clear();
        }
    }
}

/// An error about a field of the spec, shown at its place.
fn located(loaded: &LoadedSpec, error: BuildError) -> Failure {
    let field = error.field();
    if field.is_empty() || error.is_interrupt() {
        return Failure::Error(error);
    }
    let hint = error.hint_text().unwrap_or_default();
    let diagnostic = loaded.error(&field, error.to_string(), hint);
    Failure::Spec(Diagnostics::new(vec![diagnostic], Vec::new()))
}

fn refuse_unlocked(name: &str, locked: Option<&LockEntry>, built: &LockEntry) -> Result<()> {
    let Some(locked) = locked else {
        return Err(BuildError::new(format!("the lock says nothing of `{name}`"))
            .hint("run `cargo xtask build-tasks` and commit `taskwright.lock`"));
    };
    let differences = locked.differences(built);
    if differences.is_empty() {
        return Ok(());
    }
    Err(BuildError::new(format!(
        "the lock does not describe what `{name}` builds now:\n  {}",
        differences.join("\n  ")
    ))
    .hint("run `cargo xtask build-tasks`, look at what changed, and commit `taskwright.lock`"))
}
