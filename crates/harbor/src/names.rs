//! Names that Harbor can live with: of task directories, tasks and steps.

use std::collections::BTreeMap;

use taskwright_base::Digest;

/// How many characters of a task directory's name reach the names of its trials.
pub const MAX_DIR_NAME: usize = 32;

/// How many hexadecimal digits [`shorten`] keeps names apart with: enough that 10,000 of them do not meet.
const TAG: usize = 8;

/// Why a name will not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name of a task directory.
    #[error(
        "`{}` cannot name a task directory: use 1 to {MAX_DIR_NAME} of a-z, 0-9 and `-`, with no `-` at either end",
        .0.escape_debug()
    )]
    Directory(String),
    /// The name of a task.
    #[error(
        "`{}` cannot name a task: write `org/name`, each part a letter or digit and then letters, digits, `.`, `_` \
         or `-`, without `..`",
        .0.escape_debug()
    )]
    Task(String),
    /// The name of a step.
    #[error(
        "`{}` cannot name a step: it names a folder, so leave out separators, control and wildcard characters, device \
         names, dots or spaces at the end, and stay within 255 bytes",
        .0.escape_debug()
    )]
    Step(String),
}

/// Checks the name of a task directory: `[a-z0-9-]`, at most 32 characters, a letter or digit at both ends.
///
/// Harbor takes more, and then cuts it, matches it as a wildcard or lower-cases it; within these bounds the name is the
/// same wherever it turns up.
///
/// ```
/// use taskwright_harbor::names::check_dir_name;
///
/// assert!(check_dir_name("sort-ints-2").is_ok());
/// assert!(check_dir_name("Sort_ints").is_err());
/// ```
pub fn check_dir_name(name: &str) -> Result<(), NameError> {
    let is_inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if (1..=MAX_DIR_NAME).contains(&name.len())
        && name.bytes().all(is_inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
    {
        Ok(())
    } else {
        Err(NameError::Directory(name.to_owned()))
    }
}

/// Checks the name of a task: `org/name`.
pub fn check_task_name(name: &str) -> Result<(), NameError> {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    match name.split_once('/') {
        Some((org, short)) if is_part(org) && is_part(short) && !name.contains("..") => Ok(()),
        _ => Err(NameError::Task(name.to_owned())),
    }
}

/// Checks the name of a step, which must be a folder's name on every system, Windows included.
pub fn check_step_name(name: &str) -> Result<(), NameError> {
    let is_bad = |c: char| c < ' ' || c == '\x7f' || "<>:\"/\\|?*".contains(c);
    if name.trim().is_empty()
        || name.ends_with(['.', ' '])
        || name.contains(is_bad)
        || name.len() > 255
        || is_windows_device(name)
    {
        return Err(NameError::Step(name.to_owned()));
    }
    Ok(())
}

/// Whether a name can be that of an environment variable.
#[cfg(feature = "task-toml")]
pub(crate) fn is_variable_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_windows_device(name: &str) -> bool {
    // A device keeps its meaning with any extension: `nul.txt` is `nul`.
    let stem = name.split('.').next().unwrap_or_default().trim_end_matches(' ').to_ascii_uppercase();
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(&stem.as_str()) {
        return true;
    }
    let port = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    let mut digits = port.unwrap_or_default().chars();
    matches!((digits.next(), digits.next()), (Some('1'..='9' | '¹' | '²' | '³'), None))
}

/// A valid directory name for any text, the same each time; text that already is one is returned as it is.
///
/// Where something is lost, a digest of the whole text at the end keeps apart what would otherwise be cut or mapped to
/// one name.
///
/// ```
/// use taskwright_harbor::names::shorten;
///
/// assert_eq!(shorten("gsm8k-tiny"), "gsm8k-tiny");
/// let name = shorten("gsm8k-tiny-model-large-temperature-0.7");
/// assert!(name.starts_with("gsm8k-tiny-model-large-") && name.len() <= 32);
/// ```
#[must_use]
pub fn shorten(text: &str) -> String {
    if check_dir_name(text).is_ok() {
        return text.to_owned();
    }
    let mut stem = String::new();
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        if stem.len() == MAX_DIR_NAME - TAG - 1 {
            break;
        }
        if c.is_ascii_alphanumeric() {
            stem.push(c);
        } else if !stem.is_empty() && !stem.ends_with('-') {
            stem.push('-');
        }
    }
    if !stem.is_empty() && !stem.ends_with('-') {
        stem.push('-');
    }
    stem + &Digest::of(text.as_bytes()).hex()[..TAG]
}

