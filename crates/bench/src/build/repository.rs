//! `build-tasks` on this repository with nothing to do: what a user waits for, cargo and the start included.

use std::process::Command;

use anyhow::ensure;

use super::context::Context;
use crate::process;
use crate::rows::{Row, Sample, Section, Unit};

/// Measures.
pub fn measure(context: &Context) -> anyhow::Result<Section> {
    let program = || Command::new(&context.program);
    let cargo = || {
        let mut cargo = process::cargo();
        cargo.arg("xtask");
        cargo
    };
    Ok(Section {
        title: "This repository, with nothing to do".to_owned(),
        rows: vec![
            row(context, "repository/program", "target/release/xtask", program)?,
            row(context, "repository/cargo", "cargo xtask", cargo)?,
        ],
    })
}

fn row(context: &Context, name: &str, word: &str, start: impl Fn() -> Command) -> anyhow::Result<Row> {
    let seconds = |argument: &str| context.run(start().arg(argument).current_dir(&context.repository));
    let (mut build, mut version) = (Vec::new(), Vec::new());
    let ((), busy) = context.clock.series(word, || {
        // The first may have something to build, the second something to remember.
        seconds("build-tasks")?;
        seconds("build-tasks")?;
        for _ in 0..context.runs {
            version.push(seconds("--version")?.seconds);
            let ran = seconds("build-tasks")?;
            let last = ran.stdout.lines().last().unwrap_or_default();
            ensure!(
                last.split_once(' ').is_some_and(|(_, rest)| rest.starts_with("up to date in")),
                "`{word} build-tasks` finds something to do every time: {last}"
            );
            build.push(ran.seconds);
        }
        Ok(())
    })?;
    Ok(Row::new(name, format!("{word} build-tasks"), Unit::Milliseconds, &build, busy)?
        .beside(format!("{word} --version"), Sample::median(&version)?))
}
