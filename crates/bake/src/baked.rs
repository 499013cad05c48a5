//! The task that uses what was baked: every image by its digest, and nothing that one is built from. A trial of it builds nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use taskwright_base::copy::copy_without;
use taskwright_base::error::failed;
use taskwright_base::write::{Durable, atomic};
use taskwright_base::{Digest, Error, Result};
use taskwright_harbor::digest::content_digest;
use walkdir::WalkDir;

use crate::task::{self, BuiltTask, COMPOSE, MAIN, VERIFIER};

/// What our own images are built from: nothing else in a task reads it.
const INGREDIENTS: [&str; 5] = ["baseline", "bin", "gateway", "samples", "sidecar"];

/// Writes the baked task of a built one to a folder that is not there yet, and says Harbor's digest of it.
///
/// # Errors
/// Something cannot be read or written.
pub fn write(built: &BuiltTask, names: &BTreeMap<String, String>, folder: &Utf8Path) -> Result<Digest> {
    let is_ours = built.folder.join("environment/sidecar/serve.json").is_file();
    let named = |path: &str| -> bool {
        let Some(rest) = path.strip_prefix("environment/") else { return path == "tests/Dockerfile" };
        let top = rest.split('/').next().unwrap_or_default();
        rest == "Dockerfile" || (is_ours && INGREDIENTS.contains(&top))
    };
    // Harbor uploads what lies in an environment that says neither how it is built nor how it is composed.
    let is_composed = built.folder.join("environment").join(COMPOSE).is_file();
    let is_left = |path: &str| named(path) || (!is_composed && path.starts_with("environment/"));
    let is_left_out =
        |path: &Path| path.strip_prefix(&built.folder).is_ok_and(|path| is_left(&path.to_string_lossy()));
    copy_without(built.folder.as_std_path(), folder.as_std_path(), &is_left_out)?;
    prune(folder)?;
    for (part, main) in [("environment", MAIN), ("tests", VERIFIER)] {
        compose(built, names, &folder.join(part), main)?;
    }
    task_toml(names, &folder.join("task.toml"))?;
    content_digest(folder.as_std_path()).map_err(|error| Error::new(error.to_string()))
}

/// Removes folders in which nothing is left.
fn prune(folder: &Utf8Path) -> Result<()> {
    for entry in WalkDir::new(folder).contents_first(true).min_depth(1).into_iter().flatten() {
        if entry.file_type().is_dir()
            && fs::read_dir(entry.path()).is_ok_and(|mut inside| inside.next().is_none())
        {
            fs::remove_dir(entry.path()).map_err(failed("removing", entry.path()))?;
        }
    }
    Ok(())
}

/// Has the compose file of a folder name its images. `main` is what the folder's own `main` is called among them.
fn compose(built: &BuiltTask, names: &BTreeMap<String, String>, folder: &Utf8Path, main: &str) -> Result<()> {
    let Some(mut compose) = task::compose(folder)? else { return Ok(()) };
    let services = compose.get_mut("services").and_then(Value::as_object_mut);
    for (service, says) in services.into_iter().flatten() {
        let service = if service == MAIN { main } else { service.as_str() };
        if let (Some(name), Some(says)) = (names.get(service), says.as_object_mut()) {
            says.remove("build");
            says.insert("image".to_owned(), json!(name));
        }
    }
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let mut text =
        format!("# The services of task {}, with the images that `cargo xtask bake` has made.\n", built.name);
    serde_saphyr::to_fmt_writer_with_options(&mut text, &compose, options)
        .map_err(|error| Error::new(format!("writing `{}`: {error}", folder.join(COMPOSE))))?;
    atomic(folder.join(COMPOSE), Durable::No, text.as_bytes())
}

/// Has the task name the images of `main` and of the verifier: where it does, Harbor builds none, whatever a compose file says.
fn task_toml(names: &BTreeMap<String, String>, path: &Utf8Path) -> Result<()> {
    let text = fs::read_to_string(path).map_err(failed("reading", path))?;
    let mut task: toml::Table =
        text.parse().map_err(|error| Error::new(format!("reading `{path}`: {error}")))?;
    let mut set = |table: &[&str], name: &str| {
        let mut at = &mut task;
        for key in table {
            let inner = at.entry(*key).or_insert_with(|| toml::Table::new().into());
            match inner.as_table_mut() {
                Some(inner) => at = inner,
                None => return,
            }
        }
        at.insert("docker_image".to_owned(), name.into());
    };
    if let Some(name) = names.get(MAIN) {
        set(&["environment"], name);
    }
    if let Some(name) = names.get(VERIFIER) {
        set(&["verifier", "environment"], name);
    }
    let text = toml::to_string(&task).map_err(|error| Error::new(format!("writing `{path}`: {error}")))?;
    atomic(path, Durable::No, text.as_bytes())
}

/// Beside the baked tasks: Harbor's digest of each as it was written. The lock may be that of another branch meanwhile.
const WRITTEN: &str = ".taskwright.json";

/// Puts a baked task with this digest in its place. What stood there goes, if a bake wrote it, by what stands beside it or by the lock
/// (`was`); anything else is moved aside, and where it is now is returned.
///
/// # Errors
/// It cannot be moved.
pub fn publish(
    from: &Utf8Path,
    place: &Utf8Path,
    digest: &Digest,
    was: Option<&str>,
) -> Result<Option<Utf8PathBuf>> {
    let name = place.file_name().unwrap_or_default();
    let record = place.with_file_name(WRITTEN);
    // One that cannot be read says nothing: what it spoke of is moved aside.
    let read = fs::read(&record).ok();
    let mut written: BTreeMap<String, String> =
        read.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let before = written.insert(name.to_owned(), digest.to_string());
    let mut aside = None;
    if fs::symlink_metadata(place).is_ok() {
        let found = content_digest(place.as_std_path()).ok().map(|digest| digest.to_string());
        if found.is_some() && (found == before || found.as_deref() == was) {
            fs::remove_dir_all(place).map_err(failed("removing", place))?;
        } else {
            let lost = Utf8PathBuf::from(format!("{}.lost", place.parent().unwrap_or(place)));
            fs::create_dir_all(&lost).map_err(failed("creating", &lost))?;
            let free = (1..=u16::MAX)
                .map(|number| lost.join(format!("{name}-{number}")))
                .find(|path| fs::symlink_metadata(path).is_err());
            let to = free.ok_or_else(|| {
                Error::new(format!("`{lost}` is full of what stood in the place of `{name}`"))
                    .hint("look through it, and remove it")
            })?;
            fs::rename(place, &to).map_err(failed("moving", place))?;
            aside = Some(to);
        }
    }
    let mut text = serde_json::to_vec_pretty(&written).map_err(|error| Error::new(error.to_string()))?;
    text.push(b'\n');
    atomic(&record, Durable::No, &text)?;
    fs::rename(from, place).map_err(failed("moving", from))?;
    Ok(aside)
}
