//! What a candidate's tree may hold, decided on names, kinds and sizes before a byte of it is written anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;

use taskwright_base::text::brief;
use taskwright_base::tree::{self as rules, Fault};
use taskwright_base::{Error, Result, failed_to};
use taskwright_language::pattern::Pattern;

use super::git::{Git, Reading, word};
use super::pack::bytes;
use super::{ImportError, ImportLimits, Refusal, TreeId};

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
    Refusal::Forbidden { path: brief(path, 200), reason: reason.to_owned() }
}

fn parse(line: &[u8]) -> Result<(String, Entry), ImportError> {
    let unexpected = || Error::new("git lists a tree in a way that is not expected: use git 2.30 or later");
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
    let kind = kind(mode, &lossy)?;
    let path = checked(path)?;
    let size = match kind {
        Kind::Folder => 0,
        Kind::File { .. } | Kind::Link => size.parse().map_err(|_| unexpected())?,
    };
    // Before it is read.
    if kind == Kind::Link && size > rules::LONGEST_LINK as u64 {
        return Err(refused(path, Fault::LongLink).into());
    }
    Ok((path.to_owned(), Entry { kind, object: object.to_owned(), size }))
}

/// What a commit did to a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It is there since, like this; the size is not known.
    Made(Entry),
    Removed,
}

/// How many changes a history may hold together: each costs us work, and a small pack can hold very many.
const MOST_CHANGES: u64 = 1_000_000;

/// Goes through what each of some commits, one a line, changed against each of its parents. Refuses what no candidate may hold
/// and what `check` refuses, with the commit.
pub(super) fn each_change(
    git: &Git,
    commits: &str,
    mut check: impl FnMut(&str, &Change) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let arguments =
        ["diff-tree", "--stdin", "-r", "-m", "--root", "-z", "--raw", "--no-renames", "--no-abbrev"];
    let mut listing = Reading::start_with(git, &arguments, commits.to_owned())?;
    let unexpected = || Error::new("git lists changes in a way that is not expected: use git 2.30 or later");
    let mut changes = 0;
    {
        let mut reader = BufReader::new(&mut listing.stdout);
        let mut next = || word(&mut reader, 0, 128 * 1024).map_err(failed_to("reading what git lists"));
        let mut commit = String::new();
        while let Some(line) = next()? {
            // A commit's name, or `:mode mode object object status` and the path after it.
            let line = String::from_utf8_lossy(&line).trim().to_owned();
            let Some(words) = line.strip_prefix(':') else {
                line.clone_into(&mut commit);
                continue;
            };
            let words: Vec<&str> = words.split(' ').collect();
            let [_, mode, _, object, _] = words[..] else { return Err(unexpected().into()) };
            let path = next()?.ok_or_else(unexpected)?;
            changes += 1;
            if changes > MOST_CHANGES {
                let what = format!("{changes} changes of files in the commits since the baseline");
                return Err(Refusal::TooLarge { what, limit: MOST_CHANGES.to_string() }.into());
            }
            change(mode, object, &path).and_then(|(path, change)| check(&path, &change)).map_err(
                |error| match error {
                    ImportError::Refused(refusal) => {
                        let commit = commit.clone();
                        Refusal::InHistory { commit, why: refusal.to_string() }.into()
                    }
                    failed @ ImportError::Failed(_) => failed,
                },
            )?;
        }
    }
    if !listing.finish()? {
        return Err(Refusal::Damaged { reason: "its history cannot be listed".to_owned() }.into());
    }
    Ok(())
}

fn change(mode: &str, object: &str, path: &[u8]) -> Result<(String, Change), ImportError> {
    let lossy = String::from_utf8_lossy(path);
    if mode == "000000" {
        return Ok((lossy.into_owned(), Change::Removed));
    }
    let kind = kind(mode, &lossy)?;
    let path = checked(path)?;
    Ok((path.to_owned(), Change::Made(Entry { kind, object: object.to_owned(), size: 0 })))
}

/// What an entry of this mode is, or the refusal of it.
fn kind(mode: &str, path: &str) -> Result<Kind, Refusal> {
    match mode {
        "040000" => Ok(Kind::Folder),
        "100755" => Ok(Kind::File { executable: true }),
        "120000" => Ok(Kind::Link),
        "160000" => Err(forbidden(path, "is a submodule: commit its files instead")),
        // 100644, and 100664 of old.
        _ if mode.starts_with("100") => Ok(Kind::File { executable: false }),
        _ => Err(forbidden(path, "is neither a file nor a folder nor a symbolic link")),
    }
}

/// A path that a candidate may have.
fn checked(path: &[u8]) -> Result<&str, Refusal> {
    let text = std::str::from_utf8(path)
        .map_err(|_| forbidden(&String::from_utf8_lossy(path), "has a name that is not UTF-8: rename it"))?;
    rules::check_path(text).map_err(|fault| refused(text, fault))?;
    Ok(text)
}

/// Refuses a link that leaves the tree; else its target.
pub(super) fn check_link<'a>(path: &str, target: &'a [u8]) -> Result<&'a str, Refusal> {
    rules::check_link(path, target).map_err(|fault| refused(path, fault))
}

/// A fault of a path or a link, with what to do about it.
fn refused(path: &str, fault: Fault) -> Refusal {
    forbidden(path, &format!("{fault}: {}", fault.hint()))
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
                Error::new(format!("`{text}` is not a pattern of read-only files: {problem}"))
            })
        };
        patterns.iter().map(read).collect::<Result<_>>().map(Self)
    }

    /// Whether a file is one of them.
    pub fn matches(&self, path: &str) -> bool {
        let is_meant = |path: &str| self.0.iter().any(|pattern| pattern.matches(path));
        is_meant(path) || path.match_indices('/').any(|(slash, _)| is_meant(&path[..slash]))
    }

    /// Refuses a change of such a file that does not make it what it is in the baseline.
    pub fn check_change(&self, path: &str, change: &Change, baseline: Option<&Entry>) -> Result<(), Refusal> {
        if !self.matches(path) {
            return Ok(());
        }
        let what = match (change, baseline) {
            (Change::Made(now), Some(before)) if now.kind == before.kind && now.object == before.object => {
                return Ok(());
            }
            (Change::Made(_), Some(_)) => "changed",
            (Change::Made(_), None) => "added",
            (Change::Removed, Some(_)) => "removed",
            // What was added before was refused there.
            (Change::Removed, None) => return Ok(()),
        };
        Err(Refusal::ReadOnly { path: brief(path, 200), change: what.to_owned() })
    }

    /// Refuses a tree that changes, adds or removes such a file; the first path in order is named.
    pub fn check(&self, entries: &Entries, baseline: &Entries) -> Result<(), Refusal> {
        let refuse = |path: &str, change: &str| {
            Err(Refusal::ReadOnly { path: brief(path, 200), change: change.to_owned() })
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
    use taskwright_testing::test;

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
