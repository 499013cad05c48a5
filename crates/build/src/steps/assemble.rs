//! A task's whole tree: what the shared steps made, what is rendered, and the key of all of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8PathBuf;
use serde::Serialize;
use taskwright_harbor::digest::content_digest_of;
use taskwright_harbor::task_toml::{
    Artifact, ArtifactEntry, Author, CollectHook, EnvironmentMode, PackageInfo, TaskToml, User,
};
use taskwright_spec::LoadedSpec;
use taskwright_spec::model::{Access, Direction, InnerDocker, Mode, Policy, Spec, TaskSource, Verifier};

use super::baseline::{self, COMMIT_IDENTITY, COMMIT_MESSAGE, COMMIT_TIME};
use super::splits::{Resolved, Source};
use super::{Context, binary, dataset, inner_tasks, secrets, serve, splits};
use crate::digest::Digest;
use crate::error::{BuildError, Result};
use crate::inputs::{Group, Recorder};
use crate::key::Key;
use crate::lock::LockEntry;
use crate::render::Templates;
use crate::state::GENERATOR;
use crate::tree::{Content, Entry, Tree};

/// The sidecar's service name.
const SIDECAR: &str = "eval-sidecar";
/// Where the sidecar leaves its evidence.
const EVIDENCE: &str = "/evidence";
/// The optimizer's user.
const AGENT: &str = "agent";

/// Everything that a task is made from, read and checked, before any of it is rendered.
pub struct Ingredients {
    baseline: Arc<baseline::Node>,
    binary: Arc<binary::Node>,
    templates: Arc<Templates>,
    dataset: Option<Arc<dataset::Node>>,
    scorer: Option<Tree>,
    inner: Option<inner_tasks::Baked>,
    solution: Option<Tree>,
    instruction: String,
    resolved: Resolved,
    /// What was read, in the groups that other tasks share.
    pub groups: Vec<Arc<Group>>,
}

/// Reads and checks everything that a task is made from.
pub fn gather(context: &Context<'_>, loaded: &LoadedSpec) -> Result<Ingredients> {
    let spec = &loaded.spec;
    let mut recorder = Recorder::new(context.root(), context.cache);
    let templates = load_templates(context, spec)?;
    let baseline = context
        .shared
        .baselines
        .get(&baseline::id(&spec.baseline), || baseline::make(context, &spec.baseline))?;
    let binary = context.shared.binary.get(&(), || binary::make(context))?;
    let mut groups = vec![
        Arc::clone(&templates.group),
        Arc::clone(&baseline.group),
        Arc::clone(&baseline.overlays),
        Arc::clone(&binary.group),
    ];

    let instruction = spec.instruction.file.as_path();
    let instruction = recorder.text(instruction).map_err(|error| error.at(&["instruction", "file"]))?;
    if instruction.trim().is_empty() {
        return Err(BuildError::new(format!("`{}` says nothing", spec.instruction.file.as_path()))
            .hint("state the problem: an optimizer reads this first")
            .at(&["instruction", "file"]));
    }
    let solution = match &spec.solution {
        Some(solution) => Some(folder(
            &mut recorder,
            context,
            solution.path.as_path(),
            &["solution", "path"],
            "the solution",
        )?),
        None => None,
    };
    let scorer = match &spec.scorer {
        Some(scorer) => {
            Some(folder(&mut recorder, context, scorer.path.as_path(), &["scorer", "path"], "the scorer")?)
        }
        None => None,
    };
    let dataset = match &spec.dataset {
        Some(dataset) => {
            let filters = dataset::filters(spec);
            let id = dataset::id(dataset, &filters);
            Some(context.shared.datasets.get(&id, || dataset::make(context, dataset, &filters))?)
        }
        None => None,
    };
    groups.extend(dataset.iter().map(|node| Arc::clone(&node.group)));

    let found = match spec.harbor.as_ref().map(|harbor| &harbor.source) {
        Some(TaskSource::Local(local)) => Some(inner_tasks::find(context, local.path.as_path())?),
        Some(TaskSource::Registry(_)) | None => None,
    };
    let source = match (&dataset, &found) {
        (Some(node), _) => Source::Rows(node),
        (None, Some(tasks)) => Source::Tasks(tasks),
        (None, None) => Source::Registry,
    };
    let resolved = splits::resolve(spec, &source, &mut recorder)?;
    splits::check_time(spec, &resolved)?;
    let inner = match &found {
        Some(found) => Some(inner_tasks::bake(context, found, &resolved.all())?),
        None => None,
    };
    groups.extend(found.iter().map(|found| Arc::clone(&found.group)));
    groups.extend(inner.iter().map(|inner| Arc::clone(&inner.group)));
    groups.push(Arc::new(recorder.finish()));
    Ok(Ingredients {
        baseline,
        binary,
        templates,
        dataset,
        scorer,
        inner,
        solution,
        instruction,
        resolved,
        groups,
    })
}

