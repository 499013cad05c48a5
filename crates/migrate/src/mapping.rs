//! How the keys of a configuration become a spec: rules, and the one who applies them and keeps what they said.

use std::collections::BTreeMap;

use taskwright_base::{Error, Result};
use taskwright_builder::scaffold::File;
use taskwright_language::model::Mode;
use toml::Value as Toml;

use crate::draft::Draft;
use crate::kind::Kind;
use crate::notes::{List, Note};
use crate::params::{Named, Params, Part, parts};
use crate::places::Places;
use crate::yaml::{Entry, Map, Node, Value};

/// What becomes of one key.
pub struct Rule {
    pub key: &'static str,
    pub how: How,
    /// In TOML, what vero takes for a key that is absent, where a spec would take something else.
    pub absent: Option<&'static str>,
    /// The mode that it has a meaning in, if not in both.
    pub mode: Option<Mode>,
}

/// The way a key takes.
pub enum How {
    /// A field says the same: its table (`"."` is the one that is being written) and key.
    Field(Kind, &'static str, &'static str),
    /// Code of its own, which is called for an absent key as well.
    By(fn(&mut Mapping, At<'_>) -> Result<()>),
    /// The rule of another key reads it.
    With,
    /// No field says it, for this reason.
    Not(&'static str),
}

/// Where a rule of its own is called.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// The key's entry, if it is there.
    pub entry: Option<&'a Entry>,
    /// What it stands in.
    pub map: &'a Map,
    /// The table that is being written.
    pub table: &'a str,
}

impl Rule {
    /// A key that a field says the same of.
    pub const fn field(key: &'static str, kind: Kind, table: &'static str, field: &'static str) -> Self {
        Self { key, how: How::Field(kind, table, field), absent: None, mode: None }
    }

    /// A key with code of its own.
    pub const fn by(key: &'static str, code: fn(&mut Mapping, At<'_>) -> Result<()>) -> Self {
        Self { key, how: How::By(code), absent: None, mode: None }
    }

    /// A key that the rule of another reads.
    pub const fn with(key: &'static str) -> Self {
        Self { key, how: How::With, absent: None, mode: None }
    }

    /// A key without counterpart.
    pub const fn not(key: &'static str, why: &'static str) -> Self {
        Self { key, how: How::Not(why), absent: None, mode: None }
    }

    /// The same with what vero takes for an absent key.
    pub const fn absent(self, value: &'static str) -> Self {
        Self { key: self.key, how: self.how, absent: Some(value), mode: self.mode }
    }

    /// The same for one mode only.
    pub const fn only(self, mode: Mode) -> Self {
        Self { key: self.key, how: self.how, absent: self.absent, mode: Some(mode) }
    }
}

/// A spec in the making, with what has to be said about it.
pub struct Mapping {
    pub places: Places,
    pub mode: Mode,
    /// The task's name, once it is known.
    pub name: String,
    pub draft: Draft,
    pub notes: Vec<Note>,
    pub params: Params,
    /// Files of the spec's folder besides the spec.
    pub files: Vec<File>,
    /// The ids of each partition.
    pub partitions: BTreeMap<String, Vec<String>>,
    /// Seconds that the configuration counts a sample with.
    pub sample_seconds: f64,
}

impl Mapping {
    /// One that has written nothing.
    pub fn new(places: Places, mode: Mode) -> Self {
        Self {
            places,
            mode,
            name: String::new(),
            draft: Draft::default(),
            notes: Vec::new(),
            params: Params::default(),
            files: Vec::new(),
            partitions: BTreeMap::new(),
            sample_seconds: 0.0,
        }
    }

    /// Refuses a backend that nobody has heard of.
    pub fn check_backend(&self, entry: &Entry) -> Result<()> {
        match &entry.node.value {
            Value::Text(word) if word == "harbor" || word == "command" => Ok(()),
            Value::Text(word) => {
                let message = format!("`evaluation_backend` cannot be `{word}`");
                Err(self.error(entry.line, message).hint("it can be `harbor` or `command`"))
            }
            _ => Err(self.wrong(entry, &entry.node, "a text")),
        }
    }

    /// Applies each rule to its key of a mapping, in the order of the rules, and says what no rule is for.
    pub fn apply(&mut self, rules: &[Rule], map: &Map, table: &str) -> Result<()> {
        for rule in rules {
            let entry = map.get(rule.key);
            if rule.mode.is_some_and(|mode| mode != self.mode) {
                if let Some(entry) = entry {
                    self.lose(entry, "it means nothing for what scores here");
                }
                continue;
            }
            match &rule.how {
                How::By(code) => code(self, At { entry, map, table })?,
                How::With => {}
                How::Not(why) => entry.iter().for_each(|entry| self.lose(entry, why)),
                How::Field(kind, place, key) => {
                    let place = if *place == "." { table } else { place };
                    self.field(rule, entry, (*kind, place, key))?;
                }
            }
        }
        for entry in &map.0 {
            if rules.iter().all(|rule| rule.key != entry.key) {
                self.lose(entry, "vero has no such key");
            }
        }
        Ok(())
    }

