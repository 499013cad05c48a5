//! The task that is evaluated, as it was built.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use taskwright_base::{Error, failed};

use crate::exit::Status;
use crate::set::parameters;
use crate::tasks;
use anyhow::{Context, bail};
use camino::Utf8PathBuf;
use taskwright_base::Digest;
use taskwright_builder::{Intent, Options, Workspace};
use taskwright_language::serve::ServeConfig;

/// A built task.
pub struct Task {
    /// The name of its folder.
    pub name: String,
    /// Its folder.
    pub dir: Utf8PathBuf,
    /// What it says.
    pub serve: ServeConfig,
    /// The parameters that were given another value.
    pub set: BTreeMap<String, String>,
}

/// Builds a task; an exit status is why it could not be built, which has been said.
pub fn build(
    workspace: &Workspace,
    name: &str,
    set: &[String],
    stop: &AtomicBool,
) -> anyhow::Result<Result<Task, Status>> {
    let set = parameters(set)?;
    let mut workspace = workspace.clone();
    if !set.is_empty() {
        // What others find in target/harbor-tasks stays what the specs say.
        let text: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        workspace.out =
            workspace.cache_dir().join("eval/set").join(Digest::of(text.join("\n").as_bytes()).short());
    }
    let options = Options {
        names: vec![crate::workspace::task_name(&workspace, name)],
        intent: Intent::Build,
        set: set.clone(),
        ..Options::default()
    };
    let report = match tasks::build(&workspace, &options, |warning| !warning.in_sidecar, stop)? {
        Ok(report) => report,
        Err(status) => return Ok(Err(status)),
    };
    let names: Vec<&str> = report.tasks.iter().map(|task| task.name.as_str()).collect();
    let name = match names.as_slice() {
        [name] => (*name).to_owned(),
        [] => bail!("nothing was built for `{name}`"),
        several => {
            return Err(Error::new(format!(
                "`{name}` describes {} tasks: {}",
                several.len(),
                several.join(", ")
            ))
            .hint("name one of them")
            .usage()
            .into());
        }
    };
    match built(&workspace, &name, set)? {
        Some(task) => Ok(Ok(task)),
        None => Err(Error::new(format!(
            "`{name}` is a task that was written by hand: it has no samples to evaluate"
        ))
        .hint(format!(
            "`harbor run -p {} -a oracle` runs it, and so does an experiment",
            workspace.out.join(&name)
        ))
        .usage()
        .into()),
    }
}

/// A task as it stands where it was built; none if somebody wrote it by hand.
pub fn built(
    workspace: &Workspace,
    name: &str,
    set: BTreeMap<String, String>,
) -> anyhow::Result<Option<Task>> {
    let dir = workspace.out.join(name);
    let path = dir.join("environment/sidecar/serve.json");
    if !path.exists() {
        return Ok(None);
    }
    let text = std::fs::read(&path).map_err(failed("reading", &path))?;
    let serve = serde_json::from_slice(&text).with_context(|| format!("reading `{path}`"))?;
    Ok(Some(Task { name: name.to_owned(), dir, serve, set }))
}

impl Task {
    /// The binary of its images that runs on this machine.
    pub fn binary(&self) -> Utf8PathBuf {
        self.dir.join(format!("environment/bin/taskwright-{}", std::env::consts::ARCH))
    }

    /// Takes over what the command line says instead of the spec.
    pub fn change(&mut self, environment: Option<&str>, n_concurrent: Option<u64>) {
        if let Some(count) = n_concurrent {
            self.serve.limits.concurrency = count;
        }
        if let (Some(environment), Some(harbor)) = (environment, &mut self.serve.harbor) {
            environment.clone_into(&mut harbor.run.environment);
        }
    }

    /// The samples that are meant, by split.
    pub fn samples(
        &self,
        split: Option<&str>,
        samples: Option<&str>,
    ) -> anyhow::Result<Vec<(String, Vec<String>)>> {
        let known = || self.serve.splits.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let named: Vec<&String> = match split {
            None => self.serve.splits.keys().collect(),
            Some(split) => match self.serve.splits.get_key_value(split) {
                Some((split, _)) => vec![split],
                None => {
                    return Err(Error::new(format!("the task `{}` has no split `{split}`", self.name))
                        .hint(format!("it has {}", known()))
                        .usage()
                        .into());
                }
            },
        };
        let mut chosen: Vec<(String, Vec<String>)> = named
            .into_iter()
            .map(|split| (split.clone(), self.serve.splits[split].samples.clone()))
            .collect();
        match samples {
            None => {}
            Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() => {
                let count = text.parse().unwrap_or(usize::MAX);
                if count == 0 {
                    return Err(Error::new("`--samples 0` leaves nothing to evaluate").usage().into());
                }
                chosen.iter_mut().for_each(|(_, samples)| samples.truncate(count));
            }
            Some(text) => {
                let wanted: Vec<&str> = text.split(',').map(str::trim).filter(|id| !id.is_empty()).collect();
                let unknown =
                    |id: &&&str| !chosen.iter().any(|(_, ids)| ids.iter().any(|known| known == **id));
                if let Some(id) = wanted.iter().find(unknown) {
                    let within =
                        split.map_or_else(|| "no split".to_owned(), |split| format!("no split `{split}`"));
                    return Err(Error::new(format!("{within} of `{}` has a sample `{id}`", self.name))
                        .hint("write names of samples with commas between them, or a number")
                        .usage()
                        .into());
                }
                chosen.iter_mut().for_each(|(_, ids)| ids.retain(|id| wanted.contains(&id.as_str())));
                chosen.retain(|(_, ids)| !ids.is_empty());
            }
        }
        Ok(chosen)
    }
}
