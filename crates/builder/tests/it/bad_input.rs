//! Inputs that cannot be built, and odd ones that can: the first fail with the words below, harm nothing that was
//! there, and hold up no other task.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use camino::Utf8Path;
use taskwright_builder::{Options, Report};
use taskwright_testing::{Need, not_run, test};

use crate::support::child::{Builder, PATIENCE};
use crate::support::{LARGE, ROWS, TestSpace, chmod, git_command, look, spec, summary};

const SPEC: &str = "harbor-tasks/alpha/spec.toml";
const BASELINE: &str = "harbor-tasks/alpha/baseline";
const SCORER: &str = "harbor-tasks/alpha/scorer";
const DATASET: &str = "harbor-tasks/alpha/dataset/rows.jsonl";

/// Spoils an input of `alpha` in a workspace that is built, and says how the next build fails.
fn refused(spoil: impl Fn(&TestSpace)) -> String {
    let space = TestSpace::new();
    space.settle();
    spoil(&space);
    assert_refused(&space)
}

/// The build fails for `alpha` alone, its old output is left alone, and so it is again where nothing is remembered.
fn assert_refused(space: &TestSpace) -> String {
    let old = look::stats(&space.out("alpha"));
    let report = space.build();
    let said = only_alpha_failed(space, &report, "up to date");
    assert_eq!(look::difference(&old, &look::stats(&space.out("alpha"))), "", "the old output stays");
    assert!(!space.out(".taskwright-staging").exists());

    space.remove("target");
    let report = space.build();
    assert_eq!(only_alpha_failed(space, &report, "built"), said);
    assert!(!space.out("alpha").exists());
    said
}

/// Why `alpha` failed, or its spec if that could not even be read.
fn only_alpha_failed(space: &TestSpace, report: &Report, beta: &str) -> String {
    let failed = if report.tasks.iter().any(|task| task.name == SPEC) { SPEC } else { "alpha" };
    let mut expected = [format!("{failed}: failed"), format!("beta: {beta}")];
    expected.sort();
    assert_eq!(summary(report), expected.join(", "));
    space.failure(report, failed)
}

/// Changes an input of `alpha` in a workspace that is built, and builds that without complaint.
fn accepted(change: impl Fn(&TestSpace)) -> TestSpace {
    let space = TestSpace::new();
    space.settle();
    change(&space);
    let report = space.build();
    assert!(report.is_success(), "{}", space.failures(&report));
    space
}

// Git.

