//! What a spec says of the nested run, as the configuration of a job and the way Harbor is started.

use std::path::{Path, PathBuf};

use taskwright_base::{Error, Result};
use taskwright_harbor::command::UvLauncher;
use taskwright_harbor::job_config::{
    AgentConfig, DatasetConfig, EnvironmentConfig, ErrorPolicy, JobConfig, RetryConfig, TaskConfig,
    VerifierConfig, literal,
};
use taskwright_language::model::{HarborRun, Limits, LocalTasks, RegistryTasks, TaskSource};

/// A job to be configured: what the spec leaves open.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    pub name: &'a str,
    /// The folder that its folder is made in; absolute.
    pub jobs_dir: &'a Path,
    pub tasks: &'a Tasks,
    /// How many attempts each task has.
    pub attempts: u64,
    /// A registry file on this machine in place of the public registry.
    pub registry_path: Option<&'a Path>,
    /// Where tasks of a registry are kept.
    pub downloads: &'a Path,
}

/// The tasks of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tasks {
    /// Folders; one that stands here twice has twice the attempts.
    Folders(Vec<PathBuf>),
    /// Names in the registry that the spec names; each at most once.
    Registry(Vec<String>),
}

/// The configuration of a job. Every field of the spec's table ends here, in [`launcher`], or where it is said below.
#[expect(clippy::too_many_lines, reason = "every field of the table is named once")]
pub fn job_config(run: &HarborRun, limits: &Limits, job: &Job<'_>) -> Result<JobConfig> {
    // Taken apart by name, so that a new field cannot be forgotten.
    let HarborRun {
        source,
        agent,
        version: _,
        extras: _,
        python: _,
        requirements: _,
        model,
        environment,
        environment_args,
        force_build,
        // The sidecar's: whether it has a Docker engine, and whom it runs Harbor as.
        inner_docker: _,
        run_as: _,
        // How many is said by the job: a second run makes only those that are missing.
        attempts: _,
        // The collation's.
        aggregate: _,
        reward_key: _,
        max_retries,
        retry_min_wait_sec,
        retry_max_wait_sec,
        retry_wait_multiplier,
        retry_include,
        retry_exclude,
        agent_timeout_sec,
        timeout_multiplier,
        agent_timeout_multiplier,
        agent_setup_timeout_multiplier,
        environment_build_timeout_multiplier,
        verifier_timeout_multiplier,
        agent_args,
        agent_env,
        task_env,
        // Of the process that is started, which whoever opens this mode says.
        process_env: _,
        // The command line's.
        extra_args: _,
        // The outer run's.
        optimizer_args: _,
    } = run;
    let (datasets, tasks) = match (source, job.tasks) {
        (_, Tasks::Folders(folders)) => (Vec::new(), folders.iter().map(TaskConfig::at).collect()),
        (TaskSource::Registry(registry), Tasks::Registry(names)) => from_registry(registry, names, job),
        (TaskSource::Local(LocalTasks { path }), Tasks::Registry(_)) => {
            return Err(Error::new(format!(
                "the tasks of `{}` are on this machine, in no registry",
                path.as_path()
            )));
        }
    };
    let most = limits.sample_timeout_sec.seconds().map(seconds);
    Ok(JobConfig {
        job_name: job.name.to_owned(),
        jobs_dir: job.jobs_dir.to_owned(),
        n_attempts: job.attempts,
        n_concurrent_trials: limits.concurrency.max(1),
        timeout_multiplier: Some(*timeout_multiplier),
        // Written out, each is what it would be without: then Harbor's file says all that holds.
        agent_timeout_multiplier: *agent_timeout_multiplier,
        agent_setup_timeout_multiplier: *agent_setup_timeout_multiplier,
        environment_build_timeout_multiplier: *environment_build_timeout_multiplier,
        verifier_timeout_multiplier: *verifier_timeout_multiplier,
        retry: RetryConfig {
            max_retries: *max_retries,
            include_exceptions: (!retry_include.is_empty()).then(|| retry_include.clone()),
            // A list of ours would replace Harbor's own; the policies below add to it and take from it.
            exclude_exceptions: None,
            wait_multiplier: Some(*retry_wait_multiplier),
            min_wait_sec: Some(*retry_min_wait_sec),
            max_wait_sec: Some(*retry_max_wait_sec),
        },
        override_error_policy: ErrorPolicy::of_retries(retry_include, retry_exclude),
        environment: EnvironmentConfig {
            force_build: *force_build,
            env: task_env.clone(),
            kwargs: environment_args.clone(),
            ..EnvironmentConfig::named(environment)
        },
        verifier: VerifierConfig { max_timeout_sec: most, ..VerifierConfig::default() },
        agents: vec![AgentConfig {
            import_path: Some(agent.clone()),
            model_name: (model != "none").then(|| model.clone()),
            override_timeout_sec: *agent_timeout_sec,
            max_timeout_sec: most,
            kwargs: agent_args.clone(),
            env: agent_env.clone(),
            ..AgentConfig::default()
        }],
        datasets,
        tasks,
        ..JobConfig::default()
    })
}

/// How Harbor is started beside a candidate.
pub fn launcher(run: &HarborRun, uv: &Path, requirements: PathBuf, candidate: &Path) -> UvLauncher {
    UvLauncher {
        uv: uv.to_owned(),
        python: run.python.clone(),
        harbor: run.requirement(),
        requirements: Some(requirements),
        packages: vec![candidate.to_owned()],
    }
}

/// A registry's tasks: a set of which some are wanted, or, if all that is wanted is the package itself, one task.
fn from_registry(
    registry: &RegistryTasks,
    names: &[String],
    job: &Job<'_>,
) -> (Vec<DatasetConfig>, Vec<TaskConfig>) {
    let RegistryTasks { registry: name, version, digest } = registry;
    let is_package = name.contains('/');
    let reference = if is_package { digest.clone().or_else(|| version.clone()) } else { None };
    if is_package && names == std::slice::from_ref(name) {
        let task = TaskConfig { name: Some(name.clone()), reference, ..TaskConfig::default() };
        return (Vec::new(), vec![task]);
    }
    let set = DatasetConfig {
        name: Some(name.clone()),
        version: version.clone().filter(|_| !is_package),
        reference,
        registry_path: job.registry_path.map(Path::to_owned),
        download_dir: Some(job.downloads.to_owned()),
        task_names: Some(names.iter().map(|name| literal(name)).collect()),
        ..DatasetConfig::default()
    };
    (vec![set], Vec::new())
}

#[expect(clippy::cast_precision_loss, reason = "no timeout has 2^52 seconds")]
fn seconds(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
