//! Outputs that no spec describes and no build remembers: their state was lost, in a cache that was emptied or with another
//! version. They are named and stay, since nobody knows any more whether they are as they were written.

use std::collections::BTreeSet;
use std::fs;

use taskwright_harbor::names::check_dir_name;

use super::Build;
use super::plan::SpecPlan;
use crate::publish::is_output;
use crate::report::{Status, TaskReport};
use crate::state::State;
use crate::workspace::WHERE;

impl Build<'_> {
    /// Such outputs; none where it is unknown what the specs describe.
    pub(super) fn orphans(
        &self,
        state: &State,
        plans: &[SpecPlan],
        forgotten: &BTreeSet<String>,
    ) -> Vec<TaskReport> {
        let Some(described) = self.described(plans) else { return Vec::new() };
        let out = &self.workspace.out;
        let Ok(entries) = out.read_dir_utf8() else { return Vec::new() };
        let mut names: BTreeSet<String> =
            entries.flatten().map(|entry| entry.file_name().to_owned()).collect();
        names.retain(|name| {
            let is_known =
                described.contains(name) || state.tasks.contains_key(name) || forgotten.contains(name);
            !is_known && check_dir_name(name).is_ok() && is_output(&out.join(name))
        });
        if !names.is_empty() {
            let others = self.built_from_other_specs();
            names.retain(|name| !others.contains(name));
        }
        let what = "no spec describes it, and no build remembers it: a build leaves it, remove it if it is of no use";
        let orphan =
            |name| TaskReport { damage: vec![what.to_owned()], ..TaskReport::new(name, Status::Orphaned) };
        names.into_iter().map(orphan).map(|orphan| self.tell(orphan)).collect()
    }

    /// What other specs are known to have built to the same folder.
    fn built_from_other_specs(&self) -> BTreeSet<String> {
        let cache = self.workspace.cache_dir();
        let entries = cache.read_dir_utf8().into_iter().flatten().flatten();
        let pairs = entries.filter_map(|entry| {
            let pair = entry.file_name().strip_prefix(WHERE)?.to_owned();
            let out = fs::read_to_string(entry.path()).ok()?;
            (out == self.workspace.out.as_str()).then_some(pair)
        });
        let states = pairs.map(|pair| State::load(&cache.join(format!("state-{pair}"))));
        states.flat_map(|state| state.tasks.keys().cloned().collect::<Vec<_>>()).collect()
    }
}
