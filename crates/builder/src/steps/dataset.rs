//! Mode A's dataset: its files, and the ids and the fields by which splits pick rows. Rows are streamed, never held.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use flate2::bufread::MultiGzDecoder;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use taskwright_language::model::{Dataset, Samples, Spec};
use taskwright_language::pattern::Pattern;

use super::{Context, listing};
use crate::error::failed;
use crate::inputs::Group;
use crate::key::Key;
use crate::observe::Boundary;
use crate::store::Store;
use crate::tree::{Blob, Content, Entry, Tree};
use taskwright_base::Digest;
use taskwright_base::text::clean;
use taskwright_base::{Error, Result};

/// The longest row: one line is held in memory at a time.
const LONGEST_ROW: u64 = 64 * 1024 * 1024;

/// From how many bytes on it is worth asking other machines what is in a dataset.
const WORTH_ASKING: u64 = 1024 * 1024;

/// A dataset, ready to be put into tasks.
pub struct Node {
    pub tree: Tree,
    pub digest: Digest,
    /// Which of them hold rows, in order.
    pub rows: Vec<String>,
    /// The ids of the rows, in the order of files and lines.
    pub ids: Vec<String>,
    /// For each field that a split filters by, the rows' values; none where a row lacks it.
    pub fields: BTreeMap<String, Vec<Option<String>>>,
    pub group: Arc<Group>,
}

/// How deep a value in a row may lie: what reads rows, in whatever language, has a bound of its own further off.
const DEEPEST: usize = 100;
/// How many rows that are wrong are named.
const MOST_WRONG: usize = 10;

/// A row, with its values as they are written: a number must reach a candidate digit by digit.
#[derive(Default)]
struct Row<'a> {
    fields: BTreeMap<String, &'a RawValue>,
    /// A key that stands there twice: readers differ in which of the two counts.
    doubled: Option<String>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Row<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Fields<'a>(Row<'a>);
        impl<'de: 'a, 'a> Visitor<'de> for Fields<'a> {
            type Value = Row<'a>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<M: MapAccess<'de>>(mut self, mut map: M) -> std::result::Result<Row<'a>, M::Error> {
                while let Some(key) = map.next_key::<String>()? {
                    let value: &RawValue = map.next_value()?;
                    if self.0.fields.insert(key.clone(), value).is_some() {
                        self.0.doubled = Some(key);
                    }
                }
                Ok(self.0)
            }
        }
        deserializer.deserialize_map(Fields(Row::default()))
    }
}

