//! What a build accepts as a baseline can be opened, and a candidate on top of it can be imported and checked out.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use taskwright_base::git::{alone, ask, sign};
use taskwright_builder::{Binary, Failure, Options, Silent, Status, Workspace, build};
use taskwright_eval::sandbox::SandboxOptions;
use taskwright_eval::{ImportLimits, IsolationMode, Sandbox, Store};
use taskwright_language::model::Limits;
use taskwright_language::serve::ServeConfig;
use taskwright_testing::test;

use crate::common::{TASKWRIGHT, folder, write};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

const SPEC: &str = r#"name = "task"
description = "Improve it"
mode = "a"

[baseline]
path = "baseline"
overlays = [{ from = "extra", read_only = true }]

[instruction]
file = "instruction.md"

[scorer]
path = "scorer"
run = ["python3", "{scorer}/run.py"]
score = ["python3", "{scorer}/run.py"]

[dataset]
path = "dataset"

[splits.test]
samples = "all"

[[targets]]
split = "test"
"#;

/// Writes a workspace with one task; what is to be tested goes into an overlay, because git itself keeps some of it out of a
/// commit.
fn workspace(root: &Path) -> Workspace {
    write(root.join("harbor-tasks/task/spec.toml"), SPEC);
    write(root.join("harbor-tasks/task/instruction.md"), "Improve it\n");
    write(root.join("harbor-tasks/task/baseline/main.py"), "print('baseline')\n");
    write(root.join("harbor-tasks/task/scorer/run.py"), "");
    write(root.join("harbor-tasks/task/dataset/rows.jsonl"), "{\"id\":\"one\"}\n");
    write(root.join("bin/taskwright"), "#!/bin/sh\n");
    git(root, &root.join(".git"), &["init", "--quiet"], b"");
    git(root, &root.join(".git"), &["add", "--all"], b"");
    git(root, &root.join(".git"), &["commit", "--quiet", "--message", "Begin"], b"");
    let root = root.to_str().expect("a temporary folder's name is text");
    Workspace { binary: Binary::Prebuilt("bin/taskwright".into()), ..Workspace::new(root) }
}

fn git(work_tree: &Path, git_dir: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = alone(git_dir, PATH);
    let mut child = sign(&mut command)
        .env("GIT_WORK_TREE", work_tree)
        .current_dir(work_tree)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git is there");
    child.stdin.take().expect("a pipe").write_all(input).expect("git reads");
    let output = child.wait_with_output().expect("git ends");
    assert!(output.status.success(), "git {arguments:?}");
    output.stdout
}

/// All files and links below a folder, by their paths: contents, and targets after `->`.
fn contents(folder: &Path, inside: &str, into: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let path = format!("{inside}{}", entry.file_name().to_str().expect("text"));
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            contents(&entry.path(), &format!("{path}/"), into);
        } else if kind.is_symlink() {
            let target = fs::read_link(entry.path()).expect("a link");
            into.insert(path, [b"->", target.as_os_str().as_encoded_bytes()].concat());
        } else {
            into.insert(path, fs::read(entry.path()).expect("a file"));
        }
    }
}

fn listed(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    contents(folder, "", &mut files);
    files
}

