//! Lowers a manifest to the configuration of one job of Harbor's. Every field is taken apart here by name, so that one
//! that is added and forgotten does not compile.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use taskwright_base::Result;
use taskwright_harbor::job_config::{
    AgentConfig, DatasetConfig, EnvironmentConfig, ErrorPolicy, JobConfig, MetricConfig, RetryConfig,
    TaskConfig, VerifierConfig,
};
use taskwright_language::model::SpecPath;

use crate::model::{
    Agent, Compute, Enforcement, Experiment, HarborTool, Metric, MetricWord, ResourceLimits, Retries,
    Timeouts, Tpu, Verification,
};

/// What becomes of a manifest's files: where the run finds them.
pub trait Files {
    /// Where a copy of a file or folder will be, from the workspace's root.
    fn place(&mut self, path: &SpecPath) -> Result<String>;
    /// What a text file says.
    fn text(&mut self, path: &SpecPath) -> Result<String>;
}

/// What a manifest asks of Harbor's configuration, and of the command around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Lowered {
    /// The configuration, still without a job's name.
    pub config: JobConfig,
    /// Harbor's version, where one is named.
    pub harbor: Option<String>,
    /// Harbor's optional parts.
    pub extras: Vec<String>,
    /// Seconds after which the run is stopped.
    pub run_sec: Option<f64>,
}

/// Lowers a manifest whose tasks were found.
pub fn lower(
    experiment: &Experiment,
    jobs_dir: &str,
    tasks: Vec<TaskConfig>,
    datasets: Vec<DatasetConfig>,
    files: &mut dyn Files,
) -> Result<Lowered> {
    let Experiment {
        // Who reads these is Taskwright itself: the name becomes the job's, the rest is for people and the ledger.
        extends: _,
        params: _,
        name: _,
        description: _,
        tasks: _,
        agents,
        repetitions,
        gateway: _, // Started beside Harbor, which finds it in its environment: see `crate::routes`.
        reward_key: _,
        compute,
        retries,
        timeouts,
        verification,
        metrics,
        harbor,
    } = experiment;
    let HarborTool { version, extras, packages: _ } = harbor;
    let Timeouts {
        multiplier,
        agent_multiplier,
        agent_setup_multiplier,
        environment_build_multiplier,
        verifier_multiplier,
        run_sec,
    } = timeouts;
    let (environment, concurrency) = environment(compute);
    let (retry, override_error_policy) = self::retries(retries);
    let config = JobConfig {
        jobs_dir: jobs_dir.into(),
        n_attempts: *repetitions,
        n_concurrent_trials: concurrency,
        quiet: true,
        timeout_multiplier: Some(*multiplier),
        agent_timeout_multiplier: *agent_multiplier,
        verifier_timeout_multiplier: *verifier_multiplier,
        agent_setup_timeout_multiplier: *agent_setup_multiplier,
        environment_build_timeout_multiplier: *environment_build_multiplier,
        retry,
        override_error_policy,
        environment,
        verifier: verifier(verification),
        metrics: metrics.iter().map(|metric| self::metric(metric, files)).collect::<Result<_>>()?,
        agents: agents.iter().map(|agent| self::agent(agent, files)).collect::<Result<_>>()?,
        datasets,
        tasks,
        ..JobConfig::default()
    };
    Ok(Lowered { config, harbor: version.clone(), extras: extras.clone(), run_sec: *run_sec })
}

fn environment(compute: &Compute) -> (EnvironmentConfig, u64) {
    let Compute { backend, args, env, force_build, keep, allowed_hosts, resource_limits } = compute;
    let ResourceLimits {
        concurrency,
        cpus,
        memory_mb,
        storage_mb,
        gpus,
        tpu,
        cpu_enforcement,
        memory_enforcement,
    } = resource_limits;
    let environment = EnvironmentConfig {
        force_build: *force_build,
        delete: keep.then_some(false),
        cpu_enforcement_policy: enforcement(*cpu_enforcement),
        memory_enforcement_policy: enforcement(*memory_enforcement),
        override_cpus: *cpus,
        override_memory_mb: *memory_mb,
        override_storage_mb: *storage_mb,
        override_gpus: *gpus,
        override_tpu: tpu.as_ref().map(|Tpu { kind, topology }| json!({"type": kind, "topology": topology})),
        extra_allowed_hosts: allowed_hosts.clone(),
        env: env.clone(),
        kwargs: args.clone(),
        ..EnvironmentConfig::named(backend)
    };
    (environment, *concurrency)
}

