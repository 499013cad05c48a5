//! Which workspace a command works in, what makes a repository one, and what goes out of it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A repository of somebody's own, with a stand-in for the binary that goes into images.
fn repository() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for words in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["config", "user.name", "Somebody"],
        &["config", "user.email", "somebody@example.org"],
    ] {
        assert!(Command::new("git").args(words).current_dir(folder.path()).status().unwrap().success());
    }
    write(folder.path(), "bin/taskwright", "#!/bin/sh\n");
    folder
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taskwright"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The same command that an installed program would be: nothing of cargo around it.
fn installed(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).env_remove("CARGO").output().unwrap()
}

#[test]
fn init_makes_a_workspace_that_builds_at_once_from_any_folder_below() {
    let folder = repository();
    let root = folder.path();
    let made = run(root, &["init", "--task", "sort"]);
    assert!(made.status.success(), "{}", said(&made));
    let file = fs::read_to_string(root.join("taskwright.toml")).unwrap();
    write(root, "taskwright.toml", &format!("{file}binary = \"bin/taskwright\"\n"));

    let built = run(&root.join("harbor-tasks/sort"), &["build"]);
    assert!(built.status.success(), "{}", said(&built));
    assert!(root.join(".taskwright/tasks/sort/task.toml").is_file());
    let status = Command::new("git").args(["status", "--porcelain"]).current_dir(root).output().unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(!status.contains("?? .taskwright"), "what is made is ignored: {status}");
    let again = run(root, &["build-tasks", "--locked"]);
    assert!(
        again.status.success() && String::from_utf8_lossy(&again.stdout).contains("1 up to date"),
        "{again:?}"
    );
}

#[test]
fn init_leaves_what_is_there() {
    let folder = repository();
    let root = folder.path();
    let mine = [
        ("taskwright.toml", "specs = \"tasks\"\n"),
        (".gitignore", "/ledger\nmine"),
        (".pre-commit-config.yaml", "repos: []\n"),
        ("tasks/mine/spec.toml", "name = \"mine\"\n"),
    ];
    for (path, text) in mine {
        write(root, path, text);
    }
    let made = run(root, &["init", "--xtask"]);
    assert!(made.status.success(), "{}", said(&made));
    for (path, text) in mine.iter().filter(|(path, _)| *path != ".gitignore") {
        assert_eq!(fs::read_to_string(root.join(path)).unwrap(), *text, "{path}");
    }
    assert!(!root.join("tasks/first-task").exists(), "there are specs already");
    assert!(root.join("xtask/src/main.rs").is_file());
    let ignored = fs::read_to_string(root.join(".gitignore")).unwrap();
    assert!(ignored.starts_with("/ledger\nmine\n/target/harbor-tasks/\n"), "{ignored}");
    assert_eq!(ignored.matches("ledger").count(), 1);
    // A second time there is nothing left to do.
    let again = run(root, &["init", "--xtask"]);
    assert!(!String::from_utf8_lossy(&again.stdout).contains("made "), "{again:?}");
}

#[test]
fn the_nearest_file_upwards_says_where_the_parts_are() {
    let folder = repository();
    let root = folder.path().canonicalize().unwrap();
    write(&root, "taskwright.toml", "");
    write(
        &root,
        "inner/taskwright.toml",
        "specs = \"s\"\noutput = \"../made/tasks\"\ncache = \"../made/cache\"\nledger = \"results\"\n",
    );
    write(&root, "inner/below/here", "");
    let made = run(&root.join("inner/below"), &["new", "x", "--mode", "a"]);
    assert!(made.status.success() && root.join("inner/s/x/spec.toml").is_file(), "{}", said(&made));
    // `--root` names another one, before or after the command.
    for arguments in
        [["--root", "..", "new", "y", "--mode", "a"], ["new", "--root", "..", "z", "--mode", "a"]]
    {
        assert!(run(&root.join("inner"), &arguments).status.success());
    }
    assert!(
        root.join("harbor-tasks/y/spec.toml").is_file() && root.join("harbor-tasks/z/spec.toml").is_file()
    );
}

#[test]
fn no_workspace_and_a_wrong_one_are_said() {
    let folder = repository();
    let root = folder.path();
    let none = installed(root, &["build"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(
        said(&none).contains("is in no workspace") && said(&none).contains("taskwright init"),
        "{}",
        said(&none)
    );
    write(root, "taskwright.toml", "cash = \"c\"\noutput = \".\"\nspecs = \"../elsewhere\"\n");
    let wrong = run(root, &["build-tasks"]);
    assert_eq!(wrong.status.code(), Some(1));
    for words in [
        "taskwright.toml:1:1",
        "known here: `bake`, `binary`, `cache`",
        "taskwright.toml:2:",
        "taskwright.toml:3:",
    ] {
        assert!(said(&wrong).contains(words), "{words}: {}", said(&wrong));
    }
    assert_eq!(run(root, &["--root", "nowhere", "build-tasks"]).status.code(), Some(2));
}

#[test]
fn a_ledger_needs_no_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let job = taskwright_testing::own_jobs().join("jobs/two-attempts");
    let ledger = ["--ledger", "ledger"];
    let import = run(folder.path(), &[&["import", job.to_str().unwrap()][..], &ledger].concat());
    assert!(String::from_utf8_lossy(&import.stdout).contains("10 of 10 trials"), "{import:?}");
    for command in ["trials", "leaderboard", "verify"] {
        let output = run(folder.path(), &[&[command][..], &ledger].concat());
        assert!(output.status.success(), "{command}: {}", said(&output));
    }
    let shown = run(folder.path(), &[&["show", "passes__mqi35G4"][..], &ledger].concat());
    assert!(shown.status.success(), "{}", said(&shown));
}

#[test]
fn a_program_calls_itself_what_it_was_called() {
    let folder = repository();
    for (output, name, other) in [
        (installed(folder.path(), &["build", "--help"]), "taskwright build", "cargo xtask"),
        (run(folder.path(), &["build", "--help"]), "cargo xtask build-tasks", "  taskwright"),
    ] {
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(name) && !text.contains(other), "{text}");
    }
}

