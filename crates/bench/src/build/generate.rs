//! Makes a workspace of many specs out of nothing: the same bytes for the same shape, whoever runs it.

use std::fmt::Write as _;
use std::fs;

use anyhow::Context;
use camino::{Utf8Path, Utf8PathBuf};
use clap::ValueEnum;
use taskwright_builder::{Binary, Workspace};
use xshell::{Shell, cmd};

/// The size of the prebuilt binary.
const BINARY: usize = 2 * 1024 * 1024;
/// How many rows a file of a dataset has.
const ROWS: usize = 10;
/// Rows of the one large dataset, each of 64 KiB: 2 GiB in all.
const LARGE_ROWS: usize = 32 * 1024;
/// What such a row holds beside its id, its label and its split.
const LARGE_ROW: usize = 64 * 1024 - 80;

/// What a spec says of its revision; an edit replaces it.
pub const REVISION: &str = "(revision 0)";

/// What a workspace looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// About thirty files a task: baselines of 10 files, datasets of 5.
    Thirty,
    /// Baselines of 200 files, datasets of 20.
    Whole,
    /// One spec with a dataset of one file of 2 GiB.
    Dataset,
}

/// How large a workspace is.
struct Size {
    /// Specs, each of one task.
    specs: usize,
    /// Folders that are baselines.
    baselines: usize,
    /// Files of each.
    baseline_files: usize,
    /// Datasets.
    datasets: usize,
    /// Files of each.
    dataset_files: usize,
}

impl Shape {
    /// Its word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Thirty => "thirty",
            Self::Whole => "whole",
            Self::Dataset => "dataset",
        }
    }

    /// How many files a baseline has, and a dataset.
    pub fn files(self) -> (usize, usize) {
        match self {
            Self::Thirty => (10, 5),
            Self::Whole => (200, 20),
            Self::Dataset => (10, 0),
        }
    }
}

/// Fills a folder with a workspace.
pub fn fill(root: &Utf8Path, shape: Shape, specs: usize) -> anyhow::Result<()> {
    let (baseline_files, dataset_files) = shape.files();
    match shape {
        Shape::Thirty | Shape::Whole => {
            workspace(root, &Size { specs, baselines: 20, baseline_files, datasets: 50, dataset_files })
        }
        Shape::Dataset => {
            large_dataset(root, &Size { specs: 1, baselines: 1, baseline_files, datasets: 1, dataset_files })
        }
    }
}

/// The workspace in a folder that [`fill`] filled.
pub fn open(root: &Utf8Path) -> Workspace {
    Workspace { binary: Binary::Prebuilt("bin/taskwright".into()), ..Workspace::new(root) }
}

fn workspace(root: &Utf8Path, size: &Size) -> anyhow::Result<()> {
    binary(root)?;
    for baseline in 0..size.baselines {
        for file in 0..size.baseline_files {
            let path = format!("baselines/baseline-{baseline:02}/part_{:02}/module_{file:03}.py", file / 20);
            // Most sources are short, and one in ten is long.
            let length = if file % 10 == 9 { 8192 } else { 1024 + 256 * (file % 8) };
            put(root, path, &python(seed(baseline, file), length))?;
        }
    }
    for dataset in 0..size.datasets {
        for file in 0..size.dataset_files {
            let path = format!("datasets/dataset-{dataset:02}/rows-{file:02}.jsonl");
            put(root, path, &rows(dataset, file))?;
        }
    }
    for spec in 0..size.specs {
        let name = spec_name(spec);
        let put = |path: &str, text: &str| put(root, format!("harbor-tasks/{name}/{path}"), text);
        put("spec.toml", &spec_text(size, spec))?;
        put("instruction.md", &instruction(spec))?;
        put("scorer/run.py", &python(seed(1000 + spec, 0), 1500))?;
        put("scorer/score.py", &python(seed(1000 + spec, 1), 2500))?;
        put("solution/part_00/module_000.py", &python(seed(1000 + spec, 2), 1500))?;
    }
    commit(root)
}

/// The files of the size, and one file of rows.
fn large_dataset(root: &Utf8Path, size: &Size) -> anyhow::Result<()> {
    use std::io::Write as _;

    workspace(root, size)?;
    // So many rows take longer to score than those of the other datasets.
    let text = spec_text(size, 0).replace("_sec = 10800", "_sec = 1000000");
    fs::write(spec_path(root, 0), text).context("writing the spec")?;
    let path = root.join("datasets/dataset-00/rows-00.jsonl");
    fs::create_dir_all(path.parent().unwrap_or(root))?;
    let mut file = std::io::BufWriter::with_capacity(1 << 20, fs::File::create(&path)?);
    let filler = python(7, LARGE_ROW).replace(['\n', '"'], " ");
    for row in 0..LARGE_ROWS {
        let split = ["train", "validation", "test"][row % 3];
        writeln!(
            file,
            r#"{{"id": "row-{row:06}", "label": {}, "split": "{split}", "text": "{filler}"}}"#,
            row % 10
        )?;
    }
    file.flush().with_context(|| format!("writing {path}"))
}

/// The name of a spec, and of its task.
fn spec_name(spec: usize) -> String {
    format!("bench-{spec:05}")
}

/// Where a spec is.
pub fn spec_path(root: &Utf8Path, spec: usize) -> Utf8PathBuf {
    root.join("harbor-tasks").join(spec_name(spec)).join("spec.toml")
}

