//! A spec that is being written: its tables and keys in the order in which they are first named, with comments.

use std::fmt::Write as _;

use toml::Value;

/// How wide a line may be before a list gets a line for each of its items.
const WIDTH: usize = 110;

/// A spec that is being written.
#[derive(Debug, Default)]
pub struct Draft {
    tables: Vec<Table>,
}

#[derive(Debug)]
struct Table {
    /// What tables are told apart by: the header, and for elements of a list of tables a number.
    id: String,
    /// As it stands between the brackets; empty for the keys before all tables.
    header: String,
    is_element: bool,
    comments: Vec<String>,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    key: String,
    value: Value,
    comments: Vec<String>,
}

impl Draft {
    /// Writes a key of a table. What was written there before is replaced, and its comments stay.
    pub fn set(&mut self, table: &str, key: &str, value: impl Into<Value>, comments: &[String]) {
        let lines = &mut self.table(table).lines;
        let value = value.into();
        match lines.iter_mut().find(|line| line.key == key) {
            Some(line) => {
                line.value = value;
                line.comments.extend_from_slice(comments);
            }
            None => lines.push(Line { key: key.to_owned(), value, comments: comments.to_vec() }),
        }
    }

    /// The value that was written for a key.
    pub fn get(&self, table: &str, key: &str) -> Option<&Value> {
        let table = self.tables.iter().find(|other| other.id == table)?;
        table.lines.iter().find(|line| line.key == key).map(|line| &line.value)
    }

    /// Adds what is to stand above a table, whose place this can be the first to fix.
    pub fn comment(&mut self, table: &str, comments: &[String]) {
        self.table(table).comments.extend_from_slice(comments);
    }

    /// Adds an element to a list of tables, and gives the name to write to it by.
    pub fn element(&mut self, header: &str) -> String {
        let count = self.tables.iter().filter(|table| table.is_element && table.header == header).count();
        let id = format!("{header}[{count}]");
        let (header, comments, lines) = (header.to_owned(), Vec::new(), Vec::new());
        self.tables.push(Table { id: id.clone(), header, is_element: true, comments, lines });
        id
    }

    fn table(&mut self, id: &str) -> &mut Table {
        let place = self.tables.iter().position(|table| table.id == id).unwrap_or_else(|| {
            let (id, header) = (id.to_owned(), id.to_owned());
            let table = Table { id, header, is_element: false, comments: Vec::new(), lines: Vec::new() };
            self.tables.push(table);
            self.tables.len() - 1
        });
        &mut self.tables[place]
    }

    /// The spec's text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // TOML wants the keys of no table before all tables.
        let (first, rest): (Vec<_>, Vec<_>) = self.tables.iter().partition(|table| table.header.is_empty());
        for table in first.into_iter().chain(rest) {
            if table.lines.is_empty() && !table.is_element {
                continue;
            }
            if !text.is_empty() {
                text.push('\n');
            }
            push_comments(&mut text, &table.comments);
            let _ = match (table.header.as_str(), table.is_element) {
                ("", _) => Ok(()),
                (header, true) => writeln!(text, "[[{header}]]"),
                (header, false) => writeln!(text, "[{header}]"),
            };
            for line in &table.lines {
                push_comments(&mut text, &line.comments);
                let _ = writeln!(text, "{} = {}", key(&line.key), written(&line.key, &line.value));
            }
        }
        text
    }
}

fn push_comments(text: &mut String, comments: &[String]) {
    for comment in comments {
        let clean: String = comment.chars().filter(|c| !c.is_control() || *c == '\t').collect();
        let _ = writeln!(text, "{}", format!("# {clean}").trim_end());
    }
}

/// A key as TOML writes it, in quotes where it needs them.
pub fn key(key: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !key.is_empty() && key.bytes().all(is_bare) {
        key.to_owned()
    } else {
        Value::String(key.to_owned()).to_string()
    }
}

fn written(key: &str, value: &Value) -> String {
    let line = value.to_string();
    match value {
        Value::Array(items) if key.len() + line.len() > WIDTH => {
            let items: String = items.iter().map(|item| format!("    {item},\n")).collect();
            format!("[\n{items}]")
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::Draft;
    use toml::Value;

    #[test]
    fn tables_stand_in_the_order_of_their_first_key() {
        let mut draft = Draft::default();
        draft.set("limits", "concurrency", 2, &["why two".to_owned()]);
        draft.set("", "name", "x", &[]);
        let target = draft.element("targets");
        draft.set(&target, "split", "test", &[]);
        let words: Vec<Value> = (0..12).map(|n| Value::from(format!("sample-{n:04}"))).collect();
        draft.set("splits.\"a.b\"", "samples", words, &[]);
        draft.set("limits", "concurrency", 3, &[]);
        let text = draft.text();
        assert!(
            text.starts_with("name = \"x\"\n\n[limits]\n# why two\nconcurrency = 3\n\n[[targets]]\n"),
            "{text}"
        );
        assert!(text.contains("samples = [\n    \"sample-0000\",\n"), "{text}");
        text.parse::<toml::Table>().unwrap();
    }
}
