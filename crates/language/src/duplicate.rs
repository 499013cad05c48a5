//! Explains a key that is written twice: the parser says where the second stands, this finds the first.

use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::diagnostic::{Diagnostic, Label};
use crate::source::Source;

/// The diagnostic for a second key at `span`.
pub fn explain(source: &Arc<Source>, span: Range<usize>) -> Diagnostic {
    let key = source.text().get(span.clone()).unwrap_or_default();
    let label = Label::new(Arc::clone(source), span.clone()).saying("again here");
    let found = Diagnostic::error(label, format!("`{key}` is written twice"))
        .with_hint("keep one of them: which would win is nothing to guess at");
    match first(source, &span) {
        Some(first) => found.with_label(Label::new(Arc::clone(source), first).saying("first written here")),
        None => found,
    }
}

/// If `span` is the key of a header, the text from there to the next header.
pub fn section_of_header(source: &Source, span: &Range<usize>) -> Range<usize> {
    let line = source.line_around(span.start);
    if !source.text()[line.clone()].trim_start().starts_with('[') {
        return 0..0;
    }
    let body = &source.text()[line.end..];
    let length =
        body.match_indices('\n').map(|(at, _)| at + 1).find(|at| body[*at..].trim_start().starts_with('['));
    line.start..line.end + length.unwrap_or(body.len())
}

/// The first of two equal keys, if it can be told. The text before the second key's line is read on its own, and the
/// key's full path looked up there; within one line (an inline table) the nearest equal key before it is taken.
fn first(source: &Source, span: &Range<usize>) -> Option<Range<usize>> {
    let text = source.text();
    let line = source.line_around(span.start);
    let (before, _) = DeTable::parse_recoverable(&text[..line.start]);
    let statement = text[line.start..span.end].trim_start();
    let path = if statement.starts_with('[') {
        keys_of(&text[line.clone()])?
    } else {
        let mut path = section(&text[..line.start]);
        path.extend(keys_of(&format!("{statement} = 0"))?);
        path
    };
    lookup(before.get_ref(), &path).or_else(|| {
        let (all, _) = DeTable::parse_recoverable(text);
        let name = keys_of(&format!("{} = 0", text.get(span.clone())?))?.pop()?;
        let mut nearest = None;
        nearest_before(all.get_ref(), &name, span.start, &mut nearest);
        nearest
    })
}

/// The keys that a header, or a statement, names one in the other.
fn keys_of(statement: &str) -> Option<Vec<String>> {
    let (parsed, _) = DeTable::parse_recoverable(statement);
    let mut table = parsed.get_ref();
    let mut keys = Vec::new();
    while let Some((key, value)) = table.iter().next() {
        keys.push(key.get_ref().clone().into_owned());
        table = match value.get_ref() {
            DeValue::Table(inner) => inner,
            DeValue::Array(items) => match items.iter().next().map(Spanned::get_ref) {
                Some(DeValue::Table(inner)) => inner,
                _ => break,
            },
            _ => break,
        };
    }
    (!keys.is_empty()).then_some(keys)
}

/// The path of the section that is open at the end of a text.
fn section(before: &str) -> Vec<String> {
    before
        .lines()
        .rev()
        .map(str::trim_start)
        .find(|line| line.starts_with('[') && line.contains(']') && !line.contains('='))
        .and_then(keys_of)
        .unwrap_or_default()
}

fn lookup(table: &DeTable<'_>, path: &[String]) -> Option<Range<usize>> {
    let (step, rest) = path.split_first()?;
    let (key, value): (&Spanned<DeString<'_>>, _) = table.iter().find(|(key, _)| key.get_ref() == step)?;
    if rest.is_empty() {
        return Some(key.span());
    }
    match value.get_ref() {
        DeValue::Table(inner) => lookup(inner, rest),
        // The section that is open belongs to the last element.
        DeValue::Array(items) => match items.iter().next_back().map(Spanned::get_ref) {
            Some(DeValue::Table(inner)) => lookup(inner, rest),
            _ => None,
        },
        _ => None,
    }
}

fn nearest_before(table: &DeTable<'_>, name: &str, before: usize, nearest: &mut Option<Range<usize>>) {
    for (key, value) in table {
        let span = key.span();
        if key.get_ref() == name
            && span.end <= before
            && nearest.as_ref().is_none_or(|old| old.start < span.start)
        {
            *nearest = Some(span);
        }
        match value.get_ref() {
            DeValue::Table(inner) => nearest_before(inner, name, before, nearest),
            DeValue::Array(items) => {
                for item in items {
                    if let DeValue::Table(inner) = item.get_ref() {
                        nearest_before(inner, name, before, nearest);
                    }
                }
            }
            _ => {}
        }
    }
}
