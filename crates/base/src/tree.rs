//! Which paths and links a tree of files may hold: a baseline, an overlay, a candidate, an upload, a checkout.
//!
//! The rule is decided on names alone, before a byte is written anywhere. It is the strictest that any of them needs: what
//! a build accepts can be committed by git, opened by the sidecar and written out on any file system.

use std::fmt;

use crate::text::is_invisible;

/// The longest path, in bytes, from the tree's root: leaves room for where it is written.
pub const LONGEST_PATH: usize = 1024;
/// The longest name in bytes that Linux file systems take.
pub const LONGEST_NAME: usize = 255;
/// The deepest path, in names.
pub const DEEPEST: usize = 64;
/// The longest text of a symbolic link, in bytes.
pub const LONGEST_LINK: usize = 1024;

/// Why a tree may not hold something. Its words follow the path: "`a/b` is too long a path".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Absolute, empty, or with `.` or `..`.
    NotWithin,
    /// Longer than [`LONGEST_PATH`].
    LongPath,
    /// A name longer than [`LONGEST_NAME`].
    LongName,
    /// Deeper than [`DEEPEST`].
    Deep,
    /// A control character.
    Control,
    /// A name that git, or a file system that git knows, takes for `.git`.
    Git,
    /// A folder or a link whose name git, or a file system that it knows, takes for a file of settings: it refuses a commit
    /// with one.
    GitSettings,
    /// A link whose text is longer than [`LONGEST_LINK`].
    LongLink,
    /// A link whose text is not UTF-8.
    LinkNotText,
    /// A link to an absolute or empty path.
    LinkAbsolute,
    /// A link that leads out of the tree.
    LinkLeaves,
    /// A link that steps up behind a name, where another link may stand.
    LinkStepsUp,
    /// A link to a name that no tree may hold.
    LinkName,
}

impl Fault {
    /// What to do about it.
    pub fn hint(self) -> &'static str {
        match self {
            Self::NotWithin => "members have relative paths without `.` and `..`",
            Self::LongPath | Self::LongName => "give it a shorter name",
            Self::Deep => "move it further up",
            Self::Control => "rename it",
            Self::Git => "rename it, or leave it out: only plain files count",
            Self::GitSettings => "rename it, or put a plain file in its place",
            Self::LongLink | Self::LinkAbsolute | Self::LinkLeaves => {
                "let it point to a file of the same tree, by a relative path"
            }
            Self::LinkNotText | Self::LinkName => "let it point to a file whose name is plain text",
            Self::LinkStepsUp => "write its target shorter: `..` may stand at its beginning only",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotWithin => "is no path within the tree",
            Self::LongPath => "is too long a path",
            Self::LongName => "has too long a name",
            Self::Deep => "lies too deep",
            Self::Control => "has a control character in its name",
            Self::Git => "has a name that git keeps for itself",
            Self::GitSettings => "is no plain file where git looks for its settings",
            Self::LongLink => "is a symbolic link with too long a target",
            Self::LinkNotText => "is a symbolic link with a target that is not UTF-8",
            Self::LinkAbsolute => "is a symbolic link to an absolute or empty path",
            Self::LinkLeaves => "is a symbolic link that leaves the tree",
            Self::LinkStepsUp => "is a symbolic link that steps up behind a name",
            Self::LinkName => "is a symbolic link to a name that no tree may hold",
        })
    }
}

/// Checks a path from the tree's root, with `/` between names.
///
/// # Errors
/// The first fault.
pub fn check_path(path: &str) -> Result<(), Fault> {
    if path.len() > LONGEST_PATH {
        return Err(Fault::LongPath);
    }
    if path.chars().any(char::is_control) {
        return Err(Fault::Control);
    }
    let mut names = path.split('/').enumerate().peekable();
    while let Some((depth, name)) = names.next() {
        match name {
            "" | "." | ".." => return Err(Fault::NotWithin),
            _ if depth == DEEPEST => return Err(Fault::Deep),
            _ if name.len() > LONGEST_NAME => return Err(Fault::LongName),
            _ if is_git(name) => return Err(Fault::Git),
            _ if names.peek().is_some() && is_git_settings(name) => return Err(Fault::GitSettings),
            _ => {}
        }
    }
    Ok(())
}

