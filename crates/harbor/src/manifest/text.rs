//! TOML as Harbor's writer lays it out, which is Python's package `toml`: keys in the order given, tables after them,
//! lists with a comma after each value.

use taskwright_base::{Error, Result};
use toml::{Table, Value};

/// A table of a name, its keys in this order.
pub(super) fn table(name: &str, fields: &[(&str, Value)]) -> Result<String> {
    let fields = fields.iter().map(|(key, value)| (*key, value));
    let mut text = String::new();
    section(&mut text, name, fields)?;
    Ok(text)
}

/// A list of tables of texts.
pub(super) fn list(name: &str, tables: impl Iterator<Item = Vec<(&'static str, String)>>) -> Result<String> {
    let mut text = String::new();
    for fields in tables {
        text.push_str(&format!("[[{name}]]\n"));
        for (key, value) in fields {
            text.push_str(&format!("{key} = {}\n", quoted(&value)?));
        }
        text.push('\n');
    }
    Ok(if text.is_empty() { format!("{name} = []\n") } else { text })
}

/// A table with tables in it.
pub(super) fn tables(name: &str, table: &Table) -> Result<String> {
    let mut text = String::new();
    section(&mut text, name, table.iter().map(|(key, value)| (key.as_str(), value)))?;
    Ok(text)
}

/// A table, and level by level the tables in it.
fn section<'a>(
    text: &mut String,
    name: &str,
    fields: impl Iterator<Item = (&'a str, &'a Value)>,
) -> Result<()> {
    let mut level = vec![(name.to_owned(), body(name, fields)?)];
    while !level.is_empty() {
        let mut next = Vec::new();
        for (name, Body { keys, tables }) in level {
            if !keys.is_empty() || tables.is_empty() {
                if !text.is_empty() && !text.ends_with("\n\n") {
                    text.push('\n');
                }
                text.push_str(&format!("[{name}]\n{keys}"));
            }
            for (key, table) in tables {
                let name = format!("{name}.{key}");
                let below = body(&name, table.iter().map(|(key, value)| (key.as_str(), value)))?;
                next.push((name, below));
            }
        }
        level = next;
    }
    Ok(())
}

/// What a table holds: what is written below its head, and the tables that have heads of their own.
struct Body<'a> {
    keys: String,
    tables: Vec<(String, &'a Table)>,
}

fn body<'a>(name: &str, fields: impl Iterator<Item = (&'a str, &'a Value)>) -> Result<Body<'a>> {
    let (mut keys, mut lists, mut tables) = (String::new(), String::new(), Vec::new());
    for (key, value) in fields {
        let key = bare(key)?;
        match value {
            Value::Table(table) => tables.push((key, table)),
            Value::Array(items) if items.iter().any(Value::is_table) => {
                for table in items.iter().filter_map(Value::as_table) {
                    lists.push_str(&item(&format!("{name}.{key}"), table)?);
                }
            }
            value => keys.push_str(&format!("{key} = {}\n", plain(value)?)),
        }
    }
    Ok(Body { keys: keys + &lists, tables })
}

/// One table of a list of tables.
fn item(name: &str, table: &Table) -> Result<String> {
    let Body { keys, tables } = body(name, table.iter().map(|(key, value)| (key.as_str(), value)))?;
    let mut below = "\n".to_owned();
    let mut text = format!("[[{name}]]\n");
    if keys.starts_with('[') {
        below.push_str(&keys);
    } else {
        text.push_str(&keys);
    }
    let mut level = tables;
    while !level.is_empty() {
        let mut next = Vec::new();
        for (key, table) in level {
            let inner =
                body(&format!("{name}.{key}"), table.iter().map(|(key, value)| (key.as_str(), value)))?;
            if !inner.keys.is_empty() {
                below.push_str(&format!("[{name}.{key}]\n{}", inner.keys));
            }
            next.extend(inner.tables.into_iter().map(|(inner, table)| (format!("{key}.{inner}"), table)));
        }
        level = next;
    }
    Ok(text + &below)
}

fn bare(key: &str) -> Result<String> {
    let is_bare =
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if is_bare { Ok(key.to_owned()) } else { quoted(key) }
}

fn plain(value: &Value) -> Result<String> {
    Ok(match value {
        Value::String(text) => quoted(text)?,
        Value::Array(items) => {
            let mut text = "[".to_owned();
            for item in items {
                text.push_str(&format!(" {},", plain(item)?));
            }
            text + "]"
        }
        // Harbor keeps a day as the text of it.
        Value::Datetime(time) => quoted(&time.to_string())?,
        value => value.to_string(),
    })
}

/// A text as Python shows it, in double quotes: what can be printed stands as it is.
fn quoted(text: &str) -> Result<String> {
    if text.contains("\\x") {
        return Err(Error::new(format!(
            "`{text}` holds a backslash with an `x` after it, which Harbor's writer damages"
        ))
        .hint("write it otherwise: `harbor sync` would not leave it as it is"));
    }
    let mut quoted = "\"".to_owned();
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            character if is_printable(character) => quoted.push(character),
            character if u32::from(character) <= 0xffff => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            character => quoted.push_str(&format!("\\U{:08x}", u32::from(character))),
        }
    }
    quoted.push('"');
    Ok(quoted)
}

/// Whether Python would print a character as it is. After another character, Rust writes out just what it would not.
fn is_printable(character: char) -> bool {
    character == '\'' || format!("a{character}").escape_debug().eq(['a', character])
}
