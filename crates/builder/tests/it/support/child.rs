//! Builds in processes of their own, for what one process cannot show: signals, waiting, another environment.
//!
//! The test program runs itself again with a filter for [`entry`], which builds what an environment variable says.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use taskwright_builder::{Binary, Boundary, Failure, Observer, Options, Status, Workspace, build};
use taskwright_testing::test;

use super::TestSpace;

const VARIABLE: &str = "TASKWRIGHT_TEST_CHILD";
/// Longer than any build of a test takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What a child is to do.
#[derive(Serialize, Deserialize)]
struct Order {
    root: Utf8PathBuf,
    out: Utf8PathBuf,
    cache: Utf8PathBuf,
    answer: Utf8PathBuf,
    jobs: Option<usize>,
    names: Vec<String>,
    at: Option<At>,
    sources: Option<Utf8PathBuf>,
}

/// What a child does when it reaches a boundary for the n-th time, counted from zero.
#[derive(Clone, Serialize, Deserialize)]
pub struct At {
    pub boundary: usize,
    pub occurrence: usize,
    pub act: Act,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// Ends without any warning, like a machine that loses power.
    Kill,
    /// Stops until a file beside the answer is there.
    Hold,
}

/// What a child said and how it ended.
pub struct Answer {
    /// Its lines: `alpha: built`, `waiting for process 12`, `boundary Published`.
    pub lines: Vec<String>,
    /// Its exit status; none if a signal ended it.
    pub code: Option<i32>,
}

/// A child that is running.
pub struct Running {
    pub child: Child,
    answer: Utf8PathBuf,
}

/// A build in a child.
pub struct Builder<'a> {
    space: &'a TestSpace,
    command: Command,
    order: Order,
}

impl<'a> Builder<'a> {
    pub fn new(space: &'a TestSpace) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let order = Order {
            root: space.root().to_owned(),
            out: space.workspace.out.clone(),
            cache: space.workspace.cache.clone(),
            answer: space.path(format!("target/answer-{number}")),
            jobs: None,
            names: Vec::new(),
            at: None,
            sources: None,
        };
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["support::child::entry", "--exact", "--nocapture"]);
        Self { space, command, order }
    }

    /// The same run by another program, such as `setpriv`, or by a shell after some words of its own.
    pub fn through(mut self, program: &[&str]) -> Self {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).arg(self.command.get_program()).args(self.command.get_args());
        for (name, value) in self.command.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        self.command = command;
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn jobs(mut self, jobs: usize) -> Self {
        self.order.jobs = Some(jobs);
        self
    }

    pub fn at(mut self, boundary: Boundary, occurrence: usize, act: Act) -> Self {
        let boundary = Boundary::ALL.iter().position(|known| *known == boundary).unwrap();
        self.order.at = Some(At { boundary, occurrence, act });
        self
    }

    /// With a binary that is compiled from a folder of sources, instead of one that is there.
    pub fn compiling(mut self, sources: Utf8PathBuf) -> Self {
        self.order.sources = Some(sources);
        self
    }

    pub fn start(mut self) -> Running {
        fs::create_dir_all(self.space.path("target")).unwrap();
        let _ = fs::remove_file(&self.order.answer);
        let child = self
            .command
            .env(VARIABLE, serde_json::to_string(&self.order).unwrap())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            // In a group of its own: signals to it must not reach the test.
            .process_group(0)
            .spawn()
            .unwrap();
        Running { child, answer: self.order.answer }
    }

    pub fn run(self) -> Answer {
        self.start().wait()
    }
}

