//! A spec whole: the tables of a spec file, and what follows from them.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use taskwright_harbor::task_toml::TaskOverrides;

use super::{
    Access, AgentEnv, Baseline, Controls, Dataset, Feedback, Gateway, HarborRun, Images, InnerDocker,
    Instruction, Limits, Mode, Objective, Packages, Scorer, Selection, Solution, SpecPath, Split, Target,
    WandbRun,
};

/// One task, said whole. A spec file is the TOML form of this table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Another spec file whose tables this one inherits: tables are merged key by key, everything else is replaced, and
    /// so is a table that chooses between several forms (`samples`, `source`).
    #[serde(default, skip_serializing)]
    pub extends: Option<SpecPath>,
    /// Named values with their defaults, used as `${name}` in any string; `--set name=value` overrides one.
    /// A string that is nothing but one reference takes the parameter's own type where the field allows it; `$${` is a
    /// literal `${`. Parameters do not refer to each other. `name = { required = "what it is for" }` has no default: each build
    /// gives it a value.
    #[serde(default, skip_serializing)]
    pub params: BTreeMap<String, Param>,
    /// Axes that expand this spec into one task for each combination of values. Each axis is a parameter too, and
    /// `name` must use all of them; `--set axis=value` picks one of its values, and leaves what was built of the others.
    #[serde(default, skip_serializing)]
    pub matrix: BTreeMap<String, Vec<Scalar>>,

    /// The task's directory name: lower-case letters, digits and dashes, at most 32 characters.
    pub name: String,
    /// The organization in Harbor's task name, which is `organization/name`.
    #[serde(default = "defaults::organization")]
    pub organization: String,
    /// The task's semantic version, which `harbor run --diff` compares: a new patch reuses results, a new minor
    /// version is graded again, a new major version runs again.
    #[serde(default = "defaults::version")]
    pub version: String,
    /// One sentence that says what is to be improved. It is for lists of tasks: what the optimizer reads is `instruction`.
    pub description: String,
    /// Who wrote the task.
    #[serde(default)]
    pub authors: Vec<Author>,
    /// Words by which the task can be found.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// What a sample is: `a`, a row of our own dataset scored by our own scorer; `b`, an inner Harbor task.
    pub mode: Mode,
    /// Who turns the evidence into the reward: `separate` (safe) or `shared` (for runners that cannot collect from
    /// sidecars; a leftover process of the agent can forge the reward).
    #[serde(default)]
    pub verifier: Verifier,

    /// What is measured and which way is better.
    #[serde(default)]
    pub objective: Objective,
    /// The repository that the optimizer starts from.
    pub baseline: Baseline,
    /// What the optimizer reads.
    pub instruction: Instruction,
    /// What the oracle does: one real improvement. Without it the oracle evaluates and submits the baseline.
    #[serde(default)]
    pub solution: Option<Solution>,
    /// What `validate` is told of the task, besides everything else here.
    #[serde(default, skip_serializing_if = "Controls::is_empty")]
    pub controls: Controls,
    /// The base image of each container.
    #[serde(default)]
    pub images: Images,
    /// Debian packages installed when the images are built.
    #[serde(default)]
    pub packages: Packages,
    /// Mode A: the commands that run and score a candidate.
    #[serde(default)]
    #[schemars(extend("x-taskwright-mode" = "a"))]
    pub scorer: Option<Scorer>,
    /// Mode A: the rows that candidates are run on.
    #[serde(default)]
    #[schemars(extend("x-taskwright-mode" = "a"))]
    pub dataset: Option<Dataset>,
    /// Mode B: the nested `harbor run` that scores a candidate.
    #[serde(default)]
    #[schemars(extend("x-taskwright-mode" = "b"))]
    pub harbor: Option<HarborRun>,
    /// The named groups of samples, with what the optimizer may learn of each.
    pub splits: BTreeMap<String, Split>,
    /// How the candidate that counts is chosen.
    #[serde(default)]
    pub selection: Selection,
    /// What the verifier scores: the first target's score is the task's reward.
    pub targets: Vec<Target>,
    /// Timeouts and limits of evaluations.
    #[serde(default)]
    pub limits: Limits,
    /// What the optimizer sees of a single sample of a viewable split.
    #[serde(default)]
    pub feedback: Feedback,
    /// Names of environment variables of the machine that runs Harbor. Their values reach the eval sidecar and nothing
    /// else, and never stand in a built file.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// Environment variables of the optimizer's container.
    #[serde(default)]
    pub agent_env: AgentEnv,
    /// The optimizer's and the candidates' metered way to a language model.
    #[serde(default)]
    pub gateway: Option<Gateway>,
    /// Where the evaluations are reported to, besides the evidence.
    #[serde(default)]
    pub wandb: Option<WandbRun>,
    /// Our own templates in place of the standard ones, by the output file they make, for example
    /// `"environment/Dockerfile" = "Dockerfile.hbs"`.
    #[serde(default)]
    pub templates: BTreeMap<String, SpecPath>,
    /// Whatever else Harbor's task.toml can say, in its own words.
    #[serde(default)]
    pub task: TaskOverrides,
}

