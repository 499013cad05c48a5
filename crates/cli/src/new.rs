//! `cargo xtask new`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::ValueEnum;
use taskwright_base::text::count;
use taskwright_builder::Workspace;
use taskwright_builder::scaffold::{Scaffold, scaffold};
use taskwright_language::model;

use crate::exit::{self, Status};
use crate::output::{self, GREEN, paint, paint_answer, say};
use crate::{interrupt, workspace};

/// Make the folder of a new spec, with an example that builds at once.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask new sort-numbers --mode a\n  cargo xtask new coder --mode b"
)]
pub struct Arguments {
    /// The task's name: small letters, digits and dashes, at most 32.
    name: String,
    /// What a sample is.
    #[arg(long, value_enum)]
    mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// A row of your own dataset, scored by your own scorer.
    A,
    /// An inner Harbor task, scored by its own verifier through a nested `harbor run`.
    B,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let mode = match arguments.mode {
        Mode::A => model::Mode::A,
        Mode::B => model::Mode::B,
    };
    let stop = interrupt::flag()?;
    let workspace = workspace::this()?;
    let made = scaffold(&workspace, &arguments.name, mode, &stop)?;
    output::print(&output::named(&text(&workspace, &arguments.name, mode, &made)))?;
    if let Some(obstacle) = &made.obstacle {
        output::warning(&obstacle.to_string());
        if let Some(hint) = obstacle.hint_text() {
            say(&format!("  {}: {hint}", paint("help", output::CYAN)));
        }
    }
    Ok(exit::SUCCESS)
}

/// What was made, with a line for each file or folder at its top, and what to type next.
fn text(workspace: &Workspace, name: &str, mode: model::Mode, made: &Scaffold) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for file in &made.files {
        *counts.entry(file.split_once('/').map_or(file.as_str(), |(folder, _)| folder)).or_default() += 1;
    }
    let mut text = format!("{} {}\n", paint_answer("made", GREEN), made.folder);
    for (top, files) in counts {
        let _ = match (made.files.iter().any(|file| file == top), files) {
            (true, _) => writeln!(text, "  {top}"),
            (false, files) => writeln!(text, "  {top}/  {}", count(files, "file")),
        };
    }
    let _ = writeln!(text, "next:\n  cargo xtask eval {name}\n  cargo xtask build-tasks {name}");
    let out = workspace.out.strip_prefix(&workspace.root).unwrap_or(&workspace.out);
    let _ = writeln!(text, "  harbor lint {out}/{name}");
    if mode == model::Mode::B {
        let _ = writeln!(
            text,
            "before `harbor run`, which starts inner trials from inside of the task:\n  cargo xtask build-tasks {name} --set \
             inner_docker=host-socket\n  (with it the task controls this machine's Docker: see {}/spec.toml)",
            made.folder
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_counted_and_files_named() {
        let made = Scaffold {
            folder: "harbor-tasks/x".into(),
            files: ["README.md", "baseline/a.py", "baseline/b/c.py", "dataset/r", "spec.toml"]
                .map(str::to_owned)
                .to_vec(),
            obstacle: None,
        };
        let workspace = Workspace::new("/w");
        insta::assert_snapshot!(text(&workspace, "x", model::Mode::A, &made), @r"
        made harbor-tasks/x
          README.md
          baseline/  2 files
          dataset/  1 file
          spec.toml
        next:
          cargo xtask eval x
          cargo xtask build-tasks x
          harbor lint target/harbor-tasks/x
        ");
        let said = text(&workspace, "x", model::Mode::B, &made);
        assert!(said.contains("  cargo xtask build-tasks x --set inner_docker=host-socket\n"), "{said}");
    }
}