fn load_templates(context: &Context<'_>, spec: &Spec) -> Result<Arc<Templates>> {
    let own: BTreeMap<String, Utf8PathBuf> =
        spec.templates.iter().map(|(name, path)| (name.clone(), path.as_path().to_owned())).collect();
    let id = serde_json::to_string(&own).unwrap_or_default();
    context.shared.templates.get(&id, || {
        Templates::load(&context.workspace.templates, &own, Recorder::new(context.root(), context.cache))
    })
}

fn folder(
    recorder: &mut Recorder<'_>,
    context: &Context<'_>,
    path: &camino::Utf8Path,
    field: &[&str],
    what: &str,
) -> Result<Tree> {
    let tree = recorder.tree(path, context.store).map_err(|error| error.at(field))?;
    tree.check(&format!("{what} `{path}`")).map_err(|error| error.at(field))?;
    if tree.is_empty() {
        return Err(BuildError::new(format!("{what} `{path}` holds no file")).at(field));
    }
    Ok(tree)
}

impl Ingredients {
    /// Everything that the task depends on, entry by entry.
    pub fn key(&self, spec: &Spec) -> Key {
        let mut key = Key::new("task", 1);
        key.add("generator", GENERATOR);
        let said = serde_json::to_value(spec).unwrap_or_default();
        key.add_fields("spec", &said);
        add_tree(&mut key, "baseline", &self.baseline.tree);
        key.add("baseline.commit", &self.baseline.commit);
        if let Entry::File { content, .. } = &self.binary.entry {
            key.add_digest("binary", content.digest());
        }
        for (name, digest) in self.templates.digests() {
            key.add_digest(format!("template {name}.hbs"), digest);
        }
        if let Some(dataset) = &self.dataset {
            add_tree(&mut key, "dataset", &dataset.tree);
        }
        if let Some(scorer) = &self.scorer {
            add_tree(&mut key, "scorer", scorer);
        }
        if let Some(inner) = &self.inner {
            add_tree(&mut key, "inner task", &inner.tree);
        }
        if let Some(solution) = &self.solution {
            add_tree(&mut key, "solution", solution);
        }
        key.add_digest(
            format!("instruction `{}`", spec.instruction.file.as_path()),
            Digest::of(self.instruction.as_bytes()),
        );
        // The spec may leave a split to a file or to a field of the rows: what came of it counts as well.
        for (split, ids) in &self.resolved.splits {
            key.add(format!("split {split}"), Digest::of(ids.join("\n").as_bytes()).to_string());
        }
        key
    }

    /// Renders and assembles the task's tree, and says what the lock says of it.
    pub fn assemble(&self, context: &Context<'_>, spec: &Spec) -> Result<(Tree, LockEntry)> {
        let spec_digest = digest_of_spec(spec);
        let mut tree = Tree::default();
        self.files(context, spec, &mut tree)?;
        self.rendered(spec, &mut tree)?;
        tree.insert("task.toml", Entry::text(task_toml(spec, spec_digest, &self.baseline.commit).to_toml()));
        tree.check(&format!("the task `{}`", spec.name))?;
        let found = secrets::values(spec, |name| std::env::var(name).ok());
        secrets::refuse(&tree, &found, context.store)?;
        let harbor = content_digest_of(tree.iter().filter_map(|(path, entry)| {
            // Harbor hashes a link to a file as that file; a link to a folder or to nothing it passes over.
            let digest = match entry {
                Entry::File { content, .. } => content.digest(),
                Entry::Symlink { .. } => tree.follow(path)?.digest(),
            };
            Some((path, digest.bytes()))
        }))
        .map_err(|error| BuildError::new(error.to_string()))?;
        let lock = LockEntry {
            version: spec.version.clone(),
            spec: spec_digest.to_string(),
            baseline: self.baseline.tree.digest().to_string(),
            baseline_commit: self.baseline.commit.clone(),
            dataset: self.dataset.as_ref().map(|node| node.digest.to_string()),
            scorer: self.scorer.as_ref().map(|tree| tree.digest().to_string()),
            inner_tasks: self.inner.as_ref().map(|inner| inner.digest.to_string()),
            templates: self.templates.digest().to_string(),
            binary: self.binary.entry.digest().to_string(),
            tree: tree.digest().to_string(),
            harbor: harbor.to_string(),
        };
        Ok((tree, lock))
    }