fn enforcement(enforcement: Enforcement) -> Option<String> {
    let word = match enforcement {
        Enforcement::Auto => return None,
        Enforcement::Limit => "limit",
        Enforcement::Request => "request",
        Enforcement::Guarantee => "guarantee",
        Enforcement::Ignore => "ignore",
    };
    Some(word.to_owned())
}

fn retries(retries: &Retries) -> (RetryConfig, BTreeMap<String, ErrorPolicy>) {
    let Retries { max, min_wait_sec, max_wait_sec, wait_multiplier, include, exclude } = retries;
    let retry = RetryConfig {
        max_retries: *max,
        include_exceptions: Some(include.clone()).filter(|include| !include.is_empty()),
        exclude_exceptions: None,
        wait_multiplier: Some(*wait_multiplier),
        min_wait_sec: Some(*min_wait_sec),
        max_wait_sec: Some(*max_wait_sec),
    };
    (retry, ErrorPolicy::of_retries(include, exclude))
}

fn verifier(verification: &Verification) -> VerifierConfig {
    let Verification { enabled, timeout_sec, max_timeout_sec, import_path, args, secrets, env } =
        verification;
    VerifierConfig {
        override_timeout_sec: *timeout_sec,
        max_timeout_sec: *max_timeout_sec,
        env: variables(secrets, env),
        import_path: import_path.clone(),
        kwargs: args.clone(),
        disable: !enabled,
    }
}

fn metric(metric: &Metric, files: &mut dyn Files) -> Result<MetricConfig> {
    let word = match metric {
        Metric::Word(MetricWord::Mean) => "mean",
        Metric::Word(MetricWord::Sum) => "sum",
        Metric::Word(MetricWord::Min) => "min",
        Metric::Word(MetricWord::Max) => "max",
        Metric::Script(script) => {
            let kwargs = BTreeMap::from([("script_path".to_owned(), files.place(&script.script)?.into())]);
            return Ok(MetricConfig { kind: "uv-script".to_owned(), kwargs });
        }
    };
    Ok(MetricConfig { kind: word.to_owned(), kwargs: BTreeMap::new() })
}

fn agent(agent: &Agent, files: &mut dyn Files) -> Result<AgentConfig> {
    let Agent {
        name,
        import_path,
        package: _, // Installed beside Harbor: see `crate::plan`.
        model,
        args,
        secrets,
        env,
        system_prompt,
        prompt_template,
        skills,
        timeout_sec,
        max_timeout_sec,
        setup_timeout_sec,
        concurrency,
        allowed_hosts,
    } = agent;
    let mut kwargs: BTreeMap<String, Value> = args.clone();
    if let Some(path) = system_prompt {
        let key = if import_path.is_some() { "system_prompt" } else { "append_system_prompt" };
        kwargs.insert(key.to_owned(), files.text(path)?.into());
    }
    if let Some(path) = prompt_template {
        kwargs.insert("prompt_template_path".to_owned(), files.place(path)?.into());
    }
    Ok(AgentConfig {
        name: name.clone(),
        import_path: import_path.clone(),
        model_name: model.clone(),
        n_concurrent: *concurrency,
        override_timeout_sec: *timeout_sec,
        override_setup_timeout_sec: *setup_timeout_sec,
        max_timeout_sec: *max_timeout_sec,
        extra_allowed_hosts: allowed_hosts.clone(),
        kwargs,
        env: variables(secrets, env),
        skills: skills.iter().map(|path| files.place(path)).collect::<Result<_>>()?,
    })
}

/// Variables as Harbor takes them: those that are only named become templates, which it fills in when it needs them and
/// writes nowhere.
fn variables(secrets: &[String], env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let named = secrets.iter().map(|name| (name.clone(), format!("${{{name}}}")));
    named.chain(env.clone()).collect()
}
