//! That every field of a manifest reaches Harbor: written down, lowered, and read back from what Harbor itself says the
//! job is. The types are taken apart without `..`, so that a new field that has no line here does not compile.

use std::process::{Command, Stdio};

use crate::support::Space;
use serde_json::{Value, json};
use taskwright_experiment::dispatch::Harbor;
use taskwright_experiment::model::{
    Agent, ApiFormat, Bridge, Compute, Experiment, GitTasks, HarborTool, LocalTasks, McpServer,
    RegistryTasks, RemoteServer, ResourceLimits, Retries, SimulatedUser, StartedServer, TaskSet, Timeouts,
    Tpu, Verification,
};
use taskwright_experiment::plan::Prepared;
use taskwright_testing::{has_harbor, test};

/// A manifest in which nothing has its default.
const FULL: &str = r#"
extends = "base.toml"
name = "full"
description = "Everything at once"
extra_instructions = ["Be quick.", "Be kind."]
extra_instruction_files = ["prompt.md"]
repetitions = 3
reward_key = "score"
metrics = ["mean", "max", "min", "sum", { script = "metric.py" }]

[params]
model = "provider/name"

[[tasks]]
path = "tasks"
include = ["one", "try/two"]
exclude = ["tw?"]

[[tasks]]
registry = "bench"
version = "1.0"
registry_path = "registry.json"
include = ["a*"]
exclude = ["ab"]
limit = 2

[[tasks]]
git = "https://example.org/bench.git"
commit = "0123456789abcdef0123456789abcdef01234567"
paths = ["tasks/first", "second"]

[[agents]]
name = "claude-code"
model = "${model}"
base_url = "https://models.example.org/v1"
api_key_name = "TRY_TOKEN"
api_format = "anthropic_messages"
skip_model_parsing = true
mcp_servers = [
  { name = "search", url = "https://tools.example.org/mcp", transport = "sse", headers = { Authorization = "Bearer $${TRY_TOKEN}", X-Team = "a" } },
  { name = "files", command = "serve", args = ["--root", "/app"] },
]
args = { max_turns = 7, version = "2.0.1", odd = [1e-7, "1e3", "012", "on", "1:30", "2024-01-01", "~", "- a", "a: b\n# c", "", " é"] }
secrets = ["TRY_TOKEN"]
env = { TRY_LEVEL = "yes", TRY_OTHER = "$${TRY_TOKEN}" }
system_prompt = "prompt.md"
prompt_template = "template.md"
skills = ["skill"]
timeout_sec = 11.5
max_timeout_sec = 12.5
setup_timeout_sec = 13.5
concurrency = 2
allowed_hosts = ["example.org"]

[[agents]]
import_path = "my_agent.core:MyAgent"
package = "package"
system_prompt = "prompt.md"

[simulated_user]
name = "codex"
model = "openai/user"
args = { version = "0.1" }
secrets = ["TRY_TOKEN"]
env = { TRY_USER = "yes" }
persona = "persona.md"
prompt_template = "template.md"

[simulated_user.bridge]
prompt = "bridge.md"
args = { adapter_version = "1.0" }

[compute]
backend = "gke"
args = { cluster_name = "c", region = "r", namespace = "n", registry_location = "l", registry_name = "x" }
compose = ["more.yaml"]
env = { TRY_ENV = "1e3" }
force_build = true
keep = true
allowed_hosts = ["example.com"]

[compute.resource_limits]
concurrency = 5
cpus = 2.5
memory_mb = 1024
storage_mb = 2048
gpus = 1
tpu = { kind = "v6e", topology = "2x2" }
cpu_enforcement = "limit"
memory_enforcement = "guarantee"

[retries]
max = 2
min_wait_sec = 3.5
max_wait_sec = 9.0
wait_multiplier = 1.5
include = ["AgentTimeoutError"]
exclude = ["RuntimeError"]

[timeouts]
multiplier = 1.25
agent_multiplier = 1.5
agent_setup_multiplier = 1.75
environment_build_multiplier = 2.25
verifier_multiplier = 2.5
run_sec = 3600.0

[verification]
timeout_sec = 21.5
max_timeout_sec = 22.5
import_path = "my_verifier:V"
args = { strict = true }
secrets = ["TRY_TOKEN"]
env = { TRY_V = "0123" }

