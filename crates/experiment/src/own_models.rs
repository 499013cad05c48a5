//! What tasks have to do with language models themselves, where the agents' way to them is the experiment's gateway.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;

use camino::Utf8Path;
use serde_json::Value;
use taskwright_base::{Result, failed};

use crate::variables::named;

/// What a built task tells its own services.
const SERVE: &str = "environment/sidecar/serve.json";
/// The files in which a task takes variables from the machine that runs Harbor.
const TAKING: [&str; 3] = ["task.toml", "environment/docker-compose.yaml", "tests/docker-compose.yaml"];

/// The variables that one file of a task takes from the machine that runs Harbor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The task.
    pub task: String,
    /// The file, from the task's folder.
    pub file: &'static str,
    /// Their names.
    pub names: BTreeSet<String>,
}

impl Taken {
    /// That the gateway's token or address is what it gets, in words; none where no name is among `given`.
    pub fn warning(&self, given: impl Fn(&str) -> bool) -> Option<String> {
        let names: Vec<String> =
            self.names.iter().filter(|name| given(name)).map(|name| format!("`{name}`")).collect();
        let Self { task, file, .. } = self;
        (!names.is_empty()).then(|| {
            format!(
                "warning: `{task}` takes {} from this machine ({file}), and gets what leads to the gateway: what it asks counts as \
                 the agents', under their limits; give it a variable of another name",
                names.join(", ")
            )
        })
    }
}

/// Whether a task has a gateway that its agent asks through.
///
/// # Errors
/// The task's file is there and cannot be read.
pub fn has_gateway(folder: &Utf8Path) -> Result<bool> {
    let serve: Value = text(&folder.join(SERVE))?
        .map_or(Value::Null, |text| serde_json::from_str(&text).unwrap_or_default());
    Ok(serve.pointer("/gateway/producer").is_some_and(|producer| !producer.is_null()))
}

/// What a task's files take from the machine that runs Harbor.
///
/// # Errors
/// One of them is there and cannot be read.
pub fn taken(task: &str, folder: &Utf8Path) -> Result<Vec<Taken>> {
    let mut all = Vec::new();
    for file in TAKING {
        let text = text(&folder.join(file))?.unwrap_or_default();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let names: BTreeSet<String> = lines.flat_map(named).map(str::to_owned).collect();
        if !names.is_empty() {
            all.push(Taken { task: task.to_owned(), file, names });
        }
    }
    Ok(all)
}

fn text(path: &Utf8Path) -> Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(failed("reading", path)(error)),
    }
}
