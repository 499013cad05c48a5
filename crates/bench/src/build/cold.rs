//! Builds of everything from nothing, beside plain writes and copies of what comes out.

use std::process::Command;

use camino::Utf8Path;

use super::child::What;
use super::context::Context;
use super::generate;
use super::vero::Vero;
use crate::rows::{Aim, Row, Sample, Unit};

/// What a cold build of a task may take, in seconds.
const A_TASK: f64 = 0.001;
/// What a build may hold in memory, in bytes.
pub const MEMORY: f64 = 256e6;

#[derive(Default)]
struct Rounds {
    build: Vec<f64>,
    peak: Vec<f64>,
    write: Vec<f64>,
    write_and_link: Vec<f64>,
    copy: Vec<f64>,
}

/// Measures; the workspace is left built.
pub fn measure(context: &Context, workspace: &Utf8Path, name: &str, vero: &Vero) -> anyhow::Result<Vec<Row>> {
    let (rounds, busy) = context.clock.series("cold builds", || rounds(context, workspace))?;
    let tasks = f64::from(u32::try_from(context.specs)?);
    let cold = |peer: &str, what: &str| {
        Row::new(format!("{name}/cold/{peer}"), what, Unit::Milliseconds, &rounds.build, busy)
    };
    let peak = Row::new(format!("{name}/memory"), "peak memory of it", Unit::Megabytes, &rounds.peak, busy)?;
    Ok(vec![
        cold("writes", "cold build, in a fresh process")?
            .beside("std::fs::write of the same bytes, 2 threads", Sample::median(&rounds.write)?)
            .aim(Aim::Times(2.0)),
        cold("links", "the same")?
            .beside("the same, the binary hard-linked", Sample::median(&rounds.write_and_link)?)
            .aim(Aim::Times(2.0)),
        cold("copy", "the same")?.beside("cp -a of the output", Sample::median(&rounds.copy)?),
        cold("limit", "the same")?.beside("limit: 1 ms a task", tasks * A_TASK).aim(Aim::Times(1.0)),
        cold("vero", "the same")?.beside(vero.source, tasks * vero.seconds).aim(Aim::Ahead(100.0)),
        peak.within(MEMORY),
    ])
}

/// Each round builds once and then does what stands beside it, so that all see the same machine.
fn rounds(context: &Context, workspace: &Utf8Path) -> anyhow::Result<Rounds> {
    let mut rounds = Rounds::default();
    for _ in 0..context.runs {
        let built = context.child(What::Cold, workspace, 1)?;
        rounds.build.extend(built.seconds);
        rounds.peak.push(built.peak);
        rounds.write.extend(context.child(What::Write, workspace, 1)?.seconds);
        rounds.write_and_link.extend(context.child(What::WriteAndLink, workspace, 1)?.seconds);
        let fresh = context.part()?;
        let mut copy = Command::new("cp");
        copy.args(["-a", generate::open(workspace).out.as_str(), fresh.as_str()]);
        rounds.copy.push(context.run(&mut copy)?.seconds);
    }
    Ok(rounds)
}