[harbor]
version = "0.26.0"
extras = ["gke"]
packages = ["verifier"]
"#;

fn space() -> Space {
    let space = Space::new();
    for task in ["one", "two", "three"] {
        space.task(&format!("tasks/{task}"), "true");
    }
    space.write("base.toml", "reward_key = \"other\"\n");
    space.write("full.toml", FULL);
    space.write("registry.json", "[]");
    space.write("metric.py", "print(1)\n");
    space.write("prompt.md", "Be brief: \"yes\"\n\tand #no\n");
    space.write("persona.md", "You are in a hurry.\n");
    space.write("bridge.md", "Ask once.\n");
    space.write("more.yaml", "services: {}\n");
    space.write("template.md", "First think.\n{{ instruction }}\n");
    space.write("skill/SKILL.md", "---\nname: skill\n---\n");
    space.write("verifier/setup.py", "from setuptools import setup\nsetup(name='my-verifier')\n");
    space.write("package/pyproject.toml", "[project]\nname = \"my-agent\"\nversion = \"1\"\n");
    space
}

/// Where the copy of a file of the test's workspace is.
fn copies(config: &Value, end: &str) -> String {
    fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::String(text) => found.push(text),
            Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
            Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    texts(config, &mut found);
    let path = found.into_iter().find(|text| text.starts_with("jobs/.inputs/") && text.ends_with(end));
    path.unwrap_or_else(|| panic!("no copy of {end} in {config:#}")).to_owned()
}