    fn field(&mut self, rule: &Rule, entry: Option<&Entry>, to: (Kind, &str, &str)) -> Result<()> {
        let (kind, table, key) = to;
        let said = match entry {
            None => None,
            Some(entry) if entry.node.value == Value::Null && !matches!(kind, Kind::Limit) => {
                self.note(List::ToDecide, entry, "`null` is as if the key were absent");
                None
            }
            Some(entry) => Some(entry),
        };
        if let (Kind::Variables, Some(entry)) = (kind, said) {
            return self.variables(entry, table);
        }
        match said {
            Some(entry) => {
                let value = self.value(entry, kind)?;
                self.draft.set(table, key, value, &entry.comments);
            }
            None => {
                if let Some(value) = rule.absent {
                    self.draft.set(table, key, literal(value), &[]);
                }
            }
        }
        Ok(())
    }

    fn variables(&mut self, entry: &Entry, table: &str) -> Result<()> {
        let Value::Map(map) = &entry.node.value else {
            return Err(self.wrong(entry, &entry.node, "a mapping"));
        };
        self.draft.comment(table, &entry.comments);
        for variable in &map.0 {
            let value = self.value(variable, Kind::Text)?;
            self.draft.set(table, &variable.key, value, &variable.comments);
        }
        Ok(())
    }

    /// The value of an entry, as a field of a kind takes it.
    pub fn value(&mut self, entry: &Entry, kind: Kind) -> Result<Toml> {
        let node = &entry.node;
        match (kind, &node.value) {
            (Kind::Text, Value::Text(text)) => Ok(self.text(entry, text)),
            (Kind::Flag, Value::Bool(flag)) => Ok(Toml::Boolean(*flag)),
            (Kind::Limit, Value::Null) => Ok(Toml::from("unlimited")),
            (Kind::Count | Kind::Limit | Kind::Seconds, Value::Integer(count)) if *count >= 0 => {
                Ok(Toml::Integer(*count))
            }
            (Kind::Seconds, Value::Float(seconds)) if (0.0..1e12).contains(seconds) => {
                if seconds.fract() > 0.0 {
                    self.note(List::Changed, entry, format!("{seconds} s: whole seconds here, rounded up"));
                }
                #[expect(clippy::cast_possible_truncation, reason = "between 0 and 1e12")]
                Ok(Toml::Integer(seconds.ceil() as i64))
            }
            (Kind::Number, Value::Integer(number)) => Ok(Toml::Integer(*number)),
            (Kind::Number, Value::Float(number)) => Ok(Toml::Float(*number)),
            (Kind::Count | Kind::Limit | Kind::Seconds | Kind::Number, Value::Text(text)) => {
                self.number(entry, text)
            }
            (Kind::Texts, Value::List(items)) => {
                items.iter().map(|item| self.item(entry, item)).collect::<Result<Vec<_>>>().map(Toml::Array)
            }
            (Kind::Word(words), Value::Text(text)) => {
                let found = words.iter().find(|(there, _)| there == text);
                let (_, here) = found.ok_or_else(|| {
                    let known = words.iter().map(|(there, _)| *there);
                    let hint = format!("it can be {}", taskwright_base::text::one_of(known));
                    self.error(entry.line, format!("`{}` cannot be `{text}`", entry.path)).hint(hint)
                })?;
                Ok(Toml::from(*here))
            }
            (kind, _) => Err(self.wrong(entry, node, kind.words())),
        }
    }

    fn item(&mut self, entry: &Entry, item: &Node) -> Result<Toml> {
        match &item.value {
            Value::Text(text) => Ok(self.text(entry, text)),
            _ => Err(self.wrong(entry, item, "a text")),
        }
    }

    /// A text with its references as parameters.
    pub fn text(&mut self, entry: &Entry, text: &str) -> Toml {
        let mut written = String::new();
        for part in parts(text) {
            match part {
                Part::Literal(literal) => written.push_str(&literal.replace("${", "$${")),
                Part::Reference(reference) => {
                    if written.ends_with('$') {
                        self.note(
                            List::ToDecide,
                            entry,
                            format!("`{text}`: a `$` before a parameter cannot be written"),
                        );
                        written.pop();
                    }
                    let named = self.params.name(&reference, |default| Toml::from(default));
                    self.introduce(entry, &named, &reference.name);
                    written.push_str(&format!("${{{}}}", named.name()));
                }
            }
        }
        Toml::String(written)
    }

