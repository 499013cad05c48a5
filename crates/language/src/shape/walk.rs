//! Compares a tree with the shapes and reports everything that does not fit, each at its place.

use std::collections::BTreeSet;

use super::explain;
use taskwright_base::rule::Rule;
use taskwright_base::text::nearest;

use super::{FieldShape, Shape, Shapes, TableShape, show_path, table_name};
use crate::diagnostic::{Diagnostic, Fix};
use crate::tree::{Node, Origin, Sources, State, Table, Value};

/// What is wrong with a path: message and hint.
pub type PathProblem = (String, String);

/// What makes a path of the text at a place, or says what is wrong with it.
pub type Resolve<'a> = dyn Fn(&[String], &str, Origin) -> Result<String, PathProblem> + 'a;

/// What came of a check.
#[derive(Debug, Default)]
pub struct Report {
    /// Everything that did not fit, in no particular order.
    pub found: Vec<Diagnostic>,
    /// The top-level keys under which something was left out of the tree because it did not fit: what is said there
    /// is not known in full any more.
    pub doubtful: BTreeSet<String>,
    /// Whether something that cannot be left out did not fit.
    pub fatal: bool,
}

/// Checks `root`, which is a whole file. Values that do not fit are reported and, where it may do without them, taken
/// out; paths are replaced by what `resolve` makes of them.
pub fn check(shapes: &Shapes, sources: &Sources, root: &mut Node, resolve: &Resolve<'_>) -> Report {
    let mode = match root.get_text("mode") {
        Some("a") => Some("a"),
        Some("b") => Some("b"),
        _ => None,
    };
    let mut walk = Walk {
        shapes,
        sources,
        mode,
        resolve,
        path: Vec::new(),
        forms: String::new(),
        report: Report::default(),
    };
    walk.report.fatal = !walk.node(root, shapes.root(), "");
    walk.report
}

struct Walk<'a> {
    shapes: &'a Shapes,
    sources: &'a Sources,
    mode: Option<&'static str>,
    resolve: &'a Resolve<'a>,
    path: Vec<String>,
    /// While a table that is one of several is looked at: how each of them is written.
    forms: String,
    report: Report,
}

