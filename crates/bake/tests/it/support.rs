//! A workspace of its own for each test, with tasks that somebody wrote: their images are made in seconds.

use std::fs;
use std::sync::atomic::AtomicBool;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_bake::{Intent, Options, Output, Report, bake};
use taskwright_builder::lock::Lock;
use taskwright_builder::{Silent, Workspace, build};
use tempfile::TempDir;
use walkdir::WalkDir;

/// The base of all images here.
pub const BASE: &str = "debian:trixie-slim";

pub struct Space {
    _folder: TempDir,
    pub workspace: Workspace,
}

/// What a bake is asked for where nothing is special.
pub fn options(intent: Intent) -> Options {
    Options { intent, output: Output::Oci, platforms: Vec::new(), update_bases: false, force: false }
}

impl Space {
    /// A workspace with tasks of these names, all alike.
    pub fn new(names: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::try_from(folder.path().canonicalize().unwrap()).unwrap();
        fs::write(root.join("taskwright.toml"), "[bake]\nregistry = \"taskwright.test/it\"\n").unwrap();
        let space = Self { workspace: Workspace::open(&root).unwrap(), _folder: folder };
        for name in names {
            let task = space.task(name);
            for part in ["environment/files", "tests"] {
                fs::create_dir_all(task.join(part)).unwrap();
            }
            let toml = format!(
                "schema_version = \"1.4\"\n[task]\nname = \"test/{name}\"\n[verifier]\nenvironment_mode = \"separate\"\n"
            );
            fs::write(task.join("task.toml"), toml).unwrap();
            fs::write(task.join("instruction.md"), "Do nothing.\n").unwrap();
            fs::write(task.join("environment/files/a.txt"), "a\n").unwrap();
            fs::write(
                task.join("environment/Dockerfile"),
                format!("FROM {BASE}\nCOPY files/ /files/\nRUN date > /dev/null; echo made > /made\n"),
            )
            .unwrap();
            fs::write(task.join("tests/Dockerfile"), format!("FROM {BASE}\nCOPY test.sh /tests/test.sh\n"))
                .unwrap();
            fs::write(task.join("tests/test.sh"), "#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n").unwrap();
        }
        space
    }

    /// Where a task is written.
    pub fn task(&self, name: &str) -> Utf8PathBuf {
        self.workspace.root.join("harbor-tasks").join(name)
    }

    pub fn bake(&self, options: &Options) -> Result<Report, taskwright_base::Error> {
        self.bake_some(&[], options)
    }

    /// Builds all tasks, and bakes those of these names, or all.
    pub fn bake_some(&self, names: &[&str], options: &Options) -> Result<Report, taskwright_base::Error> {
        let stop = AtomicBool::new(false);
        let built = build(&self.workspace, &taskwright_builder::Options::default(), &Silent, &stop).unwrap();
        assert!(built.is_success(), "{built:?}");
        let all = built.tasks.iter().map(|task| task.name.clone());
        let names: Vec<_> = all.filter(|name| names.is_empty() || names.contains(&name.as_str())).collect();
        bake(&self.workspace, &names, options, &Silent, &stop)
    }

    pub fn lock(&self) -> Lock {
        Lock::read(&self.workspace.lock_file()).unwrap().unwrap()
    }

    /// The digest that the lock has of an image.
    pub fn digest(&self, task: &str, service: &str) -> String {
        self.lock().tasks[task].images.as_ref().unwrap().digest[service].clone()
    }
}

/// The files of a folder, by path.
pub fn files(folder: &Utf8Path) -> Vec<String> {
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
    let files = entries.filter(|entry| !entry.file_type().is_dir());
    files.map(|file| file.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned()).collect()
}