fn spec_text(size: &Size, spec: usize) -> String {
    format!(
        r#"# Task {spec} of a generated workspace, with the fields that a real spec of Mode A has.

name = "{name}"
version = "1.0.0"
description = "Improve a small classifier written in pure Python {REVISION}"
keywords = ["classification", "generated", "python"]
mode = "a"

# The folder is shared with other tasks: it is archived once, whatever the number of tasks that start from it.
[baseline]
path = "../../baselines/baseline-{baseline:02}"

[instruction]
file = "instruction.md"

[solution]
path = "solution"
message = "Vote among the nearest neighbours instead of taking the nearest mean"

[scorer]
path = "scorer"
run = ["python3", "{{scorer}}/run.py"]
score = ["python3", "{{scorer}}/score.py"]
batch = 200

# A label is never shown to a candidate, whichever split its row is in.
[dataset]
path = "../../datasets/dataset-{dataset:02}"
labels = ["label"]

# The optimizer may read these rows without their labels, and what became of each.
[splits.train]
samples = {{ field = "split", equals = "train" }}
access = "viewable"
expose = true

# Here it learns the mean alone, and only of so many rows that it cannot single one out.
[splits.validation]
samples = {{ field = "split", equals = "validation" }}
access = "non_viewable"
min_samples = 5
budget = {{ runs = 20, samples = 4000 }}

# What decides: neither the rows nor any result is for the optimizer to see.
[splits.test]
samples = {{ field = "split", equals = "test" }}
access = "no_access"

[selection]
baseline_floor = true

[[targets]]
split = "test"
baseline_reward = 0.5

# A candidate has ten seconds a row. Choosing and scoring the final one may have to run all rows
# several times over, one after the other, on a machine that others use as well.
[limits]
sample_timeout_sec = 10
finalize_timeout_sec = 10800

[agent_env]
PYTHONDONTWRITEBYTECODE = "1"
TASK_NUMBER = "{spec}"
"#,
        name = spec_name(spec),
        baseline = spec % size.baselines,
        dataset = spec % size.datasets,
    )
}

fn binary(root: &Utf8Path) -> anyhow::Result<()> {
    let path = root.join("bin/taskwright");
    fs::create_dir_all(root.join("bin"))?;
    let mut random = Random(2);
    let bytes: Vec<u8> = (0..BINARY / 8).flat_map(|_| random.next().to_le_bytes()).collect();
    fs::write(&path, bytes).with_context(|| format!("writing {path}"))?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&path, mode).with_context(|| format!("protecting {path}"))
}

/// One repository of everything, made without the git configuration of whoever runs this.
fn commit(root: &Utf8Path) -> anyhow::Result<()> {
    put(root, ".gitignore".to_owned(), "/target/\n")?;
    let shell = Shell::new()?;
    shell.change_dir(root);
    shell.set_var("GIT_CONFIG_GLOBAL", "/dev/null");
    shell.set_var("GIT_CONFIG_NOSYSTEM", "1");
    let who = ["-c", "user.name=Bench", "-c", "user.email=bench@localhost"];
    for command in [
        cmd!(shell, "git init --quiet"),
        cmd!(shell, "git add --all"),
        cmd!(shell, "git {who...} commit --quiet --message Generated"),
    ] {
        command.quiet().run().context("making the git repository of the generated workspace")?;
    }
    Ok(())
}

fn put(root: &Utf8Path, path: String, text: &str) -> anyhow::Result<()> {
    let path = root.join(path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("creating {folder}"))?;
    }
    fs::write(&path, text).with_context(|| format!("writing {path}"))
}

fn seed(folder: usize, file: usize) -> u64 {
    (folder * 1000 + file) as u64 + 1
}

/// Text that looks like a source, differs with the seed and has about the size asked for.
fn python(seed: u64, size: usize) -> String {
    let mut random = Random(seed);
    let mut text = String::with_capacity(size + 80);
    while text.len() < size {
        let number = random.next();
        let _ = writeln!(
            text,
            "value_{:04x} = table[{}] * {} + offset_{:x}",
            number & 0xffff,
            number >> 16 & 0xff,
            number >> 32 & 0xffff,
            number >> 48
        );
    }
    text.truncate(size);
    text
}

fn rows(dataset: usize, file: usize) -> String {
    let mut random = Random(seed(5000 + dataset, file));
    let mut text = String::new();
    for row in 0..ROWS {
        let number = file * ROWS + row;
        let split = ["train", "validation", "test"][number % 3];
        let values: Vec<_> = (0..32).map(|_| (random.next() % 17).to_string()).collect();
        let _ = writeln!(
            text,
            r#"{{"id": "row-{number:04}", "label": {}, "split": "{split}", "pixels": [{}]}}"#,
            number % 10,
            values.join(", ")
        );
    }
    text
}

fn instruction(spec: usize) -> String {
    let mut text = format!(
        "# Task {spec}\n\nThe program in this folder reads rows and names the class of each. It is right about half of \
         the time. Make it right more often.\n\n"
    );
    for step in 1..=8 {
        let _ = writeln!(
            text,
            "{step}. Read what the rows of the train split say, change the program, commit, and evaluate it on the \
             validation split. Keep what helped and take back what did not."
        );
    }
    text
}

/// A small generator of numbers that look random (xorshift): the same everywhere, which is all that is asked of it.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The last step spreads small seeds over all bits.
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}
