//! Paths written in a spec: relative to the file that says them, kept relative to the workspace root.

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use crate::shape::PathProblem;

/// A path as the file in `folder` says it, relative to the workspace root and without `.` and `..`.
pub fn resolve(folder: &Utf8Path, text: &str) -> Result<Utf8PathBuf, PathProblem> {
    relative(text)?;
    let path = normalize(&folder.join(text));
    if path.starts_with("..") {
        return Err((
            format!("`{text}` leads out of the workspace"),
            "move what it names into the workspace, so that every clone has it".to_owned(),
        ));
    }
    Ok(path)
}

/// The same, but it may lead out of the workspace: it then starts with `..`.
pub fn resolve_anywhere(folder: &Utf8Path, text: &str) -> Result<Utf8PathBuf, PathProblem> {
    relative(text)?;
    Ok(normalize(&folder.join(text)))
}

/// A path inside something else, written from its root; `"."` is the root itself.
pub fn inside(text: &str, what: &str) -> Result<Utf8PathBuf, PathProblem> {
    relative(text)?;
    let path = normalize(Utf8Path::new(text));
    if path.starts_with("..") {
        return Err((
            format!("`{text}` leads out of {what}"),
            format!("write a path from the root of {what}; \".\" is the root"),
        ));
    }
    Ok(path)
}

fn relative(text: &str) -> Result<(), PathProblem> {
    if text.contains('\0') {
        return Err(("a path cannot hold a NUL character".to_owned(), "take it out".to_owned()));
    }
    if Utf8Path::new(text).is_absolute() || is_windows_absolute(text) {
        return Err((
            format!("`{text}` is an absolute path"),
            "write it relative to this file: an absolute path means something else on every machine"
                .to_owned(),
        ));
    }
    if text == "~" || text.starts_with("~/") {
        return Err((
            format!("`{text}` starts at a home folder"),
            "write it relative to this file: nobody else has your home folder".to_owned(),
        ));
    }
    Ok(())
}

fn is_windows_absolute(text: &str) -> bool {
    let mut characters = text.chars();
    text.starts_with("\\\\")
        || (characters.next().is_some_and(|letter| letter.is_ascii_alphabetic())
            && characters.next() == Some(':')
            && characters.next().is_some_and(|slash| slash == '\\' || slash == '/'))
}

/// A relative path without `.` and, but for those that lead out at its start, without `..`. The root is `.`.
pub fn normalize(path: &Utf8Path) -> Utf8PathBuf {
    let mut parts: Vec<&str> = Vec::new();
    for component in path.components() {
        match component {
            Utf8Component::ParentDir if parts.last().is_none_or(|last| *last == "..") => parts.push(".."),
            Utf8Component::ParentDir => {
                parts.pop();
            }
            Utf8Component::Normal(part) => parts.push(part),
            Utf8Component::CurDir | Utf8Component::RootDir | Utf8Component::Prefix(_) => {}
        }
    }
    if parts.is_empty() { Utf8PathBuf::from(".") } else { parts.iter().collect() }
}
