//! Compute, retries, time, grading and Harbor itself: that every value has an effect.

use taskwright_harbor::{HARBOR_VERSION, Release, tried};
use taskwright_language::check::{self, Context, at_least_one, refuse_doubles};

use super::rules::positive;
use super::secrets;
use crate::model::{Experiment, Metric};

/// The environments of Harbor 0.26 that give a container the disk it asks for; the others take no notice.
const STORAGE: [&str; 16] = [
    "cwsandbox",
    "daytona",
    "ec2",
    "gke",
    "hyperbrowser",
    "islo",
    "langsmith",
    "prime",
    "runloop",
    "runta",
    "sail",
    "smol",
    "superserve",
    "tensorlake",
    "use-computer",
    "vercel",
];

pub fn check(context: &mut Context<'_, Experiment>) {
    compute(context);
    retries(context);
    let experiment = context.value();
    let timeouts = &experiment.timeouts;
    for (key, value) in [
        ("multiplier", Some(timeouts.multiplier)),
        ("agent_multiplier", timeouts.agent_multiplier),
        ("agent_setup_multiplier", timeouts.agent_setup_multiplier),
        ("environment_build_multiplier", timeouts.environment_build_multiplier),
        ("verifier_multiplier", timeouts.verifier_multiplier),
    ] {
        positive(context, &["timeouts", key], value, "1 changes nothing");
    }
    positive(context, &["timeouts", "run_sec"], timeouts.run_sec, "leave it out for no limit");
    verification(context);
    let words: Vec<&Metric> = experiment.metrics.iter().collect();
    for (index, metric) in words.iter().enumerate() {
        if words[..index].contains(metric) {
            context.error(
                &["metrics", &index.to_string()],
                "the metric is named twice",
                "take one of them out",
            );
        }
    }
    harbor(context);
}

fn compute(context: &mut Context<'_, Experiment>) {
    let compute = &context.value().compute;
    check::environment_name(context, &["compute", "backend"], &compute.backend);
    check::keyword_arguments(context, &["compute", "args"], &compute.args);
    secrets::arguments(context, &["compute", "args"], &compute.args);
    secrets::literal(context, &["compute", "env"], &compute.env);
    refuse_doubles(context, &["compute", "allowed_hosts"], &compute.allowed_hosts, "host");

    let limits = &compute.resource_limits;
    let at = |key: &'static str| ["compute", "resource_limits", key];
    at_least_one(context, &at("concurrency"), limits.concurrency, "1 runs one trial after the other");
    positive(context, &at("cpus"), limits.cpus, "leave it out to give what each task asks for");
    for (key, value) in [("memory_mb", limits.memory_mb), ("storage_mb", limits.storage_mb)] {
        if let Some(value) = value {
            at_least_one(context, &at(key), value, "leave it out to give what each task asks for");
        }
    }
    let own = compute.backend.contains(':');
    if limits.storage_mb.is_some() && !own && !STORAGE.contains(&compute.backend.as_str()) {
        context.error(
            &at("storage_mb"),
            format!("Harbor's environment `{}` does not limit disks", compute.backend.escape_debug()),
            "take it out: it would have no effect",
        );
    }
    if limits.tpu.is_some() && !own && compute.backend != "gke" {
        context.error(
            &at("tpu"),
            format!("Harbor's environment `{}` has no tensor processors", compute.backend.escape_debug()),
            "only `gke` does",
        );
    }
    if let Some(tpu) = &limits.tpu {
        let numbers: Vec<&str> = tpu.topology.split('x').collect();
        let is_number = |part: &&str| part.parse::<u32>().is_ok_and(|number| number > 0);
        if !(2..=3).contains(&numbers.len()) || !numbers.iter().all(is_number) {
            context.error(
                &["compute", "resource_limits", "tpu", "topology"],
                format!("`{}` is not a topology", tpu.topology.escape_debug()),
                "for example \"2x2x1\"",
            );
        }
    }
    for (key, limit) in
        [("cpu_enforcement", limits.cpus.is_some()), ("memory_enforcement", limits.memory_mb.is_some())]
    {
        let resource = if key == "cpu_enforcement" { "cpus" } else { "memory_mb" };
        if context.is_written(&at(key)) && !limit {
            context.warning(
                &at(key),
                format!("`{key}` is about what each task asks for, since `{resource}` is not set"),
                format!("set `{resource}` to say the same for all of them"),
            );
        }
    }
}

