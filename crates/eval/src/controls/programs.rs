//! Programs that stand in the place of a task's `run`.

use std::path::Path;
use std::process::{Command, Stdio};

use taskwright_base::write::{self, Durable};
use taskwright_base::{Result, failed};

use super::answers::{self, Answers};
use super::candidates::FOLDER;

const ANSWER: &str = include_str!("programs/answer.awk");
const EARLY: &str = include_str!("programs/early.sh");
const VERDICTS: &str = include_str!("programs/verdicts.sh");
const LEFTOVERS: &str = include_str!("programs/leftovers.sh");
const TRESPASS: &str = include_str!("programs/trespass.sh");
const CLOCK: &str = include_str!("programs/clock.c");
const PYTHON_CLOCK: &str = include_str!("programs/sitecustomize.py");

/// A program that is put in the place of `run`.
pub(super) struct Program {
    pub command: Vec<String>,
    /// What it brings along.
    pub files: Vec<(&'static str, Vec<u8>)>,
}

impl Program {
    pub fn new(command: &[&str], files: Vec<(&'static str, Vec<u8>)>) -> Self {
        Self { command: command.iter().map(|word| (*word).to_owned()).collect(), files }
    }

    /// One that answers by a table.
    pub fn of_answers(answers: &Answers) -> Self {
        let (script, table) = (brought("answer.awk"), brought("answers"));
        let files = vec![("answer.awk", ANSWER.into()), ("answers", answers::table(answers))];
        Self::new(&["awk", "-f", &script, &table, "-"], files)
    }

    /// One that answers before the work is done, which `run` is.
    pub fn early(run: &[String]) -> Self {
        Self::script("early.sh", EARLY, run)
    }

    /// One that prints a scorer's lines, with these members after the id.
    pub fn verdicts(members: String) -> Self {
        Self::script("verdicts.sh", VERDICTS, &[members])
    }

    /// One that looks for what it left before.
    pub fn leftovers() -> Self {
        Self::script("leftovers.sh", LEFTOVERS, &[])
    }

    /// One that reaches for a scorer, a dataset and its rows.
    pub fn trespass(reached: &[String]) -> Self {
        Self::script("trespass.sh", TRESPASS, reached)
    }

    /// A task's own `run` under a clock that goes too slowly; why not, where that cannot be had.
    pub fn slowed(run: &[String], room: &Path) -> Result<std::result::Result<Self, &'static str>> {
        let mut program = match compiled_clock(room)? {
            Some(library) => {
                let preload = format!("LD_PRELOAD={}", brought("clock.so"));
                Self::new(&["env", &preload], vec![("clock.so", library)])
            }
            None if run.first().is_some_and(|word| word.contains("python")) => {
                let path = format!("PYTHONPATH={{candidate}}/{FOLDER}");
                Self::new(&["env", &path], vec![("sitecustomize.py", PYTHON_CLOCK.into())])
            }
            None => {
                return Ok(Err(
                    "there is no C compiler here to make a clock with, and `run` is not Python's",
                ));
            }
        };
        program.command.extend_from_slice(run);
        Ok(Ok(program))
    }

    /// A shell script with its arguments.
    fn script(name: &'static str, text: &str, arguments: &[String]) -> Self {
        let mut program = Self::new(&["sh", &brought(name)], vec![(name, text.into())]);
        program.command.extend_from_slice(arguments);
        program
    }
}

/// Where a file that a program brings along is.
fn brought(name: &str) -> String {
    format!("{{candidate}}/{FOLDER}/{name}")
}

/// The clock as a shared library; none where there is no compiler.
fn compiled_clock(room: &Path) -> Result<Option<Vec<u8>>> {
    let (source, library) = (room.join("clock.c"), room.join("clock.so"));
    write::atomic(&source, Durable::No, CLOCK.as_bytes())?;
    let made = Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    Ok(match made {
        Ok(status) if status.success() => Some(std::fs::read(&library).map_err(failed("reading", &library))?),
        _ => None,
    })
}