    /// The files that are taken as they are.
    fn files(&self, context: &Context<'_>, spec: &Spec, tree: &mut Tree) -> Result<()> {
        tree.graft("environment/baseline", &self.baseline.tree);
        tree.insert("environment/bin/taskwright", self.binary.entry.clone());
        if let Some(solution) = &self.solution {
            tree.graft("solution/files", solution);
        }
        if let Some(scorer) = &self.scorer {
            tree.graft("environment/sidecar/scorer", scorer);
        }
        if let Some(dataset) = &self.dataset {
            tree.graft("environment/sidecar/dataset", &dataset.tree);
        }
        if let Some(inner) = &self.inner {
            tree.graft("environment/sidecar/inner-tasks", &inner.tree);
        }
        for split in exposed(spec) {
            let samples = self.resolved.splits.get(split).map_or(&[][..], Vec::as_slice);
            if let (Some(node), Some(dataset)) = (&self.dataset, &spec.dataset) {
                let content = dataset::without_labels(context.store, node, dataset, samples)?;
                tree.insert(
                    format!("environment/samples/{split}.jsonl"),
                    Entry::File { content, executable: false },
                );
            }
            if let Some(inner) = &self.inner {
                for id in samples {
                    let Some(task) = inner.tasks.get(id) else { continue };
                    let shown = inner_tasks::without_answers(&inner.tree, &task.directory);
                    tree.graft(&format!("environment/samples/{split}/{}", task.directory), &shown);
                }
            }
        }
        let rows = match (&self.dataset, &self.scorer) {
            (Some(node), Some(scorer)) => Some((node.as_ref(), scorer.digest())),
            _ => None,
        };
        let inner = self.inner.as_ref().map(|inner| inner.tasks.clone()).unwrap_or_default();
        let config = serve::config(spec, &self.baseline, &self.resolved, rows, inner);
        let mut text = serde_json::to_string_pretty(&config)
            .map_err(|error| BuildError::new(format!("writing serve.json: {error}")))?;
        text.push('\n');
        tree.insert("environment/sidecar/serve.json", Entry::text(text));
        Ok(())
    }

    /// The files that templates make.
    fn rendered(&self, spec: &Spec, tree: &mut Tree) -> Result<()> {
        let templates = &self.templates;
        let plain = |content: Content| Entry::File { content, executable: false };
        let script = |content: Content| Entry::File { content, executable: true };
        tree.insert(
            "instruction.md",
            plain(templates.render("instruction.md", &self.instruction_context(spec))?),
        );
        tree.insert(
            "solution/solve.sh",
            script(templates.render_shared("solution/solve.sh", &solve_context(spec))?),
        );
        let compose = compose_context(spec);
        tree.insert(
            "environment/docker-compose.yaml",
            plain(templates.render_shared("environment/docker-compose.yaml", &compose)?),
        );
        let main = main_context(spec, &self.baseline.commit);
        tree.insert(
            "environment/Dockerfile",
            plain(templates.render_shared("environment/Dockerfile", &main)?),
        );
        let sidecar = sidecar_context(spec);
        tree.insert(
            "environment/sidecar/Dockerfile",
            plain(templates.render_shared("environment/sidecar/Dockerfile", &sidecar)?),
        );
        tree.insert("tests/test.sh", script(templates.render_shared("tests/test.sh", &Nothing {})?));
        if spec.verifier == Verifier::Separate {
            let image = ImageContext { image: &spec.images.verifier };
            tree.insert("tests/Dockerfile", plain(templates.render_shared("tests/Dockerfile", &image)?));
            tree.insert(
                "tests/docker-compose.yaml",
                plain(templates.render_shared("tests/docker-compose.yaml", &Nothing {})?),
            );
        }
        Ok(())
    }

