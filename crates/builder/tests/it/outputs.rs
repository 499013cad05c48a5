//! Outputs, the state, the store and the lock, spoiled in every way: noticed, mended, and nothing else touched.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, symlink};
use std::sync::atomic::AtomicBool;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_builder::clean::{Scope, clean};
use taskwright_builder::{Options, Silent, Status};
use taskwright_language::pattern::Pattern;
use taskwright_language::serve::ServeConfig;
use taskwright_testing::test;

use crate::support::{LARGE, TestSpace, chmod, damage, look, summary, task, wait_a_tick};

/// Spoils the outputs of `alpha`, builds, and says what was found. All outputs must be as they were before.
fn mended(spoil: impl Fn(&TestSpace)) -> String {
    let space = TestSpace::new();
    space.settle();
    let good = look::contents(&space.workspace.out);
    let beta = look::stats(&space.out("beta"));

    spoil(&space);
    let looked = space.look();
    assert_eq!(summary(&looked), "alpha: stale, beta: up to date", "a look sees it");
    let report = space.build();

    assert_eq!(summary(&report), "alpha: built, beta: up to date");
    assert_eq!(damage(&looked, "alpha"), damage(&report, "alpha"));
    assert!(task(&report, "alpha").changes.is_empty(), "no input changed");
    assert_eq!(look::difference(&good, &look::contents(&space.workspace.out)), "");
    assert_eq!(look::difference(&beta, &look::stats(&space.out("beta"))), "", "the other task is left alone");
    wait_a_tick();
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");
    space.neutral(&damage(&report, "alpha"))
}

#[test]
fn an_output_that_was_edited() {
    let said = mended(|space| fs::write(space.out("alpha/task.toml"), "mine").unwrap());
    insta::assert_snapshot!(said, @"`task.toml` was edited");
}

#[test]
fn an_output_that_was_edited_without_a_trace_in_size_and_time() {
    let said = mended(|space| {
        let path = space.out("alpha/tests/test.sh");
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("set -eu", "set -ex")).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    });
    insta::assert_snapshot!(said, @"`tests/test.sh` was edited");
}

#[test]
fn an_output_that_was_cut_short() {
    let said = mended(|space| {
        File::options().write(true).open(space.out("alpha/instruction.md")).unwrap().set_len(5).unwrap();
    });
    insta::assert_snapshot!(said, @"`instruction.md` was edited");
}

#[test]
fn an_output_that_was_deleted() {
    let said = mended(|space| fs::remove_file(space.out("alpha/environment/sidecar/serve.json")).unwrap());
    insta::assert_snapshot!(said, @"`environment/sidecar/serve.json` is missing");
}

