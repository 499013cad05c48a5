//! Laws that hold for every input.

use std::collections::BTreeSet;

use crate::support::{A, B, Space, edited, load_text, said};
use proptest::prelude::*;

/// Pieces that specs are made of, so that chance finds more than syntax errors.
fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,12}",
        "[a-z_]{1,8} = [0-9]{1,3}\n",
        "[a-z_.]{1,9} = \"[^\"\\\\]{0,9}\"\n",
        Just("[baseline]\n".to_owned()),
        Just("[[targets]]\n".to_owned()),
        Just("[splits.train]\n".to_owned()),
        Just("samples = { file = \"x\" }\n".to_owned()),
        Just("samples = [1, \"${x}\", {}]\n".to_owned()),
        Just("extends = \"spec.toml\"\n".to_owned()),
        Just("[params]\nx = 1\n".to_owned()),
        Just("[matrix]\ny = [1, 2]\n".to_owned()),
        Just("\r\n\t\u{feff}é".to_owned()),
        Just("[{{\"'''".to_owned()),
    ]
}

/// A line of a good spec, at random.
fn damaged(base: &'static str) -> impl Strategy<Value = String> {
    let lines = base.lines().count();
    (0..lines, prop::collection::vec(fragment(), 0..3), any::<bool>()).prop_map(move |(at, pieces, keep)| {
        let mut text = String::new();
        for (number, line) in base.lines().enumerate() {
            if number == at {
                text.extend(pieces.iter().map(String::as_str));
            }
            if number != at || keep {
                text.push_str(line);
                text.push('\n');
            }
        }
        text
    })
}

/// Top-level statements and tables in any order: the statements first, as TOML asks.
fn shuffled(base: &str) -> impl Strategy<Value = String> + use<> {
    let (statements, tables) = base.split_at(base.find("\n[").expect("a table"));
    let statements: Vec<String> =
        statements.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let tables: Vec<String> = tables.split("\n\n").map(|table| table.trim().to_owned()).collect();
    (Just(statements).prop_shuffle(), Just(tables).prop_shuffle())
        .prop_map(|(statements, tables)| format!("{}\n{}\n", statements.join("\n"), tables.join("\n")))
}

/// The whole outcome as text.
fn outcome(text: &str) -> String {
    match load_text(text) {
        Ok(loaded) => {
            loaded.tasks.iter().map(|task| format!("{:?}", task.spec)).collect::<Vec<_>>().join("\n")
        }
        Err(found) => said(Err(found)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(text in "(?s).{0,200}") {
        if let Err(found) = load_text(&text) {
            prop_assert!(found.has_errors());
            found.render(true);
        }
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Err(found) = load_text(&bytes) {
            found.render(false);
            prop_assert!(serde_json::to_string(&found).is_ok());
        }
    }

    #[test]
    fn pieces_of_specs_are_answered(pieces in prop::collection::vec(fragment(), 0..12)) {
        if let Err(found) = load_text(pieces.concat()) {
            found.render(false);
        }
    }

    #[test]
    fn damaged_specs_are_answered(text in prop_oneof![damaged(A), damaged(B)]) {
        if let Err(found) = load_text(&text) {
            prop_assert!(found.has_errors());
            found.render(false);
        }
    }

    #[test]
    fn the_order_of_keys_never_matters(text in shuffled(A), other in shuffled(B)) {
        prop_assert_eq!(outcome(&text), outcome(A));
        prop_assert_eq!(outcome(&other), outcome(B));
    }

    #[test]
    fn text_without_references_stays_as_it_is(text in "[^\\pC{\"\\\\]{1,40}") {
        let quoted = toml::Value::String(format!("x{text}")).to_string();
        let spec = edited(A, &[("\"Sort numbers faster.\"", &quoted), ("", "[params]\na = 1\n")]);
        prop_assert_eq!(&load_text(&spec).expect("a good spec").tasks[0].spec.description, &format!("x{text}"));
    }

    #[test]
    fn a_matrix_makes_every_combination_once(sizes in prop::collection::vec(1_usize..4, 1..4)) {
        let (mut axes, mut name) = (vec!["[matrix]".to_owned()], vec!["s".to_owned()]);
        for (axis, size) in sizes.iter().enumerate() {
            let values: Vec<String> = (0..*size).map(|value| value.to_string()).collect();
            axes.push(format!("axis{axis} = [{}]", values.join(", ")));
            name.push(format!("${{axis{axis}}}"));
        }
        let loaded = load_text(edited(A, &[("sort-fast", &name.join("-")), ("", &axes.join("\n"))])).expect("a good spec");
        let names: BTreeSet<&str> = loaded.tasks.iter().map(|task| task.spec.name.as_str()).collect();
        prop_assert_eq!(loaded.tasks.len(), sizes.iter().product::<usize>());
        prop_assert_eq!(names.len(), loaded.tasks.len());
    }

    #[test]
    fn a_child_that_says_nothing_is_its_parent(name in "[a-z]{1,20}", batch in 1_u64..100) {
        let space = Space::new();
        let parent = edited(A, &[("sort-fast", &name), ("run =", &format!("batch = {batch}\nrun ="))]);
        space.write("base.toml", &parent).write("spec.toml", "extends = \"base.toml\"\n");
        let mut child = space.load("spec.toml").expect("a good spec").tasks.remove(0).spec;
        child.extends = None;
        prop_assert_eq!(&child, &space.load("base.toml").expect("a good spec").tasks[0].spec);
    }
}
