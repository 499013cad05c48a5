//! What to say about a value that does not fit: what would, and what was likely meant.

use taskwright_base::text::{nearest, one_of};

use super::{Shape, Shapes, TableShape, show_path, table_name};
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

/// A value of the wrong kind as it would be written in the right one: what to say of it and, where it can only be meant so, the
/// text itself. If it cannot be told, what the field means.
pub fn kind_hint(
    shapes: &Shapes,
    sources: &Sources,
    node: &Node,
    shape: &Shape,
    meaning: &str,
    path: &[String],
) -> (String, Option<String>) {
    let only = |hint: String| (hint, None);
    let written = written(sources, node);
    let name = show_path(path);
    match (&node.value, shape) {
        (Value::Text(text), Shape::Integer { .. } | Shape::Float { .. } | Shape::Boolean)
            if text.parse::<f64>().is_ok() || text == "true" || text == "false" =>
        {
            (format!("write it without quotes: {text}"), Some(text.clone()))
        }
        _ if node.state != State::Written => only(meaning.to_owned()),
        (
            Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_),
            Shape::Text { .. },
        ) => {
            let quoted = format!("\"{written}\"");
            (format!("put it in quotes: {quoted}"), Some(quoted))
        }
        (Value::Text(text), Shape::Array { item }) if matches!(shapes.get(*item), Shape::Text { .. }) => {
            if is_command(text, path) {
                let words = words_of_command(text);
                (format!("write each word of the command by itself: {words}"), Some(words))
            } else {
                only(format!("a list of one is written [{written}]"))
            }
        }
        (Value::Table(_), Shape::Array { item }) if matches!(shapes.get(*item), Shape::Table(_)) => {
            only(format!("write `[[{name}]]` with two brackets: each is one of the list"))
        }
        (Value::Array(items), Shape::Table(table)) if items.iter().all(|item| item.table().is_some()) => {
            only(match table.others {
                Some(_) => format!("write `[{name}.NAME]` with one bracket: each has a name of its own"),
                None => format!("write `[{name}]` with one bracket: there is only one"),
            })
        }
        (
            Value::Text(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_),
            Shape::Table(_) | Shape::Choice(_),
        ) => only(match field_for(shapes, &node.value, shape) {
            Some(key) => {
                let last = path.last().map_or("", String::as_str);
                format!("write `{} = {{ {key} = {written} }}`", show_path(&[last.to_owned()]))
            }
            None => meaning.to_owned(),
        }),
        _ => only(meaning.to_owned()),
    }
}

/// The key of a table, required before others, under which a value of this kind could stand; none if it is clear that it is
/// not meant for a table.
fn field_for<'a>(shapes: &'a Shapes, value: &Value, shape: &'a Shape) -> Option<&'a str> {
    let table = match shape {
        Shape::Table(table) => table,
        Shape::Choice(forms) => {
            let mut tables = forms.iter().filter_map(|form| match shapes.get(*form) {
                Shape::Table(table) => Some(table),
                _ => None,
            });
            tables.next().filter(|_| tables.next().is_none())?
        }
        _ => return None,
    };
    let fitting = || table.fields.iter().filter(|(_, field)| fits(shapes, value, shapes.get(field.shape)));
    let key = fitting().find(|(_, field)| field.required).or_else(|| fitting().next());
    key.map(|(key, _)| key.as_str())
}

/// Whether a value is of the kind that a shape, or one of its forms, wants.
fn fits(shapes: &Shapes, value: &Value, shape: &Shape) -> bool {
    match (value, shape) {
        (_, Shape::Choice(forms)) => forms.iter().any(|form| fits(shapes, value, shapes.get(*form))),
        (Value::Text(_), Shape::Text { words, .. }) => words.is_empty(),
        (Value::Integer(_), Shape::Integer { .. } | Shape::Float { .. })
        | (Value::Float(_), Shape::Float { .. })
        | (Value::Boolean(_), Shape::Boolean) => true,
        _ => false,
    }
}

/// Whether a text that stands for a list of words is a command.
fn is_command(text: &str, path: &[String]) -> bool {
    let is_place = path.first().is_some_and(|top| top == "scorer") && path.len() == 2;
    text.trim().contains(char::is_whitespace)
        && (is_place || text.contains("{scorer}") || text.starts_with('-'))
}

/// The words of a command as a list of TOML. Quotes hold words together, as in a shell.
pub fn words_of_command(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote): (Option<String>, Option<char>) = (None, None);
    for character in text.chars() {
        match (character, quote) {
            (character, Some(open)) if character == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (blank, None) if blank.is_whitespace() => words.extend(word.take()),
            (character, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("[{}]", quoted.join(", "))
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
        (_, homes) => format!("`{key}` belongs in {}", places(shapes, key, homes)),
    }
}

/// Where a key belongs, in at most three places. What stands below the header of a table is in that table, so it has to be said
/// how what belongs in the file itself is written; that is the likeliest mistake, and the last place that is named.
fn places(shapes: &Shapes, key: &str, homes: &[String]) -> String {
    let root = table_name(&[], shapes.noun());
    let (own, tables): (Vec<&String>, Vec<&String>) = homes.iter().partition(|home| **home == root);
    let mut words: Vec<String> = tables.into_iter().take(3 - own.len().min(1)).cloned().collect();
    if !own.is_empty() {
        let header = match shapes.field(shapes.root(), key) {
            Some(Shape::Table(_)) => format!(", or write it as `[{key}]`"),
            Some(Shape::Array { item }) if matches!(shapes.get(*item), Shape::Table(_)) => {
                format!(", or write it as `[[{key}]]`")
            }
            _ => String::new(),
        };
        words.push(format!("{root} itself: move it above the first `[table]`{header}"));
    }
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
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
