//! The build itself: which tasks have to be looked at, what becomes of each, and what is remembered of it.
//!
//! ```text
//!  lock ──▶ look ─────────────────▶ make ─────────────────────▶ finish
//!           each spec and task:     what tasks share, once;     outputs without a spec go;
//!           as it was left (fresh)  then each open task:        taskwright.lock is written;
//!           or not (open)           gather, key, assemble,      the state is written last
//!                                   stage, publish
//! ```
//!
//! A build that is killed leaves each task old or new. What it published and could not remember is noted before
//! ([`crate::pending`]), and what no state describes is made again.

mod conclude;
pub mod described;
mod orphans;
mod plan;
mod task;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rayon::prelude::*;
use taskwright_language::model::{Baseline, Spec};

use self::conclude::{refuse_strangers, refuse_unproven, set_digest};
use self::plan::SpecPlan;
use self::task::{Done, Open};
use crate::depot::{self, Depot};
use crate::inputs::{Group, StatCache};
use crate::lock::Lock;
use crate::observe::{Boundary, Observer};
use crate::pending::Pending;
use crate::publish::Publisher;
use crate::report::{Report, Status, TaskReport};
use crate::shard::Shard;
use crate::state::{State, TaskRecord};
use crate::steps::{Context, Shared, baseline, dataset};
use crate::store::Store;
use crate::workspace::{Workspace, WorkspaceLock};
use taskwright_base::{Error, Result};

/// What a build is asked to do.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The tasks, or the folders of specs, to build; empty means all.
    pub names: Vec<String>,
    /// The part of them that this machine builds; none means all.
    pub shard: Option<Shard>,
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
    /// Read and check everything, and put nothing in its place.
    Judge,
}

impl Intent {
    /// Whether tasks are put into their places.
    fn publishes(self) -> bool {
        matches!(self, Self::Build | Self::Locked)
    }
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
        .map_err(|error| Error::new(format!("starting threads: {error}")))?;
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

/// What the first phase found out.
struct Looked {
    plans: Vec<SpecPlan>,
    /// Everything that earlier builds read, each group once.
    groups: Vec<Arc<Group>>,
    /// The lock that the build is held to; an empty one if it is not.
    held_to: Lock,
}

/// Where outputs are written, and what is known of those that no state remembers.
struct OutputFolder<'a> {
    publisher: Publisher<'a>,
    pending: Pending<'a>,
}