    fn instruction_context<'a>(&'a self, spec: &'a Spec) -> InstructionContext<'a> {
        let limit = |limit: taskwright_spec::model::Limit| {
            limit.at_most().map_or_else(|| "unlimited".to_owned(), |count| count.to_string())
        };
        let splits =
            spec.splits.iter().filter(|(_, split)| split.access != Access::NoAccess).map(|(name, split)| {
                let floor = split.access == Access::NonViewable && split.min_samples > 1;
                SplitContext {
                    name,
                    samples: self.resolved.splits.get(name).map_or(0, Vec::len),
                    evaluate: if floor {
                        format!("yes, at least {} samples a time", split.min_samples)
                    } else {
                        "yes".to_owned()
                    },
                    see: if split.access == Access::Viewable {
                        "every sample's result"
                    } else {
                        "the aggregate"
                    },
                    runs: limit(split.budget.runs),
                    budget: limit(split.budget.samples),
                }
            });
        let mut read_only = spec.baseline.read_only.clone();
        read_only.extend(self.baseline.read_only.iter().cloned());
        InstructionContext {
            statement: self.instruction.trim_end(),
            description: &spec.description,
            read_only,
            splits: splits.collect(),
            has_floor: spec
                .splits
                .values()
                .any(|split| split.access == Access::NonViewable && split.min_samples > 1),
            has_exposed: exposed(spec).next().is_some(),
            exposed: exposed(spec).collect(),
            metric: &spec.objective.metric,
            better: if spec.objective.direction == Direction::Maximize { "more" } else { "less" },
            constraints: &spec.objective.constraints,
            submit: spec.selection.policy == Policy::Submit,
            selection_split: serve::selection_split(spec),
            targets: spec.targets.iter().map(|target| target.split.as_str()).collect(),
            multifidelity: spec.instruction.multifidelity,
            exhaust_budget: spec.instruction.exhaust_budget,
            inner_docker: uses_host_docker(spec),
        }
    }
}

fn add_tree(key: &mut Key, label: &str, tree: &Tree) {
    for (path, entry) in tree.iter() {
        let digest = entry.digest();
        match entry {
            Entry::File { executable: true, .. } => {
                key.add(format!("{label} `{path}`"), format!("{digest} executable"))
            }
            Entry::File { .. } => key.add_digest(format!("{label} `{path}`"), digest),
            Entry::Symlink { target } => key.add(format!("{label} `{path}`"), format!("link to {target}")),
        }
    }
}

/// The digest of a spec with everything inherited, substituted and filled in: comments and order do not count.
fn digest_of_spec(spec: &Spec) -> Digest {
    Digest::of(&serde_json::to_vec(spec).unwrap_or_default())
}

fn exposed(spec: &Spec) -> impl Iterator<Item = &str> {
    spec.splits.iter().filter(|(_, split)| split.expose).map(|(name, _)| name.as_str())
}

fn uses_host_docker(spec: &Spec) -> bool {
    spec.harbor.as_ref().is_some_and(|harbor| harbor.inner_docker == InnerDocker::HostSocket)
}

fn task_toml(spec: &Spec, spec_digest: Digest, commit: &str) -> TaskToml {
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
    let mut ours = toml::Table::new();
    ours.insert("spec".to_owned(), spec_digest.to_string().into());
    ours.insert("baseline_commit".to_owned(), commit.into());
    ours.insert("mode".to_owned(), if spec.mode == Mode::A { "a" } else { "b" }.into());
    task.metadata.insert("taskwright".to_owned(), ours.into());
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

/// A template that needs to be told nothing.
#[derive(Serialize)]
struct Nothing {}

#[derive(Serialize)]
struct ImageContext<'a> {
    image: &'a str,
}

