//! Expands one spec into a task for each combination of its axes' values.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::Diagnostic;
use crate::params::{self, Parameter, Parameters};
use crate::tree::{Node, Origin, Sources, Value};
use taskwright_base::text::one_of;

/// The most tasks that one spec may become.
const MAX_TASKS: usize = 10_000;

/// The values of each axis, in the order of the axes' names.
pub type Axes = BTreeMap<String, Vec<Parameter>>;

/// The axes that `[matrix]` declares. `set` picks a single value of an axis. What has the wrong shape is left to the
/// check of shapes.
pub fn axes(
    root: &Node,
    sources: &Sources,
    set: &BTreeMap<String, String>,
    parameters: &Parameters,
    found: &mut Vec<Diagnostic>,
) -> Axes {
    let mut axes = Axes::new();
    let Some(table) = root.get(params::MATRIX).and_then(Node::table) else { return axes };
    let name = root.get_text("name").unwrap_or_default();
    let used: BTreeSet<&str> = params::references(name).into_iter().collect();
    for (axis, field) in table {
        let Value::Array(items) = &field.node.value else {
            axes.insert(axis.clone(), vec![Parameter { value: None, place: Some(field.node.origin) }]);
            continue;
        };
        if let Some(place) = parameters.get(axis).and_then(|parameter| parameter.place) {
            found.push(
                Diagnostic::error(sources.label(field.key), format!("`{axis}` is an axis and a parameter"))
                    .with_label(sources.label(place).saying("the parameter"))
                    .with_hint("an axis is a parameter already; take it out of `[params]`"),
            );
        }
        if items.is_empty() {
            found.push(
                Diagnostic::error(
                    sources.label(field.node.origin),
                    format!("the axis `{axis}` has no values"),
                )
                .with_hint("an axis without values makes no task at all; give it one, or take it out"),
            );
        }
        if !used.contains(axis.as_str()) {
            let place = root.get("name").map_or(field.key, |node| node.origin);
            found.push(
                Diagnostic::error(sources.label(place), format!("`name` does not use the axis `{axis}`"))
                    .with_label(sources.label(field.key).saying("the axis"))
                    .with_hint(format!(
                        "every task needs a name of its own: put `${{{axis}}}` into `name`, as in \
                         `name = \"{}-${{{axis}}}\"`",
                        if name.is_empty() { "task" } else { name }
                    )),
            );
        }
        let mut values = values(axis, items, sources, set, found);
        if values.is_empty() {
            values.push(Parameter { value: None, place: Some(field.node.origin) });
        }
        axes.insert(axis.clone(), values);
    }
    let tasks = axes.values().try_fold(1_usize, |product, values| product.checked_mul(values.len()));
    if tasks.is_none_or(|tasks| tasks > MAX_TASKS) {
        let place = root.key_place(&[params::MATRIX]).unwrap_or(root.origin);
        found.push(
            Diagnostic::error(sources.label(place), format!("the matrix makes more than {MAX_TASKS} tasks"))
                .with_hint("take out values, or split the spec"),
        );
        for values in axes.values_mut() {
            values.truncate(1);
        }
    }
    axes
}

fn values(
    axis: &str,
    items: &[Node],
    sources: &Sources,
    set: &BTreeMap<String, String>,
    found: &mut Vec<Diagnostic>,
) -> Vec<Parameter> {
    let mut values: Vec<Parameter> = Vec::new();
    for item in items {
        let Some(value) = params::constant(item, sources, found) else { continue };
        let value = Some(value);
        match values.iter().find(|earlier| earlier.value == value).and_then(|earlier| earlier.place) {
            Some(first) => found.push(
                Diagnostic::error(
                    sources.label(item.origin),
                    format!("the axis `{axis}` has this value twice"),
                )
                .with_label(sources.label(first).saying("first here"))
                .with_hint("take one of them out"),
            ),
            None => values.push(Parameter { value, place: Some(item.origin) }),
        }
    }
    let Some(wanted) = set.get(axis) else { return values };
    let picked: Vec<Parameter> = values
        .iter()
        .filter(|parameter| {
            parameter
                .value
                .as_ref()
                .is_some_and(|value| params::parse_as(value, wanted).as_ref() == Some(value))
        })
        .cloned()
        .collect();
    if picked.is_empty()
        && let Some(place) = items.first().map(|item| item.origin)
    {
        let known: Vec<String> =
            values.iter().filter_map(|parameter| parameter.value.as_ref()?.to_text()).collect();
        found.push(
            Diagnostic::error(
                sources.label(place),
                format!("`--set {axis}={wanted}`: no value of that axis"),
            )
            .with_hint(format!("its values are {}", one_of(known.iter().map(String::as_str)))),
        );
        return values;
    }
    picked
}

/// Every combination, in the order of the axes' names and of their values; one without any if there is no axis.
pub fn combinations(axes: &Axes) -> Vec<Parameters> {
    axes.iter().fold(vec![Parameters::new()], |combinations, (axis, values)| {
        combinations
            .iter()
            .flat_map(|combination| {
                values.iter().map(|value| {
                    let mut longer = combination.clone();
                    longer.insert(axis.clone(), value.clone());
                    longer
                })
            })
            .collect()
    })
}

/// Reports names that two combinations share, which happens when values run into each other: `a${x}${y}` with 1 and
/// 11, and with 11 and 1.
pub fn refuse_equal_names<'a>(
    names: impl IntoIterator<Item = &'a str>,
    place: Origin,
    sources: &Sources,
    found: &mut Vec<Diagnostic>,
) {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            found.push(
                Diagnostic::error(sources.label(place), format!("two combinations are both named `{name}`"))
                    .with_hint("put something between the axes in `name`, for example a dash"),
            );
        }
    }
}
