//! The schema, the reference page and the checks speak of the same language.

use crate::support::{A, B, load_text};
use serde_json::Value;
use taskwright_language::model::Spec;
use taskwright_language::{check, reference, schema};

#[test]
fn the_schema_is_stable_and_closed() {
    let text = schema::json_schema_text();
    assert_eq!(text, schema::json_schema_text());
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(schema["additionalProperties"], false);
    assert!(!text.contains("\"null\""), "TOML has no null");
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        if definition.get("properties").is_some() {
            assert_eq!(definition["additionalProperties"], false, "{name} takes unknown keys");
        }
    }
}

#[test]
fn every_field_says_what_it_means() {
    fn walk(schema: &Value, path: &str, silent: &mut Vec<String>) {
        for (key, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = format!("{path}.{key}");
            if field.get("description").and_then(Value::as_str).is_none_or(str::is_empty) {
                silent.push(path.clone());
            }
            walk(field, &path, silent);
        }
    }
    let schema = schema::json_schema();
    let mut silent = Vec::new();
    walk(&schema, "", &mut silent);
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        walk(definition, name, &mut silent);
    }
    assert!(silent.is_empty(), "{silent:?}");
}

#[test]
fn the_reference_page_has_every_field_and_no_dead_link() {
    let page = reference::reference_page();
    assert_eq!(page, reference::reference_page());
    let schema = schema::json_schema();
    let keys = schema["$defs"].as_object().expect("definitions").values().chain([&schema]);
    for key in keys
        .filter_map(|table| table.get("properties").and_then(Value::as_object))
        .flat_map(|table| table.keys())
    {
        assert!(page.contains(&format!("| `{key}` |")), "{key} is missing");
    }
    let anchors: Vec<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(|title| title.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c)).collect::<String>())
        .map(|title| title.to_lowercase().replace(' ', "-"))
        .collect();
    for link in page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(anchors.iter().any(|anchor| anchor == link), "#{link} leads nowhere");
    }
}

#[test]
fn what_is_loaded_can_be_written_and_read_again() {
    for text in [A, B] {
        let spec = load_text(text).expect("a good spec").tasks.remove(0).spec;
        let written = toml::to_string(&spec).expect("TOML");
        let again: Spec = toml::from_str(&written).expect("the same spec");
        assert_eq!(spec, again);
        let json = serde_json::to_string(&spec).expect("JSON");
        assert_eq!(spec, serde_json::from_str::<Spec>(&json).expect("the same spec"));
    }
}

#[test]
fn defaults_written_out_are_the_same_spec() {
    for text in [A, B] {
        let spec = load_text(text).expect("a good spec").tasks.remove(0).spec;
        assert_eq!(spec, toml::from_str::<Spec>(text).expect("the types alone read it too"));
    }
}

#[test]
fn the_split_that_ranks() {
    let split =
        |text: &str| load_text(text).map(|loaded| loaded.tasks[0].spec.selection_split().map(str::to_owned));
    assert_eq!(split(A).expect("a good spec").as_deref(), Some("validation"));
    assert_eq!(split(B).expect("a good spec").as_deref(), Some("train"));
    let named = format!("{A}[selection]\nsplit = \"train\"\n");
    assert_eq!(split(&named).expect("a good spec").as_deref(), Some("train"));
}

#[test]
fn the_arithmetic_can_be_repeated_with_other_numbers() {
    let spec = load_text(A).expect("a good spec").tasks.remove(0).spec;
    let counts = |targets| check::Counts { targets, selection: 10, own_seconds: Some(7) };
    let work = check::finalize_work(&spec, &counts(&[100])).expect("a number of seconds");
    assert_eq!(work.seconds(1), 50 * 60 + 15 * 60);
    assert!(check::finalize_problem(&spec, &counts(&[100])).is_none());
    let problem = check::finalize_problem(&spec, &counts(&[1000])).expect("too long");
    assert!(problem.certain && problem.message.contains("ceil(1000 samples x 1 / 2) x 60 s"), "{problem:?}");
    assert!(check::evaluation_problem(&spec, "train", 1000).is_some_and(|problem| !problem.certain));
}
