//! The same bytes on every machine: whatever the umask, the locale, the time zone, the configuration of git, the
//! number of threads and the order in which folders list their files.

use std::fs;

use camino::Utf8Path;
use proptest::prelude::*;
use taskwright_builder::Options;
use taskwright_testing::test;

use crate::support::child::Builder;
use crate::support::{LARGE, TestSpace, look, summary};

/// A workspace with a bit of everything that could differ.
fn varied() -> TestSpace {
    let space = TestSpace::new();
    let folder = "harbor-tasks/alpha/baseline";
    space.write(format!("{folder}/.gitattributes"), "*.bat eol=crlf\n*.txt text=auto\n");
    space.write(format!("{folder}/run.bat"), "one\ntwo\n");
    space.write(format!("{folder}/words.txt"), "one\ntwo\n");
    space.write(format!("{folder}/ident.c"), "$Id$\n");
    space.write_executable(format!("{folder}/run.sh"), "#!/bin/sh\n");
    space.write(format!("{folder}/large.bin"), "large".repeat(LARGE));
    for name in ["I", "ı", "i", "İ", "z", "Z", "ä"] {
        space.write(format!("{folder}/names/{name}"), name);
        space.write(format!("harbor-tasks/alpha/scorer/names/{name}"), name);
    }
    std::os::unix::fs::symlink("run.sh", space.path(folder).join("link")).unwrap();
    space.commit("Add a bit of everything");
    space
}

