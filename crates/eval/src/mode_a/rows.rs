//! The dataset: where each row stands, and what of it a candidate may see.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use taskwright_base::{Error, Result, failed};
use taskwright_language::serve::ServeScorer;

use super::json;

/// The longest row; the build accepts no longer one.
const LONGEST_ROW: u64 = 64 << 20;

/// The rows that the task's splits name.
#[derive(Debug)]
pub(crate) struct Rows {
    files: Vec<File>,
    index: HashMap<String, Position>,
    id: String,
    labels: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
struct Position {
    file: usize,
    offset: u64,
    length: usize,
}

impl Rows {
    /// Reads the row files once and remembers where the wanted rows are. Compressed files are unpacked into `private`.
    pub fn open(
        dataset: &Path,
        scorer: &ServeScorer,
        wanted: &HashSet<&str>,
        private: &Path,
    ) -> Result<Self> {
        let mut rows = Self {
            files: Vec::new(),
            index: HashMap::with_capacity(wanted.len()),
            id: scorer.id.clone(),
            labels: scorer.labels.clone(),
        };
        for name in &scorer.rows {
            let file = plain(&dataset.join(name), private)?;
            rows.read(file, name, wanted)?;
        }
        match wanted.iter().filter(|id| !rows.index.contains_key(**id)).min() {
            Some(missing) => Err(Error::new(format!(
                "the dataset `{}` has no row `{missing}`, which a split names: build the task again",
                dataset.display()
            ))),
            None => Ok(rows),
        }
    }

    fn read(&mut self, file: File, name: &str, wanted: &HashSet<&str>) -> Result<()> {
        let mut reader = BufReader::with_capacity(128 << 10, &file);
        let (mut offset, mut line) = (0_u64, Vec::new());
        for number in 1_u64.. {
            line.clear();
            let bad = |what: &str| Error::new(format!("dataset `{name}`, line {number}: {what}"));
            let count = (&mut reader)
                .take(LONGEST_ROW + 1)
                .read_until(b'\n', &mut line)
                .map_err(|error| bad(&format!("cannot be read: {error}")))?;
            if count == 0 {
                break;
            }
            if count as u64 > LONGEST_ROW {
                return Err(bad("the line is too long"));
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                let id = only_id(&line, &self.id).map_err(|error| bad(&error.to_string()))?;
                if wanted.contains(id.as_str()) {
                    let position = Position { file: self.files.len(), offset, length: count };
                    if self.index.insert(id, position).is_some() {
                        return Err(bad("its id was used before"));
                    }
                }
            }
            offset += count as u64;
        }
        self.files.push(file);
        Ok(())
    }

    /// Whether there is a row of this name.
    pub fn contains(&self, id: &str) -> bool {
        self.index.contains_key(id)
    }

    pub fn get(&self, id: &str) -> Result<Row> {
        let bad = |what: String| Error::new(format!("row `{id}` of the dataset {what}"));
        let position = self.index.get(id).ok_or_else(|| bad("does not exist".to_owned()))?;
        let mut line = vec![0; position.length];
        self.files[position.file]
            .read_exact_at(&mut line, position.offset)
            .map_err(|error| bad(format!("cannot be read: {error}")))?;
        let text = json::compact(&line).map_err(bad)?;
        let fields: Fields =
            serde_json::from_str(&text).map_err(|error| bad(format!("is damaged: {error}")))?;
        let is_shown = |name: &String| *name != self.id && !self.labels.contains(name);
        let shown = Fields(fields.0.into_iter().filter(|(name, _)| is_shown(name)).collect());
        let texts = shown.0.iter().filter_map(|(_, value)| serde_json::from_str(value.get()).ok()).collect();
        let damaged = |error: serde_json::Error| bad(format!("is damaged: {error}"));
        let input = to_raw_value(&shown).map_err(damaged)?;
        Ok(Row { sample: RawValue::from_string(text).map_err(damaged)?, input, texts })
    }
}

/// A row.
#[derive(Debug)]
pub(crate) struct Row {
    /// All of it, as JSON on one line.
    pub sample: Box<RawValue>,
    /// What a candidate may see of it.
    pub input: Box<RawValue>,
    /// The texts among the fields that a candidate may see: perhaps names of files.
    pub texts: Vec<String>,
}

/// Opens a row file, unpacked.
fn plain(path: &Path, private: &Path) -> Result<File> {
    let file = File::open(path).map_err(failed("opening", path))?;
    if path.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("gz")) {
        return Ok(file);
    }
    let mut unpacked = tempfile::tempfile_in(private).map_err(failed("making a file in", private))?;
    let mut reader = MultiGzDecoder::new(BufReader::new(file));
    std::io::copy(&mut reader, &mut unpacked)
        .and_then(|_| unpacked.flush())
        .and_then(|()| unpacked.seek(SeekFrom::Start(0)))
        .map_err(failed("unpacking", path))?;
    Ok(unpacked)
}

