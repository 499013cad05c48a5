//! `cargo xtask release`: the data set of built tasks that goes out, beside the last one.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use clap::ValueEnum;
use serde_json::json;
use taskwright_base::rule::Rule;
use taskwright_base::table::Table;
use taskwright_base::text::count;
use taskwright_base::{Error, failed};
use taskwright_builder::diff::{Fate, Past};
use taskwright_builder::release::{Moved, Release, Row, last, plan};
use taskwright_builder::{Options, Silent, Workspace, build};
use taskwright_harbor::dataset::dataset_digest;
use taskwright_ledger::redact;
use walkdir::WalkDir;

use crate::diff::{meaning, open};
use crate::exit::{self, Status};
use crate::output::{self, say};
use crate::workspace::{self, from_here, task_name};
use crate::{interrupt, lint};

/// Make the data set of built tasks that goes out, and say what changed in it since the last one.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask release --dry-run\n  cargo xtask release --write\n  cargo xtask release digits --since v1.0.0 --out /tmp/dataset\n\n\
                  The folder is for `harbor publish`. `dataset.toml` beside the specs says what went out: commit it with the lock. \
                  The exit status is 1 where something keeps it from going out. docs/releases.md says more."
)]
pub struct Arguments {
    /// Tasks, or folders of specs, to release, by name or by path; all if none is named.
    names: Vec<String>,
    /// Write nothing; say what would go out, and what keeps it from going out.
    #[arg(long)]
    dry_run: bool,
    /// What to hold it against, a revision or a lock, instead of the last release.
    #[arg(long, value_name = "REF")]
    since: Option<String>,
    /// Where the data set goes, instead of beside the built tasks [default: target/harbor-tasks.release].
    #[arg(long, value_name = "DIR")]
    out: Option<Utf8PathBuf>,
    /// Write the versions that are needed into the specs, and build again, first.
    #[arg(long, conflicts_with = "dry_run")]
    write: bool,
    /// Let something go out that would be refused.
    #[arg(long, value_enum, value_name = "RULE")]
    allow: Vec<Allowed>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// What may go out all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Allowed {
    /// What has the shape of a secret.
    Secrets,
    /// What scores the optimizer where it can read it.
    Answers,
    /// Images that may be others tomorrow.
    UnpinnedImage,
}

