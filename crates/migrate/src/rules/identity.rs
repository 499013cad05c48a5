//! What the task is called, how it is found, and the names of what it may be given.

use taskwright_base::Result;
use taskwright_harbor::names::{check_dir_name, shorten};
use taskwright_language::model::Mode;

use crate::kind::Kind;
use crate::mapping::{At, Mapping};
use crate::notes::List;
use crate::params::with_defaults;
use crate::yaml::Value;

/// What the names of the public suite begin with, and what goes first where a name is too long.
const PREFIX: &str = "optimize-";

/// `org/name`: the task's own name must do for a folder, and keeps apart what lies beside one another as
/// `build.yaml` and `build.VARIANT.yaml`.
pub fn name(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let entry = at.entry.ok_or_else(|| mapping.missing("name"))?;
    let Value::Text(written) = &entry.node.value else {
        return Err(mapping.wrong(entry, &entry.node, "a text"));
    };
    let plain = with_defaults(written);
    if plain != *written {
        mapping.note(List::Changed, entry, format!("`{written}`: a name is fixed here, so it is `{plain}`"));
    }
    let (organization, own) = match plain.split_once('/') {
        Some((organization, own)) => (Some(organization), own),
        None => (None, plain.as_str()),
    };
    let variant = variant(mapping.places.file.file_name().unwrap_or_default());
    let full = match variant {
        Some(variant) if !own.split('-').any(|word| word == variant) => format!("{own}-{variant}"),
        _ => own.to_owned(),
    };
    let short = if check_dir_name(&full).is_ok() {
        full
    } else {
        shorten(full.strip_prefix(PREFIX).unwrap_or(&full))
    };
    if short != own {
        mapping.note(List::Changed, entry, format!("`{own}` is `{short}` here: at most 32 of a-z, 0-9 and `-`, and not the name of another variant"));
    }
    mapping.draft.comment("", &entry.comments);
    if let Some(organization) = organization {
        mapping.draft.set("", "organization", organization, &[]);
    }
    mapping.draft.set("", "name", short.as_str(), &[]);
    mapping.draft.set("", "mode", if mapping.mode == Mode::A { "a" } else { "b" }, &[]);
    mapping.name = short;
    Ok(())
}

/// Of `build.azure.yaml`, `azure`.
fn variant(file: &str) -> Option<&str> {
    let (_, variant) = file.rsplit_once('.')?.0.split_once('.')?;
    Some(variant)
}

/// The splits have no name of their own here; theirs becomes a word to find the task by.
pub fn keywords(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let word = mapping.value(entry, Kind::Text)?;
    mapping.draft.set("", "keywords", vec![word], &entry.comments);
    Ok(())
}

/// A run is refused where a variable has no value, so those that nothing here reads stay out.
pub fn secrets(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let toml::Value::Array(names) = mapping.value(entry, Kind::Texts)? else { return Ok(()) };
    let (unread, kept): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| name.as_str().is_some_and(|name| name.starts_with("WANDB_")));
    for name in unread {
        let text = format!(
            "`{}`: nothing here reports to W&B, and a run would be refused for want of it",
            text(&name)
        );
        mapping.note(List::NotCarried, entry, text);
    }
    if !kept.is_empty() {
        mapping.draft.set("", "secrets", kept, &entry.comments);
    }
    Ok(())
}

fn text(value: &toml::Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A user's name there; here only whether the candidate runs as root.
pub fn harness_user(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let run_as = match &entry.node.value {
        Value::Null => {
            mapping.note(List::ToDecide, entry, "null: the candidate runs as root, beside the held-out data: only for candidates that you trust");
            "root"
        }
        Value::Text(user) => {
            if user != "harness" {
                mapping.note(List::Changed, entry, format!("`{user}`: the user has another name here"));
            }
            "unprivileged"
        }
        _ => return Err(mapping.wrong(entry, &entry.node, "a text, or null")),
    };
    mapping.draft.set("harbor", "run_as", run_as, &entry.comments);
    Ok(())
}