#[test]
fn a_folder_that_was_deleted() {
    let said = mended(|space| fs::remove_dir_all(space.out("alpha/tests")).unwrap());
    insta::assert_snapshot!(said, @r#"
    `tests` is missing
    `tests/Dockerfile` is missing
    `tests/docker-compose.yaml` is missing
    `tests/test.sh` is missing
    "#);
}

#[test]
fn a_file_that_was_added() {
    let said = mended(|space| fs::write(space.out("alpha/environment/baseline/lib/note"), "").unwrap());
    insta::assert_snapshot!(said, @"`environment/baseline/lib/note` was added");
}

#[test]
fn an_empty_folder_that_was_added() {
    let said = mended(|space| fs::create_dir(space.out("alpha/environment/new")).unwrap());
    insta::assert_snapshot!(said, @"`environment/new` was added");
}

#[test]
fn a_script_that_cannot_be_run_any_more() {
    let said = mended(|space| chmod(&space.out("alpha/tests/test.sh"), 0o644));
    insta::assert_snapshot!(said, @"`tests/test.sh` had its permissions changed");
}

#[test]
fn a_file_that_only_its_owner_may_read() {
    let said = mended(|space| chmod(&space.out("alpha/task.toml"), 0o600));
    insta::assert_snapshot!(said, @"`task.toml` had its permissions changed");
}

#[test]
fn a_folder_that_only_its_owner_may_enter() {
    let said = mended(|space| chmod(&space.out("alpha/environment"), 0o700));
    insta::assert_snapshot!(said, @"`environment` had its permissions changed");
}

#[test]
fn a_task_that_only_its_owner_may_enter() {
    let said = mended(|space| chmod(&space.out("alpha"), 0o700));
    insta::assert_snapshot!(said, @"the task's folder had its permissions changed");
}

#[test]
fn a_file_that_became_a_link_to_the_same_bytes() {
    let said = mended(|space| {
        let elsewhere = space.path("target/elsewhere");
        fs::rename(space.out("alpha/task.toml"), &elsewhere).unwrap();
        symlink(&elsewhere, space.out("alpha/task.toml")).unwrap();
    });
    insta::assert_snapshot!(said, @"`task.toml` is no file any more");
}

#[test]
fn a_file_that_became_a_folder() {
    let said = mended(|space| {
        fs::remove_file(space.out("alpha/task.toml")).unwrap();
        fs::create_dir(space.out("alpha/task.toml")).unwrap();
    });
    insta::assert_snapshot!(said, @"`task.toml` is no file any more");
}

#[test]
fn a_folder_that_became_a_link_to_the_same_files() {
    let said = mended(|space| {
        let elsewhere = space.path("target/elsewhere");
        fs::rename(space.out("alpha/environment/sidecar"), &elsewhere).unwrap();
        symlink(&elsewhere, space.out("alpha/environment/sidecar")).unwrap();
    });
    insta::assert_snapshot!(said, @"`environment/sidecar` is no folder any more");
}

#[test]
fn a_folder_that_became_a_file() {
    let said = mended(|space| {
        fs::remove_dir_all(space.out("alpha/tests")).unwrap();
        fs::write(space.out("alpha/tests"), "").unwrap();
    });
    insta::assert_snapshot!(said, @r#"
    `tests` is no folder any more
    `tests/Dockerfile` is missing
    `tests/docker-compose.yaml` is missing
    `tests/test.sh` is missing
    "#);
}

#[test]
fn a_task_that_was_deleted() {
    let said = mended(|space| fs::remove_dir_all(space.out("alpha")).unwrap());
    insta::assert_snapshot!(said, @"the task's folder is missing");
}

#[test]
fn a_task_that_became_a_file() {
    let said = mended(|space| {
        fs::remove_dir_all(space.out("alpha")).unwrap();
        fs::write(space.out("alpha"), "").unwrap();
    });
    insta::assert_snapshot!(said, @"the task's folder is no folder any more");
}

#[test]
fn a_task_that_became_a_link_to_nothing() {
    let said = mended(|space| {
        fs::remove_dir_all(space.out("alpha")).unwrap();
        symlink("nowhere", space.out("alpha")).unwrap();
    });
    insta::assert_snapshot!(said, @"the task's folder is no folder any more");
}

#[test]
fn a_task_that_became_a_link_to_the_same_files_elsewhere() {
    let said = mended(|space| {
        let elsewhere = space.path("target/elsewhere");
        fs::rename(space.out("alpha"), &elsewhere).unwrap();
        symlink(&elsewhere, space.out("alpha")).unwrap();
    });
    insta::assert_snapshot!(said, @"the task's folder is no folder any more");
}

#[test]
fn what_a_link_in_the_place_of_a_task_leads_to_is_left_alone() {
    let space = TestSpace::new();
    space.settle();
    space.write("mine/precious", "of mine");
    fs::remove_dir_all(space.out("alpha")).unwrap();
    symlink(space.path("mine"), space.out("alpha")).unwrap();
    assert_eq!(summary(&space.build()), "alpha: built, beta: up to date");
    assert_eq!(space.read("mine/precious"), "of mine");
    assert!(space.out("alpha/task.toml").exists());
}

/// A workspace with the same large file in the baselines, the scorers and the datasets of two tasks.
fn with_large_files() -> TestSpace {
    let space = TestSpace::new();
    for name in ["alpha", "beta"] {
        for (place, letter) in [("baseline", "b"), ("scorer", "s"), ("dataset", "d")] {
            space.write(format!("harbor-tasks/{name}/{place}/large.bin"), letter.repeat(LARGE + 5));
        }
    }
    space.commit("Add large files");
    space.settle();
    space
}

/// The outputs that are links into the store.
const LARGE_OUTPUTS: [&str; 4] = [
    "environment/baseline/large.bin",
    "environment/sidecar/scorer/large.bin",
    "environment/sidecar/dataset/large.bin",
    "environment/bin/taskwright-x86_64",
];

/// Writes into a file without making a new one, as an editor does that knows no better.
fn edit_in_place(path: &Utf8Path) {
    use std::io::{Seek, Write};
    chmod(path, 0o644);
    let mut file = File::options().write(true).open(path).unwrap();
    file.seek(std::io::SeekFrom::Start(100)).unwrap();
    file.write_all(b"EDITED").unwrap();
}

#[test]
fn a_large_output_edited_in_place_is_mended_in_the_store_and_in_the_other_task_too() {
    for output in LARGE_OUTPUTS {
        let space = with_large_files();
        let good = look::contents(&space.workspace.out);
        // Two tasks that add the same content at one moment may each get an inode of their own.
        let inode = |name: &str| fs::metadata(space.out(name).join(output)).unwrap().ino();
        let is_shared = inode("alpha") == inode("beta");
        edit_in_place(&space.out("alpha").join(output));

        let report = space.build();

        assert!(report.is_success(), "{output}: {}", space.failures(&report));
        assert!(damage(&report, "alpha").contains(&format!("`{output}` was edited")), "{output}");
        if is_shared {
            assert_eq!(summary(&report), "alpha: built, beta: built", "{output}");
        }
        assert_eq!(look::difference(&good, &look::contents(&space.workspace.out)), "", "{output}");
        assert_store_is_right(&space);
        wait_a_tick();
        assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date", "{output}");
    }
}

#[test]
fn verifying_finds_an_edit_that_left_no_trace_and_mends_the_store_too() {
    for output in LARGE_OUTPUTS {
        let space = with_large_files();
        let good = look::contents(&space.workspace.out);
        let path = space.out("alpha").join(output);
        let metadata = fs::metadata(&path).unwrap();
        edit_in_place(&path);
        File::options().write(true).open(&path).unwrap().set_modified(metadata.modified().unwrap()).unwrap();
        chmod(&path, metadata.mode() & 0o7777);

        let verify = Options { verify: true, ..Options::default() };
        let report = space.build_with(&verify);

        assert!(report.is_success(), "{output}: {}", space.failures(&report));
        assert_eq!(damage(&report, "alpha"), format!("`{output}` was edited"));
        assert_eq!(look::difference(&good, &look::contents(&space.workspace.out)), "", "{output}");
        assert_store_is_right(&space);
        wait_a_tick();
        let report = space.build_with(&verify);
        assert_eq!(summary(&report), "alpha: up to date, beta: up to date", "{output}");
    }
}

/// Every blob is what its name says.
fn assert_store_is_right(space: &TestSpace) {
    let blobs = space.workspace.store_dir().join("blobs");
    for (path, what) in look::contents(&blobs) {
        if let Some(digest) = what.strip_prefix("file ").and_then(|rest| rest.split_once(' ')) {
            let name = path.replace('/', "");
            assert_eq!(name.trim_end_matches("-x"), digest.1, "a blob is not what its name says");
        }
    }
}

#[test]
fn verifying_what_is_right_changes_nothing() {
    let space = with_large_files();
    let before = look::stats(&space.workspace.out);
    let report = space.build_with(&Options { verify: true, ..Options::default() });
    assert_eq!(summary(&report), "alpha: up to date, beta: up to date");
    assert_eq!(look::difference(&before, &look::stats(&space.workspace.out)), "");
}

#[test]
fn a_state_that_is_gone_costs_time_and_nothing_else() {
    let space = with_large_files();
    assert_state_is_no_loss(&space, &|path| fs::remove_file(path).unwrap());
}

#[test]
fn a_long_instruction_does_not_keep_a_task_from_being_recognized() {
    let space = TestSpace::with(&["alpha"]);
    space.write("harbor-tasks/alpha/instruction.md", "Very long.\n".repeat(LARGE / 8));
    space.settle();
    assert_state_is_no_loss(&space, &|path| fs::remove_file(path).unwrap());
}

/// Spoils the state: the next build has to notice that all outputs are right, and leave them alone.
fn assert_state_is_no_loss(space: &TestSpace, spoil: &dyn Fn(&Utf8Path)) {
    let lock = look::stats(&space.workspace.lock_file());
    let before = look::stats(&space.workspace.out);
    spoil(&space.workspace.state_file());
    let report = space.build();
    assert!(report.tasks.iter().all(|task| matches!(task.status, Status::UpToDate)), "{}", summary(&report));
    assert!(report.errors.is_empty());
    assert_eq!(look::difference(&before, &look::stats(&space.workspace.out)), "");
    assert_eq!(look::difference(&lock, &look::stats(&space.workspace.lock_file())), "");
}

#[test]
fn a_state_that_is_garbage_counts_as_none() {
    let space = TestSpace::new();
    space.settle();
    let older = ["taskwright state 1\n", "taskwright state 1\n\u{1}\0\0\0\0\0\0\0\0"];
    let newer = ["taskwright state 99\n", "taskwright state 99\n\u{1}\0\0\0\0\0\0\0\0"];
    for garbage in ["", "nonsense"].into_iter().chain(older).chain(newer) {
        assert_state_is_no_loss(&space, &|path| fs::write(path, garbage).unwrap());
    }
    let endless = [b"taskwright state 1\n".as_slice(), &[0xff; 64]].concat();
    assert_state_is_no_loss(&space, &|path| fs::write(path, &endless).unwrap());
}

#[test]
fn a_state_that_ends_anywhere_counts_as_none() {
    let space = TestSpace::with(&["alpha"]);
    space.settle();
    let state = fs::read(space.workspace.state_file()).unwrap();
    for end in (0..state.len()).step_by(97) {
        assert_state_is_no_loss(&space, &|path| fs::write(path, &state[..end]).unwrap());
    }
}

#[test]
fn a_state_with_a_wrong_byte_anywhere_never_spoils_an_output() {
    let space = TestSpace::with(&["alpha"]);
    space.settle();
    let good = look::contents(&space.workspace.out);
    let state = fs::read(space.workspace.state_file()).unwrap();
    for place in (0..state.len()).step_by(97) {
        for flip in [0xff, 0x80] {
            let mut bytes = state.clone();
            bytes[place] ^= flip;
            fs::write(space.workspace.state_file(), bytes).unwrap();
            let report = space.build();
            assert!(report.is_success(), "byte {place}: {}", summary(&report));
            let difference = look::difference(&good, &look::contents(&space.workspace.out));
            assert_eq!(difference, "", "byte {place}");
        }
    }
}

#[test]
fn a_store_that_is_gone_is_made_again() {
    let space = with_large_files();
    let good = look::contents(&space.workspace.out);
    fs::remove_dir_all(space.workspace.store_dir()).unwrap();
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");

    // Now something has to be taken from it.
    fs::remove_dir_all(space.workspace.store_dir()).unwrap();
    fs::remove_dir_all(space.out("alpha")).unwrap();
    let report = space.build();
    assert_eq!(summary(&report), "alpha: built, beta: up to date", "{}", space.failures(&report));
    assert_eq!(look::difference(&good, &look::contents(&space.workspace.out)), "");
}

/// The files of the store.
fn stored(space: &TestSpace, folder: &str) -> Vec<Utf8PathBuf> {
    let folder = space.workspace.store_dir().join(folder);
    let files = look::contents(&folder);
    files.iter().filter(|(_, what)| what.starts_with("file")).map(|(path, _)| folder.join(path)).collect()
}

#[test]
fn any_file_of_the_store_may_be_gone() {
    let space = with_large_files();
    let good = look::contents(&space.workspace.out);
    for file in [stored(&space, "blobs"), stored(&space, "steps")].concat() {
        fs::remove_file(&file).unwrap();
        fs::remove_dir_all(space.out("alpha")).unwrap();
        let report = space.build();
        assert!(report.is_success(), "{file}: {}", space.failures(&report));
        assert_eq!(look::difference(&good, &look::contents(&space.workspace.out)), "", "{file}");
    }
}

#[test]
fn any_file_of_the_store_may_be_damaged() {
    let space = with_large_files();
    let good = look::contents(&space.workspace.out);
    for file in [stored(&space, "blobs"), stored(&space, "steps")].concat() {
        for length in [0, 1] {
            if !file.exists() {
                continue;
            }
            chmod(&file, 0o644);
            File::options().write(true).open(&file).unwrap().set_len(length).unwrap();
            fs::remove_dir_all(space.out("alpha")).unwrap();
            let report = space.build();
            assert!(report.is_success(), "{file} cut to {length}: {}", space.failures(&report));
            let difference = look::difference(&good, &look::contents(&space.workspace.out));
            assert_eq!(difference, "", "{file} cut to {length}");
        }
    }
}

#[test]
fn what_a_killed_build_left_is_swept() {
    let space = TestSpace::new();
    space.settle();
    space.write("target/harbor-tasks/.taskwright-staging/alpha.0/task.toml", "half");
    space.write("target/taskwright/store/incoming/7", "half");
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");
    assert!(!space.out(".taskwright-staging").exists());
    assert_eq!(stored(&space, "incoming"), Vec::<Utf8PathBuf>::new());
}

#[test]
fn an_old_output_that_was_moved_aside_is_put_back() {
    // Where two folders cannot be exchanged by one rename, a build can be killed between two.
    let space = TestSpace::new();
    space.settle();
    let before = look::contents(&space.workspace.out);
    fs::create_dir(space.out(".taskwright-staging")).unwrap();
    fs::rename(space.out("alpha"), space.out(".taskwright-staging/alpha.old")).unwrap();
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");
    assert_eq!(look::difference(&before, &look::contents(&space.workspace.out)), "");
}

#[test]
fn a_lock_that_was_spoiled_is_written_again() {
    let space = TestSpace::new();
    space.settle();
    let good = space.read("harbor-tasks/taskwright.lock");
    let conflict = format!("<<<<<<< HEAD\n{good}=======\n{good}>>>>>>> other\n");
    let edited = good.replace("sha256:", "sha256:00");
    for spoiled in [String::new(), conflict, edited, "\0".to_owned()] {
        space.write("harbor-tasks/taskwright.lock", &spoiled);
        assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");
        assert_eq!(space.read("harbor-tasks/taskwright.lock"), good);
        wait_a_tick();
    }
    space.remove("harbor-tasks/taskwright.lock");
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");
    assert_eq!(space.read("harbor-tasks/taskwright.lock"), good);
}

#[test]
fn a_look_writes_nothing_outside_of_the_cache() {
    let space = with_large_files();
    // Something of every kind that a build would do: build, mend, remove, sweep, write the lock.
    space.write("harbor-tasks/alpha/instruction.md", "Other.\n");
    fs::write(space.out("beta/task.toml"), "mine").unwrap();
    space.add_task("gamma");
    space.commit("Add gamma");
    space.remove("harbor-tasks/taskwright.lock");
    space.write("target/harbor-tasks/.taskwright-staging/alpha.0/task.toml", "half");
    assert_look_writes_nothing(&space);

    fs::remove_dir_all(&space.workspace.out).unwrap();
    assert_look_writes_nothing(&space);
}

fn assert_look_writes_nothing(space: &TestSpace) {
    let picture = || {
        let mut picture = look::stats(space.root());
        picture.retain(|path, _| !path.starts_with("target/taskwright"));
        // The cache may appear in it.
        picture.remove("target");
        picture
    };
    let before = picture();
    let report = space.look();
    assert_eq!(summary(&report), "alpha: stale, beta: stale, gamma: stale");
    assert_eq!(look::difference(&before, &picture()), "");
}

#[test]
fn a_look_sees_an_output_that_no_spec_describes_any_more() {
    let space = TestSpace::new();
    space.settle();
    space.remove("harbor-tasks/alpha");
    let report = space.look();
    assert_eq!(summary(&report), "alpha: stale, beta: up to date");
    assert!(!report.is_success());
    assert!(space.out("alpha/task.toml").exists());
}

#[test]
fn a_look_in_a_fresh_clone_says_that_all_is_to_be_built() {
    let space = TestSpace::new();
    let report = space.look();
    assert_eq!(summary(&report), "alpha: stale, beta: stale");
    assert!(!space.workspace.out.exists());
    assert!(!space.workspace.lock_file().exists());
}

#[test]
fn what_no_build_made_is_not_replaced() {
    let space = TestSpace::new();
    for (what, put) in [
        (
            "a folder",
            &(|space: &TestSpace| space.write("target/harbor-tasks/alpha/notes.txt", "mine"))
                as &dyn Fn(&TestSpace),
        ),
        ("a task of somebody's", &|space| {
            space.write("target/harbor-tasks/alpha/task.toml", "schema_version = \"1.4\"\n");
        }),
        ("a file", &|space| space.write("target/harbor-tasks/alpha", "mine")),
        ("a link", &|space| {
            fs::create_dir_all(&space.workspace.out).unwrap();
            symlink(space.path("bin"), space.out("alpha")).unwrap();
        }),
    ] {
        put(&space);
        let before = look::contents(&space.out("alpha"));
        let report = space.build();
        assert_eq!(summary(&report), "alpha: failed, beta: built", "{what}");
        assert_eq!(
            space.failure(&report, "alpha"),
            "`[ROOT]/target/harbor-tasks/alpha` is in the way: no build made what is there\n\
             help: move it away, or build to another place with `--out DIR`",
            "{what}"
        );
        assert_eq!(look::contents(&space.out("alpha")), before, "{what}");
        // Nor does it go with its spec, or with everything that builds made.
        assert_eq!(
            summary(&space.build_with(&Options { force: true, ..Options::default() })),
            "alpha: failed, beta: built"
        );
        clean(&space.workspace, Scope::OutputsAndStore, &Silent, &AtomicBool::new(false)).unwrap();
        assert_eq!(look::contents(&space.out("alpha")), before, "{what}");
        let there = space.out("alpha");
        if there.is_dir() && !there.is_symlink() {
            fs::remove_dir_all(there)
        } else {
            fs::remove_file(there)
        }
        .unwrap();
    }
    fs::create_dir_all(space.out("alpha")).unwrap();
    assert_eq!(summary(&space.build()), "alpha: built, beta: built");
}

#[test]
fn other_specs_that_are_built_to_the_same_place_do_not_remove_these() {
    let mut space = TestSpace::new();
    assert_eq!(summary(&space.build()), "alpha: built, beta: built");
    let ours = std::mem::replace(&mut space.workspace.specs, "others".into());
    fs::create_dir_all(space.path("others")).unwrap();
    assert_eq!(summary(&space.build()), "");
    fs::rename(space.path("harbor-tasks/beta"), space.path("others/beta")).unwrap();
    space.commit("Move a spec");
    assert_eq!(summary(&space.build()), "beta: built");
    assert!(space.out("alpha/task.toml").exists());
    space.workspace.specs = ours;
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: removed");
}

#[test]
fn specs_at_the_root_are_built_into_the_workspace() {
    let mut space = TestSpace::with(&["alpha"]);
    fs::rename(space.path("harbor-tasks/alpha"), space.path("alpha")).unwrap();
    space.commit("Move the spec to the root");
    space.workspace.specs = "".into();
    assert_eq!(summary(&space.build()), "alpha: built");
    assert_eq!(summary(&space.build()), "alpha: up to date");
}

#[test]
fn what_others_put_beside_the_tasks_is_theirs() {
    let space = TestSpace::new();
    space.settle();
    space.write("target/harbor-tasks/mine/file", "mine");
    space.write("target/harbor-tasks/note", "mine");
    space.remove("harbor-tasks/alpha");
    assert_eq!(summary(&space.build()), "alpha: removed, beta: up to date");
    assert_eq!(space.read("target/harbor-tasks/mine/file"), "mine");
    assert_eq!(space.read("target/harbor-tasks/note"), "mine");
}

#[test]
fn overlays_are_protected_by_patterns_that_the_sidecar_reads() {
    let space = TestSpace::with(&["alpha"]);
    let names = [
        "a!b.txt",
        "[",
        "]",
        "{",
        "}",
        "*",
        "?",
        "!",
        "[!a]",
        "{a,b}",
        "back\\slash",
        "a,b",
        "**/deep",
        "-x",
    ];
    for name in names {
        space.write(format!("harbor-tasks/alpha/extra/{name}"), "");
    }
    let overlay = "path = \"baseline\"\noverlays = [{ from = \"extra\", to = \"tests\", read_only = true }]";
    space.edit("harbor-tasks/alpha/spec.toml", "path = \"baseline\"", overlay);
    let report = space.build();
    assert!(report.is_success(), "{}", space.failures(&report));
    let serve = fs::read_to_string(space.out("alpha/environment/sidecar/serve.json")).unwrap();
    let serve: ServeConfig = serde_json::from_str(&serve).unwrap();
    // As the sidecar reads them.
    let patterns: Vec<Pattern> =
        serve.baseline.read_only.iter().map(|pattern| Pattern::new(pattern).unwrap()).collect();
    assert_eq!(patterns.len(), names.len());
    for name in names {
        let path = format!("tests/{name}");
        assert_eq!(patterns.iter().filter(|pattern| pattern.matches(&path)).count(), 1, "{path}");
    }
    for other in ["tests/a", "tests/b", "tests/ab.txt", "tests/x", "tests/backslash", "tests/a/b"] {
        assert!(!patterns.iter().any(|pattern| pattern.matches(other)), "{other}");
    }
}
