//! Ten times as many specs, beside ten times what a tenth of them takes.

use camino::Utf8Path;

use super::child::{Found, What};
use super::cold::MEMORY;
use super::context::Context;
use super::generate::Shape;
use crate::rows::{Aim, Row, Sample, Section, Unit};

/// What is measured of both workspaces, by turns.
#[derive(Default)]
struct Rounds {
    small: Vec<f64>,
    large: Vec<f64>,
    peak: Vec<f64>,
    /// How many files all tasks of the large one have; unknown of a cold build.
    files: usize,
}

/// Measures.
pub fn measure(context: &Context) -> anyhow::Result<Section> {
    let small = context.generate(Shape::Thirty, context.specs)?;
    let large = context.generate(Shape::Thirty, context.specs * 10)?;
    let rounds = |what| {
        let mut rounds = Rounds::default();
        for _ in 0..context.runs {
            let child = |workspace: &Utf8Path| -> anyhow::Result<Found> { context.child(what, workspace, 1) };
            rounds.small.extend(child(&small)?.seconds);
            let found = child(&large)?;
            rounds.large.extend(found.seconds);
            rounds.peak.push(found.peak);
            rounds.files = found.files;
        }
        Ok(rounds)
    };
    let (cold, busy_cold) =
        context.clock.series("cold builds of ten times as many specs", || rounds(What::Cold))?;
    let (no_op, busy) = context
        .clock
        .series("builds of ten times as many specs with nothing to do", || rounds(What::NoOp))?;
    let row = |name: &str, what: &str, unit: Unit, rounds: &Rounds, busy: f64| {
        anyhow::Ok(
            Row::new(name, what, unit, &rounds.large, busy)?
                .beside(
                    format!("10 x that of {} tasks", context.specs),
                    Sample::median(&rounds.small)? * 10.0,
                )
                .aim(Aim::Times(1.1)),
        )
    };
    let peak =
        Row::new("large/memory", "peak memory of a cold build", Unit::Megabytes, &cold.peak, busy_cold)?;
    Ok(Section {
        title: format!("{} tasks of {} files", context.specs * 10, no_op.files / (context.specs * 10)),
        rows: vec![
            row("large/cold", "cold build, in a fresh process", Unit::Seconds, &cold, busy_cold)?,
            row("large/no-op", "no-op, inside the process", Unit::Milliseconds, &no_op, busy)?,
            peak.within(MEMORY),
        ],
    })
}
