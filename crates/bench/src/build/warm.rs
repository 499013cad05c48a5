//! Builds with nothing or little to do, beside a look at every output, and ninja.

use camino::Utf8Path;

use super::child::What;
use super::context::Context;
use super::peers::THREADS;
use super::vero::Vero;
use crate::rows::{Aim, Row, Sample, Unit};

/// How much longer than a build with nothing to do one may take after an edit, in seconds.
const AN_EDIT: f64 = 0.015;

/// Measures; also returns how many files all tasks have.
pub fn measure(
    context: &Context,
    workspace: &Utf8Path,
    name: &str,
    vero: &Vero,
) -> anyhow::Result<(Vec<Row>, usize)> {
    let (found, busy) = context
        .clock
        .series("builds with nothing to do", || context.child(What::NoOpAndNinja, workspace, context.runs))?;
    let row = |peer: &str, what: &str| {
        Row::new(format!("{name}/no-op/{peer}"), what, Unit::Milliseconds, &found.seconds, busy)
    };
    let looks = format!("lstat of the {} outputs, {THREADS} threads", found.files);
    let mut rows = vec![
        row("lstat", "no-op, inside the process")?
            .beside(looks, Sample::median(&found.beside)?)
            .aim(Aim::Times(2.0)),
    ];
    if !found.ninja.is_empty() {
        let ninja = Sample::median(&found.ninja)?;
        rows.push(row("ninja", "the same")?.beside("ninja on an equal graph", ninja).aim(Aim::Times(1.0)));
    }
    let tasks = f64::from(u32::try_from(context.specs)?);
    rows.push(row("vero", "the same")?.beside(vero.source, tasks * vero.seconds).aim(Aim::Ahead(1000.0)));
    let (edit, busy) = context
        .clock
        .series("builds after an edit of one spec", || context.child(What::Edit, workspace, context.runs))?;
    rows.push(
        Row::new(
            format!("{name}/edit"),
            "one spec edited, inside the process",
            Unit::Milliseconds,
            &edit.seconds,
            busy,
        )?
        .beside("the no-op before it", Sample::median(&edit.beside)?)
        .aim(Aim::More(AN_EDIT)),
    );
    Ok((rows, found.files))
}
