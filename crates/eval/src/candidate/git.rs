//! Git on our own repository: nothing of the surroundings reaches it.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use taskwright_base::{Error, Result, failed_to, git};

/// Our repository, and perhaps objects that are not yet part of it.
#[derive(Debug, Clone)]
pub(super) struct Git {
    dir: PathBuf,
    path: String,
    extra: Vec<(String, PathBuf)>,
}

impl Git {
    pub fn new(dir: &Path, path: &str) -> Self {
        Self { dir: dir.to_owned(), path: path.to_owned(), extra: Vec::new() }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The same with objects of another folder, into which new ones are written.
    pub fn with_objects(&self, folder: &Path) -> Self {
        self.with("GIT_OBJECT_DIRECTORY", folder)
            .with("GIT_ALTERNATE_OBJECT_DIRECTORIES", &self.dir.join("objects"))
    }

    /// The same with another variable that names a path.
    pub fn with(&self, name: &str, path: &Path) -> Self {
        let mut git = self.clone();
        git.extra.push((name.to_owned(), path.to_owned()));
        git
    }

    /// A git command.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = git::alone(&self.dir, &self.path);
        command
            .args(arguments)
            .envs(self.extra.iter().map(|(name, path)| (name, path)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// What a command prints; what it complains of if it fails.
    pub fn ask(&self, arguments: &[&str]) -> Result<String> {
        self.ask_with(arguments, "")
    }

    /// The same with something to read.
    pub fn ask_with(&self, arguments: &[&str], input: &str) -> Result<String> {
        let mut child = start(self.command(arguments).stdin(Stdio::piped()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A command that ends early says why by itself. What is written is short enough not to block.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(failed_to("waiting for git"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let name = arguments.iter().find(|argument| !argument.starts_with('-')).unwrap_or(&"");
        Err(Error::new(format!("git {name} failed: {}", git::complaint(&output.stderr))))
    }
}

/// Starts a command whose output is read as it comes.
pub(super) fn start(command: &mut Command) -> Result<Child> {
    command.spawn().map_err(|error| git::missing(command, &error))
}

/// A command that is read from; it ends with this.
pub(super) struct Reading {
    child: Child,
    pub stdout: ChildStdout,
}

impl Reading {
    pub fn start(git: &Git, arguments: &[&str]) -> Result<Self> {
        let mut child = start(git.command(arguments).stderr(Stdio::null()))?;
        match child.stdout.take() {
            Some(stdout) => Ok(Self { child, stdout }),
            None => Err(Error::new("git has no output")),
        }
    }

    /// The same with something to read, however long it is.
    pub fn start_with(git: &Git, arguments: &[&str], input: String) -> Result<Self> {
        let mut command = git.command(arguments);
        let mut child = start(command.stdin(Stdio::piped()).stderr(Stdio::null()))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| Error::new("git has no output"))?;
        // Beside the reading, as it prints while it reads; a command that ends early leaves the rest.
        std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
        Ok(Self { child, stdout })
    }

    /// Whether it ended well, once all was read.
    pub fn finish(mut self) -> Result<bool> {
        let _ = std::io::copy(&mut self.stdout, &mut std::io::sink());
        Ok(self.child.wait().map_err(failed_to("waiting for git"))?.success())
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a word up to a byte, of bounded length; none at the end.
pub(super) fn word(reader: &mut impl Read, end: u8, most: usize) -> std::io::Result<Option<Vec<u8>>> {
    let mut word = Vec::new();
    let mut byte = [0];
    loop {
        match reader.read(&mut byte)? {
            0 if word.is_empty() => return Ok(None),
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            _ if byte[0] == end => return Ok(Some(word)),
            _ if word.len() == most => return Err(std::io::ErrorKind::InvalidData.into()),
            _ => word.push(byte[0]),
        }
    }
}
