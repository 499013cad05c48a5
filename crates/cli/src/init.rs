//! `cargo xtask init`: what a repository needs to be a workspace.

use std::fmt::Write as _;
use std::fs;

use anyhow::Context;
use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::Error;
use taskwright_base::write::{Durable, atomic};
use taskwright_builder::Workspace;
use taskwright_builder::scaffold::scaffold;
use taskwright_language::model;
use taskwright_language::workspace::FILE;

use crate::exit::{self, Status};
use crate::output::{self, GREEN, paint_answer};
use crate::{interrupt, workspace};

/// Make a repository a workspace: write what is missing, and leave what is there as it is.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask init\n  cargo xtask init --task sort-numbers\n  cargo xtask init --xtask"
)]
pub struct Arguments {
    /// The folder that becomes the workspace's root.
    #[arg(default_value = ".")]
    folder: Utf8PathBuf,
    /// The name of the first task; none is made where there are specs already.
    #[arg(long, value_name = "NAME", default_value = "first-task")]
    task: String,
    /// Write the crate that makes every command one of `cargo xtask`, too.
    #[arg(long)]
    xtask: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let root = workspace::from_here(&arguments.folder)?;
    let Ok(root) = root.canonicalize_utf8() else {
        let error = Error::new(format!("there is no folder `{}`", arguments.folder));
        return Err(error.hint("make it first, and `git init` in it").usage().into());
    };
    let mut made = Made { root: root.clone(), text: String::new() };
    made.file(FILE, &places(&root))?;
    let workspace = Workspace::open(&root)?;
    made.lines(".gitignore", &ignored(&workspace))?;
    if !workspace::holds_specs(&root.join(&workspace.specs)).unwrap_or(false) {
        let task = scaffold(&workspace, &arguments.task, model::Mode::A, &*interrupt::flag()?)?;
        made.say("made", task.folder.as_str());
    }
    let specs = &workspace.specs;
    made.file(&format!("{specs}/spec.schema.json"), &taskwright_language::schema::json_schema_text())?;
    made.file(".taplo.toml", &format!(include_str!("init/taplo.toml"), specs = specs))?;
    made.file(".github/workflows/taskwright.yml", include_str!("init/workflow.yml"))?;
    made.file(".pre-commit-config.yaml", include_str!("init/pre-commit.yaml"))?;
    if arguments.xtask {
        made.file("xtask/Cargo.toml", include_str!("init/xtask.toml"))?;
        made.file("xtask/src/main.rs", include_str!("init/xtask.rs"))?;
        made.file(".cargo/config.toml", include_str!("init/cargo.toml"))?;
        let _ = writeln!(made.text, "next: name \"xtask\" among the members of your workspace's Cargo.toml");
    }
    let _ = writeln!(
        made.text,
        "next:\n  git add --all && git commit --message 'A workspace for Taskwright'\n  cargo xtask build-tasks"
    );
    output::print(&output::named(&made.text))?;
    Ok(exit::SUCCESS)
}

/// A new `taskwright.toml`. Cargo's own `target` is a good place for what is made; where there is none, that name may well be one of
/// the repository's own folders.
fn places(root: &Utf8Path) -> String {
    let head = "# Where this workspace keeps its parts, as paths from here. Every key may be left out.\n";
    if root.join("Cargo.toml").exists() {
        return head.to_owned();
    }
    format!("{head}output = \".taskwright/tasks\"\ncache = \".taskwright/cache\"\n")
}

/// What is made again at any time, or belongs to a machine, as lines of a `.gitignore`.
fn ignored(workspace: &Workspace) -> Vec<String> {
    let inside = |path: &Utf8Path| {
        let path = workspace.root.join(path);
        path.strip_prefix(&workspace.root).ok().map(|path| format!("/{path}/"))
    };
    let places =
        [&workspace.out, &workspace.lost_dir(), &workspace.cache, &workspace.ledger, &workspace.jobs];
    places.into_iter().filter_map(|path| inside(path)).collect()
}

/// What was made, and what was there.
struct Made {
    root: Utf8PathBuf,
    text: String,
}

impl Made {
    fn say(&mut self, word: &str, path: &str) {
        let _ = writeln!(self.text, "{} {path}", paint_answer(word, GREEN));
    }

    /// Writes a file, unless something is there.
    fn file(&mut self, path: &str, content: &str) -> anyhow::Result<()> {
        let place = self.root.join(path);
        if fs::symlink_metadata(&place).is_ok() {
            self.say("kept", path);
            return Ok(());
        }
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder).with_context(|| format!("creating `{folder}`"))?;
        }
        atomic(&place, Durable::No, content.as_bytes())?;
        self.say("made", path);
        Ok(())
    }

    /// Adds the lines to a file that it does not have; those that are there stay as they are.
    fn lines(&mut self, path: &str, lines: &[String]) -> anyhow::Result<()> {
        let place = self.root.join(path);
        let before = match fs::read_to_string(&place) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("reading `{path}`")),
        };
        let has =
            |line: &str| before.lines().any(|there| there.trim().trim_matches('/') == line.trim_matches('/'));
        let missing: Vec<&str> = lines.iter().map(String::as_str).filter(|line| !has(line)).collect();
        if missing.is_empty() {
            self.say("kept", path);
            return Ok(());
        }
        let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        let text = format!("{before}{gap}{}\n", missing.join("\n"));
        atomic(&place, Durable::No, text.as_bytes())?;
        self.say(if before.is_empty() { "made" } else { "added to" }, path);
        Ok(())
    }
}
