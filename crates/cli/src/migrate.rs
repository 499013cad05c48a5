//! `cargo xtask migrate`.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;
use taskwright_base::table::Table;
use taskwright_base::text::count;
use taskwright_base::{Error, error::failed};
use taskwright_builder::resolved;
use taskwright_builder::scaffold::{make_folder, refuse_taken};
use taskwright_migrate::{List, Migration, Places, find, migrate};

use crate::exit::{self, Status};
use crate::output::{self, GREEN, paint_answer};
use crate::{interrupt, workspace};

/// Turn configurations of vero into specs, and say what could not come along.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask migrate suite/gaia/baseline/build.yaml\n  cargo xtask migrate suite\n  \
                        cargo xtask migrate suite --json > notes.json\n\nNothing that exists is overwritten, and one \
                        configuration with a mistake keeps all of them from being written."
)]
pub struct Arguments {
    /// Configurations, or folders that hold some: files called `build.yaml` or `build.VARIANT.yaml`.
    #[arg(required = true, value_name = "FILE-OR-FOLDER")]
    paths: Vec<Utf8PathBuf>,
    /// Where each spec gets its folder, instead of harbor-tasks.
    #[arg(long, value_name = "DIR")]
    out: Option<Utf8PathBuf>,
    /// Print what was made, and the three lists, as JSON.
    #[arg(long)]
    json: bool,
}

/// A configuration and what it becomes.
struct Moved {
    file: Utf8PathBuf,
    migration: Migration,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let workspace = workspace::this()?;
    let root = workspace.root.canonicalize_utf8().map_err(failed("reading", &workspace.root))?;
    let specs = match &arguments.out {
        Some(out) => resolved(&workspace::from_here(out)?),
        None => root.join(&workspace.specs),
    };
    let shown = specs.strip_prefix(&root).unwrap_or(&specs).to_owned();
    let moved = read(arguments, &root, &specs, &shown)?;
    let stop = interrupt::flag()?;
    for Moved { migration, .. } in &moved {
        make_folder(&specs, &shown, &migration.name, &migration.files, &stop)?;
    }
    let text = if arguments.json {
        json_text(&moved, &shown)
    } else {
        output::named(&human(&moved, &shown)).into_owned()
    };
    output::print(&text)?;
    Ok(exit::SUCCESS)
}

/// Reads all configurations, and sees that each can have its folder, before any is written.
fn read(
    arguments: &Arguments,
    root: &Utf8Path,
    specs: &Utf8Path,
    shown: &Utf8Path,
) -> anyhow::Result<Vec<Moved>> {
    let mut moved: Vec<Moved> = Vec::new();
    let mut names: BTreeMap<String, Utf8PathBuf> = BTreeMap::new();
    for path in &arguments.paths {
        for file in find(path)? {
            let places = Places { root: root.to_owned(), specs: specs.to_owned(), file: file.clone() };
            let shown_file = places.shown(&file).to_owned();
            let migration = migrate(places)?;
            if let Some(first) = names.insert(migration.name.clone(), shown_file.clone()) {
                let message =
                    format!("`{first}` and `{shown_file}` would both be the spec `{}`", migration.name);
                return Err(Error::new(message)
                    .hint("give one of them another `name`: nothing was made")
                    .into());
            }
            refuse_taken(specs, shown, &migration.name)?;
            moved.push(Moved { file: shown_file, migration });
        }
    }
    Ok(moved)
}

fn human(moved: &[Moved], shown: &Utf8Path) -> String {
    let mut text = String::new();
    for Moved { file, migration } in moved {
        let folder = shown.join(&migration.name);
        text += &format!("{} {folder} from {file}\n", paint_answer("made", GREEN));
        for list in List::ALL {
            let mut table = Table::new(["line", "<key", "<what to know"]);
            for note in migration.notes.iter().filter(|note| note.list == list) {
                let line = note.line.map_or_else(|| "-".to_owned(), |line| line.to_string());
                table.row([line.as_str(), &note.key, &note.text]);
            }
            if !table.is_empty() {
                text += &format!("\n{}\n{}", list.title(), table.text());
            }
        }
        text.push('\n');
    }
    text + &format!("{}; next: cargo xtask build-tasks\n", count(moved.len() as u64, "spec"))
}

fn json_text(moved: &[Moved], shown: &Utf8Path) -> String {
    let made = moved.iter().map(|Moved { file, migration }| {
        let files: Vec<&str> = migration.files.iter().map(|file| file.path.as_str()).collect();
        let of = |list| migration.notes.iter().filter(move |note| note.list == list).collect::<Vec<_>>();
        json!({
            "from": file,
            "folder": shown.join(&migration.name),
            "files": files,
            "changed": of(List::Changed),
            "not_carried": of(List::NotCarried),
            "to_decide": of(List::ToDecide),
        })
    });
    let answer = json!({ "made": made.collect::<Vec<_>>() });
    format!("{answer:#}\n")
}
