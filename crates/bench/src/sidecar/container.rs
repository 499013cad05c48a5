//! A task's eval sidecar in a container, with a scorer that does nothing.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use crate::frame::memory;
use crate::http::{Connection, request};
use crate::process;

/// How many samples the split has.
pub const SAMPLES: usize = 100;
/// Answers each line with a score, and looks at nothing but the name of the sample.
const SCORE: &str = r#"s/^{"id":\("[^"]*"\).*/{"id":\1,"score":1}/"#;
/// Answers each line with nothing.
const RUN: &str = r#"s/^{"id":\("[^"]*"\).*/{"id":\1,"output":0}/"#;
const PATIENCE: Duration = Duration::from_secs(30);

/// A Docker command.
pub fn docker(arguments: &[&str], stop: &AtomicBool) -> anyhow::Result<process::Ran> {
    process::run(Command::new("docker").args(arguments), stop)
}

/// The image of a task's sidecar, removed when it goes out of use.
pub struct Image {
    /// Its name.
    pub name: String,
}

impl Image {
    /// Builds it, without a cache and without a network, and returns how long that took.
    pub fn build(&self, environment: &Utf8Path, stop: &AtomicBool) -> anyhow::Result<f64> {
        let file = environment.join("sidecar/Dockerfile");
        let arguments =
            ["build", "--no-cache", "--network", "none", "--quiet", "--tag", &self.name, "--file"];
        Ok(docker(&[&arguments[..], &[file.as_str(), environment.as_str()]].concat(), stop)?.seconds)
    }

    /// How many bytes it has over its base image.
    pub fn added(&self, environment: &Utf8Path, stop: &AtomicBool) -> anyhow::Result<f64> {
        let file = fs::read_to_string(environment.join("sidecar/Dockerfile"))?;
        let base = file.lines().find_map(|line| line.strip_prefix("FROM ")).context("no base image")?;
        // Of its layers, as they are unpacked: some engines say of an image as a whole what it has when compressed.
        let size = |image: &str| -> anyhow::Result<f64> {
            let ran = docker(&["history", "--human=false", "--format", "{{.Size}}", image], stop)?;
            let layers = ran.stdout.lines().map(|line| line.trim().parse::<f64>());
            layers.sum::<Result<f64, _>>().context("reading the size of an image")
        };
        Ok(size(&self.name)? - size(base.trim())?)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let _ = docker(&["image", "rm", "--force", &self.name], &AtomicBool::new(false));
    }
}

/// The container, removed when it goes out of use.
pub struct Container<'a> {
    name: String,
    stop: &'a AtomicBool,
    /// The candidate that is always there: the baseline.
    pub commit: String,
}

impl<'a> Container<'a> {
    /// Makes one that is not started. Candidates are run if `runs`; otherwise there is only the scorer.
    pub fn create(
        image: &Image,
        environment: &Utf8Path,
        folder: &Utf8Path,
        runs: bool,
        stop: &'a AtomicBool,
    ) -> anyhow::Result<Self> {
        let text = fs::read(environment.join("sidecar/serve.json")).context("reading the serve config")?;
        let mut serve: Value = serde_json::from_slice(&text).context("reading the serve config")?;
        let commit = serve["baseline"]["commit"].as_str().context("there is no baseline")?.to_owned();
        let ids: Vec<String> = (0..SAMPLES).map(|number| format!("s{number}")).collect();
        serve["splits"] = json!({ "all": { "access": "viewable", "budget": {}, "min_samples": 1,
            "expose": false, "samples": ids } });
        serve["selection"]["split"] = json!("all");
        serve["targets"] = json!([]);
        let scorer = &mut serve["scorer"];
        scorer["run"] = if runs { json!(["sed", "-u", RUN]) } else { json!([]) };
        scorer["score"] = json!(["sed", "-u", SCORE]);
        // Every evaluation is to be made, none answered from the record.
        (scorer["deterministic"], scorer["batch"]) = (json!(false), json!(SAMPLES));
        (scorer["id"], scorer["labels"], scorer["rows"]) = (json!("id"), json!([]), json!(["rows.jsonl"]));
        let files = folder.join(if runs { "runs" } else { "scores" });
        fs::create_dir_all(files.join("dataset"))?;
        fs::write(files.join("serve.json"), serde_json::to_vec(&serve)?)?;
        let mut rows = String::new();
        for id in &ids {
            rows += &format!("{{\"id\":\"{id}\"}}\n");
        }
        fs::write(files.join("dataset/rows.jsonl"), rows)?;
        let name = format!("{}-{}", image.name, if runs { "runs" } else { "scores" });
        let made = Self { name, stop, commit };
        docker(&["create", "--init", "--name", &made.name, "-p", "127.0.0.1::8700", &image.name], stop)?;
        let from: Utf8PathBuf = files.join(".");
        docker(&["cp", from.as_str(), &format!("{}:/taskwright", made.name)], stop)?;
        Ok(made)
    }

    /// Starts it, and returns how long after its start it answered, and where.
    pub fn start(&self) -> anyhow::Result<(f64, SocketAddr)> {
        docker(&["start", &self.name], self.stop)?;
        let port = "{{(index (index .NetworkSettings.Ports \"8700/tcp\") 0).HostPort}}";
        let found = docker(
            &["inspect", "--format", &format!("{{{{.State.StartedAt}}}} {port}"), &self.name],
            self.stop,
        )?;
        let (started, port) = found.stdout.trim().split_once(' ').context("reading where it listens")?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse()?));
        let deadline = Instant::now() + PATIENCE;
        let health = request("GET", "/v1/health", "", "");
        while Connection::open(address).and_then(|mut connection| connection.ask(&health)).is_err() {
            ensure!(Instant::now() < deadline, "the sidecar does not come up");
            thread::sleep(Duration::from_millis(2));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
        let seconds =
            (now - time_of_day(started).context("reading when it was started")?).rem_euclid(86_400.0);
        Ok((seconds, address))
    }

    /// Ends it as a power cut would.
    pub fn kill(&self) -> anyhow::Result<()> {
        docker(&["kill", &self.name], self.stop).map(drop)
    }

    /// How many bytes of memory the service has in use: at the moment, and at most.
    pub fn memory(&self) -> anyhow::Result<(f64, f64)> {
        let script = "cat /proc/$(pidof -s taskwright)/status";
        let status = docker(&["exec", &self.name, "sh", "-c", script], self.stop)?.stdout;
        Ok((memory(&status, "VmRSS:")?, memory(&status, "VmHWM:")?))
    }
}

impl Drop for Container<'_> {
    fn drop(&mut self) {
        let _ = docker(&["rm", "--force", "--volumes", &self.name], &AtomicBool::new(false));
    }
}

/// The seconds of the day in a time such as `2026-01-02T03:04:05.6789Z`.
fn time_of_day(text: &str) -> Option<f64> {
    let mut parts = text.trim_end_matches('Z').split_once('T')?.1.split(':').map(str::parse::<f64>);
    let mut next = || parts.next()?.ok();
    Some(next()? * 3600.0 + next()? * 60.0 + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_is_read() {
        assert_eq!(time_of_day("2026-01-02T03:04:05.5Z"), Some(11_045.5));
        assert_eq!(time_of_day("soon"), None);
    }
}
