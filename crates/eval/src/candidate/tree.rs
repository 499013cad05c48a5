//! What a candidate's tree may hold, decided on names, kinds and sizes before a byte of it is written anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;

use taskwright_language::pattern::Pattern;

use super::git::{Git, Reading, word};
use super::pack::bytes;
use super::{ImportError, ImportLimits, Refusal, TreeId};
use crate::error::{EvalError, Result, failed_to};

/// The longest path, from the repository's root: leaves room for where we write it.
const LONGEST_PATH: usize = 1024;
/// The longest name that Linux file systems take.
const LONGEST_NAME: usize = 255;
/// The deepest folder.
const DEEPEST: usize = 64;
/// The longest text of a symbolic link.
const LONGEST_LINK: u64 = 1024;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    File { executable: bool },
    Link,
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub kind: Kind,
    /// The object that holds it.
    pub object: String,
    pub size: u64,
}

/// All entries by their paths.
pub(super) type Entries = BTreeMap<String, Entry>;

/// Lists a tree, all of it, and refuses what no candidate may hold. Where links lead is left to [`check_links`].
pub(super) fn list(git: &Git, tree: &TreeId, limits: &ImportLimits) -> Result<Entries, ImportError> {
    let mut listing =
        Reading::start(git, &["ls-tree", "-r", "-t", "-z", "-l", "--full-tree", tree.as_str()])?;
    let mut entries = Entries::new();
    {
        let mut reader = BufReader::new(&mut listing.stdout);
        loop {
            // `mode type object size<TAB>path`; the size is padded with spaces.
            let read = word(&mut reader, 0, 128 * 1024).map_err(failed_to("reading what git lists"))?;
            let Some(line) = read else { break };
            if entries.len() as u64 >= limits.entries {
                let what = "the number of files and folders".to_owned();
                return Err(Refusal::TooLarge { what, limit: limits.entries.to_string() }.into());
            }
            let (path, entry) = parse(&line)?;
            if entries.insert(path.clone(), entry).is_some() {
                return Err(forbidden(&path, "stands twice in its folder: commit it again with git").into());
            }
        }
    }
    if !listing.finish()? {
        return Err(Refusal::Damaged { reason: format!("tree {tree} cannot be listed") }.into());
    }
    Ok(entries)
}

fn forbidden(path: &str, reason: &str) -> Refusal {
    Refusal::Forbidden { path: shown(path), reason: reason.to_owned() }
}

/// A path as it can be shown: short, without control characters.
fn shown(path: &str) -> String {
    let escaped: String = path.chars().flat_map(char::escape_debug).take(200).collect();
    escaped.replace("\\'", "'")
}

fn parse(line: &[u8]) -> Result<(String, Entry), ImportError> {
    let unexpected =
        || EvalError::new("git lists a tree in a way that is not expected: use git 2.30 or later");
    let tab = line.iter().position(|byte| *byte == b'\t').ok_or_else(unexpected)?;
    let (head, path) = (&line[..tab], &line[tab + 1..]);
    let head = std::str::from_utf8(head).map_err(|_| unexpected())?;
    let lossy = String::from_utf8_lossy(path);
    let mut words = head.split_ascii_whitespace();
    let (Some(mode), Some(_), Some(object), Some(size)) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(unexpected().into());
    };
    let kind = match mode {
        "040000" => Kind::Folder,
        "100755" => Kind::File { executable: true },
        "120000" => Kind::Link,
        "160000" => return Err(forbidden(&lossy, "is a submodule: commit its files instead").into()),
        // 100644, and 100664 of old.
        _ if mode.starts_with("100") => Kind::File { executable: false },
        _ => return Err(forbidden(&lossy, "is neither a file nor a folder nor a symbolic link").into()),
    };
    let path = std::str::from_utf8(path)
        .map_err(|_| forbidden(&lossy, "has a name that is not UTF-8: rename it"))?;
    check_path(path)?;
    let size = match kind {
        Kind::Folder => 0,
        Kind::File { .. } | Kind::Link => size.parse().map_err(|_| unexpected())?,
    };
    if kind == Kind::Link && size > LONGEST_LINK {
        return Err(forbidden(path, "is a symbolic link with too long a target").into());
    }
    Ok((path.to_owned(), Entry { kind, object: object.to_owned(), size }))
}

fn check_path(path: &str) -> Result<(), Refusal> {
    let refuse = |reason| Err(forbidden(path, reason));
    if path.len() > LONGEST_PATH {
        return refuse("is too long a path");
    }
    if path.chars().any(char::is_control) {
        return refuse("has a control character in its name: rename it");
    }
    let names: Vec<&str> = path.split('/').collect();
    if names.len() > DEEPEST {
        return refuse("lies too deep");
    }
    for name in names {
        match name {
            "" | "." | ".." => return refuse("is no path within the repository"),
            _ if name.len() > LONGEST_NAME => return refuse("has too long a name"),
            _ if is_git(name) => return refuse("has a name that git keeps for itself"),
            _ => {}
        }
    }
    Ok(())
}

