//! All that the public configurations of vero's harness-engineering-bench say can be said here.

use std::fs;

use crate::support::{self, Space};
use serde_json::Value;
use taskwright_language::model::{Access, Aggregate, Policy, RunAs, Samples, TaskSource};
use taskwright_language::schema::json_schema;
use taskwright_language::{Loaded, Severity};

/// Each key of those configurations, and the fields that say the same. docs/coming-from-vero.md explains them.
const HOMES: &[(&str, &[&str])] = &[
    ("name", &["organization", "name"]),
    ("description", &["description"]),
    ("agent_repo", &["baseline.path"]),
    (
        "task_source",
        &["harbor.source.path", "harbor.source.registry", "harbor.source.version", "harbor.source.digest"],
    ),
    ("task_manifest", &["harbor.source.digest", "splits.*.samples.file"]),
    ("agent_import_path", &["harbor.agent"]),
    ("harbor_requirement", &["harbor.version", "harbor.extras"]),
    ("partition_files", &["splits.*.samples.file"]),
    ("agent_access.partition", &["splits"]),
    ("agent_access.disclosure", &["splits.*.access"]),
    ("agent_access.expose_case_resources", &["splits.*.expose"]),
    ("agent_access.min_aggregate_cases", &["splits.*.min_samples"]),
    ("agent_access.total_runs", &["splits.*.budget.runs"]),
    ("agent_access.total_cases", &["splits.*.budget.samples"]),
    ("selection_partition", &["selection.split"]),
    ("targets.partition", &["targets.*.split"]),
    ("targets.reward_key", &["targets.*.reward_key"]),
    ("targets.baseline_reward", &["targets.*.baseline_reward"]),
    ("targets.failure_value", &["targets.*.failure_value"]),
    ("targets.max_attempts", &["targets.*.max_attempts"]),
    ("targets.n_attempts", &["targets.*.attempts"]),
    ("targets.aggregate_attempts", &["targets.*.aggregate"]),
    ("evaluation_set_name", &["keywords", "task.metadata"]),
    ("objective.selector.metric", &["objective.metric"]),
    ("objective.direction", &["objective.direction"]),
    ("reward_mode", &["selection.policy"]),
    ("baseline_floor", &["selection.baseline_floor"]),
    ("score_baseline", &["selection.score_baseline"]),
    ("rescore_top_k", &["selection.rescore_top_k"]),
    ("rescore_attempts", &["selection.rescore_attempts"]),
    ("model", &["harbor.model"]),
    ("environment_name", &["harbor.environment"]),
    ("extra_harbor_args", &["harbor.environment_args", "harbor.force_build", "harbor.extra_args"]),
    ("optimizer_harbor_args", &["harbor.optimizer_args"]),
    ("harbor_python_version", &["harbor.python"]),
    ("n_attempts", &["harbor.attempts"]),
    ("aggregate_attempts", &["harbor.aggregate"]),
    ("max_retries", &["harbor.max_retries"]),
    ("retry_max_wait_seconds", &["harbor.retry_max_wait_sec"]),
    ("infrastructure_max_attempts", &["limits.infrastructure_max_attempts"]),
    ("infrastructure_retry_delay_seconds", &["limits.infrastructure_retry_delay_sec"]),
    ("feedback_transcripts", &["feedback.transcripts"]),
    ("feedback_max_bytes", &["feedback.max_bytes"]),
    ("expose_attempt_detail", &["feedback.attempts"]),
    ("timeout_seconds", &["limits.evaluation_timeout_sec"]),
    ("case_timeout_seconds", &["limits.sample_timeout_sec", "harbor.agent_timeout_multiplier"]),
    ("task_agent_timeout_seconds", &["harbor.agent_timeout_sec"]),
    ("verifier_timeout_seconds", &["limits.finalize_timeout_sec"]),
    ("max_concurrency", &["limits.concurrency"]),
    ("error_rate_threshold", &["limits.error_rate_threshold"]),
    ("secrets", &["secrets"]),
    ("harness_user", &["harbor.run_as"]),
    ("agent_env", &["agent_env"]),
    ("task_environment", &["harbor.task_env"]),
    // The inner tasks take the gateway's own variables, and there is no other way.
    ("task_services_use_upstream", &["gateway.upstream_api_key_env", "gateway.upstream_base_url_env"]),
    ("instruct_multifidelity", &["instruction.multifidelity"]),
    ("instruct_exhaust_budget", &["instruction.exhaust_budget"]),
    ("instruction_template", &["instruction.file", "templates"]),
    ("wandb.project", &["wandb.project"]),
    ("wandb.group", &["wandb.group"]),
    ("wandb.name", &["wandb.name"]),
    ("wandb.tags", &["wandb.tags"]),
    ("wandb.log_traces", &["wandb.log_traces"]),
    ("inference_gateway.upstream_api_key_env", &["gateway.upstream_api_key_env"]),
    ("inference_gateway.upstream_base_url_env", &["gateway.upstream_base_url_env"]),
    ("inference_gateway.request_log_attribution", &["gateway.request_log_attribution"]),
    (
        "inference_gateway.*.allowed_models",
        &["gateway.producer.allowed_models", "gateway.evaluation.allowed_models"],
    ),
    ("inference_gateway.*.model_aliases", &["gateway.producer.model_aliases"]),
    ("inference_gateway.*.max_requests", &["gateway.evaluation.max_requests"]),
    ("inference_gateway.*.max_tokens", &["gateway.evaluation.max_tokens"]),
    ("inference_gateway.*.max_concurrency", &["gateway.finalization.max_concurrency"]),
    ("${name:-default}", &["params"]),
    ("uv.lock", &["harbor.requirements"]),
    ("build_timeout_seconds", &["task.environment.build_timeout_sec"]),
    ("base_image_main", &["images.main"]),
    ("base_image_sidecar", &["images.sidecar"]),
    ("base_image_verifier", &["images.verifier"]),
    ("partitions", &["splits.*.samples"]),
    ("selection_coverage_threshold", &["selection.min_coverage"]),
    ("disclose_budget", &["templates"]),
    ("include_evals_skill", &["templates"]),
    ("command_backend", &["scorer.run", "scorer.score"]),
];

