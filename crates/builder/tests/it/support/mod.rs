//! A workspace of its own for each test, and ways to look at what a build did to it.

pub mod child;
pub mod look;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::Error;
use taskwright_builder::{
    Binary, Failure, Intent, Options, Report, Silent, Status, TaskReport, Workspace, build,
};
use tempfile::TempDir;

/// From this size on a file is kept in the store and linked into outputs.
pub const LARGE: usize = 64 * 1024;

/// A git repository with specs, which goes away with the value.
pub struct TestSpace {
    _folder: TempDir,
    /// Where things are. Tests may point it elsewhere.
    pub workspace: Workspace,
}

/// A spec of Mode A about the files beside it, with `changes` made to its text.
pub fn spec(name: &str, changes: &[(&str, &str)]) -> String {
    let mut text = format!(
        r#"name = "{name}"
description = "Improve {name}"
mode = "a"

[baseline]
path = "baseline"

[instruction]
file = "instruction.md"

[scorer]
path = "scorer"
run = ["python3", "{{scorer}}/run.py"]
score = ["python3", "{{scorer}}/score.py"]

[dataset]
path = "dataset"
labels = ["label"]

[splits.train]
samples = {{ field = "split", equals = "train" }}
access = "viewable"

[splits.test]
samples = {{ field = "split", equals = "test" }}

[[targets]]
split = "test"
"#
    );
    for (old, new) in changes {
        assert!(text.contains(old), "the spec does not say {old}");
        text = text.replacen(old, new, 1);
    }
    text
}

/// The rows that such a spec needs: one for each split.
pub const ROWS: &str =
    "{\"id\":\"one\",\"split\":\"train\",\"label\":1}\n{\"id\":\"two\",\"split\":\"test\",\"label\":2}\n";

impl TestSpace {
    /// A repository with the tasks `alpha` and `beta`, which share nothing but the binary and the templates.
    pub fn new() -> Self {
        Self::with(&["alpha", "beta"])
    }

    /// A repository with some tasks.
    pub fn with(tasks: &[&str]) -> Self {
        Self::at(tempfile::Builder::new().prefix("taskwright test").tempdir().unwrap(), tasks)
    }

    /// The same in a folder that is given.
    pub fn at(folder: TempDir, tasks: &[&str]) -> Self {
        let root = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
        let workspace =
            Workspace { binary: Binary::Prebuilt("bin/taskwright".into()), ..Workspace::new(&root) };
        let space = Self { _folder: folder, workspace };
        space.git(&["init", "--quiet", "--initial-branch=main"]);
        // The lock is left to the build: it would only stand in the way of switching branches.
        space.write(".gitignore", "/target/\ntaskwright.lock\n");
        space.write("bin/taskwright", "#!/bin/sh\n".to_owned() + &"# a binary\n".repeat(LARGE / 8));
        for task in tasks {
            space.add_task(task);
        }
        space.commit("Begin");
        space
    }

    /// Writes everything that a task of Mode A is made of.
    pub fn add_task(&self, name: &str) {
        let file = |path: &str, text: &str| self.write(format!("harbor-tasks/{name}/{path}"), text);
        file("spec.toml", &spec(name, &[]));
        file("instruction.md", &format!("# Make {name} better\n"));
        file("baseline/main.py", &format!("print('{name}')\n"));
        file("baseline/lib/util.py", "VALUE = 1\n");
        file("scorer/run.py", "print('run')\n");
        file("scorer/score.py", "print('score')\n");
        file("dataset/rows.jsonl", ROWS);
    }

    pub fn root(&self) -> &Utf8Path {
        &self.workspace.root
    }

    /// A path below the root.
    pub fn path(&self, path: impl AsRef<Utf8Path>) -> Utf8PathBuf {
        self.root().join(path)
    }

    /// A path below where tasks are built.
    pub fn out(&self, path: impl AsRef<Utf8Path>) -> Utf8PathBuf {
        self.workspace.out.join(path)
    }

