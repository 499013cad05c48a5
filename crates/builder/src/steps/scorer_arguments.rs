//! The files of the scorer that its commands name: one that is not there would only be missed when a candidate is scored.

use taskwright_language::model::Scorer;

use crate::tree::{Entry, Tree};
use taskwright_base::text::nearest;
use taskwright_base::{Error, Result};

/// Refuses a word `{scorer}/...` of a command that leads to nothing in the scorer's folder.
pub fn check(scorer: &Scorer, tree: &Tree) -> Result<()> {
    for (field, command) in [("run", &scorer.run), ("score", &scorer.score)] {
        let paths = command.iter().filter_map(|word| word.strip_prefix("{scorer}/"));
        for path in paths.filter(|path| is_plain(path)) {
            let path = path.trim_end_matches('/');
            if !leads_somewhere(tree, path) {
                let hint = match nearest(path, tree.iter().map(|(known, _)| known)) {
                    Some(known) => format!("did you mean `{{scorer}}/{known}`?"),
                    None => "add the file, or correct the command".to_owned(),
                };
                return Err(Error::new(format!("`{}` holds no `{path}`", scorer.path.as_path()))
                    .hint(hint)
                    .at(&["scorer", field]));
            }
        }
    }
    Ok(())
}

/// Whether a path is one that can be looked up as it is written.
fn is_plain(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    !path.contains(['{', '*']) && path.split('/').all(|name| !matches!(name, "" | "." | ".."))
}

/// Whether a path is a file or a folder of a tree, or lies behind a link, where anything may be.
fn leads_somewhere(tree: &Tree, path: &str) -> bool {
    let inside = format!("{path}/");
    tree.get(path).is_some()
        || tree.iter().any(|(known, entry)| {
            known.starts_with(&inside)
                || (matches!(entry, Entry::Symlink { .. }) && path.starts_with(&format!("{known}/")))
        })
}