impl Walk<'_> {
    /// Whether the value fits, or could be made to.
    #[expect(clippy::too_many_lines, reason = "one case for each kind of schema")]
    fn node(&mut self, node: &mut Node, shape: &Shape, meaning: &str) -> bool {
        if node.state == State::Unresolved {
            return false;
        }
        self.speak_as_asked(node, shape);
        match (&mut node.value, shape) {
            (_, Shape::Any) => self.passes_on(node),
            (Value::Boolean(_), Shape::Boolean) => true,
            (Value::Integer(number), Shape::Integer { min, max }) => {
                let (number, min, max) = (*number, *min, *max);
                if number < min {
                    let least = if min == 0 {
                        "must not be negative".to_owned()
                    } else {
                        format!("must be at least {min}")
                    };
                    self.wrong(node, &format!("{least}, but is {number}"), meaning)
                } else if number > max {
                    self.wrong(node, &format!("must be at most {max}, but is {number}"), meaning)
                } else {
                    true
                }
            }
            (Value::Integer(number), Shape::Float { min, max }) => {
                // Bounds of numbers are small; what a huge number loses in precision does not matter to them.
                #[allow(clippy::cast_precision_loss)]
                let number = *number as f64;
                self.float(node, number, *min, *max, meaning)
            }
            (Value::Float(number), Shape::Float { min, max }) => {
                let number = *number;
                self.float(node, number, *min, *max, meaning)
            }
            (Value::Text(text), Shape::Text { words, filled, path }) => {
                if !words.is_empty() && !words.contains(text) {
                    let message = format!("cannot be `{text}`");
                    let hint = explain::word_hint(text, words);
                    return self.wrong(node, &message, &hint);
                }
                if *filled && text.is_empty() {
                    return self.wrong(node, "must not be empty", meaning);
                }
                if *path {
                    match (self.resolve)(&self.path, text, node.origin) {
                        Ok(resolved) => *text = resolved,
                        Err((message, hint)) => {
                            self.report.found.push(
                                Diagnostic::error(self.sources.label(node.origin), message).with_hint(hint),
                            );
                            return false;
                        }
                    }
                }
                true
            }
            (Value::Array(items), Shape::Array { item }) => {
                let shape = self.shapes.get(*item);
                let mut fits = true;
                for (index, item) in items.iter_mut().enumerate() {
                    self.path.push(index.to_string());
                    fits &= self.node(item, shape, meaning);
                    self.path.pop();
                }
                fits
            }
            (Value::Table(_), Shape::Table(table)) => self.table(node, table),
            (_, Shape::Choice(forms)) => self.choice(node, forms, meaning),
            _ => self.wrong_kind(node, shape, meaning),
        }
    }

    /// What is passed on as it stands may hold anything but dates: on the way, through JSON or through Harbor's own
    /// types, they become texts.
    fn passes_on(&mut self, node: &Node) -> bool {
        match &node.value {
            // Such a file is not rewritten.
            _ if self.shapes.foreign => true,
            Value::Datetime(_) => {
                let hint = format!("put it in quotes: \"{}\"", explain::written(self.sources, node));
                self.wrong(node, "is a date or time, which cannot be passed on", &hint)
            }
            Value::Array(items) => items.iter().fold(true, |fits, item| fits & self.passes_on(item)),
            Value::Table(table) => {
                table.values().fold(true, |fits, field| fits & self.passes_on(&field.node))
            }
            _ => true,
        }
    }

    /// A parameter's own type gives way where only a text will do, so that a number may be put into an environment
    /// variable.
    fn speak_as_asked(&self, node: &mut Node, shape: &Shape) {
        if !matches!(node.state, State::Substituted(_)) || matches!(node.value, Value::Text(_)) {
            return;
        }
        let texts_only = match shape {
            Shape::Text { .. } => true,
            Shape::Choice(forms) => {
                forms.iter().any(|form| matches!(self.shapes.get(*form), Shape::Text { .. }))
                    && !forms.iter().any(|form| kind_fits(&node.value, self.shapes.get(*form)))
            }
            _ => false,
        };
        if texts_only && let Some(text) = node.value.to_text() {
            node.value = Value::Text(text);
        }
    }

    fn float(&mut self, node: &Node, number: f64, min: f64, max: f64, meaning: &str) -> bool {
        if number < min {
            self.wrong(node, &format!("must be at least {min}, but is {number}"), meaning)
        } else if number > max {
            self.wrong(node, &format!("must be at most {max}, but is {number}"), meaning)
        } else {
            true
        }
    }

    fn choice(&mut self, node: &mut Node, forms: &[super::ShapeId], meaning: &str) -> bool {
        let shapes = self.shapes;
        let fitting: Vec<&Shape> =
            forms.iter().map(|form| shapes.get(*form)).filter(|form| kind_fits(&node.value, form)).collect();
        match (fitting.as_slice(), &node.value) {
            ([], _) => {
                let forms = Shape::Choice(forms.to_vec());
                self.wrong_kind(node, &forms, meaning)
            }
            ([only], _) => self.node(node, only, meaning),
            (several, Value::Table(table)) => {
                // The form with the most keys in common is what was meant; of equals, the one that asks for least.
                let rank = |form: &&&Shape| match form {
                    Shape::Table(shape) => {
                        let known = table.keys().filter(|key| shape.fields.contains_key(*key)).count();
                        let lacking = shape
                            .fields
                            .iter()
                            .filter(|(key, field)| field.required && !table.contains_key(*key))
                            .count();
                        (known, usize::MAX - lacking)
                    }
                    _ => (0, 0),
                };
                let best = several.iter().rev().max_by_key(rank);
                match best {
                    Some(form) if rank(&form).0 > 0 => {
                        self.forms = explain::table_forms(several);
                        let fits = self.node(node, form, meaning);
                        self.forms.clear();
                        fits
                    }
                    _ => self.wrong(
                        node,
                        "is none of the tables that can stand here",
                        &explain::table_forms(several),
                    ),
                }
            }
            // A whole number fits both kinds of numbers; the first form is the stricter.
            ([first, ..], _) => self.node(node, first, meaning),
        }
    }

    fn table(&mut self, node: &mut Node, shape: &TableShape) -> bool {
        let origin = node.origin;
        let Value::Table(table) = &mut node.value else { return false };
        if let (Some(belongs), Some(mode)) = (shape.mode, self.mode)
            && belongs != mode
        {
            let instead = format!("write another form of it, or `mode = \"{belongs}\"`");
            self.other_mode(origin, &show_path(&self.path), belongs, mode, instead);
        }
        let mut fits = true;
        let mut meant = Vec::new();
        let keys: Vec<String> = table.keys().cloned().collect();
        for key in keys {
            let Some(field) = table.get_mut(&key) else { continue };
            let Some((id, required, meaning)) = (match shape.fields.get(&key) {
                Some(known) => {
                    if let (Some(belongs), Some(mode)) = (known.mode, self.mode)
                        && belongs != mode
                    {
                        let instead = format!("leave it out, or write `mode = \"{belongs}\"`");
                        self.other_mode(field.key, &key, belongs, mode, instead);
                    }
                    Some((known.shape, known.required, known.meaning.as_str()))
                }
                None => shape.others.map(|others| (others, false, "")),
            }) else {
                meant.extend(self.unknown(&key, field.key, shape));
                self.doubt(shape, &key);
                table.remove(&key);
                continue;
            };
            self.path.push(key.clone());
            let good = self.node(&mut field.node, self.shapes.get(id), meaning);
            self.path.pop();
            if !good {
                if required {
                    fits = false;
                } else {
                    self.doubt(shape, &key);
                    table.remove(&key);
                }
            }
        }
        fits & self.complete(origin, table, shape, &meant)
    }

    /// Whether every key that must be there is. A key that was only misspelt (`meant`) is not reported again.
    fn complete(&mut self, origin: Origin, table: &Table, shape: &TableShape, meant: &[String]) -> bool {
        let missing: Vec<(&String, &FieldShape)> =
            shape.fields.iter().filter(|(key, field)| field.required && !table.contains_key(*key)).collect();
        if missing.is_empty() {
            return true;
        }
        let missing: Vec<_> = missing.into_iter().filter(|(key, _)| !meant.contains(key)).collect();
        let names: Vec<String> = missing.iter().map(|(key, _)| format!("`{key}`")).collect();
        let (verb, names) = match names.split_last() {
            Some((last, [])) => ("is", last.clone()),
            Some((last, rest)) => ("are", format!("{} and {last}", rest.join(", "))),
            None => return false,
        };
        let hints: Vec<String> =
            missing.iter().map(|(key, field)| format!("`{key}`: {}", field.meaning)).collect();
        self.report.found.push(
            Diagnostic::error(
                self.sources.label(origin),
                format!("{names} {verb} missing in {}", table_name(&self.path, self.shapes.noun)),
            )
            .with_hint(hints.join("\n")),
        );
        false
    }

    /// Reports a key that has no meaning here; gives the one that was most likely meant.
    fn unknown(&mut self, key: &str, place: Origin, shape: &TableShape) -> Option<String> {
        let close = nearest(key, shape.fields.keys().map(String::as_str));
        let mut full = self.path.clone();
        full.push(key.to_owned());
        let hint = explain::key_hint(self.shapes, shape, &show_path(&full), key, close, &self.forms);
        let label = self.sources.label(place);
        let message = format!("unknown key `{key}` in {}", table_name(&self.path, self.shapes.noun));
        let found = if self.shapes.foreign {
            Diagnostic::warning(label, message)
        } else {
            Diagnostic::error(label, message)
        };
        self.report.found.push(found.with_hint(hint));
        close.map(str::to_owned)
    }

    fn other_mode(&mut self, place: Origin, what: &str, belongs: &str, mode: &str, instead: String) {
        let (belongs, mode) = (belongs.to_uppercase(), mode.to_uppercase());
        self.report.found.push(
            Diagnostic::error(
                self.sources.label(place),
                format!("`{what}` belongs to Mode {belongs}, and this spec is of Mode {mode}"),
            )
            .with_hint(instead),
        );
    }

    /// Remembers under which top-level key something was taken out of the tree.
    fn doubt(&mut self, shape: &TableShape, key: &str) {
        let top = match self.path.first() {
            Some(top) => top.clone(),
            None => nearest(key, shape.fields.keys().map(String::as_str)).unwrap_or(key).to_owned(),
        };
        self.report.doubtful.insert(top);
    }

    fn wrong_kind(&mut self, node: &Node, shape: &Shape, meaning: &str) -> bool {
        let wanted = explain::wanted(self.shapes, shape);
        let (hint, fix) = explain::kind_hint(self.shapes, self.sources, node, shape, meaning, &self.path);
        let fits = self.wrong(node, &format!("must be {wanted}, but is {}", node.value.kind()), &hint);
        if let Some(found) = self.report.found.last_mut() {
            found.fix = fix.map(Fix::Text);
            if matches!((&node.value, shape), (Value::Text(_), Shape::Array { .. })) && found.fix.is_some() {
                *found = found.clone().of(Rule::CommandWords);
            }
        }
        fits
    }

    fn wrong(&mut self, node: &Node, message: &str, hint: &str) -> bool {
        let name = show_path(&self.path);
        let mut found =
            Diagnostic::error(self.sources.label(node.origin), format!("`{name}` {message}")).with_hint(hint);
        if let State::Substituted(Some(declared)) = node.state {
            found = found.with_label(self.sources.label(declared).saying("the value comes from here"));
        }
        self.report.found.push(found);
        false
    }
}

fn kind_fits(value: &Value, shape: &Shape) -> bool {
    matches!(
        (value, shape),
        (_, Shape::Any)
            | (Value::Boolean(_), Shape::Boolean)
            | (Value::Integer(_), Shape::Integer { .. } | Shape::Float { .. })
            | (Value::Float(_), Shape::Float { .. })
            | (Value::Text(_), Shape::Text { .. })
            | (Value::Array(_), Shape::Array { .. })
            | (Value::Table(_), Shape::Table(_))
    )
}