#[test]
fn a_watching_build_follows_what_changes() {
    let folder = repository();
    let root = folder.path();
    assert!(run(root, &["init", "--task", "sort"]).status.success());
    let file = fs::read_to_string(root.join("taskwright.toml")).unwrap();
    write(root, "taskwright.toml", &format!("{file}binary = \"bin/taskwright\"\n"));
    let spec = fs::read_to_string(root.join("harbor-tasks/sort/spec.toml")).unwrap();

    let mut watching =
        command(root, &["build", "--watch"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut ended = |how: &str| {
        let last = lines.by_ref().map(Result::unwrap).find(|line| line.contains(" in ")).unwrap();
        assert!(last.starts_with(how), "{last}");
    };
    ended("1 built in ");
    write(root, "harbor-tasks/sort/instruction.md", "Sort faster.\n");
    ended("1 built in ");
    // A mistake is said once, and that it is mended.
    write(root, "harbor-tasks/sort/spec.toml", &spec.replace("[scorer]", "[scoerr]"));
    ended("1 failed in ");
    write(root, "harbor-tasks/sort/spec.toml", &spec);
    ended("1 up to date in ");
    let pid = watching.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(watching.wait().unwrap().code(), Some(130));
}

fn git(folder: &Path, words: &[&str]) {
    assert!(Command::new("git").args(words).current_dir(folder).status().unwrap().success(), "{words:?}");
}

#[test]
fn a_repository_releases_what_it_built() {
    let folder = repository();
    let root = folder.path();
    assert!(run(root, &["init", "--task", "sort"]).status.success());
    let file = fs::read_to_string(root.join("taskwright.toml")).unwrap();
    write(root, "taskwright.toml", &format!("{file}binary = \"bin/taskwright\"\n"));
    assert!(run(root, &["build"]).status.success());
    let without = run(root, &["release", "--dry-run"]);
    assert_eq!(without.status.code(), Some(1));
    assert!(said(&without).contains("nobody said what the data set is called"), "{}", said(&without));

    write(root, "harbor-tasks/dataset.toml", "[dataset]\nname = \"acme/sort\"\n");
    let refused = run(root, &["release", "--dry-run"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("may be another image tomorrow"), "{}", said(&refused));
    let allow = ["--allow", "unpinned-image"];
    let made = run(root, &[&["release"][..], &allow].concat());
    assert!(made.status.success(), "{}", said(&made));
    assert!(root.join(".taskwright/tasks.release/sort/task.toml").is_file());
    let manifest = fs::read_to_string(root.join(".taskwright/tasks.release/dataset.toml")).unwrap();
    assert_eq!(manifest, fs::read_to_string(root.join("harbor-tasks/dataset.toml")).unwrap());
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message", "Release"]);

    let spec = root.join("harbor-tasks/sort/spec.toml");
    let text = fs::read_to_string(&spec).unwrap() + "\n[images]\nverifier = \"debian:12\"\n";
    fs::write(&spec, text).unwrap();
    assert!(run(root, &["build"]).status.success());
    let differs = run(root, &["build", "--diff", "HEAD", "--json"]);
    let lines = String::from_utf8_lossy(&differs.stdout).into_owned();
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["name"], &first["level"], &first["change"]),
        (&"sort".into(), &"minor".into(), &"changed".into())
    );
    let text = String::from_utf8_lossy(&run(root, &["build", "--diff", "HEAD"]).stdout).into_owned();
    assert!(text.contains("images.verifier: \"debian:trixie-slim\" -> \"debian:12\""), "{text}");
    assert!(text.contains("1 changed since HEAD"), "{text}");

    let moved = run(root, &[&["release", "--write", "--json"][..], &allow].concat());
    assert!(moved.status.success(), "{}", said(&moved));
    let answer: serde_json::Value = serde_json::from_slice(&moved.stdout).unwrap();
    assert_eq!(answer["tasks"][0]["new"]["version"], "1.1.0", "{answer}");
    assert!(fs::read_to_string(&spec).unwrap().contains("\nversion = \"1.1.0\"\n"));

    let secret = format!("KEY = \"sk-ant-api03-{}\"\n", "aZ3kQ9xV7bN2mL8pR4tY6wE1uC5dF0gH".repeat(3));
    fs::write(root.join("harbor-tasks/sort/scorer/notes.py"), secret).unwrap();
    assert!(run(root, &["build"]).status.success());
    let held = run(root, &[&["release", "--dry-run"][..], &allow].concat());
    assert_eq!(held.status.code(), Some(1));
    assert!(
        said(&held).contains("scorer/notes.py`, line 1, holds what has the shape of a secret"),
        "{}",
        said(&held)
    );

    let runs = run(root, &["doctor", "--task", "sort"]);
    let text = String::from_utf8_lossy(&runs.stdout).into_owned();
    assert!(runs.status.success() && text.contains("hooks and artifacts of `eval-sidecar`"), "{text}");
    for (word, backend) in [("runs", "docker"), ("doubtful", "beam"), ("cannot", "e2b")] {
        let is_said =
            |line: &str| line.trim_start().starts_with(word) && line.contains(&format!("  {backend} "));
        assert!(text.lines().any(is_said), "{backend}: {text}");
    }
}
