//! What a task is made of: the baseline, what lies over it, and the inner tasks with the Harbor that runs them.

use taskwright_base::Result;
use taskwright_harbor::{Release, tried};
use taskwright_language::model::Mode;
use toml::{Table, Value as Toml};

use crate::kind::Kind;
use crate::mapping::{At, Mapping};
use crate::notes::List;
use crate::yaml::{Entry, Map, Value};

/// The folder that the optimizer starts from.
pub fn baseline(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let entry = at.entry.ok_or_else(|| mapping.missing("agent_repo"))?;
    let text = plain(mapping, entry)?;
    if !mapping.places.named(&text).is_dir() {
        let message = format!("`agent_repo`: there is no folder `{text}`");
        return Err(mapping.error(entry.line, message).hint("bring it first: it is the baseline"));
    }
    let path = mapping.path(entry, &text);
    mapping.draft.set("baseline", "path", path, &entry.comments);
    Ok(())
}

fn plain(mapping: &Mapping, entry: &Entry) -> Result<String> {
    match &entry.node.value {
        Value::Text(text) if !text.contains("${") => Ok(text.clone()),
        Value::Text(text) => Err(mapping
            .error(entry.line, format!("`{}` is `{text}`, and a path cannot be a parameter", entry.path))
            .hint("write the path itself")),
        _ => Err(mapping.wrong(entry, &entry.node, "a text")),
    }
}

/// Paths that candidates must leave as they are: patterns here, where a folder is all that is in it.
pub fn read_only(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let Toml::Array(paths) = mapping.value(entry, Kind::Texts)? else { return Ok(()) };
    let baseline = at.map.get("agent_repo").map(|repo| plain(mapping, repo)).transpose()?.unwrap_or_default();
    let root = mapping.places.named(&baseline);
    let pattern = |path: Toml| {
        let path = path.as_str().unwrap_or_default().trim_end_matches('/').to_owned();
        Toml::from(if root.join(&path).is_dir() { format!("{path}/**") } else { path })
    };
    let patterns: Vec<Toml> = paths.into_iter().map(pattern).collect();
    mapping.draft.set("baseline", "read_only", patterns, &entry.comments);
    Ok(())
}

/// What is copied into the optimizer's workspace.
pub fn overlays(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let mut overlays = Vec::new();
    for map in mapping.maps(entry)? {
        overlays.push(Toml::Table(overlay(mapping, map)?));
    }
    mapping.draft.set("baseline", "overlays", overlays, &entry.comments);
    Ok(())
}

fn overlay(mapping: &mut Mapping, map: &Map) -> Result<Table> {
    let mut table = Table::new();
    for entry in &map.0 {
        let text = plain(mapping, entry)?;
        match entry.key.as_str() {
            "source" => {
                if mapping.places.named(&text).is_file() {
                    mapping.note(
                        List::ToDecide,
                        entry,
                        format!("`{text}` is a file: see that `to` names where it goes"),
                    );
                }
                table.insert("from".to_owned(), mapping.path(entry, &text).into());
            }
            "dest" => {
                table.insert("to".to_owned(), text.into());
            }
            _ => mapping.lose(entry, "vero has no such key"),
        }
    }
    Ok(table)
}

/// Where the inner tasks come from. A text with a pin is a registry's; all else is a folder, there or not.
pub fn tasks(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let entry = at.entry.ok_or_else(|| mapping.missing("task_source"))?;
    let text = plain(mapping, entry)?;
    let mut source = Table::new();
    match text.split_once('@').filter(|_| !mapping.places.named(&text).exists()) {
        Some((name, pin)) => {
            let key = if pin.starts_with("sha256:") { "digest" } else { "version" };
            source.insert("registry".to_owned(), name.into());
            source.insert(key.to_owned(), pin.into());
        }
        None => {
            if !mapping.places.named(&text).exists() {
                mapping.note(
                    List::ToDecide,
                    entry,
                    format!("`{text}` does not exist: fetch the tasks before you build"),
                );
            }
            source.insert("path".to_owned(), mapping.path(entry, &text).into());
        }
    }
    mapping.draft.set("harbor", "source", Toml::Table(source), &entry.comments);
    Ok(())
}

/// Whether the inner tasks are those of a registry, which are not here when a task is built.
pub fn is_registry(mapping: &Mapping) -> bool {
    mapping.draft.get("harbor", "source").and_then(|source| source.get("registry")).is_some()
}

/// `harbor[modal]==0.26.0`.
pub fn requirement(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let text = plain(mapping, entry)?;
    if mapping.mode == Mode::A {
        mapping.lose(entry, "nothing of Harbor runs beside what scores here");
        return Ok(());
    }
    let Some((package, version)) = text.split_once("==") else {
        mapping.lose(entry, "a revision of git cannot be named: the version is Taskwright's own");
        return Ok(());
    };
    let version = version.trim();
    let extras = package.trim().strip_prefix("harbor[").and_then(|rest| rest.strip_suffix(']'));
    mapping.draft.set("harbor", "version", version, &entry.comments);
    if let Some(extras) = extras {
        let extras: Vec<Toml> = extras.split(',').map(|extra| Toml::from(extra.trim())).collect();
        mapping.draft.set("harbor", "extras", extras, &[]);
    }
    if Release::of(version).is_none() {
        let text = format!(
            "Harbor {version} stays, and Taskwright was tried with {}: raise it here and in the baseline's own requirement together",
            tried()
        );
        mapping.note(List::ToDecide, entry, text);
    }
    Ok(())
}
