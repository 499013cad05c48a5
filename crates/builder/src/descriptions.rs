//! Where tasks are described: each folder below the folder of specs holds a spec, or is a task that somebody wrote by hand.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;

use crate::error::{failed, io_error};
use crate::workspace::Workspace;
use taskwright_base::Result;

/// The file of a spec.
pub const SPEC: &str = "spec.toml";
/// The file of a task that somebody wrote. Beside a spec it is a file like any other.
pub const TASK: &str = "task.toml";

/// The name of the file by which a folder describes tasks; none if it describes none.
pub fn described_by(folder: &Utf8Path) -> Option<&'static str> {
    [SPEC, TASK].into_iter().find(|name| fs::symlink_metadata(folder.join(name)).is_ok())
}

impl Workspace {
    /// The files that describe tasks, from the root and in order, one of each folder.
    ///
    /// # Errors
    /// A folder of specs that cannot be read.
    pub fn descriptions(&self) -> Result<Vec<Utf8PathBuf>> {
        let full = self.root.join(&self.specs);
        let entries = fs::read_dir(&full).map_err(|error| {
            let wrong = io_error("reading", &self.specs, &error);
            if error.kind() == std::io::ErrorKind::NotFound {
                return wrong.hint("`cargo xtask new NAME --mode a` makes a first spec");
            }
            wrong
        })?;
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed("reading", &self.specs))?.file_name();
            names.extend(name.to_str().filter(|name| !name.starts_with('.')).map(str::to_owned));
        }
        let mut paths: Vec<_> = names
            .into_par_iter()
            .filter_map(|name| Some(self.specs.join(&name).join(described_by(&full.join(&name))?)))
            .collect();
        paths.sort_unstable_by(|left, right| left.as_str().cmp(right.as_str()));
        Ok(paths)
    }

    /// The specs among them; none where they cannot be read, which the build says.
    pub fn specs_alone(&self) -> Vec<Utf8PathBuf> {
        let is_spec = |path: &Utf8PathBuf| path.file_name() == Some(SPEC);
        self.descriptions().unwrap_or_default().into_iter().filter(is_spec).collect()
    }
}
