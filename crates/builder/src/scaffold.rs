//! A new spec: its folder with everything in it, made atomically.

mod files;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use taskwright_harbor::names::{MAX_DIR_NAME, check_dir_name};
use taskwright_language::model::{BaselineSource, Mode};

pub use files::File;

use crate::git::{Repository, no_repository};
use crate::workspace::Workspace;
use taskwright_base::{Error, Result};

/// A task's name, in the spellings that its files need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The task's: also that of its folder.
    pub task: String,
    /// Of its Python package, which can be imported.
    pub package: String,
    /// Of its Python project.
    pub project: String,
}

impl Name {
    /// Checks a name, and suggests one that will do.
    pub fn new(name: &str) -> Result<Self> {
        check_dir_name(name).map_err(|error| {
            Error::new(error.to_string()).hint(format!("for example `{}`", suggestion(name))).usage()
        })?;
        // The ends keep the package from being a keyword, a module of the standard library, or `harbor` itself.
        let mut project: String = words(name).join("-") + "-agent";
        if project.starts_with(|first: char| first.is_ascii_digit()) {
            project.insert_str(0, "task-");
        }
        Ok(Self { task: name.to_owned(), package: project.replace('-', "_"), project })
    }
}

/// The runs of letters and digits, in small letters.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect()
}

/// A valid name that resembles what was typed.
fn suggestion(name: &str) -> String {
    let mut valid = words(name).join("-");
    valid.truncate(MAX_DIR_NAME);
    match valid.trim_end_matches('-') {
        "" => "sort-numbers".to_owned(),
        valid => valid.to_owned(),
    }
}

/// A spec that was made.
#[derive(Debug)]
pub struct Scaffold {
    /// Its folder, from the workspace root.
    pub folder: Utf8PathBuf,
    /// Its files, each from that folder, in order.
    pub files: Vec<String>,
    /// What keeps it from being built as it is: a workspace that is in no git repository.
    pub obstacle: Option<Error>,
}

/// Makes the folder of a new spec.
pub fn scaffold(workspace: &Workspace, name: &str, mode: Mode, stop: &AtomicBool) -> Result<Scaffold> {
    let name = Name::new(name)?;
    let files = match mode {
        Mode::A => files::mode_a(&name),
        Mode::B => files::mode_b(&name),
    };
    let folder = workspace.specs.join(&name.task);
    make_folder(&workspace.root.join(&workspace.specs), &workspace.specs, &name.task, &files, stop)?;
    let place = workspace.root.join(&folder);
    let mut files: Vec<_> = files.into_iter().map(|file| file.path).collect();
    files.sort();
    let obstacle = match Repository::containing(&place) {
        Ok(Some(_)) => None,
        Ok(None) => Some(no_repository(&place, &folder, BaselineSource::WorkTree)),
        Err(error) => Some(error),
    };
    Ok(Scaffold { folder, files, obstacle })
}

/// Makes the folder `name` with its files in `specs`, which errors call `shown`.
///
/// It is written beside its place and renamed, so that a full disk or an interruption leaves nothing behind and an
/// existing folder is never touched.
///
/// # Errors
/// What stands there already, and whatever keeps a file from being written. Nothing was made then.
pub fn make_folder(
    specs: &Utf8Path,
    shown: &Utf8Path,
    name: &str,
    files: &[File],
    stop: &AtomicBool,
) -> Result<()> {
    refuse_taken(specs, shown, name)?;
    let was_there = specs.exists();
    let made = make(specs, shown, name, files, stop);
    if made.is_err() && !was_there {
        // Only an empty folder can be removed this way: what somebody else put there meanwhile stays.
        let _ = fs::remove_dir(specs);
    }
    if made? { Ok(()) } else { Err(taken(&shown.join(name))) }
}

/// Refuses a name that something in the folder of specs has already.
///
/// # Errors
/// One that says so.
pub fn refuse_taken(specs: &Utf8Path, shown: &Utf8Path, name: &str) -> Result<()> {
    match fs::symlink_metadata(specs.join(name)) {
        Ok(_) => Err(taken(&shown.join(name))),
        Err(_) => Ok(()),
    }
}

fn taken(folder: &Utf8Path) -> Error {
    Error::new(format!("`{folder}` exists already"))
        .hint("take another name, or remove it first: nothing in it was touched")
}

/// Writes the files and moves them to their place; false if somebody else was there first. Errors call the folder of
/// specs what it is called from the workspace root.
fn make(specs: &Utf8Path, shown: &Utf8Path, name: &str, files: &[File], stop: &AtomicBool) -> Result<bool> {
    fs::create_dir_all(specs).map_err(failed("creating", shown))?;
    // A name that starts with a dot is never taken for a spec. The folder inside gets the usual permissions, which a
    // temporary one lacks.
    let staging = tempfile::Builder::new()
        .prefix(".new-")
        .tempdir_in(specs)
        .map_err(failed("creating a folder in", shown))?;
    let staged = Utf8Path::from_path(staging.path())
        .ok_or_else(|| Error::new(format!("`{specs}` has a name that is not UTF-8")))?
        .join(name);
    for file in files {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::interrupted());
        }
        write(&staged, file).map_err(failed("writing", &shown.join(name).join(&file.path)))?;
    }
    let place = specs.join(name);
    move_to(&staged, &place).map_err(failed("renaming to", &shown.join(name)))
}

