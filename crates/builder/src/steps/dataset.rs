//! Mode A's dataset: its files, and the ids and the fields by which splits pick rows. Rows are streamed, never held.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};
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
use taskwright_base::{Error, Result};

/// The longest row: one line is held in memory at a time.
const LONGEST_ROW: u64 = 64 * 1024 * 1024;

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

/// A row, with its values as they are written: a number must reach a candidate digit by digit.
type Row<'a> = BTreeMap<String, &'a RawValue>;

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
    let mut key = Key::new("dataset rows", 1);
    key.add_digest("dataset.files", digest);
    key.add("dataset.rows", rows.join("\n"));
    key.add("dataset.id", &dataset.id);
    key.add("dataset.labels", dataset.labels.join("\n"));
    key.add("dataset.filters", filters.iter().cloned().collect::<Vec<_>>().join("\n"));
    let index = match context.store.step::<Index>(&key) {
        Some(index) => index,
        None => {
            let index = read_rows(context, dataset, filters, &tree, &rows)?;
            context.store.remember(&key, &index)?;
            index
        }
    };
    listing::remember(context.store, "dataset", &tree, digest)?;
    context.boundary(Boundary::Dataset)?;
    let group = Arc::new(recorder.finish());
    Ok(Node { tree, digest, rows, ids: index.ids, fields: index.fields, group })
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
    for file in rows {
        each_row(context.store, tree, file, |number, row| {
            context.check_stop()?;
            let id = row_id(dataset, file, number, &row)?;
            if !seen.insert(Digest::of(id.as_bytes())) {
                return Err(at_row(file, number, format!("the id `{id}` was used before"))
                    .hint("give every row an id of its own"));
            }
            if let Some(label) = dataset.labels.iter().find(|label| !row.contains_key(*label)) {
                return Err(at_row(file, number, format!("the row `{id}` has no field `{label}`, which `dataset.labels` names"))
                    .hint("a label that is spelled otherwise would be shown to candidates: correct the row or the spec"));
            }
            index.ids.push(id);
            for (field, values) in &mut index.fields {
                values.push(row.get(field).and_then(|written| as_text(written)));
            }
            Ok(())
        })?;
    }
    if index.ids.is_empty() {
        return Err(Error::new(format!("the dataset `{}` holds no row", dataset.path.as_path()))
            .hint("add at least one JSON line with an id")
            .at(&["dataset", "path"]));
    }
    Ok(index)
}

fn row_id(dataset: &Dataset, file: &str, number: usize, row: &Row<'_>) -> Result<String> {
    let Some(written) = row.get(&dataset.id) else {
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

fn at_row(file: &str, number: usize, what: impl std::fmt::Display) -> Error {
    Error::new(format!("dataset `{file}`, line {number}: {what}")).at(&["dataset", "path"])
}

/// Streams the rows of a file: the number of each line, from 1, with its object. Empty lines are passed over.
fn each_row(
    store: &Store,
    tree: &Tree,
    file: &str,
    mut each: impl FnMut(usize, Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut reader = open(store, tree, file)?;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let count = (&mut reader)
            .take(LONGEST_ROW + 1)
            .read_until(b'\n', &mut line)
            .map_err(|error| at_row(file, number, format!("cannot be read: {error}")))?;
        if count == 0 {
            break;
        }
        if count as u64 > LONGEST_ROW {
            return Err(at_row(
                file,
                number,
                format!("the line is longer than {} MiB", LONGEST_ROW / 1024 / 1024),
            )
            .hint("keep large data in files beside the rows and name them in the rows"));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<Row<'_>>(line.trim_ascii_end()) {
            Ok(row) => each(number, row)?,
            Err(error) if error.is_data() => {
                return Err(at_row(file, number, "the line is not a JSON object"));
            }
            Err(error) => {
                // The parser saw this line alone and calls it its first.
                let words = error.to_string();
                let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
                let what = format!("the line is not JSON at column {}: {words}", error.column());
                return Err(at_row(file, number, what)
                    .hint("one JSON object a line, in UTF-8, without a byte order mark"));
            }
        }
    }
    Ok(())
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
        if let Some(blob) = context.store.step::<Blob>(&key).filter(|blob| context.store.holds(*blob)) {
            return context.store.content(blob);
        }
        let wanted: HashSet<&str> = samples.iter().map(String::as_str).collect();
        let blob = context.store.add_written(|out| {
            for file in &node.rows {
                each_row(context.store, &node.tree, file, |number, mut row| {
                    context.check_stop()?;
                    let id = row.get(&dataset.id).and_then(|written| as_text(written));
                    if id.is_some_and(|id| wanted.contains(id.as_str())) {
                        row.retain(|field, _| !dataset.labels.contains(field));
                        serde_json::to_writer(&mut *out, &row)
                            .map_err(io::Error::from)
                            .and_then(|()| out.write_all(b"\n"))
                            .map_err(|error| at_row(file, number, format!("copying the row: {error}")))?;
                    }
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        context.store.remember(&key, &blob)?;
        context.store.content(blob)
    };
    context.shared.samples.get(&key.fingerprint(), make).map(|content| content.as_ref().clone())
}
