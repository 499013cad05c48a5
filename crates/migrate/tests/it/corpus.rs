//! The thirteen public configurations, in the folder that `TASKWRIGHT_CORPUS` names.

use std::collections::BTreeMap;

use camino::Utf8Path;
use taskwright_migrate::{List, find};
use taskwright_testing::{corpus, test};

use crate::support::{Space, failures, stand_in};

/// A workspace with the suites and, for the two whose tasks have to be fetched, stand-ins.
fn space() -> (Space, Vec<String>) {
    let space = Space::of(&corpus().join("suites"));
    let found = find(&space.root().join("suite")).unwrap();
    let files: Vec<String> =
        found.iter().map(|file| file.strip_prefix(space.root()).unwrap().to_string()).collect();
    assert_eq!(files.len(), 13);
    for suite in ["browsecomp-plus", "officeqa"] {
        let folder = format!("suite/harness-engineering-bench/{suite}");
        for partition in ["development", "validation", "test"] {
            let file = space.root().join(format!("{folder}/partitions/{partition}.json"));
            let ids: Vec<String> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
            for id in ids {
                stand_in(&space, &Utf8Path::new(&folder).join("tasks"), &id);
            }
        }
    }
    (space, files)
}

#[test]
fn all_thirteen_migrate_and_build() {
    let (space, files) = space();
    let mut lists: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for file in &files {
        let migration = space.make(file);
        let count = |list| migration.notes.iter().filter(|note| note.list == list).count();
        lists.insert(migration.name.clone(), List::ALL.map(count));
        println!("{file} -> {}", migration.name);
        for note in &migration.notes {
            println!("  {:?} {:?} {}: {}", note.list, note.line, note.key, note.text);
        }
    }
    for (name, [changed, lost, decide]) in &lists {
        println!("{name}: {changed} changed in meaning, {lost} not carried, {decide} to decide");
    }
    let report = space.build();
    assert_eq!(failures(&report), [""; 0]);
    assert_eq!(report.tasks.len(), 13);
}

#[test]
fn no_value_of_the_thirteen_can_change_unseen() {
    let (space, files) = space();
    for file in files {
        let (unseen, count) = crate::lost::unseen(&space.places(&file));
        assert_eq!(unseen, [""; 0], "{file}");
        assert!(count > 30, "{file}");
    }
}