/// A home whose git configuration changes whatever it can.
fn hostile_home(home: &Utf8Path) {
    let write = |path: &str, text: &str| {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("attributes", "* text eol=crlf export-ignore ident\n");
    write("hooks/post-index-change", "#!/bin/sh\nexit 1\n");
    write("template/description", "hostile\n");
    write(
        ".gitconfig",
        &format!(
            "[core]\n\tautocrlf = true\n\teol = crlf\n\tattributesFile = {home}/attributes\n\thooksPath = {home}/hooks\n\
             \tfsmonitor = touch '{home}/fsmonitor-ran' && false\n\tquotePath = true\n\tabbrev = 4\n[init]\n\
             \ttemplateDir = {home}/template\n\tdefaultBranch = hostile\n[commit]\n\tgpgSign = true\n[tar]\n\tumask = 0077\n\
             [status]\n\tshowUntrackedFiles = no\n\tshort = true\n\tbranch = true\n[color]\n\tui = always\n[core]\n\tpager = false\n"
        ),
    );
    // Where git looks for attributes if no configuration says otherwise.
    write("plain/.config/git/attributes", "* text eol=crlf export-ignore ident\n");
    write("plain/.config/git/ignore", "*\n");
}

/// Builds a clone in an environment of its own, and compares it with a plain build.
fn assert_same(space: &TestSpace, clone: &TestSpace, builder: Builder<'_>) {
    let answer = builder.run();
    assert_eq!(answer.code, Some(0), "{:#?}", answer.lines);
    // The folder around the tasks is no part of them.
    let tasks = |space: &TestSpace| {
        let mut contents = look::contents(&space.workspace.out);
        contents.remove("");
        contents
    };
    assert_eq!(look::difference(&tasks(space), &tasks(clone)), "");
    assert_eq!(space.read("harbor-tasks/taskwright.lock"), clone.read("harbor-tasks/taskwright.lock"));
}

#[test]
fn a_clone_in_another_folder_with_another_environment_builds_the_same_bytes() {
    let space = varied();
    assert_eq!(summary(&space.build()), "alpha: built, beta: built");
    let clone = space.cloned(&[]);
    let home = clone.path("target/home");
    hostile_home(&home);
    let builder = Builder::new(&clone)
        .through(&["sh", "-c", "umask 077; exec \"$0\" \"$@\""])
        .env("LC_ALL", "tr_TR.UTF-8")
        .env("TZ", "Asia/Kolkata")
        .env("HOME", home.as_str())
        .env("USER", "somebody")
        .env("SOURCE_DATE_EPOCH", "1")
        .jobs(1);
    assert_same(&space, &clone, builder);
}

#[test]
fn attributes_of_the_user_do_not_reach_an_archive() {
    // Both where a configuration names the file and where git looks by itself.
    let space = varied();
    space.build();
    let clone = space.cloned(&[]);
    let home = clone.path("target/home");
    hostile_home(&home);
    let plain = home.join("plain");
    assert_same(&space, &clone, Builder::new(&clone).env("HOME", plain.as_str()));
    let clone = space.cloned(&[]);
    let builder = Builder::new(&clone).env("XDG_CONFIG_HOME", plain.join(".config").as_str());
    assert_same(&space, &clone, builder);
}

#[test]
fn what_a_clone_keeps_to_itself_does_not_reach_an_archive() {
    let space = varied();
    space.build();
    let clone = space.cloned(&[]);
    clone.write(".git/info/attributes", "* text eol=crlf export-ignore ident\n");
    clone.git(&["config", "core.autocrlf", "true"]);
    clone.git(&["config", "tar.umask", "0077"]);
    clone.git(&["config", "core.attributesFile", clone.path(".git/info/attributes").as_str()]);
    assert_same(&space, &clone, Builder::new(&clone));
}

#[test]
fn variables_of_git_in_the_environment_do_not_matter() {
    // As a hook of git has them, for example.
    let space = varied();
    space.build();
    let clone = space.cloned(&[]);
    let builder = Builder::new(&clone)
        .env("GIT_DIR", clone.path("nowhere").as_str())
        .env("GIT_WORK_TREE", "/")
        .env("GIT_INDEX_FILE", clone.path("target/other-index").as_str())
        .env("GIT_PREFIX", "harbor-tasks/")
        .env("GIT_LITERAL_PATHSPECS", "1")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.autocrlf")
        .env("GIT_CONFIG_VALUE_0", "true");
    assert_same(&space, &clone, builder);
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let space = varied();
    space.build();
    for jobs in [1, 4] {
        let clone = space.cloned(&[]);
        let report = clone.build_with(&Options { jobs: Some(jobs), ..Options::default() });
        assert!(report.is_success());
        let plain = look::contents(&space.workspace.out);
        assert_eq!(look::difference(&plain, &look::contents(&clone.workspace.out)), "");
    }
}

#[test]
fn building_again_and_again_changes_nothing() {
    let space = varied();
    space.build();
    let first = look::contents(&space.workspace.out);
    for _ in 0..3 {
        let report = space.build_with(&Options { force: true, ..Options::default() });
        assert_eq!(summary(&report), "alpha: built, beta: built");
        assert_eq!(look::difference(&first, &look::contents(&space.workspace.out)), "");
    }
}

#[test]
fn no_path_of_this_machine_stands_in_an_output() {
    let space = varied();
    space.build();
    let root = space.root().as_str().as_bytes().to_vec();
    for (path, what) in look::contents(&space.workspace.out) {
        if what.starts_with("file") {
            let bytes = fs::read(space.out(&path)).unwrap();
            assert!(!bytes.windows(root.len()).any(|window| window == root), "{path}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_in_which_files_were_made_does_not_matter(
        order in Just((0..30_usize).collect::<Vec<_>>()).prop_shuffle(),
        jobs in 1..5_usize,
    ) {
        let make = |order: &[usize]| {
            let space = TestSpace::with(&[]);
            space.add_task("alpha");
            for number in order {
                for folder in ["baseline", "scorer", "dataset"] {
                    let name = format!("{}/{}", number % 7, number * 37 % 100);
                    space.write(format!("harbor-tasks/alpha/{folder}/{name}"), name);
                }
            }
            space.commit("Begin");
            space
        };
        let sorted = make(&(0..30).collect::<Vec<_>>());
        let shuffled = make(&order);
        sorted.build();
        shuffled.build_with(&Options { jobs: Some(jobs), ..Options::default() });
        let first = look::contents(&sorted.workspace.out);
        prop_assert_eq!(look::difference(&first, &look::contents(&shuffled.workspace.out)), "");
        prop_assert_eq!(
            sorted.read("harbor-tasks/taskwright.lock"),
            shuffled.read("harbor-tasks/taskwright.lock")
        );
    }
}
