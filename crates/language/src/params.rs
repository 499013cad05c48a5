//! Parameters: what `[params]` declares, what `--set` overrides, and `${name}` wherever a string stands.

use std::collections::BTreeMap;

use crate::diagnostic::Diagnostic;
use crate::extend;
use crate::tree::{Node, Origin, Sources, State, Value};
use taskwright_base::text::{nearest, one_of};

/// The table that declares parameters.
pub const KEY: &str = "params";
/// The table of values that tasks differ in, which is read before parameters have values.
pub const MATRIX: &str = "matrix";

/// The key of a parameter without a default, which says what it is for.
const REQUIRED: &str = "required";

/// A parameter's value and where that was written; nowhere if it was given on the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The value, a scalar; none if what was written cannot be one, which is reported elsewhere.
    pub value: Option<Value>,
    /// Where it was written.
    pub place: Option<Origin>,
}

/// Parameters by name.
pub type Parameters = BTreeMap<String, Parameter>;

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Literal(&'a str),
    Reference(&'a str),
    /// `${` that is no reference: the text from there on.
    Broken(&'a str),
}

/// The parameters that `[params]` declares, with what `set` gives some of them. What has the wrong shape is left to
/// the check of shapes.
pub fn declared(
    root: &Node,
    sources: &Sources,
    set: &BTreeMap<String, String>,
    found: &mut Vec<Diagnostic>,
) -> Parameters {
    let mut parameters = Parameters::new();
    for (name, field) in root.get(KEY).and_then(Node::table).into_iter().flatten() {
        if !is_name(name) {
            found.push(
                Diagnostic::error(
                    sources.label(field.key),
                    format!("`{name}` cannot be the name of a parameter"),
                )
                .with_hint("names are made of letters, digits, `_` and `-`"),
            );
        }
        let place = field.node.origin;
        if let Some(message) = field.node.get_text(REQUIRED).filter(|message| !message.is_empty()) {
            let value = set.get(name).map(|text| parse(text));
            if value.is_none() {
                found.push(
                    Diagnostic::error(
                        sources.label(place),
                        format!("the parameter `{name}` has no value: {message}"),
                    )
                    .with_hint(format!("give it one with `--set {name}=VALUE`")),
                );
            }
            parameters.insert(name.clone(), Parameter { value, place: Some(place) });
            continue;
        }
        let Some(value) = constant(&field.node, sources, found) else {
            parameters.insert(name.clone(), Parameter { value: None, place: Some(place) });
            continue;
        };
        let parameter = match set.get(name) {
            None => Parameter { value: Some(value), place: Some(place) },
            Some(text) => {
                if let Some(value) = parse_as(&value, text) {
                    Parameter { value: Some(value), place: None }
                } else {
                    found.push(
                        Diagnostic::error(
                            sources.label(place).saying("declared here"),
                            format!("`--set {name}={text}`: `{name}` is {}", value.kind()),
                        )
                        .with_hint("give a value of the same type as the default"),
                    );
                    Parameter { value: Some(value), place: Some(place) }
                }
            }
        };
        parameters.insert(name.clone(), parameter);
    }
    parameters
}

/// A scalar that is written where nothing can be substituted: in `[params]` or on an axis.
pub fn constant(node: &Node, sources: &Sources, found: &mut Vec<Diagnostic>) -> Option<Value> {
    match &node.value {
        Value::Text(text) => {
            let mut plain = String::new();
            for part in parts(text) {
                match part {
                    Part::Literal(literal) => plain.push_str(literal),
                    Part::Reference(_) | Part::Broken(_) => {
                        found.push(
                            Diagnostic::error(
                                sources.label(narrow(node.origin, sources, "${")),
                                "a parameter cannot refer to another",
                            )
                            .with_hint("write the value itself; `$${` is a literal `${`"),
                        );
                        break;
                    }
                }
            }
            Some(Value::Text(plain))
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => Some(node.value.clone()),
        Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
    }
}

/// A text from the command line as what it looks like, where no default says the type. What can only be a text becomes one
/// again where it is put.
fn parse(text: &str) -> Value {
    let number = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Float);
    match text {
        "true" => Value::Boolean(true),
        "false" => Value::Boolean(false),
        _ => match text.parse() {
            // As it was typed: `007` is no number to whoever writes it.
            Ok(whole) if i64::to_string(&whole) == text => Value::Integer(whole),
            _ if text.contains('.')
                && text.starts_with(|first: char| first.is_ascii_digit() || first == '-') =>
            {
                number(text)
                    .filter(|value| value.to_text().as_deref() == Some(text))
                    .unwrap_or(Value::Text(text.to_owned()))
            }
            _ => Value::Text(text.to_owned()),
        },
    }
}

/// A text from the command line as a value of the same type as `like`.
pub fn parse_as(like: &Value, text: &str) -> Option<Value> {
    match like {
        Value::Text(_) => Some(Value::Text(text.to_owned())),
        Value::Integer(_) => text.parse().ok().map(Value::Integer),
        Value::Float(_) => text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Float),
        Value::Boolean(_) => text.parse().ok().map(Value::Boolean),
        Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
    }
}

/// Replaces every reference in the strings of a spec, but for the tables that say what to replace.
pub fn substitute(root: &mut Node, sources: &Sources, parameters: &Parameters, found: &mut Vec<Diagnostic>) {
    let Value::Table(table) = &mut root.value else { return };
    for (key, field) in table {
        if ![KEY, MATRIX, extend::KEY].contains(&key.as_str()) {
            substitute_node(&mut field.node, sources, parameters, found);
        }
    }
}

fn substitute_node(node: &mut Node, sources: &Sources, parameters: &Parameters, found: &mut Vec<Diagnostic>) {
    match &mut node.value {
        Value::Array(items) => {
            for item in items {
                substitute_node(item, sources, parameters, found);
            }
        }
        Value::Table(table) => {
            for field in table.values_mut() {
                substitute_node(&mut field.node, sources, parameters, found);
            }
        }
        Value::Text(text) if text.contains("${") => {
            let origin = node.origin;
            let outcome = match parts(text).as_slice() {
                [Part::Reference(name)] => match parameters.get(*name) {
                    Some(Parameter { value: Some(value), place }) => Ok((value.clone(), *place)),
                    Some(Parameter { value: None, .. }) => Err(Vec::new()),
                    None => Err(vec![undefined(name, origin, sources, parameters)]),
                },
                parts => join(parts, origin, sources, parameters),
            };
            match outcome {
                Ok((value, place)) => {
                    node.value = value;
                    node.state = State::Substituted(place);
                }
                Err(mistakes) => {
                    found.extend(mistakes);
                    node.state = State::Unresolved;
                }
            }
        }
        _ => {}
    }
}

fn join(
    parts: &[Part<'_>],
    origin: Origin,
    sources: &Sources,
    parameters: &Parameters,
) -> Result<(Value, Option<Origin>), Vec<Diagnostic>> {
    let mut text = String::new();
    let mut place = None;
    let mut mistakes = Vec::new();
    let mut known = true;
    for part in parts {
        match part {
            Part::Literal(literal) => text.push_str(literal),
            Part::Reference(name) => match parameters.get(*name) {
                Some(parameter) => {
                    match parameter.value.as_ref().and_then(Value::to_text) {
                        Some(value) => text.push_str(&value),
                        None => known = false,
                    }
                    place = place.or(parameter.place);
                }
                None => mistakes.push(undefined(name, origin, sources, parameters)),
            },
            Part::Broken(rest) => mistakes.push(broken(rest, origin, sources)),
        }
    }
    if known && mistakes.is_empty() { Ok((Value::Text(text), place)) } else { Err(mistakes) }
}

/// The names that a text refers to.
pub fn references(text: &str) -> Vec<&str> {
    parts(text)
        .into_iter()
        .filter_map(|part| match part {
            Part::Reference(name) => Some(name),
            Part::Literal(_) | Part::Broken(_) => None,
        })
        .collect()
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            // `$${`: all but the first of these three is meant as it stands.
            parts.push(Part::Literal(&rest[..at - 1]));
            parts.push(Part::Literal("${"));
            rest = &rest[at + 2..];
            continue;
        }
        if at > 0 {
            parts.push(Part::Literal(&rest[..at]));
        }
        let Some((name, after)) = rest[at + 2..].split_once('}').filter(|(name, _)| is_name(name)) else {
            parts.push(Part::Broken(&rest[at..]));
            return parts;
        };
        parts.push(Part::Reference(name));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Literal(rest));
    }
    parts
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn undefined(name: &str, origin: Origin, sources: &Sources, parameters: &Parameters) -> Diagnostic {
    let known: Vec<&str> = parameters.keys().map(String::as_str).collect();
    let reference = format!("${{{name}}}");
    Diagnostic::error(
        sources.label(narrow(origin, sources, &reference)),
        format!("`{reference}`: there is no parameter `{name}`"),
    )
    .with_hint(format!("{}; `$${{` is a literal `${{`", known_hint(name, &known)))
}

