//! A store in a folder: what is taken from it, and what is not.

use std::fs;

use taskwright_testing::test;

use crate::child::LOCKED;
use crate::support::{Machine, Space, commit, write};

/// What somebody does to an object.
type Harm = fn(Vec<u8>) -> Vec<u8>;

/// The lock and the files of a machine that nobody helps.
fn alone(space: &Space) -> (String, Vec<(String, Vec<u8>)>) {
    let alone = space.machine("alone");
    write(&alone.root.join("taskwright.toml"), "binary = \"bin/taskwright\"\n");
    assert!(alone.build().well().archived());
    (alone.lock_text(), alone.built())
}

fn assert_right(machine: &Machine, right: &(String, Vec<(String, Vec<u8>)>)) {
    assert_eq!(machine.lock_text(), right.0);
    assert!(machine.built() == right.1, "{} built something else", machine.root);
}

#[test]
fn what_one_machine_made_another_takes() {
    let space = Space::new(&["one", "two"]);
    let right = alone(&space);
    let first = space.machine("first").trusted();
    let said = first.build().well();
    assert!(said.archived() && said.warnings().is_empty(), "{said:?}");
    assert_right(&first, &right);
    // For each baseline a large file, a pack of small ones, and what is said of the step.
    assert_eq!(space.stored().len(), 6);

    // Whoever only takes needs no key, and leaves nothing.
    let second = space.machine("second");
    let said = second.build().well();
    assert!(!said.archived() && said.warnings().is_empty(), "{said:?}");
    assert_eq!(said.built(), ["one", "two"]);
    assert_right(&second, &right);
    write(&second.root.join("harbor-tasks/one/baseline/name.txt"), "changed\n");
    commit(&second.root);
    assert!(second.build().well().archived());
    assert_eq!(space.stored().len(), 6);
}

#[test]
fn nothing_is_believed_for_lying_there() {
    let space = Space::new(&["one"]);
    let right = alone(&space);
    space.machine("first").trusted().build().well();
    let harm: [(&str, Harm); 4] = [
        ("altered", |mut bytes| {
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            bytes
        }),
        ("cut", |mut bytes| {
            bytes.truncate(bytes.len() / 2);
            bytes
        }),
        ("empty", |_| Vec::new()),
        ("longer", |bytes| [bytes, b"more".to_vec()].concat()),
    ];
    for (at, file) in space.stored().into_iter().enumerate() {
        let sound = fs::read(&file).unwrap();
        for (name, harm) in harm {
            fs::write(&file, harm(sound.clone())).unwrap();
            let machine = space.machine(&format!("{name}-{at}")).trusted();
            let said = machine.build().well();
            assert!(said.archived(), "{name} {file}: {said:?}");
            assert_eq!(said.warnings().len(), 1, "{name} {file}: {said:?}");
            assert_right(&machine, &right);
            // It was mended on the way, for the next one.
            assert!(fs::read(&file).unwrap() == sound, "{name} {file} stays as it was");
        }
        fs::remove_file(&file).unwrap();
        let machine = space.machine(&format!("gone-{at}")).trusted();
        let said = machine.build().well();
        assert!(said.archived() && said.warnings().is_empty(), "{file}: {said:?}");
        assert!(file.exists());
    }
}

#[test]
fn the_word_of_a_stranger_does_not_count() {
    let space = Space::new(&["one"]);
    let right = alone(&space);
    // What it says is right, and who says it nobody knows.
    assert!(space.stranger().build().well().archived());
    let machine = space.machine("first");
    let said = machine.build().well();
    assert!(said.archived(), "{said:?}");
    assert!(said.warnings()[0].contains("not believed"), "{said:?}");
    assert_right(&machine, &right);
}

#[test]
fn what_is_said_of_one_step_is_not_taken_for_another() {
    let space = Space::new(&["one", "two"]);
    let right = alone(&space);
    space.machine("first").trusted().build().well();
    let said: Vec<_> = space.stored().into_iter().filter(|file| file.as_str().contains("/steps/")).collect();
    let [one, two] = [fs::read(&said[0]).unwrap(), fs::read(&said[1]).unwrap()];
    fs::write(&said[0], two).unwrap();
    fs::write(&said[1], one).unwrap();
    let machine = space.machine("second");
    assert!(machine.build().well().archived());
    assert_right(&machine, &right);
}

#[test]
fn a_store_that_is_not_there_is_said_once() {
    let space = Space::at("../nowhere", &["one", "two"]);
    let right = alone(&space);
    let machine = space.machine("first").trusted();
    let said = machine.build().well();
    assert!(
        matches!(said.warnings()[..], [one] if one.contains("`../nowhere`") && one.contains("not used")),
        "{said:?}"
    );
    assert_right(&machine, &right);
    assert!(!space.path("nowhere").exists());
    // Where there is nothing to make, there is nothing to say.
    let again = machine.build().well();
    assert_eq!(again.warnings(), [""; 0], "{again:?}");
}

#[test]
fn two_machines_leave_the_same_at_once() {
    let space = Space::new(&["one", "two"]);
    let machines = ["a", "b", "c"].map(|name| space.machine(name).trusted());
    let running: Vec<_> = machines.iter().map(|machine| machine.command().spawn().unwrap()).collect();
    for child in running {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(space.stored().len(), 6, "{:?}", space.stored());
    let last = space.machine("last");
    let said = last.build().well();
    assert!(!said.archived() && said.warnings().is_empty(), "{said:?}");
    assert_eq!(last.lock_text(), machines[0].lock_text());
}

#[test]
fn what_the_lock_refuses_is_not_passed_on() {
    let space = Space::new(&["one"]);
    let first = space.machine("first").trusted();
    first.build().well();
    let before = space.stored();
    write(&first.root.join("harbor-tasks/one/baseline/name.txt"), "changed\n");
    commit(&first.root);
    let locked = first.with(LOCKED, "1");
    assert!(!locked.build().is_success);
    assert_eq!(space.stored(), before);
}
