//! `cargo xtask lint`: what there is to say of specs, each by the name of its rule, for people, programs and code hosts.

mod fix;

use clap::ValueEnum;
use serde_json::{Value, json};
use taskwright_base::rule::Rule;
use taskwright_builder::{Silent, lint};
use taskwright_language::{Diagnostic, Fix, Label, Severity};

pub use self::fix::fix;
use crate::address::percent;
use crate::exit::{self, Status};
use crate::interrupt;
use crate::output::{self, say};
use crate::workspace::{self, Places};

/// How often it is looked again for what can be put right.
const MOST_ROUNDS: usize = 20;

/// Say what is wrong, doubtful or could be better in specs and in what they name, and put right what is sure.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask lint\n  cargo xtask lint digits --fix\n  cargo xtask lint --format sarif > lint.sarif\n\n\
                  Nothing is built into its place. The exit status is 1 where something is wrong or doubtful; advice alone is 0.\n\
                  docs/lint.md explains each rule."
)]
pub struct Arguments {
    /// Tasks, or folders of specs, by name or by path; all if none is named.
    names: Vec<String>,
    /// Put right what can only be meant in one way: words of a command, quotes that lack or are too much, and line
    /// endings of Windows in a spec's own scripts.
    #[arg(long)]
    fix: bool,
    /// How to say it.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    #[command(flatten)]
    places: Places,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text to read, with the lines in question.
    Human,
    /// One JSON object a line.
    Json,
    /// SARIF 2.1.0, which code hosts show beside the lines.
    Sarif,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let stop = interrupt::flag()?;
    let workspace = arguments.places.workspace()?;
    let names: Vec<String> =
        arguments.names.iter().map(|name| workspace::task_name(&workspace, name)).collect();
    let mut found = lint(&workspace, &names, &Silent, &stop)?;
    if arguments.fix {
        let mut fixed = 0;
        // Nothing is looked for behind the first mistake of a task: what was put right may have hidden the next one.
        for _ in 0..MOST_ROUNDS {
            let now = fix(&workspace, &found)?;
            if now == 0 {
                break;
            }
            fixed += now;
            found = lint(&workspace, &names, &Silent, &stop)?;
        }
        if fixed > 0 {
            say(&format!("put right: {fixed}"));
        }
    }
    match arguments.format {
        Format::Human => human(&found)?,
        Format::Json => {
            for item in &found {
                output::print(&format!("{}\n", serde_json::to_string(item)?))?;
            }
        }
        Format::Sarif => output::print(&format!("{:#}\n", sarif(&found)))?,
    }
    let is_clean = found.iter().all(|item| item.severity == Severity::Advice);
    Ok(if is_clean { exit::SUCCESS } else { exit::FAILURE })
}

fn human(found: &[Diagnostic]) -> std::io::Result<()> {
    let color = output::is_colored();
    for item in found {
        say(item.render_named(color).trim_end());
    }
    let counts =
        [(Severity::Error, "wrong"), (Severity::Warning, "doubtful"), (Severity::Advice, "to better")];
    let words: Vec<String> = counts
        .into_iter()
        .map(|(severity, word)| (found.iter().filter(|item| item.severity == severity).count(), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let words = if words.is_empty() { "nothing to say".to_owned() } else { words.join(", ") };
    output::print(&format!("{words}\n"))
}

/// The findings as a log of SARIF 2.1.0 (OASIS): paths are from the workspace's root, lines and columns count from one, columns in
/// code points.
fn sarif(found: &[Diagnostic]) -> Value {
    let rules: Vec<Value> = Rule::ALL
        .iter()
        .map(|rule| json!({"id": rule.name(), "shortDescription": {"text": rule.meaning()}}))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "taskwright", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": found.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn result(item: &Diagnostic) -> Value {
    let level = match item.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Advice => "note",
    };
    let text = match &item.hint {
        Some(hint) => format!("{}; {hint}", item.message),
        None => item.message.clone(),
    };
    let mut result = json!({
        "ruleId": item.rule().name(),
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": location(&item.primary)}],
    });
    let related: Vec<Value> = item
        .secondary
        .iter()
        .map(|label| json!({"physicalLocation": location(label), "message": {"text": label.text}}))
        .collect();
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
    }
    if let Some(Fix::Text(fix)) = &item.fix {
        result["fixes"] = json!([{"artifactChanges": [{
            "artifactLocation": artifact(&item.primary),
            "replacements": [{"deletedRegion": region(&item.primary), "insertedContent": {"text": fix}}],
        }]}]);
    }
    result
}

fn location(label: &Label) -> Value {
    json!({"artifactLocation": artifact(label), "region": region(label)})
}

fn artifact(label: &Label) -> Value {
    json!({"uri": uri(label.source.name().as_str()), "uriBaseId": "%SRCROOT%"})
}

fn region(label: &Label) -> Value {
    let (start, end) = (label.source.position(label.span.start), label.source.position(label.span.end));
    json!({"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column})
}

/// A path as a relative reference.
fn uri(path: &str) -> String {
    path.split('/').map(percent).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use taskwright_language::Source;

    use super::*;

    const SPEC: &str = "name = \"a\"\nconcurrency = \"4\"\nrun = \"python3 run.py\"\n";

    fn finding(what: &str, fix: &str) -> Diagnostic {
        let source = Arc::new(Source::new("tasks/ä b/spec.toml", SPEC.to_owned()));
        let start = SPEC.find(what).unwrap();
        let found = Diagnostic::error(Label::new(source, start..start + what.len()), "wrong")
            .with_hint("write it so");
        Diagnostic { fix: Some(Fix::Text(fix.to_owned())), ..found.of(Rule::CommandWords) }
    }

    #[test]
    fn a_log_of_sarif_says_rule_place_and_fix() {
        let log = sarif(&[finding("\"4\"", "4")]);
        let result = &log["runs"][0]["results"][0];
        assert_eq!((&result["ruleId"], &result["level"]), (&json!("command-words"), &json!("error")));
        assert_eq!(result["message"]["text"], "wrong; write it so");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "tasks/%C3%A4%20b/spec.toml");
        let region = json!({"startLine": 2, "startColumn": 15, "endLine": 2, "endColumn": 18});
        assert_eq!(place["region"], region);
        let replacement = &result["fixes"][0]["artifactChanges"][0]["replacements"][0];
        assert_eq!(replacement, &json!({"deletedRegion": region, "insertedContent": {"text": "4"}}));
        let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]));
    }
}
