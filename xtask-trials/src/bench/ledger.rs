//! `cargo xtask bench ledger`: imports of generated trials and a leaderboard over many, each beside what it is held against.

mod trials;

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use camino::Utf8PathBuf;
use taskwright_harbor::result::TrialResult;
use taskwright_ledger::import::Options;
use taskwright_ledger::leaderboard::Rules;
use taskwright_ledger::patterns::TaskPatterns;
use taskwright_ledger::{Filter, Ledger};
use xtask::exit::{self, Status};
use xtask::output;

use crate::ledger::told;
use crate::table::Table;

/// Measure imports into the ledger and what is read from it.
///
/// The trials are generated: eight files each, of the shape and size of real ones. Best on a file system in memory, so
/// that what is measured is the program.
#[derive(clap::Args)]
pub struct Arguments {
    /// How many trials to import.
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_values_t = [1000, 10_000])]
    trials: Vec<usize>,
    /// How many records the leaderboard is made of.
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    records: usize,
    /// How often to measure each; the fastest counts.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Where to put the trials and the ledgers [default: /dev/shm, or the folder for temporary files].
    #[arg(long, value_name = "DIR")]
    dir: Option<Utf8PathBuf>,
    /// Another program that imports the same trials: a shell command, called with the job's folder as `$1`.
    #[arg(long, value_name = "COMMAND")]
    peer: Option<String>,
    /// Print a table of Markdown.
    #[arg(long)]
    markdown: bool,
}

/// One thing that was measured.
struct Row {
    what: String,
    seconds: f64,
    /// What bounds it from below, and how long that takes.
    limit: Option<(&'static str, f64)>,
    aim: Option<f64>,
    /// How much memory the process had at most meanwhile, in megabytes.
    memory: Option<f64>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let shared = Path::new("/dev/shm");
    let root = match &arguments.dir {
        Some(dir) => dir.as_std_path().to_owned(),
        None if shared.is_dir() => shared.to_owned(),
        None => std::env::temp_dir(),
    };
    let root = tempfile::Builder::new().prefix("taskwright-bench-").tempdir_in(root)?;
    let mut rows = Vec::new();
    for &count in &arguments.trials {
        output::say(&format!("generating {count} trials"));
        let job = root.path().join(format!("job-{count}"));
        trials::generate(&job, count)?;
        // Until the files are old enough for the ledger to trust what the file system says of them.
        thread::sleep(Duration::from_secs(3));
        imports(arguments, root.path(), &job, count, &mut rows)?;
        fs::remove_dir_all(&job)?;
    }
    output::say(&format!("generating {} records", arguments.records));
    rows.push(leaderboard(arguments, &root.path().join("records"))?);
    output::print(&if arguments.markdown { markdown(&rows) } else { human(&rows) })?;
    Ok(exit::SUCCESS)
}

fn imports(
    arguments: &Arguments,
    root: &Path,
    job: &Path,
    count: usize,
    rows: &mut Vec<Row>,
) -> anyhow::Result<()> {
    let folders = trial_folders(job)?;
    let parsing = fastest(arguments.runs, || in_parallel(&folders, parse))?;
    let copy = root.join("copy");
    let copying = fastest(arguments.runs, || read_and_write(&folders, &copy))?;
    let stamps = fastest(arguments.runs, || in_parallel(&folders, stamp))?;
    fs::remove_file(&copy)?;
    for (reference, limit) in
        [(true, ("walking and parsing", parsing)), (false, ("reading all, writing it to one file", copying))]
    {
        let how = if reference { "by reference" } else { "copied" };
        let ledger = root.join("ledger");
        let again =
            |ledger: &Path, expect: u64| import(ledger, job, reference, expect, count as u64 - expect);
        reset_peak();
        let seconds = fastest(arguments.runs, || {
            if ledger.exists() {
                fs::remove_dir_all(&ledger)?;
            }
            again(&ledger, count as u64)
        })?;
        let memory = peak();
        let aim = if reference { (count == 10_000).then_some(1.5) } else { Some(2.0 * copying) };
        rows.push(Row {
            what: format!("import of {count}, evidence {how}"),
            seconds,
            limit: Some(limit),
            aim,
            memory,
        });
        reset_peak();
        let seconds = fastest(arguments.runs, || again(&ledger, 0))?;
        rows.push(Row {
            what: format!("the same again, all are there, evidence {how}"),
            seconds,
            limit: Some(("asking for the state of each result", stamps)),
            aim: (count == 10_000).then_some(0.3),
            memory: peak(),
        });
        fs::remove_dir_all(&ledger)?;
    }
    if let Some(command) = &arguments.peer {
        let seconds = timed(|| {
            let status = std::process::Command::new("sh")
                .args(["-c", command, "sh"])
                .arg(job)
                .status()
                .context("starting the peer")?;
            anyhow::ensure!(status.success(), "the peer ended with {status}");
            Ok(())
        })?;
        rows.push(Row {
            what: format!("the peer on the same {count}"),
            seconds,
            limit: None,
            aim: None,
            memory: None,
        });
    }
    Ok(())
}

/// Opens a ledger and imports a job, as the command does.
fn import(ledger: &Path, job: &Path, reference: bool, imported: u64, duplicates: u64) -> anyhow::Result<()> {
    let mut ledger = Ledger::open(ledger).map_err(told)?;
    let options = Options { reference, ..Options::default() };
    let report = ledger.import(&[job.to_owned()], &options, |event| drop(black_box(event))).map_err(told)?;
    let came = report.imported + report.partial;
    anyhow::ensure!((came, report.duplicates) == (imported, duplicates), "{report:?}");
    Ok(())
}

fn leaderboard(arguments: &Arguments, directory: &Path) -> anyhow::Result<Row> {
    let mut ledger = Ledger::open(directory).map_err(told)?;
    let (agents, records) = trials::records(arguments.records);
    ledger.add(&agents, &records).map_err(told)?;
    drop((agents, records, ledger));
    reset_peak();
    let everything = Filter::default();
    let seconds = fastest(arguments.runs, || {
        let ledger = Ledger::read(directory).map_err(told)?;
        let tasks = TaskPatterns::new::<&str>(&[]).map_err(told)?;
        let board = ledger.leaderboard(&everything, &tasks, &Rules::default()).map_err(told)?;
        anyhow::ensure!(!board.rows.is_empty(), "the leaderboard is empty");
        Ok(())
    })?;
    let memory = peak();
    let ledger = Ledger::read(directory).map_err(told)?;
    let scores = fastest(arguments.runs, || {
        black_box(ledger.scores(&everything).map_err(told)?);
        Ok(())
    })?;
    Ok(Row {
        what: format!("leaderboard of {} records", arguments.records),
        seconds,
        limit: Some(("reading its columns", scores)),
        aim: (arguments.records == 100_000).then_some(0.3),
        memory,
    })
}

fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

fn fastest(runs: u32, mut work: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        best = best.min(timed(&mut work)?);
    }
    Ok(best)
}