#[derive(Serialize)]
struct InstructionContext<'a> {
    statement: &'a str,
    description: &'a str,
    read_only: Vec<String>,
    splits: Vec<SplitContext<'a>>,
    has_floor: bool,
    has_exposed: bool,
    exposed: Vec<&'a str>,
    metric: &'a str,
    better: &'static str,
    constraints: &'a [taskwright_spec::model::Constraint],
    submit: bool,
    selection_split: String,
    targets: Vec<&'a str>,
    multifidelity: bool,
    exhaust_budget: bool,
    inner_docker: bool,
}

#[derive(Serialize)]
struct SplitContext<'a> {
    name: &'a str,
    samples: usize,
    evaluate: String,
    see: &'static str,
    runs: String,
    budget: String,
}

#[derive(Serialize)]
struct SolveContext<'a> {
    has_files: bool,
    message: &'a str,
    splits: Vec<&'a str>,
}

fn solve_context(spec: &Spec) -> SolveContext<'_> {
    // The split that ranks candidates is the one that the oracle has to be seen on.
    let selection = serve::selection_split(spec);
    SolveContext {
        has_files: spec.solution.is_some(),
        message: spec.solution.as_ref().map_or("Leave the baseline as it is", |solution| &solution.message),
        splits: spec
            .splits
            .iter()
            .filter(|(name, split)| split.access != Access::NoAccess && **name == selection)
            .map(|(name, _)| name.as_str())
            .collect(),
    }
}

#[derive(Serialize)]
struct ComposeContext<'a> {
    environment: Vec<Variable<'a>>,
    secrets: Vec<String>,
    has_environment: bool,
    shared_verifier: bool,
    has_network: bool,
    host_docker: bool,
}

#[derive(Serialize)]
struct Variable<'a> {
    name: &'a str,
    value: &'a str,
}

fn compose_context(spec: &Spec) -> ComposeContext<'_> {
    let secrets = serve::secrets(spec);
    ComposeContext {
        environment: spec.agent_env.iter().map(|(name, value)| Variable { name, value }).collect(),
        has_environment: !secrets.is_empty(),
        secrets,
        shared_verifier: spec.verifier == Verifier::Shared,
        has_network: spec.mode == Mode::B,
        host_docker: uses_host_docker(spec),
    }
}

#[derive(Serialize)]
struct MainContext<'a> {
    image: &'a str,
    has_packages: bool,
    snapshot: String,
    packages: &'a [String],
    has_samples: bool,
    author_name: &'static str,
    author_email: &'static str,
    date: String,
    message: &'static str,
    commit: &'a str,
}

fn main_context<'a>(spec: &'a Spec, commit: &'a str) -> MainContext<'a> {
    let (author_name, author_email) =
        COMMIT_IDENTITY.trim_end_matches('>').split_once(" <").unwrap_or((COMMIT_IDENTITY, ""));
    MainContext {
        image: &spec.images.main,
        has_packages: !spec.packages.main.is_empty(),
        snapshot: snapshot(spec),
        packages: &spec.packages.main,
        has_samples: exposed(spec).next().is_some(),
        author_name,
        author_email,
        date: format!("{COMMIT_TIME} +0000"),
        message: COMMIT_MESSAGE,
        commit,
    }
}

#[derive(Serialize)]
struct SidecarContext<'a> {
    image: &'a str,
    has_packages: bool,
    snapshot: String,
    packages: &'a [String],
    folders: &'static [&'static str],
}

fn sidecar_context(spec: &Spec) -> SidecarContext<'_> {
    let standard = match spec.mode {
        Mode::A => "python:3.13-trixie",
        Mode::B => "ghcr.io/astral-sh/uv:python3.13-trixie",
    };
    let local = matches!(spec.harbor.as_ref().map(|harbor| &harbor.source), Some(TaskSource::Local(_)));
    SidecarContext {
        image: if spec.images.sidecar == "default" { standard } else { &spec.images.sidecar },
        has_packages: !spec.packages.sidecar.is_empty(),
        snapshot: snapshot(spec),
        packages: &spec.packages.sidecar,
        folders: match spec.mode {
            Mode::A => &["scorer", "dataset"],
            Mode::B if local => &["inner-tasks"],
            Mode::B => &[],
        },
    }
}

/// The snapshot's day as its address has it.
fn snapshot(spec: &Spec) -> String {
    spec.packages.snapshot.as_deref().unwrap_or_default().replace('-', "")
}
