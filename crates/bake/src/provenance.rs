//! Where an image comes from: an in-toto statement with SLSA's provenance (slsa.dev/provenance/v1) beside the images.
//!
//! It is a file of its own and no part of an image: the commit that an image was baked at is not what makes it what it is.

use std::collections::BTreeMap;
use std::fs;

use camino::Utf8PathBuf;
use serde_json::json;
use taskwright_base::error::failed;
use taskwright_base::write::{Durable, atomic};
use taskwright_base::{Result, git};
use taskwright_builder::Workspace;
use taskwright_builder::lock::LockEntry;

use crate::layout::{Descriptor, Layout};

/// Writes the statement of an image, and says where.
///
/// # Errors
/// It cannot be written.
pub fn write(
    workspace: &Workspace,
    layout: &Layout,
    name: &str,
    image: &Descriptor,
    entry: &LockEntry,
    bases: &BTreeMap<&str, &str>,
) -> Result<Utf8PathBuf> {
    let digest = |said: &str| json!({"sha256": said.trim_start_matches("sha256:")});
    let inputs = [
        ("spec", &entry.spec),
        ("baseline", &entry.baseline),
        ("dataset", &entry.dataset),
        ("scorer", &entry.scorer),
    ];
    let inputs = inputs
        .into_iter()
        .filter_map(|(what, said)| Some(json!({"name": what, "digest": digest(said.as_ref()?)})));
    let bases = bases.iter().map(|(base, said)| json!({"name": base, "digest": digest(said)}));
    let built = json!({"name": "built task", "digest": digest(&entry.tree)});
    let task = name.split('/').next().unwrap_or_default();
    let commit = git::ask(git::in_folder(workspace.root.as_std_path()).args(["rev-parse", "HEAD"]));
    let commit = commit.ok().map(|said| String::from_utf8_lossy(&said).trim().to_owned());
    let lock = workspace.lock_file();
    let lock = lock.strip_prefix(&workspace.root).unwrap_or(&lock).to_owned();
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": format!("{}/{name}", workspace.bake.registry), "digest": {"sha256": image.digest.hex()}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:taskwright:bake:v1",
                "externalParameters": {"task": task, "version": entry.version, "lock": lock, "commit": commit},
                "resolvedDependencies": inputs.chain([built]).chain(bases).collect::<Vec<_>>(),
            },
            "runDetails": {"builder": {"id": format!("urn:taskwright:{}", env!("CARGO_PKG_VERSION"))}},
        },
    });
    let folder = layout.folder().join("provenance");
    fs::create_dir_all(&folder).map_err(failed("creating", &folder))?;
    let path = folder.join(format!("{}.json", name.replace('/', ".")));
    let text = serde_json::to_string_pretty(&statement).unwrap_or_default() + "\n";
    atomic(&path, Durable::No, text.as_bytes())?;
    Ok(path)
}
