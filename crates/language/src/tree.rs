//! A spec file as a tree of values, each of which knows where it was written.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};
use toml::value::Datetime;
use toml_parser::lexer::TokenKind;

use crate::diagnostic::{Diagnostic, Label};
use crate::duplicate;
use crate::source::Source;

/// How deep tables and lists may lie in each other within one statement. A recursive walk of twice as much is safe on
/// the small stacks of worker threads.
const MAX_DEPTH: usize = 32;

/// Which file of a chain of `extends` something stands in: 0 is the spec itself.
pub type FileId = u16;

/// Where something was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The file.
    pub file: FileId,
    start: u32,
    end: u32,
}

impl Origin {
    /// A span of a file. Files are far smaller than 4 GiB.
    pub fn new(file: FileId, span: Range<usize>) -> Self {
        let small = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
        Self { file, start: small(span.start), end: small(span.end) }
    }

    /// The bytes.
    pub fn span(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it was written; of a table, its header.
    pub origin: Origin,
    /// What substitution has done to it.
    pub state: State,
}

/// What substitution has done to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing: it stands as it was written.
    Written,
    /// It is the value of the parameter declared there, or given on the command line.
    Substituted(Option<Origin>),
    /// It names a parameter that there is none of, which has been reported: it may turn out to be anything.
    Unresolved,
}

/// A key's place and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Where the key was written.
    pub key: Origin,
    /// What it stands for.
    pub node: Node,
}

/// A table, ordered by key so that the order in the file never matters.
pub type Table = BTreeMap<String, Field>;

/// A TOML value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A string.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A truth value.
    Boolean(bool),
    /// A date, a time, or both.
    Datetime(Datetime),
    /// A list.
    Array(Vec<Node>),
    /// A table.
    Table(Table),
}

impl Value {
    /// What the value is, with its article.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number with a fraction",
            Self::Boolean(_) => "a truth value",
            Self::Datetime(_) => "a date or time",
            Self::Array(_) => "a list",
            Self::Table(_) => "a table",
        }
    }

    /// A scalar as it is put into a text.
    pub fn to_text(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Integer(number) => Some(number.to_string()),
            Self::Float(number) => Some(number.to_string()),
            Self::Boolean(truth) => Some(truth.to_string()),
            Self::Datetime(_) | Self::Array(_) | Self::Table(_) => None,
        }
    }
}

/// The files of one chain of `extends`, the spec first.
#[derive(Debug, Default, Clone)]
pub struct Sources(Vec<Arc<Source>>);

impl Sources {
    /// One more file.
    pub fn push(&mut self, source: Arc<Source>) -> FileId {
        let id = FileId::try_from(self.0.len()).unwrap_or(FileId::MAX);
        self.0.push(source);
        id
    }

    /// The file of an id that [`Sources::push`] gave.
    pub fn get(&self, id: FileId) -> &Arc<Source> {
        &self.0[id as usize]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &Arc<Source>)> {
        (0..).zip(&self.0)
    }

    /// A label at an origin.
    pub fn label(&self, origin: Origin) -> Label {
        Label::new(Arc::clone(self.get(origin.file)), origin.span())
    }
}

impl Node {
    /// The table, if it is one.
    pub fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The value under a key, if this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.table()?.get(key).map(|field| &field.node)
    }

    /// The string under a key.
    pub fn get_text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value at a path of keys and decimal indices.
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, step| node.step(step).map(|(_, next)| next))
    }

    /// Where a diagnostic about `path` points: at the value, or if it was left out at the nearest table around it.
    pub fn place(&self, path: &[&str]) -> Origin {
        let mut node = self;
        for step in path {
            match node.step(step) {
                Some((_, next)) => node = next,
                None => break,
            }
        }
        node.origin
    }

    /// Where the last key of `path` was written, if it was.
    pub fn key_place(&self, path: &[&str]) -> Option<Origin> {
        let (last, parents) = path.split_last()?;
        self.at(parents)?.step(last).map(|(key, _)| key)
    }

    fn step(&self, step: &str) -> Option<(Origin, &Node)> {
        match &self.value {
            Value::Table(table) => table.get(step).map(|field| (field.key, &field.node)),
            Value::Array(items) => items.get(step.parse::<usize>().ok()?).map(|node| (node.origin, node)),
            _ => None,
        }
    }

    /// The plain TOML value.
    pub fn to_toml(&self) -> toml::Value {
        match &self.value {
            Value::Text(text) => toml::Value::String(text.clone()),
            Value::Integer(number) => toml::Value::Integer(*number),
            Value::Float(number) => toml::Value::Float(*number),
            Value::Boolean(truth) => toml::Value::Boolean(*truth),
            Value::Datetime(moment) => toml::Value::Datetime(*moment),
            Value::Array(items) => toml::Value::Array(items.iter().map(Self::to_toml).collect()),
            Value::Table(table) => toml::Value::Table(
                table.iter().map(|(key, field)| (key.clone(), field.node.to_toml())).collect(),
            ),
        }
    }
}

