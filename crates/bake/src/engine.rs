//! Where images go from the layout: into this machine's Docker engine, and from there to a registry.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use camino::Utf8Path;
use serde_json::json;
use taskwright_base::error::{failed, failed_to};
use taskwright_base::process::Output;
use taskwright_base::{Error, Result};

use crate::docker;
use crate::layout::{Descriptor, Layout};

/// How long the engine is given to take in, or to push, images.
const PATIENCE: Duration = Duration::from_secs(3 * 60 * 60);

/// An image in the layout and what it is to be called.
pub struct Named<'a> {
    /// The image.
    pub image: &'a Descriptor,
    /// The repository: a registry and a path.
    pub repository: String,
}

impl Named<'_> {
    /// A tag that no other image of the repository has.
    pub fn tag(&self) -> String {
        self.image.digest.short()
    }

    /// The repository with the tag.
    pub fn tagged(&self) -> String {
        format!("{}:{}", self.repository, self.tag())
    }

    /// What tasks call it: this image and no other, wherever it is looked for.
    pub fn pinned(&self) -> String {
        format!("{}@{}", self.tagged(), self.image.digest)
    }
}

/// Has the engine hold images. Those that it has are not sent again, nor are the layers of bases that it has.
///
/// # Errors
/// What Docker said.
pub fn load(layout: &Layout, images: &[Named<'_>], bases: &[Descriptor], stop: &AtomicBool) -> Result<usize> {
    let there = present(images, stop)?;
    let missing: Vec<_> = images.iter().filter(|image| !there.contains(&image.pinned())).collect();
    if missing.is_empty() {
        return Ok(0);
    }
    let mut spared = BTreeSet::new();
    for base in bases {
        spared.extend(layout.layers(base)?.into_iter().map(|layer| layer.digest));
    }
    // The engine knows most bases already. Where it does not, it says so, and gets everything.
    if spared.is_empty() || send(layout, &missing, &spared, stop).is_err() {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::interrupted());
        }
        send(layout, &missing, &BTreeSet::new(), stop)?;
    }
    let there = present(images, stop)?;
    if let Some(lost) = images.iter().find(|image| !there.contains(&image.pinned())) {
        let message = format!("Docker took `{}` in, and does not know it by its digest", lost.tagged());
        return Err(Error::new(message).hint(
            "its image store keeps no digests: turn on the containerd image store (`\"features\": {\"containerd-snapshotter\": \
             true}` in Docker's daemon.json), or push to a registry from a machine that has it",
        ));
    }
    Ok(missing.len())
}

/// Pushes images that the engine holds.
///
/// # Errors
/// What Docker said.
pub fn push(images: &[Named<'_>], stop: &AtomicBool) -> Result<()> {
    for image in images {
        let output =
            docker::run(Command::new("docker").args(["push", "--quiet", &image.tagged()]), PATIENCE, stop)?;
        if !output.status.success() {
            return Err(failure(&format!("pushing `{}`", image.tagged()), &output).hint(
                "`docker login` for that registry; `[bake] registry` in taskwright.toml says where images go",
            ));
        }
    }
    Ok(())
}

/// Those of these images that the engine holds.
fn present(images: &[Named<'_>], stop: &AtomicBool) -> Result<BTreeSet<String>> {
    let mut command = Command::new("docker");
    command.args(["image", "inspect", "--format", "{{json .RepoDigests}}"]);
    command.args(images.iter().map(Named::pinned));
    // One that is missing makes it fail, and the others are said all the same.
    let output = docker::run(&mut command, PATIENCE, stop)?;
    let known: BTreeSet<String> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Vec<String>>(line).ok())
        .flatten()
        .collect();
    let is_known =
        |image: &&Named<'_>| known.contains(&format!("{}@{}", image.repository, image.image.digest));
    Ok(images.iter().filter(is_known).map(Named::pinned).collect())
}

/// Sends images to the engine, without the layers that are spared.
fn send(
    layout: &Layout,
    images: &[&Named<'_>],
    spared: &BTreeSet<taskwright_base::Digest>,
    stop: &AtomicBool,
) -> Result<()> {
    let folder = layout.work();
    let path = folder.join("load.tar");
    archive(layout, images, spared, &path)?;
    let output =
        docker::run(Command::new("docker").args(["load", "--quiet", "--input"]).arg(&path), PATIENCE, stop);
    let _ = std::fs::remove_file(&path);
    let output = output?;
    if output.status.success() { Ok(()) } else { Err(failure("`docker load`", &output)) }
}

/// Writes images as an archive of an OCI layout.
fn archive(
    layout: &Layout,
    images: &[&Named<'_>],
    spared: &BTreeSet<taskwright_base::Digest>,
    path: &Utf8Path,
) -> Result<()> {
    let file = File::create(path).map_err(failed("creating", path))?;
    let mut archive = tar::Builder::new(BufWriter::new(file));
    let mut add = |name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, bytes).map_err(failed("writing", path))
    };
    add("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    let named = images.iter().map(|named| {
        let mut image = named.image.clone();
        image.annotations = [
            ("io.containerd.image.name", named.tagged()),
            ("org.opencontainers.image.ref.name", named.tag()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
        image
    });
    let index = json!({"schemaVersion": 2, "manifests": named.collect::<Vec<_>>()});
    add("index.json", index.to_string().as_bytes())?;
    let mut written = BTreeSet::new();
    for image in images {
        for blob in layout.all_of(image.image)? {
            if spared.contains(&blob.digest) || !written.insert(blob.digest) {
                continue;
            }
            let from = layout.blob(&blob.digest);
            let name = format!("blobs/sha256/{}", blob.digest.hex());
            archive.append_path_with_name(&from, name).map_err(failed("reading", &from))?;
        }
    }
    archive.finish().map_err(failed_to("writing the archive of images"))
}

fn failure(doing: &str, output: &Output) -> Error {
    let said = String::from_utf8_lossy(&output.stderr);
    Error::new(format!("{doing}: {}", said.trim()))
}