    pub fn write(&self, path: impl AsRef<Utf8Path>, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("writing {path}: {error}"));
    }

    pub fn write_executable(&self, path: impl AsRef<Utf8Path>, bytes: impl AsRef<[u8]>) {
        self.write(path.as_ref(), bytes);
        chmod(&self.path(path), 0o755);
    }

    pub fn read(&self, path: impl AsRef<Utf8Path>) -> String {
        let path = self.path(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("reading {path}: {error}"))
    }

    /// Replaces a part of a text file.
    pub fn edit(&self, path: impl AsRef<Utf8Path>, old: &str, new: &str) {
        let text = self.read(path.as_ref());
        assert!(text.contains(old), "{} does not hold {old:?}", path.as_ref());
        self.write(path, text.replacen(old, new, 1));
    }

    pub fn remove(&self, path: impl AsRef<Utf8Path>) {
        let path = self.path(path);
        if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.unwrap();
    }

    /// Runs git in the root, untouched by this machine's configuration, and returns what it prints.
    pub fn git(&self, arguments: &[&str]) -> String {
        git(self.root(), arguments)
    }

    /// Commits everything there is.
    pub fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    /// A plain build of everything.
    pub fn build(&self) -> Report {
        self.build_with(&Options::default())
    }

    /// A build that is refused as a whole only if the test is wrong.
    pub fn build_with(&self, options: &Options) -> Report {
        self.try_build(options).unwrap_or_else(|error| panic!("the build was refused: {error}"))
    }

    pub fn try_build(&self, options: &Options) -> Result<Report, Error> {
        build(&self.workspace, options, &Silent, &AtomicBool::new(false))
    }

    /// A build that only looks.
    pub fn look(&self) -> Report {
        self.build_with(&Options { intent: Intent::Look, ..Options::default() })
    }

    /// A build of the tasks that are named.
    pub fn build_only(&self, names: &[&str]) -> Report {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        self.build_with(&Options { names, ..Options::default() })
    }

    /// Builds until everything is up to date and old enough to be trusted by a look alone.
    pub fn settle(&self) {
        for _ in 0..2 {
            wait_a_tick();
            let report = self.build();
            assert!(report.is_success(), "{}", summary(&report));
        }
        wait_a_tick();
    }

    /// A text without what differs from run to run.
    pub fn neutral(&self, text: &str) -> String {
        text.replace(self.root().as_str(), "[ROOT]")
    }

    /// A clone of the repository as a workspace of its own.
    pub fn cloned(&self, arguments: &[&str]) -> Self {
        let folder = tempfile::Builder::new().prefix("taskwright clone").tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
        let source = format!("file://{}", self.root());
        git(&root, &[&["clone", "--quiet"], arguments, &[source.as_str(), "."]].concat());
        let workspace =
            Workspace { binary: Binary::Prebuilt("bin/taskwright".into()), ..Workspace::new(&root) };
        Self { _folder: folder, workspace }
    }

    /// Why a task failed, as it is told to people.
    pub fn failure(&self, report: &Report, name: &str) -> String {
        let task = task(report, name);
        let Status::Failed(failure) = &task.status else {
            panic!("`{name}` did not fail: {}", summary(report));
        };
        self.neutral(&match failure {
            Failure::Spec(diagnostics) => diagnostics.render(false),
            Failure::Error(error) => self.error(error),
        })
    }

    /// Why tasks failed, all of them.
    pub fn failures(&self, report: &Report) -> String {
        let failed = report.tasks.iter().filter(|task| matches!(task.status, Status::Failed(_)));
        let mut words: Vec<_> = failed.map(|task| self.failure(report, &task.name)).collect();
        words.extend(report.errors.iter().map(|error| self.error(error)));
        words.join("\n")
    }

    /// An error as it is told to people.
    pub fn error(&self, error: &Error) -> String {
        let hint = error.hint_text().map(|hint| format!("\nhelp: {hint}")).unwrap_or_default();
        self.neutral(&format!("{error}{hint}"))
    }
}

/// Runs git in a folder, untouched by this machine's configuration and always at the same time of day.
pub fn git(folder: &Utf8Path, arguments: &[&str]) -> String {
    let output = git_command(folder).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "git {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The command that runs git so.
pub fn git_command(folder: &Utf8Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).envs([
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ("GIT_AUTHOR_NAME", "Tester"),
        ("GIT_AUTHOR_EMAIL", "tester@localhost"),
        ("GIT_AUTHOR_DATE", "1700000000 +0000"),
        ("GIT_COMMITTER_NAME", "Tester"),
        ("GIT_COMMITTER_EMAIL", "tester@localhost"),
        ("GIT_COMMITTER_DATE", "1700000000 +0000"),
    ]);
    command
}

pub fn chmod(path: &Utf8Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Lets the clock that stamps files go on by a tick. A file that is younger is never trusted by a look alone, and no
/// call can make a file's change time older: this is the one thing that tests have to wait for.
pub fn wait_a_tick() {
    std::thread::sleep(Duration::from_millis(25));
}

/// What a report says of one task.
pub fn task<'a>(report: &'a Report, name: &str) -> &'a TaskReport {
    report
        .tasks
        .iter()
        .find(|task| task.name == name)
        .unwrap_or_else(|| panic!("nothing is said of `{name}`: {}", summary(report)))
}

/// What became of every task: `alpha: built, beta: up to date`.
pub fn summary(report: &Report) -> String {
    let mut words: Vec<_> =
        report.tasks.iter().map(|task| format!("{}: {}", task.name, task.status.word())).collect();
    words.extend(report.errors.iter().map(|error| format!("error: {error}")));
    words.join(", ")
}

/// The changes that a report gives as the reason for building a task, a line each.
pub fn changes(report: &Report, name: &str) -> String {
    let lines: Vec<_> = task(report, name).changes.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// The damage that a report found in a task's outputs, a line each.
pub fn damage(report: &Report, name: &str) -> String {
    task(report, name).damage.join("\n")
}