#[test]
#[allow(clippy::too_many_lines, reason = "one line a field")]
fn every_field_reaches_harbor() {
    let space = space();
    let document = space.load("full.toml");
    let prepared = space.prepare("full.toml").unwrap();

    // What Harbor makes of the file; without a Harbor, what the file says.
    let config: Value = if has_harbor() {
        as_harbor_has_it(&space, &prepared)
    } else {
        serde_json::to_value(&prepared.config).unwrap()
    };
    let is = |pointer: &str, expected: Value| {
        let found = config.pointer(pointer).unwrap_or(&Value::Null);
        let same = match (found.as_f64(), expected.as_f64()) {
            (Some(found), Some(expected)) => (found - expected).abs() < 1e-12,
            _ => *found == expected,
        };
        assert!(same, "{pointer}: {found}, not {expected}");
    };

    let Experiment {
        extends: _, // The file is read, and no trace of it is left.
        params: _,  // Put in where they are named; the agent's model is one.
        name,
        description: _, // For people.
        tasks,
        agents,
        extra_instructions,
        extra_instruction_files: _,
        simulated_user,
        repetitions,
        gateway: _, // Harbor is told nothing of it: see `crate::gateway`.
        reward_key,
        compute,
        retries,
        timeouts,
        verification,
        metrics,
        harbor,
    } = &document.value;
    assert!(prepared.config.job_name.starts_with(&format!("{name}-")));
    is("/job_name", json!(prepared.config.job_name));
    is("/jobs_dir", json!("jobs"));
    assert_eq!(prepared.record.experiment, *name);
    assert_eq!(prepared.record.reward_key, *reward_key);
    assert_eq!(reward_key.as_deref(), Some("score"));
    is("/n_attempts", json!(repetitions));
    assert_eq!(metrics.len(), 5);
    for (index, word) in ["mean", "max", "min", "sum", "uv-script"].iter().enumerate() {
        is(&format!("/metrics/{index}/type"), json!(word));
    }
    is("/metrics/4/kwargs/script_path", json!(copies(&config["metrics"], "/metric.py")));

    let [
        TaskSet::Local(LocalTasks { path: _, include, exclude }),
        TaskSet::Registry(registry),
        TaskSet::Git(GitTasks { git, commit, paths }),
    ] = tasks.as_slice()
    else {
        panic!("{tasks:?}");
    };
    is("/extra_instructions", json!(extra_instructions));
    is("/extra_instruction_paths/0", json!(copies(&config["extra_instruction_paths"], "/prompt.md")));
    for (index, path) in paths.iter().enumerate() {
        let index = index + 1;
        is(&format!("/tasks/{index}/path"), json!(path));
        is(&format!("/tasks/{index}/git_url"), json!(git));
        is(&format!("/tasks/{index}/git_commit_id"), json!(commit));
    }
    assert_eq!(paths.len(), 2);
    assert_eq!((include.len(), exclude.len()), (2, 1));
    is("/tasks/0/path", json!(copies(&config["tasks"], "/one")));
    assert_eq!(config["tasks"].as_array().unwrap().len(), 3);
    let RegistryTasks {
        registry,
        version,
        digest: _,
        registry_path: _,
        registry_url: _,
        include,
        exclude,
        limit,
    } = registry;
    is("/datasets/0/name", json!(registry));
    is("/datasets/0/version", json!(version));
    is("/datasets/0/registry_path", json!("registry.json"));
    is("/datasets/0/task_names", json!(include));
    is("/datasets/0/exclude_task_names", json!(exclude));
    is("/datasets/0/n_tasks", json!(limit));

    let [first, second] = agents.as_slice() else { panic!("{agents:?}") };
    let Agent {
        name,
        import_path: _,
        package: _,
        model,
        base_url,
        api_key_name,
        api_format,
        skip_model_parsing,
        mcp_servers,
        args,
        secrets: _,
        env: _,
        system_prompt: _,
        prompt_template: _,
        skills: _,
        timeout_sec,
        max_timeout_sec,
        setup_timeout_sec,
        concurrency,
        allowed_hosts,
    } = first;
    is("/agents/0/name", json!(name));
    is("/agents/0/model_name", json!(model));
    assert_eq!(model.as_deref(), Some("provider/name"));
    is("/agents/0/base_url", json!(base_url));
    is("/agents/0/model_api_key_name", json!(api_key_name));
    is("/agents/0/model_api_format", json!(api_format.map(ApiFormat::word)));
    is("/agents/0/skip_model_parsing", json!(skip_model_parsing));
    assert!(*skip_model_parsing && base_url.is_some() && api_key_name.is_some() && api_format.is_some());
    let [McpServer::Remote(remote), McpServer::Started(started)] = mcp_servers.as_slice() else {
        panic!("{mcp_servers:?}")
    };
    let RemoteServer { url, name, transport: _, headers } = remote;
    is("/agents/0/mcp_servers/0/url", json!(url));
    is("/agents/0/mcp_servers/0/name", json!(name));
    is("/agents/0/mcp_servers/0/transport", json!("sse"));
    is("/agents/0/mcp_servers/0/headers", json!(headers));
    assert_eq!(headers["Authorization"], "Bearer ${TRY_TOKEN}");
    let StartedServer { command, name, args: arguments } = started;
    is("/agents/0/mcp_servers/1/command", json!(command));
    is("/agents/0/mcp_servers/1/name", json!(name));
    is("/agents/0/mcp_servers/1/transport", json!("stdio"));
    is("/agents/0/mcp_servers/1/args", json!(arguments));
    let Some(SimulatedUser {
        name,
        import_path: _,
        model,
        args: of_user,
        secrets: _,
        env: _,
        persona: _,
        prompt_template: _,
        bridge,
    }) = simulated_user
    else {
        panic!("no user")
    };
    is("/user_agent/name", json!(name));
    is("/user_agent/model_name", json!(model));
    is("/user_agent/kwargs", json!(of_user));
    is("/user_agent/env", json!({"TRY_TOKEN": "${TRY_TOKEN}", "TRY_USER": "yes"}));
    is("/user_agent/user_persona_path", json!(copies(&config["user_agent"], "/persona.md")));
    is("/user_agent/user_prompt_template_path", json!(copies(&config["user_agent"], "/template.md")));
    let Bridge { kind: _, prompt: _, args: of_bridge } = bridge;
    is("/user_agent/bridge/kind", json!("acp"));
    is("/user_agent/bridge/prompt_path", json!(copies(&config["user_agent"]["bridge"], "/bridge.md")));
    is("/user_agent/bridge/kwargs", json!(of_bridge));
    is("/agents/0/kwargs/max_turns", args["max_turns"].clone());
    is("/agents/0/kwargs/version", json!("2.0.1"));
    // What YAML of the older kind would read as something else.
    is("/agents/0/kwargs/odd", args["odd"].clone());
    is("/agents/0/kwargs/append_system_prompt", json!("Be brief: \"yes\"\n\tand #no\n"));
    is("/agents/0/kwargs/prompt_template_path", json!(copies(&config["agents"], "/template.md")));
    is(
        "/agents/0/env",
        json!({"TRY_TOKEN": "${TRY_TOKEN}", "TRY_LEVEL": "yes", "TRY_OTHER": "${TRY_TOKEN}"}),
    );
    is("/agents/0/skills/0", json!(copies(&config["agents"], "/skill")));
    is("/agents/0/override_timeout_sec", json!(timeout_sec));
    is("/agents/0/max_timeout_sec", json!(max_timeout_sec));
    is("/agents/0/override_setup_timeout_sec", json!(setup_timeout_sec));
    is("/agents/0/n_concurrent", json!(concurrency));
    is("/agents/0/extra_allowed_hosts", json!(allowed_hosts));
    is("/agents/1/import_path", json!(second.import_path));
    is("/agents/1/kwargs/system_prompt", json!("Be brief: \"yes\"\n\tand #no\n"));
    assert!(prepared.packages[0].as_str().ends_with("/package"), "{:?}", prepared.packages);

    let Compute {
        backend,
        args,
        env,
        force_build,
        keep,
        allowed_hosts,
        compose,
        mounts: _, // They need containers of this machine: see below.
        resource_limits,
    } = compute;
    assert_eq!(compose.len(), 1);
    is(
        "/environment/extra_docker_compose/0",
        json!(copies(&config["environment"]["extra_docker_compose"], "/more.yaml")),
    );
    is("/environment/type", json!(backend));
    is("/environment/kwargs", json!(args));
    is("/environment/env", json!(env));
    is("/environment/force_build", json!(force_build));
    is("/environment/delete", json!(!keep));
    is("/environment/extra_allowed_hosts", json!(allowed_hosts));
    let ResourceLimits {
        concurrency,
        cpus,
        memory_mb,
        storage_mb,
        gpus,
        tpu,
        cpu_enforcement: _,
        memory_enforcement: _,
    } = resource_limits;
    is("/n_concurrent_trials", json!(concurrency));
    is("/environment/override_cpus", json!(cpus));
    is("/environment/override_memory_mb", json!(memory_mb));
    is("/environment/override_storage_mb", json!(storage_mb));
    is("/environment/override_gpus", json!(gpus));
    let Some(Tpu { kind, topology }) = tpu else { panic!("no tpu") };
    is("/environment/override_tpu", json!({"type": kind, "topology": topology}));
    is("/environment/cpu_enforcement_policy", json!("limit"));
    is("/environment/memory_enforcement_policy", json!("guarantee"));

    let Retries { max, min_wait_sec, max_wait_sec, wait_multiplier, include, exclude } = retries;
    is("/retry/max_retries", json!(max));
    is("/retry/min_wait_sec", json!(min_wait_sec));
    is("/retry/max_wait_sec", json!(max_wait_sec));
    is("/retry/wait_multiplier", json!(wait_multiplier));
    is("/retry/include_exceptions", json!(include));
    if let Some(excluded) = config.pointer("/retry/exclude_exceptions").and_then(Value::as_array) {
        // Harbor's own list, without what is included and with what is excluded.
        assert!(
            excluded.contains(&json!(exclude[0])) && !excluded.contains(&json!(include[0])),
            "{excluded:?}"
        );
        assert!(excluded.contains(&json!("CancelledError")), "{excluded:?}");
    }

    let Timeouts {
        multiplier,
        agent_multiplier,
        agent_setup_multiplier,
        environment_build_multiplier,
        verifier_multiplier,
        run_sec,
    } = timeouts;
    is("/timeout_multiplier", json!(multiplier));
    is("/agent_timeout_multiplier", json!(agent_multiplier));
    is("/agent_setup_timeout_multiplier", json!(agent_setup_multiplier));
    is("/environment_build_timeout_multiplier", json!(environment_build_multiplier));
    is("/verifier_timeout_multiplier", json!(verifier_multiplier));
    assert_eq!(prepared.run_sec, *run_sec);

    let Verification { enabled, timeout_sec, max_timeout_sec, import_path, args, secrets: _, env: _ } =
        verification;
    is(
        "/verifier/disable",
        if *enabled { config.pointer("/verifier/disable").cloned().unwrap_or_default() } else { json!(true) },
    );
    is("/verifier/override_timeout_sec", json!(timeout_sec));
    is("/verifier/max_timeout_sec", json!(max_timeout_sec));
    is("/verifier/import_path", json!(import_path));
    is("/verifier/kwargs", json!(args));
    is("/verifier/env", json!({"TRY_TOKEN": "${TRY_TOKEN}", "TRY_V": "0123"}));

    let HarborTool { version, extras, packages } = harbor;
    assert_eq!(version.as_deref(), Some(taskwright_harbor::HARBOR_VERSION));
    assert_eq!(prepared.extras, *extras);
    assert!(packages[0].as_path() == "verifier" && prepared.packages[1].as_str().ends_with("/verifier"));
    if let Ok(harbor) = Harbor::find(&space.root, &prepared) {
        let line = harbor.shell_line("/harbor.yaml".into());
        assert!(line.contains("'harbor[gke]==0.26.0'") && line.contains("/package "), "{line}");
    }
}