/// Keys of the same format that none of those configurations use, and that have no home.
const HOMELESS: &[&str] = &[
    "default_index",
    "parameters",
    "baseline_selection_score",
    "selector.aggregation",
    "entity",
    "notes",
    "run_id",
    "request_log_body_bytes",
    "default_upstream_base_url",
];

#[test]
fn every_key_has_a_home() {
    let schema = json_schema();
    for (key, homes) in HOMES {
        for home in *homes {
            let steps: Vec<&str> = home.split('.').collect();
            assert!(knows(&schema, &schema, &steps), "{key}: there is no {home}");
        }
    }
}

/// Whether a schema has a field at a path; `*` stands for any name and any index.
fn knows(root: &Value, schema: &Value, path: &[&str]) -> bool {
    if let Some(name) =
        schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"))
    {
        return knows(root, &root["$defs"][name], path);
    }
    let forms = schema.get("anyOf").and_then(Value::as_array);
    if forms.is_some_and(|forms| forms.iter().any(|form| knows(root, form, path))) {
        return true;
    }
    match path {
        [] => true,
        ["*", rest @ ..] => ["items", "additionalProperties"]
            .iter()
            .any(|inner| schema.get(inner).is_some_and(|inner| knows(root, inner, rest))),
        [key, rest @ ..] => schema
            .get("properties")
            .and_then(|fields| fields.get(key))
            .is_some_and(|field| knows(root, field, rest)),
    }
}

#[test]
fn the_guide_names_every_key() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/coming-from-vero.md");
    let guide = fs::read_to_string(guide).expect("the guide");
    for key in HOMES.iter().map(|(key, _)| key).chain(HOMELESS) {
        let last = key.rsplit('.').next().unwrap_or(key);
        assert!(
            guide.contains(&format!("`{key}`")) || guide.contains(&format!("`{last}`")),
            "{key} is not in the guide"
        );
    }
}

fn load(name: &str, set: &[(&str, &str)]) -> Loaded {
    let space = Space::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/specs");
    for file in ["shared.toml", "registry.toml", "services.toml", "local.toml"] {
        let text = fs::read_to_string(format!("{folder}/{file}")).expect("a spec");
        space.write(&format!("suite/{file}"), text);
    }
    match space.load_with(&format!("suite/{name}"), set) {
        Ok(loaded) => loaded,
        Err(found) => panic!("{found}"),
    }
}

#[test]
fn tasks_of_a_registry() {
    let loaded = load("registry.toml", &[("wandb_run", "second"), ("inner_environment", "daytona")]);
    assert!(loaded.warnings.iter().all(|item| item.severity == Severity::Warning));
    let spec = &loaded.tasks[0].spec;
    let harbor = spec.harbor.as_ref().expect("harbor");
    assert!(
        matches!(&harbor.source, TaskSource::Registry(source) if source.registry == "questions/questions")
    );
    assert_eq!((harbor.environment.as_str(), harbor.aggregate), ("daytona", Aggregate::Best));
    assert_eq!(harbor.environment_args["app_name"].as_str(), Some("suite"));
    assert_eq!(spec.wandb.as_ref().expect("wandb").name.as_deref(), Some("second"));
    assert_eq!(spec.splits["validation"].access, Access::NonViewable);
    assert_eq!(spec.splits["development"].budget.samples.at_most(), Some(132));
    let Samples::File(file) = &spec.splits["test"].samples else { panic!("a file of samples") };
    assert_eq!(file.file.as_path(), "partitions/test.json");
    assert_eq!((spec.targets[0].attempts, spec.selection.policy), (3, Policy::Submit));
    let gateway = spec.gateway.as_ref().expect("a gateway");
    assert_eq!(gateway.producer.as_ref().unwrap().allowed_models, ["large-model"]);
    assert_eq!(gateway.evaluation.as_ref().unwrap().max_tokens.at_most(), Some(2_000_000_000));
}

#[test]
fn tasks_with_services() {
    let loaded = load("services.toml", &[]);
    let spec = &loaded.tasks[0].spec;
    let harbor = spec.harbor.as_ref().expect("harbor");
    assert_eq!((harbor.run_as, harbor.max_retries), (RunAs::Root, 1));
    assert_eq!(harbor.environment_args.len(), 3);
    assert_eq!(harbor.optimizer_args, ["--agent-setup-timeout-multiplier", "4"]);
    assert_eq!(
        support::names(&loaded.files),
        ["suite/services.toml", "suite/registry.toml", "suite/shared.toml"]
    );
}

#[test]
fn tasks_on_this_machine() {
    let spec = &load("local.toml", &[]).tasks[0].spec;
    let harbor = spec.harbor.as_ref().expect("harbor");
    assert!(matches!(&harbor.source, TaskSource::Local(source) if source.path.as_path() == "tasks"));
    assert_eq!((harbor.agent_timeout_sec, harbor.force_build), (Some(1800.0), false));
    assert!(spec.selection.score_baseline && spec.instruction.multifidelity);
}
