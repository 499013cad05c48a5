//! What changed between two locks, told: `build-tasks --diff`, and `release`.

use std::collections::BTreeMap;

use serde_json::json;
use taskwright_base::Error;
use taskwright_base::text::count;
use taskwright_builder::Workspace;
use taskwright_builder::diff::{Changed, Fate, PartChange, Past, differences};
use taskwright_builder::lock::Lock;
use taskwright_harbor::change::{Level, is_older};

use crate::exit::{self, Status};
use crate::output::{self, GREEN, RED, YELLOW, paint_answer};
use crate::workspace::{from_here, task_name};

/// Says what changed since a revision or another lock.
pub fn run(workspace: &Workspace, names: &[String], past: &str, json: bool) -> anyhow::Result<Status> {
    let past = open(workspace, past)?;
    let mut fates = differences(workspace, &past)?;
    let names: Vec<String> = names.iter().map(|name| task_name(workspace, name)).collect();
    if !names.is_empty() {
        let now = Lock::read(&workspace.lock_file())?.unwrap_or_default();
        let is_known = |name: &&String| now.tasks.contains_key(*name) || past.lock.tasks.contains_key(*name);
        if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
            let error = Error::new(format!("neither lock has a task `{unknown}`"));
            return Err(error
                .hint("name tasks as the lock does; without a name all are compared")
                .usage()
                .into());
        }
        fates.retain(|name, _| names.contains(name));
    }
    output::print(&if json { json_lines(&fates, &past) } else { text(&fates, &past) })?;
    Ok(exit::SUCCESS)
}

/// What somebody named: a revision, or a lock from here.
pub fn open(workspace: &Workspace, named: &str) -> anyhow::Result<Past> {
    Ok(Past::open(workspace, named, &from_here(named.into())?)?)
}

fn text(fates: &BTreeMap<String, Fate>, past: &Past) -> String {
    let mut text = String::new();
    for (name, fate) in fates {
        let (word, color, said) = match fate {
            Fate::Came { version } => ("came", GREEN, version.clone().unwrap_or_default()),
            Fate::Went { version } => ("went", RED, version.clone().unwrap_or_default()),
            Fate::Changed(changed) => {
                ("changed", YELLOW, format!("{}: {}", versions(changed), meaning(changed)))
            }
        };
        text.push_str(format!("{} {name} {said}", paint_answer(&format!("{word:>10}"), color)).trim_end());
        text.push('\n');
        if let Fate::Changed(changed) = fate {
            for line in changed.parts.iter().flat_map(lines).chain(advice(changed)) {
                text.push_str(&format!("{:>10}   {line}\n", ""));
            }
        }
    }
    let number = |is: fn(&Fate) -> bool| fates.values().filter(|fate| is(fate)).count();
    let words = [
        (number(|fate| matches!(fate, Fate::Changed(_))), "changed"),
        (number(|fate| matches!(fate, Fate::Came { .. })), "came"),
        (number(|fate| matches!(fate, Fate::Went { .. })), "went"),
    ];
    let words: Vec<String> =
        words.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let words = if words.is_empty() { "nothing changed".to_owned() } else { words.join(", ") };
    text + &format!("{words} since {}\n", past.shown)
}

fn json_lines(fates: &BTreeMap<String, Fate>, past: &Past) -> String {
    let line = |(name, fate): (&String, &Fate)| {
        let mut object = json!(fate);
        object["reason"] = json!("difference");
        object["name"] = json!(name);
        if let Fate::Changed(changed) = fate {
            object["meaning"] = json!(changed.level.map(Level::meaning));
        }
        format!("{object}\n")
    };
    let lines: String = fates.iter().map(line).collect();
    lines + &format!("{}\n", json!({"reason": "summary", "since": past.shown, "differences": fates.len()}))
}

fn versions(changed: &Changed) -> String {
    let shown = |version: &Option<String>| version.clone().unwrap_or_else(|| "no version".to_owned());
    let (old, new) = (shown(&changed.old_version), shown(&changed.new_version));
    if old == new { old } else { format!("{old} -> {new}") }
}

/// What a change means to earlier trials, in a word and what it stands for.
pub fn meaning(changed: &Changed) -> String {
    match changed.level {
        Some(level) => format!("{level}, {}", level.meaning()),
        None => "nothing that Harbor sees".to_owned(),
    }
}

/// What changed in a part: a line for the part, and one for each key and file.
fn lines(part: &PartChange) -> Vec<String> {
    /// More files than this are counted.
    const MOST: usize = 8;
    let level = part.level.map_or(String::new(), |level| format!(" ({level})"));
    let head = match &part.note {
        Some(note) => format!("{}{level}: {note}", part.part),
        None => format!("{}{level}", part.part),
    };
    let more = part.files.len().saturating_sub(MOST);
    let keys = part.keys.iter().map(|key| format!("  {key}"));
    let files = part.files.iter().take(MOST).map(|file| format!("  `{file}`"));
    let rest = (more > 0).then(|| format!("  and {}", count(more as u64, "other")));
    std::iter::once(head).chain(keys).chain(files).chain(rest).collect()
}

/// What is wrong with the version, if anything is.
fn advice(changed: &Changed) -> Option<String> {
    let (Some(level), Some(old), Some(new)) = (changed.level, &changed.old_version, &changed.new_version)
    else {
        return None;
    };
    let next = level.next(old).ok()?;
    match Level::between(old, new).ok()? {
        None => Some(format!("its version has not moved: `version = \"{next}\"` says what changed")),
        Some(_) if is_older(new, old).unwrap_or(false) => {
            Some(format!("its version went back: `version = \"{next}\"` says what changed"))
        }
        Some(by) if by < level => {
            Some(format!("its version says {by}: `version = \"{next}\"` says what changed"))
        }
        Some(_) => None,
    }
}
