//! One call of `BuildKit` for many images: the file that `docker buildx bake` reads, and what came of it.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use taskwright_base::error::failed;
use taskwright_base::git::identity;
use taskwright_base::write::{Durable, atomic};
use taskwright_base::{Error, Result};
use taskwright_language::workspace::Bake;

use crate::docker;

/// How long `BuildKit` is given: a cold bake installs packages, under emulation perhaps.
const PATIENCE: Duration = Duration::from_secs(6 * 60 * 60);
/// How many images one call makes. `BuildKit` gives a build it was told of six seconds to begin before it says that there is no such
/// job, and of hundreds at once on a busy machine not all do.
const AT_ONCE: usize = 24;
/// How often a call is made whose builds did not begin in time; what it made is not made again.
const TRIES: usize = 3;
/// How much of `BuildKit`'s log is shown where it failed.
const LAST_LINES: usize = 15;

/// An image to be made.
pub struct Target {
    /// What it is called in the file and in `BuildKit`'s log.
    pub name: String,
    /// The folder that it is made from.
    pub context: Utf8PathBuf,
    /// Its Dockerfile.
    pub dockerfile: String,
    /// Arguments of the build.
    pub args: BTreeMap<String, String>,
    /// The stage; the last one if none.
    pub stage: Option<String>,
    /// Where it is exported to.
    pub to: Utf8PathBuf,
    /// Whether its layers get the one time that all our layers have; a base keeps its own.
    pub is_timeless: bool,
}

/// How images are made.
pub struct Kitchen<'a> {
    /// What the workspace says.
    pub settings: &'a Bake,
    /// For which platforms, as Docker calls them; that of the machine if none.
    pub platforms: &'a [&'static str],
    /// Whether what was made before is not to be used again.
    pub is_cold: bool,
    /// A folder for the files of the call.
    pub folder: &'a Utf8Path,
    /// Whether to end it before.
    pub stop: &'a AtomicBool,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(rename = "buildx.build.provenance", default)]
    provenance: Provenance,
}

#[derive(Default, Deserialize)]
struct Provenance {
    #[serde(default)]
    materials: Vec<Material>,
}

#[derive(Deserialize)]
struct Material {
    #[serde(default)]
    uri: String,
    #[serde(default)]
    digest: BTreeMap<String, String>,
}

impl Kitchen<'_> {
    /// Makes images, and says of each by its name the digests of the images that it is based on.
    ///
    /// # Errors
    /// What `BuildKit` said.
    pub fn make(&self, targets: &[Target]) -> Result<BTreeMap<String, Vec<String>>> {
        let mut made = BTreeMap::new();
        for targets in targets.chunks(AT_ONCE) {
            made.extend(self.make_at_once(targets)?);
        }
        Ok(made)
    }

    fn make_at_once(&self, targets: &[Target]) -> Result<BTreeMap<String, Vec<String>>> {
        let file = self.folder.join("bake.json");
        let said = self.folder.join("metadata.json");
        let text = serde_json::to_vec_pretty(&self.file(targets)).unwrap_or_default();
        atomic(&file, Durable::No, &text)?;
        self.call(&file, &said)?;
        let bytes = fs::read(&said).map_err(failed("reading", &said))?;
        let found: Map<String, Value> = serde_json::from_slice(&bytes).map_err(|error| {
            Error::new(format!("`{said}`, which BuildKit wrote, cannot be read: {error}"))
        })?;
        let bases = |metadata: Metadata| {
            let images = metadata
                .provenance
                .materials
                .into_iter()
                .filter(|material| material.uri.starts_with("pkg:docker/"));
            images.filter_map(|material| Some(format!("sha256:{}", material.digest.get("sha256")?))).collect()
        };
        Ok(found
            .into_iter()
            .filter_map(|(name, value)| Some((name, bases(serde_json::from_value(value).ok()?))))
            .collect())
    }

    /// Has `BuildKit` make what stands in a file, and write what it knows of that to another.
    fn call(&self, file: &Utf8Path, said: &Utf8Path) -> Result<()> {
        let mut command = Command::new("docker");
        command
            .args(["buildx", "bake", "--progress", "plain", "--file"])
            .arg(file)
            .arg("--metadata-file")
            .arg(said);
        if let Some(builder) = &self.settings.builder {
            command.args(["--builder", builder]);
        }
        if self.is_cold {
            command.arg("--no-cache");
        }
        // What a call was given and when says nothing of an image. Every path in the file is ours.
        command.env("BUILDX_NO_DEFAULT_ATTESTATIONS", "1").env("BUILDX_BAKE_ENTITLEMENTS_FS", "0");
        command.env("BUILDX_METADATA_PROVENANCE", "min");
        for tried in 1.. {
            let log = docker::run(&mut command, PATIENCE, self.stop)?;
            let path = self.folder.join("buildkit.log");
            atomic(&path, Durable::No, &log.stderr)?;
            let text = String::from_utf8_lossy(&log.stderr);
            if log.status.success() {
                break;
            } else if tried == TRIES || !text.contains("no such job") {
                return Err(complaint(&text));
            }
        }
        Ok(())
    }

    fn file(&self, targets: &[Target]) -> Value {
        let target = |target: &Target| {
            let mut args: Map<String, Value> =
                target.args.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            let mut output = format!("type=oci,tar=false,dest={}", target.to);
            if target.is_timeless {
                args.insert("SOURCE_DATE_EPOCH".to_owned(), json!(identity::TIME.to_string()));
                output.push_str(",rewrite-timestamp=true");
            }
            let mut said = json!({
                "context": target.context,
                "dockerfile-inline": target.dockerfile,
                "args": args,
                "output": [output],
                "platforms": self.platforms,
                "cache-from": self.settings.cache_from,
                "cache-to": self.settings.cache_to,
            });
            if let Some(stage) = &target.stage {
                said["target"] = json!(stage);
            }
            said
        };
        let targets: BTreeMap<&str, Value> =
            targets.iter().map(|one| (one.name.as_str(), target(one))).collect();
        let names: Vec<_> = targets.keys().collect();
        json!({"group": {"default": {"targets": names}}, "target": targets})
    }
}