/// Checks a symbolic link at a path that [`check_path`] has accepted, and returns its target as text.
///
/// Steps up are allowed at the beginning of a target only, where they start from the link's own folder, which is a real
/// one. Behind a name they could start from wherever another link leads.
///
/// # Errors
/// The first fault.
pub fn check_link<'a>(path: &str, target: &'a [u8]) -> Result<&'a str, Fault> {
    if target.len() > LONGEST_LINK {
        return Err(Fault::LongLink);
    }
    let text = std::str::from_utf8(target).map_err(|_| Fault::LinkNotText)?;
    if path.rsplit('/').next().is_some_and(is_git_settings) {
        return Err(Fault::GitSettings);
    }
    let mut depth = path.matches('/').count();
    let mut is_below = false;
    for part in text.split('/') {
        match part {
            "" if is_below => {}
            "" => return Err(Fault::LinkAbsolute),
            "." => {}
            ".." if is_below => return Err(Fault::LinkStepsUp),
            ".." => depth = depth.checked_sub(1).ok_or(Fault::LinkLeaves)?,
            _ if is_git(part) || part.chars().any(char::is_control) => return Err(Fault::LinkName),
            _ => is_below = true,
        }
    }
    Ok(text)
}

/// Whether some file system takes a name for `.git`.
pub fn is_git(name: &str) -> bool {
    let seen = as_seen(name);
    seen == ".git" || seen == "git~1"
}

/// Whether some file system takes a name for `.gitmodules` or `.gitattributes`, which git takes from a commit only where they
/// are plain files. The others are short names that NTFS gives them.
fn is_git_settings(name: &str) -> bool {
    let seen = as_seen(name);
    let is_short = |stem: &str| {
        let number = seen.strip_prefix(stem).and_then(|rest| rest.strip_prefix('~'));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
    };
    seen == ".gitmodules"
        || seen == ".gitattributes"
        || ["gitmod", "gi7eba", "gitatt", "gi7d29"].into_iter().any(is_short)
}

/// A name as the least exact of the file systems that git knows compares it: some leave out characters without width, others
/// cut off what stands at the end, and none tells capitals from small letters.
fn as_seen(name: &str) -> String {
    let visible: String = name.chars().filter(|character| !is_invisible(*character)).collect();
    let visible = visible.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    visible.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_kept_inside() {
        for path in [
            "a",
            "a/b.c",
            ".gitignore",
            ".gitmodules",
            "a/.gitattributes",
            "gitmod~/x",
            ".github/x",
            "git",
            "ä ö",
            "a\\b",
            "-x",
            "..a/b..",
            "a b/\"q\"",
        ] {
            assert_eq!(check_path(path), Ok(()), "{path}");
        }
        assert_eq!(check_path(&("d/".repeat(DEEPEST - 1) + "x")), Ok(()));
        for (path, fault) in [
            ("", Fault::NotWithin),
            ("/a", Fault::NotWithin),
            ("a/", Fault::NotWithin),
            ("a//b", Fault::NotWithin),
            (".", Fault::NotWithin),
            ("a/../b", Fault::NotWithin),
            ("a/.git/config", Fault::Git),
            (".GIT", Fault::Git),
            (".git.", Fault::Git),
            (".git ", Fault::Git),
            ("git~1", Fault::Git),
            ("GIT~1/x", Fault::Git),
            (".g\u{200c}it", Fault::Git),
            (".git:stream", Fault::Git),
            (".gitmodules/x", Fault::GitSettings),
            ("a/GITATT~1/x", Fault::GitSettings),
            ("a\0", Fault::Control),
            ("a\nb", Fault::Control),
            ("notes\t1.txt", Fault::Control),
            ("a\u{9f}", Fault::Control),
            (&"x".repeat(256), Fault::LongName),
            (&("d/".repeat(DEEPEST) + "x"), Fault::Deep),
            (&"xxxxxxxxx/".repeat(110), Fault::LongPath),
        ] {
            assert_eq!(check_path(path), Err(fault), "{path:?}");
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
            assert_eq!(check_link(path, target.as_bytes()), Ok(target), "{path} {target}");
        }
        for (path, target, fault) in [
            ("l", "", Fault::LinkAbsolute),
            ("l", "/etc/passwd", Fault::LinkAbsolute),
            ("l", "..", Fault::LinkLeaves),
            ("l", "../a", Fault::LinkLeaves),
            ("d/l", "../../a", Fault::LinkLeaves),
            ("d/e/l", "./../../../x", Fault::LinkLeaves),
            ("a/b", "c/../../d", Fault::LinkStepsUp),
            ("d/e/l2", "l1/../x", Fault::LinkStepsUp),
            ("d/l", "a/..", Fault::LinkStepsUp),
            ("d/.gitmodules", "a", Fault::GitSettings),
            (".GitAttributes", "a", Fault::GitSettings),
            ("l", ".git/config", Fault::LinkName),
            ("l", "a\nb", Fault::LinkName),
            ("l", &"a/".repeat(600), Fault::LongLink),
        ] {
            assert_eq!(check_link(path, target.as_bytes()), Err(fault), "{path} {target}");
        }
        assert_eq!(check_link("l", b"\xff"), Err(Fault::LinkNotText));
    }
}
