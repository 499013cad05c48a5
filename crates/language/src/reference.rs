//! The reference page: every table and field of a spec, or of another language, generated from the JSON Schema alone.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use serde_json::{Map, Value as Json};

use taskwright_base::rule::Rule;

use crate::schema::{MODE_MARK, PATH_MARK, json_schema};

const HEAD: &str = "\
# Reference of the spec language

<!-- Generated from the types in crates/language/src/model: edit those. -->

A spec is one TOML file. Unknown keys, wrong types and contradictions are errors that show the place. Paths are relative
to the file that says them. In any string `${name}` stands for a parameter, and `$${` for a literal `${`. A field whose
mode is A or B belongs to specs of that mode and is refused in others.
";

/// The page, as Markdown.
pub fn reference_page() -> String {
    page(HEAD, &json_schema())
}

const RULES: &str = "\
# The rules of `lint`

<!-- Generated from the table in crates/base/src/rule.rs: edit that. -->

`cargo xtask lint` (`taskwright lint`) says what is wrong, doubtful or could be better in specs, in tasks that were written by
hand, and in what both name: everything that a build would refuse, and advice that a build does not give. It puts nothing into its
place. `--fix` writes what can only be meant in one way (the words of a command that was given as one string, quotes that lack
or are too much) into the files, and gives scripts whose every line ends as on Windows the line endings of Linux, where they lie
below the folder of the file that names them. `--format sarif` is what code hosts show beside the lines; `--format json` is one object a line, with
`severity`, `rule`, `file`, `line`, `column`, `message` and `hint`. The exit status is 1 where something is wrong or doubtful.

| rule | what it asks for |
|---|---|
";

/// The page of the rules, as Markdown.
pub fn rules_page() -> String {
    let rows = Rule::ALL.iter().map(|rule| format!("| `{}` | {} |\n", rule.name(), rule.meaning()));
    RULES.to_owned() + &rows.collect::<String>()
}

/// The page of any language's schema, under a heading.
pub fn page(head: &str, schema: &Json) -> String {
    let empty = Map::new();
    let mut writer = Writer {
        definitions: schema.get("$defs").and_then(Json::as_object).unwrap_or(&empty),
        sections: VecDeque::from([Section {
            title: "The top level".to_owned(),
            path: String::new(),
            schema,
        }]),
        homes: BTreeMap::new(),
        modes: schema.to_string().contains(MODE_MARK),
    };
    let mut page = head.to_owned();
    while let Some(section) = writer.sections.pop_front() {
        writer.section(&mut page, &section);
    }
    page
}

struct Section<'a> {
    title: String,
    path: String,
    schema: &'a Json,
}

struct Writer<'a> {
    definitions: &'a Map<String, Json>,
    sections: VecDeque<Section<'a>>,
    /// The first table of each type; the others refer to it.
    homes: BTreeMap<String, String>,
    /// Whether any field has a meaning in one mode only.
    modes: bool,
}