    /// A number that a parameter gives.
    fn number(&mut self, entry: &Entry, text: &str) -> Result<Toml> {
        let mut parts = parts(text);
        let (Some(Part::Reference(reference)), true) = (parts.pop(), parts.is_empty()) else {
            return Err(self.wrong(entry, &entry.node, "a number"));
        };
        let named = self.params.name(&reference, |default| {
            let whole = default.parse::<i64>().map(Toml::Integer);
            whole.or_else(|_| default.parse().map(Toml::Float)).unwrap_or_else(|_| Toml::from(default))
        });
        self.introduce(entry, &named, &reference.name);
        Ok(Toml::String(format!("${{{}}}", named.name())))
    }

    /// Says of a parameter that is new where its value comes from.
    fn introduce(&mut self, entry: &Entry, named: &Named, there: &str) {
        match named {
            Named::Again(_) => {}
            Named::First(name) => {
                let from = if name == "optimizer_model" { "the launcher's `--model`, " } else { "" };
                self.note(
                    List::Changed,
                    entry,
                    format!("`${{{name}}}` took its value from {from}`--param` or the environment; here `--set {name}=...` alone gives it one, and an empty one counts"),
                );
            }
            Named::Renamed(name) => self.note(
                List::ToDecide,
                entry,
                format!(
                    "`${{{there}}}` has another default than above, so it is the parameter `{name}` here"
                ),
            ),
        }
    }

    /// Adds to one of the lists.
    pub fn note(&mut self, list: List, entry: &Entry, text: impl Into<String>) {
        self.notes.push(Note { list, line: Some(entry.line), key: entry.path.clone(), text: text.into() });
    }

    /// Adds to one of the lists what the configuration does not say.
    pub fn remark(&mut self, list: List, key: &str, text: impl Into<String>) {
        self.notes.push(Note { list, line: None, key: key.to_owned(), text: text.into() });
    }

    /// Says of an entry, value by value, that it could not come along.
    pub fn lose(&mut self, entry: &Entry, why: &str) {
        self.lose_node(&entry.path, entry.line, &entry.node, why);
    }

    fn lose_node(&mut self, path: &str, line: u64, node: &Node, why: &str) {
        match &node.value {
            Value::Map(map) if !map.0.is_empty() => {
                for entry in &map.0 {
                    self.lose_node(&entry.path, entry.line, &entry.node, why);
                }
            }
            Value::List(items)
                if items.iter().any(|item| matches!(item.value, Value::Map(_) | Value::List(_))) =>
            {
                for (index, item) in items.iter().enumerate() {
                    self.lose_node(&format!("{path}[{index}]"), item.line, item, why);
                }
            }
            value => {
                let text = format!("{}: {why}", value.shown());
                self.notes.push(Note {
                    list: List::NotCarried,
                    line: Some(line),
                    key: path.to_owned(),
                    text,
                });
            }
        }
    }

    /// What an entry holds, which must be a mapping.
    pub fn map<'a>(&self, entry: &'a Entry) -> Result<&'a Map> {
        match &entry.node.value {
            Value::Map(map) => Ok(map),
            _ => Err(self.wrong(entry, &entry.node, "a mapping")),
        }
    }

    /// The mappings that an entry lists.
    pub fn maps<'a>(&self, entry: &'a Entry) -> Result<Vec<&'a Map>> {
        let Value::List(items) = &entry.node.value else {
            return Err(self.wrong(entry, &entry.node, "a list"));
        };
        let map = |item: &'a Node| match &item.value {
            Value::Map(map) => Ok(map),
            _ => Err(self.wrong(entry, item, "a mapping")),
        };
        items.iter().map(map).collect()
    }

    /// An error at a line of the configuration.
    pub fn error(&self, line: u64, message: impl Into<String>) -> Error {
        Error::new(message).in_file(self.places.shown(&self.places.file), Some((line, None)))
    }

    /// The error of a value that is of another kind than vero takes.
    pub fn wrong(&self, entry: &Entry, node: &Node, wanted: &str) -> Error {
        let line = node.line.max(entry.line);
        self.error(line, format!("`{}` is {}, and takes {wanted}", entry.path, node.value.kind()))
            .hint("mend it first: vero refuses it too")
    }

    /// The error of a key that is needed.
    pub fn missing(&self, key: &str) -> Error {
        self.error(1, format!("there is no `{key}`")).hint("add it: no task can be made without")
    }

    /// A path as the spec writes it. What lies outside of the workspace is said.
    pub fn path(&mut self, entry: &Entry, text: &str) -> String {
        let named = self.places.named(text);
        if !self.places.holds(&named) {
            self.note(
                List::ToDecide,
                entry,
                format!(
                    "`{text}` lies outside of the workspace: copy `{named}` into it, and write its path there"
                ),
            );
        }
        self.places.from_spec(&self.name, &named)
    }
}

/// A value that is written in TOML in the rules.
fn literal(toml: &str) -> Toml {
    format!("value = {toml}")
        .parse::<toml::Table>()
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Toml::from(toml))
}
