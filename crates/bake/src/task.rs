//! The images of a built task: one for each service that its files build.

use std::collections::BTreeMap;
use std::fs;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value};
use taskwright_base::error::failed;
use taskwright_base::{Digest, Error, Result};
use taskwright_builder::dockerfile::{Dockerfile, Sources};
use walkdir::WalkDir;

use taskwright_base::digest::Hasher;

/// The service that the optimizer, or a task's agent, works in.
pub const MAIN: &str = "main";
/// The image of `tests/`.
pub const VERIFIER: &str = "verifier";
/// The compose file of a folder that Harbor makes a container of.
pub const COMPOSE: &str = "docker-compose.yaml";
const DOCKERFILE: &str = "Dockerfile";

/// A task that was built, and how each of its images is made.
#[derive(Debug)]
pub struct BuiltTask {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: Utf8PathBuf,
    /// Its images, by service.
    pub images: Vec<Image>,
}

/// How an image is made.
#[derive(Debug)]
pub struct Image {
    /// The service that it is for.
    pub service: String,
    /// The folder that it is made from.
    pub context: Utf8PathBuf,
    /// Its Dockerfile.
    pub dockerfile: Dockerfile,
    /// The arguments that it is built with.
    pub args: BTreeMap<String, String>,
    /// The stage that it is; the last one if none is named.
    pub stage: Option<String>,
}

impl BuiltTask {
    /// Looks at what a task's files build.
    ///
    /// # Errors
    /// A compose file or Dockerfile that cannot be read, or a way to build that is not known here.
    pub fn read(name: &str, folder: &Utf8Path) -> Result<Self> {
        let within = |error: Error| error.within(format_args!("task `{name}`"));
        let mut images = images(folder, "environment").map_err(within)?;
        let mut tests = images_of_tests(folder).map_err(within)?;
        if !tests.is_empty() && images.iter().any(|image| image.service == VERIFIER) {
            let message = format!(
                "the compose file of task `{name}` has a service called `{VERIFIER}`, and so is the image of its tests"
            );
            return Err(Error::new(message).hint("give the service another name"));
        }
        images.append(&mut tests);
        Ok(Self { name: name.to_owned(), folder: folder.to_owned(), images })
    }
}

impl Image {
    /// The names of its bases that have no digest of their own.
    pub fn open_bases(&self) -> impl Iterator<Item = &str> {
        self.dockerfile.bases().filter(|base| !base.contains("@sha256:"))
    }

    /// What the image is made from: its Dockerfile with pinned bases, and every file that this may copy. Two images with the same
    /// digest are one image.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn inputs(&self, dockerfile: &str, platforms: &str) -> Result<Digest> {
        let mut hasher = Hasher::new();
        let said = serde_json::json!([dockerfile, self.args, self.stage, platforms, crate::RECIPE]);
        hasher.field(said.to_string().as_bytes());
        let everything = [String::new()].into();
        let sources = match self.dockerfile.sources() {
            Sources::Paths(paths) => paths,
            Sources::All => &everything,
        };
        for path in sources.iter().map(String::as_str).chain([".dockerignore"]) {
            let start = self.context.join(path);
            for entry in WalkDir::new(&start).sort_by_file_name() {
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(error) if error.depth() == 0 => break,
                    Err(error) => return Err(Error::new(format!("reading `{start}`: {error}"))),
                };
                let place = entry.path().strip_prefix(&self.context).unwrap_or(entry.path());
                hasher.field(place.as_os_str().as_encoded_bytes());
                let kind = entry.file_type();
                if kind.is_file() {
                    use std::os::unix::fs::PermissionsExt;
                    let mode = entry.metadata().map_or(0, |metadata| metadata.permissions().mode());
                    hasher.field(if mode & 0o111 == 0 { b"file" } else { b"program" });
                    hasher.field(
                        &Digest::of_file(entry.path()).map_err(failed("reading", entry.path()))?.bytes(),
                    );
                } else if kind.is_symlink() {
                    hasher.field(b"link");
                    let target = fs::read_link(entry.path()).map_err(failed("reading", entry.path()))?;
                    hasher.field(target.as_os_str().as_encoded_bytes());
                } else {
                    hasher.field(b"folder");
                }
            }
        }
        Ok(hasher.finish())
    }
}

