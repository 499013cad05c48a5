//! The names of tasks that are about to be published for the first time, noted before they are: the output of a build
//! that was killed before it saved its state is then still known to be one, and goes when its spec has gone.

use std::collections::BTreeSet;
use std::fs;

use taskwright_harbor::names::check_dir_name;

use crate::error::advised;
use crate::publish::{is_output, remove_file};
use crate::state::State;
use crate::workspace::Workspace;
use taskwright_base::Result;
use taskwright_base::write::{Durable, atomic};

/// Outputs that no state remembers, or none yet.
pub struct Pending<'a> {
    workspace: &'a Workspace,
    /// What an earlier build published, which was killed before it could remember it.
    pub forgotten: BTreeSet<String>,
    noted: BTreeSet<String>,
}

impl<'a> Pending<'a> {
    /// What earlier builds noted, as far as it stands there and the state does not know it.
    pub fn read(workspace: &'a Workspace, state: &State) -> Self {
        let text = fs::read_to_string(workspace.pending_file()).unwrap_or_default();
        let names = text.lines().filter(|name| check_dir_name(name).is_ok());
        let mut pending =
            Self { workspace, forgotten: BTreeSet::new(), noted: names.map(str::to_owned).collect() };
        pending.keep_unknown(state);
        pending.forgotten.clone_from(&pending.noted);
        pending
    }

    /// Notes what is about to be published and is not in the state.
    pub fn note<'b>(&mut self, names: impl Iterator<Item = &'b String>, state: &State) -> Result<()> {
        self.noted.extend(names.filter(|name| !state.tasks.contains_key(*name)).cloned());
        if self.noted.is_empty() { Ok(()) } else { self.save() }
    }

    /// Keeps what stands there and is not in a state.
    pub fn keep_unknown(&mut self, state: &State) {
        let out = &self.workspace.out;
        self.noted.retain(|name| !state.tasks.contains_key(name) && is_output(&out.join(name)));
    }

    /// Writes what is noted; no file stands for nothing.
    pub fn save(&self) -> Result<()> {
        let path = self.workspace.pending_file();
        if !self.noted.is_empty() {
            let text: String = self.noted.iter().flat_map(|name| [name, "\n"]).collect();
            return atomic(&path, Durable::No, text.as_bytes()).map_err(advised);
        }
        remove_file(&path)
    }
}
