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
    /// Whether `build-tasks --locked` refuses a task whose controls did not pass, or have not run against what it is made of now.
    pub controls: bool,
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
    let made = [
        ("output", &places.output),
        ("cache", &places.cache),
        ("ledger", &places.ledger),
        ("jobs", &places.jobs),
    ];
    for (index, (key, path)) in made.into_iter().enumerate() {
        if path.as_path() == "." {
            context.error(
                &[key],
                "it cannot be the workspace itself",
                "name a folder that only this is kept in",
            );
        }
        if let Some((other, _)) = made[..index].iter().find(|(_, other)| *other == path) {
            context.error(
                &[key],
                format!("`{}` is the place of `{other}` as well", path.as_path()),
                "name another folder",
            );
        }
    }
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
        ] {
            let found = loaded(text).unwrap_err();
            assert!(found.contains(said) && found.contains("taskwright.toml:"), "{text}: {found}");
        }
    }
}
