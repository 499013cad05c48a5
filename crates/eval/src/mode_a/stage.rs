//! Copies of ours that candidates may read, and the words that stand for places in a command.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::error::{EvalError, Result, failed};
use crate::sandbox::make_folder;

/// The places that `{scorer}`, `{candidate}` and `{taskwright}` stand for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<'a> {
    pub scorer: &'a Path,
    pub candidate: &'a Path,
    pub taskwright: &'a Path,
}

impl Words<'_> {
    /// A word of a command with the places in it.
    pub fn fill(&self, word: &str) -> String {
        let mut filled = String::with_capacity(word.len());
        let mut rest = word;
        // From left to right, so that what is put in is not looked at again.
        while let Some(start) = rest.find('{') {
            filled.push_str(&rest[..start]);
            rest = &rest[start..];
            let known = [
                ("{scorer}", self.scorer),
                ("{candidate}", self.candidate),
                ("{taskwright}", self.taskwright),
            ];
            match known.iter().find(|(name, _)| rest.starts_with(name)) {
                Some((name, path)) => {
                    filled.push_str(&path.to_string_lossy());
                    rest = &rest[name.len()..];
                }
                None => {
                    filled.push('{');
                    rest = &rest[1..];
                }
            }
        }
        filled.push_str(rest);
        filled
    }
}

/// Copies a file or a folder of ours so that everyone may read it who comes near. Links are copied as links.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent()
        && !parent.is_dir()
    {
        std::fs::create_dir_all(parent).map_err(failed("making", parent))?;
    }
    let metadata = from.symlink_metadata().map_err(failed("reading", from))?;
    if metadata.is_symlink() {
        let target = std::fs::read_link(from).map_err(failed("reading", from))?;
        return std::os::unix::fs::symlink(target, to).map_err(failed("making", to));
    }
    if metadata.is_dir() {
        make_folder(to, 0o755)?;
        for entry in std::fs::read_dir(from).map_err(failed("reading", from))? {
            let entry = entry.map_err(failed("reading", from))?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if !metadata.is_file() {
        return Err(EvalError::new(format!(
            "`{}` is neither a file nor a folder nor a link",
            from.display()
        )));
    }
    std::fs::copy(from, to).map_err(failed("copying", from))?;
    let mode = if metadata.permissions().mode() & 0o100 == 0 { 0o644 } else { 0o755 };
    std::fs::set_permissions(to, PermissionsExt::from_mode(mode)).map_err(failed("changing", to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_filled_once() {
        let words = Words {
            scorer: Path::new("/s/{candidate}"),
            candidate: Path::new("/c"),
            taskwright: Path::new("/bin/t"),
        };
        assert_eq!(words.fill("{scorer}/run.py"), "/s/{candidate}/run.py");
        assert_eq!(words.fill("a{candidate}b{taskwright}{"), "a/cb/bin/t{");
        assert_eq!(words.fill("{{candidate}} {x}"), "{/c} {x}");
    }
}