/// Whether some file system takes a name for `.git`.
fn is_git(name: &str) -> bool {
    // Characters that a file system leaves out when it compares names, and what another cuts off at the end.
    let visible: String = name
        .chars()
        .filter(|c| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'))
        .collect();
    let visible =
        visible.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']).to_ascii_lowercase();
    visible == ".git" || visible == "git~1"
}

/// Refuses a link that leaves the tree.
///
/// Steps up are allowed at the beginning of a target only, where they start from the link's own folder, which is a real
/// one. Behind a name they could start from wherever another link leads.
pub(super) fn check_link(path: &str, target: &[u8]) -> Result<String, Refusal> {
    let Ok(text) = std::str::from_utf8(target) else {
        return Err(forbidden(path, "is a symbolic link with a target that is not UTF-8"));
    };
    let mut depth = path.split('/').count() - 1;
    let mut down = false;
    for part in text.split('/') {
        match part {
            "" if down => {}
            "" => {
                return Err(forbidden(
                    path,
                    "is a symbolic link to an absolute or empty path: make it relative",
                ));
            }
            "." => {}
            ".." if down => {
                return Err(forbidden(
                    path,
                    "is a symbolic link that steps up behind a name: write its target shorter",
                ));
            }
            ".." => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return Err(forbidden(path, "is a symbolic link that leaves the repository")),
            },
            _ if is_git(part) || part.chars().any(char::is_control) => {
                return Err(forbidden(path, "is a symbolic link to a name that no candidate may have"));
            }
            _ => down = true,
        }
    }
    Ok(text.to_owned())
}

/// Bytes of files that are not in the baseline. A file that is there twice counts twice, for so it is written out.
pub(super) fn added(entries: &Entries, baseline: &Entries) -> u64 {
    let known: BTreeSet<&str> = baseline.values().map(|entry| entry.object.as_str()).collect();
    entries
        .values()
        .filter(|entry| !known.contains(entry.object.as_str()))
        .fold(0, |sum, entry| sum.saturating_add(entry.size))
}

/// Refuses a tree that is too large beside the baseline.
pub(super) fn check_size(
    entries: &Entries,
    baseline: &Entries,
    limits: &ImportLimits,
) -> Result<u64, Refusal> {
    let added = added(entries, baseline);
    // Copies of the baseline's own files cost nothing in a pack and something on disk.
    let whole = |entries: &Entries| entries.values().fold(0_u64, |sum, entry| sum.saturating_add(entry.size));
    let grown = whole(entries).saturating_sub(whole(baseline));
    match added.max(grown) {
        size if size > limits.added_bytes => Err(Refusal::TooLarge {
            what: format!("{} of files beside the baseline's", bytes(size)),
            limit: bytes(limits.added_bytes),
        }),
        _ => Ok(added),
    }
}

/// The files that a candidate must leave as they are.
#[derive(Debug)]
pub(super) struct ReadOnly(Vec<Pattern>);

impl ReadOnly {
    /// Reads the patterns: a folder that matches stands for all that is in it.
    pub fn new(patterns: &[String]) -> Result<Self> {
        let read = |text: &String| {
            Pattern::new(text.trim_end_matches('/')).map_err(|problem| {
                EvalError::new(format!("`{text}` is not a pattern of read-only files: {problem}"))
            })
        };
        patterns.iter().map(read).collect::<Result<_>>().map(Self)
    }

    fn matches(&self, path: &str) -> bool {
        let is_meant = |path: &str| self.0.iter().any(|pattern| pattern.matches(path));
        is_meant(path) || path.match_indices('/').any(|(slash, _)| is_meant(&path[..slash]))
    }

