//! A workspace with configurations in it, in a folder that vanishes.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::Error;
use taskwright_builder::scaffold::make_folder;
use taskwright_builder::{Binary, Failure, Options, Report, Silent, Status, Workspace, build};
use taskwright_migrate::{Migration, Places, migrate};
use tempfile::TempDir;

pub struct Space {
    pub workspace: Workspace,
    _folder: TempDir,
}

impl Space {
    /// A git repository that holds a copy of our own configurations in `suite/`.
    pub fn new() -> Self {
        Self::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"))
    }

    /// The same with a copy of another folder.
    pub fn of(suite: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
        let workspace =
            Workspace { binary: Binary::Prebuilt("bin/taskwright".into()), ..Workspace::new(&root) };
        let space = Self { workspace, _folder: folder };
        copy(suite, root.join("suite").as_std_path());
        space.write("bin/taskwright", "#!/bin/sh\n");
        space.write(".gitignore", "/target/\n");
        space.git(&["init", "--quiet"]);
        space
    }

    pub fn root(&self) -> &Utf8Path {
        &self.workspace.root
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Changes one place in a file.
    pub fn edit(&self, path: &str, old: &str, new: &str) {
        let text = fs::read_to_string(self.root().join(path)).unwrap();
        assert!(text.contains(old), "`{path}` does not say {old}");
        self.write(path, &text.replacen(old, new, 1));
    }

    pub fn places(&self, file: &str) -> Places {
        Places {
            root: self.root().to_owned(),
            specs: self.root().join("harbor-tasks"),
            file: self.root().join(file),
        }
    }

    pub fn migrate(&self, file: &str) -> Result<Migration, Error> {
        migrate(self.places(file))
    }

    /// Migrates and writes what came of it.
    pub fn make(&self, file: &str) -> Migration {
        let migration = self.migrate(file).unwrap_or_else(|error| panic!("{error}\n{:?}", error.hint_text()));
        let specs = self.root().join("harbor-tasks");
        make_folder(
            &specs,
            "harbor-tasks".into(),
            &migration.name,
            &migration.files,
            &AtomicBool::new(false),
        )
        .unwrap();
        migration
    }

    /// Builds everything, after a commit.
    pub fn build(&self) -> Report {
        self.git(&["add", "--all"]);
        self.git(&[
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "commit",
            "--quiet",
            "--message",
            "Begin",
        ]);
        build(&self.workspace, &Options::default(), &Silent, &AtomicBool::new(false)).unwrap()
    }

    fn git(&self, arguments: &[&str]) {
        let status = Command::new("git").arg("-C").arg(self.root()).args(arguments).status().unwrap();
        assert!(status.success(), "git {arguments:?}");
    }
}

/// Of each task that could not be built, why.
pub fn failures(report: &Report) -> Vec<String> {
    let why = |failure: &Failure| match failure {
        Failure::Spec(diagnostics) => diagnostics.render(false),
        Failure::Error(error) => format!("{error}\n{}", error.hint_text().unwrap_or_default()),
    };
    let failed = |status: &Status| match status {
        Status::Failed(failure) => Some(why(failure)),
        _ => None,
    };
    report.tasks.iter().filter_map(|task| Some(format!("{}: {}", task.name, failed(&task.status)?))).collect()
}

/// The text of a file of a spec's folder.
pub fn text<'a>(migration: &'a Migration, path: &str) -> &'a str {
    &migration
        .files
        .iter()
        .find(|file| file.path == path)
        .unwrap_or_else(|| panic!("there is no {path}"))
        .text
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::write(to, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// An inner task that stands in for one that has to be fetched.
pub fn stand_in(space: &Space, folder: &Utf8Path, id: &str) {
    let file = |path: &str, text: &str| {
        let path: Utf8PathBuf = folder.join(id).join(path);
        space.write(path.as_str(), text);
    };
    file(
        "task.toml",
        &format!(
            "schema_version = \"1.4\"\n\n[task]\nname = \"stand-in/{id}\"\n\n[agent]\ntimeout_sec = 600.0\n"
        ),
    );
    file("instruction.md", "Do it.\n");
    file("environment/Dockerfile", "FROM debian:trixie-slim\n");
    file("tests/test.sh", "#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n");
}
