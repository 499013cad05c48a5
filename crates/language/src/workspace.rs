//! `taskwright.toml`, the file that makes a folder a workspace: where it keeps its parts, and what it demands of its tasks.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use camino::Utf8Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::Context;
use crate::diagnostic::Diagnostics;
use crate::document::{self, Document};
use crate::model::SpecPath;
use crate::shape::Shapes;

/// The name of the file, in the workspace's root.
pub const FILE: &str = "taskwright.toml";

/// Where a workspace keeps its parts, each from its root, and what it demands of its tasks. Every key may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Places {
    /// The folder with one folder a spec. It lies in the workspace, so that every clone has it.
    pub specs: SpecPath,
    /// The folder of the templates that stand in for the standard ones. It lies in the workspace too.
    pub templates: SpecPath,
    /// The folder of the manifests of experiments. It lies in the workspace too.
    pub experiments: SpecPath,
    /// Where the tasks are built.
    pub output: SpecPath,
    /// Where what spares work the next time is kept.
    pub cache: SpecPath,
    /// The folder of the ledger.
    pub ledger: SpecPath,
    /// Where Harbor's jobs are kept.
    pub jobs: SpecPath,
    /// The static `taskwright` binary for the images, or a folder with one for each platform, instead of what this program brings
    /// or compiles.
    pub binary: Option<SpecPath>,
    /// How the tasks' images are baked, and where they go.
    pub bake: Bake,
    /// What machines that build the same tasks have in common.
    pub fleet: Fleet,
    /// Whether `build-tasks --locked` refuses a task whose controls did not pass, or have not run against what it is made of now.
    pub controls: bool,
}

/// How the tasks' images are baked, and where they go. Every key may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bake {
    /// What the names of images begin with: a registry, and a path in it. What the sidecars' images hold (labels, scorers) is for
    /// nobody else: let it be a private one. `taskwright.local` is no registry: such images are on this machine only.
    pub registry: String,
    /// For which platforms images are made; this machine's own if none is named.
    pub platforms: Vec<Platform>,
    /// Where the tasks go whose images are baked.
    pub output: SpecPath,
    /// The folder of the images, an OCI layout.
    pub images: SpecPath,
    /// One of `docker buildx ls`: where `BuildKit` works, if not where Docker does.
    pub builder: Option<String>,
    /// Where layers are looked for before they are made, as `docker buildx bake` has it: `type=registry,ref=...`.
    pub cache_from: Vec<String>,
    /// Where layers are left for others.
    pub cache_to: Vec<String>,
}

impl Default for Bake {
    fn default() -> Self {
        Self {
            registry: "taskwright.local".to_owned(),
            platforms: Vec::new(),
            output: SpecPath::new("target/baked-tasks"),
            images: SpecPath::new("target/images"),
            builder: None,
            cache_from: Vec::new(),
            cache_to: Vec::new(),
        }
    }
}

/// What machines that build the same tasks have in common. Every key may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fleet {
    /// Where they leave for one another what their steps gave: `s3://BUCKET/FOLDER`, `gs://BUCKET/FOLDER`, `az://CONTAINER/FOLDER`, or
    /// a folder, from the root or absolute. Credentials come from the environment alone. It holds what tasks are made of, labels
    /// among it: let it be as private as the repository.
    pub store: Option<String>,
    /// Whose word counts for what a step gave: the public halves of their keys, as `ed25519:` and 64 hexadecimal digits.
    pub trust: Vec<String>,
}

/// What the public half of a machine's key begins with.
pub const KEY_KIND: &str = "ed25519:";

/// A platform that images are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Platform {
    /// 64-bit machines of Intel and AMD.
    #[serde(rename = "linux/amd64")]
    Amd64,
    /// 64-bit machines of ARM, Apple's among them.
    #[serde(rename = "linux/arm64")]
    Arm64,
}

impl Platform {
    /// As Docker calls it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Amd64 => "linux/amd64",
            Self::Arm64 => "linux/arm64",
        }
    }
}

impl std::str::FromStr for Platform {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = [Self::Amd64, Self::Arm64];
        known
            .into_iter()
            .find(|platform| platform.word() == word)
            .ok_or_else(|| format!("there are `{}` and `{}`", Self::Amd64.word(), Self::Arm64.word()))
    }
}

impl Default for Places {
    fn default() -> Self {
        Self {
            specs: SpecPath::new("harbor-tasks"),
            templates: SpecPath::new("templates"),
            experiments: SpecPath::new("experiments"),
            output: SpecPath::new("target/harbor-tasks"),
            cache: SpecPath::new("target/taskwright"),
            ledger: SpecPath::new("ledger"),
            jobs: SpecPath::new("jobs"),
            binary: None,
            bake: Bake::default(),
            fleet: Fleet::default(),
            controls: false,
        }
    }
}

/// What the file in a root says. A failure says every mistake that could be found.
pub fn load(root: &Utf8Path) -> Result<Document<Places>, Diagnostics> {
    static SHAPES: OnceLock<Shapes> = OnceLock::new();
    let shapes = SHAPES.get_or_init(|| Shapes::of::<Places>("workspace"));
    document::load(shapes, root, Utf8Path::new(FILE), &BTreeMap::new(), check)
}

