//! Lowers a manifest to the configuration of one job of Harbor's. Every field is taken apart here by name, so that one
//! that is added and forgotten does not compile.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use taskwright_base::Result;
use taskwright_harbor::job_config::{
    AgentConfig, BindConfig, BridgeConfig, DatasetConfig, EnvironmentConfig, ErrorPolicy, JobConfig,
    McpServerConfig, MetricConfig, MountConfig, RetryConfig, SubpathConfig, TaskConfig, UserAgentConfig,
    VerifierConfig,
};
use taskwright_language::model::SpecPath;

use crate::model::{
    Agent, Bridge, BridgeKind, Compute, Enforcement, Experiment, HarborTool, ImageMount, McpServer, Metric,
    MetricWord, Mount, PathMount, RemoteServer, ResourceLimits, Retries, SimulatedUser, StartedServer,
    Timeouts, Tpu, Transport, Verification, VolumeMount,
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
        extra_instructions,
        extra_instruction_files,
        simulated_user,
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
    let (environment, concurrency) = environment(compute, files)?;
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
        user_agent: simulated_user.as_ref().map(|user| self::user(user, files)).transpose()?,
        extra_instruction_paths: places(extra_instruction_files, files)?,
        extra_instructions: extra_instructions.clone(),
        ..JobConfig::default()
    };
    Ok(Lowered { config, harbor: version.clone(), extras: extras.clone(), run_sec: *run_sec })
}

/// Where the copies of some files will be.
fn places(paths: &[SpecPath], files: &mut dyn Files) -> Result<Vec<PathBuf>> {
    paths.iter().map(|path| files.place(path).map(PathBuf::from)).collect()
}

fn environment(compute: &Compute, files: &mut dyn Files) -> Result<(EnvironmentConfig, u64)> {
    let Compute { backend, args, env, force_build, keep, allowed_hosts, compose, mounts, resource_limits } =
        compute;
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
        mounts: mounts.iter().map(|mount| self::mount(mount, files)).collect::<Result<_>>()?,
        extra_docker_compose: places(compose, files)?,
        extra_allowed_hosts: allowed_hosts.clone(),
        env: env.clone(),
        kwargs: args.clone(),
        ..EnvironmentConfig::named(backend)
    };
    Ok((environment, *concurrency))
}

fn mount(mount: &Mount, files: &mut dyn Files) -> Result<MountConfig> {
    let part = |subpath: &Option<String>| subpath.clone().map(|subpath| SubpathConfig { subpath });
    Ok(match mount {
        Mount::Path(PathMount { path, target }) => MountConfig {
            kind: "bind".to_owned(),
            source: files.place(path)?,
            target: target.clone(),
            read_only: true,
            bind: Some(BindConfig { create_host_path: false }),
            ..MountConfig::default()
        },
        Mount::Volume(VolumeMount { volume, target, read_only, subpath }) => MountConfig {
            kind: "volume".to_owned(),
            source: volume.clone(),
            target: target.clone(),
            read_only: *read_only,
            volume: part(subpath),
            ..MountConfig::default()
        },
        Mount::Image(ImageMount { image, target, subpath }) => MountConfig {
            kind: "image".to_owned(),
            source: image.clone(),
            target: target.clone(),
            image: part(subpath),
            ..MountConfig::default()
        },
    })
}

fn user(user: &SimulatedUser, files: &mut dyn Files) -> Result<UserAgentConfig> {
    let SimulatedUser { name, import_path, model, args, secrets, env, persona, prompt_template, bridge } =
        user;
    let Bridge { kind: BridgeKind::Acp, prompt, args: bridge_args } = bridge;
    let mut place =
        |path: &Option<SpecPath>| path.as_ref().map(|path| files.place(path).map(PathBuf::from)).transpose();
    Ok(UserAgentConfig {
        agent: AgentConfig {
            name: name.clone(),
            import_path: import_path.clone(),
            model_name: model.clone(),
            kwargs: args.clone(),
            env: variables(secrets, env),
            ..AgentConfig::default()
        },
        user_persona_path: place(persona)?,
        user_prompt_template_path: place(prompt_template)?,
        bridge: BridgeConfig {
            kind: "acp".to_owned(),
            prompt_path: place(prompt)?,
            kwargs: bridge_args.clone(),
        },
    })
}

fn server(server: &McpServer) -> McpServerConfig {
    match server {
        McpServer::Remote(RemoteServer { url, name, transport, headers }) => McpServerConfig {
            name: name.clone(),
            transport: match transport {
                Transport::StreamableHttp => "streamable-http".to_owned(),
                Transport::Sse => "sse".to_owned(),
            },
            url: Some(url.clone()),
            headers: headers.clone(),
            ..McpServerConfig::default()
        },
        McpServer::Started(StartedServer { command, name, args }) => McpServerConfig {
            name: name.clone(),
            transport: "stdio".to_owned(),
            command: Some(command.clone()),
            args: args.clone(),
            ..McpServerConfig::default()
        },
    }
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
        base_url,
        api_key_name,
        api_format,
        skip_model_parsing,
        mcp_servers,
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
        base_url: base_url.clone(),
        model_api_key_name: api_key_name.clone(),
        model_api_format: api_format.map(|format| format.word().to_owned()),
        skip_model_parsing: *skip_model_parsing,
        n_concurrent: *concurrency,
        override_timeout_sec: *timeout_sec,
        override_setup_timeout_sec: *setup_timeout_sec,
        max_timeout_sec: *max_timeout_sec,
        extra_allowed_hosts: allowed_hosts.clone(),
        kwargs,
        env: variables(secrets, env),
        skills: skills.iter().map(|path| files.place(path)).collect::<Result<_>>()?,
        mcp_servers: mcp_servers.iter().map(server).collect(),
    })
}

/// Variables as Harbor takes them: those that are only named become templates, which it fills in when it needs them and
/// writes nowhere.
fn variables(secrets: &[String], env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let named = secrets.iter().map(|name| (name.clone(), format!("${{{name}}}")));
    named.chain(env.clone()).collect()
}