impl Running {
    /// Waits until the child has said something.
    pub fn expect(&self, words: &str) {
        let started = Instant::now();
        while !self.lines().iter().any(|line| line.contains(words)) {
            assert!(started.elapsed() < PATIENCE, "the child never said {words:?}: {:?}", self.lines());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.answer).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn id(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(self.id(), signal).unwrap();
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Lets a child go on that holds at a boundary.
    pub fn let_go(&self) {
        fs::write(format!("{}.go", self.answer), "").unwrap();
    }

    pub fn wait(self) -> Answer {
        self.wait_for(PATIENCE).unwrap_or_else(|lines| panic!("the child does not end: {lines:?}"))
    }

    /// Waits so long and no longer: a child that does not end is killed, and what it said is the error.
    pub fn wait_for(mut self, patience: Duration) -> Result<Answer, Vec<String>> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                let lines = self.lines();
                let _ = fs::remove_file(format!("{}.go", self.answer));
                let _ = fs::remove_file(&self.answer);
                return Ok(Answer { lines, code: status.code() });
            }
            if started.elapsed() > patience {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return Err(self.lines());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Running {
    /// A test that fails leaves no child behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes what happens to the answer file, and acts where it was told to.
struct Teller {
    order: Order,
    file: Mutex<File>,
    reached: Mutex<BTreeMap<Boundary, usize>>,
}

impl Teller {
    fn say(&self, line: &str) {
        let line = line.replace('\n', "\\n");
        writeln!(self.file.lock().unwrap(), "{line}").unwrap();
    }
}

impl Observer for Teller {
    fn waiting(&self, holder: &str) {
        self.say(&format!("waiting for {holder}"));
    }

    fn boundary(&self, boundary: Boundary) {
        let occurrence = {
            let mut reached = self.reached.lock().unwrap();
            let count = reached.entry(boundary).or_default();
            *count += 1;
            *count - 1
        };
        self.say(&format!("boundary {boundary:?}"));
        let Some(at) = &self.order.at else { return };
        if Boundary::ALL[at.boundary] != boundary || at.occurrence != occurrence {
            return;
        }
        match at.act {
            Act::Kill => {
                let own = rustix::process::getpid();
                rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
                std::thread::sleep(PATIENCE);
            }
            Act::Hold => {
                let go = format!("{}.go", self.order.answer);
                while !Utf8Path::new(&go).exists() {
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
        }
    }
}

/// The child's own main function. In an ordinary run of the tests nobody orders anything.
#[test]
fn entry() {
    let Ok(order) = std::env::var(VARIABLE) else { return };
    let order: Order = serde_json::from_str(&order).unwrap();
    let workspace = Workspace {
        out: order.out.clone(),
        cache: order.cache.clone(),
        binary: order
            .sources
            .clone()
            .map_or_else(|| Binary::Prebuilt("bin/taskwright".into()), Binary::Sources),
        ..Workspace::new(&order.root)
    };
    let options = Options { jobs: order.jobs, names: order.names.clone(), ..Options::default() };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop)).unwrap();
        signal_hook::flag::register(signal, Arc::clone(&stop)).unwrap();
    }
    let file = Mutex::new(File::create(&order.answer).unwrap());
    let teller = Teller { order, file, reached: Mutex::default() };
    let code = match build(&workspace, &options, &teller, &stop) {
        Ok(report) => {
            for task in &report.tasks {
                let why = match &task.status {
                    Status::Failed(Failure::Error(error)) => {
                        format!(": {error} ({})", error.hint_text().unwrap_or_default())
                    }
                    Status::Failed(Failure::Spec(diagnostics)) => format!(": {}", diagnostics.render(false)),
                    _ => String::new(),
                };
                teller.say(&format!("{}: {}{why}", task.name, task.status.word()));
            }
            for error in &report.errors {
                teller.say(&format!("error: {error} ({})", error.hint_text().unwrap_or_default()));
            }
            if report.is_interrupted() { 130 } else { i32::from(!report.is_success()) }
        }
        Err(error) => {
            teller.say(&format!("refused: {error} ({})", error.hint_text().unwrap_or_default()));
            if error.is_interrupt() { 130 } else { 1 }
        }
    };
    std::process::exit(code);
}
