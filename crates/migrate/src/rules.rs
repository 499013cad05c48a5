//! The table of rules: each key of vero's configuration, in the order in which a spec says it.

mod access;
mod arguments;
mod command;
mod gateway;
mod identity;
mod instruction;
mod objective;
mod partitions;
mod source;
mod targets;
mod times;

use taskwright_language::model::Mode;

use crate::kind::Kind;
use crate::mapping::Rule;

/// What scores several attempts at one sample.
const AGGREGATES: Kind = Kind::Word(&[("best", "best"), ("mean", "mean"), ("first", "first")]);

const fn harbor(key: &'static str, kind: Kind, field: &'static str) -> Rule {
    Rule::field(key, kind, "harbor", field).only(Mode::B)
}

/// Every key at the root of a configuration.
pub const RULES: &[Rule] = &[
    Rule::by("name", identity::name),
    Rule::with("evaluation_backend"),
    Rule::by("agent_repo", source::baseline),
    Rule::by("read_only_paths", source::read_only),
    Rule::by("workspace_overlays", source::overlays),
    Rule::by("description", instruction::description),
    Rule::with("instruction_template"),
    Rule::by("evaluation_set_name", identity::keywords),
    Rule::by("secrets", identity::secrets),
    Rule::field("instruct_multifidelity", Kind::Flag, "instruction", "multifidelity").absent("true"),
    Rule::field("instruct_exhaust_budget", Kind::Flag, "instruction", "exhaust_budget").absent("true"),
    Rule::by("disclose_budget", instruction::disclose_budget),
    Rule::by("include_evals_skill", instruction::skill),
    Rule::by("objective", objective::objective),
    Rule::by("command_backend", command::backend).only(Mode::A),
    Rule::by("task_source", source::tasks).only(Mode::B),
    harbor("agent_import_path", Kind::Text, "agent"),
    Rule::by("harbor_requirement", source::requirement),
    harbor("harbor_python_version", Kind::Text, "python").absent("\"3.12\""),
    Rule::not("default_index", "packages come from the index that the machine is configured with")
        .only(Mode::B),
    harbor("model", Kind::Text, "model"),
    harbor("environment_name", Kind::Text, "environment").absent("\"modal\""),
    Rule::by("extra_harbor_args", arguments::nested).only(Mode::B),
    Rule::by("harness_user", identity::harness_user).only(Mode::B),
    Rule::by("task_services_use_upstream", gateway::services).only(Mode::B),
    harbor("n_attempts", Kind::Count, "attempts"),
    harbor("aggregate_attempts", AGGREGATES, "aggregate"),
    harbor("max_retries", Kind::Count, "max_retries").absent("2"),
    harbor("retry_wait_multiplier", Kind::Number, "retry_wait_multiplier").absent("2.0"),
    harbor("retry_min_wait_seconds", Kind::Number, "retry_min_wait_sec").absent("4.0"),
    harbor("retry_max_wait_seconds", Kind::Number, "retry_max_wait_sec"),
    harbor("reward_key", Kind::Text, "reward_key"),
    harbor("optimizer_harbor_args", Kind::Texts, "optimizer_args"),
    Rule::field("task_environment", Kind::Variables, "harbor.task_env", "").only(Mode::B),
    Rule::by("partition_files", partitions::files),
    Rule::by("partitions", partitions::lists),
    Rule::by("task_manifest", partitions::manifest),
    Rule::by("agent_access", access::access),
    Rule::field("selection_partition", Kind::Text, "selection", "split"),
    Rule::field(
        "reward_mode",
        Kind::Word(&[("submit", "submit"), ("auto_best", "auto_best")]),
        "selection",
        "policy",
    )
    .absent("\"auto_best\""),
    Rule::field("baseline_floor", Kind::Flag, "selection", "baseline_floor"),
    Rule::field("score_baseline", Kind::Flag, "selection", "score_baseline").absent("true"),
    Rule::not(
        "baseline_selection_score",
        "the baseline is measured on the selection split where it is compared",
    ),
    Rule::field("rescore_top_k", Kind::Count, "selection", "rescore_top_k"),
    Rule::by("rescore_attempts", targets::rescore_attempts),
    Rule::field("selection_coverage_threshold", Kind::Number, "selection", "min_coverage").absent("0.9"),
    Rule::by("targets", targets::targets),
    Rule::field("timeout_seconds", Kind::Seconds, "limits", "evaluation_timeout_sec").absent("1800"),
    Rule::by("case_timeout_seconds", times::sample),
    Rule::with("task_agent_timeout_seconds").only(Mode::B),
    Rule::by("verifier_timeout_seconds", times::finalize),
    Rule::not("evaluation_drain_timeout_seconds", "what runs when the optimizer ends is stopped"),
    Rule::field("max_concurrency", Kind::Count, "limits", "concurrency").absent("8"),
    Rule::by("error_rate_threshold", times::error_rate),
    Rule::field("infrastructure_max_attempts", Kind::Count, "limits", "infrastructure_max_attempts")
        .absent("3")
        .only(Mode::B),
    Rule::field(
        "infrastructure_retry_delay_seconds",
        Kind::Seconds,
        "limits",
        "infrastructure_retry_delay_sec",
    )
    .only(Mode::B),
    Rule::field("feedback_transcripts", Kind::Flag, "feedback", "transcripts").absent("false").only(Mode::B),
    Rule::field("feedback_max_bytes", Kind::Count, "feedback", "max_bytes").absent("3000").only(Mode::B),
    Rule::field("expose_attempt_detail", Kind::Flag, "feedback", "attempts").only(Mode::B),
    Rule::field("agent_env", Kind::Variables, "agent_env", ""),
    Rule::by("inference_gateway", gateway::gateway),
    Rule::by("wandb", gateway::wandb),
    Rule::field("base_image_main", Kind::Text, "images", "main"),
    Rule::field("base_image_sidecar", Kind::Text, "images", "sidecar"),
    Rule::field("build_timeout_seconds", Kind::Number, "task.environment", "build_timeout_sec"),
];

pub use command::rows;

/// The keys at the root of a configuration.
pub fn keys() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.key)
}
