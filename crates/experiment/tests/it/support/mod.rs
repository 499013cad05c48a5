//! What the tests share: a workspace of our own with tiny tasks, and whether Harbor and Docker are there.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_builder::Workspace;
use taskwright_experiment::{Experiment, ExperimentError, load, plan::Prepared, plan::plan};
use taskwright_language::document::Document;

/// A folder that is a workspace, and vanishes.
pub struct Space {
    _folder: tempfile::TempDir,
    pub root: Utf8PathBuf,
}

impl Space {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
        Self { _folder: folder, root }
    }

    /// Writes a file, and the folders it needs.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A task that needs no build: its solution writes a file, and its verifier looks for it.
    pub fn task(&self, path: &str, solve: &str) {
        let name = path.rsplit('/').next().unwrap();
        self.write(
            &format!("{path}/task.toml"),
            &format!(
                "schema_version = \"1.4\"\n[task]\nname = \"try/{name}\"\n[environment]\ndocker_image = \
                 \"python:3.13-trixie\"\n[verifier]\ntimeout_sec = 60.0\n[agent]\ntimeout_sec = 120.0\n"
            ),
        );
        self.write(&format!("{path}/instruction.md"), "Make the file /tmp/done.\n");
        self.write(&format!("{path}/environment/.keep"), "");
        self.write(&format!("{path}/solution/solve.sh"), &format!("#!/bin/bash\n{solve}\n"));
        self.write(
            &format!("{path}/tests/test.sh"),
            "#!/bin/bash\nif [ -e /tmp/done ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n",
        );
        for script in ["solution/solve.sh", "tests/test.sh"] {
            let script = self.root.join(path).join(script);
            fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    pub fn workspace(&self) -> Workspace {
        Workspace::new(&self.root)
    }

    pub fn load(&self, manifest: &str) -> Document<Experiment> {
        load(&self.root, manifest.into(), &BTreeMap::new())
            .unwrap_or_else(|mistakes| panic!("{}", mistakes.render(false)))
    }

    pub fn prepare(&self, manifest: &str) -> Result<Prepared, ExperimentError> {
        plan(&self.workspace(), &self.load(manifest))?.prepare()
    }
}

/// What is said of a manifest, without colours, where parameters have these values.
pub fn said_with(text: &str, set: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(folder.path()).unwrap();
    fs::create_dir(root.join("experiments")).unwrap();
    fs::write(root.join("experiments/try.toml"), text).unwrap();
    let set: BTreeMap<String, String> =
        set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    match load(root, "experiments/try.toml".into(), &set) {
        Ok(document) => document.warnings.render(false),
        Err(mistakes) => mistakes.render(false),
    }
}

/// What is said of a manifest, without colours.
pub fn said(text: &str) -> String {
    said_with(text, &[])
}
