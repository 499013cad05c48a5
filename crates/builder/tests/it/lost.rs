//! What no build wrote is never removed with an output: it is moved aside, whatever takes the output away.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::AtomicBool;
use taskwright_testing::test;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_builder::clean::{Scope, clean};
use taskwright_builder::{Options, Silent};

use crate::support::{TestSpace, look, summary, task};

/// What Harbor leaves where `harbor run -p .` is called in a built task.
const TRIAL: &str = "alpha/jobs/2026-01-01__00-00-00/trial/result.json";

fn add(space: &TestSpace, path: &str) {
    let path = space.out(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "of mine").unwrap();
}

/// A path below where what no build wrote is moved.
fn lost(space: &TestSpace, path: &str) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{}.lost", space.workspace.out)).join(path)
}

fn assert_lost(space: &TestSpace, path: &str) {
    assert_eq!(fs::read_to_string(lost(space, path)).unwrap(), "of mine", "{path}");
}

fn cleaned(space: &TestSpace) -> Vec<Utf8PathBuf> {
    clean(&space.workspace, Scope::Outputs, &Silent, &AtomicBool::new(false)).unwrap().lost
}

/// A way to take an output away, and what is kept of it.
type Take<'a> = &'a dyn Fn(&TestSpace) -> Option<Utf8PathBuf>;

#[test]
fn trials_in_a_task_outlast_a_build_the_end_of_its_spec_and_clean() {
    let takes: [(&str, Take); 4] = [
        ("a mend", &|space| task(&space.build(), "alpha").lost.clone()),
        ("a build", &|space| {
            space.write("harbor-tasks/alpha/instruction.md", "Other.\n");
            task(&space.build(), "alpha").lost.clone()
        }),
        ("the end of the spec", &|space| {
            space.remove("harbor-tasks/alpha");
            let report = space.build();
            assert_eq!(summary(&report), "alpha: removed, beta: up to date");
            task(&report, "alpha").lost.clone()
        }),
        ("clean", &|space| cleaned(space).first().cloned()),
    ];
    for (what, take) in takes {
        let space = TestSpace::new();
        space.settle();
        add(&space, TRIAL);
        add(&space, "alpha/environment/note");
        fs::create_dir(space.out("alpha/empty")).unwrap();
        assert_eq!(take(&space), Some(lost(&space, "alpha")), "{what}");
        assert_lost(&space, TRIAL);
        assert_lost(&space, "alpha/environment/note");
        assert!(!space.out("alpha/jobs").exists(), "{what}");
        // Nothing that a build wrote lies there, and no empty folder.
        let mut files = look::contents(&lost(&space, "alpha"));
        files.retain(|_, what| what.starts_with("file"));
        assert_eq!(files.len(), 2, "{what}: {files:?}");
        assert!(!lost(&space, "alpha/empty").exists());
    }
}

#[test]
fn what_was_moved_aside_before_is_not_written_over() {
    let space = TestSpace::with(&["alpha"]);
    space.settle();
    for place in ["alpha", "alpha.2", "alpha.3"] {
        add(&space, "alpha/note");
        assert_eq!(task(&space.build(), "alpha").lost, Some(lost(&space, place)));
        assert_lost(&space, &format!("{place}/note"));
    }
}

#[test]
fn an_edit_is_mended_and_kept() {
    let space = TestSpace::with(&["alpha"]);
    space.settle();
    add(&space, "alpha/instruction.md");
    assert_eq!(task(&space.build(), "alpha").lost, Some(lost(&space, "alpha")));
    assert_lost(&space, "alpha/instruction.md");
    assert_ne!(fs::read_to_string(space.out("alpha/instruction.md")).unwrap(), "of mine");
}

#[test]
fn what_took_the_place_of_a_task_is_kept_whatever_it_is() {
    let space = TestSpace::with(&["alpha"]);
    let replaced = |put: &dyn Fn(&Utf8Path)| {
        assert!(space.build().is_success());
        fs::remove_dir_all(space.out("alpha")).unwrap();
        put(&space.out("alpha"));
        cleaned(&space)
    };
    let folder = replaced(&|place| {
        fs::create_dir(place).unwrap();
        fs::write(place.join("notes.txt"), "of mine").unwrap();
    });
    assert_eq!(folder, [lost(&space, "alpha")]);
    assert_lost(&space, "alpha/notes.txt");
    assert_eq!(replaced(&|place| fs::write(place, "of mine").unwrap()), [lost(&space, "alpha.2")]);
    assert_lost(&space, "alpha.2");
    let link = replaced(&|place| symlink("elsewhere", place).unwrap());
    assert_eq!(link, [lost(&space, "alpha.3")]);
    assert!(lost(&space, "alpha.3").is_symlink());
}

#[test]
fn a_copy_that_no_state_remembers_is_moved_aside_whole_where_it_was_edited() {
    let mut space = TestSpace::new();
    assert!(space.build().is_success());
    // As somebody does who takes tasks over into a benchmark of their own.
    let copy = space.path("mine");
    assert!(
        std::process::Command::new("cp")
            .arg("-r")
            .args([&space.workspace.out, &copy])
            .status()
            .unwrap()
            .success()
    );
    space.workspace.out = copy;
    add(&space, "alpha/instruction.md");
    add(&space, "alpha/mine/a");
    let report = space.build();
    assert_eq!(summary(&report), "alpha: built, beta: up to date");
    assert_eq!(task(&report, "alpha").lost, Some(lost(&space, "alpha")));
    assert_lost(&space, "alpha/instruction.md");
    assert_lost(&space, "alpha/mine/a");
    assert!(lost(&space, "alpha/task.toml").exists());
    assert_eq!(task(&report, "beta").lost, None);
}

