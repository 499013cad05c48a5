//! Mode B: the baseline as a Python project beside Harbor, and the versions of packages that both are locked to.

use taskwright_harbor::project::Project;
use taskwright_harbor::requirements::{Requirements, resolution};
use taskwright_language::model::{HarborRun, Spec};

use super::{Context, baseline};
use crate::inputs::Recorder;
use crate::tree::{Content, Entry};
use taskwright_base::Digest;
use taskwright_base::{Error, Result};

/// What the eval sidecar's image is to install.
pub struct Packages {
    /// The file of the baseline that says what it needs.
    project: &'static str,
    /// The file of requirements that the spec names.
    pub locked: Option<Locked>,
}

impl Packages {
    /// The file that says what the baseline needs, where versions of packages are still to be found for it.
    pub fn unresolved(&self) -> Option<&'static str> {
        self.locked.is_none().then_some(self.project)
    }
}

/// A file of requirements.
pub struct Locked {
    pub entry: Entry,
    pub digest: Digest,
}

/// Looks at the baseline as a project, and at the file that it is locked to; none in Mode A.
pub fn read(
    context: &Context<'_>,
    spec: &Spec,
    baseline: &baseline::Node,
    recorder: &mut Recorder<'_>,
) -> Result<Option<Packages>> {
    let Some(run) = &spec.harbor else { return Ok(None) };
    let file = |name: &str| match baseline.tree.follow(name) {
        Some(Entry::File { content: Content::Bytes(bytes, _), .. }) => Ok(Some(bytes.to_vec())),
        Some(Entry::File { content: Content::Blob(blob), .. }) => {
            context.store.read(*blob).map(Some).map_err(|error| format!("cannot be read: {error}"))
        }
        Some(Entry::Symlink { .. }) | None => Ok(None),
    };
    let project = Project::read(file)
        .and_then(|project| project.check(&run.version).map(|()| project))
        .map_err(|fault| Error::new(format!("the baseline: {fault}")).at(&["baseline", "path"]))?;
    let locked = match &run.requirements {
        Some(path) => Some(locked(spec, run, path.as_path(), &project, recorder)?),
        None => None,
    };
    Ok(Some(Packages { project: project.file(), locked }))
}

fn locked(
    spec: &Spec,
    run: &HarborRun,
    path: &camino::Utf8Path,
    project: &Project,
    recorder: &mut Recorder<'_>,
) -> Result<Locked> {
    let file = spec.baseline.path.as_path().join(project.file());
    let again = resolution(&run.requirement(), &run.python, file.as_str(), path.as_str());
    let at = |error: Error| error.at(&["harbor", "requirements"]);
    let wrong = |what: &dyn std::fmt::Display| {
        at(Error::new(format!("`{path}`: {what}")).hint(format!("resolve it again: `{again}`")))
    };
    if recorder.kind(path).map_err(at)?.is_none() {
        return Err(at(Error::new(format!("`{path}` does not exist")).hint(format!("make it: `{again}`"))));
    }
    let text = recorder.text(path).map_err(at)?;
    let requirements = Requirements::parse(&text).map_err(|error| wrong(&error))?;
    match requirements.version("harbor") {
        Some(version) if version == run.version => {}
        Some(version) => {
            return Err(wrong(&format_args!("it has Harbor {version}, the spec Harbor {}", run.version)));
        }
        None => return Err(wrong(&"it has no version of Harbor")),
    }
    project.check_locked(&requirements).map_err(|fault| wrong(&fault))?;
    Ok(Locked { digest: Digest::of(text.as_bytes()), entry: Entry::text(text) })
}
