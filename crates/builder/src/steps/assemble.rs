//! A task's whole tree: what the shared steps made, what is rendered, and the key of all of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8PathBuf;
use taskwright_harbor::digest::content_digest_of;
use taskwright_language::LoadedSpec;
use taskwright_language::model::{Spec, TaskSource, Verifier};
use taskwright_language::serve::ServeHarbor;

use super::requirements::{Locked, Packages};
use super::splits::{Resolved, Source};
use super::task_toml::task_toml;
use super::{
    Context, baseline, binary, dataset, inner_tasks, leaks, listing, requirements, scorer_arguments, secrets,
    serve, splits,
};
use crate::inputs::{Group, Recorder};
use crate::key::{GENERATOR, Key};
use crate::lock::LockEntry;
use crate::render::Templates;
use crate::render::contexts::{
    ImageContext, Nothing, compose_context, exposed, instruction_context, main_context, sidecar_context,
    solve_context,
};
use crate::tree::{Content, Entry, Tree};
use taskwright_base::Digest;
use taskwright_base::{Error, Result};

/// Everything that a task is made from, read and checked, before any of it is rendered.
pub struct Ingredients {
    baseline: Arc<baseline::Node>,
    binary: Arc<binary::Node>,
    templates: Arc<Templates>,
    dataset: Option<Arc<dataset::Node>>,
    scorer: Option<Tree>,
    inner: Option<inner_tasks::Baked>,
    packages: Option<Packages>,
    solution: Option<Tree>,
    instruction: String,
    resolved: Resolved,
    /// What was read, in the groups that other tasks share.
    pub groups: Vec<Arc<Group>>,
}

/// Reads and checks everything that a task is made from.
#[expect(clippy::too_many_lines, reason = "one step after the other, in the order of the key")]
pub fn gather(context: &Context<'_>, loaded: &LoadedSpec) -> Result<Ingredients> {
    let spec = &loaded.spec;
    let mut recorder = context.recorder();
    let templates = load_templates(context, spec)?;
    let baseline = baseline::shared(context, &spec.baseline)?;
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
        return Err(Error::new(format!("`{}` says nothing", spec.instruction.file.as_path()))
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
            let tree =
                folder(&mut recorder, context, scorer.path.as_path(), &["scorer", "path"], "the scorer")?;
            scorer_arguments::check(scorer, &tree)?;
            Some(tree)
        }
        None => None,
    };
    leaks::check(context, spec, &baseline)?;
    let packages = requirements::read(context, spec, &baseline, &mut recorder)?;
    let dataset = dataset::shared(context, spec)?;
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
    let own_seconds = found.as_ref().map(|found| found.longest(spec, &resolved.all()));
    splits::check_time(spec, &resolved, own_seconds)?;
    let inner = match &found {
        Some(found) => Some(inner_tasks::bake(context, spec, found, &resolved.all())?),
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
        packages,
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
    context
        .shared
        .templates
        .get(&id, || Templates::load(&context.workspace.templates, &own, context.recorder()))
}