/// What the compose file and the Dockerfile of a folder build.
fn images(task: &Utf8Path, part: &str) -> Result<Vec<Image>> {
    let folder = task.join(part);
    let mut images = Vec::new();
    let compose = compose(&folder)?;
    for (service, build) in
        compose.iter().flat_map(services).filter_map(|(name, service)| Some((name, service.get("build")?)))
    {
        images.push(
            image(task, &folder, service, build)
                .map_err(|error| error.within(format_args!("service `{service}`")))?,
        );
    }
    // Harbor makes `main` of the Dockerfile that stands there, unless the compose file or the task says where it comes from.
    let says_main = compose.iter().flat_map(services).any(|(name, service)| {
        name == MAIN && (service.contains_key("build") || service.contains_key("image"))
    });
    if !says_main && folder.join(DOCKERFILE).is_file() {
        images.push(image(task, &folder, MAIN, &Value::String(".".to_owned()))?);
    }
    Ok(images)
}

fn images_of_tests(task: &Utf8Path) -> Result<Vec<Image>> {
    let mut images = images(task, "tests")?;
    match images.as_mut_slice() {
        [] => {}
        [image] if image.service == MAIN => VERIFIER.clone_into(&mut image.service),
        _ => {
            return Err(Error::new("the tests' compose file builds more than `main`")
                .hint("only the image of `main` can be baked for a verifier"));
        }
    }
    Ok(images)
}

/// The compose file of a folder, if there is one.
pub fn compose(folder: &Utf8Path) -> Result<Option<Value>> {
    let path = folder.join(COMPOSE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("reading", &path, &error)),
    };
    serde_saphyr::from_str(&text).map(Some).map_err(|error| Error::new(format!("reading `{path}`: {error}")))
}

/// The services of a compose file.
fn services(compose: &Value) -> impl Iterator<Item = (&str, &Map<String, Value>)> {
    let services = compose.get("services").and_then(Value::as_object);
    services.into_iter().flatten().filter_map(|(name, service)| Some((name.as_str(), service.as_object()?)))
}

fn image(task: &Utf8Path, folder: &Utf8Path, service: &str, build: &Value) -> Result<Image> {
    let mut place = ".";
    let mut file = DOCKERFILE;
    let mut args = BTreeMap::new();
    let mut stage = None;
    match build {
        Value::String(context) => place = context,
        Value::Object(build) => {
            for (key, value) in build {
                match (key.as_str(), value) {
                    ("context", Value::String(context)) => place = context,
                    ("dockerfile", Value::String(name)) => file = name,
                    ("target", Value::String(name)) => stage = Some(name.clone()),
                    ("args", Value::Object(said)) => {
                        args.extend(said.iter().map(|(name, value)| (name.clone(), plain(value))));
                    }
                    ("args", Value::Array(said)) => args.extend(said.iter().filter_map(|line| {
                        let (name, value) = line.as_str()?.split_once('=')?;
                        Some((name.to_owned(), value.to_owned()))
                    })),
                    _ => return Err(unknown(&format!("`build.{key}`"))),
                }
            }
        }
        _ => return Err(unknown("its `build`")),
    }
    if [place, file].iter().any(|text| text.contains('$')) || args.values().any(|value| value.contains('$')) {
        return Err(unknown("a variable in `build`"));
    }
    let context = inside(task, &folder.join(place))?;
    let path = context.join(file);
    let text = fs::read_to_string(&path).map_err(failed("reading", &path))?;
    let dockerfile = Dockerfile::parse(&text);
    // What it would be is only known when the image is built.
    if let Some(base) = dockerfile.bases().find(|base| base.contains('$')) {
        let what = format!("`{path}`: the base `{base}` is named by a variable, so it cannot be pinned");
        return Err(Error::new(what).hint("write the image's name in the `FROM` line"));
    }
    Ok(Image { service: service.to_owned(), context, dockerfile, args, stage })
}

fn unknown(what: &str) -> Error {
    Error::new(format!("{what} is not known to baking"))
        .hint("`context`, `dockerfile`, `args` and `target` are, each without variables")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A folder of the task, without `.` and `..`.
fn inside(task: &Utf8Path, path: &Utf8Path) -> Result<Utf8PathBuf> {
    let mut tidy = Utf8PathBuf::new();
    for part in path.components() {
        match part {
            Utf8Component::ParentDir => drop(tidy.pop()),
            Utf8Component::CurDir => {}
            part => tidy.push(part),
        }
    }
    if tidy.starts_with(task) {
        return Ok(tidy);
    }
    Err(Error::new(format!("the context `{path}` lies outside of the task"))
        .hint("what an image is made from belongs into the task's folder"))
}
