//! What the optimizer reads: the description, a template of the configuration's own, and what the service tells of itself.

use taskwright_base::{Result, error::failed};
use taskwright_builder::scaffold::File;

use crate::mapping::{At, Mapping};
use crate::notes::List;
use crate::params::with_defaults;
use crate::yaml::{Entry, Value};

/// What vero's optimizer has, and this one's has not, or has by another name.
const FOREIGN: &[&str] = &["evals ", "`evals`", ".evals", "/work/agent", "vero"];

/// A description there is all that the optimizer reads of the problem: its first sentence stays one, all of it becomes
/// instruction.md.
pub fn description(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let (written, comments) = match at.entry.map(|entry| (entry, &entry.node.value)) {
        Some((entry, Value::Text(text))) => (with_defaults(text).trim().to_owned(), entry.comments.clone()),
        Some((entry, _)) => return Err(mapping.wrong(entry, &entry.node, "a text")),
        None => (String::new(), Vec::new()),
    };
    let sentence = match first_sentence(&written) {
        "" => {
            mapping.remark(
                List::ToDecide,
                "description",
                "there is none: say in one sentence what is to be improved",
            );
            "Improve the program"
        }
        sentence => sentence,
    };
    mapping.draft.set("", "description", sentence.replace("${", "$${"), &comments);
    if let Some(entry) = at.entry.filter(|_| sentence != written) {
        mapping.note(
            List::Changed,
            entry,
            "its first sentence is the description, all of it stands in instruction.md",
        );
    }
    let body = match at.map.get("instruction_template") {
        Some(template) => from_template(mapping, template, &written)?,
        None => format!(
            "# {}\n\n{}\n",
            title(&mapping.name),
            if written.is_empty() { sentence } else { &written }
        ),
    };
    foreign(mapping, at.map.get("instruction_template").or(at.entry), &body);
    mapping.draft.set("instruction", "file", "instruction.md", &[]);
    mapping.files.push(File { path: "instruction.md".to_owned(), text: body, executable: false });
    Ok(())
}

/// Up to the first full stop that a blank or the end follows.
fn first_sentence(text: &str) -> &str {
    let paragraph = text.split('\n').next().unwrap_or_default().trim();
    let stop = paragraph.match_indices(['.', '!', '?']).map(|(at, _)| at + 1);
    let end = stop.into_iter().find(|end| paragraph[*end..].starts_with(' ')).unwrap_or(paragraph.len());
    &paragraph[..end]
}

/// A task's name as a heading.
fn title(name: &str) -> String {
    let words = name.replace('-', " ");
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Of a template that fills vero's block of framing, that block's text; of any other, all of it.
fn from_template(mapping: &mut Mapping, entry: &Entry, description: &str) -> Result<String> {
    let Value::Text(path) = &entry.node.value else {
        return Err(mapping.wrong(entry, &entry.node, "a text"));
    };
    let file = mapping.places.named(path);
    let template = std::fs::read_to_string(&file).map_err(failed("reading", mapping.places.shown(&file)))?;
    let block = between(&template, "{% block framing %}", "{% endblock %}");
    let mut text = block.unwrap_or(&template).to_owned();
    // The budget is always told, and there is a description.
    text = without_condition(&text, "{% if disclose_budget %}");
    text = without_condition(&text, "{% if description %}");
    text = text.replace("{{ description }}", description).replace("{{ layout.target_repo }}", "/workspace");
    let text = format!("{}\n", text.trim());
    mapping.note(
        List::Changed,
        entry,
        format!(
            "`{path}` became instruction.md; what vero's own template adds, Taskwright says in its words"
        ),
    );
    for (line, _) in numbered(&text).filter(|(_, line)| line.contains("{%") || line.contains("{{")) {
        mapping.note(
            List::ToDecide,
            entry,
            format!("instruction.md:{line} still holds a command of the template: write what it stands for"),
        );
    }
    Ok(text)
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(begin)?;
    Some(rest.split_once(end)?.0)
}

/// Takes a condition that holds out, and keeps what it is about.
fn without_condition(text: &str, condition: &str) -> String {
    match text
        .split_once(condition)
        .and_then(|(before, rest)| Some((before, rest.split_once("{% endif %}")?)))
    {
        Some((before, (inside, after))) => format!("{before}{inside}{after}"),
        None => text.to_owned(),
    }
}

fn foreign(mapping: &mut Mapping, entry: Option<&Entry>, body: &str) {
    let Some(entry) = entry else { return };
    for (line, text) in numbered(body) {
        if let Some(word) = FOREIGN.iter().find(|word| text.contains(**word)) {
            let text = format!(
                "instruction.md:{line} says `{}`: `taskwright` is what the optimizer calls here, in /workspace",
                word.trim().trim_matches('`')
            );
            mapping.note(List::ToDecide, entry, text);
        }
    }
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// The optimizer is always told its budget.
pub fn disclose_budget(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    only_yes(mapping, at, "the optimizer is always told what is left of its budget")
}

/// The optimizer always has the description of its commands.
pub fn skill(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    only_yes(mapping, at, "the description of the commands is always in the optimizer's container")
}

fn only_yes(mapping: &mut Mapping, at: At<'_>, why: &str) -> Result<()> {
    match at.entry.map(|entry| (entry, &entry.node.value)) {
        None | Some((_, Value::Bool(true))) => Ok(()),
        Some((entry, Value::Bool(false))) => {
            mapping.lose(entry, why);
            Ok(())
        }
        Some((entry, _)) => Err(mapping.wrong(entry, &entry.node, "a truth value")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_where_it_does() {
        assert_eq!(first_sentence("Improve it on Bench 2.1 a lot. More."), "Improve it on Bench 2.1 a lot.");
        assert_eq!(first_sentence("Only one"), "Only one");
        assert_eq!(first_sentence("One line\n\nAnd more."), "One line");
        assert_eq!(title("gaia-shell"), "Gaia shell");
    }
}
