//! What to say about a value that does not fit: what would, and what was likely meant.

use taskwright_base::text::{nearest, one_of};

use super::{Shape, Shapes, TableShape};
use crate::tree::{Node, Sources, State, Value};

/// Keys of Harbor's task.toml that are no keys of a spec, because Taskwright writes them.
const OWNED: [(&str, &str); 7] = [
    ("task.agent.user", "Taskwright sets the agent's user, which it also makes in the image"),
    ("task.name", "a task is named by `name` and `organization`, at the top of the spec"),
    ("task.schema_version", "Taskwright writes the schema's version itself"),
    ("task.source", "Taskwright writes it itself"),
    ("task.task", "`name`, `version`, `description`, `authors` and `keywords` stand at the top of the spec"),
    (
        "task.verifier.environment_mode",
        "write `verifier = \"separate\"` or `\"shared\"` at the top of the spec",
    ),
    ("task.version", "`version` stands at the top of the spec"),
];

/// What fits a shape, in words.
pub fn wanted(shapes: &Shapes, shape: &Shape) -> String {
    match shape {
        Shape::Any => "anything".to_owned(),
        Shape::Boolean => "`true` or `false`".to_owned(),
        Shape::Integer { .. } => "a whole number".to_owned(),
        Shape::Float { .. } => "a number".to_owned(),
        Shape::Text { words, .. } if words.is_empty() => "a string".to_owned(),
        Shape::Text { words, .. } => {
            let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            one_of(quoted.iter().map(String::as_str))
        }
        Shape::Array { item } => match shapes.get(*item) {
            Shape::Text { .. } => "a list of strings".to_owned(),
            Shape::Table(_) => "a list of tables".to_owned(),
            _ => "a list".to_owned(),
        },
        Shape::Table(_) => "a table".to_owned(),
        Shape::Choice(forms) => {
            let mut all: Vec<String> = Vec::new();
            for form in forms {
                let word = wanted(shapes, shapes.get(*form));
                if !all.contains(&word) {
                    all.push(word);
                }
            }
            match all.split_last() {
                Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                _ => all.concat(),
            }
        }
    }
}

/// How a value of the wrong kind would be written in the right one; if that cannot be told, what the field means.
pub fn kind_hint(shapes: &Shapes, sources: &Sources, node: &Node, shape: &Shape, meaning: &str) -> String {
    let written = written(sources, node);
    match (&node.value, shape) {
        (Value::Text(text), Shape::Integer { .. } | Shape::Float { .. } | Shape::Boolean)
            if text.parse::<f64>().is_ok() || text == "true" || text == "false" =>
        {
            format!("write it without quotes: {text}")
        }
        _ if node.state != State::Written => meaning.to_owned(),
        (
            Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_),
            Shape::Text { .. },
        ) => {
            format!("put it in quotes: \"{written}\"")
        }
        (Value::Text(_), Shape::Array { item }) if matches!(shapes.get(*item), Shape::Text { .. }) => {
            format!("a list of one is written [{written}]")
        }
        _ => meaning.to_owned(),
    }
}

/// A value as it stands in its file.
pub fn written<'a>(sources: &'a Sources, node: &Node) -> &'a str {
    sources.get(node.origin.file).text().get(node.origin.span()).unwrap_or_default()
}

/// What to write instead of a word that has no meaning.
pub fn word_hint(text: &str, words: &[String]) -> String {
    let words = words.iter().map(String::as_str);
    let all = format!("it can be {}", one_of(words.clone()));
    match nearest(text, words) {
        Some(near) => format!("did you mean `{near}`? {all}"),
        None => all,
    }
}

/// What to write instead of a key that has no meaning: `path` is its full path, `close` the known key that it is most
/// like, `forms` the ways to write a table that is one of several.
pub fn key_hint(
    shapes: &Shapes,
    table: &TableShape,
    path: &str,
    key: &str,
    close: Option<&str>,
    forms: &str,
) -> String {
    if let Some((_, hint)) = OWNED.iter().find(|(owned, _)| *owned == path) {
        return (*hint).to_owned();
    }
    match (close, shapes.homes(key)) {
        (Some(close), []) => format!("did you mean `{close}`?"),
        (None, []) => format!("known here: {}", one_of(table.fields.keys().map(String::as_str))),
        _ if !forms.is_empty() => forms.to_owned(),
        (_, [home]) => format!("`{key}` belongs in {home}"),
        (_, [first, second]) => format!("`{key}` belongs in {first} or {second}"),
        (_, [first, second, third, ..]) => format!("`{key}` belongs in {first}, {second} or {third}"),
    }
}

/// The keys of each table that can stand at a place.
pub fn table_forms(forms: &[&Shape]) -> String {
    let shown: Vec<String> = forms
        .iter()
        .filter_map(|form| match form {
            Shape::Table(table) => {
                let keys: Vec<String> = table.fields.keys().map(|key| format!("{key} = ...")).collect();
                Some(format!("{{ {} }}", keys.join(", ")))
            }
            _ => None,
        })
        .collect();
    format!("write one of {}", shown.join(" or "))
}
