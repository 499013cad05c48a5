//! The commit that the lock names is the one that git makes when the image is built.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use camino::Utf8Path;
use proptest::prelude::*;
use taskwright_builder::lock::Lock;
use taskwright_testing::test;

use crate::support::{LARGE, TestSpace};

const BASELINE: &str = "harbor-tasks/alpha/baseline";

/// The shell commands by which the rendered Dockerfile makes the baseline's commit.
fn commands(space: &TestSpace) -> String {
    let dockerfile = fs::read_to_string(space.out("alpha/environment/Dockerfile")).unwrap();
    let joined = dockerfile.replace("\\\n", "");
    let line = joined.lines().find(|line| line.starts_with("RUN") && line.contains("git "));
    line.expect("the Dockerfile makes no commit").strip_prefix("RUN ").unwrap().to_owned()
}

/// Builds, makes the commit as the image would, and compares.
fn assert_same_commit(space: &TestSpace) {
    let report = space.build();
    assert!(report.is_success(), "{}", space.failures(&report));
    let lock = Lock::read(&space.workspace.lock_file()).unwrap().unwrap();
    let expected = lock.tasks["alpha"].baseline_commit.as_ref().unwrap();
    let serve: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(space.out("alpha/environment/sidecar/serve.json")).unwrap())
            .unwrap();
    assert_eq!(serve["baseline"]["commit"], **expected);

    let commands = commands(space);
    for hostile in [false, true] {
        let room = tempfile::tempdir().unwrap();
        let room = Utf8Path::from_path(room.path()).unwrap();
        let (work, home) = (room.join("workspace"), room.join("home"));
        let copied = Command::new("cp")
            .args(["-a", space.out("alpha/environment/baseline").as_str(), work.as_str()])
            .status();
        assert!(copied.unwrap().success());
        fs::create_dir(&home).unwrap();
        if hostile {
            make_hostile(&home);
        }
        let git = |arguments: &[&str]| {
            let output = Command::new("git")
                .args(arguments)
                .current_dir(&work)
                .env("HOME", &home)
                .env("GIT_CONFIG_SYSTEM", "/dev/null")
                .env("GIT_OPTIONAL_LOCKS", "0")
                .output()
                .unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let output = Command::new("sh")
            .args(["-c", &commands])
            .current_dir(&work)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &home)
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_CEILING_DIRECTORIES", room.as_str())
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "hostile: {hostile}: {words}");
        assert_eq!(git(&["rev-parse", "HEAD"]).trim(), expected, "hostile: {hostile}");
        assert_eq!(git(&["rev-parse", "HEAD^{tree}"]).trim(), serve["baseline"]["tree"].as_str().unwrap());
        if !hostile {
            assert_eq!(
                git(&["status", "--porcelain", "--untracked-files=all"]),
                "",
                "nothing is left to commit"
            );
        }
    }
}

/// A configuration that changes whatever can be changed.
fn make_hostile(home: &Utf8Path) {
    fs::create_dir_all(home.join(".config/git")).unwrap();
    fs::create_dir_all(home.join("template/hooks")).unwrap();
    fs::write(home.join("attributes"), "* text eol=crlf ident working-tree-encoding=UTF-16 filter=f\n")
        .unwrap();
    fs::write(home.join(".config/git/ignore"), "*\n").unwrap();
    let config = format!(
        "[core]\n\tautocrlf = true\n\tattributesFile = {home}/attributes\n\tsafecrlf = true\n[init]\n\
         \ttemplateDir = {home}/template\n\tdefaultBranch = other\n[commit]\n\tgpgSign = true\n[filter \"f\"]\n\
         \tclean = tr a-z A-Z\n\trequired = true\n[user]\n\tname = Somebody\n\temail = some@where\n"
    );
    fs::write(home.join(".gitconfig"), config).unwrap();
}

/// A workspace whose baseline is made by hand.
fn with_baseline(make: impl Fn(&TestSpace)) -> TestSpace {
    let space = TestSpace::with(&["alpha"]);
    make(&space);
    space.git(&["add", "--all", "--force", BASELINE]);
    space.commit("Change the baseline");
    space
}

#[test]
fn plain_files_in_folders() {
    assert_same_commit(&with_baseline(|_| {}));
}

#[test]
fn executables_links_empty_and_large_files() {
    assert_same_commit(&with_baseline(|space| {
        space.write_executable(format!("{BASELINE}/run.sh"), "#!/bin/sh\n");
        space.write_executable(format!("{BASELINE}/bin/large"), vec![1; LARGE * 2]);
        space.write(format!("{BASELINE}/large.bin"), vec![0; LARGE * 2 + 1]);
        space.write(format!("{BASELINE}/exactly"), vec![2; LARGE]);
        space.write(format!("{BASELINE}/empty"), "");
        space.write(format!("{BASELINE}/deep/er/and/deeper/empty"), "");
        let folder = space.path(BASELINE);
        symlink("run.sh", folder.join("link")).unwrap();
        symlink("deep", folder.join("link-to-folder")).unwrap();
        symlink("nowhere", folder.join("link-to-nothing")).unwrap();
    }));
}