impl Spec {
    /// The names of all variables that hold secrets: those declared, and the gateway's own. Sorted, each once.
    pub fn secret_names(&self) -> Vec<String> {
        let gateway = self
            .gateway
            .iter()
            .flat_map(|gateway| [&gateway.upstream_api_key_env, &gateway.upstream_base_url_env]);
        let names: BTreeSet<_> = self.secrets.iter().chain(gateway).cloned().collect();
        names.into_iter().collect()
    }

    /// Whether candidates may ask language models.
    pub fn candidates_ask_models(&self) -> bool {
        self.gateway.as_ref().is_some_and(|gateway| gateway.evaluation.is_some())
    }

    /// Whether the eval sidecar is given the Docker of the machine that it runs on.
    pub fn uses_host_docker(&self) -> bool {
        self.harbor.as_ref().is_some_and(|harbor| {
            harbor.environment == "docker" && harbor.inner_docker == InnerDocker::HostSocket
        })
    }

    /// The packages that the eval sidecar's image needs beyond those that the spec names: Docker's client, if it is to
    /// use Docker. An image of the spec's own is taken to have what it needs.
    pub fn implied_packages(&self) -> Vec<&'static str> {
        let needed: &[&str] = if self.uses_host_docker() && self.images.sidecar == "default" {
            &["docker-cli", "docker-compose"]
        } else {
            &[]
        };
        let is_named = |package: &str| {
            self.packages
                .sidecar
                .iter()
                .any(|named| named.split_once('=').map_or(named.as_str(), |(name, _)| name) == package)
        };
        needed.iter().copied().filter(|package| !is_named(package)).collect()
    }

    /// The split whose evaluations rank the candidates: the one that `selection.split` names; if that is `auto`, the
    /// split `validation` if it may be evaluated, else the only split that may be. `None` if nothing can be ranked.
    pub fn selection_split(&self) -> Option<&str> {
        if self.selection.split != "auto" {
            return Some(&self.selection.split);
        }
        let mut evaluable = self
            .splits
            .iter()
            .filter(|(_, split)| split.access != Access::NoAccess)
            .map(|(name, _)| name.as_str());
        match (evaluable.clone().find(|name| *name == "validation"), evaluable.next(), evaluable.next()) {
            (Some(validation), ..) => Some(validation),
            (None, Some(only), None) => Some(only),
            _ => None,
        }
    }
}

/// A parameter: its value, or what to say to whoever builds without giving it one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Param {
    /// The value unless another is given.
    Default(Scalar),
    /// No value: each build gives one.
    Required(Required),
}

/// A parameter that each build gives a value with `--set name=value`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Required {
    /// What the value is for, which is said where none is given.
    #[schemars(length(min = 1))]
    pub required: String,
}

/// A value that a parameter or a matrix axis can have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    /// A truth value.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text.
    Text(String),
}

/// Who wrote a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Author {
    /// The author's name.
    pub name: String,
    /// The author's electronic mail address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// Where the verifier runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verifier {
    /// In a container of its own that only sees the collected evidence.
    #[default]
    Separate,
    /// In the optimizer's container, after the optimizer: forgeable, and said so by a warning.
    Shared,
}

mod defaults {
    pub fn organization() -> String {
        "taskwright".to_owned()
    }
    pub fn version() -> String {
        "1.0.0".to_owned()
    }
}
