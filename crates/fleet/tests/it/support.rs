//! A repository with tasks, clones of it, and the machines that build them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_builder::Workspace;
use taskwright_builder::lock::Lock;
use taskwright_builder::scaffold::scaffold;
use taskwright_language::model::Mode;
use tempfile::TempDir;
use walkdir::WalkDir;

use crate::child;

/// The secret half of a key that the fleet trusts, and its public half (RFC 8032, 7.1).
pub const SECRET: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
const PUBLIC: &str = "ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
/// One that only strangers trust, and its public half.
pub const STRANGER: &str = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
const OF_STRANGER: &str = "ed25519:3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";

/// A folder with a repository in it, beside which clones go.
pub struct Space {
    folder: TempDir,
    store: String,
}

/// What a build printed.
#[derive(Debug)]
pub struct Said {
    pub lines: Vec<String>,
    pub is_success: bool,
}

impl Space {
    /// Tasks of these names, and a store in a folder.
    pub fn new(tasks: &[&str]) -> Self {
        let space = Self { folder: tempfile::tempdir().unwrap(), store: "../store".to_owned() };
        fs::create_dir(space.path("store")).unwrap();
        space.begin(tasks);
        space
    }

    /// The same with a store elsewhere.
    pub fn at(store: &str, tasks: &[&str]) -> Self {
        let space = Self { folder: tempfile::tempdir().unwrap(), store: store.to_owned() };
        space.begin(tasks);
        space
    }

    fn begin(&self, tasks: &[&str]) {
        let origin = self.path("origin");
        fs::create_dir(&origin).unwrap();
        git(&origin, &["init", "--quiet", "--initial-branch=main"]);
        write(&origin.join("bin/taskwright"), &"#!/bin/sh\n# a binary\n".repeat(8000));
        write(&origin.join(".gitignore"), "/target/\ntaskwright.lock\n");
        self.configure(&origin, PUBLIC);
        let workspace = Workspace::open(&origin).unwrap();
        for task in tasks {
            scaffold(&workspace, task, Mode::A, &AtomicBool::new(false)).unwrap();
            let baseline = origin.join("harbor-tasks").join(task).join("baseline");
            assert!(baseline.is_dir());
            let spec = origin.join("harbor-tasks").join(task).join("spec.toml");
            let text = fs::read_to_string(&spec).unwrap();
            write(&spec, &text.replacen("source = \"work-tree\"", "source = \"commit\"", 1));
            for (file, content) in
                [("name.txt", (*task).to_owned()), ("large.txt", format!("{task}\n").repeat(20_000))]
            {
                write(&baseline.join(file), &content);
            }
        }
        commit(&origin);
    }

    fn configure(&self, clone: &Utf8Path, trusted: &str) {
        let toml = format!(
            "binary = \"bin/taskwright\"\n[fleet]\nstore = \"{}\"\ntrust = [\"{trusted}\"]\n",
            self.store
        );
        write(&clone.join("taskwright.toml"), &toml);
    }

    pub fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.folder.path()).unwrap().join(name)
    }

    /// A machine with a fresh clone.
    pub fn machine(&self, name: &str) -> Machine {
        let root = self.path(name);
        git(self.path("origin"), &["clone", "--quiet", ".", root.as_str()]);
        Machine { root, environment: Vec::new() }
    }

    /// One that trusts strangers, and no one else.
    pub fn stranger(&self) -> Machine {
        let machine = self.machine("stranger");
        self.configure(&machine.root, OF_STRANGER);
        machine.with(taskwright_fleet::KEY, STRANGER)
    }

    /// The files of the store.
    pub fn stored(&self) -> Vec<Utf8PathBuf> {
        files(&self.path("store"))
    }
}

/// A clone, and the environment in which it is built.
pub struct Machine {
    pub root: Utf8PathBuf,
    environment: Vec<(String, String)>,
}

impl Machine {
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a key that the fleet trusts.
    pub fn trusted(self) -> Self {
        self.with(taskwright_fleet::KEY, SECRET)
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        for (name, _) in std::env::vars_os() {
            if ["AWS_", "TASKWRIGHT_FLEET"].iter().any(|begin| name.to_string_lossy().starts_with(begin)) {
                command.env_remove(&name);
            }
        }
        command.env(child::ROOT, &self.root).stdin(Stdio::null()).stdout(Stdio::piped());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    pub fn build(&self) -> Said {
        let output = self.command().output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        Said { lines: text.lines().map(str::to_owned).collect(), is_success: output.status.success() }
    }

    pub fn lock(&self) -> Lock {
        Lock::read(&Workspace::new(&self.root).lock_file()).unwrap().unwrap_or_default()
    }

    pub fn lock_text(&self) -> String {
        fs::read_to_string(Workspace::new(&self.root).lock_file()).unwrap()
    }

    /// Every file that was built, with its bytes.
    pub fn built(&self) -> Vec<(String, Vec<u8>)> {
        let out = Workspace::new(&self.root).out;
        let all = files(&out).into_iter();
        all.map(|file| (file.strip_prefix(&out).unwrap().to_string(), fs::read(&file).unwrap())).collect()
    }
}

impl Said {
    pub fn warnings(&self) -> Vec<&str> {
        self.lines.iter().filter_map(|line| line.strip_prefix("warning: ")).collect()
    }

    /// Whether it made a baseline itself.
    pub fn archived(&self) -> bool {
        self.lines.iter().any(|line| line.starts_with("making: archiving"))
    }

    /// The tasks that were built, in order.
    pub fn built(&self) -> Vec<&str> {
        let mut built: Vec<_> = self.lines.iter().filter_map(|line| line.strip_prefix("built: ")).collect();
        built.sort_unstable();
        built
    }

    /// That it went well.
    pub fn well(self) -> Self {
        assert!(self.is_success, "{self:?}");
        self
    }
}

pub fn files(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().is_file());
    files.map(|file| Utf8PathBuf::from_path_buf(file.into_path()).unwrap()).collect()
}

pub fn write(path: &Utf8Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub fn commit(root: &Utf8Path) {
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message", "Change"]);
}

fn git(root: impl AsRef<Path>, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(root.as_ref()).args(["-c", "user.name=T", "-c", "user.email=t@example.com"]);
    let output = command.args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
