//! A baseline is what is committed: whatever differs from it on disk is refused, wherever its repository is and whatever
//! hides the difference.

use std::fs;
use taskwright_testing::test;

use camino::Utf8Path;

use crate::support::{TestSpace, git, look, summary};

const SPEC: &str = "harbor-tasks/alpha/spec.toml";
const BASELINE: &str = "harbor-tasks/alpha/baseline";

/// The words with which `alpha` is refused, after the change is noticed by a build that was up to date.
fn refused(space: &TestSpace) -> String {
    let report = space.build();
    assert_eq!(summary(&report), "alpha: failed, beta: up to date", "{}", space.failures(&report));
    space.failure(&report, "alpha")
}

/// Makes the baseline of `alpha` a repository of its own, which the one around it does not record.
fn with_repository_as_baseline() -> TestSpace {
    let space = TestSpace::new();
    space.write(".gitignore", "/target/\ntaskwright.lock\n/harbor-tasks/alpha/baseline/\n");
    let folder = space.path(BASELINE);
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--message", "Begin"]);
    space.settle();
    space
}

#[test]
fn an_edit_in_a_baseline_that_is_the_root_of_its_repository_is_a_change() {
    let space = with_repository_as_baseline();
    for (path, line) in [("main.py", " M main.py"), ("new.py", "?? new.py")] {
        let old = fs::read(space.path(BASELINE).join(path)).ok();
        space.write(format!("{BASELINE}/{path}"), "edited");
        let said = refused(&space);
        assert!(
            said.contains("has uncommitted changes that would not be built") && said.contains(line),
            "{said}"
        );
        match old {
            Some(old) => space.write(format!("{BASELINE}/{path}"), old),
            None => space.remove(format!("{BASELINE}/{path}")),
        }
        assert!(space.build().is_success());
    }
}

#[test]
fn the_work_tree_of_a_repository_that_is_the_baseline_is_built_whole() {
    let space = with_repository_as_baseline();
    space.edit(SPEC, "path = \"baseline\"", "path = \"baseline\"\nsource = \"work-tree\"");
    space.write(format!("{BASELINE}/new.py"), "new");
    assert_eq!(summary(&space.build()), "alpha: built, beta: up to date");
    let built = look::contents(&space.out("alpha/environment/baseline"));
    let names: Vec<_> = built.keys().map(String::as_str).collect();
    assert_eq!(names, ["", "lib", "lib/util.py", "main.py", "new.py"]);
}

#[test]
fn an_edit_in_the_repository_that_the_spec_names_is_a_change() {
    let space = TestSpace::new();
    let other = tempfile::tempdir().unwrap();
    let other = Utf8Path::from_path(other.path()).unwrap().canonicalize_utf8().unwrap();
    git(&other, &["init", "--quiet", "--initial-branch=main"]);
    fs::create_dir(other.join("src")).unwrap();
    fs::write(other.join("src/main.py"), "one").unwrap();
    fs::write(other.join("README"), "one").unwrap();
    git(&other, &["add", "--all"]);
    git(&other, &["commit", "--quiet", "--message", "Begin"]);
    space.edit(
        SPEC,
        "path = \"baseline\"",
        &format!("path = \"src\"\ngit = \"{}\"", relative(&space, &other)),
    );
    space.settle();
    fs::write(other.join("README"), "elsewhere").unwrap();
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");
    fs::write(other.join("src/main.py"), "edited").unwrap();
    let said = refused(&space);
    assert!(said.contains(" M src/main.py") && said.contains("`baseline.rev`"), "{said}");
    // A revision that is named is built whatever lies on the disk.
    let head = git(&other, &["rev-parse", "HEAD"]);
    space.edit(SPEC, "path = \"src\"", &format!("path = \"src\"\nrev = \"{}\"", head.trim()));
    assert!(space.build().is_success());
}

/// The way from a spec's folder to another place.
fn relative(space: &TestSpace, to: &Utf8Path) -> String {
    let from = space.path("harbor-tasks/alpha");
    let up = "../".repeat(from.components().count() - 1);
    format!("{up}{}", to.as_str().trim_start_matches('/'))
}

