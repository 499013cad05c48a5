//! Turns a JSON Schema into [`Shapes`]; what it does not understand it allows.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::{FieldShape, Shape, ShapeId, Shapes, TableShape};
use crate::schema::{MODE_MARK, PATH_MARK};

/// How deep `homes` looks: no key of a spec lies deeper, and a schema may refer to itself.
const HOME_DEPTH: usize = 6;

pub fn digest(schema: &Json, noun: &'static str) -> Shapes {
    let empty = Map::new();
    let mut digester = Digester {
        definitions: schema.get("$defs").and_then(Json::as_object).unwrap_or(&empty),
        named: BTreeMap::new(),
        all: vec![Shape::Any],
    };
    let root = digester.shape(schema);
    let mut shapes = Shapes { noun, foreign: false, all: digester.all, root, homes: BTreeMap::new() };
    let mut homes = BTreeMap::new();
    find_homes(&shapes, root, &mut Vec::new(), &mut homes);
    for places in homes.values_mut() {
        places.sort_by_key(|place: &String| (place.matches('.').count(), place.clone()));
        places.dedup();
    }
    shapes.homes = homes;
    shapes
}

struct Digester<'a> {
    definitions: &'a Map<String, Json>,
    named: BTreeMap<&'a str, ShapeId>,
    all: Vec<Shape>,
}

impl<'a> Digester<'a> {
    fn add(&mut self, shape: Shape) -> ShapeId {
        self.all.push(shape);
        self.all.len() - 1
    }

    fn shape(&mut self, schema: &'a Json) -> ShapeId {
        let Some(object) = schema.as_object() else { return 0 };
        if let Some(name) =
            object.get("$ref").and_then(Json::as_str).and_then(|name| name.strip_prefix("#/$defs/"))
        {
            return self.definition(name);
        }
        for word in ["oneOf", "anyOf"] {
            if let Some(forms) = object.get(word).and_then(Json::as_array) {
                return self.choice(forms);
            }
        }
        if let Some(words) = words_of(object) {
            return self.add(Shape::Text { words, filled: false, path: false });
        }
        match object.get("type") {
            Some(Json::String(name)) => self.typed(name, object),
            Some(Json::Array(names)) => {
                let mut forms = Vec::new();
                for name in names.iter().filter_map(Json::as_str).filter(|name| *name != "null") {
                    forms.push(self.typed(name, object));
                }
                self.one_or_choice(forms)
            }
            _ => 0,
        }
    }

    fn definition(&mut self, name: &str) -> ShapeId {
        if let Some(id) = self.named.get(name) {
            return *id;
        }
        let Some((name, schema)) = self.definitions.get_key_value(name) else { return 0 };
        // The place is taken before the shape is known, so that a schema may refer to itself.
        let id = self.add(Shape::Any);
        self.named.insert(name, id);
        let made = self.shape(schema);
        self.all[id] = self.all[made].clone();
        id
    }

    fn choice(&mut self, forms: &'a [Json]) -> ShapeId {
        let mut words = Vec::new();
        let mut made = Vec::new();
        for form in forms {
            if form.get("type").is_some_and(|name| name == "null") {
                continue;
            }
            let id = self.shape(form);
            match &self.all[id] {
                Shape::Text { words: some, .. } if !some.is_empty() => words.extend(some.iter().cloned()),
                Shape::Choice(inner) => made.extend(inner.iter().copied()),
                _ => made.push(id),
            }
        }
        if !words.is_empty() {
            let id = self.add(Shape::Text { words, filled: false, path: false });
            made.insert(0, id);
        }
        self.one_or_choice(made)
    }

    fn one_or_choice(&mut self, forms: Vec<ShapeId>) -> ShapeId {
        match forms.as_slice() {
            [] => 0,
            [only] => *only,
            _ => self.add(Shape::Choice(forms)),
        }
    }

    fn typed(&mut self, name: &str, object: &'a Map<String, Json>) -> ShapeId {
        let shape = match name {
            "boolean" => Shape::Boolean,
            "string" => Shape::Text {
                words: Vec::new(),
                filled: object.get("minLength").and_then(Json::as_u64).is_some_and(|least| least > 0),
                path: object.get(PATH_MARK).and_then(Json::as_bool).unwrap_or(false),
            },
            "integer" => Shape::Integer {
                min: object.get("minimum").and_then(Json::as_i64).unwrap_or(i64::MIN),
                max: object.get("maximum").and_then(Json::as_i64).unwrap_or(i64::MAX),
            },
            "number" => Shape::Float {
                min: object.get("minimum").and_then(Json::as_f64).unwrap_or(f64::NEG_INFINITY),
                max: object.get("maximum").and_then(Json::as_f64).unwrap_or(f64::INFINITY),
            },
            "array" => Shape::Array { item: object.get("items").map_or(0, |items| self.shape(items)) },
            "object" => Shape::Table(self.table(object)),
            _ => Shape::Any,
        };
        self.add(shape)
    }

    fn table(&mut self, object: &'a Map<String, Json>) -> TableShape {
        let required: Vec<&str> = object
            .get("required")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        let mut table = TableShape {
            mode: mode_of(object),
            others: match object.get("additionalProperties") {
                Some(Json::Bool(false)) => None,
                Some(other) => Some(self.shape(other)),
                None => Some(0),
            },
            fields: BTreeMap::new(),
        };
        for (key, schema) in object.get("properties").and_then(Json::as_object).into_iter().flatten() {
            let shape = self.shape(schema);
            let words = schema.get("description").and_then(Json::as_str).unwrap_or_default();
            table.fields.insert(
                key.clone(),
                FieldShape {
                    shape,
                    required: required.contains(&key.as_str()),
                    mode: schema.as_object().and_then(mode_of),
                    meaning: first_sentence(words),
                },
            );
        }
        table
    }
}

fn words_of(object: &Map<String, Json>) -> Option<Vec<String>> {
    if let Some(word) = object.get("const") {
        return word.as_str().map(|word| vec![word.to_owned()]);
    }
    let words = object.get("enum")?.as_array()?;
    Some(words.iter().filter_map(Json::as_str).map(str::to_owned).collect())
}

fn mode_of(object: &Map<String, Json>) -> Option<&'static str> {
    match object.get(MODE_MARK)?.as_str()? {
        "a" => Some("a"),
        "b" => Some("b"),
        _ => None,
    }
}

fn first_sentence(words: &str) -> String {
    let line = words.replace('\n', " ");
    let end = line.find(". ").map_or(line.len(), |stop| stop + 1);
    line[..end].trim().to_owned()
}

fn find_homes(
    shapes: &Shapes,
    id: ShapeId,
    path: &mut Vec<String>,
    homes: &mut BTreeMap<String, Vec<String>>,
) {
    if path.len() > HOME_DEPTH {
        return;
    }
    match shapes.get(id) {
        Shape::Table(table) => {
            for (key, field) in &table.fields {
                homes.entry(key.clone()).or_default().push(super::table_name(path, shapes.noun));
                path.push(key.clone());
                find_homes(shapes, field.shape, path, homes);
                path.pop();
            }
            if let Some(others) = table.others.filter(|others| *others != 0) {
                path.push("<name>".to_owned());
                find_homes(shapes, others, path, homes);
                path.pop();
            }
        }
        Shape::Array { item } => {
            path.push("0".to_owned());
            find_homes(shapes, *item, path, homes);
            path.pop();
        }
        Shape::Choice(forms) => forms.iter().for_each(|form| find_homes(shapes, *form, path, homes)),
        _ => {}
    }
}
