//! A task's task.toml: what the spec passes through, with what Taskwright owns.

use taskwright_harbor::task_toml::{
    Artifact, ArtifactEntry, Author, CollectHook, EnvironmentMode, PackageInfo, TaskToml, User,
};
use taskwright_language::model::{Mode, Spec, Verifier};

use crate::publish::MARK;
use taskwright_base::Digest;

const SIDECAR: &str = "eval-sidecar";
/// Where the sidecar leaves its evidence.
const EVIDENCE: &str = "/evidence";
const AGENT: &str = "agent";

/// The task.toml of a spec.
pub fn task_toml(spec: &Spec, spec_digest: Digest, commit: &str) -> TaskToml {
    let mut task = TaskToml::from(spec.task.clone());
    task.task = Some(PackageInfo {
        name: format!("{}/{}", spec.organization, spec.name),
        version: Some(spec.version.clone()),
        description: spec.description.clone(),
        authors: spec
            .authors
            .iter()
            .map(|author| Author { name: author.name.clone(), email: author.email.clone() })
            .collect(),
        keywords: spec.keywords.clone(),
    });
    let mut metadata = toml::Table::new();
    metadata.insert("spec".to_owned(), spec_digest.to_string().into());
    metadata.insert("baseline_commit".to_owned(), commit.into());
    metadata.insert("mode".to_owned(), if spec.mode == Mode::A { "a" } else { "b" }.into());
    task.metadata.insert(MARK.to_owned(), metadata.into());
    task.agent.user = Some(User::Name(AGENT.to_owned()));
    task.verifier.environment_mode = Some(match spec.verifier {
        Verifier::Separate => EnvironmentMode::Separate,
        Verifier::Shared => EnvironmentMode::Shared,
    });
    task.verifier.collect.push(CollectHook {
        command: "/usr/local/bin/taskwright finalize".to_owned(),
        service: Some(SIDECAR.to_owned()),
        #[expect(clippy::cast_precision_loss, reason = "a timeout of more than 2^52 seconds is none")]
        timeout_sec: Some(spec.limits.finalize_timeout_sec as f64),
        ..CollectHook::default()
    });
    task.artifacts.push(ArtifactEntry::Table(Artifact {
        source: EVIDENCE.to_owned(),
        service: Some(SIDECAR.to_owned()),
        ..Artifact::default()
    }));
    task
}
