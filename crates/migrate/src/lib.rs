//! Turns a `build.yaml` of the public reference into a spec.
//!
//! ```text
//!   yaml ──▶ rules, key by key ──▶ draft of the spec, files beside it
//!                   └────────────▶ notes: changed in meaning, not carried, to decide
//! ```
//!
//! Every value of the configuration stands in the spec or in a note.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::iter_over_hash_type, clippy::too_many_lines))]

mod draft;
mod find;
mod finish;
mod kind;
mod mapping;
mod notes;
mod params;
mod places;
mod rules;
pub mod yaml;

use taskwright_base::{Result, error::failed};
use taskwright_builder::scaffold::File;
use taskwright_language::model::Mode;

use mapping::Mapping;
use yaml::{Map, Value};

pub use find::find;
pub use notes::{List, Note};
pub use places::Places;
pub use rules::keys;

/// What a configuration became.
#[derive(Debug)]
pub struct Migration {
    /// The task's name: that of its folder among the specs.
    pub name: String,
    /// The files of that folder, with `spec.toml`.
    pub files: Vec<File>,
    /// What to know, in the order of the lists and then of the lines.
    pub notes: Vec<Note>,
}

/// Reads a configuration and what it names, and says what its spec would be. Nothing is written.
///
/// # Errors
/// What is no configuration, with its line; a file that it names and that is not there.
pub fn migrate(places: Places) -> Result<Migration> {
    let shown = places.shown(&places.file).to_owned();
    let text = std::fs::read_to_string(&places.file).map_err(failed("reading", &shown))?;
    let map = yaml::read(&text).map_err(|fault| fault.in_file(&shown))?;
    spec_of(places, &map)
}

/// The same for a configuration that was read before.
///
/// # Errors
/// A value that no configuration can have; a file that it names and that is not there.
pub fn spec_of(places: Places, map: &Map) -> Result<Migration> {
    let mode = mode(map);
    let mut mapping = Mapping::new(places, mode);
    if let Some(entry) = map.get("evaluation_backend") {
        mapping.check_backend(entry)?;
    }
    // Before all other tables, though what is in it is found while they are written.
    mapping.draft.comment("params", &[]);
    mapping.apply(rules::RULES, map, "")?;
    if mode == Mode::A {
        rules::rows(&mut mapping);
    }
    finish::raise_finalization(&mut mapping, map);
    for (name, value) in mapping.params.entries() {
        mapping.draft.set("params", name, value.clone(), &[]);
    }
    mapping.notes.sort_by_key(|note| (note.list, note.line));
    let spec = File { path: "spec.toml".to_owned(), text: mapping.draft.text(), executable: false };
    mapping.files.push(spec);
    mapping.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Migration { name: mapping.name, files: mapping.files, notes: mapping.notes })
}

fn mode(map: &Map) -> Mode {
    match map.get("evaluation_backend").map(|entry| &entry.node.value) {
        Some(Value::Text(word)) if word == "command" => Mode::A,
        _ => Mode::B,
    }
}
