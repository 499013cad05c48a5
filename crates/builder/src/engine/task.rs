//! What becomes of one task that has to be looked into: up to date after all, built, stale or failed.

use std::sync::Arc;

use super::Build;
use super::described::Described;
use crate::inputs::Group;
use crate::key::Key;
use crate::lock::{Lock, LockEntry};
use crate::lost::{is_as_locked, set_aside};
use crate::observe::Boundary;
use crate::publish::{Outputs, Publisher};
use crate::report::{Status, TaskReport};
use crate::state::{Built, Section};
use crate::steps::{Context, listing};
use crate::tree::Tree;
use taskwright_base::Digest;
use taskwright_base::{Error, Result};

/// A task that has to be looked into.
pub(super) struct Open<'a> {
    pub(super) task: &'a Described,
    /// The files that describe it.
    pub(super) group: &'a Arc<Group>,
    /// The digest of the `--set` arguments.
    pub(super) set: Digest,
}

/// What became of one task that was looked into.
pub(super) struct Done {
    pub(super) report: TaskReport,
    /// None if there is nothing to remember beyond what was remembered before.
    pub(super) built: Option<Built>,
}

impl Build<'_> {
    pub(super) fn task(
        &self,
        context: &Context<'_>,
        publisher: &Publisher<'_>,
        lock: &Lock,
        open: &Open<'_>,
    ) -> Done {
        let name = open.task.name();
        let mut report = TaskReport::new(name, Status::UpToDate);
        let built = match self.look_into(context, publisher, lock, open, &mut report) {
            Ok(built) => built,
            Err(error) if error.is_stale() => {
                report.status = Status::Stale;
                report.damage.push(error.to_string());
                None
            }
            Err(error) => {
                report.status = Status::Failed(open.task.failure(error));
                None
            }
        };
        Done { report: self.tell(report), built }
    }

    fn look_into(
        &self,
        context: &Context<'_>,
        publisher: &Publisher<'_>,
        lock: &Lock,
        open: &Open<'_>,
        report: &mut TaskReport,
    ) -> Result<Option<Built>> {
        context.check_stop()?;
        let name = open.task.name();
        let folder = self.workspace.out.join(name);
        let old = context.state.tasks.get(name);
        let ingredients = open.task.gather(context)?;
        let mut groups = ingredients.groups();
        groups.push(Arc::clone(open.group));
        let key = ingredients.key();
        let old_key = old.and_then(|old| old.key());
        let old_outputs = old.and_then(|old| old.outputs());
        let changes = old_key.as_ref().map(|old| Key::changes(old, &key)).unwrap_or_default();
        report.changes = listing::expand(context.store, changes);
        let whole = old_outputs.as_ref().is_some_and(|outputs| {
            if self.options.verify || !outputs.is_untouched(&folder) {
                report.damage = outputs.damage(&folder);
            }
            report.damage.is_empty()
        });
        let built =
            |outputs, lock| Some(Built { set: open.set, groups, outputs, key: Section::new(&key), lock });
        if let Some(outputs) = &old_outputs
            && let Some(lines) = old.and_then(|old| old.lock())
            && whole
            && old_key.as_ref() == Some(&key)
            && !self.options.force
            && (!self.is_held_to_lock() || lock.says(name, lines))
        {
            return Ok(built(outputs.looked_at_again(&folder)?, lines.to_owned()));
        }
        if !self.options.intent.publishes() {
            report.status = Status::Stale;
            return Ok(None);
        }
        let (tree, entry) = ingredients.assemble(context)?;
        if self.is_held_to_lock() {
            refuse_unlocked(name, lock.tasks.get(name), &entry)?;
        }
        context.boundary(Boundary::Rendered)?;
        let standing = match &old_outputs {
            _ if self.options.force => None,
            Some(old) if whole && old.tree == Some(tree.digest()) => Some(old.looked_at_again(&folder)?),
            // What stands there is what was written, and that was something else.
            Some(_) if whole => None,
            _ => publisher.adopt(name, &tree),
        };
        let outputs = match standing {
            Some(outputs) => outputs,
            None => self.replace(context, publisher, &tree, old_outputs.as_ref(), whole, report)?,
        };
        self.observer.boundary(Boundary::Published);
        Ok(built(outputs, entry.lines(name)))
    }
}

impl Build<'_> {
    /// Puts a task in its place, from which what no build wrote is moved first.
    fn replace(
        &self,
        context: &Context<'_>,
        publisher: &Publisher<'_>,
        tree: &Tree,
        written: Option<&Outputs>,
        is_whole: bool,
        report: &mut TaskReport,
    ) -> Result<Outputs> {
        // The lock is only asked of what is in the way: reading it takes longer than looking.
        if written.is_none()
            && let Err(stranger) = publisher.refuse_strangers(&report.name)
            && !is_as_locked(self.workspace, &report.name)
        {
            return Err(stranger);
        }
        let staged = publisher.stage(&report.name, tree)?;
        context.boundary(Boundary::Staged)?;
        if !is_whole {
            report.lost = set_aside(self.workspace, &report.name, written)?;
        }
        report.status = Status::Built;
        publisher.publish(&report.name, staged)
    }
}

fn refuse_unlocked(name: &str, locked: Option<&LockEntry>, built: &LockEntry) -> Result<()> {
    let Some(locked) = locked else {
        return Err(Error::new(format!("the lock says nothing of `{name}`"))
            .hint("run `cargo xtask build-tasks` and commit `taskwright.lock`"));
    };
    let differences = locked.differences(built);
    if differences.is_empty() {
        return Ok(());
    }
    Err(Error::new(format!(
        "the lock does not describe what `{name}` builds now:\n  {}",
        differences.join("\n  ")
    ))
    .hint("run `cargo xtask build-tasks`, look at what changed, and commit `taskwright.lock`"))
}