#[test]
fn an_edit_that_the_index_hides_is_a_change() {
    for flag in ["assume-unchanged", "skip-worktree"] {
        let space = TestSpace::new();
        space.settle();
        let path = format!("{BASELINE}/main.py");
        space.git(&["update-index", &format!("--{flag}"), &path]);
        assert!(space.build().is_success(), "what is hidden and as committed is no change");
        space.write(&path, "hidden");
        let said = refused(&space);
        assert!(said.contains(&format!(" M {path} (hidden from `git status`")), "{flag}: {said}");
        // The index itself is left as it was.
        assert_eq!(space.git(&["status", "--porcelain", "--", BASELINE]), "", "{flag}");
        space.git(&["update-index", &format!("--no-{flag}"), &path]);
        space.git(&["checkout", "--quiet", "--", &path]);
        assert!(space.build().is_success());
    }
}

#[test]
fn what_a_user_ignores_everywhere_decides_nothing() {
    let space = TestSpace::new();
    space.write("target/ignored", "*.junk\n");
    space.git(&["config", "core.excludesFile", space.path("target/ignored").as_str()]);
    space.settle();
    space.write(format!("{BASELINE}/a.junk"), "junk");
    let said = refused(&space);
    assert!(said.contains("?? harbor-tasks/alpha/baseline/a.junk"), "{said}");
    // What tools leave behind is no part of a baseline, so it need not be ignored.
    space.remove(format!("{BASELINE}/a.junk"));
    space.write(format!("{BASELINE}/.DS_Store"), "");
    space.write(format!("{BASELINE}/__pycache__/main.pyc"), "");
    assert!(space.build().is_success());
}

#[test]
fn what_a_clone_ignores_is_in_the_work_tree_all_the_same() {
    let space = TestSpace::new();
    space.edit(SPEC, "path = \"baseline\"", "path = \"baseline\"\nsource = \"work-tree\"");
    space.write(".git/info/exclude", "*.txt\n");
    space.write(format!("{BASELINE}/note.txt"), "note");
    assert!(space.build().is_success());
    assert!(space.out("alpha/environment/baseline/note.txt").exists());
}

#[test]
fn a_sparse_checkout_is_no_change_and_hides_nothing_from_the_work_tree() {
    let space = with_repository_as_baseline();
    let before = look::contents(&space.out("alpha/environment/baseline"));
    git(&space.path(BASELINE), &["sparse-checkout", "set", "--no-cone", "/*", "!/lib"]);
    assert!(!space.path(BASELINE).join("lib").exists());
    let report = space.build();
    assert!(report.is_success(), "{}", space.failures(&report));
    assert_eq!(look::contents(&space.out("alpha/environment/baseline")), before);
    space.edit(SPEC, "path = \"baseline\"", "path = \"baseline\"\nsource = \"work-tree\"");
    let said = refused(&space);
    assert!(said.contains("lib/util.py` is committed and not on disk: a sparse checkout"), "{said}");
}

#[test]
fn a_submodule_is_built_at_the_commit_that_the_repository_around_it_records() {
    let space = TestSpace::new();
    let origin = tempfile::tempdir().unwrap();
    let origin = Utf8Path::from_path(origin.path()).unwrap();
    git(origin, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(origin.join("main.py"), "one").unwrap();
    git(origin, &["add", "--all"]);
    git(origin, &["commit", "--quiet", "--message", "Begin"]);
    space.remove(BASELINE);
    space.commit("Remove the folder");
    space.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        origin.as_str(),
        BASELINE,
    ]);
    let said = {
        let report = space.build();
        space.failure(&report, "alpha")
    };
    assert!(said.contains("the repository around it records no commit"), "{said}");
    space.commit("Add a submodule");
    space.settle();
    let folder = space.path(BASELINE);
    fs::write(folder.join("main.py"), "two").unwrap();
    git(&folder, &["commit", "--quiet", "--all", "--message", "Change"]);
    let said = refused(&space);
    assert!(said.contains("is in the submodule") && said.contains("records commit"), "{said}");
    space.commit("Record it");
    assert_eq!(summary(&space.build()), "alpha: built, beta: up to date");
    assert_eq!(fs::read_to_string(space.out("alpha/environment/baseline/main.py")).unwrap(), "two");
}
