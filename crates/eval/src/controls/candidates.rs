//! The files of candidates that no author wrote.

use std::path::Path;

use taskwright_base::write::{self, Durable};
use taskwright_base::{Result, failed};

use crate::candidate::read_only;
use crate::sandbox::make_folder;
use taskwright_base::copy::copy;

/// The folder of a candidate's files that holds what a control brings along.
pub(super) const FOLDER: &str = ".taskwright-control";

/// Writes what is left of a baseline when everything is taken out that a candidate may take out.
///
/// # Errors
/// A file cannot be read or written, or a pattern of read-only files is none.
pub fn empty(baseline: &Path, patterns: &[String], to: &Path) -> Result<()> {
    thinned(baseline, patterns, to, false)
}

/// Writes the same files as the baseline's with nothing in them, but for those that a candidate must leave as they are.
///
/// # Errors
/// A file cannot be read or written, or a pattern of read-only files is none.
pub fn hollow(baseline: &Path, patterns: &[String], to: &Path) -> Result<()> {
    thinned(baseline, patterns, to, true)
}

fn thinned(baseline: &Path, patterns: &[String], to: &Path, keeps_names: bool) -> Result<()> {
    let must_stay = read_only(patterns)?;
    make_folder(to, 0o755)?;
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let from = baseline.join(&folder);
        for entry in std::fs::read_dir(&from).map_err(failed("reading", &from))? {
            let entry = entry.map_err(failed("reading", &from))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let kind = entry.file_type().map_err(failed("reading", &entry.path()))?;
            let target = to.join(&path);
            if kind.is_dir() {
                folders.push(path);
            } else if must_stay(&path) {
                copy(&entry.path(), &target)?;
            } else if keeps_names && kind.is_file() {
                std::fs::create_dir_all(target.parent().unwrap_or(to)).map_err(failed("making", &target))?;
                write::atomic(&target, Durable::No, b"")?;
            }
        }
    }
    Ok(())
}

/// Writes the baseline with files of a control beside it.
pub(super) fn scripted(baseline: &Path, files: &[(&str, Vec<u8>)], to: &Path) -> Result<()> {
    copy(baseline, to)?;
    let folder = to.join(FOLDER);
    make_folder(&folder, 0o755)?;
    for (name, text) in files {
        let path = folder.join(name);
        write::atomic(&path, Durable::No, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn what_a_candidate_must_leave_stays() {
        let folder = tempfile::tempdir().unwrap();
        let baseline = folder.path().join("baseline");
        std::fs::create_dir_all(baseline.join("data/deep")).unwrap();
        for path in ["main.py", "data/train.jsonl", "data/deep/x"] {
            std::fs::write(baseline.join(path), "text").unwrap();
        }
        let patterns = ["data/train.jsonl".to_owned()];
        let read = |to: &Path, path: &str| std::fs::read_to_string(to.join(path)).ok();
        let to = folder.path().join("empty");
        empty(&baseline, &patterns, &to).unwrap();
        assert_eq!(
            (read(&to, "main.py"), read(&to, "data/train.jsonl"), read(&to, "data/deep/x")),
            (None, Some("text".into()), None)
        );
        let to = folder.path().join("hollow");
        hollow(&baseline, &patterns, &to).unwrap();
        assert_eq!(
            (read(&to, "main.py"), read(&to, "data/train.jsonl"), read(&to, "data/deep/x")),
            (Some(String::new()), Some("text".into()), Some(String::new()))
        );
    }
}
