//! The JSON Schema of the spec language, generated from the types in [`crate::model`] and nothing else.

use std::collections::BTreeSet;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::model::Spec;

/// Marks a string that is a path relative to the file that says it.
pub const PATH_MARK: &str = "x-taskwright-path";
/// Marks a field, or one form of a value, that means something in one mode only: `a` or `b`.
pub const MODE_MARK: &str = "x-taskwright-mode";

/// The schema of a spec file, for editors and for the reference page.
pub fn json_schema() -> Value {
    let mut schema =
        SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Spec>().to_value();
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

/// The schema as text that can be written to a file.
pub fn json_schema_text() -> String {
    let mut text = format!("{:#}", json_schema());
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
