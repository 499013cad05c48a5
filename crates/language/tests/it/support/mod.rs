//! Specs to make mistakes in, and a short form of what is said about them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_language::{Diagnostics, Loaded, load};
use tempfile::TempDir;

/// A complete spec of Mode A.
pub const A: &str = r#"name = "sort-fast"
description = "Sort numbers faster."
mode = "a"

[baseline]
path = "baseline"

[instruction]
file = "instruction.md"

[scorer]
path = "scorer"
run = ["python3", "main.py"]
score = ["python3", "{scorer}/score.py"]

[dataset]
path = "rows.jsonl"
labels = ["answer"]

[splits.train]
samples = ["t1", "t2", "t3"]
access = "viewable"

[splits.validation]
samples = ["v1", "v2", "v3"]
access = "non_viewable"
min_samples = 2

[splits.test]
samples = ["x1", "x2"]

[[targets]]
split = "test"
"#;

/// A complete spec of Mode B.
pub const B: &str = r#"name = "solve-sums"
description = "Solve more sums."
mode = "b"

[baseline]
path = "baseline"

[instruction]
file = "instruction.md"

[harbor]
source = { path = "inner-tasks" }
agent = "solver.agent:Solver"
environment = "modal"

[splits.train]
samples = ["t1", "t2"]
access = "viewable"

[splits.test]
samples = ["x1", "x2"]

[[targets]]
split = "test"
"#;

/// A workspace in a folder of its own.
pub struct Space {
    folder: TempDir,
}

impl Space {
    pub fn new() -> Self {
        Self { folder: TempDir::new().expect("a temporary folder") }
    }

    pub fn root(&self) -> &Utf8Path {
        Utf8Path::from_path(self.folder.path()).expect("a path in UTF-8")
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
        fs::write(path, content).expect("the file");
        self
    }

    pub fn load(&self, name: &str) -> Result<Loaded, Diagnostics> {
        self.load_with(name, &[])
    }

    pub fn load_with(&self, name: &str, set: &[(&str, &str)]) -> Result<Loaded, Diagnostics> {
        let set: BTreeMap<String, String> =
            set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        load(self.root(), Utf8Path::new(name), &set)
    }
}

/// Loads one text as `spec.toml`.
pub fn load_text(text: impl AsRef<[u8]>) -> Result<Loaded, Diagnostics> {
    let space = Space::new();
    space.write("spec.toml", text);
    space.load("spec.toml")
}

/// A text with replacements; each must have something to replace. Replacing `""` adds to the end.
pub fn edited(base: &str, edits: &[(&str, &str)]) -> String {
    let mut text = base.to_owned();
    for (from, to) in edits {
        if from.is_empty() {
            text.push_str(to);
        } else {
            assert!(text.contains(from), "nothing to replace: {from}");
            text = text.replacen(from, to, 1);
        }
    }
    text
}

/// What is said about a Mode A spec with these edits.
pub fn a(edits: &[(&str, &str)]) -> String {
    said(load_text(edited(A, edits)))
}

/// What is said about a Mode B spec with these edits.
pub fn b(edits: &[(&str, &str)]) -> String {
    said(load_text(edited(B, edits)))
}

/// What is said, errors or warnings.
pub fn said(outcome: Result<Loaded, Diagnostics>) -> String {
    match outcome {
        Ok(loaded) => brief(&loaded.warnings),
        Err(found) => brief(&found),
    }
}

/// Each diagnostic as: severity, line:column, the text pointed at, message; then help and further places.
pub fn brief(found: &Diagnostics) -> String {
    let mut lines = String::new();
    for item in found {
        let at = |label: &taskwright_language::Label| {
            let place = label.source.position(label.span.start);
            let file = if label.source.name() == "spec.toml" {
                String::new()
            } else {
                format!("{}:", label.source.name())
            };
            let text = &label.source.text()[label.span.clone()];
            (format!("{file}{}:{}", place.line, place.column), text.to_owned())
        };
        let severity = format!("{:?}", item.severity).to_lowercase();
        let (place, text) = at(&item.primary);
        let _ = writeln!(lines, "{severity} {place} <{text}> {}", item.message);
        for label in &item.secondary {
            let (place, text) = at(label);
            let _ = writeln!(lines, "  also {place} <{text}> {}", label.text);
        }
        if let Some(hint) = &item.hint {
            let _ = writeln!(lines, "  help: {hint}");
        }
    }
    if lines.is_empty() { "fine".to_owned() } else { lines }
}

/// The files of a path list, as text.
pub fn names(files: &[Utf8PathBuf]) -> Vec<&str> {
    files.iter().map(|file| file.as_str()).collect()
}
