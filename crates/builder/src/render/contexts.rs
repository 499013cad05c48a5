//! The context of each template: no more than it says, so that tasks which say the same share what is rendered.
//!
//! A template of a spec's own gets the same. The fields are the names that templates use.

use std::collections::BTreeMap;

use serde::Serialize;
use taskwright_base::git::identity;
use taskwright_harbor::requirements::resolution;
use taskwright_language::model::{Access, Direction, Mode, Policy, Spec, TaskSource, Verifier};

/// The context of a template that needs none.
#[derive(Serialize)]
pub struct Nothing {}

/// The context of the verifier's Dockerfile, and of the gateway's.
#[derive(Serialize)]
pub struct ImageContext<'a> {
    pub image: &'a str,
}

/// The context of the instruction.
#[derive(Serialize)]
pub struct InstructionContext<'a> {
    statement: &'a str,
    description: &'a str,
    read_only: Vec<String>,
    splits: Vec<SplitContext<'a>>,
    has_floor: bool,
    has_exposed: bool,
    exposed: Vec<&'a str>,
    metric: &'a str,
    better: &'static str,
    constraints: &'a [taskwright_language::model::Constraint],
    submit: bool,
    selection_split: &'a str,
    targets: Vec<&'a str>,
    multifidelity: bool,
    exhaust_budget: bool,
    inner_docker: bool,
    has_models: bool,
    sandboxed: bool,
    candidates_ask_models: bool,
    memory: u64,
    processes: u64,
    seconds: u64,
}

/// A row of the instruction's table of splits.
#[derive(Serialize)]
pub struct SplitContext<'a> {
    name: &'a str,
    samples: usize,
    evaluate: String,
    see: &'static str,
    runs: String,
    budget: String,
}

/// The context of the oracle's script.
#[derive(Serialize)]
pub struct SolveContext<'a> {
    has_files: bool,
    message: &'a str,
    splits: Vec<&'a str>,
}

/// The context that a spec gives the oracle's script.
pub fn solve_context(spec: &Spec) -> SolveContext<'_> {
    // The split that ranks candidates is the one that the oracle has to be seen on.
    let selection = spec.selection_split();
    SolveContext {
        has_files: spec.solution.is_some(),
        message: spec.solution.as_ref().map_or("Leave the baseline as it is", |solution| &solution.message),
        splits: spec
            .splits
            .iter()
            .filter(|(name, split)| split.access != Access::NoAccess && selection == Some(name.as_str()))
            .map(|(name, _)| name.as_str())
            .collect(),
    }
}

/// The context of the compose file.
#[derive(Serialize)]
pub struct ComposeContext<'a> {
    prebuilt: bool,
    environment: Vec<Variable<'a>>,
    /// All: nobody but those below has a value of one.
    secrets: Vec<String>,
    sidecar_secrets: Vec<&'a str>,
    gateway_secrets: Vec<&'a str>,
    has_environment: bool,
    shared_verifier: bool,
    main_has_volumes: bool,
    sidecar_networks: &'static str,
    has_gateway: bool,
    has_producer: bool,
    has_candidates: bool,
    host_docker: bool,
}

#[derive(Serialize)]
pub struct Variable<'a> {
    name: &'a str,
    value: &'a str,
}

/// Whether the optimizer may ask language models.
fn may_ask_models(spec: &Spec) -> bool {
    spec.gateway.as_ref().is_some_and(|gateway| gateway.producer.is_some())
}

/// The context that a spec gives the compose file.
pub fn compose_context(spec: &Spec) -> ComposeContext<'_> {
    let shared_verifier = spec.verifier == Verifier::Shared;
    let gateway = spec.gateway.as_ref();
    let has_producer = may_ask_models(spec);
    let has_candidates = spec.candidates_ask_models();
    let mut sidecar_secrets: Vec<&str> = spec.secrets.iter().map(String::as_str).collect();
    sidecar_secrets.sort_unstable();
    let gateway_secrets = gateway.map_or_else(Vec::new, |gateway| {
        vec![&*gateway.upstream_api_key_env, &*gateway.upstream_base_url_env]
    });
    ComposeContext {
        prebuilt: spec.task.environment.docker_image.is_some(),
        environment: spec.agent_env.iter().map(|(name, value)| Variable { name, value }).collect(),
        has_environment: !spec.secrets.is_empty() || spec.uses_host_docker(),
        secrets: spec.secret_names(),
        sidecar_secrets,
        gateway_secrets,
        shared_verifier,
        main_has_volumes: shared_verifier || has_producer,
        sidecar_networks: match (spec.mode, has_candidates) {
            (Mode::A, false) => "[evaluation]",
            (Mode::A, true) => "[evaluation, candidates]",
            (Mode::B, false) => "[default, evaluation]",
            (Mode::B, true) => "[default, evaluation, candidates]",
        },
        has_gateway: gateway.is_some(),
        has_producer,
        has_candidates,
        host_docker: spec.uses_host_docker(),
    }
}

/// The context of the optimizer's Dockerfile.
#[derive(Serialize)]
pub struct MainContext<'a> {
    image: &'a str,
    has_packages: bool,
    snapshot: String,
    packages: &'a [String],
    has_samples: bool,
    author_name: &'static str,
    author_email: &'static str,
    date: String,
    /// The same time for what keeps one of its own, so that an image does not say when it was made.
    epoch: u64,
    message: &'static str,
    commit: &'a str,
}