impl<'a> Writer<'a> {
    fn section(&mut self, page: &mut String, section: &Section<'a>) {
        let _ = write!(page, "\n## {}\n\n", section.title);
        let words = text_of(section.schema);
        if !words.is_empty() {
            let _ = writeln!(page, "{words}\n");
        }
        if let Some(mode) = section.schema.get(MODE_MARK).and_then(Json::as_str) {
            let _ = writeln!(page, "Only in Mode {}.\n", mode.to_uppercase());
        }
        let required: Vec<&str> = section
            .schema
            .get("required")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        let (mode, rule) = if self.modes { (" mode |", "---|") } else { ("", "") };
        let _ = writeln!(page, "| key | type | default |{mode} meaning |\n|---|---|---|{rule}---|");
        for (key, field) in section.schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
            let path = if section.path.is_empty() { key.clone() } else { format!("{}.{key}", section.path) };
            let kind = self.kind(field, &path);
            let default = match field.get("default") {
                _ if required.contains(&key.as_str()) => "**required**".to_owned(),
                Some(Json::Object(_)) | None => String::new(),
                Some(value) => format!("`{}`", toml_text(value)),
            };
            let mode = match field.get(MODE_MARK).and_then(Json::as_str) {
                _ if !self.modes => String::new(),
                Some(mode) => format!(" {} |", mode.to_uppercase()),
                None => "  |".to_owned(),
            };
            let mut meaning = text_of(field);
            if meaning.is_empty() {
                meaning = text_of(self.resolved(field));
            }
            for (word, words) in self.explained_words(field) {
                let _ = write!(meaning, "<br>`{word}`: {words}");
            }
            let _ = writeln!(page, "| `{key}` | {kind} | {} |{mode} {} |", cell(&default), cell(&meaning));
        }
    }

    /// What a field's value is, in words; tables are put in line to get a section of their own.
    fn kind(&mut self, schema: &'a Json, path: &str) -> String {
        if let Some(name) = definition_name(schema) {
            let Some(target) = self.definitions.get(name) else { return "anything".to_owned() };
            if target.get("properties").is_some() {
                return self.table(name, target, path);
            }
            return self.kind(target, path);
        }
        if schema.get(PATH_MARK).is_some() {
            return "path".to_owned();
        }
        if let Some(words) = Self::words(schema) {
            return words
                .iter()
                .map(|(word, _)| format!("`\"{}\"`", cell(word)))
                .collect::<Vec<_>>()
                .join(", ");
        }
        for word in ["anyOf", "oneOf"] {
            if let Some(forms) = schema.get(word).and_then(Json::as_array) {
                return forms.iter().map(|form| self.kind(form, path)).collect::<Vec<_>>().join(" or ");
            }
        }
        match schema.get("type").and_then(Json::as_str) {
            Some("string") => "string".to_owned(),
            Some("boolean") => "`true`, `false`".to_owned(),
            Some("integer") => "whole number".to_owned(),
            Some("number") => "number".to_owned(),
            Some("array") => match schema.get("items") {
                Some(items) => format!("list of {}", self.kind(items, &format!("[{path}]"))),
                None => "list".to_owned(),
            },
            Some("object") if schema.get("properties").is_some() => {
                let title = format!("[{path}]");
                self.sections.push_back(Section {
                    title: format!("`{title}`"),
                    path: path.to_owned(),
                    schema,
                });
                format!("[table](#{})", anchor(&title))
            }
            Some("object") => match schema.get("additionalProperties") {
                Some(other) if other.is_object() => {
                    format!("names with {}", self.kind(other, &format!("{path}.<name>")))
                }
                _ => "names with anything".to_owned(),
            },
            _ => "anything".to_owned(),
        }
    }

    fn table(&mut self, name: &str, schema: &'a Json, path: &str) -> String {
        let title = self.homes.get(name).cloned().unwrap_or_else(|| {
            let title = format!("[{path}]");
            self.homes.insert(name.to_owned(), title.clone());
            let path = path.trim_matches(['[', ']']).to_owned();
            // Forms of one value share its path; their type's name tells them apart.
            let several = self.sections.iter().any(|section| section.title == format!("`{title}`"));
            let shown =
                if several { format!("`{title}` ({})", text_of(schema)) } else { format!("`{title}`") };
            self.sections.push_back(Section { title: shown, path, schema });
            title
        });
        format!("[table](#{})", anchor(&title))
    }

    fn resolved(&self, schema: &'a Json) -> &'a Json {
        definition_name(schema).and_then(|name| self.definitions.get(name)).unwrap_or(schema)
    }

    /// The words that a text must be one of, with their meanings.
    fn words(schema: &'a Json) -> Option<Vec<(&'a str, String)>> {
        if let Some(word) = schema.get("const").and_then(Json::as_str) {
            return Some(vec![(word, text_of(schema))]);
        }
        if let Some(words) = schema.get("enum").and_then(Json::as_array) {
            return words.iter().map(|word| word.as_str().map(|word| (word, String::new()))).collect();
        }
        let forms = schema.get("oneOf").and_then(Json::as_array)?;
        forms
            .iter()
            .map(|form| form.get("const").and_then(Json::as_str).map(|word| (word, text_of(form))))
            .collect()
    }

    fn explained_words(&self, field: &'a Json) -> Vec<(&'a str, String)> {
        Self::words(self.resolved(field))
            .unwrap_or_default()
            .into_iter()
            .filter(|(_, words)| !words.is_empty())
            .collect()
    }
}

fn definition_name(schema: &Json) -> Option<&str> {
    let schema = match schema.get("anyOf").and_then(Json::as_array).map(Vec::as_slice) {
        Some([only]) => only,
        _ => schema,
    };
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

fn text_of(schema: &Json) -> String {
    schema.get("description").and_then(Json::as_str).unwrap_or_default().replace('\n', " ")
}

/// A cell may hold neither a bar nor a line break.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// The anchor that Markdown renderers make of a heading.
fn anchor(title: &str) -> String {
    title.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect::<String>().to_lowercase()
}

fn toml_text(value: &Json) -> String {
    match value {
        Json::Array(items) => format!("[{}]", items.iter().map(toml_text).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}
