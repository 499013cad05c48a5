//! `${NAME:-default}` in the texts of a configuration, and the parameters of the spec that it becomes.

use std::collections::BTreeMap;

use toml::Value;

/// A reference in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub name: String,
    /// What follows the name.
    pub otherwise: Otherwise,
}

/// What a reference says for the case that nobody gives a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Otherwise {
    /// This value.
    Default(String),
    /// It is an error, with these words.
    Required(String),
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Literal(String),
    Reference(Reference),
}

/// The parts of a text. `${` that begins no reference is literal.
pub fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        literal.push_str(&rest[..at]);
        rest = &rest[at..];
        let found = rest.find('}').and_then(|end| Some((reference(&rest[2..end])?, end)));
        match found {
            Some((reference, end)) => {
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                parts.push(Part::Reference(reference));
                rest = &rest[end + 1..];
            }
            None => {
                literal.push_str("${");
                rest = &rest[2..];
            }
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        parts.push(Part::Literal(literal));
    }
    parts
}

fn reference(inside: &str) -> Option<Reference> {
    let end = inside.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inside.len());
    let (name, rest) = inside.split_at(end);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return None;
    }
    let otherwise = if let Some(default) = rest.strip_prefix(":-") {
        Otherwise::Default(default.to_owned())
    } else if let Some(message) = rest.strip_prefix(":?").filter(|message| !message.is_empty()) {
        Otherwise::Required(message.to_owned())
    } else if rest.is_empty() || rest == ":?" {
        Otherwise::Required(format!("what the configuration calls {name}"))
    } else {
        return None;
    };
    Some(Reference { name: name.to_owned(), otherwise })
}

/// What is known of the parameters so far.
#[derive(Debug, Default)]
pub struct Params {
    /// By the name here: what the reference said, and the value it became.
    known: BTreeMap<String, (Otherwise, Value)>,
}

/// What became of a reference.
#[derive(Debug, PartialEq, Eq)]
pub enum Named {
    /// It is the first of this name.
    First(String),
    /// It says what an earlier one says.
    Again(String),
    /// An earlier one of the same name says something else, so that it got a name of its own.
    Renamed(String),
}

impl Named {
    /// The parameter's name here.
    pub fn name(&self) -> &str {
        match self {
            Self::First(name) | Self::Again(name) | Self::Renamed(name) => name,
        }
    }
}

impl Params {
    /// The parameter that a reference becomes. `typed` makes its default a value of the field's kind.
    pub fn name(&mut self, reference: &Reference, typed: impl Fn(&str) -> Value) -> Named {
        let value = match &reference.otherwise {
            Otherwise::Default(default) => typed(default),
            Otherwise::Required(message) => {
                Value::Table([("required".to_owned(), Value::from(message.as_str()))].into_iter().collect())
            }
        };
        for count in 1.. {
            let name =
                if count == 1 { reference.name.clone() } else { format!("{}_{count}", reference.name) };
            match self.known.get(&name) {
                Some((otherwise, known)) if (otherwise, known) == (&reference.otherwise, &value) => {
                    return Named::Again(name);
                }
                Some(_) => {}
                None => {
                    self.known.insert(name.clone(), (reference.otherwise.clone(), value));
                    return if count == 1 { Named::First(name) } else { Named::Renamed(name) };
                }
            }
        }
        unreachable!("some number is free")
    }

    /// The entries of `[params]`.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.known.iter().map(|(name, (_, value))| (name.as_str(), value))
    }
}

/// A text with every reference as its default, where no parameter can stand.
pub fn with_defaults(text: &str) -> String {
    let plain = |part| match part {
        Part::Literal(text) => text,
        Part::Reference(Reference { otherwise: Otherwise::Default(default), .. }) => default,
        Part::Reference(Reference { name, .. }) => name,
    };
    parts(text).into_iter().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let show = |part| match part {
            Part::Literal(text) => text,
            Part::Reference(Reference { name, otherwise: Otherwise::Default(default) }) => {
                format!("<{name}|{default}>")
            }
            Part::Reference(Reference { name, otherwise: Otherwise::Required(why) }) => {
                format!("<{name}?{why}>")
            }
        };
        parts(text).into_iter().map(show).collect()
    }

    #[test]
    fn references_are_those_that_the_peer_knows() {
        assert_eq!(shown("a ${x:-1} b ${y}"), ["a ", "<x|1>", " b ", "<y?what the configuration calls y>"]);
        assert_eq!(shown("${x:?say which}${x:-}"), ["<x?say which>", "<x|>"]);
        assert_eq!(shown("${1x} ${x-y} ${ $x {x}"), ["${1x} ${x-y} ${ $x {x}"]);
    }

    #[test]
    fn one_name_with_two_defaults_is_two_parameters() {
        let mut params = Params::default();
        let mut name = |text: &str| match parts(text).remove(0) {
            Part::Reference(reference) => params.name(&reference, |default| Value::from(default)),
            Part::Literal(_) => panic!("a reference"),
        };
        assert_eq!(name("${x:-1}"), Named::First("x".to_owned()));
        assert_eq!(name("${x:-1}"), Named::Again("x".to_owned()));
        assert_eq!(name("${x:-2}"), Named::Renamed("x_2".to_owned()));
    }
}