fn folder(
    recorder: &mut Recorder<'_>,
    context: &Context<'_>,
    path: &camino::Utf8Path,
    field: &[&str],
    what: &str,
) -> Result<Tree> {
    let tree = recorder.tree(path, context.store).map_err(|error| error.at(field))?;
    let shown = format!("{what} `{path}`");
    tree.check(&shown).and_then(|()| tree.check_scripts(&shown, path)).map_err(|error| error.at(field))?;
    if tree.is_empty() {
        return Err(Error::new(format!("{what} `{path}` holds no file")).at(field));
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
        key.add_digest("baseline", self.baseline.digest);
        key.add("baseline.commit", &self.baseline.commit);
        for (machine, entry) in &self.binary.entries {
            key.add_digest(format!("binary {machine}"), entry.digest());
        }
        for (name, digest) in self.templates.digests() {
            key.add_digest(format!("template {name}.hbs"), digest);
        }
        if let Some(dataset) = &self.dataset {
            key.add_digest("dataset", dataset.digest);
        }
        if let Some(scorer) = &self.scorer {
            listing::add(&mut key, "scorer", scorer);
        }
        if let Some(inner) = &self.inner {
            listing::add(&mut key, "inner task", &inner.tree);
        }
        if let Some(locked) = self.locked() {
            key.add_digest("requirements", locked.digest);
        }
        if let Some(solution) = &self.solution {
            listing::add(&mut key, "solution", solution);
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

    /// The versions of packages that the task is locked to.
    fn locked(&self) -> Option<&Locked> {
        self.packages.as_ref()?.locked.as_ref()
    }

    /// Renders and assembles the task's tree, and says what the lock says of it.
    pub fn assemble(&self, context: &Context<'_>, spec: &Spec) -> Result<(Tree, LockEntry)> {
        let spec_digest = digest_of_spec(spec);
        let mut tree = Tree::default();
        self.files(context, spec, &mut tree)?;
        self.rendered(spec, &mut tree)?;
        tree.insert("task.toml", Entry::text(task_toml(spec, spec_digest, &self.baseline.commit).to_toml()));
        // What it is put together from was checked against the rule for trees, each from its own root.
        tree.check_layout(&format!("the task `{}`", spec.name))?;
        let found = secrets::values(spec, |name| std::env::var(name).ok());
        secrets::refuse(&tree, &found, context.store)?;
        let harbor = harbor_digest(&tree)?;
        let binary = |machine| self.binary.entries.get(machine).map(|entry| entry.digest().to_string());
        let lock = LockEntry {
            version: Some(spec.version.clone()),
            spec: Some(spec_digest.to_string()),
            baseline: Some(self.baseline.digest.to_string()),
            baseline_commit: Some(self.baseline.commit.clone()),
            dataset: self.dataset.as_ref().map(|node| node.digest.to_string()),
            scorer: self.scorer.as_ref().map(|tree| tree.digest().to_string()),
            inner_tasks: self.inner.as_ref().map(|inner| inner.digest.to_string()),
            requirements: self.locked().map(|locked| locked.digest.to_string()),
            templates: Some(self.templates.digest().to_string()),
            taskwright: self.binary.version.map(str::to_owned),
            binary: binary("x86_64"),
            binary_aarch64: binary("aarch64"),
            tree: tree.digest().to_string(),
            harbor: harbor.to_string(),
            images: None,
            controls: None,
        };
        Ok((tree, lock))
    }

    /// The files that are taken as they are.
    fn files(&self, context: &Context<'_>, spec: &Spec, tree: &mut Tree) -> Result<()> {
        tree.graft("environment/baseline", &self.baseline.tree);
        for (machine, entry) in &self.binary.entries {
            tree.insert(format!("environment/bin/taskwright-{machine}"), entry.clone());
        }
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
        if let Some(locked) = self.locked() {
            tree.insert("environment/sidecar/requirements.txt", locked.entry.clone());
        }
        for split in exposed(spec) {
            let samples = self.resolved.splits.get(split).map_or(&[][..], Vec::as_slice);
            if let (Some(node), Some(dataset)) = (&self.dataset, &spec.dataset) {
                let content = dataset::without_labels(context, node, dataset, samples)?;
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
        let harbor = spec.harbor.clone().map(|run| ServeHarbor {
            run,
            requirements: self.locked().map(|locked| locked.digest.to_string()),
            tasks: self.inner.as_ref().map(|inner| inner.tasks.clone()).unwrap_or_default(),
        });
        if let Some(gateway) = &spec.gateway {
            tree.insert("environment/gateway/gateway.json", Entry::text(json("gateway.json", gateway)?));
        }
        let config = serve::config(spec, &self.baseline, &self.resolved, rows, harbor);
        tree.insert("environment/sidecar/serve.json", Entry::text(json("serve.json", &config)?));
        Ok(())
    }

    /// The files that templates make.
    fn rendered(&self, spec: &Spec, tree: &mut Tree) -> Result<()> {
        let templates = &self.templates;
        let plain = |content: Content| Entry::File { content, executable: false };
        let script = |content: Content| Entry::File { content, executable: true };
        let instruction =
            instruction_context(spec, &self.instruction, &self.baseline.read_only, &self.resolved.splits);
        tree.insert("instruction.md", plain(templates.render("instruction.md", &instruction)?));
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
        let sidecar = sidecar_context(spec, self.packages.as_ref().and_then(Packages::unresolved));
        tree.insert(
            "environment/sidecar/Dockerfile",
            plain(templates.render_shared("environment/sidecar/Dockerfile", &sidecar)?),
        );
        if spec.gateway.is_some() {
            let image = ImageContext { image: &spec.images.verifier };
            tree.insert(
                "environment/gateway/Dockerfile",
                plain(templates.render_shared("environment/gateway/Dockerfile", &image)?),
            );
        }
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
}

/// What a file of ours says, for people to read as well.
fn json(name: &str, value: &impl serde::Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::new(format!("writing {name}: {error}")))?;
    Ok(text + "\n")
}

/// The content digest that Harbor computes for a tree.
pub fn harbor_digest(tree: &Tree) -> Result<Digest> {
    content_digest_of(tree.iter().filter_map(|(path, entry)| {
        // Harbor hashes a link to a file as that file; a link to a folder or to nothing it passes over.
        let digest = match entry {
            Entry::File { content, .. } => content.digest(),
            Entry::Symlink { .. } => tree.follow(path)?.digest(),
        };
        Some((path, digest.bytes()))
    }))
    .map_err(|error| Error::new(error.to_string()))
}

/// The digest of a spec with everything inherited, substituted and filled in: comments and order do not count.
pub fn digest_of_spec(spec: &Spec) -> Digest {
    Digest::of(&serde_json::to_vec(spec).unwrap_or_default())
}