/// What Harbor makes of a lowered manifest, by its own model.
fn as_harbor_has_it(space: &Space, prepared: &Prepared) -> Value {
    space.write("harbor.yaml", &prepared.yaml().unwrap());
    let output = Command::new("harbor")
        .args(["run", "-c", "harbor.yaml", "--yes", "--print-config"])
        .current_dir(&space.root)
        .env("TRY_TOKEN", "sk-never-written")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(!said.contains("sk-never-written"));
    serde_json::from_str(&said).unwrap()
}

/// The copies are where the engine looks for them, and where the workspace lies is no part of what is run.
#[test]
fn mounts_reach_harbor() {
    const MOUNTS: &str = r#"name = "m"
[[tasks]]
path = "tasks"
[[agents]]
name = "nop"
[compute]
mounts = [
  { path = "skill", target = "/opt/skill" },
  { volume = "shared", target = "/shared", read_only = true, subpath = "part" },
  { image = "tools:1", target = "/opt/tools", subpath = "bin" },
]
"#;
    let (space, other) = (space(), self::space());
    let prepared = |space: &Space| {
        space.write("m.toml", MOUNTS);
        space.prepare("m.toml").unwrap()
    };
    let (prepared, elsewhere) = (prepared(&space), prepared(&other));
    assert_eq!(prepared.config.job_name, elsewhere.config.job_name);
    let config = if has_harbor() {
        as_harbor_has_it(&space, &prepared)
    } else {
        serde_json::to_value(&prepared.config).unwrap()
    };
    let mounts = &config["environment"]["mounts"];
    let source = mounts[0]["source"].as_str().unwrap();
    assert!(source.starts_with(space.root.as_str()) && source.ends_with("/skill"), "{source}");
    prepared.keep(&space.workspace()).unwrap();
    assert!(std::path::Path::new(source).join("SKILL.md").is_file());
    let expected = json!([
        {"type": "bind", "source": source, "target": "/opt/skill", "read_only": true, "bind": {"create_host_path": false}},
        {"type": "volume", "source": "shared", "target": "/shared", "read_only": true, "volume": {"subpath": "part"}},
        {"type": "image", "source": "tools:1", "target": "/opt/tools", "image": {"subpath": "bin"}},
    ]);
    assert_eq!(*mounts, expected);
}

#[test]
fn a_manifest_without_verification_disables_it() {
    let space = space();
    space.write(
        "off.toml",
        "name = \"off\"\n[[tasks]]\npath = \"tasks\"\n[[agents]]\nname = \"nop\"\n[verification]\nenabled = false\n",
    );
    let prepared = space.prepare("off.toml").unwrap();
    assert!(prepared.config.verifier.disable);
    assert_eq!(prepared.record.planned, Some(3));
}

#[test]
fn packages_of_the_hub_are_pinned_by_reference() {
    let space = space();
    let digest = format!("sha256:{}", "0".repeat(64));
    for (pin, expected) in
        [(format!("digest = \"{digest}\""), digest.as_str()), ("version = \"1.2\"".to_owned(), "1.2")]
    {
        space.write(
            "hub.toml",
            &format!(
                "name = \"hub\"\n[[tasks]]\nregistry = \"org/bench\"\n{pin}\n[[agents]]\nname = \"nop\"\n"
            ),
        );
        let prepared = space.prepare("hub.toml").unwrap();
        let dataset = &prepared.config.datasets[0];
        assert_eq!((dataset.reference.as_deref(), &dataset.version), (Some(expected), &None));
        assert_eq!(prepared.record.planned, None);
    }
}