fn trial_folders(job: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(job)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    Ok(folders)
}

/// Does something with each trial's folder, in as many threads as the import has.
fn in_parallel(folders: &[PathBuf], work: impl Fn(&Path) -> anyhow::Result<()> + Sync) -> anyhow::Result<()> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let parts: Vec<_> = folders
            .chunks(folders.len().div_ceil(threads).max(1))
            .map(|part| scope.spawn(|| part.iter().try_for_each(|folder| work(folder))))
            .collect();
        parts
            .into_iter()
            .try_for_each(|part| part.join().map_err(|_| anyhow::anyhow!("a thread panicked"))?)
    })
}

fn parse(folder: &Path) -> anyhow::Result<()> {
    black_box(TrialResult::parse(&fs::read(folder.join("result.json"))?)?);
    Ok(())
}

fn stamp(folder: &Path) -> anyhow::Result<()> {
    black_box(fs::symlink_metadata(folder.join("result.json"))?);
    Ok(())
}

/// Reads every file, and writes all of it once, one after the other.
fn read_and_write(folders: &[PathBuf], into: &Path) -> anyhow::Result<()> {
    let file = File::create(into)?;
    in_parallel(folders, |folder| {
        let mut bytes = Vec::new();
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    open.push(entry.path());
                } else {
                    File::open(entry.path())?.read_to_end(&mut bytes)?;
                }
            }
        }
        Ok((&file).write_all(&bytes)?)
    })?;
    Ok(file.sync_all()?)
}

/// Forgets how much memory the process had.
fn reset_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// How much memory the process had at most, in megabytes.
fn peak() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}

const COLUMNS: [&str; 8] =
    ["<measured", "seconds", "<its limit", "takes", "ratio", "aim", "<met", "memory MB"];

fn cells(row: &Row) -> Vec<String> {
    let seconds = |seconds: f64| format!("{seconds:.3}");
    let dash = || "-".to_owned();
    vec![
        row.what.clone(),
        seconds(row.seconds),
        row.limit.map_or_else(dash, |(what, _)| what.to_owned()),
        row.limit.map_or_else(dash, |(_, limit)| seconds(limit)),
        row.limit.map_or_else(dash, |(_, limit)| format!("{:.1}", row.seconds / limit)),
        row.aim.map_or_else(dash, seconds),
        row.aim.map_or_else(dash, |aim| if row.seconds <= aim { "yes" } else { "no" }.to_owned()),
        row.memory.map_or_else(dash, |memory| format!("{memory:.0}")),
    ]
}

fn human(rows: &[Row]) -> String {
    let mut table = Table::new(&COLUMNS);
    rows.iter().for_each(|row| table.row(cells(row)));
    table.text()
}

fn markdown(rows: &[Row]) -> String {
    let names: Vec<&str> = COLUMNS.iter().map(|name| name.trim_start_matches('<')).collect();
    let rule: Vec<&str> =
        COLUMNS.iter().map(|name| if name.starts_with('<') { "---" } else { "---:" }).collect();
    let mut text = format!("| {} |\n|{}|\n", names.join(" | "), rule.join("|"));
    for row in rows {
        text.push_str(&format!("| {} |\n", cells(row).join(" | ")));
    }
    text
}
