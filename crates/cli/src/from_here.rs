//! Paths in messages as they are seen from the folder that the command was called in.
//!
//! Everything below the command line names files from the workspace's root, which is the same for everybody. Whoever stands in a
//! folder below it could neither click on such a path nor copy it.

use std::fs::symlink_metadata;
use std::sync::OnceLock;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use crate::workspace;

/// Where paths start, and where they are read.
struct View {
    root: Utf8PathBuf,
    here: Utf8PathBuf,
    /// The folder of specs: what is missing there is named as well.
    specs: Utf8PathBuf,
}

/// A message with its paths from here: those in backquotes, and those that an arrow points from.
pub fn shown(text: &str) -> String {
    static VIEW: OnceLock<Option<View>> = OnceLock::new();
    match VIEW.get_or_init(View::new) {
        Some(view) => view.shown(text),
        None => text.to_owned(),
    }
}

impl View {
    /// None where both are the same, or the folder is none of the workspace's.
    fn new() -> Option<Self> {
        let workspace = workspace::this().ok()?;
        let (root, here) = (workspace.root.canonicalize_utf8().ok()?, workspace::here().ok()?);
        (here != root && here.starts_with(&root)).then_some(Self { root, here, specs: workspace.specs })
    }

    fn shown(&self, text: &str) -> String {
        let lines: Vec<String> = text.split('\n').map(|line| self.line(line)).collect();
        lines.join("\n")
    }

    fn line(&self, line: &str) -> String {
        let arrow =
            ["--> ", "::: "].into_iter().find_map(|arrow| line.find(arrow).map(|at| at + arrow.len()));
        // In a line of somebody's file, which a bar is drawn before, an arrow is the file's.
        if let Some(start) = arrow.filter(|start| !line[..*start].contains(['|', '`'])) {
            // In colour, what follows the arrow begins with the end of the arrow's own.
            let start = line[start..]
                .find('m')
                .filter(|_| line[start..].starts_with('\u{1b}'))
                .map_or(start, |at| start + at + 1);
            return format!("{}{}", &line[..start], self.word(&line[start..]));
        }
        let parts = line.split('`').enumerate().map(|(number, part)| match number % 2 {
            0 => part.to_owned(),
            _ => self.quoted(part),
        });
        parts.collect::<Vec<_>>().join("`")
    }

    /// What stands in backquotes: a path, or a command line with paths in it.
    fn quoted(&self, text: &str) -> String {
        match self.word(text) {
            whole if whole != text => whole,
            _ => text.split(' ').map(|word| self.word(word)).collect::<Vec<_>>().join(" "),
        }
    }

    /// A path, perhaps with a line and a column after it; anything else stays as it is.
    fn word(&self, word: &str) -> String {
        let (path, place) = word.split_at(word.find(':').unwrap_or(word.len()));
        let path = Utf8Path::new(path);
        if !self.is_from_root(path) {
            return word.to_owned();
        }
        format!("{}{place}", from(&self.here, &self.root.join(path)))
    }

    fn is_from_root(&self, path: &Utf8Path) -> bool {
        let stands = |base: &Utf8Path| symlink_metadata(base.join(path)).is_ok();
        path.as_str().contains('/')
            && path.components().all(|part| matches!(part, Utf8Component::Normal(_)))
            && (stands(&self.root) || path.starts_with(&self.specs))
            && !stands(&self.here)
    }
}

/// A path as it is written in another folder; both are absolute.
fn from(here: &Utf8Path, path: &Utf8Path) -> Utf8PathBuf {
    let shared = here.components().zip(path.components()).take_while(|(left, right)| left == right).count();
    let up = here.components().skip(shared).map(|_| Utf8Component::ParentDir);
    let seen: Utf8PathBuf = up.chain(path.components().skip(shared)).collect();
    if seen.as_str().is_empty() { ".".into() } else { seen }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_who_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
        for path in ["tasks/a b/spec.toml", "tasks/a b/lib/x", "data/rows.jsonl"] {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), "").unwrap();
        }
        let view = View { here: root.join("tasks/a b"), root, specs: "tasks".into() };
        for (text, seen) in [
            ("error: x\n  --> tasks/a b/spec.toml:3:4\n   |", "error: x\n  --> spec.toml:3:4\n   |"),
            (
                "  \u{1b}[94m--> \u{1b}[0mdata/rows.jsonl:3:4",
                "  \u{1b}[94m--> \u{1b}[0m../../data/rows.jsonl:3:4",
            ),
            (
                "`data/rows.jsonl` and `tasks/none` are not `tasks/a b`",
                "`../../data/rows.jsonl` and `../none` are not `.`",
            ),
            ("run `cat data/rows.jsonl:1`", "run `cat ../../data/rows.jsonl:1`"),
            // No path of the workspace, seen from here already, a word, or no path at all.
            (
                "`application/json` `lib/x` `data` `/data/rows.jsonl` `../data/rows.jsonl`",
                "`application/json` `lib/x` `data` `/data/rows.jsonl` `../data/rows.jsonl`",
            ),
            ("   |  x --> data/rows.jsonl", "   |  x --> data/rows.jsonl"),
        ] {
            assert_eq!(view.shown(text), seen);
        }
    }
}
