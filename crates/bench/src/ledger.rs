//! `cargo xtask bench ledger`: imports of generated trials and a leaderboard over many, each beside what it is held against.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::ensure;
use camino::Utf8Path;
use taskwright::exit::Status;
use taskwright::output::say;
use taskwright_harbor::result::TrialResult;
use taskwright_ledger::import::Options;
use taskwright_ledger::leaderboard::Rules;
use taskwright_ledger::patterns::TaskPatterns;
use taskwright_ledger::record::{self, Agent, Reward, Seconds, Source, Tokens, Trial};
use taskwright_ledger::{Filter, Ledger};

use crate::frame::{Clock, Common, Place, forget_peak, peak};
use crate::process;
use crate::rows::{Aim, Row, Sample, Section, Unit};
use crate::trials::{self, Random, Shape};

/// How many tasks the trials are of.
const TASKS: usize = 100;
/// What an import of 10,000 trials by reference may take, in seconds.
const AN_IMPORT: f64 = 1.5;
/// What an import may take that finds all of them there, or a leaderboard of 100,000, in seconds.
const A_LOOK: f64 = 0.3;
/// Older files are trusted for what the file system says of them.
const SETTLE: Duration = Duration::from_secs(3);

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
    /// How often to measure each.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    #[command(flatten)]
    place: Place,
    /// Another program that imports the same trials: a shell command, called with the job's folder as `$1`.
    #[arg(long, value_name = "COMMAND")]
    peer: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let folder = arguments.place.folder()?;
    arguments.common.run(|clock| {
        let mut sections = Vec::new();
        for &count in &arguments.trials {
            say(&format!("generating {count} trials"));
            let job = folder.join(format!("job-{count}"));
            Shape { trials: count, tasks: TASKS, some_fail: false }.write(&job, &clock.stop)?;
            thread::sleep(SETTLE);
            let (rows, busy) = clock
                .series(&format!("imports of {count}"), || imports(arguments, &folder, &job, count, clock))?;
            sections.push(section(format!("{count} trials"), rows, busy));
            fs::remove_dir_all(&job)?;
        }
        say(&format!("generating {} records", arguments.records));
        let records = folder.join("records");
        fill(&records, arguments.records)?;
        let (rows, busy) = clock.series("the leaderboard", || leaderboard(arguments, &records))?;
        sections.push(section(format!("{} records", arguments.records), rows, busy));
        Ok(sections)
    })
}

fn section(title: String, mut rows: Vec<Row>, busy: f64) -> Section {
    rows.iter_mut().for_each(|row| row.busy = busy);
    Section { title, rows }
}

/// A row of seconds, and one of the memory that the process had at most meanwhile.
fn rows(name: &str, what: String, seconds: &[f64]) -> anyhow::Result<[Row; 2]> {
    Ok([
        Row::new(format!("ledger/{name}"), what, Unit::Milliseconds, seconds, 0.0)?,
        Row::new(format!("ledger/{name}/memory"), "its peak memory", Unit::Megabytes, &[peak()?], 0.0)?,
    ])
}

fn imports(
    arguments: &Arguments,
    root: &Utf8Path,
    job: &Utf8Path,
    count: usize,
    clock: &Clock,
) -> anyhow::Result<Vec<Row>> {
    let folders = trial_folders(job)?;
    let copy = root.join("copy");
    let runs = arguments.runs;
    let parsing = Sample::median(&times(runs, || in_parallel(&folders, parse))?)?;
    let copying = Sample::median(&times(runs, || read_and_write(&folders, copy.as_std_path()))?)?;
    let stamps = Sample::median(&times(runs, || in_parallel(&folders, stamp))?)?;
    fs::remove_file(&copy)?;
    let is_aimed = count == 10_000;
    let mut all = Vec::new();
    for reference in [true, false] {
        let how = if reference { "by reference" } else { "copied" };
        let name = if reference { "reference" } else { "copied" };
        let ledger = root.join("ledger");
        let import = |expected: usize| import(&ledger, job, reference, expected, count - expected);
        forget_peak();
        let seconds = times(runs, || {
            if ledger.exists() {
                fs::remove_dir_all(&ledger)?;
            }
            import(count)
        })?;
        let [time, memory] =
            rows(&format!("import/{count}/{name}"), format!("import of {count}, evidence {how}"), &seconds)?;
        let time = match (reference, is_aimed) {
            (true, true) => time.beside("walking and parsing", parsing).aim(Aim::Most(AN_IMPORT)),
            (true, false) => time.beside("walking and parsing", parsing),
            (false, _) => time.beside("reading all, writing it to one file", copying).aim(Aim::Times(2.0)),
        };
        all.extend([time, memory]);
        forget_peak();
        let seconds = times(runs, || import(0))?;
        let what = format!("the same again, all are there, evidence {how}");
        let [time, memory] = rows(&format!("again/{count}/{name}"), what, &seconds)?;
        let time = time.beside("asking for the state of each result", stamps);
        all.extend([if is_aimed { time.aim(Aim::Most(A_LOOK)) } else { time }, memory]);
        fs::remove_dir_all(&ledger)?;
    }
    if let Some(command) = &arguments.peer {
        let mut peer = std::process::Command::new("sh");
        let seconds = process::run(peer.args(["-c", command, "sh"]).arg(job), &clock.stop)?.seconds;
        let what = format!("the peer on the same {count}");
        all.push(Row::new(format!("ledger/peer/{count}"), what, Unit::Milliseconds, &[seconds], 0.0)?);
    }
    Ok(all)
}

