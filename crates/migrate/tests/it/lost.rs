//! No value of a configuration is lost: whichever is changed, the spec, a file beside it, a note or an error changes.

use taskwright_migrate::yaml::{Map, Node, Value, read};
use taskwright_migrate::{Migration, Places, spec_of};
use taskwright_testing::test;

use crate::support::Space;

/// The same mapping with the leaf of that number changed, and what it was called; nothing if there are fewer.
fn changed(map: &Map, number: usize) -> Option<(Map, String)> {
    let mut map = map.clone();
    let mut left = number;
    let name = in_map(&mut map, &mut left)?;
    Some((map, name))
}

fn in_map(map: &mut Map, left: &mut usize) -> Option<String> {
    map.0.iter_mut().find_map(|entry| in_node(&mut entry.node, &entry.path.clone(), left))
}

fn in_node(node: &mut Node, path: &str, left: &mut usize) -> Option<String> {
    let other = match &mut node.value {
        Value::Map(map) => return in_map(map, left),
        Value::List(items) => {
            return items
                .iter_mut()
                .enumerate()
                .find_map(|(index, item)| in_node(item, &format!("{path}[{index}]"), left));
        }
        Value::Null => Value::Integer(7),
        Value::Bool(flag) => Value::Bool(!*flag),
        Value::Integer(number) => Value::Integer(*number + 1),
        Value::Float(number) => Value::Float(*number + 0.25),
        // Before the last letter, so that what is cut or trimmed at the ends shows it too.
        Value::Text(text) => {
            let at = text.char_indices().next_back().map_or(0, |(at, _)| at);
            Value::Text(format!("{}x{}", &text[..at], &text[at..]))
        }
    };
    if *left > 0 {
        *left -= 1;
        return None;
    }
    node.value = other;
    Some(path.to_owned())
}

fn shown(migration: &Migration) -> (Vec<(String, String)>, String) {
    let files = migration.files.iter().map(|file| (file.path.clone(), file.text.clone())).collect();
    (files, format!("{:?}", migration.notes))
}

/// The leaves that can change without anything else changing, and how many leaves there are.
pub fn unseen(places: &Places) -> (Vec<String>, usize) {
    let map = read(&std::fs::read_to_string(&places.file).unwrap()).unwrap();
    let before = shown(&spec_of(places.clone(), &map).unwrap());
    let mut unseen = Vec::new();
    let mut count = 0;
    while let Some((map, name)) = changed(&map, count) {
        count += 1;
        if spec_of(places.clone(), &map).is_ok_and(|after| shown(&after) == before) {
            unseen.push(name);
        }
    }
    (unseen, count)
}

#[test]
fn no_value_can_change_unseen() {
    let space = Space::new();
    for (file, least) in [
        ("suite/questions/build.yaml", 120),
        ("suite/questions/build.shell.yaml", 20),
        ("suite/packing/build.yaml", 40),
    ] {
        let (unseen, count) = unseen(&space.places(file));
        assert_eq!(unseen, [""; 0], "{file}");
        assert!(count >= least, "{file} has {count} values");
    }
}

#[test]
fn a_key_that_nobody_knows_is_said() {
    for (old, new, key) in [
        ("selection_partition", "surprise: [1, {deep: x}]\nselection_partition", "surprise[1].deep"),
        ("wandb:\n", "wandb:\n  colour: red\n", "wandb.colour"),
        ("  - partition: test\n", "  - partition: test\n    weight: 2\n", "targets[0].weight"),
    ] {
        let space = Space::new();
        space.edit("suite/questions/build.yaml", old, new);
        let migration = space.migrate("suite/questions/build.yaml").unwrap();
        assert!(migration.notes.iter().any(|note| note.key == key && note.line.is_some()), "{key}");
    }
}