fn retries(context: &mut Context<'_, Experiment>) {
    let retries = &context.value().retries;
    for (key, value) in [("min_wait_sec", retries.min_wait_sec), ("max_wait_sec", retries.max_wait_sec)] {
        if value < 0.0 {
            let message = format!("`{key}` must not be negative");
            context.error(&["retries", key], message, "it is a number of seconds");
        }
    }
    positive(context, &["retries", "wait_multiplier"], Some(retries.wait_multiplier), "1 changes nothing");
    if retries.max_wait_sec >= 0.0 && retries.max_wait_sec < retries.min_wait_sec {
        let key =
            if context.is_written(&["retries", "max_wait_sec"]) { "max_wait_sec" } else { "min_wait_sec" };
        let (most, first) = (retries.max_wait_sec, retries.min_wait_sec);
        context.error(
            &["retries", key],
            format!("the most seconds before a retry ({most}) are fewer than the first ({first})"),
            "raise `max_wait_sec`, or lower `min_wait_sec`",
        );
    }
    check::exceptions(
        context,
        (&["retries", "include"], &retries.include),
        (&["retries", "exclude"], &retries.exclude),
    );
    for key in ["min_wait_sec", "max_wait_sec", "wait_multiplier", "include", "exclude"] {
        if retries.max == 0 && context.is_written(&["retries", key]) {
            context.error(
                &["retries", key],
                format!("`{key}` has no effect where nothing is tried again"),
                "write `max = 1` or more beside it, or take it out",
            );
        }
    }
}

fn verification(context: &mut Context<'_, Experiment>) {
    let verification = &context.value().verification;
    if !verification.enabled {
        for key in ["timeout_sec", "max_timeout_sec", "import_path", "args", "secrets", "env"] {
            if context.is_written(&["verification", key]) {
                context.error_with(
                    &["verification", key],
                    format!("`{key}` has no effect where nothing is graded"),
                    "take it out, or write `enabled = true`",
                    (&["verification", "enabled"], "nothing is graded"),
                );
            }
        }
        return;
    }
    let hint = "leave it out to give it what each task gives";
    positive(context, &["verification", "timeout_sec"], verification.timeout_sec, hint);
    positive(context, &["verification", "max_timeout_sec"], verification.max_timeout_sec, hint);
    match &verification.import_path {
        Some(class) => {
            check::class_name(context, &["verification", "import_path"], class, "the class is your own");
        }
        None if !verification.args.is_empty() => context.error(
            &["verification", "args"],
            "the tasks' own verifiers take no arguments",
            "name a verifier of your own by `import_path`, or take them out",
        ),
        None => {}
    }
    check::keyword_arguments(context, &["verification", "args"], &verification.args);
    secrets::arguments(context, &["verification", "args"], &verification.args);
    secrets::variables(context, &["verification"], &verification.secrets, &verification.env);
}

fn harbor(context: &mut Context<'_, Experiment>) {
    let Experiment { harbor, retries, .. } = context.value();
    if let Some(version) = &harbor.version {
        let place = &["harbor", "version"];
        let release = Release::of(version);
        let says_what_to_retry = !(retries.include.is_empty() && retries.exclude.is_empty());
        if release.is_none() {
            context.error(
                place,
                format!("Taskwright drives Harbor {}, not {}", tried(), version.escape_debug()),
                "other releases name files and fields differently, and ignore what they do not know",
            );
        } else if context.value().needs_last() && version != HARBOR_VERSION {
            context.error(
                place,
                format!("this manifest says what was tried with Harbor {HARBOR_VERSION} alone"),
                "it is about models, servers of tools, compose files, mounts, instructions, users or tasks of a repository; leave \
                 `version` out, or take those out",
            );
        } else if says_what_to_retry && release.is_some_and(|release| !release.has_error_policies) {
            context.error(
                place,
                format!("Harbor {version} cannot be told which exceptions are tried again"),
                format!("take `include` and `exclude` out of `retries`, or name Harbor {HARBOR_VERSION}"),
            );
        }
    }
    check::extras(context, &["harbor", "extras"], &harbor.extras);
}