/// Opens a built task's baseline, and imports and checks out a commit on top of it.
fn use_as_the_sidecar_does(room: &Path, task: &Path) {
    let serve = fs::read(task.join("environment/sidecar/serve.json")).expect("a serve config");
    let serve: ServeConfig = serde_json::from_slice(&serve).expect("a serve config");
    let files = task.join("environment/baseline");
    let sandbox = Sandbox::open(SandboxOptions {
        taskwright: TASKWRIGHT.into(),
        runtime: room.join("run"),
        isolation: IsolationMode::BestEffort,
        path: Some(PATH.to_owned()),
        hidden: Vec::new(),
    });
    let store = Store::open(&room.join("store"), &serve.baseline, &files, sandbox.unwrap()).unwrap();

    // The optimizer's container: the same commit, then another.
    let repo = room.join("repo");
    let git_dir = repo.join(".git");
    assert!(Command::new("cp").arg("-a").args([&files, &repo]).status().unwrap().success());
    let git = |arguments: &[&str], input: &[u8]| {
        String::from_utf8(git(&repo, &git_dir, arguments, input)).unwrap().trim().to_owned()
    };
    ask(alone(&git_dir, PATH).args(["init", "--quiet", "--bare"])).unwrap();
    write(git_dir.join("info/attributes"), "* -text -filter -ident -working-tree-encoding\n");
    git(&["config", "core.bare", "false"], b"");
    git(&["add", "--all", "--force"], b"");
    git(&["commit", "--quiet", "--message", "Baseline"], b"");
    assert_eq!(git(&["rev-parse", "HEAD"], b""), serve.baseline.commit);
    write(repo.join("made by a candidate"), "new\n");
    git(&["add", "--all", "--force"], b"");
    git(&["commit", "--quiet", "--message", "Candidate"], b"");
    let commit = git(&["rev-parse", "HEAD"], b"");
    let range = format!("{commit}\n^{}\n", serve.baseline.commit);
    let pack = self::git(&repo, &git_dir, &["pack-objects", "-q", "--revs", "--stdout"], range.as_bytes());

    let limits = ImportLimits { seconds: 600, ..ImportLimits::from(&Limits::default()) };
    let candidate = store.import(&commit.parse().unwrap(), &mut pack.as_slice(), &limits).unwrap();
    for (candidate, has_more) in [(store.baseline(), false), (&candidate, true)] {
        let mut expected = listed(&files);
        if has_more {
            expected.insert("made by a candidate".to_owned(), b"new\n".to_vec());
        }
        let checkout = store.checkout(candidate).unwrap();
        assert_eq!(listed(checkout.path()), expected);
    }
}

/// Names of files: plain ones, and some that git, a file system or a terminal takes for something else.
fn name() -> impl Strategy<Value = String> {
    let odd = [
        "tab\there",
        "git~1",
        "GIT~1",
        ".GIT",
        ".git.",
        ".git ",
        ".g\u{200c}it",
        ".git:x",
        ".gitmodules",
        "gitmod~1",
        ".GITMODULES",
        ".gitattributes",
        ".gitignore",
        ".mailmap",
        "-x",
        "\u{fc}",
        "u\u{308}",
        "*[!a]",
        "{a",
        "back\\slash",
        "..a",
        "a..",
        " ",
        "a:b",
        "\u{202e}x",
        "\u{7f}",
        "con",
        "HEAD",
    ];
    prop_oneof![4 => "[abc]{1,2}", 1 => prop::sample::select(odd.to_vec()).prop_map(str::to_owned)]
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..4).prop_map(|names| names.join("/"))
}

/// What stands at a path: a file, or a link to somewhere.
fn entry() -> impl Strategy<Value = Option<String>> {
    let up = prop::collection::vec(prop_oneof![Just("..".to_owned()), Just(".".to_owned()), name()], 1..4);
    prop_oneof![2 => Just(None), 1 => up.prop_map(|parts| Some(parts.join("/")))]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_built_can_be_opened_and_candidates_be_made_of_it(
        entries in prop::collection::btree_map(path(), entry(), 1..5)
    ) {
        let room = folder();
        let root = room.path().canonicalize().unwrap().join("workspace");
        fs::create_dir(&root).unwrap();
        let workspace = workspace(&root);
        let extra = root.join("harbor-tasks/task/extra");
        fs::create_dir(&extra).unwrap();
        for (path, target) in &entries {
            let path = extra.join(path);
            // Where one asks for a folder and another for a file, the first wins.
            if fs::create_dir_all(path.parent().unwrap()).is_ok() && fs::symlink_metadata(&path).is_err() {
                let made = match target {
                    Some(target) => symlink(target, &path),
                    None => fs::write(&path, "* text eol=crlf\r\n"),
                };
                prop_assert!(made.is_ok(), "{made:?}");
            }
        }
        let report = build(&workspace, &Options::default(), &Silent, &AtomicBool::new(false)).unwrap();
        match &report.tasks[0].status {
            Status::Built => use_as_the_sidecar_does(room.path(), workspace.out.join("task").as_std_path()),
            // It says why and what to do, and no more is asked of it.
            Status::Failed(Failure::Spec(mistakes)) => {
                let said = mistakes.render(false);
                prop_assert!(said.contains(", which ") && said.contains("= help: "), "{said}");
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }
}