/// Reads a file's text. On failure every duplicate key is reported, and the first of the other mistakes: after one of
/// those the rest is guesswork.
pub fn parse(file: FileId, source: &Arc<Source>) -> Result<Node, Vec<Diagnostic>> {
    if let Some(span) = too_deep(source.text()) {
        return Err(vec![
            Diagnostic::error(
                Label::new(Arc::clone(source), span),
                "tables and lists lie too deep in each other",
            )
            .with_hint(format!("nobody needs more than {MAX_DEPTH} levels")),
        ]);
    }
    let (root, errors) = DeTable::parse_recoverable(source.text());
    let mut found = Vec::new();
    let mut other = None;
    let mut repeated = 0..0;
    for error in &errors {
        let span = error.span().unwrap_or_else(|| source.first_line());
        if error.message() == "duplicate key" {
            // What stands under a header that is written twice would all be reported again.
            if !repeated.contains(&span.start) {
                repeated = duplicate::section_of_header(source, &span);
                found.push(duplicate::explain(source, span));
            }
        } else if other.is_none() {
            let hint = if error.message().contains("quoted") {
                "put strings in quotes"
            } else {
                "see https://toml.io for the notation"
            };
            other = Some(
                Diagnostic::error(
                    Label::new(Arc::clone(source), span),
                    format!("not TOML: {}", error.message()),
                )
                .with_hint(hint),
            );
        }
    }
    found.extend(other);
    if !found.is_empty() {
        return Err(found);
    }
    let mut reader = Reader { file, source, found };
    let mut node = reader.table(root.into_inner(), source.first_line());
    node.origin = Origin::new(file, source.first_line());
    if reader.found.is_empty() { Ok(node) } else { Err(reader.found) }
}

struct Reader<'a> {
    file: FileId,
    source: &'a Arc<Source>,
    found: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn node(&mut self, value: DeValue<'_>, span: Range<usize>) -> Node {
        let value = match value {
            DeValue::String(text) => Value::Text(text.into_owned()),
            DeValue::Boolean(truth) => Value::Boolean(truth),
            DeValue::Datetime(moment) => Value::Datetime(moment),
            DeValue::Integer(number) => {
                Value::Integer(i64::from_str_radix(number.as_str(), number.radix()).unwrap_or_else(|_| {
                    self.mistake(span.clone(), "the number is too large", "whole numbers go up to 2^63 - 1");
                    0
                }))
            }
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(parsed) if parsed.is_finite() => Value::Float(parsed),
                _ => {
                    self.mistake(
                        span.clone(),
                        format!("`{}` is not a finite number", number.as_str()),
                        "every number here is finite; leave the key out, or use its word for \"off\"",
                    );
                    Value::Float(0.0)
                }
            },
            DeValue::Array(items) => Value::Array(
                items
                    .into_iter()
                    .map(|item| {
                        let span = item.span();
                        self.node(item.into_inner(), span)
                    })
                    .collect(),
            ),
            DeValue::Table(table) => return self.table(table, span),
        };
        Node { value, origin: Origin::new(self.file, span), state: State::Written }
    }

    fn table(&mut self, table: DeTable<'_>, span: Range<usize>) -> Node {
        let fields = table
            .into_iter()
            .map(|(key, value)| {
                let (place, span) = (key.span(), value.span());
                let node = self.node(value.into_inner(), span);
                (key.into_inner().into_owned(), Field { key: Origin::new(self.file, place), node })
            })
            .collect();
        Node { value: Value::Table(fields), origin: Origin::new(self.file, span), state: State::Written }
    }

    fn mistake(&mut self, span: Range<usize>, message: impl Into<String>, hint: &str) {
        let label = Label::new(Arc::clone(self.source), span);
        self.found.push(Diagnostic::error(label, message).with_hint(hint));
    }
}

/// Where the nesting of brackets and dotted keys first becomes too deep. The parser bounds brackets but not dotted
/// keys, and a tree of a million levels cannot even be freed; so this looks at the words before there is a tree.
/// A closing bracket without its partner is not believed, so that a malformed text cannot talk the count down.
fn too_deep(text: &str) -> Option<Range<usize>> {
    let mut open: Vec<(TokenKind, usize)> = Vec::new();
    let mut depth = 0;
    for token in toml_parser::Source::new(text).lex() {
        match token.kind() {
            kind @ (TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket) => {
                open.push((kind, depth));
                depth += 1;
            }
            TokenKind::RightSquareBracket => {
                depth = open
                    .pop_if(|(kind, _)| *kind == TokenKind::LeftSquareBracket)
                    .map_or(depth, |(_, was)| was);
            }
            TokenKind::RightCurlyBracket => {
                depth = open
                    .pop_if(|(kind, _)| *kind == TokenKind::LeftCurlyBracket)
                    .map_or(depth, |(_, was)| was);
            }
            TokenKind::Dot => depth += 1,
            TokenKind::Comma | TokenKind::Newline => depth = open.last().map_or(0, |(_, was)| was + 1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Some(token.span().start()..token.span().end());
        }
    }
    None
}
