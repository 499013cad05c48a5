//! Every command that a page, a message or a template tells people to type is one of the table's, with its options.

use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            if name != "target" && name != ".git" && name != "__pycache__" {
                files(&path, found);
            }
        } else if [".md", ".rs", ".toml", ".hbs", ".sh", ".py"].iter().any(|end| name.ends_with(end))
            || folder.file_name().is_some_and(|name| name == ".ci")
        {
            found.push(path);
        }
    }
}

/// What follows each `cargo xtask` of a text, up to where a command line ends.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let ends = ['`', '{', '\n', '\\', '"', '#', '|', '&', ';', '>', '<', '(', ')', ',', '\''];
    text.split("cargo xtask ").skip(1).map(move |rest| rest.split(ends).next().unwrap_or_default())
}

/// What is wrong with a command line, if anything is.
fn wrong(commands: &clap::Command, line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    if !name.starts_with(|letter: char| letter.is_ascii_lowercase()) || line.starts_with(' ') {
        return None;
    }
    let name = name.trim_end_matches(['.', ':', '?']);
    if name == "help" {
        return None;
    }
    let Some(command) = commands.get_subcommands().find(|command| command.get_name() == name) else {
        return Some(format!("`cargo xtask {name}` is no command"));
    };
    // What is compiled into another program is known there.
    if command.get_arguments().any(|argument| argument.get_id() == "arguments") {
        return None;
    }
    let known = |option: &str| {
        let mut longs = command.get_arguments().filter_map(clap::Arg::get_long);
        option == "help" || longs.any(|long| long == option)
    };
    words
        .filter_map(|word| word.strip_prefix("--"))
        .map(|option| option.trim_end_matches(['.', ':', ']']).split(['=', '[']).next().unwrap_or_default())
        .find(|option| !option.is_empty() && !known(option))
        .map(|option| format!("`cargo xtask {name}` has no option `--{option}`"))
}

#[test]
fn commands_that_are_named_exist() {
    let commands = taskwright::commands::command();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let mut all = Vec::new();
    files(root, &mut all);
    let mut complaints = Vec::new();
    for path in all.iter().filter(|path| !path.ends_with(file!().rsplit('/').next().unwrap())) {
        let Ok(text) = fs::read_to_string(path) else { continue };
        let shown = path.strip_prefix(root).unwrap().display();
        complaints.extend(
            lines(&text).filter_map(|line| wrong(&commands, line)).map(|what| format!("{shown}: {what}")),
        );
    }
    assert_eq!(complaints, [""; 0]);
}

#[test]
fn what_does_not_exist_is_found() {
    let commands = taskwright::commands::command();
    let found = |text: &str| lines(text).find_map(|line| wrong(&commands, line));
    assert_eq!(found("run `cargo xtask cook`").as_deref(), Some("`cargo xtask cook` is no command"));
    assert_eq!(
        found("cargo xtask clean --all\n").as_deref(),
        Some("`cargo xtask clean` has no option `--all`")
    );
    assert_eq!(found("`cargo xtask build-tasks --set a=b --locked`, `cargo xtask VERB`"), None);
}
