//! What is remembered of a build, and what is removed at its end: the lock, the state, outputs without a spec.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;
use std::time::SystemTime;

use super::described::Described;
use super::plan::SpecPlan;
use super::{Build, Intent};
use crate::controls::unproven;
use crate::error::advised;
use crate::gc;
use crate::lock::{Lock, LockText};
use crate::lost::set_aside;
use crate::observe::Boundary;
use crate::publish::Publisher;
use crate::report::{Report, Status, TaskReport};
use crate::state::{NodeRecord, State};
use crate::steps::Shared;
use crate::store::Store;
use taskwright_base::Digest;
use taskwright_base::stamp::Stamp;
use taskwright_base::write::{Durable, atomic};
use taskwright_base::{Error, Result};

impl Build<'_> {
    /// The lock as it stood before the build.
    pub(super) fn old_lock(&self) -> Result<Lock> {
        match Lock::read(&self.workspace.lock_file()) {
            Ok(lock) => Ok(lock.unwrap_or_default()),
            // What cannot be read is made anew, unless it is what the build is to be held against.
            Err(error) if self.options.intent == Intent::Locked => Err(error),
            Err(_) => Ok(Lock::default()),
        }
    }

    /// Refuses to write a lock over one that a newer program wrote.
    pub(super) fn refuse_newer_lock(&self, state: &State) -> Result<()> {
        if !self.writes_lock() || self.lock_is_still(state) {
            Ok(())
        } else {
            Lock::refuse_newer(&self.workspace.lock_file())
        }
    }

    /// Whether nothing was looked into and nothing has to be removed or written: the common case, which must cost no
    /// more than finding that out.
    pub(super) fn is_settled(&self, state: &State, plans: &[SpecPlan]) -> bool {
        let is_still = |plan: &SpecPlan| {
            !plan.loaded
                && plan.failure.is_none()
                && state.specs.get(plan.path.as_str()).is_some_and(|known| {
                    plan.record.as_ref().is_some_and(|record| Arc::ptr_eq(known, record))
                })
        };
        let described: usize = state.specs.values().map(|spec| spec.tasks.len()).sum();
        plans.len() == state.specs.len()
            && plans.iter().all(is_still)
            && described == state.tasks.len()
            && (!self.writes_lock() || self.lock_is_still(state))
            && !self.workspace.staging_dir().exists()
    }

    /// What `--set` builds is not what the specs say, and a lock that is held against the build is not rewritten.
    fn writes_lock(&self) -> bool {
        self.options.intent == Intent::Build && self.options.set.is_empty()
    }

    fn lock_is_still(&self, state: &State) -> bool {
        matches!((state.lock, self.lock_stat()), (Some(then), Some(now)) if then.is_still(&now))
    }

    fn lock_stat(&self) -> Option<Stamp> {
        fs::symlink_metadata(self.workspace.lock_file()).ok().map(|metadata| Stamp::of(&metadata))
    }

    /// Takes over what is still true, so that only what changed has to be said again.
    pub(super) fn remember(state: &State, plans: &[SpecPlan], shared: &Shared) -> State {
        let mut next = State::default();
        next.lock = state.lock;
        // A task that fails now, or that nobody asked for, keeps what was remembered of its last good output; so does one
        // that no spec describes any more, until its output is removed.
        next.tasks.clone_from(&state.tasks);
        let records =
            plans.iter().filter_map(|plan| Some((plan.path.to_string(), Arc::clone(plan.record.as_ref()?))));
        next.specs.extend(records);
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
        next
    }

    /// The tasks that the specs describe; unknown as long as a spec cannot be read, or where `--set` makes the specs describe
    /// something else than they say.
    pub(super) fn described<'a>(&self, plans: &'a [SpecPlan]) -> Option<BTreeSet<&'a String>> {
        let records: Option<Vec<_>> = plans.iter().map(|plan| plan.record.as_ref()).collect();
        let records = records.filter(|_| self.options.set.is_empty())?;
        Some(records.into_iter().flat_map(|record| &record.tasks).collect())
    }

    /// Tasks that were built and that no spec describes any more; none where it is unknown what they describe.
    pub(super) fn abandoned(
        &self,
        state: &State,
        plans: &[SpecPlan],
        forgotten: &BTreeSet<String>,
    ) -> Vec<String> {
        let Some(described) = self.described(plans) else { return Vec::new() };
        state.tasks.keys().chain(forgotten).filter(|name| !described.contains(name)).cloned().collect()
    }

    /// Removes the outputs of tasks that no spec describes any more; only when every spec could be read.
    pub(super) fn prune(
        &self,
        state: &State,
        plans: &[SpecPlan],
        forgotten: &BTreeSet<String>,
        publisher: &Publisher<'_>,
        next: &mut State,
        report: &mut Report,
    ) -> bool {
        if report.is_interrupted() || !report.errors.is_empty() {
            return false;
        }
        let gone = self.abandoned(state, plans, forgotten);
        for name in &gone {
            let outputs = state.tasks.get(name).and_then(|task| task.outputs());
            let removed = set_aside(self.workspace, name, outputs.as_ref()).and_then(|lost| {
                publisher.remove(name)?;
                Ok(TaskReport { lost, ..TaskReport::new(name, Status::Removed) })
            });
            match removed {
                Ok(removed) => {
                    next.tasks.remove(name);
                    report.tasks.push(self.tell(removed));
                }
                Err(error) => report.errors.push(error),
            }
        }
        self.observer.boundary(Boundary::Pruned);
        !gone.is_empty()
    }

    /// Writes the lock and, last of all, the state.
    pub(super) fn conclude(
        &self,
        state: &State,
        mut next: State,
        plans: &[SpecPlan],
        changed: bool,
        store: &Store,
        report: &mut Report,
    ) {
        if !changed && (!self.writes_lock() || self.lock_is_still(state)) {
            return;
        }
        if self.writes_lock() {
            match self.new_lock(&next, plans).and_then(|lock| lock.write(&self.workspace.lock_file())) {
                Ok(_) => next.lock = self.lock_stat().map(|stat| stat.settled(SystemTime::now())),
                Err(error) => report.errors.push(error),
            }
            self.observer.boundary(Boundary::Locked);
        }
        next.forget_unused_nodes();
        let saved = self.say_where().and_then(|()| next.save(state, &self.workspace.state_file()));
        report.errors.extend(saved.err());
        self.observer.boundary(Boundary::Saved);
        // A store that did not grow is not worth walking.
        if store.added() > 0
            && let Err(error) = gc::collect(self.workspace, store, self.workspace.store_limit, gc::GRACE)
        {
            report.errors.push(error);
        }
    }

    /// Says where the tasks of the state are, so that one whose tasks are gone can go too.
    fn say_where(&self) -> Result<()> {
        let path = self.workspace.where_file();
        if path.exists() {
            return Ok(());
        }
        atomic(&path, Durable::No, self.workspace.out.as_str().as_bytes()).map_err(advised)
    }

    /// The lock after the build: what was built as it is now, everything else that specs describe as it was.
    fn new_lock(&self, next: &State, plans: &[SpecPlan]) -> Result<LockText> {
        let plain = plain_set();
        let mut lines: BTreeMap<&str, Cow<'_, str>> = BTreeMap::new();
        let mut others = BTreeSet::new();
        for name in next.specs.values().flat_map(|spec| &spec.tasks) {
            match next.tasks.get(name).filter(|task| task.set == plain).and_then(|task| task.lock()) {
                Some(task) => drop(lines.insert(name, Cow::Borrowed(task))),
                None => drop(others.insert(name)),
            }
        }
        let unread = plans.iter().any(|plan| plan.record.is_none());
        // Reading the old lock takes longer than writing the new one, and is only needed for what is not known better.
        let is_needed = unread || !others.is_empty() || Lock::holds_evidence(&self.workspace.lock_file());
        let old = if is_needed { self.old_lock()? } else { Lock::default() };
        // A spec that cannot be read may still describe what the lock says of it.
        for (name, entry) in old.tasks.iter().filter(|(name, _)| unread || others.contains(name)) {
            lines.entry(name).or_insert_with(|| Cow::Owned(entry.lines(name)));
        }
        for (name, lines) in &mut lines {
            let evidence = old.tasks.get(*name).map(|entry| entry.evidence(name)).unwrap_or_default();
            if !evidence.is_empty() {
                lines.to_mut().push_str(&evidence);
            }
        }
        Ok(LockText::new(&old.bases, lines.values().map(Cow::as_ref)))
    }
}

