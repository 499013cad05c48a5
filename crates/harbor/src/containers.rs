//! Removes what trials left behind in the local Docker engine: containers, networks, volumes and images.
//!
//! Harbor removes them itself unless it is killed. They are found by the label that Compose puts on all it makes: the
//! project, which starts with the trial's name (`name__env`, `name__verifier__trial`).

use std::collections::HashSet;
use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

use taskwright_base::process::{self, Limits, NoOutput};

use crate::child::Environment;
use crate::command::find;

const LABEL: &str = "com.docker.compose.project";
/// How long the engine is given for one answer: removing the volumes of many trials takes a while.
const PATIENCE: Duration = Duration::from_secs(600);

/// What was removed, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removed {
    /// Containers, running or not.
    pub containers: usize,
    /// Networks.
    pub networks: usize,
    /// Volumes.
    pub volumes: usize,
    /// Images that were built for the trial alone.
    pub images: usize,
}

impl Removed {
    /// Whether there was anything.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Removes what the trials of these names left behind. Trials that ended by themselves left nothing.
///
/// # Errors
/// What Docker said, if it is there and does not answer. Without a Docker client there is nothing to remove.
pub fn remove(trials: &[String], environment: &Environment) -> Result<Removed, String> {
    let mut removed = Removed::default();
    if trials.is_empty() {
        return Ok(removed);
    }
    let path = environment.get("PATH");
    let Some(docker) = find("docker", path.as_deref()) else { return Ok(removed) };
    let docker = Docker { program: docker.into(), environment };
    let prefixes: HashSet<String> = trials.iter().map(|trial| project(trial)).collect();
    removed.containers = docker.remove(
        &prefixes,
        &["ps", "--all", "--no-trunc"],
        "{{.ID}}",
        &["rm", "--force", "--volumes"],
    )?;
    removed.networks =
        docker.remove(&prefixes, &["network", "ls", "--no-trunc"], "{{.ID}}", &["network", "rm"])?;
    removed.volumes =
        docker.remove(&prefixes, &["volume", "ls"], "{{.Name}}", &["volume", "rm", "--force"])?;
    removed.images = docker.remove_images(&prefixes)?;
    Ok(removed)
}

/// The beginning of the Compose projects of a trial, as Harbor and Compose spell it.
fn project(trial: &str) -> String {
    let mut name: String = trial
        .chars()
        .flat_map(char::to_lowercase)
        .map(|letter| if matches!(letter, 'a'..='z' | '0'..='9' | '_' | '-') { letter } else { '-' })
        .collect();
    if !name.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        name.insert(0, '0');
    }
    name
}

/// Whether a project is one of those trials'.
fn is_of(prefixes: &HashSet<String>, project: &str) -> bool {
    // `name__env`: cut at every double underscore, since names hold them too.
    project.match_indices("__").any(|(at, _)| {
        prefixes.contains(&project[..at])
            && (project[at..] == *"__env" || project[at..].starts_with("__verifier__"))
    })
}

struct Docker<'a> {
    program: OsString,
    environment: &'a Environment,
}

impl Docker<'_> {
    fn remove(
        &self,
        prefixes: &HashSet<String>,
        list: &[&str],
        id: &str,
        remove: &[&str],
    ) -> Result<usize, String> {
        let format = format!("{id}\t{{{{.Label \"{LABEL}\"}}}}");
        let mut arguments = list.to_vec();
        let filter = format!("label={LABEL}");
        arguments.extend(["--filter", &filter, "--format", &format]);
        let listed = self.ask(&arguments)?;
        let found: Vec<&str> = listed
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .filter(|(_, project)| is_of(prefixes, project))
            .map(|(id, _)| id)
            .collect();
        self.all(remove, &found)
    }

    /// Images are listed without their labels; those that Compose built for a project are named after it.
    fn remove_images(&self, prefixes: &HashSet<String>) -> Result<usize, String> {
        let filter = format!("label={LABEL}");
        let listed = self.ask(&["image", "ls", "--filter", &filter, "--format", "{{.Repository}}"])?;
        let found: Vec<&str> = listed
            .lines()
            .filter(|name| name.rsplit_once('-').is_some_and(|(project, _)| is_of(prefixes, project)))
            .collect();
        self.all(&["image", "rm"], &found)
    }

    fn all(&self, remove: &[&str], found: &[&str]) -> Result<usize, String> {
        // So many at a time as surely fit on a command line.
        for some in found.chunks(200) {
            let arguments: Vec<&str> = remove.iter().chain(some).copied().collect();
            self.ask(&arguments)?;
        }
        Ok(found.len())
    }

    fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        self.environment.apply(&mut command);
        command.args(arguments);
        let output = process::run(&mut command, &Limits::of(PATIENCE)).map_err(|why| match why {
            NoOutput::Failed(error) => format!("`docker` cannot be started: {error}"),
            NoOutput::TimedOut(_) | NoOutput::Stopped => {
                format!("`docker` did not answer within {} s", PATIENCE.as_secs())
            }
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!(
            "`docker {}` failed: {}",
            arguments.iter().take(2).copied().collect::<Vec<_>>().join(" "),
            said.trim()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn projects_of_trials() {
        assert_eq!(project("add-train__aB3dE5f"), "add-train__ab3de5f");
        assert_eq!(project("_a.b__X"), "0_a-b__x");
        let ours = HashSet::from([project("a__b__XyZ1234")]);
        assert!(is_of(&ours, "a__b__xyz1234__env"));
        assert!(is_of(&ours, "a__b__xyz1234__verifier__trial"));
        assert!(!is_of(&ours, "a__b__xyz1234"));
        assert!(!is_of(&ours, "a__b__xyz1234-2__env"));
        assert!(!is_of(&ours, "a__b__xyz1234__other"));
        assert!(!is_of(&ours, "a__b__env"));
    }
}
