//! Which configurations somebody means who names a folder.

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::{Error, Result};
use walkdir::{DirEntry, WalkDir};

/// The configurations that a path names: a file is one, a folder holds those called `build.yaml` or `build.VARIANT.yaml`,
/// however deep. They are absolute and without links, in the order of their paths.
///
/// # Errors
/// A path that does not exist, and a folder without any.
pub fn find(path: &Utf8Path) -> Result<Vec<Utf8PathBuf>> {
    let real = path.canonicalize_utf8().map_err(|error| Error::io("reading", path, &error).usage())?;
    if !real.is_dir() {
        return Ok(vec![real]);
    }
    let mut found = Vec::new();
    for entry in WalkDir::new(&real).sort_by_file_name().into_iter().filter_entry(is_looked_into) {
        let entry = entry.map_err(|error| Error::new(format!("reading `{path}`: {error}")))?;
        if entry.file_type().is_file()
            && let Some(file) = Utf8Path::from_path(entry.path()).filter(|file| is_configuration(file))
        {
            found.push(file.to_owned());
        }
    }
    if found.is_empty() {
        return Err(Error::new(format!("`{path}` holds no configuration"))
            .hint("one is called `build.yaml` or `build.VARIANT.yaml`; a file of another name can be named itself")
            .usage());
    }
    Ok(found)
}

fn is_looked_into(entry: &DirEntry) -> bool {
    entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.')
}

fn is_configuration(file: &Utf8Path) -> bool {
    let name = file.file_name().unwrap_or_default();
    let is_yaml = matches!(file.extension(), Some("yaml" | "yml"));
    is_yaml && name.starts_with("build.")
}