/// Opens a ledger and imports a job, as the command does.
fn import(
    ledger: &Utf8Path,
    job: &Utf8Path,
    reference: bool,
    imported: usize,
    duplicates: usize,
) -> anyhow::Result<()> {
    let mut ledger = Ledger::open(ledger)?;
    let options = Options { reference, ..Options::default() };
    let report = ledger.import(&[job.into()], &options, |event| drop(black_box(event)))?;
    let came = report.imported + report.partial;
    ensure!((came, report.duplicates) == (imported as u64, duplicates as u64), "{report:?}");
    Ok(())
}

fn leaderboard(arguments: &Arguments, directory: &Utf8Path) -> anyhow::Result<Vec<Row>> {
    forget_peak();
    let everything = Filter::default();
    let seconds = times(arguments.runs, || {
        let tasks = TaskPatterns::new::<&str>(&[])?;
        let board = Ledger::read(directory)?.leaderboard(&everything, &tasks, &Rules::default())?;
        ensure!(!board.rows.is_empty(), "the leaderboard is empty");
        Ok(())
    })?;
    let [time, memory] =
        rows("leaderboard", format!("leaderboard of {} records", arguments.records), &seconds)?;
    let ledger = Ledger::read(directory)?;
    let scores = times(arguments.runs, || {
        black_box(ledger.scores(&everything)?);
        Ok(())
    })?;
    let time = time.beside("reading its columns", Sample::median(&scores)?);
    Ok(vec![if arguments.records == 100_000 { time.aim(Aim::Most(A_LOOK)) } else { time }, memory])
}

/// The seconds of each run.
fn times(runs: u32, mut work: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Vec<f64>> {
    (0..runs)
        .map(|_| {
            let start = Instant::now();
            work()?;
            Ok(start.elapsed().as_secs_f64())
        })
        .collect()
}

fn trial_folders(job: &Utf8Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(job)?.collect::<Result<Vec<_>, _>>()?;
    Ok(entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_dir()).collect())
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
        for name in trials::FILES {
            File::open(folder.join(name))?.read_to_end(&mut bytes)?;
        }
        Ok((&file).write_all(&bytes)?)
    })?;
    Ok(file.sync_all()?)
}

/// Makes a ledger of so many records.
fn fill(directory: &Utf8Path, count: usize) -> anyhow::Result<()> {
    let mut random = Random(11);
    let agents: Vec<Agent> = (0..20)
        .map(|number| Agent {
            digest: format!("{number:02x}").repeat(32),
            label: format!("agent-{}", number % 5),
            version: Some("1.0.0".to_owned()),
            model: Some(format!("provider/model-{number}")),
            configuration: format!("{{\"configuration\":{{\"name\":\"agent-{}\"}}}}", number % 5),
        })
        .collect();
    let records: Vec<Trial> = (0..count).map(|number| record(number, &agents, &mut random)).collect();
    Ledger::open(directory)?.add(&agents, &records)?;
    Ok(())
}

fn record(number: usize, agents: &[Agent], random: &mut Random) -> Trial {
    let agent = &agents[number % agents.len()];
    let reward = f64::from(u8::from(random.next().is_multiple_of(3)));
    let is_complete = !random.next().is_multiple_of(20);
    let task = trials::task(number / 20 % TASKS);
    Trial {
        id: format!("{}-{number}", random.letters(24)),
        experiment: Some("bench".to_owned()),
        job: Some("bench".to_owned()),
        trial_name: format!("{task}__{}", random.letters(7)),
        task: format!("bench/{task}"),
        agent: agent.label.clone(),
        agent_digest: agent.digest.clone(),
        model: agent.model.clone(),
        source: Source::Import,
        status: if is_complete { record::Status::Complete } else { record::Status::Partial },
        reward: is_complete.then_some(reward),
        reward_key: is_complete.then(|| "reward".to_owned()),
        rewards: vec![Reward { key: "reward".to_owned(), value: Some(reward), ..Reward::default() }],
        reward_valid: is_complete,
        seconds: Seconds { total: Some(60.0), ..Seconds::default() },
        tokens: Tokens { input: Some(1000), cached: Some(100), output: Some(100) },
        cost_usd: Some(0.25),
        ..Trial::default()
    }
}
