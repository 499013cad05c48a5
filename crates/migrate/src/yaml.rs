//! Reads YAML to a tree that knows its lines and the comments above each key.
//!
//! Scalars mean what vero's reader takes them for, which reads YAML 1.1. Aliases and merge keys are resolved; a key that
//! stands twice is an error, though that reader would silently take the last.

mod comments;
mod scalar;

use std::collections::BTreeMap;

use granit_parser::{Event, Parser, ScalarStyle, Span, Tag};
use taskwright_base::Error;

/// The most nodes that a file may come to once its aliases are resolved.
const MOST: usize = 100_000;

/// A value with the line that it begins on.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it holds.
    pub value: Value,
    /// The line; the first is 1.
    pub line: u64,
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the names of YAML's own kinds")]
pub enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Map),
}

/// The entries of a mapping, in the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map(pub Vec<Entry>);

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key alone.
    pub key: String,
    /// The keys from the root: `targets[0].reward_key`.
    pub path: String,
    /// The line of the key.
    pub line: u64,
    /// The comments above it and beside it, without their `#`.
    pub comments: Vec<String>,
    /// Its value.
    pub node: Node,
}

impl Map {
    /// The entry of a key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.key == key)
    }
}

impl Value {
    /// What it is, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a truth value",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }

    /// The value, to be read.
    pub fn shown(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(flag) => flag.to_string(),
            Self::Integer(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Text(text) => format!("`{text}`"),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.value.shown()).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Map(_) => "{}".to_owned(),
        }
    }
}

/// The mapping that a file holds.
///
/// # Errors
/// What is no YAML, or no single mapping of texts; a key that stands twice. The place is a line and a column.
pub fn read(text: &str) -> Result<Map, Fault> {
    let mut builder = Builder::default();
    let mut comments = BTreeMap::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let place = error.marker();
            Fault::new((place.line() as u64, place.col() as u64 + 1), error.info())
        })?;
        match event {
            Event::Comment(words, _) => {
                comments.insert(line(&span), words.trim_end().to_owned());
            }
            event => builder.take(event, &span)?,
        }
    }
    let root = builder.root.ok_or_else(|| Fault::new((1, 1), "the file says nothing"))?;
    let Value::Map(mut map) = root.value else {
        return Err(Fault::new((root.line, 1), format!("the file is {}, not a mapping", root.value.kind())));
    };
    comments::attach(&mut map, comments);
    name_paths(&mut map, "");
    Ok(map)
}

/// What is wrong with a file, and the line and column.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The line and the column.
    pub at: (u64, u64),
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
}

impl Fault {
    fn new(at: (u64, u64), message: impl Into<String>) -> Self {
        Self { at, message: message.into(), hint: None }
    }

    fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    /// As an error about a file.
    pub fn in_file(self, file: &camino::Utf8Path) -> Error {
        let error = Error::new(self.message).in_file(file, Some((self.at.0, Some(self.at.1))));
        match self.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

fn line(span: &Span) -> u64 {
    span.start.line() as u64
}

fn place(span: &Span) -> (u64, u64) {
    (line(span), span.start.col() as u64 + 1)
}

/// A collection that is not yet complete.
enum Open {
    List { items: Vec<Node>, line: u64, anchor: usize },
    Map { entries: Vec<Entry>, merged: Vec<Entry>, key: Option<Key>, line: u64, anchor: usize },
}

struct Key {
    name: String,
    line: u64,
    /// `<<`, not in quotes: its value's entries count as the mapping's own.
    is_merge: bool,
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    root: Option<Node>,
    nodes: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), Fault> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_plain = style == ScalarStyle::Plain;
                if let Some(Open::Map { key: key @ None, .. }) = self.open.last_mut() {
                    let is_merge = is_plain && text == "<<";
                    *key = Some(Key { name: text.into_owned(), line: line(span), is_merge });
                    return Ok(());
                }
                let value = match tag {
                    Some(tag) if tag.core_suffix() == Some("str") => Value::Text(text.into_owned()),
                    Some(tag) => return Err(strange_tag(&tag, span)),
                    None if is_plain => {
                        scalar::resolve(&text).map_err(|what| Fault::new(place(span), what))?
                    }
                    None => Value::Text(text.into_owned()),
                };
                self.complete(Node { value, line: line(span) }, anchor, span)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.begin(Open::List { items: Vec::new(), line: line(span), anchor }, tag.as_deref(), span)
            }
            Event::MappingStart(_, anchor, tag) => {
                let map = Open::Map {
                    entries: Vec::new(),
                    merged: Vec::new(),
                    key: None,
                    line: line(span),
                    anchor,
                };
                self.begin(map, tag.as_deref(), span)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List { items, line, anchor }) => {
                    self.complete(Node { value: Value::List(items), line }, anchor, span)
                }
                Some(Open::Map { mut entries, merged, line, anchor, .. }) => {
                    for entry in merged {
                        if entries.iter().all(|own| own.key != entry.key) {
                            entries.push(entry);
                        }
                    }
                    self.complete(Node { value: Value::Map(Map(entries)), line }, anchor, span)
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).cloned() else {
                    return Err(Fault::new(place(span), "the alias names what is not complete yet"));
                };
                self.nodes += size(&node);
                self.complete(node, 0, span)
            }
            Event::DocumentStart(..) if self.root.is_some() => {
                Err(Fault::new(place(span), "the file holds a second document")
                    .hint("a configuration is one document: take the rest out"))
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, open: Open, tag: Option<&Tag>, span: &Span) -> Result<(), Fault> {
        if let Some(tag) = tag {
            return Err(strange_tag(tag, span));
        }
        if let Some(Open::Map { key: None, .. }) = self.open.last() {
            return Err(Fault::new(place(span), "a key must be a text"));
        }
        self.open.push(open);
        Ok(())
    }

    /// Puts a complete node where it belongs.
    fn complete(&mut self, node: Node, anchor: usize, span: &Span) -> Result<(), Fault> {
        self.nodes += 1;
        if self.nodes > MOST {
            return Err(Fault::new(place(span), format!("the file comes to more than {MOST} values")));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, merged, key, .. }) => {
                let Some(Key { name, line, is_merge }) = key.take() else {
                    return Err(Fault::new(place(span), "a key must be a text"));
                };
                if is_merge {
                    merged.extend(merge(node, place(span))?);
                } else if let Some(first) = entries.iter().find(|entry| entry.key == name) {
                    let what = format!("`{name}` stands here and on line {}", first.line);
                    return Err(Fault::new((line, 1), what).hint("take one of them out"));
                } else {
                    entries.push(Entry { key: name, path: String::new(), line, comments: Vec::new(), node });
                }
            }
        }
        Ok(())
    }
}

/// The entries that `<<` brings: of a mapping, or of a list of mappings, where earlier ones win.
fn merge(node: Node, at: (u64, u64)) -> Result<Vec<Entry>, Fault> {
    match node.value {
        Value::Map(Map(entries)) => Ok(entries),
        Value::List(items) => {
            let lists: Result<Vec<_>, _> = items.into_iter().map(|item| merge(item, at)).collect();
            let mut merged: Vec<Entry> = Vec::new();
            for entry in lists?.into_iter().flatten() {
                if merged.iter().all(|other| other.key != entry.key) {
                    merged.push(entry);
                }
            }
            Ok(merged)
        }
        other => Err(Fault::new(at, format!("`<<` takes a mapping, and this is {}", other.kind()))),
    }
}

fn size(node: &Node) -> usize {
    1 + match &node.value {
        Value::List(items) => items.iter().map(size).sum(),
        Value::Map(map) => map.0.iter().map(|entry| size(&entry.node)).sum(),
        _ => 0,
    }
}

fn strange_tag(tag: &Tag, span: &Span) -> Fault {
    let tag = tag.original();
    Fault::new(place(span), format!("`{tag}` is a tag, and only `!!str` has a meaning here"))
        .hint("write the value without it")
}

fn name_paths(map: &mut Map, above: &str) {
    for entry in &mut map.0 {
        entry.path = if above.is_empty() { entry.key.clone() } else { format!("{above}.{}", entry.key) };
        match &mut entry.node.value {
            Value::Map(inner) => name_paths(inner, &entry.path),
            Value::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    if let Value::Map(inner) = &mut item.value {
                        name_paths(inner, &format!("{}[{index}]", entry.path));
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