/// What of a directory's name Harbor keeps in the names of its trials.
#[must_use]
pub fn trial_stem(dir_name: &str) -> &str {
    let end = dir_name.char_indices().nth(MAX_DIR_NAME).map_or(dir_name.len(), |(at, _)| at);
    dir_name[..end].trim_end_matches(['_', '-'])
}

/// Groups of names that trials could not be told apart by: equal once cut, case not counting. Sorted, without repeats.
///
/// Names that pass [`check_dir_name`] collide only if they are equal; this is for names that came from elsewhere.
///
/// ```
/// use taskwright_harbor::names::collisions;
///
/// let long = ["a-very-long-name-of-a-task-indeed-1", "a-very-long-name-of-a-task-indeed-2", "other"];
/// assert_eq!(collisions(long), vec![vec![long[0], long[1]]]);
/// ```
#[must_use]
pub fn collisions<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Vec<&'a str>> {
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in names {
        groups.entry(trial_stem(name).to_lowercase()).or_default().push(name);
    }
    let mut colliding: Vec<_> = groups.into_values().filter(|group| group.len() > 1).collect();
    for group in &mut colliding {
        group.sort_unstable();
    }
    colliding
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn directory_names() {
        for good in ["a", "0", "a-b", "a--b", &"a".repeat(32)] {
            assert_eq!(check_dir_name(good), Ok(()), "{good}");
        }
        for bad in ["", "-", "-a", "a-", "A", "a_b", "a.b", "a b", "é", "a/b", "a\n", &"a".repeat(33)] {
            assert_eq!(check_dir_name(bad), Err(NameError::Directory(bad.to_owned())), "{bad}");
        }
    }

    #[test]
    fn task_names() {
        for good in ["a/b", "Acme-1/x.y_z", "0/0", "a./b."] {
            assert_eq!(check_task_name(good), Ok(()), "{good}");
        }
        for bad in ["", "a", "a/", "/b", "a/b/c", ".a/b", "a/-b", "a/b..c", "a/é", "a/b\n", "a b/c"] {
            assert!(check_task_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn step_names() {
        for good in ["one", "Step 1", "é", "com", "com10", "lptx", ".hidden", "a.b"] {
            assert_eq!(check_step_name(good), Ok(()), "{good}");
        }
        let long = "x".repeat(256);
        for bad in [
            "", " ", ".", "..", "a.", "a ", "a/b", "a\\b", "a*", "nul", "Con.txt", "com1", "LPT².x",
            "a\u{1}", &long,
        ] {
            assert!(check_step_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn short_names_are_valid_and_distinct() {
        let texts =
            ["", "---", "é", "Über lang", "a_b", "a.b", "a-b-", &"x".repeat(33), &"x".repeat(34), "_", "A"];
        let names: Vec<_> = texts.iter().map(|text| shorten(text)).collect();
        for (text, name) in texts.iter().zip(&names) {
            assert_eq!(check_dir_name(name), Ok(()), "{text} -> {name}");
        }
        assert!(collisions(names.iter().map(String::as_str)).is_empty(), "{names:?}");
    }

    #[test]
    fn trial_stems_are_cut_by_characters() {
        assert_eq!(trial_stem(&"é".repeat(40)), "é".repeat(32));
        assert_eq!(trial_stem("name-_"), "name");
        assert_eq!(collisions(["b", "a", "b"]), vec![vec!["b", "b"]]);
    }
}
