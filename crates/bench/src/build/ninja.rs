//! `ninja` on an equal graph: a target a task, with the task's files as its inputs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use camino::{Utf8Path, Utf8PathBuf};

use crate::frame::Folder;
use crate::process;

/// A graph that is up to date.
pub struct Ninja(Folder);

impl Ninja {
    /// Makes the graph of built tasks, and brings it up to date; none if ninja is not installed.
    pub fn new(parent: &Utf8Path, tasks: &Utf8Path, files: &[Utf8PathBuf]) -> anyhow::Result<Option<Self>> {
        if !process::is_installed("ninja") {
            return Ok(None);
        }
        let folder = Folder::new_in(parent)?;
        fs::write(folder.join("build.ninja"), graph(tasks, files)?).context("writing a graph for ninja")?;
        let ninja = Self(folder);
        ninja.run()?;
        Ok(Some(ninja))
    }

    /// The seconds in which ninja finds that nothing is to be done, its start included.
    pub fn seconds(&self) -> anyhow::Result<f64> {
        let started = Instant::now();
        let said = self.run()?;
        let seconds = started.elapsed().as_secs_f64();
        ensure!(said.contains("no work to do"), "ninja finds something to do: {said}");
        Ok(seconds)
    }

    fn run(&self) -> anyhow::Result<String> {
        let output = Command::new("ninja").current_dir(&*self.0).output().context("starting `ninja`")?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(output.status.success(), "ninja failed: {said}");
        Ok(said)
    }
}

fn graph(tasks: &Utf8Path, files: &[Utf8PathBuf]) -> anyhow::Result<String> {
    let mut inputs: BTreeMap<&str, Vec<&Utf8PathBuf>> = BTreeMap::new();
    for file in files {
        let task = file.strip_prefix(tasks)?.iter().next().context("a file that is no task's")?;
        inputs.entry(task).or_default().push(file);
    }
    let mut text = "rule make\n  command = touch $out\n".to_owned();
    for (task, files) in inputs {
        let _ = write!(text, "build {task}: make");
        for file in files {
            let _ = write!(text, " $\n {}", escape(file.as_str()));
        }
        text.push('\n');
    }
    Ok(text)
}

fn escape(path: &str) -> String {
    path.replace('$', "$$").replace(' ', "$ ").replace(':', "$:")
}