    /// Refuses a tree that changes, adds or removes such a file; the first path in order is named.
    pub fn check(&self, entries: &Entries, baseline: &Entries) -> Result<(), Refusal> {
        let refuse = |path: &str, change: &str| {
            Err(Refusal::ReadOnly { path: shown(path), change: change.to_owned() })
        };
        let same = |one: &Entry, other: &Entry| match (one.kind, other.kind) {
            // Its files are looked at one by one.
            (Kind::Folder, Kind::Folder) => true,
            _ => one == other,
        };
        let paths: BTreeSet<&String> = entries.keys().chain(baseline.keys()).collect();
        for path in paths {
            if !self.matches(path) {
                continue;
            }
            match (entries.get(path), baseline.get(path)) {
                (Some(now), Some(before)) if same(now, before) => {}
                (Some(_), Some(_)) => return refuse(path, "changed"),
                (None, _) => return refuse(path, "removed"),
                (_, None) => return refuse(path, "added"),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_kept_inside() {
        for path in ["a", "a/b.c", ".gitignore", ".github/x", "git", "ä ö", "a\\b", "-x", "..a/b.."] {
            assert_eq!(check_path(path), Ok(()), "{path}");
        }
        let long = "x".repeat(256);
        let deep = "d/".repeat(70) + "x";
        for path in [
            "",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "a/../b",
            "a/.git/config",
            ".GIT",
            ".git.",
            ".git ",
            "git~1",
            "GIT~1/x",
            ".g\u{200c}it",
            ".git:stream",
            "a\nb",
            "a\u{7f}",
            "a\u{9f}",
            &long,
            &deep,
        ] {
            assert!(check_path(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn links_are_kept_inside() {
        for (path, target) in [
            ("l", "a"),
            ("d/l", "../a"),
            ("d/e/l", "../../a/b"),
            ("l", "./a/./b/"),
            ("d/l", "..a"),
            ("d/l", ".."),
        ] {
            assert_eq!(check_link(path, target.as_bytes()).as_deref(), Ok(target), "{path} {target}");
        }
        for (path, target) in [
            ("l", ""),
            ("l", "/etc/passwd"),
            ("l", ".."),
            ("l", "../a"),
            ("d/l", "../../a"),
            ("d/l", "a/../../../x"),
            ("d/l", "a/.."),
            ("l", "/"),
            ("l", ".git/config"),
            ("l", "a\nb"),
            ("d/e/l", "./../../../x"),
        ] {
            assert!(check_link(path, target.as_bytes()).is_err(), "{path} {target}");
        }
        assert!(check_link("l", b"\xff").is_err());
    }

    fn entries(list: &[(&str, &str, u64)]) -> Entries {
        list.iter()
            .map(|(path, object, size)| {
                let kind = if *size == 0 { Kind::Folder } else { Kind::File { executable: false } };
                ((*path).to_owned(), Entry { kind, object: (*object).to_owned(), size: *size })
            })
            .collect()
    }

    #[test]
    fn read_only_files_stay_as_they_are() {
        let read_only =
            ReadOnly::new(&["tests/**".to_owned(), "*.lock".to_owned(), "data".to_owned()]).unwrap();
        let baseline =
            entries(&[("a.lock", "1", 1), ("tests", "2", 0), ("tests/x", "3", 1), ("main", "4", 1)]);
        let check = |list: &[(&str, &str, u64)]| {
            read_only.check(&entries(list), &baseline).map_err(|refusal| refusal.to_string())
        };
        let whole = [("a.lock", "1", 1), ("tests", "9", 0), ("tests/x", "3", 1)];
        assert_eq!(
            check(&[&whole[..], &[("main", "5", 1), ("sub", "6", 0), ("sub/b.lock", "7", 1)]].concat()),
            Ok(())
        );
        let refused = |list: &[(&str, &str, u64)], what: &str| {
            assert!(check(list).is_err_and(|error| error.starts_with(what)), "{what}: {:?}", check(list));
        };
        refused(&[("a.lock", "8", 1), whole[1], whole[2]], "`a.lock` is read-only and was changed");
        refused(&[whole[0], whole[1]], "`tests/x` is read-only and was removed");
        refused(
            &[&whole[..], &[("tests/sub", "1", 0), ("tests/sub/y", "1", 1)]].concat(),
            "`tests/sub` is read-only and was added",
        );
        refused(&[&whole[..], &[("b.lock", "1", 1)]].concat(), "`b.lock` is read-only and was added");
        refused(
            &[&whole[..], &[("data", "1", 0), ("data/deep", "1", 0), ("data/deep/y", "1", 1)]].concat(),
            "`data` is read-only",
        );
        let link = |mut entries: Entries| {
            if let Some(entry) = entries.get_mut("a.lock") {
                entry.kind = Kind::Link;
            }
            entries
        };
        assert!(read_only.check(&link(entries(&whole)), &baseline).is_err());
        assert!(ReadOnly::new(&["[".to_owned()]).is_err());
    }

    #[test]
    fn sizes_are_counted_as_written_out() {
        let limits = ImportLimits {
            added_bytes: 100,
            ..ImportLimits::from(&taskwright_language::model::Limits::default())
        };
        let baseline = entries(&[("a", "1", 90)]);
        assert_eq!(check_size(&baseline, &baseline, &limits), Ok(0));
        assert_eq!(check_size(&entries(&[("a", "1", 90), ("b", "2", 100)]), &baseline, &limits), Ok(100));
        assert!(check_size(&entries(&[("a", "2", 60), ("b", "2", 60)]), &baseline, &limits).is_err());
        assert!(
            check_size(&entries(&[("a", "1", 90), ("b", "1", 90), ("c", "1", 90)]), &baseline, &limits)
                .is_err()
        );
    }
}