#[test]
fn an_output_that_only_the_lock_describes_is_replaced_without_a_copy() {
    let space = TestSpace::new();
    assert!(space.build().is_success());
    fs::remove_file(space.workspace.state_file()).unwrap();
    space.write("harbor-tasks/alpha/instruction.md", "Other.\n");
    add(&space, "beta/jobs/result.json");
    space.write("harbor-tasks/beta/instruction.md", "Other.\n");
    let report = space.build();
    assert_eq!(summary(&report), "alpha: built, beta: built");
    assert_eq!(task(&report, "alpha").lost, None);
    assert_eq!(task(&report, "beta").lost, Some(lost(&space, "beta")));
    assert_lost(&space, "beta/jobs/result.json");
}

#[test]
fn where_it_cannot_be_moved_the_output_stays() {
    let space = TestSpace::new();
    space.settle();
    fs::write(format!("{}.lost", space.workspace.out), "a file").unwrap();
    add(&space, TRIAL);
    let report = space.build();
    assert_eq!(summary(&report), "alpha: failed, beta: up to date");
    let said = space.failure(&report, "alpha");
    assert!(
        said.contains("making room for what no build wrote") && said.contains("help: move what"),
        "{said}"
    );
    assert!(space.out(TRIAL).exists());
    assert!(clean(&space.workspace, Scope::Outputs, &Silent, &AtomicBool::new(false)).is_err());
    assert!(space.out(TRIAL).exists());
}

#[test]
fn a_value_of_an_axis_leaves_the_other_combinations_where_they_are() {
    let space = TestSpace::with(&["alpha"]);
    let path = "harbor-tasks/alpha/spec.toml";
    space.edit(path, "name = \"alpha\"", "name = \"alpha-${i}\"");
    space.edit(path, "[baseline]", "[matrix]\ni = [1, 2, 3]\n\n[baseline]");
    space.settle();
    let one = Options { set: [("i".to_owned(), "1".to_owned())].into(), ..Options::default() };
    let report = space.build_with(&one);
    assert!(report.is_success() && report.tasks.len() == 1, "{}", summary(&report));
    for name in ["alpha-1", "alpha-2", "alpha-3"] {
        assert!(space.out(name).join("task.toml").exists(), "{name}");
    }
    assert_eq!(summary(&space.build()), "alpha-1: up to date, alpha-2: up to date, alpha-3: up to date");
    // What the specs themselves do not say any more still goes.
    space.edit(path, "i = [1, 2, 3]", "i = [1, 2]");
    let report = space.build();
    assert_eq!(summary(&report), "alpha-1: up to date, alpha-2: up to date, alpha-3: removed");
}

#[test]
fn what_only_a_folder_that_is_gone_needed_is_unused_at_once() {
    let mut space = TestSpace::with(&["alpha"]);
    let elsewhere = space.path("target/far/elsewhere");
    let usual = std::mem::replace(&mut space.workspace.out, elsewhere);
    assert!(space.build().is_success());
    let unused = |space: &TestSpace| {
        clean(&space.workspace, Scope::Unused(0), &Silent, &AtomicBool::new(false)).unwrap().store
    };
    let kept = unused(&space);
    assert!(kept.removed < kept.before, "what stands there is needed");
    space.workspace.out = usual;
    space.remove("target/far");
    // A link that leads to itself: whether something is behind it cannot be looked at.
    symlink("far", space.path("target/far")).unwrap();
    let unseen = unused(&space);
    assert!(unseen.removed < unseen.before, "what cannot be looked at may be there");
    fs::remove_file(space.path("target/far")).unwrap();
    let gone = unused(&space);
    assert!(gone.before > 0 && gone.removed == gone.before, "{gone:?}");
}

#[test]
fn an_output_that_nobody_remembers_is_named_and_stays() {
    let space = TestSpace::new();
    space.settle();
    space.remove("target/taskwright");
    fs::rename(space.path("harbor-tasks/alpha"), space.path("harbor-tasks/gamma")).unwrap();
    space.edit("harbor-tasks/gamma/spec.toml", "name = \"alpha\"", "name = \"gamma\"");
    space.commit("Rename");
    // A folder of somebody else's is none of our business.
    add(&space, "other/task.toml");
    let report = space.build();
    assert_eq!(summary(&report), "alpha: of no spec, beta: up to date, gamma: built");
    assert!(report.is_success() && space.out("alpha/task.toml").exists());
    // It is not forgotten, and a look says it as well.
    space.settle();
    assert_eq!(summary(&space.look()), "alpha: of no spec, beta: up to date, gamma: up to date");
    // What other specs are known to have built to the same place is theirs.
    let mut other = space;
    other.workspace.specs = "other-tasks".into();
    fs::create_dir(other.path("other-tasks")).unwrap();
    fs::rename(other.path("harbor-tasks/gamma"), other.path("other-tasks/delta")).unwrap();
    other.edit("other-tasks/delta/spec.toml", "name = \"gamma\"", "name = \"delta\"");
    other.commit("Apart");
    assert_eq!(summary(&other.build()), "alpha: of no spec, delta: built");
}