/// The context that a spec gives the optimizer's Dockerfile.
pub fn main_context<'a>(spec: &'a Spec, commit: &'a str) -> MainContext<'a> {
    MainContext {
        image: &spec.images.main,
        has_packages: !spec.packages.main.is_empty(),
        snapshot: snapshot(spec),
        packages: &spec.packages.main,
        has_samples: exposed(spec).next().is_some(),
        author_name: identity::NAME,
        author_email: identity::EMAIL,
        date: format!("{} +0000", identity::TIME),
        epoch: identity::TIME,
        message: identity::MESSAGE,
        commit,
    }
}

/// The context of the sidecar's Dockerfile.
#[derive(Serialize)]
pub struct SidecarContext<'a> {
    image: &'a str,
    has_packages: bool,
    snapshot: String,
    epoch: u64,
    packages: Vec<&'a str>,
    folders: &'static [&'static str],
    has_harbor: bool,
    python: &'a str,
    is_locked: bool,
    resolution: String,
}

/// Where the image keeps the versions of packages, and the baseline while they are resolved.
const REQUIREMENTS: &str = "/opt/requirements.txt";
const PROJECT: &str = "/opt/project";

/// The context that a spec gives the sidecar's Dockerfile; with the baseline's project file where the image has to resolve the
/// versions of packages.
pub fn sidecar_context<'a>(spec: &'a Spec, unresolved: Option<&str>) -> SidecarContext<'a> {
    let standard = match spec.mode {
        Mode::A => "python:3.13-trixie",
        Mode::B => "ghcr.io/astral-sh/uv:python3.13-trixie",
    };
    let local = matches!(spec.harbor.as_ref().map(|harbor| &harbor.source), Some(TaskSource::Local(_)));
    let mut packages: Vec<&str> = spec.packages.sidecar.iter().map(String::as_str).collect();
    packages.extend(spec.implied_packages());
    SidecarContext {
        image: if spec.images.sidecar == "default" { standard } else { &spec.images.sidecar },
        has_packages: !packages.is_empty(),
        snapshot: snapshot(spec),
        epoch: identity::TIME,
        packages,
        has_harbor: spec.harbor.is_some(),
        is_locked: unresolved.is_none(),
        resolution: spec.harbor.as_ref().zip(unresolved).map_or_else(String::new, |(run, file)| {
            resolution(&run.requirement(), &run.python, &format!("{PROJECT}/{file}"), REQUIREMENTS)
        }),
        python: spec.harbor.as_ref().map_or("", |harbor| &harbor.python),
        folders: match spec.mode {
            Mode::A => &["scorer", "dataset"],
            Mode::B if local => &["inner-tasks"],
            Mode::B => &[],
        },
    }
}

/// The snapshot's day as its address has it; empty if packages come from the image's own sources.
fn snapshot(spec: &Spec) -> String {
    match spec.packages.snapshot.as_deref() {
        Some("off") | None => String::new(),
        Some(day) => day.replace('-', ""),
    }
}

/// The context that a spec gives the instruction: its statement, the paths that must stay as they are beyond those that the
/// spec names, and the samples of each split.
pub fn instruction_context<'a>(
    spec: &'a Spec,
    statement: &'a str,
    protected: &[String],
    samples: &BTreeMap<String, Vec<String>>,
) -> InstructionContext<'a> {
    let limit = |limit: taskwright_language::model::Limit| {
        limit.at_most().map_or_else(|| "unlimited".to_owned(), |count| count.to_string())
    };
    let splits =
        spec.splits.iter().filter(|(_, split)| split.access != Access::NoAccess).map(|(name, split)| {
            let floor = split.access == Access::NonViewable && split.min_samples > 1;
            SplitContext {
                name,
                samples: samples.get(name).map_or(0, Vec::len),
                evaluate: if floor {
                    format!("yes, at least {} samples a time", split.min_samples)
                } else {
                    "yes".to_owned()
                },
                see: if split.access == Access::Viewable { "every sample's result" } else { "the aggregate" },
                runs: limit(split.budget.runs),
                budget: limit(split.budget.samples),
            }
        });
    let mut read_only = spec.baseline.read_only.clone();
    read_only.extend(protected.iter().cloned());
    InstructionContext {
        statement: statement.trim_end(),
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
        selection_split: spec.selection_split().unwrap_or_default(),
        targets: spec.targets.iter().map(|target| target.split.as_str()).collect(),
        multifidelity: spec.instruction.multifidelity,
        exhaust_budget: spec.instruction.exhaust_budget,
        inner_docker: spec.uses_host_docker(),
        has_models: may_ask_models(spec),
        sandboxed: spec.mode == Mode::A,
        candidates_ask_models: spec.candidates_ask_models(),
        memory: spec.limits.memory_mb,
        processes: spec.limits.processes,
        seconds: spec.limits.sample_seconds(),
    }
}

/// The splits whose samples are put into the optimizer's container.
pub fn exposed(spec: &Spec) -> impl Iterator<Item = &str> {
    spec.splits.iter().filter(|(_, split)| split.expose).map(|(name, _)| name.as_str())
}
