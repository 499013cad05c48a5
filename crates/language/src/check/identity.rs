//! Names, version, authors, and the sections that each mode needs.

use taskwright_harbor::names;

use super::Context;
use crate::model::{Mode, Verifier};

pub fn check(context: &mut Context<'_>) {
    let spec = context.spec;
    if let Err(problem) = names::check_dir_name(&spec.name) {
        let hint = match names::shorten(&spec.name) {
            shorter if shorter.is_empty() || spec.name.trim().is_empty() => {
                "for example `sort-numbers`".to_owned()
            }
            shorter => format!("for example `{shorter}`"),
        };
        context.error(&["name"], problem.to_string(), hint);
    }
    if names::check_task_name(&format!("{}/x", spec.organization)).is_err() || spec.organization.contains('/')
    {
        context.error(
            &["organization"],
            format!("`{}` cannot be the organization of a task", spec.organization.escape_debug()),
            "start with a letter or digit, and go on with letters, digits, `.`, `_` and `-`",
        );
    }
    if let Err(problem) = semver::Version::parse(&spec.version) {
        context.error(
            &["version"],
            format!("`{}` is not a semantic version: {problem}", spec.version.escape_debug()),
            "write three numbers, as in \"1.0.0\"",
        );
    }
    if spec.description.trim().is_empty() {
        context.error(
            &["description"],
            "`description` is empty",
            "say in one sentence what is to be improved",
        );
    }
    nul(context);
    authors(context);
    for (index, word) in spec.keywords.iter().enumerate() {
        if word.trim().is_empty() {
            context.error(&["keywords", &index.to_string()], "the keyword is empty", "take it out");
        }
    }
    sections(context);
    if spec.verifier == Verifier::Shared {
        context.warning(
            &["verifier"],
            "a process that the optimizer leaves behind can forge the reward",
            "use `verifier = \"separate\"` wherever the runner can collect from sidecars",
        );
    }
}

fn authors(context: &mut Context<'_>) {
    let spec = context.spec;
    for (index, author) in spec.authors.iter().enumerate() {
        let index = index.to_string();
        if author.name.trim().is_empty() {
            context.error(&["authors", &index, "name"], "the author has no name", "write who it is");
        }
        if let Some(email) = &author.email
            && !is_address(email)
        {
            context.error(
                &["authors", &index, "email"],
                format!("`{}` is not a mail address", email.escape_debug()),
                "write `name@domain`, or leave it out",
            );
        }
    }
}

/// Reports the one character that no environment, command or commit can carry. All others are quoted where they go.
fn nul(context: &mut Context<'_>) {
    let spec = context.spec;
    let mut texts = vec![(vec!["description".to_owned()], spec.description.as_str())];
    let list = |key: &str, index: usize| vec![key.to_owned(), index.to_string()];
    texts.extend(
        spec.keywords.iter().enumerate().map(|(index, word)| (list("keywords", index), word.as_str())),
    );
    for (index, author) in spec.authors.iter().enumerate() {
        texts.push(([list("authors", index), vec!["name".to_owned()]].concat(), &author.name));
    }
    if let Some(solution) = &spec.solution {
        texts.push((vec!["solution".to_owned(), "message".to_owned()], &solution.message));
    }
    for (path, text) in texts {
        if text.contains('\0') {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            context.error(&path, "the text holds the control character `\\0`", "take it out");
        }
    }
}

fn is_address(text: &str) -> bool {
    text.split_once('@')
        .is_some_and(|(name, domain)| !name.is_empty() && !domain.is_empty() && !domain.contains('@'))
        && !text.contains(|character: char| character.is_whitespace() || character.is_control())
}

fn sections(context: &mut Context<'_>) {
    let spec = context.spec;
    let mut need = |there: bool, mode: &str, section: &str, what: &str| {
        if !there && context.trusts(section) {
            context.error(
                &["mode"],
                format!("Mode {mode} needs `[{section}]`"),
                format!("add `[{section}]`: {what}"),
            );
        }
    };
    match spec.mode {
        Mode::A => {
            need(spec.scorer.is_some(), "A", "scorer", "the commands that run and score a candidate");
            need(spec.dataset.is_some(), "A", "dataset", "the rows that candidates are run on");
        }
        Mode::B => {
            need(spec.harbor.is_some(), "B", "harbor", "the nested `harbor run` that scores a candidate");
        }
    }
}