/// The files of the dataset that a row names, from the dataset's folder. A text counts as a file's name if there is
/// such a file or folder, and it holds no rows.
pub(crate) fn named_files(dataset: &Path, rows: &[String], texts: &[String]) -> Vec<PathBuf> {
    let named = |text: &String| {
        let path = Path::new(text);
        let plain = !text.is_empty()
            && text.len() < 1024
            && path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let holds_rows = rows.iter().any(|row| Path::new(row).starts_with(path));
        (plain && !holds_rows && dataset.join(path).symlink_metadata().is_ok_and(|file| !file.is_symlink()))
            .then(|| path.to_owned())
    };
    texts.iter().filter_map(named).collect()
}

/// The id of a row, without looking at more of it than that it is an object.
fn only_id(line: &[u8], field: &str) -> serde_json::Result<String> {
    struct Only<'a>(&'a str);
    impl<'de> Visitor<'de> for Only<'_> {
        type Value = String;
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "an object with the text `{}`", self.0)
        }
        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<String, M::Error> {
            let mut id = None;
            while let Some(name) = map.next_key::<String>()? {
                if name == self.0 {
                    id = Some(map.next_value::<String>()?);
                } else {
                    let IgnoredAny = map.next_value()?;
                }
            }
            id.ok_or_else(|| serde::de::Error::custom(format!("the row has no field `{}`", self.0)))
        }
    }
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let id = deserializer.deserialize_map(Only(field))?;
    deserializer.end()?;
    Ok(id)
}

/// The fields of an object in their order, their values as they are written.
struct Fields(Vec<(String, Box<RawValue>)>);

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Fields;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields, M::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use taskwright_testing::test;

    fn scorer(rows: &[&str]) -> ServeScorer {
        ServeScorer {
            run: Vec::new(),
            score: Vec::new(),
            batch: 1,
            deterministic: true,
            env: BTreeMap::new(),
            rows: rows.iter().map(|name| (*name).to_owned()).collect(),
            id: "name".to_owned(),
            labels: vec!["label".to_owned()],
            scorer_digest: String::new(),
            dataset_digest: String::new(),
        }
    }

    #[test]
    fn rows_come_back_without_their_labels() {
        let folder = tempfile::tempdir().unwrap();
        let dataset = folder.path();
        std::fs::write(
            dataset.join("a.jsonl"),
            "{\"name\":\"one\", \"x\": 1.50, \"label\": 7,\"file\":\"images/1\"}\n\n{\"name\":\"skipped\"}\n",
        )
        .unwrap();
        let mut packed = flate2::write::GzEncoder::new(
            File::create(dataset.join("b.jsonl.gz")).unwrap(),
            flate2::Compression::default(),
        );
        packed.write_all(b"{\"label\":{\"deep\":[1]},\"y\":\"\\u00e9\",\"name\":\"two\"}").unwrap();
        packed.finish().unwrap();
        let scorer = scorer(&["a.jsonl", "b.jsonl.gz"]);
        let rows = Rows::open(dataset, &scorer, &HashSet::from(["one", "two"]), dataset).unwrap();
        let one = rows.get("one").unwrap();
        assert_eq!(one.sample.get(), r#"{"name":"one","x":1.50,"label":7,"file":"images/1"}"#);
        assert_eq!(one.input.get(), r#"{"x":1.50,"file":"images/1"}"#);
        assert_eq!(one.texts, ["images/1"]);
        assert_eq!(rows.get("two").unwrap().input.get(), r#"{"y":"\u00e9"}"#);
        assert!(rows.get("skipped").is_err() && !rows.contains("skipped"));
        let missing = Rows::open(dataset, &scorer, &HashSet::from(["one", "three"]), dataset).unwrap_err();
        assert!(missing.to_string().contains("no row `three`"), "{missing}");
    }

    #[test]
    fn only_files_that_are_there_and_hold_no_rows_are_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("images/deep")).unwrap();
        std::fs::write(folder.path().join("images/1"), "x").unwrap();
        std::fs::write(folder.path().join("images/rows.jsonl"), "").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
        let texts = [
            "images/1",
            "images/deep",
            "images",
            "images/rows.jsonl",
            "link",
            "/etc/passwd",
            "../x",
            "",
            "no",
        ];
        let texts = texts.map(str::to_owned);
        let named = named_files(folder.path(), &["images/rows.jsonl".to_owned()], &texts);
        assert_eq!(named, [Path::new("images/1"), Path::new("images/deep")]);
    }

    #[test]
    fn a_damaged_dataset_is_named_by_line() {
        let folder = tempfile::tempdir().unwrap();
        for (text, what) in [
            ("{\"name\":\"one\"}\n{\"name\":\"one\"}\n", "line 2: its id was used before"),
            ("{\"name\":\"one\"}\n[1]\n", "line 2"),
            ("{\"x\":1}\n", "no field `name`"),
            ("{\"name\":\"one\"} trailing\n", "line 1"),
        ] {
            std::fs::write(folder.path().join("a.jsonl"), text).unwrap();
            let error =
                Rows::open(folder.path(), &scorer(&["a.jsonl"]), &HashSet::from(["one"]), folder.path())
                    .unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
        }
    }
}
