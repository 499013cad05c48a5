//! A cold build of one task whose dataset is one file of 2 GiB, with a split that the optimizer may see.

use super::child::What;
use super::cold::MEMORY;
use super::context::Context;
use super::generate::Shape;
use crate::rows::{Row, Section, Unit};

/// It takes seconds each time, and its memory hardly varies.
const RUNS: usize = 3;

/// Measures.
pub fn measure(context: &Context) -> anyhow::Result<Section> {
    let workspace = context.generate(Shape::Dataset, 1)?;
    let (mut seconds, mut peak) = (Vec::new(), Vec::new());
    let ((), busy) = context.clock.series("a dataset file of 2 GiB", || {
        for _ in 0..context.runs.min(RUNS) {
            let found = context.child(What::Cold, &workspace, 1)?;
            seconds.extend(found.seconds);
            peak.push(found.peak);
        }
        Ok(())
    })?;
    let memory = Row::new("dataset/memory", "peak memory of a cold build", Unit::Megabytes, &peak, busy)?;
    Ok(Section {
        title: "One task with a dataset file of 2 GiB".to_owned(),
        rows: vec![
            memory.within(MEMORY),
            Row::new("dataset/cold", "the time of it", Unit::Seconds, &seconds, busy)?,
        ],
    })
}
