//! `taskwright skill`: how to use this command, made from the very table that parses it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::cli::{Arguments, SkillArguments};
use crate::exit;

const COMMANDS: [&str; 9] =
    ["plan", "eval", "wait", "status", "cancel", "results", "diff", "submit", "models"];

/// Prints the skill, or writes it into a folder.
pub fn run(arguments: &SkillArguments) -> ExitCode {
    let text = text();
    let Some(folder) = &arguments.to else {
        if arguments.output.json {
            println!("{}", serde_json::json!({ "skill": text }));
        } else {
            print!("{text}");
        }
        return ExitCode::SUCCESS;
    };
    match write(folder, &text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("taskwright: writing the skill into `{}`: {error}", folder.display());
            ExitCode::from(exit::FAILED)
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "nobody reads it before the command has ended")]
fn write(folder: &Path, text: &str) -> std::io::Result<()> {
    let folder = folder.join("taskwright");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("SKILL.md"), text)
}

pub fn text() -> String {
    let mut text = String::from(HEAD);
    let mut table = Arguments::command();
    table.build();
    for name in COMMANDS {
        let Some(command) = table.find_subcommand(name) else { continue };
        describe(&mut text, &format!("taskwright {name}"), command);
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            describe(&mut text, &format!("taskwright {name} {}", inner.get_name()), inner);
        }
    }
    text.push_str(TAIL);
    text
}

fn describe(text: &mut String, name: &str, command: &clap::Command) {
    if command.get_subcommands().next().is_some() {
        return;
    }
    let mut usage = name.to_owned();
    let mut options = String::new();
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
        let value = argument.get_value_names().unwrap_or_default().join(" ");
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        match argument.get_long() {
            Some("help" | "json") => {}
            Some(long) => {
                let flag = if argument.get_action().takes_values() {
                    format!("--{long} {value}")
                } else {
                    format!("--{long}")
                };
                if argument.is_required_set() {
                    let _ = write!(usage, " {flag}");
                }
                let _ = writeln!(options, "  - `{flag}`: {help}");
            }
            None if argument.is_required_set() => {
                let _ = write!(usage, " {value}");
            }
            None => {
                let _ = write!(usage, " [{value}...]");
            }
        }
    }
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(text, "- `{usage}`: {about}");
    text.push_str(&options);
}

const HEAD: &str = "\
---
name: taskwright
description: Evaluate and submit candidates of this task with the `taskwright` command. Use it whenever you want to \
know how good a commit is, how much budget is left, or to hand in your result.
---

# Evaluating and submitting candidates

A candidate is a commit of the repository in `/workspace`. A service outside this container runs and scores it; the
`taskwright` command talks to that service. The usual round:

1. `taskwright plan` shows the splits, what you may learn of each, and the budget.
2. Change the code, `git commit`.
3. `taskwright eval --split NAME` evaluates the last commit and prints the score.
4. Go on with what got better; `taskwright results list` shows all scores so far.
5. `taskwright submit` nominates the last commit as your result. The last nomination counts.

Every command takes `--json`, and `--help` shows an example.

";

const TAIL: &str = "
Exit status: 0 done, 1 the evaluation failed, 2 wrong usage, 3 refused (budget, access, candidate), 4 the service
cannot be reached. A refusal says what to do instead.

Results are also kept as files: `git rev-parse --git-path taskwright` names the folder. `evaluations.jsonl` there has a
line for each evaluation, `NAME.jsonl` the evaluation and then each sample, where the split shows samples.
";

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn the_skill_names_every_command_of_the_optimizer() {
        let text = text();
        for name in COMMANDS {
            assert!(text.contains(&format!("`taskwright {name}")), "{name}");
        }
        assert!(text.contains("`--samples N|IDS`"));
    }
}
