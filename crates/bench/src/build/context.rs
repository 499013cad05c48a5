//! What every part of the measurement needs: the program that is measured, where to work, and when to stop.

use std::process::Command;

use anyhow::Context as _;
use camino::{Utf8Path, Utf8PathBuf};

use super::child::{Found, What};
use super::generate::Shape;
use crate::frame::{Clock, Folder};
use crate::process;
use taskwright::output::say;

/// What every part needs.
pub struct Context {
    /// This repository.
    pub repository: Utf8PathBuf,
    /// The program that is measured: this one, optimised.
    pub program: Utf8PathBuf,
    /// This program, optimised: it measures in processes of its own.
    pub bench: Utf8PathBuf,
    /// Where generated workspaces go.
    pub folder: Folder,
    /// Specs of a workspace.
    pub specs: usize,
    /// How often each thing is measured.
    pub runs: usize,
    /// When to begin a series, and when to stop.
    pub clock: Clock,
}

impl Context {
    /// A folder for one part; what is in it goes when the part is done.
    pub fn part(&self) -> anyhow::Result<Folder> {
        Folder::new_in(&self.folder)
    }

    /// A generated workspace.
    pub fn generate(&self, shape: Shape, specs: usize) -> anyhow::Result<Folder> {
        let folder = self.part()?;
        say(&format!("generating {specs} specs"));
        let mut command = Command::new(&self.bench);
        command.args(["bench", "child", What::Generate.word(), folder.as_str()]);
        command.args(["--shape", shape.word(), "--specs", &specs.to_string()]);
        self.run(&mut command)?;
        Ok(folder)
    }

    /// Measures in a process of its own.
    pub fn child(&self, what: What, workspace: &Utf8Path, runs: usize) -> anyhow::Result<Found> {
        let mut command = Command::new(&self.bench);
        command.args(["bench", "child", what.word(), workspace.as_str(), "--runs", &runs.to_string()]);
        let text = self.run(&mut command)?.stdout;
        serde_json::from_str(&text).context("reading what a measuring process found")
    }

    /// Runs a program.
    pub fn run(&self, command: &mut Command) -> anyhow::Result<process::Ran> {
        process::run(command, &self.clock.stop)
    }
}
