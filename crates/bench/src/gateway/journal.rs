//! What it costs that a request is written down: the lines that a gateway wrote, appended and synced once more.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::time::Instant;

use anyhow::{Context, ensure};
use camino::Utf8Path;
use serde_json::Value;
use taskwright_base::journal::Journal;

use crate::rows::{Row, Unit};

/// How many requests are written down between two looks at the clock, and between two syncs.
const BATCH: u32 = 100;
const BATCHES: u32 = 50;

/// Writes down requests in a journal of its own, in the words of a gateway's. Each leaves two lines: what is set aside, and what it
/// took.
pub fn rows(state: &Utf8Path, scratch: &Utf8Path) -> anyhow::Result<Vec<Row>> {
    let (lines, bytes) = last_request(&state.join("journal.jsonl"))?;
    fs::create_dir_all(scratch).with_context(|| format!("making `{scratch}`"))?;
    let (mut journal, _) = Journal::<Value>::open(scratch.as_std_path(), |_| Ok(()))?;
    let (mut appends, mut syncs) = (Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        let started = Instant::now();
        for line in (0..BATCH).flat_map(|_| &lines) {
            journal.append(line).context("appending to a journal")?;
        }
        appends.push(started.elapsed().as_secs_f64() / f64::from(BATCH));
        let started = Instant::now();
        journal.reach().sync().context("syncing a journal")?;
        syncs.push(started.elapsed().as_secs_f64());
    }
    let row = |name: &str, what: String, values: &[f64]| {
        Row::new(format!("gateway/journal/{name}"), what, Unit::Milliseconds, values, 0.0)
    };
    Ok(vec![
        row("append", format!("appending the two lines of a request, {bytes} bytes"), &appends)?,
        row("sync", format!("a sync after {BATCH} requests; they wait for one that takes 50 ms"), &syncs)?,
    ])
}

/// What the last request left that was written down to its end, and how many bytes that is.
fn last_request(path: &Utf8Path) -> anyhow::Result<([Value; 2], usize)> {
    let file = File::open(path).with_context(|| format!("opening `{path}`"))?;
    let (mut reserved, mut settled) = (None, None);
    for line in BufReader::new(file).lines() {
        let line = line.with_context(|| format!("reading `{path}`"))?;
        let text = line.split_once(' ').map_or(&*line, |(_, text)| text);
        if text.starts_with("{\"reserved\"") {
            reserved = Some(line);
        } else if text.starts_with("{\"settled\"") {
            settled = Some(line);
        }
    }
    let lines = [reserved, settled].map(Option::unwrap_or_default);
    let bytes = lines.iter().map(|line| line.len() + 1).sum();
    let value = |line: &String| serde_json::from_str(line.split_once(' ').map_or("", |(_, text)| text));
    let values = [value(&lines[0]), value(&lines[1])];
    ensure!(values.iter().all(Result::is_ok), "`{path}` has no lines of a request");
    let [reserved, settled] = values;
    Ok(([reserved?, settled?], bytes))
}