/// How many brackets of a JSON text are open at once, at most.
fn depth(json: &[u8]) -> usize {
    let (mut open, mut most, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in json {
        match (in_text, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_text = !in_text,
            (false, b'[' | b'{') => {
                open += 1;
                most = most.max(open);
            }
            (false, b']' | b'}') => open = open.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// What the store remembers of the rows.
#[derive(Serialize, Deserialize)]
struct Index {
    ids: Vec<String>,
    fields: BTreeMap<String, Vec<Option<String>>>,
}

/// The fields that the splits and targets of a spec filter by.
fn filters(spec: &Spec) -> BTreeSet<String> {
    let samples = spec
        .splits
        .values()
        .map(|split| &split.samples)
        .chain(spec.targets.iter().map(|target| &target.samples));
    samples
        .filter_map(|samples| match samples {
            Samples::Where(filter) => Some(filter.field.clone()),
            Samples::Every(_) | Samples::List(_) | Samples::File(_) => None,
        })
        .collect()
}

/// A name for a dataset: two specs that say the same of it share the node.
pub fn id(spec: &Spec, dataset: &Dataset) -> String {
    serde_json::to_string(&(dataset, filters(spec))).unwrap_or_default()
}

/// The dataset of a spec, the same for all tasks that say the same of it; none if the spec has none.
pub fn shared(context: &Context<'_>, spec: &Spec) -> Result<Option<Arc<Node>>> {
    let Some(dataset) = &spec.dataset else { return Ok(None) };
    context.shared.datasets.get(&id(spec, dataset), || make(context, dataset, &filters(spec))).map(Some)
}

/// Reads and checks a dataset, or takes what is known of its rows from the store.
fn make(context: &Context<'_>, dataset: &Dataset, filters: &BTreeSet<String>) -> Result<Node> {
    let path = dataset.path.as_path();
    let mut recorder = context.recorder();
    let tree = recorder.tree(path, context.store).map_err(|error| error.at(&["dataset", "path"]))?;
    tree.check(&format!("the dataset `{path}`")).map_err(|error| error.at(&["dataset", "path"]))?;
    let rows = row_files(dataset, &tree)?;
    let digest = tree.digest();
    let mut key = Key::new("dataset rows", 2);
    key.add_digest("dataset.files", digest);
    key.add("dataset.rows", rows.join("\n"));
    key.add("dataset.id", &dataset.id);
    key.add("dataset.labels", dataset.labels.join("\n"));
    key.add("dataset.filters", filters.iter().cloned().collect::<Vec<_>>().join("\n"));
    let index = match known::<Index>(context, &tree, &key) {
        Some(index) => index,
        None => {
            let index = read_rows(context, dataset, filters, &tree, &rows)?;
            keep(context, &tree, &key, &index)?;
            index
        }
    };
    listing::remember(context.store, "dataset", &tree, digest)?;
    context.boundary(Boundary::Dataset)?;
    let group = Arc::new(recorder.finish());
    Ok(Node { tree, digest, rows, ids: index.ids, fields: index.fields, group })
}

/// What is known of a dataset. Of a small one no other machine is asked: reading it takes no longer.
fn known<T: DeserializeOwned>(context: &Context<'_>, tree: &Tree, key: &Key) -> Option<T> {
    if tree.size() < WORTH_ASKING { context.store.step(key) } else { context.known(key) }
}

/// Remembers it, for others too where they would ask.
fn keep<T: Serialize>(context: &Context<'_>, tree: &Tree, key: &Key, result: &T) -> Result<()> {
    if tree.size() < WORTH_ASKING { context.store.remember(key, result) } else { context.keep(key, result) }
}

fn row_files(dataset: &Dataset, tree: &Tree) -> Result<Vec<String>> {
    let path = dataset.path.as_path();
    // A dataset that is one file is its own rows whatever its name.
    if tree.len() == 1 && tree.get(path.file_name().unwrap_or_default()).is_some() {
        return Ok(tree.iter().map(|(name, _)| name.to_owned()).collect());
    }
    let patterns = read_patterns(&dataset.rows).map_err(|error| error.at(&["dataset", "rows"]))?;
    let rows: Vec<_> = tree
        .iter()
        .map(|(name, _)| name.to_owned())
        .filter(|name| patterns.iter().any(|pattern| pattern.matches(name)))
        .collect();
    if rows.is_empty() {
        return Err(Error::new(format!("no file of `{path}` matches {}", dataset.rows.join(", ")))
            .hint("put JSON lines into it, or name the files that hold rows in `dataset.rows`")
            .at(&["dataset", "path"]));
    }
    Ok(rows)
}

fn read_patterns(texts: &[String]) -> Result<Vec<Pattern>> {
    let read = |text: &String| {
        Pattern::new(text).map_err(|problem| Error::new(format!("`{text}` is not a pattern: {problem}")))
    };
    texts.iter().map(read).collect()
}

fn read_rows(
    context: &Context<'_>,
    dataset: &Dataset,
    filters: &BTreeSet<String>,
    tree: &Tree,
    rows: &[String],
) -> Result<Index> {
    context.observer.working(&format!("reading `{}`", dataset.path.as_path()));
    let mut index =
        Index { ids: Vec::new(), fields: filters.iter().map(|field| (field.clone(), Vec::new())).collect() };
    let mut seen: HashSet<Digest> = HashSet::new();
    let mut wrong: Vec<(Utf8PathBuf, usize, Error)> = Vec::new();
    for file in rows {
        let shown = shown(dataset, file);
        each_row(context.store, tree, file, &shown, |number, row| {
            context.check_stop()?;
            match row.and_then(|row| Ok((checked_id(dataset, &shown, number, &row, &mut seen)?, row))) {
                Ok((id, row)) => {
                    index.ids.push(id);
                    for (field, values) in &mut index.fields {
                        values.push(row.fields.get(field).and_then(|written| as_text(written)));
                    }
                }
                Err(error) => wrong.push((shown.clone(), number, error)),
            }
            // More of them would only hide the first.
            if wrong.len() > MOST_WRONG { Err(all_wrong(std::mem::take(&mut wrong))) } else { Ok(()) }
        })?;
    }
    if !wrong.is_empty() {
        return Err(all_wrong(wrong));
    }
    if index.ids.is_empty() {
        return Err(Error::new(format!("the dataset `{}` holds no row", dataset.path.as_path()))
            .hint("add at least one JSON line with an id")
            .at(&["dataset", "path"]));
    }
    Ok(index)
}

/// A file of the dataset from the workspace's root.
fn shown(dataset: &Dataset, file: &str) -> Utf8PathBuf {
    let path = dataset.path.as_path();
    // A dataset that is one file holds it under its own name.
    if path.file_name() == Some(file) && path.extension().is_some() {
        path.to_owned()
    } else {
        path.join(file)
    }
}

/// The first row that is wrong, and where the others stand.
fn all_wrong(wrong: Vec<(Utf8PathBuf, usize, Error)>) -> Error {
    let mut wrong = wrong.into_iter();
    let Some((_, _, first)) = wrong.next() else { return Error::new("no row is wrong") };
    let others: Vec<_> = wrong.map(|(file, number, _)| format!("`{file}:{number}`")).collect();
    if others.is_empty() {
        return first;
    }
    let (hint, message) = (first.hint_text().unwrap_or_default().to_owned(), first.to_string());
    Error::new(format!("{message}\nother rows are wrong too: {}", others.join(", ")))
        .hint(hint)
        .at(&["dataset", "path"])
}

/// A row's id, if it is one of its own and the row has what the dataset says.
fn checked_id(
    dataset: &Dataset,
    file: &Utf8Path,
    number: usize,
    row: &Row<'_>,
    seen: &mut HashSet<Digest>,
) -> Result<String> {
    if let Some(key) = &row.doubled {
        return Err(at_row(file, number, format!("the key `{}` stands there twice", clean(key)))
            .hint("take one of the two out: readers differ in which of them counts"));
    }
    let id = row_id(dataset, file, number, row)?;
    if !seen.insert(Digest::of(id.as_bytes())) {
        return Err(at_row(file, number, format!("the id `{id}` was used before"))
            .hint("give every row an id of its own"));
    }
    if let Some(label) = dataset.labels.iter().find(|label| !row.fields.contains_key(*label)) {
        let what = format!("the row `{id}` has no field `{label}`, which `dataset.labels` names");
        return Err(at_row(file, number, what).hint(
            "a label that is spelled otherwise would be shown to candidates: correct the row or the spec",
        ));
    }
    Ok(id)
}

fn row_id(dataset: &Dataset, file: &Utf8Path, number: usize, row: &Row<'_>) -> Result<String> {
    let Some(written) = row.fields.get(&dataset.id) else {
        return Err(at_row(file, number, format!("the row has no field `{}`", dataset.id))
            .hint("give every row an id, or name the field that holds it in `dataset.id`"));
    };
    match serde_json::from_str(written.get()) {
        Ok(Value::String(id)) if !id.is_empty() && id.len() <= 256 && !id.contains(['\n', '\0']) => Ok(id),
        _ => {
            let written = written.get().chars().take(60).collect::<String>();
            Err(at_row(file, number, format!("the id {written} is not a short text"))
                .hint("an id is a text of 1 to 256 bytes on one line, such as \"row-0001\""))
        }
    }
}

fn as_text(written: &RawValue) -> Option<String> {
    match serde_json::from_str(written.get()).ok()? {
        Value::String(text) => Some(text),
        Value::Number(_) | Value::Bool(_) => Some(written.get().to_owned()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn at_row(file: &Utf8Path, number: usize, what: impl fmt::Display) -> Error {
    Error::new(format!("`{file}:{number}`: {what}")).at(&["dataset", "path"])
}

/// Streams the rows of a file: the number of each line, from 1, with its object. Empty lines are passed over.
fn each_row(
    store: &Store,
    tree: &Tree,
    file: &str,
    shown: &Utf8Path,
    mut each: impl FnMut(usize, Result<Row<'_>>) -> Result<()>,
) -> Result<()> {
    let mut reader = open(store, tree, file)?;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let count = (&mut reader)
            .take(LONGEST_ROW + 1)
            .read_until(b'\n', &mut line)
            .map_err(|error| at_row(shown, number, format!("cannot be read: {error}")))?;
        if count == 0 {
            break;
        }
        if count as u64 > LONGEST_ROW {
            return Err(at_row(
                shown,
                number,
                format!("the line is longer than {} MiB", LONGEST_ROW / 1024 / 1024),
            )
            .hint("keep large data in files beside the rows and name them in the rows"));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        each(number, row(line.trim_ascii_end(), shown, number))?;
    }
    Ok(())
}

fn row<'a>(line: &'a [u8], shown: &Utf8Path, number: usize) -> Result<Row<'a>> {
    if depth(line) > DEEPEST {
        return Err(at_row(shown, number, format!("the row is nested deeper than {DEEPEST} levels"))
            .hint("put what lies so deep into a text, or into a file beside the rows"));
    }
    serde_json::from_slice(line).map_err(|error| {
        if error.is_data() {
            return at_row(shown, number, "the line is not a JSON object");
        }
        // The parser saw this line alone and calls it its first.
        let words = error.to_string();
        let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
        let what = format!("the line is not JSON at column {}: {words}", error.column());
        at_row(shown, number, what).hint("one JSON object a line, in UTF-8, without a byte order mark")
    })
}

fn open<'a>(store: &Store, tree: &'a Tree, file: &str) -> Result<Box<dyn BufRead + 'a>> {
    let Some(Entry::File { content, .. }) = tree.get(file) else {
        return Err(Error::new(format!("`{file}` of the dataset is not a file")).at(&["dataset", "rows"]));
    };
    let plain: Box<dyn BufRead> = match content {
        Content::Bytes(bytes, _) => Box::new(io::Cursor::new(bytes.as_ref())),
        Content::Blob(blob) => {
            let path = store.blob_path(blob.digest, false);
            Box::new(BufReader::with_capacity(
                128 * 1024,
                File::open(&path).map_err(failed("opening", &path))?,
            ))
        }
    };
    Ok(if is_gzip(file) { Box::new(BufReader::new(MultiGzDecoder::new(plain))) } else { plain })
}

fn is_gzip(file: &str) -> bool {
    file.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("gz"))
}

/// The rows of some samples without their labels, as JSON lines: what an optimizer may see of an exposed split. Tasks
/// that expose the same rows share them.
pub fn without_labels(
    context: &Context<'_>,
    node: &Node,
    dataset: &Dataset,
    samples: &[String],
) -> Result<Content> {
    let mut key = Key::new("samples without labels", 1);
    key.add_digest("dataset.files", node.digest);
    key.add("dataset.rows", node.rows.join("\n"));
    key.add("dataset.id", &dataset.id);
    key.add("dataset.labels", dataset.labels.join("\n"));
    key.add_digest("samples", Digest::of(samples.join("\n").as_bytes()));
    let make = || {
        if let Some(blob) = known::<Blob>(context, &node.tree, &key).filter(|blob| context.store.holds(*blob))
        {
            return context.store.content(blob);
        }
        let wanted: HashSet<&str> = samples.iter().map(String::as_str).collect();
        let blob = context.store.add_written(|out| {
            for file in &node.rows {
                let shown = shown(dataset, file);
                each_row(context.store, &node.tree, file, &shown, |number, row| {
                    context.check_stop()?;
                    let mut fields = row?.fields;
                    let id = fields.get(&dataset.id).and_then(|written| as_text(written));
                    if id.is_some_and(|id| wanted.contains(id.as_str())) {
                        fields.retain(|field, _| !dataset.labels.contains(field));
                        serde_json::to_writer(&mut *out, &fields)
                            .map_err(io::Error::from)
                            .and_then(|()| out.write_all(b"\n"))
                            .map_err(|error| at_row(&shown, number, format!("copying the row: {error}")))?;
                    }
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        keep(context, &node.tree, &key, &blob)?;
        context.store.content(blob)
    };
    context.shared.samples.get(&key.fingerprint(), make).map(|content| content.as_ref().clone())
}