impl Build<'_> {
    fn run(&self) -> Result<Report> {
        self.workspace.check_out()?;
        let _lock = WorkspaceLock::acquire(self.workspace, self.observer, self.stop)?;
        let state = State::load(&self.workspace.state_file());
        self.refuse_newer_lock(&state)?;
        let store = Store::open(&self.workspace.store_dir())?;
        self.observer.boundary(Boundary::Started);

        let looked = self.look(&state, &store)?;
        let shared = Shared::default();
        let mut output = OutputFolder {
            publisher: Publisher::new(&self.workspace.out, self.workspace.staging_dir(), &store),
            pending: Pending::read(self.workspace, &state),
        };
        let done = self.make(&state, &store, &looked, &shared, &mut output)?;
        let mut report = self.finish(&state, &store, &looked, &shared, output, done);
        self.leave(&store, &shared, &report);
        report.tasks.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(report)
    }

    /// Finds the specs and, by looking at what they and their tasks were made from, which tasks have to be looked into.
    fn look(&self, state: &State, store: &Store) -> Result<Looked> {
        let paths = self.workspace.descriptions()?;
        let groups = state.groups();
        let root = crate::inputs::open_folder(&self.workspace.root.join("."))?;
        let unchanged: Vec<bool> = groups.par_iter().map(|group| group.is_unchanged_below(&root)).collect();
        // By address: a group is the same to two tasks only if they share it.
        let unchanged: HashMap<usize, bool> = groups.iter().map(address).zip(unchanged).collect();
        let is_unchanged = |group: &Arc<Group>| {
            !state.is_foreign && unchanged.get(&address(group)).copied().unwrap_or(false)
        };
        let set = set_digest(&self.options.set);
        // Reading it costs more than everything else of a build that finds nothing to do.
        let held_to = if self.is_held_to_lock() { self.old_lock()? } else { Lock::default() };
        let mut plans: Vec<SpecPlan> = paths
            .par_iter()
            .map(|path| self.plan(path, state, &held_to, store, &is_unchanged, set))
            .collect();
        self.refuse_unknown_names(&plans)?;
        self.refuse_unknown_parameters(&plans)?;
        self.refuse_twins(&mut plans);
        self.leave_to_others(&mut plans);
        self.observer.planned(plans.iter().map(|plan| plan.fresh.len() + plan.open.len()).sum());
        self.observer.boundary(Boundary::Planned);
        Ok(Looked { plans, groups, held_to })
    }

    /// Makes what open tasks share, then the tasks, each of which is staged and published on its own.
    fn make(
        &self,
        state: &State,
        store: &Store,
        looked: &Looked,
        shared: &Shared,
        output: &mut OutputFolder<'_>,
    ) -> Result<Vec<Done>> {
        let set = set_digest(&self.options.set);
        let open: Vec<Open<'_>> = looked.plans.iter().flat_map(|plan| plan.open(set)).collect();
        let cache = if open.is_empty() {
            StatCache::default()
        } else {
            StatCache::new(looked.groups.iter().map(Arc::as_ref))
        };
        let baselines: BTreeMap<String, &Baseline> = open
            .iter()
            .filter_map(|open| open.task.spec())
            .map(|spec| &spec.baseline)
            .map(|node| (baseline::id(node), node))
            .collect();
        let baselines: Vec<&Baseline> = baselines.into_values().collect();
        let context = Context {
            workspace: self.workspace,
            store,
            depot: self.depot(),
            state,
            cache: &cache,
            look_only: self.options.intent == Intent::Look,
            stop: self.stop,
            observer: self.observer,
            baselines: &baselines,
            shared,
        };
        if self.options.intent.publishes() {
            output.publisher.prepare()?;
            output.pending.note(open.iter().map(|open| open.task.name()), state)?;
        }
        make_shared(&context, &open);
        let publisher = &output.publisher;
        Ok(open.par_iter().map(|open| self.task(&context, publisher, &looked.held_to, open)).collect())
    }

    /// Removes outputs that no spec describes any more, writes the lock and, last of all, the state.
    fn finish(
        &self,
        state: &State,
        store: &Store,
        looked: &Looked,
        shared: &Shared,
        output: OutputFolder<'_>,
        done: Vec<Done>,
    ) -> Report {
        let Looked { plans, held_to, .. } = looked;
        let OutputFolder { publisher, mut pending } = output;
        let mut report = self.report(plans);
        if self.is_held_to_lock() && self.options.names.is_empty() {
            report.errors.extend(refuse_strangers(plans, held_to));
        }
        if self.is_held_to_lock() && self.workspace.demands_controls {
            report.errors.extend(refuse_unproven(plans, held_to));
        }
        // What the lock is refused for says it already.
        if report.errors.is_empty() {
            report.tasks.extend(self.orphans(state, plans, &pending.forgotten));
        }
        if self.is_settled(state, plans) && pending.forgotten.is_empty() {
            return report;
        }
        let mut next = Self::remember(state, plans, shared);
        let mut changed = plans.iter().any(|plan| plan.loaded);
        let now = SystemTime::now();
        for done in done {
            if let Some(built) = done.built {
                changed = true;
                next.tasks.insert(done.report.name.clone(), Arc::new(TaskRecord::new(built, now)));
            }
            report.tasks.push(done.report);
        }
        if !self.options.intent.publishes() {
            report.tasks.extend(self.abandoned(state, plans, &pending.forgotten).into_iter().map(|name| {
                let what = "no spec describes it any more".to_owned();
                let stale = TaskReport { damage: vec![what], ..TaskReport::new(name, Status::Abandoned) };
                self.tell(stale)
            }));
            return report;
        }
        changed |= self.prune(state, plans, &pending.forgotten, &publisher, &mut next, &mut report);
        report.errors.extend(publisher.finish().err());
        pending.keep_unknown(&next);
        self.conclude(state, next, plans, changed, store, &mut report);
        // Where the state could not be saved, all that was noted stays so.
        if report.errors.is_empty() {
            report.errors.extend(pending.save().err());
        }
        report
    }

    /// The store that machines share: whoever only looks neither takes nor leaves.
    fn depot(&self) -> Option<&dyn Depot> {
        self.workspace.depot.as_deref().filter(|_| self.options.intent.publishes())
    }

    /// Leaves for other machines what this one made, once all of it is remembered here. What the lock refused is not passed on.
    fn leave(&self, store: &Store, shared: &Shared, report: &Report) {
        let Some(depot) = self.depot() else { return };
        if self.options.intent == Intent::Build || report.is_success() {
            let made = shared.made.lock().unwrap_or_else(PoisonError::into_inner);
            for key in made.iter().take_while(|_| !self.stop.load(Ordering::Relaxed)) {
                depot::leave(depot, store, key);
            }
        }
        depot.complaints().iter().for_each(|what| self.observer.warning(what));
    }

    /// What the plans say without looking into any task.
    fn report(&self, plans: &[SpecPlan]) -> Report {
        let mut report =
            Report { tasks: Vec::new(), warnings: Vec::new(), errors: Vec::new(), elapsed: Duration::ZERO };
        for plan in plans {
            report.warnings.extend(plan.warnings.iter().cloned());
            report.tasks.extend(plan.failure.iter().map(|failure| {
                self.tell(TaskReport::new(plan.path.as_str(), Status::Failed(failure.clone())))
            }));
            report
                .tasks
                .extend(plan.fresh.iter().map(|name| self.tell(TaskReport::new(name, Status::UpToDate))));
        }
        report
    }

    /// Whether what is built has to be what the lock says. What `--set` builds never is.
    fn is_held_to_lock(&self) -> bool {
        self.options.intent == Intent::Locked && self.options.set.is_empty()
    }

    fn tell(&self, report: TaskReport) -> TaskReport {
        self.observer.task(&report);
        report
    }
}

/// Makes what tasks share before the tasks, so that no thread waits for another one's result. What fails here fails
/// again, with its place, in each task that needs it.
fn make_shared(context: &Context<'_>, open: &[Open<'_>]) {
    let datasets: BTreeMap<String, &Spec> = open
        .iter()
        .filter_map(|open| open.task.spec())
        .filter_map(|spec| Some((dataset::id(spec, spec.dataset.as_ref()?), spec)))
        .collect();
    let datasets: Vec<&Spec> = datasets.into_values().collect();
    rayon::join(
        || context.baselines.par_iter().for_each(|node| drop(baseline::shared(context, node))),
        || datasets.par_iter().for_each(|spec| drop(dataset::shared(context, spec))),
    );
}

fn address(group: &Arc<Group>) -> usize {
    Arc::as_ptr(group).addr()
}