#[test]
fn names_that_sort_otherwise_than_paths() {
    assert_same_commit(&with_baseline(|space| {
        for name in ["a-b", "a.b", "a/b", "a0", "ab", "a/b-c", "a-b.c", "a b", "A", "Z/z", "a+/x", "ä", "é/é"]
        {
            space.write(format!("{BASELINE}/{name}"), name);
        }
    }));
}

#[test]
fn odd_names() {
    assert_same_commit(&with_baseline(|space| {
        for name in ["ü 漢字", "'quotes\"", "$HOME", "{{x}}", "-rf", "*", "#x", "\\"] {
            space.write(format!("{BASELINE}/{name}"), name);
        }
    }));
}

#[test]
fn line_ends_and_attributes() {
    assert_same_commit(&with_baseline(|space| {
        space.git(&["config", "core.autocrlf", "false"]);
        space.write(format!("{BASELINE}/crlf.txt"), "one\r\ntwo\r\n");
        space.write(format!("{BASELINE}/mixed.txt"), "one\r\ntwo\n");
        space.write(format!("{BASELINE}/lf.bat"), "one\ntwo\n");
        space.write(format!("{BASELINE}/id.c"), "$Id$\n$Format:%H$\n");
        space.write(format!("{BASELINE}/sub/lf.txt"), "one\ntwo\n");
    }));
    for attributes in [
        "* text=auto\n",
        "* text eol=crlf\n",
        "*.bat eol=crlf\n*.txt text\n",
        "*.c ident\n",
        "*.c export-subst\n",
        "* -text\n",
        "lf.bat export-ignore\n",
        "*.txt working-tree-encoding=UTF-16\n",
        "*.txt filter=lfs diff=lfs merge=lfs -text\n",
    ] {
        let space = TestSpace::with(&["alpha"]);
        // The attributes come last: git must not change the files when they are added.
        for (name, text) in
            [("crlf.txt", "one\r\ntwo\r\n"), ("lf.bat", "one\ntwo\n"), ("sub/lf.txt", "a\nb\n")]
        {
            let wide = attributes.contains("UTF-16") && name.contains(".txt");
            let utf_16: Vec<u8> =
                format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
            space.write(format!("{BASELINE}/{name}"), if wide { &utf_16 } else { text.as_bytes() });
        }
        space.write(format!("{BASELINE}/id.c"), "$Id$\n$Format:%H$\n");
        space.write(format!("{BASELINE}/.gitattributes"), attributes);
        space.commit("Change the baseline");
        eprintln!("attributes: {attributes}");
        assert_same_commit(&space);
    }
}

#[test]
fn a_file_that_is_committed_although_it_is_ignored() {
    assert_same_commit(&with_baseline(|space| {
        space.write(format!("{BASELINE}/.gitignore"), "*.log\nbuild/\n!keep.log\n*\n");
        space.write(format!("{BASELINE}/a.log"), "kept");
        space.write(format!("{BASELINE}/build/out"), "kept");
        space.write(format!("{BASELINE}/sub/.gitignore"), "*\n");
        space.write(format!("{BASELINE}/sub/file"), "kept");
    }));
}

#[test]
fn overlays_are_part_of_the_commit() {
    let space = with_baseline(|space| {
        space.write("harbor-tasks/alpha/extra/lib/util.py", "VALUE = 2\n");
        space.write("harbor-tasks/alpha/extra/new/file", "new");
        let overlay = "path = \"baseline\"\noverlays = [{ from = \"extra\", read_only = true }]";
        space.edit("harbor-tasks/alpha/spec.toml", "path = \"baseline\"", overlay);
    });
    assert_same_commit(&space);
}

#[test]
fn the_commit_depends_on_the_files_alone() {
    let commit = |space: &TestSpace| {
        space.build();
        Lock::read(&space.workspace.lock_file()).unwrap().unwrap().tasks["alpha"].baseline_commit.clone()
    };
    let space = TestSpace::with(&["alpha"]);
    let first = commit(&space);
    space.git(&["commit", "--quiet", "--allow-empty", "--message", "Another history"]);
    space.edit("harbor-tasks/alpha/spec.toml", "Improve alpha", "Something else");
    assert_eq!(commit(&space), first);
    // Files taken from elsewhere, by another way.
    let work_tree = "path = \"baseline\"\nsource = \"work-tree\"";
    space.edit("harbor-tasks/alpha/spec.toml", "path = \"baseline\"", work_tree);
    assert_eq!(commit(&space), first);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_files_give_the_commit_that_git_gives(
        files in prop::collection::btree_map("[a-c.-]{1,3}(/[a-c.-]{1,3}){0,2}", ("[ab\r\n]{0,9}", any::<bool>()), 1..12)
    ) {
        let space = TestSpace::with(&["alpha"]);
        let folder = space.path(BASELINE);
        for (name, (text, executable)) in &files {
            let path = folder.join(name);
            // A name may ask for a folder where a file is, or be `.` or `..`: those are passed over.
            let plain = name.split('/').all(|part| part != "." && part != "..");
            if plain && fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.is_dir() {
                fs::write(&path, text).unwrap();
                crate::support::chmod(&path, if *executable { 0o755 } else { 0o644 });
            }
        }
        space.commit("Change the baseline");
        assert_same_commit(&space);
    }
}
