//! `cargo xtask doctor`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::json;
use taskwright_builder::Workspace;
use taskwright_builder::doctor::{Check, Diagnosis, Machine, Purpose, State, ThisMachine, examine};

use crate::exit::{self, Status};
use crate::output::{self, GREEN, RED, YELLOW, paint_answer};
use crate::runs_on;
use crate::workspace;

/// How long one program may take to answer.
const LIMIT: Duration = Duration::from_secs(10);

/// Say what this machine lacks for building tasks and their images and for running them, and how to get it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask doctor\n  cargo xtask doctor --for all\n  cargo xtask doctor --for run --json\n  cargo xtask doctor --task digits"
)]
pub struct Arguments {
    /// What has to be possible for the exit status to be 0.
    #[arg(long = "for", value_enum, value_name = "WHAT", default_value_t = For::Build)]
    purpose: For,
    /// Say instead where a built task runs: what it needs, and which releases and backends of Harbor have it.
    #[arg(long, value_name = "NAME", conflicts_with = "purpose")]
    task: Option<String>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum For {
    /// Building task directories.
    Build,
    /// Building their images.
    Bake,
    /// Running them.
    Run,
    /// All of it.
    All,
}

impl For {
    fn purposes(self) -> &'static [Purpose] {
        match self {
            Self::Build => &[Purpose::Build],
            Self::Bake => &[Purpose::Bake],
            Self::Run => &[Purpose::Run],
            Self::All => &Purpose::ALL,
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    if let Some(typed) = &arguments.task {
        let workspace = workspace::this()?;
        return runs_on::run(&workspace, &workspace::task_name(&workspace, typed), arguments.json);
    }
    // A machine is looked at before it has a workspace: then as one that would be made here.
    let workspace = workspace::around()?.map_or_else(|| workspace::here().map(Workspace::new), Ok)?;
    let machine: Arc<dyn Machine> = Arc::new(ThisMachine { root: workspace.root.clone(), limit: LIMIT });
    // A moment more than a program has, so that its own end is what is told.
    let diagnosis = examine(&machine, &workspace, LIMIT + Duration::from_secs(2));
    let is_ready = diagnosis.is_ready(arguments.purpose.purposes());
    output::print(&if arguments.json { json_text(&diagnosis, is_ready)? } else { table(&diagnosis) })?;
    Ok(if is_ready { exit::SUCCESS } else { exit::FAILURE })
}

fn json_text(diagnosis: &Diagnosis, is_ready: bool) -> anyhow::Result<String> {
    let missing: serde_json::Map<_, _> = Purpose::ALL
        .iter()
        .map(|purpose| (purpose.word().to_owned(), json!(diagnosis.missing_for(*purpose))))
        .collect();
    let answer = json!({ "ready": is_ready, "missing": missing, "checks": diagnosis.checks });
    Ok(format!("{}\n", serde_json::to_string_pretty(&answer)?))
}

/// A line for each check, with what to do below those that are not well, and a last line for each purpose.
fn table(diagnosis: &Diagnosis) -> String {
    let shown = |check: &Check| check.found.clone().unwrap_or_else(|| "-".to_owned());
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or_default();
    let names = width(&mut diagnosis.checks.iter().map(|check| check.name.chars().count()));
    let founds = width(&mut diagnosis.checks.iter().map(|check| shown(check).chars().count()));
    let mut text = String::new();
    for check in &diagnosis.checks {
        let (word, color) = match check.state {
            State::Ok => ("ok", GREEN),
            State::Advice => ("advice", YELLOW),
            State::Missing => ("missing", RED),
        };
        let purposes: Vec<_> = check.needed_for.iter().map(|purpose| purpose.word()).collect();
        let word = paint_answer(&format!("{word:>8}"), color);
        let _ = writeln!(
            text,
            "{word}  {:names$}  {:founds$}  {}",
            check.name,
            shown(check),
            purposes.join(", ")
        );
        for (label, words) in [("", &check.problem), ("mend it: ", &check.remedy)] {
            if let Some(words) = words {
                let _ = writeln!(text, "{:10}{label}{words}", "");
            }
        }
    }
    text.push('\n');
    for purpose in Purpose::ALL {
        let missing = diagnosis.missing_for(purpose);
        let words =
            if missing.is_empty() { "ready".to_owned() } else { format!("lacks {}", missing.join(", ")) };
        let _ = writeln!(text, "{:>8}  {words}", purpose.word());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnosis() -> Diagnosis {
        const IMAGES: &[Purpose] = &[Purpose::Bake, Purpose::Run];
        let check =
            |name, state, found: Option<&str>, needed_for, problem: Option<&str>, remedy: Option<&str>| {
                Check {
                    name,
                    state,
                    found: found.map(str::to_owned),
                    needed_for,
                    problem: problem.map(str::to_owned),
                    remedy: remedy.map(str::to_owned),
                }
            };
        Diagnosis {
            checks: vec![
                check("git", State::Ok, Some("2.47.3"), &[Purpose::Build], None, None),
                check(
                    "docker",
                    State::Missing,
                    None,
                    IMAGES,
                    Some("`docker` is not on PATH"),
                    Some("apt-get install docker.io"),
                ),
                check(
                    "/dev/shm",
                    State::Advice,
                    Some("0.1 GiB"),
                    &[Purpose::Bench],
                    Some("at least 1.0 GiB"),
                    None,
                ),
            ],
        }
    }

    #[test]
    fn what_is_missing_is_said_where_it_matters() {
        insta::assert_snapshot!(table(&diagnosis()), @r"
         ok  git       2.47.3   build
    missing  docker    -        bake, run
             `docker` is not on PATH
             mend it: apt-get install docker.io
     advice  /dev/shm  0.1 GiB  bench
             at least 1.0 GiB

      build  ready
       bake  lacks docker
        run  lacks docker
      bench  ready
    ");
    }

    #[test]
    fn machines_read_the_same() {
        let text = json_text(&diagnosis(), false).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["missing"]["run"], json!(["docker"]));
        assert_eq!(answer["checks"][0]["state"], "ok");
        assert_eq!(answer["checks"][1]["needed_for"], json!(["bake", "run"]));
    }
}