fn broken(rest: &str, origin: Origin, sources: &Sources) -> Diagnostic {
    let shown: String = rest.chars().take_while(|character| !"}\n".contains(*character)).take(40).collect();
    let closed = rest.contains('}');
    let message = if closed {
        format!("`{shown}}}` is not a reference to a parameter")
    } else {
        format!("`{shown}` has no closing `}}`")
    };
    Diagnostic::error(sources.label(narrow(origin, sources, &shown)), message)
        .with_hint("write `${name}` for a parameter, and `$${` where `${` itself is meant")
}

fn known_hint(name: &str, known: &[&str]) -> String {
    match (nearest(name, known.iter().copied()), known) {
        (_, []) => "declare it under `[params]`: none is declared".to_owned(),
        (Some(near), _) => format!("did you mean `{near}`? declared are {}", one_of(known.iter().copied())),
        (None, _) => format!("declared are {}", one_of(known.iter().copied())),
    }
}

/// The part of a string's place that reads `text`, if it is written there in so many words.
fn narrow(origin: Origin, sources: &Sources, text: &str) -> Origin {
    let span = origin.span();
    match sources.get(origin.file).text().get(span.clone()).and_then(|written| written.find(text)) {
        Some(at) => Origin::new(origin.file, span.start + at..span.start + at + text.len()),
        None => origin,
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, parts, references};

    #[test]
    fn texts_fall_into_parts() {
        assert_eq!(parts(""), []);
        assert_eq!(parts("$ { }"), [Part::Literal("$ { }")]);
        assert_eq!(parts("${a}"), [Part::Reference("a")]);
        assert_eq!(
            parts("x${a}${b-1}y"),
            [Part::Literal("x"), Part::Reference("a"), Part::Reference("b-1"), Part::Literal("y")]
        );
        assert_eq!(parts("$${a}"), [Part::Literal(""), Part::Literal("${"), Part::Literal("a}")]);
        assert_eq!(parts("a ${b c}"), [Part::Literal("a "), Part::Broken("${b c}")]);
        assert_eq!(references("$${no} ${yes}"), ["yes"]);
    }
}
