//! Whether a task's version says what changed in it, and the line of the spec that would.

use std::collections::BTreeMap;

use serde::Serialize;
use taskwright_harbor::change::{Level, is_older};
use taskwright_language::{Diagnostic, Fix, Label};

use super::Row;
use crate::diff::{Changed, Fate};
use crate::engine::described::Described;
use taskwright_base::rule::Rule;
use taskwright_base::{Error, Result};

/// What a task's version says of what changed in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Moved {
    /// It is right.
    Fine,
    /// It has moved by less than what changed; whoever moved it may know better.
    Little {
        /// The level by which it moved.
        by: Level,
    },
    /// It has not moved forward, and Harbor would refuse to compare, or take one for the other.
    Not {
        /// What it has to be.
        to: String,
    },
}

/// Says of each task what its version says, and which do not go out as they are.
pub(super) fn judge(described: &BTreeMap<String, Described>, rows: &mut [Row]) -> Result<Vec<Error>> {
    let mut refusals = Vec::new();
    for row in rows.iter_mut() {
        let Some(new) = &row.new else { continue };
        let said = match (&new.version, &row.fate) {
            (None, _) => Err(Error::new("it has no version")
                .hint("write `version = \"1.0.0\"` under `[task]`: without one Harbor reuses nothing")),
            (Some(version), Some(Fate::Changed(changed))) => moved(version, changed),
            (Some(version), _) => Level::between(version, version).map(|_| Moved::Fine),
        };
        match said {
            Ok(moved) => row.version = moved,
            Err(error) => refusals.push(error.within(format!("`{}`", row.name)).of(Rule::Identity)),
        }
    }
    lines(described, rows)?;
    for row in rows {
        let (Moved::Not { to }, Some(Fate::Changed(changed))) = (&row.version, &row.fate) else { continue };
        let old = changed.old_version.as_deref().unwrap_or("none");
        let level = changed.level.unwrap_or(Level::Patch);
        let place = row.line.as_ref().map(|line| {
            let at = line.primary.source.position(line.primary.span.start);
            (line.primary.source.name().to_owned(), (at.line as u64, Some(at.column as u64)))
        });
        let error = Error::new(format!(
            "`{}` changed ({level}: {}) and its version did not move on from {old}",
            row.name,
            level.meaning()
        ))
        .hint(format!("write `version = \"{to}\"`; `--write` does"))
        .of(Rule::Identity);
        refusals.push(match place {
            Some((file, at)) => error.in_file(file, Some(at)),
            None => error,
        });
    }
    Ok(refusals)
}

fn moved(new: &str, changed: &Changed) -> Result<Moved> {
    let Some(old) = &changed.old_version else { return Level::between(new, new).map(|_| Moved::Fine) };
    let by = Level::between(old, new)?;
    let Some(level) = changed.level else { return Ok(Moved::Fine) };
    Ok(match by {
        Some(by) if !is_older(new, old)? => {
            if by < level {
                Moved::Little { by }
            } else {
                Moved::Fine
            }
        }
        _ => Moved::Not { to: level.next(old)? },
    })
}

/// Finds the lines that have to be others. Tasks of one line get the greatest version that one of them needs.
fn lines(described: &BTreeMap<String, Described>, rows: &mut [Row]) -> Result<()> {
    if !rows.iter().any(|row| matches!(row.version, Moved::Not { .. })) {
        return Ok(());
    }
    let place = |label: &Label| (label.source.name().to_owned(), label.span.start);
    let mut greatest = BTreeMap::new();
    for row in &*rows {
        let (Moved::Not { to }, Some(task)) = (&row.version, described.get(&row.name)) else { continue };
        let Some((label, _)) = line(task, to) else { continue };
        let known: &mut String = greatest.entry(place(&label)).or_insert_with(|| to.clone());
        if is_older(known, to)? {
            known.clone_from(to);
        }
    }
    for row in rows {
        let (Moved::Not { to }, Some(task)) = (&mut row.version, described.get(&row.name)) else { continue };
        let Some((label, _)) = line(task, to) else { continue };
        if let Some(greatest) = greatest.get(&place(&label)) {
            to.clone_from(greatest);
        }
        let Some((label, fix)) = line(task, to) else { continue };
        let message = format!("`{}` has to be {to}", row.name);
        row.line = Some(Diagnostic { fix, ..Diagnostic::error(label, message).of(Rule::Identity) });
    }
    Ok(())
}

/// Where a task's version stands, or would, and what to write there; nothing where it is the value of a parameter.
fn line(task: &Described, to: &str) -> Option<(Label, Option<Fix>)> {
    let quoted = toml::Value::from(to).to_string();
    let text = |label: &Label| label.source.text().get(label.span.clone()).unwrap_or_default().to_owned();
    match task {
        Described::ByHand(task) => task.version_at.clone().map(|label| (label, Some(Fix::Text(quoted)))),
        Described::Spec(loaded) => {
            let label = loaded.error(&["version"], "", "").primary;
            let is_text =
                |text: &str| text.len() > 1 && text.starts_with(['"', '\'']) && text.ends_with(['"', '\'']);
            let written = text(&label);
            if is_text(&written) && written[1..written.len() - 1] == loaded.spec.version {
                return Some((label, Some(Fix::Text(quoted))));
            }
            if written.contains("${") {
                return Some((label, None));
            }
            // It says none, which is 1.0.0: below the name there is room.
            let label = loaded.error(&["name"], "", "").primary;
            let name = text(&label);
            let fix = is_text(&name).then(|| Fix::Text(format!("{name}\nversion = {quoted}")));
            Some((label, fix))
        }
    }
}
