//! What a probe may ask of the machine, and the machine itself.

use std::fs::{self, File};
use std::io::{self, Write};
use std::process::Command;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::process::{self, Limits, NoOutput, Output};

/// How much of what a program prints is kept.
const KEPT: u64 = 64 * 1024;

/// What a probe may ask of the machine. No answer is an error to panic about, and none changes anything.
pub trait Machine: Send + Sync {
    /// Runs a program in the workspace, for a limited time.
    fn run(&self, command: &[&str]) -> Outcome;
    /// What system this is.
    fn system(&self) -> System;
    /// The user's home folder.
    fn home(&self) -> Option<Utf8PathBuf>;
    /// Whether there is something at a path.
    fn exists(&self, path: &Utf8Path) -> bool;
    /// A file's text, if it can be read.
    fn read(&self, path: &Utf8Path) -> Option<String>;
    /// How many bytes can still be written to a folder.
    fn free_bytes(&self, folder: &Utf8Path) -> io::Result<u64>;
    /// Whether two files in a folder can share their blocks.
    fn can_reflink(&self, folder: &Utf8Path) -> io::Result<bool>;
    /// Whether a file in a folder can have two names.
    fn can_hard_link(&self, folder: &Utf8Path) -> io::Result<bool>;
}

/// How running a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It ended.
    Ended {
        /// Whether it said that all was well.
        success: bool,
        /// The begin of what it printed.
        stdout: String,
        /// The begin of what it complained.
        stderr: String,
    },
    /// There is no such program.
    NotFound,
    /// It could not be started, in the operating system's words.
    NotStarted(String),
    /// It did not end in time.
    TimedOut(Duration),
}

/// The names that Rust has for this system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct System {
    /// `linux`, `macos` ...
    pub os: &'static str,
    /// `x86_64`, `aarch64` ...
    pub arch: &'static str,
}

/// The machine that this runs on.
#[derive(Debug)]
pub struct ThisMachine {
    /// Where programs are run.
    pub root: Utf8PathBuf,
    /// How long each may take.
    pub limit: Duration,
}

impl Machine for ThisMachine {
    fn run(&self, command: &[&str]) -> Outcome {
        let Some((program, arguments)) = command.split_first() else { return Outcome::NotFound };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.root)
            // In plain English, and without side effects: no installation on the fly, no caches, no advertisement.
            .envs([
                ("LC_ALL", "C"),
                ("GIT_OPTIONAL_LOCKS", "0"),
                ("RUSTUP_AUTO_INSTALL", "0"),
                ("PYTHONDONTWRITEBYTECODE", "1"),
                ("DOCKER_CLI_HINTS", "false"),
            ])
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE");
        let limits = Limits { output: KEPT, ..Limits::of(self.limit) };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        match process::run(&mut command, &limits) {
            Ok(Output { status, stdout, stderr }) => {
                Outcome::Ended { success: status.success(), stdout: text(stdout), stderr: text(stderr) }
            }
            Err(NoOutput::Failed(error)) if error.kind() == io::ErrorKind::NotFound => Outcome::NotFound,
            Err(NoOutput::Failed(error)) => Outcome::NotStarted(error.to_string()),
            Err(NoOutput::TimedOut(limit)) => Outcome::TimedOut(limit),
            Err(NoOutput::Stopped) => Outcome::NotStarted("interrupted".to_owned()),
        }
    }

    fn system(&self) -> System {
        System { os: std::env::consts::OS, arch: std::env::consts::ARCH }
    }

    fn home(&self) -> Option<Utf8PathBuf> {
        std::env::var("HOME").ok().filter(|home| !home.is_empty()).map(Utf8PathBuf::from)
    }

    fn exists(&self, path: &Utf8Path) -> bool {
        self.root.join(path).exists()
    }

    fn read(&self, path: &Utf8Path) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    fn free_bytes(&self, folder: &Utf8Path) -> io::Result<u64> {
        let answer = rustix::fs::statvfs(folder.as_std_path())?;
        Ok(answer.f_bavail.saturating_mul(answer.f_frsize))
    }

    fn can_reflink(&self, folder: &Utf8Path) -> io::Result<bool> {
        // Files without a name: nothing can be left behind.
        let (mut from, to) = (tempfile::tempfile_in(folder)?, tempfile::tempfile_in(folder)?);
        from.write_all(&[1; 4096])?;
        Ok(rustix::fs::ioctl_ficlone(&to, &from).is_ok())
    }

    fn can_hard_link(&self, folder: &Utf8Path) -> io::Result<bool> {
        // A second name needs a first one, so this folder is there for a moment.
        let room = tempfile::Builder::new().prefix(".doctor-").tempdir_in(folder)?;
        let path = room.path().join("file");
        File::create(&path)?;
        Ok(fs::hard_link(&path, room.path().join("link")).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;

    fn run(limit: Duration, script: &str) -> Outcome {
        ThisMachine { root: "/".into(), limit }.run(&["sh", "-c", script])
    }

    #[test]
    fn what_a_program_says_is_kept() {
        let ended = run(Duration::from_secs(30), "echo out; echo err >&2; exit 3");
        let (stdout, stderr) = ("out\n".to_owned(), "err\n".to_owned());
        assert_eq!(ended, Outcome::Ended { success: false, stdout, stderr });
        let Outcome::Ended { stdout, .. } = run(Duration::from_secs(30), "head -c 1000000 /dev/zero") else {
            panic!("did not end");
        };
        assert_eq!(stdout.len() as u64, KEPT);
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_its_children() {
        // A word that no other command line has: that of the shell, and of the one that it leaves in the background.
        let word = format!("hangs-{}-{:?}", std::process::id(), thread::current().id());
        let script = format!("(sleep 60; : '{word}') & sleep 60");
        let limit = Duration::from_millis(200);
        let started = Instant::now();
        assert_eq!(run(limit, &script), Outcome::TimedOut(limit));
        let is_there = || {
            let lines = fs::read_dir("/proc").unwrap().flatten();
            let mut lines = lines.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
            lines.any(|line| String::from_utf8_lossy(&line).contains(&word))
        };
        while is_there() {
            assert!(started.elapsed() < Duration::from_secs(50), "a child goes on");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_child_that_keeps_the_pipe_open_holds_up_nobody() {
        let started = Instant::now();
        let ended = run(Duration::from_secs(30), "sleep 25 & echo out");
        assert!(matches!(ended, Outcome::Ended { success: true, .. }));
        assert!(started.elapsed() < Duration::from_secs(15));
    }

    #[test]
    fn a_program_that_is_not_there() {
        let machine = ThisMachine { root: "/".into(), limit: Duration::from_secs(5) };
        assert_eq!(machine.run(&["no-such-program-anywhere"]), Outcome::NotFound);
        assert!(matches!(machine.run(&["/etc/passwd"]), Outcome::NotStarted(_)));
    }

    #[test]
    fn looking_at_a_folder_leaves_nothing() {
        let room = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(room.path()).unwrap();
        let machine = ThisMachine { root: folder.to_owned(), limit: Duration::from_secs(5) };
        assert!(machine.free_bytes(folder).unwrap() > 0);
        machine.can_reflink(folder).unwrap();
        assert!(machine.can_hard_link(folder).unwrap());
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
        assert!(machine.can_hard_link(Utf8Path::new("/no/such/folder")).is_err());
    }
}
