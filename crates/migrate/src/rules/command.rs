//! A program that scores, as the scorer of Mode A: two small scripts run it and read its report.

use std::fs;

use camino::Utf8Path;
use serde_json::json;
use taskwright_base::{Result, error::failed};
use taskwright_builder::scaffold::File;
use toml::Value as Toml;
use walkdir::WalkDir;

use crate::kind::Kind;
use crate::mapping::{At, Mapping, Rule};
use crate::notes::List;
use crate::yaml::{Entry, Value};

const COMMAND: &[Rule] = &[
    Rule::by("harness_source", harness),
    Rule::by("command", command),
    Rule::with("working_directory"),
    Rule::field("environment", Kind::Variables, "scorer.env", ""),
    Rule::by("passthrough_environment", passed_on),
    Rule::not("staged_inputs", "the program finds what lies in its own folder"),
    Rule::not("agent_context_inputs", "the optimizer is shown no files of samples"),
];

const RUN: &str = include_str!("../command/run.py");
const SCORE: &str = include_str!("../command/score.py");

/// `command_backend`.
pub fn backend(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let entry = at.entry.ok_or_else(|| mapping.missing("command_backend"))?;
    let map = mapping.map(entry)?;
    mapping.draft.comment("scorer", &entry.comments);
    mapping.draft.set("scorer", "path", "scorer", &[]);
    for side in ["run", "score"] {
        let words = ["python3".to_owned(), format!("{{scorer}}/{side}.py")];
        mapping.draft.set("scorer", side, words.map(Toml::from).to_vec(), &[]);
    }
    mapping.draft.set("dataset", "path", "dataset", &[]);
    add(mapping, "scorer/run.py", RUN.to_owned());
    add(mapping, "scorer/score.py", SCORE.to_owned());
    mapping.note(List::ToDecide, entry, "the program and the candidate share a process, as they do there, so the candidate can write the report: move what judges into scorer/score.py to trust it");
    mapping.apply(COMMAND, map, "scorer")
}

fn add(mapping: &mut Mapping, path: &str, text: String) {
    mapping.files.push(File { path: path.to_owned(), text, executable: false });
}

/// The program's folder becomes part of the scorer's.
fn harness(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let entry = at.entry.ok_or_else(|| mapping.missing("command_backend.harness_source"))?;
    let Value::Text(path) = &entry.node.value else {
        return Err(mapping.wrong(entry, &entry.node, "a text"));
    };
    let folder = mapping.places.named(path);
    if !folder.is_dir() {
        let message = format!("`{}`: there is no folder `{path}`", entry.path);
        return Err(mapping.error(entry.line, message).hint("bring it first: it holds what scores"));
    }
    let mut count = 0;
    for found in WalkDir::new(&folder).sort_by_file_name() {
        let found = found.map_err(|error| mapping.error(entry.line, format!("reading `{path}`: {error}")))?;
        let Some(file) = Utf8Path::from_path(found.path()).filter(|_| !found.file_type().is_dir()) else {
            continue;
        };
        let name = file.strip_prefix(&folder).unwrap_or(file);
        if !found.file_type().is_file() {
            mapping.note(
                List::ToDecide,
                entry,
                format!("`{name}` is no ordinary file: bring it to scorer/harness yourself"),
            );
            continue;
        }
        let bytes = fs::read(file).map_err(failed("reading", mapping.places.shown(file)))?;
        match String::from_utf8(bytes) {
            Ok(text) => add(mapping, &format!("scorer/harness/{name}"), text),
            Err(_) => mapping.note(
                List::ToDecide,
                entry,
                format!("`{name}` is no text: copy it to scorer/harness yourself"),
            ),
        }
        count += 1;
    }
    let files = taskwright_base::text::count(count, "file");
    mapping.note(
        List::Changed,
        entry,
        format!("{files} of `{path}` copied to scorer/harness; the ones there are no longer used"),
    );
    Ok(())
}

/// The program's arguments, which the scripts fill.
fn command(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let entry = at.entry.ok_or_else(|| mapping.missing("command_backend.command"))?;
    let words = mapping.value(entry, Kind::Texts)?;
    let folder = match at.map.get("working_directory") {
        Some(folder) => mapping.value(folder, Kind::Text)?,
        None => Toml::from("."),
    };
    let metric =
        mapping.draft.get("objective", "metric").and_then(Toml::as_str).unwrap_or("score").to_owned();
    let failure = mapping.draft.get("objective", "failure_value").cloned().unwrap_or(Toml::Float(0.0));
    let said = json!({ "command": words, "working_directory": folder, "metric": metric, "failure": failure });
    let text = serde_json::to_string_pretty(&said).unwrap_or_default() + "\n";
    add(mapping, "scorer/command.json", text);
    mapping.note(List::Changed, entry, "the request names one sample and no seed, and of the report the metrics and messages come back: files among the artifacts do not");
    Ok(())
}

/// Variables of the service: here both sides have their own few.
fn passed_on(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let Toml::Array(names) = mapping.value(entry, Kind::Texts)? else { return Ok(()) };
    for name in names.iter().filter_map(Toml::as_str) {
        pass_on(mapping, entry, name);
    }
    Ok(())
}

fn pass_on(mapping: &mut Mapping, entry: &Entry, name: &str) {
    if matches!(name, "PATH" | "HOME" | "TMPDIR" | "LANG") {
        mapping.note(
            List::Changed,
            entry,
            format!("`{name}` is always there, with a value of the candidate's own"),
        );
    } else {
        mapping.note(
            List::NotCarried,
            entry,
            format!(
                "`{name}`: nothing of the service's environment is passed on; give it a value in `scorer.env`"
            ),
        );
    }
}

/// The rows: one for each id.
pub fn rows(mapping: &mut Mapping) {
    let ids = mapping.partitions.values().flatten();
    let text = ids.map(|id| format!("{}\n", json!({ "id": id }))).collect();
    add(mapping, "dataset/rows.jsonl", text);
}