/// What `BuildKit` complained of: its last lines, without those that only say how far it was.
fn complaint(log: &str) -> Error {
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    // What the failed command printed stands between two of these; longer ones frame lines of the Dockerfile.
    let is_frame = |line: &&str| *line == "------";
    let start = lines.iter().rposition(is_frame).and_then(|end| lines[..end].iter().rposition(is_frame));
    let shown = &lines[start.map_or(0, |start| start + 1).max(lines.len().saturating_sub(LAST_LINES))..];
    let text: Vec<_> = shown
        .iter()
        .filter(|line| !line.starts_with("---"))
        .map(|line| format!("  {}", line.trim_end()))
        .collect();
    let error = Error::new(format!("BuildKit could not make the images:\n{}", text.join("\n")));
    let is = |words: &[&str]| words.iter().any(|word| log.contains(word));
    if is(&["no space left on device"]) {
        error.hint(
            "the engine's disk is full: `docker system df` says by what, `docker builder prune` frees it",
        )
    } else if is(&["exec format error"]) {
        error.hint(
            "this machine does not run programs of that platform: install an emulator (Debian: `qemu-user-static`), or name a \
             builder in `[bake] builder` that has such machines",
        )
    } else if is(&["no match for platform", "no matching manifest"]) {
        error.hint(
            "a base image is not there for a platform: name fewer in `[bake] platforms`, or another base",
        )
    } else if is(&["failed to resolve source metadata", "failed to do request", "not found"]) {
        error.hint(
            "a base image, or a package, cannot be had: the registry may be down, or not have what the lock names any more; \
             `--update-bases` resolves the names anew",
        )
    } else if is(&["Cannot connect to the Docker daemon", "permission denied while trying to connect"]) {
        error.hint("`cargo xtask doctor --for bake` says what baking needs, and how to get it")
    } else {
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_shown_and_not_how_far_it_was() {
        let log = "#1 [internal] load\n#1 DONE 0.0s\n------\n > [digits_main 2/7] RUN false:\n1.2 boom\n------\n\
                   ERROR: target digits_main: failed to solve: no space left on device\n";
        let error = complaint(log);
        assert_eq!(
            error.to_string(),
            "BuildKit could not make the images:\n   > [digits_main 2/7] RUN false:\n  1.2 boom\n  \
             ERROR: target digits_main: failed to solve: no space left on device"
        );
        assert!(error.hint_text().unwrap().contains("docker system df"));

        let log = "#9 sending\n------\n > [hand_main 2/2] RUN uname:\n0.2 exec /bin/sh: exec format error\n------\nDockerfile:2\n\
                   --------------------\n   2 | >>> RUN uname\n--------------------\nERROR: target hand_main: exit code: 1\n";
        let error = complaint(log);
        assert_eq!(
            error.to_string(),
            "BuildKit could not make the images:\n   > [hand_main 2/2] RUN uname:\n  0.2 exec /bin/sh: exec format error\n  \
             Dockerfile:2\n     2 | >>> RUN uname\n  ERROR: target hand_main: exit code: 1"
        );
        assert!(error.hint_text().unwrap().contains("qemu-user-static"));
    }
}