#[test]
fn git_is_missing() {
    let space = TestSpace::with(&["alpha"]);
    let answer = Builder::new(&space).env("PATH", "/nowhere").run();
    assert_eq!(answer.code, Some(1));
    insta::assert_snapshot!(space.neutral(answer.lines.last().unwrap()), @r#"alpha: failed: error: starting git: no such file or directory\n --> harbor-tasks/alpha/spec.toml:6:8\n  |\n6 | path = "baseline"\n  |        ^^^^^^^^^^\n  |\n  = help: install git (`apt-get install git`, `brew install git`)"#);
}

#[test]
fn a_baseline_outside_of_git() {
    let space = TestSpace::with(&["alpha"]);
    space.remove(".git");
    let report = space.build();
    assert_eq!(summary(&report), "alpha: failed");
    let said = space.failure(&report, "alpha");
    assert!(said.contains("harbor-tasks/alpha/baseline` is not in a git repository"), "{said}");
    assert!(said.contains("spec.toml:6:8") && said.contains("run `git init`"), "{said}");
}

#[test]
fn a_repository_without_a_commit() {
    let space = TestSpace::with(&["alpha"]);
    space.remove(".git");
    space.git(&["init", "--quiet"]);
    space.git(&["add", "--all"]);
    let report = space.build();
    assert_eq!(summary(&report), "alpha: failed");
    insta::assert_snapshot!(space.failure(&report, "alpha"), @r#"
    error: the baseline `harbor-tasks/alpha/baseline` has uncommitted changes that would not be built:
             A  harbor-tasks/alpha/baseline/lib/util.py
             A  harbor-tasks/alpha/baseline/main.py
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: commit them, or say `source = "work-tree"` to build the files as they are on disk
    "#);
}

#[test]
fn a_baseline_that_is_missing() {
    let said = refused(|space| {
        space.remove(BASELINE);
        space.commit("Remove the baseline");
    });
    insta::assert_snapshot!(said, @r#"
    error: `harbor-tasks/alpha/baseline` does not exist
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: create the folder, add the files that the optimizer starts from, and commit them
    "#);
}

#[test]
fn a_baseline_that_was_never_committed() {
    let said = refused(|space| {
        space.edit(SPEC, "path = \"baseline\"", "path = \"other\"");
        space.write(".git/info/exclude", "other\n");
        space.write("harbor-tasks/alpha/other/main.py", "");
    });
    insta::assert_snapshot!(said, @r#"
    error: revision `HEAD` (8b3a76924e11) has no folder `harbor-tasks/alpha/other`
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "other"
      |        ^^^^^^^
      |
      = help: commit the folder, or correct `baseline.path`
    "#);
}

#[test]
fn a_baseline_that_is_a_file() {
    let said = refused(|space| {
        space.remove(BASELINE);
        space.write(BASELINE, "");
        space.commit("Make the baseline a file");
    });
    insta::assert_snapshot!(said, @r#"
    error: `harbor-tasks/alpha/baseline` is not a folder
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
    "#);
}

#[test]
fn a_file_in_the_place_of_the_folder_in_a_revision() {
    let said = refused(|space| {
        space.edit(SPEC, "path = \"baseline\"", "path = \"baseline\"\nrev = \"odd\"");
        space.remove(BASELINE);
        space.write(BASELINE, "");
        space.commit("Make the baseline a file");
        space.git(&["tag", "odd"]);
        space.remove(BASELINE);
        space.write(format!("{BASELINE}/main.py"), "");
        space.commit("Make the baseline a folder");
    });
    insta::assert_snapshot!(said, @r#"
    error: `harbor-tasks/alpha/baseline` is not a folder in revision `odd`
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
    "#);
}

#[test]
fn a_baseline_of_which_nothing_is_left() {
    let said = refused(|space| {
        space.write(".gitattributes", "harbor-tasks/alpha/baseline/** export-ignore\n");
        space.write(format!("{BASELINE}/.gitattributes"), "* export-ignore\n");
        space.commit("Ignore everything");
    });
    insta::assert_snapshot!(said, @r#"
    error: the baseline `harbor-tasks/alpha/baseline` holds no file
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: commit at least one file that the optimizer can improve
    "#);
}

#[test]
fn a_revision_that_git_does_not_know() {
    let said = refused(|space| space.edit(SPEC, "path = \"baseline\"", "path = \"baseline\"\nrev = \"v9\""));
    assert!(said.starts_with("error: git knows no revision `v9` in "), "{said}");
    assert!(said.contains("spec.toml:7:7") && said.contains("correct `baseline.rev`"), "{said}");
}

#[test]
fn a_revision_that_is_no_commit() {
    let said = refused(|space| {
        space.git(&["tag", "tree", "HEAD^{tree}"]);
        space.edit(SPEC, "path = \"baseline\"", "path = \"baseline\"\nrev = \"tree\"");
    });
    assert!(said.starts_with("error: git knows no revision `tree` in "), "{said}");
    assert!(said.contains("spec.toml:7:7") && said.contains("correct `baseline.rev`"), "{said}");
}

#[test]
fn a_revision_that_looks_like_an_option() {
    let said = refused(|space| {
        space.edit(SPEC, "path = \"baseline\"", "path = \"baseline\"\nrev = \"--output=x\"");
    });
    insta::assert_snapshot!(said, @r#"
    error: `--output=x` cannot be a revision
     --> harbor-tasks/alpha/spec.toml:7:7
      |
    7 | rev = "--output=x"
      |       ^^^^^^^^^^^^
      |
      = help: write a commit, a tag or a branch, for example "HEAD"
    "#);
}

#[test]
fn a_revision_with_a_path_of_its_own() {
    let said =
        refused(|space| space.edit(SPEC, "path = \"baseline\"", "path = \"baseline\"\nrev = \"HEAD:bin\""));
    insta::assert_snapshot!(said, @r#"
    error: `HEAD:bin` is not a revision
     --> harbor-tasks/alpha/spec.toml:7:7
      |
    7 | rev = "HEAD:bin"
      |       ^^^^^^^^^^
      |
      = help: name a commit, a tag or a branch
    "#);
}

#[test]
fn a_path_that_is_not_in_the_revision() {
    let said = refused(|space| {
        space.git(&["tag", "old"]);
        space.write("harbor-tasks/alpha/newer/main.py", "");
        space.commit("Add a folder");
        space.edit(SPEC, "path = \"baseline\"", "path = \"newer\"\nrev = \"old\"");
    });
    let said = said.split_once('(').map(|(before, rest)| {
        format!("{before}(COMMIT){}", rest.split_once(')').map_or("", |(_, after)| after))
    });
    insta::assert_snapshot!(said.unwrap_or_default(), @r#"
    error: revision `old` (COMMIT) has no folder `harbor-tasks/alpha/newer`
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "newer"
      |        ^^^^^^^
      |
      = help: commit the folder, or correct `baseline.path`
    "#);
}

#[test]
fn changes_that_are_not_committed_are_listed() {
    let said = refused(|space| {
        space.write(format!("{BASELINE}/main.py"), "changed");
        space.write(format!("{BASELINE}/new file.py"), "new");
        space.remove(format!("{BASELINE}/lib/util.py"));
        space.write(format!("{BASELINE}/staged.py"), "staged");
        space.git(&["add", &format!("{BASELINE}/staged.py")]);
    });
    insta::assert_snapshot!(said, @r#"
    error: the baseline `harbor-tasks/alpha/baseline` has uncommitted changes that would not be built:
              D harbor-tasks/alpha/baseline/lib/util.py
              M harbor-tasks/alpha/baseline/main.py
             A  harbor-tasks/alpha/baseline/staged.py
             ?? harbor-tasks/alpha/baseline/new file.py
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: commit them, or say `source = "work-tree"` to build the files as they are on disk
    "#);
}

#[test]
fn of_many_changes_the_first_are_listed() {
    let said = refused(|space| {
        for number in 0..25 {
            space.write(format!("{BASELINE}/new-{number:02}.py"), "new");
        }
    });
    insta::assert_snapshot!(said, @r#"
    error: the baseline `harbor-tasks/alpha/baseline` has uncommitted changes that would not be built:
             ?? harbor-tasks/alpha/baseline/new-00.py
             ?? harbor-tasks/alpha/baseline/new-01.py
             ?? harbor-tasks/alpha/baseline/new-02.py
             ?? harbor-tasks/alpha/baseline/new-03.py
             ?? harbor-tasks/alpha/baseline/new-04.py
             ?? harbor-tasks/alpha/baseline/new-05.py
             ?? harbor-tasks/alpha/baseline/new-06.py
             ?? harbor-tasks/alpha/baseline/new-07.py
             ?? harbor-tasks/alpha/baseline/new-08.py
             ?? harbor-tasks/alpha/baseline/new-09.py
             and 15 more
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: commit them, or say `source = "work-tree"` to build the files as they are on disk
    "#);
}

#[test]
fn a_change_of_permission_is_a_change() {
    let said = refused(|space| chmod(&space.path(BASELINE).join("main.py"), 0o755));
    insta::assert_snapshot!(said, @r#"
    error: the baseline `harbor-tasks/alpha/baseline` has uncommitted changes that would not be built:
              M harbor-tasks/alpha/baseline/main.py
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: commit them, or say `source = "work-tree"` to build the files as they are on disk
    "#);
}

#[test]
fn a_changed_file_with_an_odd_name_is_listed_on_one_line() {
    let said = refused(|space| space.write(format!("{BASELINE}/ü \"a\nb\".py"), "new"));
    insta::assert_snapshot!(said, @r#"
    error: the baseline `harbor-tasks/alpha/baseline` has uncommitted changes that would not be built:
             ?? harbor-tasks/alpha/baseline/ü "a\nb".py
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: commit them, or say `source = "work-tree"` to build the files as they are on disk
    "#);
}

#[test]
fn what_git_ignores_is_no_change() {
    let space = accepted(|space| {
        space.write(format!("{BASELINE}/.gitignore"), "*.log\nbuild/\n");
        space.commit("Ignore");
        space.write(format!("{BASELINE}/a.log"), "log");
        space.write(format!("{BASELINE}/build/x"), "x");
    });
    assert!(space.out("alpha/environment/baseline/.gitignore").exists());
    assert!(!space.out("alpha/environment/baseline/a.log").exists());
}

#[test]
fn what_was_ignored_and_is_not_any_more_is_noticed() {
    let space = TestSpace::new();
    space.write(".git/info/exclude", "*.log\n");
    space.write(format!("{BASELINE}/a.log"), "log");
    space.settle();
    space.write(".git/info/exclude", "");
    let said = assert_refused(&space);
    insta::assert_snapshot!(said, @r#"
    error: the baseline `harbor-tasks/alpha/baseline` has uncommitted changes that would not be built:
             ?? harbor-tasks/alpha/baseline/a.log
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: commit them, or say `source = "work-tree"` to build the files as they are on disk
    "#);
}

#[test]
fn changes_elsewhere_are_no_concern() {
    let space = accepted(|space| {
        space.write("README.md", "new");
        space.write(format!("{BASELINE}-of-another/main.py"), "new");
        space.write(format!("{SCORER}/run.py"), "changed");
    });
    let built = fs::read_to_string(space.out("alpha/environment/sidecar/scorer/run.py")).unwrap();
    assert_eq!(built, "changed");
}

#[test]
fn the_work_tree_is_built_when_the_spec_asks_for_it() {
    let space = accepted(|space| {
        space.edit(SPEC, "path = \"baseline\"", "path = \"baseline\"\nsource = \"work-tree\"");
        space.write(format!("{BASELINE}/.gitignore"), "*.log\n");
        space.write(format!("{BASELINE}/main.py"), "changed");
        space.write(format!("{BASELINE}/a.log"), "log");
        space.write_executable(format!("{BASELINE}/new.sh"), "new");
        space.write(format!("{BASELINE}/__pycache__/x.pyc"), "compiled");
        space.remove(format!("{BASELINE}/lib/util.py"));
        symlink("main.py", space.path(BASELINE).join("link")).unwrap();
    });
    let built = look::contents(&space.out("alpha/environment/baseline"));
    let names: Vec<_> = built.keys().map(String::as_str).collect();
    assert_eq!(names, ["", ".gitignore", "link", "main.py", "new.sh"]);
    assert_eq!(fs::read_to_string(space.out("alpha/environment/baseline/main.py")).unwrap(), "changed");
    assert!(built["new.sh"].starts_with("file 755"));
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");
    space.write(format!("{BASELINE}/main.py"), "changed again");
    assert_eq!(summary(&space.build()), "alpha: built, beta: up to date");
}

#[test]
fn a_shallow_clone_is_built_like_any_other() {
    let space = TestSpace::new();
    space.write(format!("{BASELINE}/main.py"), "second");
    space.commit("Second");
    space.build();
    let shallow = space.cloned(&["--depth=1"]);
    let report = shallow.build();
    assert!(report.is_success(), "{}", shallow.failures(&report));
    let difference =
        look::difference(&look::contents(&space.workspace.out), &look::contents(&shallow.workspace.out));
    assert_eq!(difference, "");
}

#[test]
fn a_revision_that_a_shallow_clone_lacks() {
    let space = TestSpace::new();
    let old = space.git(&["rev-parse", "HEAD"]).trim().to_owned();
    space.edit(SPEC, "path = \"baseline\"", &format!("path = \"baseline\"\nrev = \"{old}\""));
    space.commit("Second");
    let shallow = space.cloned(&["--depth=1"]);
    let report = shallow.build();
    assert_eq!(summary(&report), "alpha: failed, beta: built");
    let said = shallow.failure(&report, "alpha");
    assert!(said.starts_with(&format!("error: git knows no revision `{old}` in ")), "{said}");
    assert!(said.contains("spec.toml:7:7") && said.contains("fetch it"), "{said}");
}

#[test]
fn a_clone_without_the_files_says_so() {
    let space = TestSpace::new();
    space.git(&["config", "uploadpack.allowFilter", "true"]);
    let partial = space.cloned(&["--filter=blob:none", "--no-checkout"]);
    partial.git(&["config", "remote.origin.url", "/nowhere"]);
    for (path, _) in look::contents(space.root()) {
        if path.starts_with("harbor-tasks") && space.path(&path).is_file() {
            partial.write(&path, fs::read(space.path(&path)).unwrap());
        }
    }
    partial.write("bin/taskwright", "binary");
    partial.edit(SPEC, "path = \"baseline\"", "path = \"baseline\"\nrev = \"main\"");
    let report = partial.build_only(&["alpha"]);
    assert_eq!(summary(&report), "alpha: failed");
    let said = partial.failure(&report, "alpha");
    assert!(said.contains("git") && said.contains("fetch"), "{said}");
}

#[test]
fn a_bare_repository_holds_a_baseline() {
    let space = TestSpace::new();
    space.settle();
    let before = look::contents(&space.out("alpha/environment/baseline"));
    space.git(&["clone", "--quiet", "--bare", ".", "bare.git"]);
    space.edit(
        SPEC,
        "path = \"baseline\"",
        "git = \"../../bare.git\"\npath = \"harbor-tasks/alpha/baseline\"\nrev = \"main\"",
    );
    let report = space.build();
    assert_eq!(summary(&report), "alpha: built, beta: up to date", "{}", space.failures(&report));
    assert_eq!(before, look::contents(&space.out("alpha/environment/baseline")));
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");

    // A push to it is noticed.
    space.write(format!("{BASELINE}/main.py"), "pushed");
    space.commit("Change the baseline");
    space.git(&["push", "--quiet", "bare.git", "main"]);
    assert_eq!(summary(&space.build()), "alpha: built, beta: up to date");
}

#[test]
fn a_bare_repository_is_no_folder_of_files() {
    let said = refused(|space| {
        space.git(&["clone", "--quiet", "--bare", ".", "bare.git"]);
        space.write(".git/info/exclude", "bare.git\n");
        space.edit(SPEC, "path = \"baseline\"", "path = \"../../bare.git\"");
    });
    assert!(said.contains("bare repository") && said.contains("`baseline.git`"), "{said}");
}

#[test]
fn another_repository_that_is_missing() {
    let said = refused(|space| {
        space.edit(SPEC, "path = \"baseline\"", "git = \"../../other\"\npath = \"src\"");
    });
    insta::assert_snapshot!(said, @r#"
    error: `other` does not exist
     --> harbor-tasks/alpha/spec.toml:6:7
      |
    6 | git = "../../other"
      |       ^^^^^^^^^^^^^
      |
      = help: `baseline.git` is the folder of a git repository on this machine: clone it first
    "#);
}

#[test]
fn a_linked_work_tree_is_built_like_any_other() {
    let space = TestSpace::new();
    space.build();
    space.git(&["worktree", "add", "--quiet", "target/linked"]);
    let mut linked = space.workspace.clone();
    linked.root = space.path("target/linked");
    linked.out = linked.root.join("target/harbor-tasks");
    let build = || {
        let report = taskwright_builder::build(
            &linked,
            &Options::default(),
            &taskwright_builder::Silent,
            &std::sync::atomic::AtomicBool::new(false),
        );
        summary(&report.unwrap())
    };
    assert_eq!(build(), "alpha: built, beta: built");
    assert_eq!(look::difference(&look::contents(&space.workspace.out), &look::contents(&linked.out)), "");
    assert_eq!(build(), "alpha: up to date, beta: up to date");
    fs::write(linked.root.join(BASELINE).join("main.py"), "linked").unwrap();
    git_command(&linked.root).args(["commit", "--quiet", "--all", "--message", "Change"]).status().unwrap();
    assert_eq!(build(), "alpha: built, beta: up to date");
}

#[test]
fn a_repository_that_names_objects_by_sha256_is_built_like_any_other() {
    let space = TestSpace::new();
    space.build();
    let before = look::contents(&space.workspace.out);
    space.remove(".git");
    space.git(&["init", "--quiet", "--object-format=sha256", "--initial-branch=main"]);
    space.commit("Begin");
    let report = space.build();
    assert!(report.is_success(), "{}", space.failures(&report));
    assert_eq!(look::difference(&before, &look::contents(&space.workspace.out)), "");
}

#[test]
fn a_submodule_is_refused() {
    for source in ["commit", "work-tree"] {
        let said = refused(|space| {
            space.edit(SPEC, "path = \"baseline\"", &format!("path = \"baseline\"\nsource = \"{source}\""));
            let module = space.path(BASELINE).join("module");
            fs::create_dir(&module).unwrap();
            crate::support::git(&module, &["init", "--quiet"]);
            crate::support::git(&module, &["commit", "--quiet", "--allow-empty", "--message", "Begin"]);
            space.commit("Add a submodule");
        });
        if source == "commit" {
            insta::assert_snapshot!(said, @r#"
            error: the baseline holds the submodule `module`, whose files git does not archive
             --> harbor-tasks/alpha/spec.toml:6:8
              |
            6 | path = "baseline"
              |        ^^^^^^^^^^
              |
              = help: copy its files in with an overlay, or commit them instead of the submodule
            "#);
        } else {
            insta::assert_snapshot!(said, @r#"
            error: the baseline holds the submodule `module`
             --> harbor-tasks/alpha/spec.toml:6:8
              |
            6 | path = "baseline"
              |        ^^^^^^^^^^
              |
              = help: copy its files in with an overlay, or commit them instead of the submodule
            "#);
        }
    }
}

#[test]
fn a_pointer_of_git_lfs_is_no_file() {
    let said = refused(|space| {
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
        space.write(format!("{BASELINE}/weights.bin"), pointer);
        space.commit("Add weights");
    });
    insta::assert_snapshot!(said, @r#"
    error: the baseline's `weights.bin` is a git-lfs pointer, not the file
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: run `git lfs pull` and commit the file itself, or bring it in with an overlay
    "#);
}

#[test]
fn a_repository_that_lost_an_object_gives_no_partial_baseline() {
    let said = refused(|space| {
        space.write(format!("{BASELINE}/main.py"), "to be lost");
        space.commit("Change the baseline");
        let id = space.git(&["rev-parse", &format!("HEAD:{BASELINE}/main.py")]);
        let id = id.trim();
        space.remove(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    });
    // Git names objects, which differ with every word of the test.
    let said: Vec<_> = said.split(' ').map(|word| if word.len() >= 40 { "ID" } else { word }).collect();
    insta::assert_snapshot!(said.join(" "), @r#"
    error: `git archive ID failed (exit status: 255): error: invalid object 100644 ID for 'main.py'
           error: cannot read ID --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: `git fsck` checks the repository; a shallow or partial clone may lack the objects: fetch them
    "#);
}

/// A folder with a program that stands in for git, and does something else when it is asked for an archive.
fn broken_git(space: &TestSpace, instead: &str) -> String {
    let real = std::process::Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
    let real = String::from_utf8(real.stdout).unwrap();
    let real = real.trim();
    let script = format!(
        "#!/bin/sh\nfor word; do\n  if [ \"$word\" = archive ]; then\n    {}\n  fi\ndone\nexec {real} \"$@\"\n",
        instead.replace("GIT", real)
    );
    space.write_executable("target/path/git", script);
    format!("{}:{}", space.path("target/path"), std::env::var("PATH").unwrap())
}

#[test]
fn an_archive_that_ends_early_gives_no_partial_baseline() {
    // Each leaves one whole file in what it prints, or a part of one: a tar file is made of blocks of 512 bytes.
    let cases = [
        ("ends with an error", "GIT \"$@\" | head -c 1536; echo 'disk on fire' >&2; exit 3"),
        ("is killed", "GIT \"$@\" | head -c 1536; kill -9 $$"),
        ("says nothing", "exit 1"),
        ("stops in a file and says that all is well", "GIT \"$@\" | head -c 1400; exit 0"),
        ("stops between files and says that all is well", "GIT \"$@\" | head -c 1024; exit 0"),
    ];
    for (what, instead) in cases {
        let space = TestSpace::with(&["alpha"]);
        space.settle();
        let old = look::contents(&space.workspace.out);
        space.write(format!("{BASELINE}/main.py"), "print('a change')\n".repeat(10));
        space.commit("Change the baseline");
        let path = broken_git(&space, instead);
        let answer = Builder::new(&space).env("PATH", path).run();
        assert_eq!(answer.code, Some(1), "{what}: {:?}", answer.lines);
        let said = answer.lines.last().unwrap();
        assert!(said.starts_with("alpha: failed"), "{what}: {said}");
        if instead.contains("fire") {
            assert!(said.contains("disk on fire"), "git's own words: {said}");
        }
        assert_eq!(look::difference(&old, &look::contents(&space.workspace.out)), "", "{what}");
        // And nothing of it was kept for the next build.
        let report = space.build();
        assert_eq!(summary(&report), "alpha: built", "{what}: {}", space.failures(&report));
        let built = look::contents(&space.out("alpha/environment/baseline"));
        assert_eq!(
            built.keys().map(String::as_str).collect::<Vec<_>>(),
            ["", "lib", "lib/util.py", "main.py"]
        );
    }
}

#[test]
fn a_baseline_that_is_a_repository_of_its_own_may_hold_what_git_keeps_there() {
    let space = TestSpace::new();
    let folder = space.path("harbor-tasks/alpha/own");
    space.write("harbor-tasks/alpha/own/main.py", "own");
    crate::support::git(&folder, &["init", "--quiet"]);
    crate::support::git(&folder, &["add", "--all"]);
    crate::support::git(&folder, &["commit", "--quiet", "--message", "Begin"]);
    space.edit(SPEC, "path = \"baseline\"", "path = \"own\"");
    // The daemon that watches a repository for git listens there.
    let _daemon = UnixListener::bind(folder.join(".git/fsmonitor--daemon.ipc")).unwrap();
    let report = space.build();
    assert!(report.is_success(), "{}", space.failures(&report));
    crate::support::wait_a_tick();
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");
}

#[test]
fn what_git_ignores_in_a_baseline_may_be_anything() {
    let space = TestSpace::new();
    space.write(format!("{BASELINE}/.gitignore"), "run/\n");
    space.commit("Ignore");
    fs::create_dir(space.path(BASELINE).join("run")).unwrap();
    let _socket = UnixListener::bind(space.path(BASELINE).join("run/socket")).unwrap();
    let report = space.build();
    assert!(report.is_success(), "{}", space.failures(&report));
}

// Names and links.

/// Names that go wrong wherever somebody forgot to quote.
const ODD_NAMES: [&str; 10] = [
    "with space",
    "'single'",
    "\"double\"",
    "$HOME",
    "`backtick`",
    "{{handlebars}}",
    "-dash",
    "Überschrift 漢字",
    "back\\slash",
    "*?[glob]",
];

#[test]
fn odd_names_arrive_as_they_are() {
    let space = accepted(|space| {
        for (number, name) in ODD_NAMES.iter().enumerate() {
            for folder in [BASELINE, SCORER, "harbor-tasks/alpha/dataset"] {
                space.write(format!("{folder}/{name}/{name}"), format!("{number}"));
            }
        }
        space.commit("Add odd names");
    });
    for folder in ["baseline", "sidecar/scorer", "sidecar/dataset"] {
        for (number, name) in ODD_NAMES.iter().enumerate() {
            let path = space.out("alpha/environment").join(folder).join(name).join(name);
            assert_eq!(fs::read_to_string(&path).unwrap(), number.to_string(), "{path:?}");
        }
    }
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");
}

#[test]
fn paths_in_a_spec_may_have_odd_names_too() {
    let space = accepted(|space| {
        let name = "a b/ü $x {{y}} 'z'";
        for (old, folder) in [("baseline", BASELINE), ("scorer", SCORER)] {
            let new = format!("harbor-tasks/alpha/{name}/{old}");
            fs::create_dir_all(space.path(&new).parent().unwrap()).unwrap();
            fs::rename(space.path(folder), space.path(&new)).unwrap();
            space.edit(SPEC, &format!("path = \"{old}\""), &format!("path = \"{name}/{old}\""));
        }
        space.commit("Move");
    });
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");
}

#[test]
fn a_name_that_is_not_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let said = refused(|space| fs::write(space.path(SCORER).as_std_path().join(name), "").unwrap());
    insta::assert_snapshot!(said, @r#"
    error: `harbor-tasks/alpha/scorer` holds a name that is not UTF-8: caf�
      --> harbor-tasks/alpha/spec.toml:12:8
       |
    12 | path = "scorer"
       |        ^^^^^^^^
       |
       = help: rename it
    "#);
    let said = refused(|space| {
        fs::write(space.path(BASELINE).as_std_path().join(name), "").unwrap();
        space.commit("Add a name");
    });
    insta::assert_snapshot!(said, @r#"
    `harbor-tasks/alpha/baseline` holds a name that is not UTF-8: caf�
    help: rename it
    "#);
}

#[test]
fn a_name_that_is_not_utf_8_and_was_never_committed_concerns_one_task() {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let said = refused(|space| fs::write(space.path(BASELINE).as_std_path().join(name), "").unwrap());
    assert!(said.contains("not UTF-8") && said.contains("rename"), "{said}");
}

#[test]
fn a_baseline_that_git_cannot_answer_for_concerns_one_task() {
    // Git is asked about all baselines of a repository at once.
    for name in [":(odd)", ":!x", "*", "[a]", "-x", "a\nb", "ü", " "] {
        let space = TestSpace::new();
        fs::rename(space.path(BASELINE), space.path("harbor-tasks/alpha").join(name)).unwrap();
        let text = toml::Value::String(name.to_owned()).to_string();
        space.edit(SPEC, "path = \"baseline\"", &format!("path = {text}"));
        space.commit("Rename the baseline");
        let report = space.build();
        assert!(report.is_success(), "{name:?}: {}", space.failures(&report));
        fs::write(space.path("harbor-tasks/alpha").join(name).join("new.py"), "").unwrap();
        let report = space.build();
        assert_eq!(summary(&report), "alpha: failed, beta: up to date", "{name:?}");
        assert!(space.failure(&report, "alpha").contains("uncommitted changes"), "{name:?}");
    }
}

#[test]
fn a_link_that_leaves_the_tree() {
    let link = |folder: &str, target: &str| {
        refused(|space| {
            symlink(target, space.path(folder).join("link")).unwrap();
            space.commit("Add a link");
        })
    };
    insta::assert_snapshot!(link(BASELINE, "/etc/passwd"), @r#"
    error: the baseline `harbor-tasks/alpha/baseline` holds `link` -> `/etc/passwd`, which is a symbolic link to an absolute or empty path
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: let it point to a file of the same tree, by a relative path
    "#);
    insta::assert_snapshot!(link(BASELINE, "lib/../../secret"), @r#"
    error: the baseline `harbor-tasks/alpha/baseline` holds `link` -> `lib/../../secret`, which is a symbolic link that steps up behind a name
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: write its target shorter: `..` may stand at its beginning only
    "#);
    insta::assert_snapshot!(link(SCORER, "../../beta/scorer/run.py"), @r#"
    error: the scorer `harbor-tasks/alpha/scorer` holds `link` -> `../../beta/scorer/run.py`, which is a symbolic link that leaves the tree
      --> harbor-tasks/alpha/spec.toml:12:8
       |
    12 | path = "scorer"
       |        ^^^^^^^^
       |
       = help: let it point to a file of the same tree, by a relative path
    "#);
    insta::assert_snapshot!(link("harbor-tasks/alpha/dataset", "/dev/zero"), @r#"
    error: the dataset `harbor-tasks/alpha/dataset` holds `link` -> `/dev/zero`, which is a symbolic link to an absolute or empty path
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: let it point to a file of the same tree, by a relative path
    "#);
}

#[test]
fn a_link_that_stays_in_the_tree_is_taken_as_a_link() {
    let space = accepted(|space| {
        symlink("./lib/util.py", space.path(BASELINE).join("link")).unwrap();
        symlink("../main.py", space.path(BASELINE).join("lib/up")).unwrap();
        symlink(".", space.path(BASELINE).join("here")).unwrap();
        symlink("link", space.path(BASELINE).join("link-to-link")).unwrap();
        symlink("loop", space.path(BASELINE).join("loop")).unwrap();
        space.commit("Add links");
    });
    let built = look::contents(&space.out("alpha/environment/baseline"));
    assert_eq!(built["link"], "link to ./lib/util.py");
    assert_eq!(built["loop"], "link to loop");
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");
}

#[test]
fn a_link_through_a_link_that_leaves_the_tree() {
    // Each stays in the tree as text; what the second leads to does not.
    let said = refused(|space| {
        fs::create_dir_all(space.path(SCORER).join("a/b")).unwrap();
        space.write(format!("{SCORER}/a/b/file"), "");
        symlink("a/b", space.path(SCORER).join("near")).unwrap();
        symlink("near/../../../secret", space.path(SCORER).join("far")).unwrap();
    });
    insta::assert_snapshot!(said, @r#"
    error: the scorer `harbor-tasks/alpha/scorer` holds `far` -> `near/../../../secret`, which is a symbolic link that steps up behind a name
      --> harbor-tasks/alpha/spec.toml:12:8
       |
    12 | path = "scorer"
       |        ^^^^^^^^
       |
       = help: write its target shorter: `..` may stand at its beginning only
    "#);
}

#[test]
fn what_no_tree_may_hold_is_refused_wherever_it_comes_from() {
    const EXTRA: &str = "harbor-tasks/alpha/extra";
    const SOLUTION: &str = "harbor-tasks/alpha/solution";
    let folders = [BASELINE, EXTRA, SCORER, "harbor-tasks/alpha/dataset", SOLUTION];
    let space = TestSpace::new();
    let overlay = "path = \"baseline\"\noverlays = [{ from = \"extra\" }]";
    space.edit(SPEC, "path = \"baseline\"", overlay);
    space.edit(SPEC, "[scorer]", "[solution]\npath = \"solution\"\n\n[scorer]");
    for folder in folders {
        space.write(format!("{folder}/d/e/file"), "");
        // To the tree's root: allowed, and what makes `l1/../x` leave the tree.
        symlink("../..", space.path(folder).join("d/e/l1")).unwrap();
    }
    space.commit("Add files");
    space.settle();
    let old = look::stats(&space.out("alpha"));
    for (name, target, fault) in [
        ("notes\t1.txt", None, "`notes\\t1.txt`, which has a control character in its name"),
        ("line\nbreak/file", None, "which has a control character in its name"),
        ("git~1", None, "`git~1`, which has a name that git keeps for itself"),
        ("d/.GIT./x", None, "which has a name that git keeps for itself"),
        (&"d/".repeat(65), None, "which lies too deep"),
        (
            "a/b",
            Some("c/../../d"),
            "`a/b` -> `c/../../d`, which is a symbolic link that steps up behind a name",
        ),
        ("d/e/l2", Some("l1/../x"), "`d/e/l2` -> `l1/../x`, which is a symbolic link that steps up behind"),
        ("d/l", Some("../../x"), "which is a symbolic link that leaves the tree"),
        ("l", Some("git~1/config"), "which is a symbolic link to a name that no tree may hold"),
    ] {
        for folder in folders {
            // Git itself keeps such names out of a commit.
            let is_for_git = fault.ends_with("git keeps for itself");
            if folder == BASELINE && is_for_git {
                continue;
            }
            let path =
                if name.ends_with('/') { format!("{folder}/{name}file") } else { format!("{folder}/{name}") };
            match target {
                None => space.write(&path, ""),
                Some(target) => {
                    fs::create_dir_all(space.path(&path).parent().unwrap()).unwrap();
                    symlink(target, space.path(&path)).unwrap();
                }
            }
            if !is_for_git {
                space.commit("Add what no tree may hold");
            }
            let said = only_alpha_failed(&space, &space.build(), "up to date");
            assert!(said.contains(fault), "{folder} {name:?}: {said}");
            assert_eq!(look::difference(&old, &look::stats(&space.out("alpha"))), "", "the old output stays");
            space.remove(&path);
            let mut empty = space.path(&path);
            while empty.pop() && fs::remove_dir(&empty).is_ok() {}
            if !is_for_git {
                space.commit("Remove it");
            }
        }
    }
    let report = space.build();
    assert!(report.is_success(), "{}", space.failures(&report));
}

#[test]
fn a_link_of_the_work_tree_whose_target_is_not_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let said = refused(|space| {
        space.edit(SPEC, "path = \"baseline\"", "path = \"baseline\"\nsource = \"work-tree\"");
        let target = std::ffi::OsStr::from_bytes(b"caf\xe9");
        symlink(target, space.path(BASELINE).as_std_path().join("link")).unwrap();
    });
    assert!(said.contains("`harbor-tasks/alpha/baseline/link` has a target that is not UTF-8"), "{said}");
}

#[test]
fn a_dataset_that_is_a_link_out_of_the_workspace() {
    let said = refused(|space| {
        space.remove("harbor-tasks/alpha/dataset");
        symlink("/etc/passwd", space.path("harbor-tasks/alpha/dataset")).unwrap();
    });
    assert!(said.contains("leads out of the workspace"), "{said}");
}

#[test]
fn names_that_harbor_does_not_see() {
    let add = |name: &str| {
        refused(|space| {
            space.write(format!("{BASELINE}/{name}"), "");
            space.git(&["add", "--all", "--force"]);
            space.commit("Add a name");
        })
    };
    insta::assert_snapshot!(add("__pycache__/main.cpython-313.pyc"), @r#"
    error: the baseline `harbor-tasks/alpha/baseline` holds `__pycache__/main.cpython-313.pyc`, which Harbor uploads but leaves out of its content digest
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: remove it, or rename it
    "#);
    insta::assert_snapshot!(add("notes.txt~"), @r#"
    error: the baseline `harbor-tasks/alpha/baseline` holds `notes.txt~`, which Harbor uploads but leaves out of its content digest
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: remove it, or rename it
    "#);
    insta::assert_snapshot!(add("lib/.harborignore"), @r#"
    error: the baseline `harbor-tasks/alpha/baseline` holds `lib/.harborignore`, which Harbor uploads but leaves out of its content digest
     --> harbor-tasks/alpha/spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: remove it, or rename it
    "#);
}

#[test]
fn an_overlay_that_makes_a_file_a_folder() {
    let said = refused(|space| {
        space.write(format!("{BASELINE}/a"), "a file");
        space.write(format!("{BASELINE}/a-b"), "sorts between");
        space.commit("Add files");
        space.write("harbor-tasks/alpha/extra/b", "");
        let overlay = "path = \"baseline\"\noverlays = [{ from = \"extra\", to = \"a\" }]";
        space.edit(SPEC, "path = \"baseline\"", overlay);
    });
    insta::assert_snapshot!(said, @r#"
    error: `a` is a file of the baseline, and `to` is the folder that the overlay is put into
     --> harbor-tasks/alpha/spec.toml:7:36
      |
    7 | overlays = [{ from = "extra", to = "a" }]
      |                                    ^^^
      |
      = help: to put a file in its place write `to = "."`
    "#);
}

#[test]
fn an_overlay_that_brings_a_repository() {
    let said = refused(|space| {
        space.write("harbor-tasks/alpha/extra/.git/config", "[core]\n");
        let overlay = "path = \"baseline\"\noverlays = [{ from = \"extra\" }]";
        space.edit(SPEC, "path = \"baseline\"", overlay);
    });
    insta::assert_snapshot!(said, @r#"
    error: `harbor-tasks/alpha/extra` holds `.git`, which has a name that git keeps for itself
     --> harbor-tasks/alpha/spec.toml:7:22
      |
    7 | overlays = [{ from = "extra" }]
      |                      ^^^^^^^
      |
      = help: rename it, or leave it out: only plain files count
    "#);
}

// Things that are no files.

/// Makes a pipe: whoever opens it waits for somebody to write.
fn pipe(path: &Utf8Path) {
    let _ = fs::remove_file(path);
    assert!(std::process::Command::new("mkfifo").arg(path.as_std_path()).status().unwrap().success());
}

/// Builds in a process of its own, because one that opens a pipe never comes back.
fn refused_without_waiting(spoil: impl Fn(&TestSpace)) -> String {
    let space = TestSpace::new();
    space.settle();
    spoil(&space);
    let answer = Builder::new(&space).start().wait_for(PATIENCE);
    let answer = answer.unwrap_or_else(|_| panic!("the build waits for a pipe that nobody writes to"));
    assert_eq!(answer.code, Some(1), "{:?}", answer.lines);
    let failed = answer.lines.iter().find(|line| line.contains("alpha") && line.contains(": failed"));
    space.neutral(failed.unwrap_or_else(|| panic!("{:?}", answer.lines)))
}

#[test]
fn a_pipe_among_the_files_of_the_scorer() {
    let said = refused(|space| pipe(&space.path(SCORER).join("pipe")));
    insta::assert_snapshot!(said, @r#"
    error: `harbor-tasks/alpha/scorer/pipe` is neither a file, a folder nor a symbolic link
      --> harbor-tasks/alpha/spec.toml:12:8
       |
    12 | path = "scorer"
       |        ^^^^^^^^
       |
       = help: remove it: devices, sockets and pipes cannot be built into a task
    "#);
}

#[test]
fn a_socket_among_the_files_of_the_dataset() {
    let said = refused(|space| {
        drop(UnixListener::bind(space.path("harbor-tasks/alpha/dataset/socket")).unwrap());
    });
    insta::assert_snapshot!(said, @r#"
    error: `harbor-tasks/alpha/dataset/socket` is neither a file, a folder nor a symbolic link
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: remove it: devices, sockets and pipes cannot be built into a task
    "#);
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let said = refused_without_waiting(|space| pipe(&space.path("harbor-tasks/alpha/instruction.md")));
    insta::assert_snapshot!(said, @r#"alpha: failed: error: `harbor-tasks/alpha/instruction.md` is not a file\n --> harbor-tasks/alpha/spec.toml:9:8\n  |\n9 | file = "instruction.md"\n  |        ^^^^^^^^^^^^^^^^"#);
    let said = refused_without_waiting(|space| {
        space.remove("harbor-tasks/alpha/dataset");
        pipe(&space.path("harbor-tasks/alpha/dataset"));
    });
    insta::assert_snapshot!(said, @r#"alpha: failed: error: `harbor-tasks/alpha/dataset` is neither a file, a folder nor a symbolic link\n  --> harbor-tasks/alpha/spec.toml:17:8\n   |\n17 | path = "dataset"\n   |        ^^^^^^^^^\n   |\n   = help: remove it: devices, sockets and pipes cannot be built into a task"#);
    let said = refused_without_waiting(|space| {
        let own = "[[targets]]\nsplit = \"test\"\n\n[templates]\n\"tests/Dockerfile\" = \"own.hbs\"";
        space.edit(SPEC, "[[targets]]\nsplit = \"test\"", own);
        pipe(&space.path("harbor-tasks/alpha/own.hbs"));
    });
    insta::assert_snapshot!(said, @r#"alpha: failed: error: `harbor-tasks/alpha/own.hbs` is not a file\n  --> harbor-tasks/alpha/spec.toml:31:22\n   |\n31 | "tests/Dockerfile" = "own.hbs"\n   |                      ^^^^^^^^^"#);
    let said = refused_without_waiting(|space| {
        space.edit(SPEC, "{ field = \"split\", equals = \"train\" }", "{ file = \"ids\" }");
        pipe(&space.path("harbor-tasks/alpha/ids"));
    });
    insta::assert_snapshot!(said, @r#"alpha: failed: error: `harbor-tasks/alpha/ids` is not a file\n  --> harbor-tasks/alpha/spec.toml:21:11\n   |\n21 | samples = { file = "ids" }\n   |           ^^^^^^^^^^^^^^^^"#);
    let said = refused_without_waiting(|space| pipe(&space.path("bin/taskwright")));
    insta::assert_snapshot!(said, @"alpha: failed: `bin/taskwright` is not a file ()");
    let said = refused_without_waiting(|space| pipe(&space.path(SPEC)));
    assert!(said.contains("spec.toml` is neither a file nor a link to one"), "{said}");
}

#[test]
fn a_folder_in_the_place_of_a_file() {
    let said = refused(|space| {
        space.remove("harbor-tasks/alpha/instruction.md");
        fs::create_dir(space.path("harbor-tasks/alpha/instruction.md")).unwrap();
    });
    insta::assert_snapshot!(said, @r#"
    error: `harbor-tasks/alpha/instruction.md` is not a file
     --> harbor-tasks/alpha/spec.toml:9:8
      |
    9 | file = "instruction.md"
      |        ^^^^^^^^^^^^^^^^
    "#);
}

#[test]
fn an_instruction_that_says_nothing_or_is_no_text_or_is_missing() {
    let path = "harbor-tasks/alpha/instruction.md";
    insta::assert_snapshot!(refused(|space| space.write(path, " \n\n")), @r#"
    error: `harbor-tasks/alpha/instruction.md` says nothing
     --> harbor-tasks/alpha/spec.toml:9:8
      |
    9 | file = "instruction.md"
      |        ^^^^^^^^^^^^^^^^
      |
      = help: state the problem: an optimizer reads this first
    "#);
    insta::assert_snapshot!(refused(|space| space.write(path, b"caf\xe9")), @r#"
    error: `harbor-tasks/alpha/instruction.md` is not UTF-8 at byte 3
     --> harbor-tasks/alpha/spec.toml:9:8
      |
    9 | file = "instruction.md"
      |        ^^^^^^^^^^^^^^^^
      |
      = help: save it as UTF-8
    "#);
    insta::assert_snapshot!(refused(|space| space.remove(path)), @r#"
    error: `harbor-tasks/alpha/instruction.md` does not exist
     --> harbor-tasks/alpha/spec.toml:9:8
      |
    9 | file = "instruction.md"
      |        ^^^^^^^^^^^^^^^^
      |
      = help: make it, or correct the path
    "#);
}

#[test]
fn folders_that_are_missing_or_empty() {
    insta::assert_snapshot!(refused(|space| space.remove(SCORER)), @r#"
    error: `harbor-tasks/alpha/scorer` does not exist
      --> harbor-tasks/alpha/spec.toml:12:8
       |
    12 | path = "scorer"
       |        ^^^^^^^^
       |
       = help: make it, or correct the path
    "#);
    let said = refused(|space| {
        space.remove(SCORER);
        fs::create_dir(space.path(SCORER)).unwrap();
    });
    insta::assert_snapshot!(said, @r#"
    error: the scorer `harbor-tasks/alpha/scorer` holds no file
      --> harbor-tasks/alpha/spec.toml:12:8
       |
    12 | path = "scorer"
       |        ^^^^^^^^
    "#);
    insta::assert_snapshot!(refused(|space| space.remove("harbor-tasks/alpha/dataset")), @r#"
    error: `harbor-tasks/alpha/dataset` does not exist
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: make it, or correct the path
    "#);
    let said = refused(|space| {
        space.edit(SPEC, "[scorer]", "[solution]\npath = \"solution\"\n\n[scorer]");
    });
    insta::assert_snapshot!(said, @r#"
    error: `harbor-tasks/alpha/solution` does not exist
      --> harbor-tasks/alpha/spec.toml:12:8
       |
    12 | path = "solution"
       |        ^^^^^^^^^^
       |
       = help: make it, or correct the path
    "#);
}

#[test]
fn files_that_may_not_be_read() {
    if !rustix::process::getuid().is_root() {
        not_run(Need::Root, "only root can build as somebody else, for whom a file is not readable");
    }
    let space = TestSpace::new();
    space.settle();
    chmod(&space.path(SCORER).join("run.py"), 0);
    let chown =
        std::process::Command::new("chown").args(["-R", "65534:65534", space.root().as_str()]).status();
    assert!(chown.unwrap().success());
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let probe = std::process::Command::new(nobody[0])
        .args(&nobody[1..])
        .arg(std::env::current_exe().unwrap())
        .args(["support::child::entry", "--exact"])
        .env("HOME", space.root().as_str())
        .output();
    if !probe.is_ok_and(|output| output.status.success()) {
        not_run(Need::System, "`setpriv` is missing, or nobody may not run this program");
    }
    let build = || Builder::new(&space).through(&nobody).env("HOME", space.root().as_str()).run();
    let answer = build();
    insta::assert_snapshot!(space.neutral(&answer.lines[answer.lines.len() - 2..].join("\n")), @r#"
    alpha: failed: error: reading `harbor-tasks/alpha/scorer/run.py`: permission denied\n  --> harbor-tasks/alpha/spec.toml:12:8\n   |\n12 | path = "scorer"\n   |        ^^^^^^^^\n   |\n   = help: change the permissions or the owner, and build again
    beta: up to date
    "#);

    chmod(&space.path(SCORER).join("run.py"), 0o644);
    space.write(format!("{SCORER}/run.py"), "changed");
    chmod(&space.workspace.out, 0o555);
    let answer = build();
    assert_eq!(answer.code, Some(1));
    insta::assert_snapshot!(space.neutral(&answer.lines[answer.lines.len() - 2..].join("\n")), @r#"
    alpha: failed: creating `[ROOT]/target/harbor-tasks/.taskwright-staging/alpha.0`: permission denied (change the permissions or the owner, and build again)
    beta: up to date
    "#);

    chmod(&space.workspace.out, 0o755);
    let answer = build();
    assert_eq!(answer.code, Some(0), "{:?}", answer.lines);
}

// Datasets.

/// How a dataset with these rows is refused.
fn rows(rows: impl AsRef<[u8]>) -> String {
    refused(|space| space.write(DATASET, rows.as_ref()))
}

#[test]
fn a_dataset_without_a_row() {
    insta::assert_snapshot!(rows(""), @r#"
    error: the dataset `harbor-tasks/alpha/dataset` holds no row
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: add at least one JSON line with an id
    "#);
    insta::assert_snapshot!(rows("\n \n"), @r#"
    error: the dataset `harbor-tasks/alpha/dataset` holds no row
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: add at least one JSON line with an id
    "#);
}

#[test]
fn ids_of_rows() {
    insta::assert_snapshot!(rows(format!("{ROWS}{ROWS}")), @r#"
    error: `harbor-tasks/alpha/dataset/rows.jsonl:3`: the id `one` was used before
           other rows are wrong too: `harbor-tasks/alpha/dataset/rows.jsonl:4`
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: give every row an id of its own
    "#);
    insta::assert_snapshot!(rows("{\"split\":\"train\",\"label\":1}\n"), @r#"
    error: `harbor-tasks/alpha/dataset/rows.jsonl:1`: the row has no field `id`
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: give every row an id, or name the field that holds it in `dataset.id`
    "#);
    insta::assert_snapshot!(rows("{\"id\":7,\"split\":\"train\",\"label\":1}\n"), @r#"
    error: `harbor-tasks/alpha/dataset/rows.jsonl:1`: the id 7 is not a short text
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: an id is a text of 1 to 256 bytes on one line, such as "row-0001"
    "#);
    insta::assert_snapshot!(rows("{\"id\":\"\",\"split\":\"train\",\"label\":1}\n"), @r#"
    error: `harbor-tasks/alpha/dataset/rows.jsonl:1`: the id "" is not a short text
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: an id is a text of 1 to 256 bytes on one line, such as "row-0001"
    "#);
    insta::assert_snapshot!(rows("{\"id\":null,\"split\":\"train\",\"label\":1}\n"), @r#"
    error: `harbor-tasks/alpha/dataset/rows.jsonl:1`: the id null is not a short text
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: an id is a text of 1 to 256 bytes on one line, such as "row-0001"
    "#);
    insta::assert_snapshot!(rows("{\"id\":\"a\\nb\",\"split\":\"train\",\"label\":1}\n"), @r#"
    error: `harbor-tasks/alpha/dataset/rows.jsonl:1`: the id "a\nb" is not a short text
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: an id is a text of 1 to 256 bytes on one line, such as "row-0001"
    "#);
}

#[test]
fn a_row_without_its_label() {
    insta::assert_snapshot!(rows("{\"id\":\"one\",\"split\":\"train\"}\n"), @r#"
    error: `harbor-tasks/alpha/dataset/rows.jsonl:1`: the row `one` has no field `label`, which `dataset.labels` names
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: a label that is spelled otherwise would be shown to candidates: correct the row or the spec
    "#);
}

#[test]
fn lines_that_are_no_rows() {
    let said = rows(format!(
        "{ROWS}{{\"id\": \"three\",
"
    ));
    assert!(
        said.starts_with("error: `harbor-tasks/alpha/dataset/rows.jsonl:3`: the line is not JSON at column "),
        "{said}"
    );
    assert!(!said.contains("line 2"), "two numbers for one line: {said}");
    insta::assert_snapshot!(rows(format!("{ROWS}[1, 2]\n")), @r#"
    error: `harbor-tasks/alpha/dataset/rows.jsonl:3`: the line is not a JSON object
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
    "#);
    insta::assert_snapshot!(rows(format!("\u{feff}{ROWS}")), @r#"
    error: `harbor-tasks/alpha/dataset/rows.jsonl:1`: the line is not JSON at column 1: expected value
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: one JSON object a line, in UTF-8, without a byte order mark
    "#);
    insta::assert_snapshot!(rows(b"{\"id\":\"caf\xe9\",\"split\":\"train\",\"label\":1}\n"), @r#"
    error: `harbor-tasks/alpha/dataset/rows.jsonl:1`: the line is not JSON at column 11: invalid unicode code point
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: one JSON object a line, in UTF-8, without a byte order mark
    "#);
}

#[test]
fn a_row_that_is_longer_than_anybody_meant() {
    let filler = "x".repeat(65 * 1024 * 1024);
    let said = rows(format!("{ROWS}{{\"id\":\"three\",\"text\":\"{filler}\"}}\n"));
    insta::assert_snapshot!(said, @r#"
    error: `harbor-tasks/alpha/dataset/rows.jsonl:3`: the line is longer than 64 MiB
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: keep large data in files beside the rows and name them in the rows
    "#);
}

#[test]
fn rows_that_no_split_has_and_splits_that_have_no_row() {
    insta::assert_snapshot!(rows("{\"id\":\"one\",\"split\":\"train\",\"label\":1}\n"), @r#"
    error: no row has `split` equal to `test`
      --> harbor-tasks/alpha/spec.toml:25:11
       |
    25 | samples = { field = "split", equals = "test" }
       |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: the field has the values `train`
    "#);
    insta::assert_snapshot!(rows("{\"id\":\"one\",\"label\":1}\n"), @r#"
    error: no row has `split` equal to `test`
      --> harbor-tasks/alpha/spec.toml:25:11
       |
    25 | samples = { field = "split", equals = "test" }
       |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: no row has that field
    "#);
    let said = refused(|space| space.edit(SPEC, "{ field = \"split\", equals = \"test\" }", "[\"tow\"]"));
    insta::assert_snapshot!(said, @r#"
    error: there is no sample `tow`
      --> harbor-tasks/alpha/spec.toml:25:11
       |
    25 | samples = ["tow"]
       |           ^^^^^^^
       |
       = help: did you mean `two`?
    "#);
    let said = refused(|space| space.edit(SPEC, "{ field = \"split\", equals = \"test\" }", "\"all\""));
    insta::assert_snapshot!(said, @r#"
    error: the split `test` holds all samples, also those of `train`
      --> harbor-tasks/alpha/spec.toml:25:11
       |
    21 | samples = { field = "split", equals = "train" }
       |           ------------------------------------- also here
    ...
    25 | samples = "all"
       |           ^^^^^
       |
       = help: every sample belongs to one split; list those of each
    "#);
}

/// Rows as gzip packs them.
fn packed(text: &str) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn packed_rows_are_read() {
    let space = accepted(|space| {
        space.remove(DATASET);
        // Several members one after the other are one file.
        let (first, second) = ROWS.split_at(ROWS.find('\n').unwrap() + 1);
        space.write(format!("{DATASET}.gz"), [packed(first), packed(second)].concat());
    });
    let serve = fs::read_to_string(space.out("alpha/environment/sidecar/serve.json")).unwrap();
    assert!(serve.contains("rows.jsonl.gz") && serve.contains("\"two\""), "{serve}");
}

#[test]
fn packed_rows_that_are_damaged() {
    let damaged = |bytes: &[u8]| {
        refused(|space| {
            space.remove(DATASET);
            space.write(format!("{DATASET}.gz"), bytes);
        })
    };
    let whole = packed(&format!("{ROWS}{}", "{\"id\":\"more\",\"split\":\"test\",\"label\":3}\n"));
    insta::assert_snapshot!(damaged(&whole[..whole.len() - 9]), @r#"
    error: `harbor-tasks/alpha/dataset/rows.jsonl.gz:4`: cannot be read: incomplete deflate stream
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
    "#);
    insta::assert_snapshot!(damaged(ROWS.as_bytes()), @r#"
    error: `harbor-tasks/alpha/dataset/rows.jsonl.gz:1`: cannot be read: invalid gzip header
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
    "#);
    let mut wrong = whole.clone();
    *wrong.last_mut().unwrap() ^= 1;
    insta::assert_snapshot!(damaged(&wrong), @r#"
    error: `harbor-tasks/alpha/dataset/rows.jsonl.gz:4`: cannot be read: corrupt gzip stream does not have a matching checksum
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
    "#);
}

#[test]
fn no_file_of_the_dataset_holds_rows() {
    let said = refused(|space| {
        let path = space.path(DATASET);
        fs::rename(&path, path.with_extension("txt")).unwrap();
    });
    insta::assert_snapshot!(said, @r#"
    error: no file of `harbor-tasks/alpha/dataset` matches *.jsonl, *.jsonl.gz
      --> harbor-tasks/alpha/spec.toml:17:8
       |
    17 | path = "dataset"
       |        ^^^^^^^^^
       |
       = help: put JSON lines into it, or name the files that hold rows in `dataset.rows`
    "#);
}

#[test]
fn exposed_rows_are_the_rows_less_their_labels() {
    let row =
        r#"{"id":"one","split":"train","label":1,"z":12345678901234567890123,"a":0.1,"text":"ü \u0000"}"#;
    let space = accepted(|space| {
        space.edit(SPEC, "access = \"viewable\"", "access = \"viewable\"\nexpose = true");
        space.write(DATASET, format!("{row}\n{}", ROWS.split_once('\n').unwrap().1));
    });
    let shown = fs::read_to_string(space.out("alpha/environment/samples/train.jsonl")).unwrap();
    assert!(!shown.contains("label"), "{shown}");
    assert!(!shown.contains("two"), "{shown}");
    assert!(shown.contains("12345678901234567890123"), "a number stays what it is: {shown}");
}

// Templates and secrets.

/// How a task with a template of its own is refused.
fn template(text: &str) -> String {
    refused(|space| {
        let own = "[[targets]]\nsplit = \"test\"\n\n[templates]\n\"tests/Dockerfile\" = \"own.hbs\"";
        space.edit(SPEC, "[[targets]]\nsplit = \"test\"", own);
        space.write("harbor-tasks/alpha/own.hbs", text);
    })
}

#[test]
fn a_variable_that_no_template_has() {
    let said = template("# One\nFROM {{imag}}\n");
    assert!(said.starts_with("error: harbor-tasks/alpha/own.hbs:2:6: "), "{said}");
    assert!(said.contains("`imag`") && said.contains("spec.toml:31:22"), "{said}");
}

#[test]
fn a_template_that_is_not_closed() {
    let said = template("FROM {{image}}\n{{#if image}}\n");
    assert!(said.starts_with("harbor-tasks/alpha/own.hbs:3:1: the template is not valid: "), "{said}");
    assert!(said.len() < 200, "{said}");
}

#[test]
fn a_mistake_in_a_template_of_the_workspace_concerns_all_tasks() {
    let space = TestSpace::new();
    space.settle();
    let old = look::stats(&space.workspace.out);
    space.write("templates/environment/Dockerfile.hbs", "FROM {{image}}\nRUN {{nothing}}\n");
    let report = space.build();
    assert_eq!(summary(&report), "alpha: failed, beta: failed");
    let said = space.failure(&report, "alpha");
    assert!(
        said.contains("templates/environment/Dockerfile.hbs:2:5: ") && said.contains("`nothing`"),
        "{said}"
    );
    assert_eq!(look::difference(&old, &look::stats(&space.workspace.out)), "");
}

#[test]
fn the_value_of_a_secret_in_an_output() {
    for (path, padding) in [
        (format!("{SCORER}/run.py"), 0),
        (format!("{SCORER}/large.bin"), LARGE * 5),
        ("harbor-tasks/alpha/instruction.md".to_owned(), 0),
    ] {
        let space = TestSpace::new();
        space.edit(SPEC, "[baseline]", "secrets = [\"API_KEY\"]\n\n[baseline]");
        space.settle();
        let old = look::stats(&space.workspace.out);
        space.write(&path, format!("{}key = sk-live-12345", "x".repeat(padding)));
        let answer = Builder::new(&space).env("API_KEY", "sk-live-12345").run();
        assert_eq!(answer.code, Some(1), "{path}: {:?}", answer.lines);
        let said = answer.lines.iter().find(|line| line.starts_with("alpha")).unwrap();
        assert!(said.contains("the secret `API_KEY`"), "{said}");
        assert!(!said.contains("sk-live"), "the value is not told again: {said}");
        assert_eq!(look::difference(&old, &look::stats(&space.workspace.out)), "", "{path}");
    }
}

// The workspace itself.

#[test]
fn no_specs_at_all() {
    let space = TestSpace::with(&[]);
    let error = space.try_build(&Options::default()).unwrap_err();
    insta::assert_snapshot!(space.error(&error), @r#"
    reading `harbor-tasks`: no such file or directory
    help: `cargo xtask new NAME --mode a` makes a first spec
    "#);
    fs::create_dir(space.path("harbor-tasks")).unwrap();
    assert_eq!(summary(&space.build()), "");
}

#[test]
fn folders_without_a_spec_are_passed_over() {
    let space = TestSpace::new();
    space.write("harbor-tasks/notes/README.md", "");
    space.write("harbor-tasks/.hidden/spec.toml", "[");
    space.write("harbor-tasks/file", "");
    assert_eq!(summary(&space.build()), "alpha: built, beta: built");
}

#[test]
fn a_spec_that_is_a_link_to_nothing() {
    let space = TestSpace::new();
    space.settle();
    space.remove(SPEC);
    symlink("nowhere.toml", space.path(SPEC)).unwrap();
    let report = space.build();
    assert!(!report.is_success(), "{}", summary(&report));
    assert!(space.out("alpha/task.toml").exists(), "its output stays");
}

#[test]
fn files_in_the_way_of_folders() {
    let space = TestSpace::new();
    space.write("target/harbor-tasks", "");
    let error = space.try_build(&Options::default()).unwrap_err();
    insta::assert_snapshot!(space.error(&error), @r#"
    `[ROOT]/target/harbor-tasks` is not a folder, so nothing can be built into it
    help: name another folder with `--out DIR`
    "#);
    assert!(error.is_usage());
    space.remove("target");
    space.write("target/taskwright", "");
    let error = space.try_build(&Options::default()).unwrap_err();
    insta::assert_snapshot!(space.error(&error), @r#"
    creating `[ROOT]/target/taskwright`: file exists
    help: a file stands where a folder should be, there or further up: move it away
    "#);
}

#[test]
fn an_output_folder_among_the_inputs() {
    let mut space = TestSpace::new();
    let before = look::contents(&space.path("harbor-tasks"));
    for (out, said) in [
        ("harbor-tasks", "`[ROOT]/harbor-tasks` is in `[ROOT]/harbor-tasks`, where the specs are"),
        (
            "harbor-tasks/alpha/new",
            "`[ROOT]/harbor-tasks/alpha/new` is in `[ROOT]/harbor-tasks`, where the specs are",
        ),
        (
            "bin/../harbor-tasks/alpha",
            "`[ROOT]/bin/../harbor-tasks/alpha` is in `[ROOT]/harbor-tasks`, where the specs are",
        ),
        (
            "target/taskwright/store",
            "`[ROOT]/target/taskwright/store` is in `[ROOT]/target/taskwright/store`, where the store is",
        ),
    ] {
        space.workspace.out = space.path(out);
        let error = space.try_build(&Options::default()).unwrap_err();
        assert!(error.is_usage());
        assert_eq!(space.error(&error), format!("{said}\nhelp: name another folder with `--out DIR`"));
    }
    assert_eq!(look::contents(&space.path("harbor-tasks")), before);
}

#[test]
fn a_command_of_the_scorer_that_names_no_file_of_it() {
    let command = |word: &str| {
        refused(|space| {
            space.edit(SPEC, "{scorer}/run.py", word);
            space.write("harbor-tasks/alpha/scorer/data/words.txt", "a\n");
        })
    };
    insta::assert_snapshot!(command("{scorer}/rum.py"), @r#"
    error: `harbor-tasks/alpha/scorer` holds no `rum.py`
      --> harbor-tasks/alpha/spec.toml:13:7
       |
    13 | run = ["python3", "{scorer}/rum.py"]
       |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: did you mean `{scorer}/run.py`?
    "#);
    assert!(command("{scorer}/some/thing").contains("help: add the file, or correct the command"));
    for word in
        ["{scorer}/data", "{scorer}/data/", "{scorer}/data/words.txt", "{scorer}/./x", "{scorer}/{candidate}"]
    {
        let space = TestSpace::with(&["alpha"]);
        space.edit(SPEC, "{scorer}/run.py", word);
        space.write("harbor-tasks/alpha/scorer/data/words.txt", "a\n");
        assert_eq!(summary(&space.build()), "alpha: built", "{word}");
    }
}

#[test]
fn a_repository_that_git_takes_for_none() {
    let space = TestSpace::with(&["alpha"]);
    space.remove(".git");
    space.write(".git", "gitdir: /nowhere\n");
    let said = space.failure(&space.build(), "alpha");
    assert!(said.contains("`harbor-tasks/alpha/baseline` is not in a git repository"), "{said}");
    assert!(said.contains("/.git` for none: mend or remove it"), "{said}");
    assert!(!said.contains("git init"), "{said}");
}

#[test]
fn a_name_that_no_task_has() {
    let space = TestSpace::new();
    let ask = |name: &str| {
        let names = vec![name.to_owned()];
        let error = space.try_build(&Options { names, ..Options::default() }).unwrap_err();
        assert!(error.is_usage());
        space.error(&error)
    };
    insta::assert_snapshot!(ask("alpah"), @r#"
    there is no task `alpah`
    help: did you mean `alpha`?
    "#);
    insta::assert_snapshot!(ask("something else"), @r#"
    there is no task `something else`
    help: there are: alpha, beta
    "#);
    space.write("harbor-tasks/half/spec.tml", "");
    insta::assert_snapshot!(ask("half"), @r#"
    there is no task `half`
    help: `harbor-tasks/half` holds neither a `spec.toml` nor a `task.toml`
    "#);
    insta::assert_snapshot!(ask(""), @r#"
    there is no task ``
    help: there are: alpha, beta
    "#);
}

#[test]
fn the_binary_that_is_missing() {
    let space = TestSpace::new();
    space.remove("bin/taskwright");
    let report = space.build();
    assert_eq!(summary(&report), "alpha: failed, beta: failed");
    insta::assert_snapshot!(space.failure(&report, "alpha"), @r#"
    `bin/taskwright` does not exist
    help: make it, or correct the path
    "#);
}

#[test]
fn many_mistakes_at_once_are_all_told() {
    let space = TestSpace::with(&["alpha", "beta", "gamma"]);
    space.remove(SCORER);
    space.write("harbor-tasks/beta/spec.toml", spec("beta", &[("mode = \"a\"", "mode = \"z\"")]));
    let report = space.build();
    assert_eq!(summary(&report), "alpha: failed, gamma: built, harbor-tasks/beta/spec.toml: failed");
}

#[test]
fn a_row_in_which_readers_would_see_different_things() {
    let said = rows(format!("{ROWS}{{\"id\":\"x\",\"id\":\"y\",\"split\":\"test\",\"label\":1}}\n"));
    assert!(
        said.contains("`harbor-tasks/alpha/dataset/rows.jsonl:3`: the key `id` stands there twice"),
        "{said}"
    );
    let deep = format!("{}1{}", "[".repeat(3000), "]".repeat(3000));
    let said = rows(format!("{ROWS}{{\"id\":\"x\",\"split\":\"test\",\"label\":{deep}}}\n"));
    assert!(said.contains("rows.jsonl:3`: the row is nested deeper than 100 levels"), "{said}");
    // Brackets in a text are no depth.
    accepted(|space| {
        let text = "[{".repeat(300);
        space.write(
            DATASET,
            format!("{ROWS}{{\"id\":\"x\",\"split\":\"test\",\"label\":\"\\\\\\\"{text}\"}}\n"),
        );
    });
}

#[test]
fn all_rows_that_are_wrong_are_named() {
    let bad = "{\"split\":\"train\",\"label\":1}\n";
    let said = rows(format!("{bad}{ROWS}nonsense\n{bad}"));
    let first = "`harbor-tasks/alpha/dataset/rows.jsonl:1`: the row has no field `id`";
    let others = "other rows are wrong too: `harbor-tasks/alpha/dataset/rows.jsonl:4`, `harbor-tasks/alpha/dataset/rows.jsonl:5`";
    assert!(said.contains(first) && said.contains(others), "{said}");
    let said = rows(bad.repeat(1000));
    assert_eq!(said.matches("rows.jsonl:").count(), 11, "{said}");
}

#[test]
fn all_names_that_harbor_does_not_see_are_named() {
    let said = refused(|space| {
        for name in ["a.pyc", "b~", ".DS_Store"] {
            space.write(format!("{BASELINE}/{name}"), "");
        }
        space.git(&["add", "--force", "--all"]);
        space.commit("Add what tools leave behind");
    });
    assert!(said.contains("holds `.DS_Store`, `a.pyc`, `b~`, which Harbor uploads"), "{said}");
}

#[test]
fn a_work_tree_outside_of_git_needs_no_commit() {
    let space = TestSpace::with(&["alpha"]);
    space.edit(SPEC, "path = \"baseline\"", "path = \"baseline\"\nsource = \"work-tree\"");
    space.remove(".git");
    let report = space.build();
    let said = space.failure(&report, "alpha");
    assert!(said.contains("run `git init`: git tells which files") && !said.contains("commit"), "{said}");
}