/// The digest of no `--set` arguments at all.
fn plain_set() -> Digest {
    set_digest(&BTreeMap::new())
}

/// What the lock says of tasks that no spec describes; nothing as long as a spec cannot be read.
pub(super) fn refuse_strangers(plans: &[SpecPlan], lock: &Lock) -> Option<Error> {
    if plans.iter().any(|plan| plan.record.is_none()) {
        return None;
    }
    let described: BTreeSet<&String> =
        plans.iter().flat_map(|plan| plan.record.iter().flat_map(|record| &record.tasks)).collect();
    let strangers: Vec<_> =
        lock.tasks.keys().filter(|name| !described.contains(name)).map(|name| format!("`{name}`")).collect();
    (!strangers.is_empty()).then(|| {
        Error::new(format!("the lock describes {}, which no spec does", strangers.join(", ")))
            .hint("run `cargo xtask build-tasks` and commit `taskwright.lock`")
    })
}

/// What was asked for and cannot be believed by what the lock says of its controls.
pub(super) fn refuse_unproven(plans: &[SpecPlan], lock: &Lock) -> Vec<Error> {
    let open = plans.iter().flat_map(|plan| plan.open.iter().map(Described::name));
    let names: BTreeSet<&String> = open.chain(plans.iter().flat_map(|plan| &plan.fresh)).collect();
    names.into_iter().filter_map(|name| unproven(name, lock.tasks.get(name)?)).collect()
}

/// A name for the `--set` arguments.
pub(super) fn set_digest(set: &BTreeMap<String, String>) -> Digest {
    Digest::of(serde_json::to_string(set).unwrap_or_default().as_bytes())
}
