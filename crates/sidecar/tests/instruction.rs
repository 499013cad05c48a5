//! Every command and flag that an optimizer is told of is one that the binary takes.

use std::path::Path;
use std::process::Command;

/// What stands for a value in a text that is to be read by people.
const VALUES: [&str; 9] = ["NAME", "N", "N|IDS", "A", "B", "REV", "SECONDS", "EVALUATION", "[EVALUATION...]"];

fn accepts(arguments: &[&str]) -> bool {
    let arguments = arguments.iter().map(|argument| if VALUES.contains(argument) { "3" } else { argument });
    let output = Command::new(env!("CARGO_BIN_EXE_taskwright-sidecar"))
        .args(arguments)
        .arg("--help")
        .output()
        .unwrap();
    output.status.success()
}

/// The commands in a text: what stands in backticks, and lines of a shell script.
fn commands(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("taskwright "));
    quoted
        .chain(lines)
        .filter(|command| command.starts_with("taskwright "))
        .map(|command| command.replace("{{sh this}}", "NAME"))
        .collect()
}

fn check(name: &str, text: &str, least: usize) {
    let commands = commands(text);
    assert!(commands.len() >= least, "{name} mentions {commands:?}");
    for command in commands {
        let arguments: Vec<&str> =
            command.split_whitespace().skip(1).filter(|argument| *argument != "--help").collect();
        if arguments != ["COMMAND"] {
            assert!(accepts(&arguments), "{name} mentions `{command}`, which is not accepted");
        }
    }
    for flag in text.split('`').skip(1).step_by(2).filter(|word| word.starts_with("--") && *word != "--help")
    {
        let flag: Vec<&str> = flag.split_whitespace().collect();
        let commands: [&[&str]; 5] =
            [&["eval", "--split", "NAME"], &["eval"], &["wait"], &["submit"], &["models"]];
        let somewhere = commands.iter().any(|command| {
            // A flag is also mentioned without its value.
            accepts(&[command, flag.as_slice()].concat())
                || accepts(&[command, flag.as_slice(), &["N"]].concat())
        });
        assert!(somewhere, "{name} mentions `{}`, which no command takes", flag.join(" "));
    }
}

fn template(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../builder/templates").join(path);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_instruction_and_the_oracle_name_what_is_there() {
    check("instruction.md", &template("instruction.md.hbs"), 9);
    check("solve.sh", &template("solution/solve.sh.hbs"), 2);
}

#[test]
fn the_skill_names_what_is_there() {
    let output = Command::new(env!("CARGO_BIN_EXE_taskwright-sidecar")).arg("skill").output().unwrap();
    check("SKILL.md", &String::from_utf8(output.stdout).unwrap(), 12);
}

#[test]
fn what_is_not_there_is_noticed() {
    assert!(!accepts(&["evaluate"]));
    assert!(!accepts(&["eval", "--splits", "NAME"]));
    assert!(!accepts(&["results", "all"]));
}
