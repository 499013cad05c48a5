//! The JSON Schema of the spec language, generated from the types in [`crate::model`] and nothing else; and the same for
//! other languages that are types.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::model::Spec;

/// Marks a string that is a path relative to the file that says it.
pub const PATH_MARK: &str = "x-taskwright-path";
/// Marks a field, or one form of a value, that means something in one mode only: `a` or `b`.
pub const MODE_MARK: &str = "x-taskwright-mode";

/// The schema of a spec file, for the reference page and for whoever reads specs by another program.
pub fn json_schema() -> Value {
    schema_of::<Spec>()
}

/// The schema of the TOML form of a type, in which nothing is null.
pub fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    forget_null(&mut schema);
    forget_unused(&mut schema);
    schema
}

/// Drops the definitions that nothing refers to: tables of Harbor's that a spec may only say a part of.
fn forget_unused(schema: &mut Value) {
    let Some(Value::Object(mut definitions)) = schema.as_object_mut().and_then(|root| root.remove("$defs"))
    else {
        return;
    };
    let mut used = BTreeSet::new();
    let mut new = references(schema);
    while let Some(name) = new.pop() {
        if used.insert(name.clone())
            && let Some(definition) = definitions.get(&name)
        {
            new.extend(references(definition));
        }
    }
    definitions.retain(|name, _| used.contains(name));
    schema["$defs"] = Value::Object(definitions);
}

fn references(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(object) => {
            let own =
                object.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
            own.map(str::to_owned).into_iter().chain(object.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// The schema that an editor holds against a file as it is written, before parameters are put in and parents read.
pub fn editor_schema<T: JsonSchema>() -> Value {
    let mut schema = schema_of::<T>();
    let in_lists = list_items(&schema);
    if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        for (name, definition) in definitions.iter_mut() {
            // What is missing here may stand in a parent; lists are not merged, so their items must be whole.
            if let Some(table) = definition.as_object_mut()
                && !in_lists.contains(name)
            {
                table.remove("required");
            }
        }
    }
    allow_references(&mut schema);
    if let Some(root) = schema.as_object_mut() {
        if let Some(required) = root.remove("required") {
            root.insert("if".to_owned(), json!({ "not": { "required": ["extends"] } }));
            root.insert("then".to_owned(), json!({ "required": required }));
        }
        if let Some(definitions) = root.get_mut("$defs").and_then(Value::as_object_mut) {
            let reference = json!({
                "type": "string",
                "pattern": r"^\$\{[A-Za-z0-9_-]+\}$",
                "description": "A parameter, whose own type must fit here.",
            });
            definitions.insert(REFERENCE.to_owned(), reference);
        }
    }
    schema
}

/// The definition of a string that is nothing but a reference to a parameter.
const REFERENCE: &str = "ParameterReference";

/// The definitions that items of lists refer to.
fn list_items(schema: &Value) -> BTreeSet<String> {
    match schema {
        Value::Object(object) => {
            let own = object.get("items").map(references).unwrap_or_default();
            own.into_iter().chain(object.values().flat_map(list_items)).collect()
        }
        Value::Array(items) => items.iter().flat_map(list_items).collect(),
        _ => BTreeSet::new(),
    }
}

/// Lets a reference to a parameter stand wherever a number, a truth value or one of several words is wanted.
fn allow_references(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(allow_references),
        Value::Object(object) => {
            for (key, inner) in object.iter_mut() {
                if !["default", "enum", "const", "required"].contains(&key.as_str()) {
                    allow_references(inner);
                }
            }
            if !wants_more_than_text(object) {
                return;
            }
            let mut form = std::mem::take(object);
            for word in ["description", "default"] {
                object.extend(form.remove_entry(word));
            }
            let reference = json!({ "$ref": format!("#/$defs/{REFERENCE}") });
            object.insert("anyOf".to_owned(), json!([form, reference]));
        }
        _ => {}
    }
}

fn wants_more_than_text(schema: &Map<String, Value>) -> bool {
    let is_word = |form: &Value| form.get("const").is_some() || form.get("enum").is_some();
    let kind = schema.get("type").and_then(Value::as_str);
    matches!(kind, Some("integer" | "number" | "boolean"))
        || schema.get("enum").is_some()
        || schema.get("oneOf").and_then(Value::as_array).is_some_and(|forms| forms.iter().all(is_word))
}

/// The editors' schema of spec files, as text that can be written to a file.
pub fn json_schema_text() -> String {
    editor_schema_text::<Spec>()
}

/// The editors' schema of a type, as text that can be written to a file.
pub fn editor_schema_text<T: JsonSchema>() -> String {
    let mut text = format!("{:#}", editor_schema::<T>());
    text.push('\n');
    text
}

/// TOML has no null: a field that may be left out is no field that may be null.
fn forget_null(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            for word in ["anyOf", "oneOf"] {
                let Some(Value::Array(forms)) = object.get_mut(word) else { continue };
                forms.retain(|form| form.get("type").is_none_or(|name| name != "null"));
                if let [only] = forms.as_slice() {
                    let only = only.clone();
                    // A lone form with words of its own stays apart, so that the field's words are not lost.
                    if let Value::Object(only) = only
                        && only.keys().all(|key| !object.contains_key(key))
                    {
                        object.remove(word);
                        object.extend(only);
                    }
                }
            }
            for (key, inner) in object.iter_mut() {
                if key == "default" {
                    drop_nulls(inner);
                } else {
                    forget_null(inner);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(forget_null),
        _ => {}
    }
}

fn drop_nulls(value: &mut Value) {
    if let Value::Object(object) = value {
        object.retain(|_, inner| !inner.is_null());
        object.values_mut().for_each(drop_nulls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_takes_a_reference_where_a_word_or_a_number_is_wanted() {
        let schema = editor_schema::<Spec>();
        for form in [&schema["$defs"]["InnerDocker"], &schema["$defs"]["Limits"]["properties"]["concurrency"]]
        {
            assert_eq!(form["anyOf"][1]["$ref"], "#/$defs/ParameterReference", "{form}");
            assert!(form["description"].is_string(), "{form}");
        }
        assert!(schema["properties"]["name"].get("anyOf").is_none());
    }

    #[test]
    fn an_editor_asks_for_everything_only_where_nothing_is_inherited() {
        let schema = editor_schema::<Spec>();
        assert!(schema.get("required").is_none());
        assert!(schema["then"]["required"].as_array().unwrap().contains(&"mode".into()));
        assert!(schema["$defs"]["Baseline"].get("required").is_none());
        assert!(schema["$defs"]["Target"]["required"].is_array());
    }
}
