//! Mode A: the scorer's commands and the dataset's fields.

use super::rules::{at_least_one, refuse_doubles};
use super::{Context, baseline};
use crate::shape::words_of_command;
use taskwright_base::text::nearest;

/// What may stand in braces in a command's argument.
const PLACEHOLDERS: [&str; 3] = ["scorer", "candidate", "taskwright"];

pub fn check(context: &mut Context<'_>) {
    if let Some(scorer) = &context.spec.scorer {
        if scorer.score.is_empty() {
            context.error(
                &["scorer", "score"],
                "`score` names no command",
                "for example [\"python3\", \"{scorer}/score.py\"]",
            );
        }
        for (key, command) in [("run", &scorer.run), ("score", &scorer.score)] {
            command_words(context, key, command);
        }
        at_least_one(
            context,
            &["scorer", "batch"],
            scorer.batch,
            "1 hands each sample to a process of its own",
        );
    }
    dataset(context);
}

fn command_words(context: &mut Context<'_>, key: &str, command: &[String]) {
    for (index, word) in command.iter().enumerate() {
        let index = index.to_string();
        let path = ["scorer", key, index.as_str()];
        if index == "0" && word.trim().is_empty() {
            context.error(&path, "the command has no name", "the first word is the program");
        }
        if index == "0" && is_whole_command(word) {
            context.error(
                &path,
                "the first word is the program, and this is a whole command",
                format!("write each of its words by itself: {}", words_of_command(word)),
            );
        }
        if word.contains('\0') {
            context.error(&path, "an argument cannot hold a NUL character", "take it out");
        }
        for name in placeholders(word).filter(|name| !PLACEHOLDERS.contains(name)) {
            let hint = match nearest(name, PLACEHOLDERS) {
                Some(near) => format!("did you mean `{{{near}}}`?"),
                None => "there are `{scorer}`, `{candidate}` and `{taskwright}`".to_owned(),
            };
            context.error(&path, format!("there is no placeholder `{{{name}}}`"), hint);
        }
    }
}

/// Whether the name of a program is a command with arguments: a program on the `PATH` has no blank in its name, and a
/// placeholder behind a blank begins another word.
fn is_whole_command(word: &str) -> bool {
    word.split_once(char::is_whitespace).is_some_and(|(program, rest)| {
        !rest.trim().is_empty() && (!program.contains('/') || rest.contains('{'))
    })
}

/// The words in braces; braces around anything else (JSON, a shell block) are no placeholders.
fn placeholders(word: &str) -> impl Iterator<Item = &str> {
    word.match_indices('{').filter_map(|(at, _)| {
        let (name, _) = word[at + 1..].split_once('}')?;
        let is_word = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        is_word.then_some(name)
    })
}

fn dataset(context: &mut Context<'_>) {
    let Some(dataset) = &context.spec.dataset else { return };
    if dataset.id.is_empty() {
        context.error(&["dataset", "id"], "`id` is empty", "name the field that tells the rows apart");
    }
    for (index, label) in dataset.labels.iter().enumerate() {
        let index = index.to_string();
        if label.is_empty() {
            context.error(&["dataset", "labels", &index], "the label has no name", "take it out");
        } else if *label == dataset.id {
            context.error(
                &["dataset", "labels", &index],
                format!("`{label}` is the rows' id and cannot be hidden from candidates"),
                "answers are matched to samples by it; give the label a field of its own",
            );
        }
    }
    refuse_doubles(context, &["dataset", "labels"], &dataset.labels, "label");
    if dataset.rows.is_empty() {
        context.error(&["dataset", "rows"], "no file holds rows", "for example [\"*.jsonl\"]");
    }
    for (index, pattern) in dataset.rows.iter().enumerate() {
        if let Some((message, hint)) = baseline::pattern_problem(pattern) {
            context.error(&["dataset", "rows", &index.to_string()], message, hint);
        }
    }
}
