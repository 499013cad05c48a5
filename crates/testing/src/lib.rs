//! The harness of the tests that need more than a compiler: an engine, Harbor, root, a browser.
//!
//! Rust's own harness knows `ok` and `FAILED`: a test that finds no engine can only return, and then reads `ok`. Here it calls
//! [`not_run`], is listed as `ignored` with the reason, and is counted in the last line. A machine that has what it takes says so,
//! and there a test that does not run is a test that failed:
//!
//! ```text
//! TASKWRIGHT_MUST_RUN=engine,harbor cargo test --workspace
//! ```
//!
//! A test program takes part with `harness = false` in its `Cargo.toml`, `fn main() -> ExitCode { taskwright_testing::main() }`,
//! and `use taskwright_testing::test;` in each file with tests.

use std::env;
use std::fmt;
use std::panic::{catch_unwind, resume_unwind};
use std::process::{Command, ExitCode, Stdio};
use std::sync::LazyLock;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

#[doc(hidden)]
pub use inventory;
pub use taskwright_testing_macros::test;

/// What a test may need that not every machine has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// A Docker engine with the base image of the examples.
    Engine,
    /// The pinned Harbor, and `uv`.
    Harbor,
    /// Python with its TOML reader.
    Python,
    /// The other programs that read what we write: `sqlite3`, `duckdb`, `pandas`.
    Readers,
    /// The vendors' own clients of language models: `openai` and `anthropic` for Python.
    Clients,
    /// A browser.
    Browser,
    /// A program of the system, such as `script` or `setpriv`.
    System,
    /// The rights of root.
    Root,
    /// Not to be root.
    Ordinary,
    /// A folder of real jobs that is not part of the project: `TASKWRIGHT_CORPUS` names it.
    Corpus,
    /// To be asked for, by a variable of the environment.
    Asking,
}

impl fmt::Display for Need {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Engine => "engine",
            Self::Harbor => "harbor",
            Self::Python => "python",
            Self::Readers => "readers",
            Self::Clients => "clients",
            Self::Browser => "browser",
            Self::System => "system",
            Self::Root => "root",
            Self::Ordinary => "ordinary",
            Self::Corpus => "corpus",
            Self::Asking => "asking",
        })
    }
}

/// A test as the attribute [`test`] leaves it.
#[doc(hidden)]
pub struct Test {
    pub module: &'static str,
    pub name: &'static str,
    pub run: fn(),
}

inventory::collect!(Test);

/// What [`not_run`] throws and [`main`] catches.
struct NotRun(Need, String);

/// Ends the test of this thread as not run, for want of `need`.
pub fn not_run(need: Need, why: impl fmt::Display) -> ! {
    resume_unwind(Box::new(NotRun(need, why.to_string())))
}

/// Whether a program runs and ends well. What it prints is not shown.
pub fn works(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The base image of the examples and of the tests' small tasks.
pub const IMAGE: &str = "python:3.13-trixie";

/// Goes on only where there is a Docker engine with [`IMAGE`].
pub fn needs_engine() {
    static THERE: LazyLock<bool> = LazyLock::new(|| works("docker", &["image", "inspect", IMAGE]));
    if !*THERE {
        not_run(Need::Engine, format_args!("there is no Docker engine here, or it lacks the image {IMAGE}"));
    }
}

/// Goes on only where `harbor` and `uv` work.
pub fn needs_harbor() {
    if let Some(name) = *MISSING_FOR_HARBOR {
        not_run(Need::Harbor, format_args!("there is no `{name}` here"));
    }
}

/// Whether `harbor` and `uv` work, for a test that looks at more where they do.
pub fn has_harbor() -> bool {
    MISSING_FOR_HARBOR.is_none()
}

static MISSING_FOR_HARBOR: LazyLock<Option<&str>> =
    LazyLock::new(|| ["harbor", "uv"].into_iter().find(|name| !works(name, &["--version"])));

/// Goes on only where there is Python with its TOML reader.
pub fn needs_python() {
    if !works("python3", &["-c", "import tomllib"]) {
        not_run(Need::Python, "there is no python3 with tomllib (Python 3.11 or later)");
    }
}

/// A real job of ours: `jobs/two-attempts` is what Harbor 0.26 left of `harbor run -p tasks -a oracle -k 2` (less logs and
/// artifacts), and `tasks` what it ran: one that is solved, one that is not, one whose agent has too little time, one with two
/// rewards and one without any. `ledgers` are what programs of earlier schemas made of it, `verdicts`
/// what tasks of ours left.
pub fn own_jobs() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

/// The folder of real jobs that `TASKWRIGHT_CORPUS` names.
pub fn corpus() -> std::path::PathBuf {
    match env::var_os("TASKWRIGHT_CORPUS") {
        Some(folder) => folder.into(),
        None => not_run(Need::Corpus, "TASKWRIGHT_CORPUS does not name a folder of real jobs"),
    }
}

/// Runs the tests of this program that the command line asks for, in as many threads as `RUST_TEST_THREADS` says.
pub fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    let threads = env::var("RUST_TEST_THREADS").ok().and_then(|number| number.parse().ok());
    arguments.test_threads = arguments.test_threads.or(threads);
    let must = env::var("TASKWRIGHT_MUST_RUN").unwrap_or_default();
    let mut tests: Vec<&Test> = inventory::iter::<Test>.into_iter().collect();
    tests.sort_by_key(|test| (test.module, test.name));
    let trials = tests.into_iter().map(|test| {
        // Without the program's own name, as Rust's harness has it.
        let module = test.module.split_once("::").map(|(_, inner)| format!("{inner}::"));
        let (run, must) = (test.run, must.clone());
        let name = format!("{}{}", module.unwrap_or_default(), test.name);
        Trial::ignorable_test(name, move || outcome(run, &must))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn outcome(run: fn(), must: &str) -> Result<Completion, Failed> {
    let Err(payload) = catch_unwind(run) else { return Ok(Completion::Completed) };
    match payload.downcast::<NotRun>() {
        Ok(not_run) => {
            let NotRun(need, why) = *not_run;
            let need = need.to_string();
            if must.split(',').any(|word| word == need) {
                return Err(
                    format!("not run: {why}; but TASKWRIGHT_MUST_RUN says that `{need}` is here").into()
                );
            }
            Ok(Completion::ignored_with(format_args!("not run: {why}")))
        }
        Err(panic) => resume_unwind(panic),
    }
}
