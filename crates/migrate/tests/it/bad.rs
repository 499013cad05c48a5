//! A configuration with a mistake is refused with its line, and nothing is made of it.

use std::sync::atomic::AtomicBool;

use taskwright_builder::scaffold::make_folder;
use taskwright_migrate::find;
use taskwright_testing::test;

use crate::support::Space;

#[test]
fn mistakes_are_shown_where_they_stand() {
    let mut said = String::new();
    for (old, new) in [
        ("agent_repo: target  #", "agent_repo: [target] #"),
        ("agent_repo: target  #", "agent_repo: elsewhere #"),
        ("agent_repo: target  #", "agent_repo: ${where:-target} #"),
        ("  test: partitions/test.json", "  test: partitions/gone.json"),
        ("  test: partitions/test.json", "  test: ../packing/judge/judge.py"),
        ("partitions/manifest.json", "partitions/test.json"),
        ("partition: validation", "partition: holdout"),
        ("max_retries: 4", "max_retries: often"),
        ("max_retries: 4", "max_retries: -1"),
        ("reward_mode: submit", "reward_mode: best"),
        ("max_retries: 4", "max_retries: 4\nmax_retries: 5"),
        ("name: own/optimize-questions", "title: x"),
        ("partition_files:", "partitions: {}\npartition_files:"),
        ("harness_user: runner", "harness_user: 7"),
        ("reward_mode: submit", "evaluation_backend: magic"),
        ("secrets:\n", "secrets: [\n"),
    ] {
        let space = Space::new();
        space.edit("suite/questions/build.yaml", old, new);
        let error = space.migrate("suite/questions/build.yaml").unwrap_err();
        said += &format!("{error}\n  hint: {}\n", error.hint_text().unwrap_or("none"));
    }
    insta::assert_snapshot!(said);
}

#[test]
fn a_manifest_that_disagrees_is_refused() {
    for (old, new, said) in [
        ("\"q-5\", ", "", "`q-5` is in a partition, and `partitions/manifest.json` does not list it"),
        ("own/questions@", "other/questions@", "is of `other/questions@sha256:"),
    ] {
        let space = Space::new();
        space.edit("suite/questions/partitions/manifest.json", old, new);
        let error = space.migrate("suite/questions/build.yaml").unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn what_lies_outside_of_the_workspace_is_said() {
    let space = Space::new();
    let mut places = space.places("suite/questions/build.yaml");
    places.root = space.root().join("suite/packing");
    places.specs = places.root.join("harbor-tasks");
    let migration = taskwright_migrate::migrate(places).unwrap();
    let outside: Vec<_> =
        migration.notes.iter().filter(|note| note.text.contains("lies outside of the workspace")).collect();
    let keys: Vec<_> = outside.iter().map(|note| note.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "agent_repo",
            "workspace_overlays[0].source",
            "partition_files.development",
            "partition_files.validation",
            "partition_files.test",
        ]
    );
}

#[test]
fn a_folder_that_is_there_is_left_as_it_is() {
    let space = Space::new();
    space.write("harbor-tasks/optimize-questions/mine.txt", "mine\n");
    let migration = space.migrate("suite/questions/build.yaml").unwrap();
    let specs = space.root().join("harbor-tasks");
    let stop = AtomicBool::new(false);
    let error =
        make_folder(&specs, "harbor-tasks".into(), &migration.name, &migration.files, &stop).unwrap_err();
    assert_eq!(error.to_string(), "`harbor-tasks/optimize-questions` exists already");
    let names: Vec<_> =
        specs.read_dir_utf8().unwrap().map(|entry| entry.unwrap().file_name().to_owned()).collect();
    assert_eq!(names, ["optimize-questions"]);
}

#[test]
fn a_folder_stands_for_the_configurations_in_it() {
    let space = Space::new();
    space.write("suite/.hidden/build.yaml", "name: x\n");
    let suite = space.root().join("suite");
    let found = find(&suite).unwrap();
    let found: Vec<_> = found.iter().map(|file| file.strip_prefix(&suite).unwrap().as_str()).collect();
    assert_eq!(found, ["packing/build.yaml", "questions/build.shell.yaml", "questions/build.yaml"]);
    assert!(find(&suite.join("packing/judge")).unwrap_err().is_usage());
    assert!(find(&suite.join("gone")).unwrap_err().is_usage());
}