impl Allowed {
    fn rule(self) -> Rule {
        match self {
            Self::Secrets => Rule::Secrets,
            Self::Answers => Rule::Answers,
            Self::UnpinnedImage => Rule::UnpinnedImage,
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let stop = interrupt::flag()?;
    let workspace = workspace::this()?;
    let names: Vec<String> = arguments.names.iter().map(|name| task_name(&workspace, name)).collect();
    let allow: Vec<Rule> = arguments.allow.iter().map(|allowed| allowed.rule()).collect();
    let out = match &arguments.out {
        Some(out) => from_here(out)?,
        None => Utf8PathBuf::from(format!("{}.release", workspace.out)),
    };
    let since: Option<Past> = match &arguments.since {
        Some(named) => Some(open(&workspace, named)?),
        None => last(&workspace)?,
    };
    let look = || -> anyhow::Result<Release> {
        let mut release = plan(&workspace, &names, since.as_ref(), &allow, &stop)?;
        if !allow.contains(&Rule::Secrets) {
            secrets(&workspace, &mut release)?;
        }
        Ok(release)
    };
    let mut release = look()?;
    if arguments.write {
        let written = lint::fix(&workspace, &release.lines())?;
        if written > 0 {
            say(&format!("versions written: {written}"));
            let report =
                build(&workspace, &Options { names: names.clone(), ..Options::default() }, &Silent, &stop)?;
            if report.is_interrupted() {
                return Ok(exit::INTERRUPTED);
            }
            release = look()?;
        }
    }
    let goes_out = release.refusals.is_empty();
    let written = goes_out && !arguments.dry_run;
    if written {
        release.write(&workspace, &out)?;
    }
    let written = written.then_some(out.as_path());
    output::print(&if arguments.json {
        json_text(&release, written)?
    } else {
        text(&release, written, &workspace)
    })?;
    if !arguments.json {
        for refusal in &release.refusals {
            output::error(&refusal.to_string(), refusal.hint_text());
        }
    }
    Ok(if goes_out { exit::SUCCESS } else { exit::FAILURE })
}

/// Refuses tasks that hold what has the shape of a secret.
fn secrets(workspace: &Workspace, release: &mut Release) -> anyhow::Result<()> {
    let names: Vec<String> =
        release.rows.iter().filter(|row| row.new.is_some()).map(|row| row.name.clone()).collect();
    for name in names {
        let folder = workspace.out.join(&name);
        for entry in WalkDir::new(&folder).sort_by_file_name() {
            let entry = entry.map_err(|error| Error::new(format!("reading `{folder}`: {error}")))?;
            if !entry.file_type().is_file() {
                continue;
            }
            let path = entry.path();
            let bytes = fs::read(path).map_err(failed("reading", path))?;
            let Some(found) = redact::find(&bytes).into_iter().next() else { continue };
            let line = bytes[..found.start].split(|byte| *byte == b'\n').count();
            let inside = path.strip_prefix(&folder).unwrap_or(path).display();
            let why = Error::new(format!(
                "`{name}`: `{inside}`, line {line}, holds what has the shape of a secret"
            ));
            let hint = "take it out of the file that it comes from, and change the secret: it may be known already; `--allow secrets` lets it go out";
            release.refuse(why.hint(hint).of(Rule::Secrets));
        }
    }
    Ok(())
}

fn text(release: &Release, written: Option<&Utf8Path>, workspace: &Workspace) -> String {
    let mut table = Table::new(["<task", "<version", "<content", "<changed", "<for earlier trials"]);
    for row in &release.rows {
        table.row(cells(row));
    }
    let tasks = count(release.manifest.tasks.len() as u64, "task");
    let set = &release.manifest.dataset;
    let version = set.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
    let against =
        release.since.as_ref().map_or("the first release".to_owned(), |since| format!("beside {since}"));
    let mut text = format!("{}{version}: {tasks}, {against}\n\n{}\n", set.name, table.text());
    for row in &release.rows {
        if let Moved::Little { by } = row.version {
            text.push_str(&format!(
                "{}: its version says {by}, by which Harbor goes: {}\n",
                row.name,
                by.meaning()
            ));
        }
    }
    match written {
        Some(out) => text.push_str(&format!(
            "wrote {out}: `harbor publish {out}` publishes it; commit {}/dataset.toml with the lock, and tag the commit\n",
            workspace.specs
        )),
        None if release.refusals.is_empty() => text.push_str("it can go out\n"),
        None => text.push_str(&format!("it cannot go out: {}\n", count(release.refusals.len() as u64, "reason"))),
    }
    text
}

fn cells(row: &Row) -> [String; 5] {
    let both = |of: fn(&taskwright_builder::release::Issue) -> String| {
        let (old, new) = (row.old.as_ref().map(of), row.new.as_ref().map(of));
        match (old, new) {
            (Some(old), Some(new)) if old == new => new,
            (Some(old), Some(new)) => format!("{old} -> {new}"),
            (Some(old), None) => format!("{old} -> none"),
            (None, Some(new)) => new,
            (None, None) => String::new(),
        }
    };
    let version = both(|issue| issue.version.clone().unwrap_or_else(|| "none".to_owned()));
    let content = both(|issue| {
        issue.digest.strip_prefix("sha256:").unwrap_or(&issue.digest).chars().take(12).collect()
    });
    let (changed, means) = match &row.fate {
        None if row.old.is_none() => ("new".to_owned(), "there are none".to_owned()),
        None => ("nothing".to_owned(), "earlier results are reused".to_owned()),
        Some(Fate::Came { .. }) => ("new".to_owned(), "there are none".to_owned()),
        Some(Fate::Went { .. }) => ("goes".to_owned(), "they stay".to_owned()),
        Some(Fate::Changed(changed)) => {
            let parts: Vec<&str> = changed.parts.iter().map(|part| part.part.word()).collect();
            (parts.join(", "), meaning(changed))
        }
    };
    [row.name.clone(), version, content, changed, means]
}

fn json_text(release: &Release, written: Option<&Utf8Path>) -> anyhow::Result<String> {
    let refused = |error: &Error| json!({"rule": error.rule().map(Rule::name), "message": error.to_string(), "hint": error.hint_text()});
    let answer = json!({
        "ready": release.refusals.is_empty(),
        "since": release.since,
        "dataset": {
            "name": release.manifest.dataset.name,
            "version": release.manifest.dataset.version,
            // That of a set with files of its own is another, which nobody but Harbor needs.
            "digest": if release.manifest.files.is_empty() {
                dataset_digest(release.manifest.tasks.iter().map(|task| task.digest.as_str()))
            } else {
                None
            },
        },
        "tasks": release.rows,
        "refused": release.refusals.iter().map(refused).collect::<Vec<_>>(),
        "written": written,
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&answer)?))
}