fn check(context: &mut Context<'_, Places>) {
    let places = context.value();
    let inside =
        [("specs", &places.specs), ("templates", &places.templates), ("experiments", &places.experiments)];
    for (key, path) in inside {
        if path.as_path().starts_with("..") {
            context.error(
                &[key],
                format!("`{}` leads out of the workspace", path.as_path()),
                "what tasks are made from is committed with the workspace: move it here",
            );
        }
    }
    if !is_image_prefix(&places.bake.registry) {
        context.error(
            &["bake", "registry"],
            format!("`{}` cannot begin the name of an image", places.bake.registry),
            "a registry and a path in it, in small letters, as in `ghcr.io/you/tasks`",
        );
    }
    check_fleet(context);
    let made: [(&[&str], &SpecPath); 6] = [
        (&["output"], &places.output),
        (&["cache"], &places.cache),
        (&["ledger"], &places.ledger),
        (&["jobs"], &places.jobs),
        (&["bake", "output"], &places.bake.output),
        (&["bake", "images"], &places.bake.images),
    ];
    for (index, (key, path)) in made.into_iter().enumerate() {
        if path.as_path() == "." {
            context.error(
                key,
                "it cannot be the workspace itself",
                "name a folder that only this is kept in",
            );
        }
        if let Some((other, _)) = made[..index].iter().find(|(_, other)| *other == path) {
            context.error(
                key,
                format!("`{}` is the place of `{}` as well", path.as_path(), other.join(".")),
                "name another folder",
            );
        }
    }
}

fn check_fleet(context: &mut Context<'_, Places>) {
    let fleet = &context.value().fleet;
    if let Some(store) = &fleet.store
        && !is_store(store)
    {
        context.error(
            &["fleet", "store"],
            format!("`{store}` is no place of a store"),
            "`s3://BUCKET/FOLDER`, `gs://BUCKET/FOLDER`, `az://CONTAINER/FOLDER` or a folder; credentials and addresses of \
             servers come from the environment",
        );
    }
    for (index, key) in fleet.trust.iter().enumerate() {
        let hex = key.strip_prefix(KEY_KIND).unwrap_or_default();
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            context.error(
                &["fleet", "trust", &index.to_string()],
                format!("`{key}` is no public key: `{KEY_KIND}` and 64 hexadecimal digits"),
                "a machine with `TASKWRIGHT_FLEET_KEY` in its environment says its own when it builds",
            );
        }
    }
}

/// Whether a store may be said so. What follows the scheme is a name and a path, and nothing that could hold a secret.
fn is_store(store: &str) -> bool {
    let Some((scheme, rest)) = store.split_once("://") else {
        return !store.trim().is_empty();
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
    let is_path = rest.split('/').all(|part| !matches!(part, "." | "..")) && rest.bytes().all(is_plain);
    matches!(scheme, "s3" | "gs" | "az") && is_path && !rest.is_empty() && !rest.starts_with('/')
}

/// Whether names of images may begin so: a host, perhaps with a port, and parts of small letters, figures and `._-`.
fn is_image_prefix(prefix: &str) -> bool {
    let is_part = |part: &str| {
        let ends_well = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let bytes = part.as_bytes();
        ends_well(bytes.first())
            && ends_well(bytes.last())
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(byte))
    };
    let mut parts = prefix.split('/');
    let host = parts.next().unwrap_or_default();
    let (host, port) = host.split_once(':').unwrap_or((host, "0"));
    is_part(host) && port.parse::<u16>().is_ok() && parts.all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(text: &str) -> Result<Places, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), text).unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        load(root).map(|document| document.value).map_err(|found| found.to_string())
    }

    #[test]
    fn every_key_may_be_left_out() {
        assert_eq!(loaded("").unwrap(), Places::default());
        let places = loaded("specs = \"tasks\"\nledger = \"../ledger\"\ncontrols = true\n").unwrap();
        assert!(places.controls);
        assert_eq!(
            (places.specs.as_path().as_str(), places.ledger.as_path().as_str()),
            ("tasks", "../ledger")
        );
        assert_eq!(places.jobs, Places::default().jobs);
    }

    #[test]
    fn mistakes_are_shown_where_they_stand() {
        for (text, said) in [
            ("spec = \"tasks\"\n", "did you mean `specs`"),
            ("specs = 1\n", "must be a"),
            ("specs = \"/tasks\"\n", "absolute path"),
            ("specs = \"../tasks\"\n", "leads out of the workspace"),
            ("output = \".\"\n", "cannot be the workspace itself"),
            ("jobs = \"ledger\"\n", "is the place of `ledger` as well"),
            ("specs = \n", "taskwright.toml:1:"),
            ("[bake]\nregistry = \"ghcr.io/You\"\n", "cannot begin the name of an image"),
            ("[bake]\nplatforms = [\"linux/riscv64\"]\n", "linux/amd64"),
            ("[bake]\nimages = \"target/baked-tasks\"\n", "is the place of `bake.output` as well"),
            ("[fleet]\nstore = \"ftp://host/x\"\n", "is no place of a store"),
            ("[fleet]\nstore = \"s3://key:secret@bucket/x\"\n", "is no place of a store"),
            ("[fleet]\nstore = \"s3://bucket/x?token=1\"\n", "is no place of a store"),
            ("[fleet]\nstore = \"s3:///x\"\n", "is no place of a store"),
            ("[fleet]\ntrust = [\"ed25519:00\"]\n", "is no public key"),
            ("[fleet]\nsecret = \"x\"\n", "secret"),
        ] {
            let found = loaded(text).unwrap_err();
            assert!(found.contains(said) && found.contains("taskwright.toml:"), "{text}: {found}");
        }
    }
}