/// Writes one file with the folders it is in. The umask decides who else may read it, as for any file of the user's.
fn write(folder: &Utf8Path, file: &File) -> io::Result<()> {
    let path = folder.join(&file.path);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    let mode = if file.executable { 0o777 } else { 0o666 };
    let mut written = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    written.write_all(file.text.as_bytes())
}

/// Renames a folder to a place where nothing is; false if something is there.
fn move_to(staged: &Utf8Path, place: &Utf8Path) -> io::Result<bool> {
    let moved = rustix::fs::renameat_with(
        CWD,
        staged.as_std_path(),
        CWD,
        place.as_std_path(),
        RenameFlags::NOREPLACE,
    );
    match moved {
        Ok(()) => Ok(true),
        Err(Errno::EXIST | Errno::NOTEMPTY) => Ok(false),
        // A file system that cannot say "only if nothing is there". A plain rename replaces an empty folder at worst.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => match fs::symlink_metadata(place) {
            Ok(_) => Ok(false),
            Err(_) => fs::rename(staged, place).map(|()| true),
        },
        Err(error) => Err(error.into()),
    }
}

/// What could not be made, with what to do about it here.
fn failed<'a>(doing: &'a str, path: &'a Utf8Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |error| {
        let built = Error::io(doing, path, &error);
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                built.hint("free some space and call it again: nothing was made")
            }
            io::ErrorKind::PermissionDenied => built.hint(
                "change the permissions or the owner of the folder and call it again: nothing was made",
            ),
            io::ErrorKind::ReadOnlyFilesystem => {
                built.hint("work in a copy of the workspace that can be written to: nothing was made")
            }
            _ => built,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_packages_can_be_imported() {
        for (name, package) in [
            ("digits", "digits_agent"),
            ("sort-numbers-2", "sort_numbers_2_agent"),
            ("a--b", "a_b_agent"),
            ("2048", "task_2048_agent"),
            ("class", "class_agent"),
            ("harbor", "harbor_agent"),
        ] {
            let made = Name::new(name).unwrap();
            assert_eq!(made.package, package);
            assert_eq!(made.project, package.replace('_', "-"));
        }
    }

    #[test]
    fn a_bad_name_comes_with_a_good_one() {
        for (bad, good) in [
            ("My_Task", "my-task"),
            ("sort numbers!", "sort-numbers"),
            ("-x-", "x"),
            ("../etc", "etc"),
            ("", "sort-numbers"),
            ("é\n", "sort-numbers"),
            (&format!("{}-b", "a".repeat(31)), &"a".repeat(31)),
            (&"x".repeat(40), &"x".repeat(32)),
        ] {
            let error = Name::new(bad).unwrap_err();
            assert!(error.is_usage());
            assert_eq!(error.hint_text(), Some(format!("for example `{good}`").as_str()));
            assert!(check_dir_name(good).is_ok());
        }
    }

    #[test]
    fn a_failure_in_the_middle_leaves_nothing() {
        let room = tempfile::tempdir().unwrap();
        let specs = Utf8Path::from_path(room.path()).unwrap().join("specs");
        let file = |path: &str| File { path: path.to_owned(), text: "x\n".to_owned(), executable: false };
        let error = make(&specs, "specs".into(), "task", &[file("a"), file("a/b")], &AtomicBool::new(false))
            .unwrap_err();
        assert!(error.to_string().starts_with("writing `specs/task/a/b`: "), "{error}");
        assert_eq!(fs::read_dir(&specs).unwrap().count(), 0);
        let stopped = make(&specs, "specs".into(), "task", &[file("a")], &AtomicBool::new(true)).unwrap_err();
        assert!(stopped.is_interrupt());
        assert_eq!(fs::read_dir(&specs).unwrap().count(), 0);
    }

    #[test]
    fn whoever_comes_first_keeps_the_place() {
        let room = tempfile::tempdir().unwrap();
        let specs = Utf8Path::from_path(room.path()).unwrap();
        fs::create_dir(specs.join("task")).unwrap();
        let file = File { path: "a".to_owned(), text: String::new(), executable: false };
        assert_eq!(make(specs, "specs".into(), "task", &[file], &AtomicBool::new(false)), Ok(false));
        assert_eq!(fs::read_dir(specs).unwrap().count(), 1);
        assert_eq!(fs::read_dir(specs.join("task")).unwrap().count(), 0);
    }
}
