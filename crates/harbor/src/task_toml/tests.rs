//! Reads and writes `task.toml`, with Python and Harbor as judges of what is written.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use taskwright_testing::test;

use super::*;
use crate::python;

/// A file that sets every key there is.
const EVERYTHING: &str = include_str!("../../tests/data/everything.toml");

fn parse(text: &str) -> TaskToml {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

fn problems(text: &str) -> Vec<String> {
    parse(text).validate().iter().map(ToString::to_string).collect()
}

/// JSON with whole floats as integers, which is all that TOML, Python and we differ in.
fn same_numbers(value: Value) -> Value {
    match value {
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, same_numbers(value))).collect(),
        Value::Array(items) => items.into_iter().map(same_numbers).collect(),
        Value::Number(number) => json!(number.as_f64()),
        other => other,
    }
}

#[test]
fn what_is_not_set_is_not_written() {
    assert_eq!(TaskToml::default().to_toml(), "schema_version = \"1.4\"\n");
    assert_eq!(parse(""), TaskToml::default());
}

#[test]
fn everything_reads_back_as_it_was_written() {
    let task = parse(EVERYTHING);
    assert_eq!(task.validate(), []);
    assert_eq!(task.to_toml(), EVERYTHING, "the file is also an example of our order and notation");
    assert_eq!(parse(&task.to_toml()), task);
}

#[test]
fn integers_are_seconds_too() {
    let task = parse(
        "agent.timeout_sec = 1\nverifier = { timeout_sec = 2, collect = [{ command = 'x', timeout_sec = 3 }] }\n\
         environment = { cpus = 4, build_timeout_sec = 5, healthcheck = { command = 'x', interval_sec = 6 } }\n\
         steps = [{ name = 'a', min_reward = 7 }, { name = 'b', min_reward = { reward = 8 } }]\n\
         artifacts = ['/a', { source = '/b' }]",
    );
    assert_eq!(task.agent.timeout_sec, Some(1.0));
    assert_eq!(task.verifier.timeout_sec, Some(2.0));
    assert_eq!(task.verifier.collect[0].timeout_sec, Some(3.0));
    assert_eq!(task.environment.cpus, Some(4.0));
    assert_eq!(task.environment.build_timeout_sec, Some(5.0));
    assert_eq!(task.environment.healthcheck.as_ref().unwrap().interval_sec, Some(6.0));
    assert_eq!(task.steps[0].min_reward, Some(MinReward::Reward(7.0)));
    assert_eq!(task.steps[1].min_reward, Some(MinReward::PerKey([("reward".to_owned(), 8.0)].into())));
    let json = serde_json::to_value(&task).unwrap();
    assert_eq!(serde_json::from_value::<TaskToml>(json).unwrap(), task);
}

#[test]
fn unknown_and_misfit_values_are_named() {
    for (text, expected) in [
        ("bogus = 1", "unknown field `bogus`"),
        ("[agent]\nbogus = 1", "unknown field `bogus`"),
        ("[environment]\nmemory = '2G'", "unknown field `memory`"),
        ("artifacts = [{ source = '/a', bogus = 1 }]", "unknown field `bogus`"),
        ("artifacts = [1]", "a path or a table with `source`"),
        ("agent.user = 1.5", "a user name or a numeric user id"),
        ("agent.user = -1", "a user name or a numeric user id"),
        ("environment.network_mode = 'private'", "expected one of `public`, `no-network`, `allowlist`"),
        ("steps = [{ name = 'a', min_reward = 'x' }]", "a number or a table of numbers"),
        ("[task]\nversion = '1'", "missing field `name`"),
    ] {
        let error = toml::from_str::<TaskToml>(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn greatest_counts_do_not_break_the_text() {
    let mut task = TaskToml::default();
    task.environment.memory_mb = Some(u64::MAX);
    task.agent.user = Some(User::Id(u64::MAX));
    let text = task.to_toml();
    assert!(
        text.contains("memory_mb = 9223372036854775807") && text.contains("user = 9223372036854775807"),
        "{text}"
    );
    let paths: Vec<_> = task.validate().into_iter().map(|problem| problem.path.join(".")).collect();
    assert_eq!(paths, ["agent.user", "environment.memory_mb"]);
}

#[test]
fn python_reads_what_we_write() {
    let nasty = [
        "",
        " ",
        "\"",
        "\"\"\"",
        "'",
        "'''",
        "it's \"both\"",
        "\\",
        "\\n",
        "line\nbreak",
        "\n",
        "\n\n",
        "a\r\nb",
        "a\rb",
        "tab\t",
        "\u{0}",
        "\u{1}",
        "\u{8}",
        "\u{b}",
        "\u{1b}[31m",
        "\u{7f}",
        "\u{85}",
        "\u{a0}",
        "\u{2028}",
        "\u{feff}",
        "é",
        "日本",
        "\u{1F600}",
        "$",
        "${HOME}",
        "${X:-\"y\"}",
        "{{x}}",
        "{{{x}}}",
        "#",
        "a = 1",
        "[x]",
        "x.y",
        "1979-05-27",
        "ends with \\",
        "\"\"\"\n'''\n\u{1b}",
        "trailing \n  ",
    ];
    let mut task = TaskToml::default();
    for (index, text) in nasty.iter().enumerate() {
        let text = (*text).to_owned();
        task.environment.env.insert(text.clone(), text.clone());
        task.metadata
            .insert(text.clone(), toml::Value::Array(vec![text.clone().into(), toml::Table::new().into()]));
        task.artifacts.push(if index % 2 == 0 {
            ArtifactEntry::Path(text)
        } else {
            ArtifactEntry::Table(Artifact {
                source: text.clone(),
                exclude: vec![text],
                ..Artifact::default()
            })
        });
    }
    for value in [0.0, -0.0, 0.1, 1e-9, 1e300, f64::MAX, f64::MIN_POSITIVE, f64::EPSILON] {
        task.steps.push(Step { min_reward: Some(MinReward::Reward(value)), ..Step::default() });
    }
    let text = task.to_toml();
    assert_eq!(text, task.clone().to_toml());
    assert_eq!(parse(&text), task);
    let python = python::with_tomllib();
    let script =
        "import json, sys, tomllib; json.dump(tomllib.loads(sys.stdin.buffer.read().decode()), sys.stdout)";
    let read: Value = serde_json::from_str(&python::run(python, script, &text)).unwrap();
    assert_eq!(same_numbers(read), same_numbers(serde_json::to_value(&task).unwrap()));
}

#[test]
fn metadata_is_written_in_one_order_and_in_toml_1_0() {
    let task =
        parse("metadata = { b = 07:32, a = 1979-05-27 07:32Z, z = { d = [1, { f = 1, e = 07:32 }] } }");
    assert_eq!(
        task.to_toml(),
        "schema_version = \"1.4\"\n\n[metadata]\na = 1979-05-27T07:32:00Z\nb = 07:32:00\n\n\
         [metadata.z]\nd = [1, { e = 07:32:00, f = 1 }]\n"
    );
}

#[test]
fn an_empty_verifier_environment_is_written_because_it_means_separate() {
    let mut task = TaskToml::default();
    task.verifier.environment = Some(Environment::default());
    assert_eq!(parse(&task.to_toml()), task);
}

/// Files that Harbor refuses, with what we say of them.
const REFUSED: &[(&str, &str)] = &[
    ("task.name = 'sorting'", "task.name: `sorting` cannot name a task"),
    ("task.name = 'a/b..c'", "task.name: `a/b..c` cannot name a task"),
    ("task = { name = 'a/b', version = '' }", "task.version: `version` is empty"),
    ("agent.allowed_hosts = []", "agent.allowed_hosts: `allowed_hosts` has no meaning"),
    (
        "verifier = { network_mode = 'public', allowed_hosts = ['a.b'] }",
        "verifier.allowed_hosts: `allowed_hosts`",
    ),
    ("environment.allowed_hosts = ['a.b']", "environment.allowed_hosts: `allowed_hosts` has no meaning"),
    (
        "verifier = { environment_mode = 'shared', environment = {} }",
        "verifier.environment: a shared verifier has no",
    ),
    (
        "verifier.environment = { network_mode = 'allowlist', allowed_hosts = ['a/b'] }",
        "verifier.environment.allowed_hosts.0: `a/b` is not an allowed host",
    ),
    ("environment.cpus = inf", "environment.cpus: `cpus` is inf"),
    ("environment.tpu = { type = '', topology = '2x4' }", "environment.tpu.type: `type` is empty"),
    (
        "environment.tpu = { type = 'v4', topology = '2x04' }",
        "environment.tpu.topology: `2x04` is no topology",
    ),
    ("environment.tpu = { type = 'v4', topology = '8' }", "environment.tpu.topology: `8` is no topology"),
    ("environment.mcp_servers = [{ name = 'a' }]", "environment.mcp_servers.0.url: a server"),
    (
        "environment.mcp_servers = [{ name = 'a', transport = 'stdio' }]",
        "environment.mcp_servers.0.command: a server",
    ),
    (
        "environment.mcp_servers = [{ name = 'a', transport = 'stdio', command = 'x', headers = { a = 'b' } }]",
        "environment.mcp_servers.0.headers: a server",
    ),
    (
        "environment.mcp_servers = [{ name = 'a', url = 'x', headers = { 'a b' = 'b' } }]",
        "environment.mcp_servers.0.headers.a b: `a b` cannot name",
    ),
    (
        "environment.mcp_servers = [{ name = 'a', url = 'x', headers = { Authorization = 'Bearer abc' } }]",
        "environment.mcp_servers.0.headers.Authorization: a credential",
    ),
    (
        "environment.mcp_servers = [{ name = 'a', url = 'x', headers = { Cookie = '${A:-b}' } }]",
        "environment.mcp_servers.0.headers.Cookie: a credential",
    ),
    ("artifacts = ['/a/../b']", "artifacts.0.source: `/a/../b` cannot be collected"),
    ("artifacts = [{ source = 'a', service = 'judge' }]", "artifacts.0.source: `a` is a relative path"),
    (
        "artifacts = [{ source = '/a', service = '-' }]",
        "artifacts.0.service: `-` cannot name a compose service",
    ),
    (
        "artifacts = [{ source = '/a', destination = '/b' }]",
        "artifacts.0.destination: `/b` is an absolute path",
    ),
    ("artifacts = [{ source = '/a', destination = '../b' }]", "artifacts.0.destination: `../b` leaves"),
    (
        "artifacts = [{ source = '/a', destination = 'a\\b' }]",
        "artifacts.0.destination: `a\\\\b` has a backslash",
    ),
    ("artifacts = [{ source = '/a', destination = '.' }]", "artifacts.0.destination: `.` names nothing"),
    (
        "artifacts = [{ source = '/a', destination = 'manifest.json/' }]",
        "artifacts.0.destination: `manifest.json/` is",
    ),
    ("verifier.collect = [{ command = 'x', service = '' }]", "verifier.collect.0.service: `` cannot name"),
    ("steps = [{ name = 'a' }, { name = 'A' }]", "steps.1.name: another step is called `A`"),
    ("steps = [{ name = 'nul.x' }]", "steps.0.name: `nul.x` cannot name a step"),
    ("steps = [{ name = 'a', artifacts = ['..'] }]", "steps.0.artifacts.0.source: `..` cannot be collected"),
];

/// Files that Harbor loads, and then ignores, trips over or runs otherwise than was meant.
const QUESTIONED: &[(&str, &str)] = &[
    ("agent.timeout_sec = 0", "agent.timeout_sec: `timeout_sec` is 0, which is no length of time"),
    ("agent.timeout_sec = nan", "agent.timeout_sec: `timeout_sec` is NaN"),
    ("agent.user = ''", "agent.user: `` is no user name"),
    ("verifier.timeout_sec = -1", "verifier.timeout_sec: `timeout_sec` is -1"),
    ("environment.build_timeout_sec = inf", "environment.build_timeout_sec: `build_timeout_sec` is inf"),
    ("environment.memory_mb = 0", "environment.memory_mb: `memory_mb` is 0"),
    ("environment.cpus = 0", "environment.cpus: `cpus` is 0"),
    ("environment.env = { '1A' = 'x' }", "environment.env.1A: `1A` cannot name an environment variable"),
    ("solution.env = { A = \"\\u0000\" }", "solution.env.A: the value of `A` contains a NUL character"),
    ("environment.healthcheck = { command = ' ' }", "environment.healthcheck.command: `command` is empty"),
    (
        "environment.healthcheck = { command = 'x', retries = 0 }",
        "environment.healthcheck.retries: `retries` is 0",
    ),
    (
        "environment.healthcheck = { command = 'x', start_period_sec = -1 }",
        "environment.healthcheck.start_period_sec: `start_period_sec` is -1",
    ),
    ("verifier.collect = [{ command = '' }]", "verifier.collect.0.command: `command` is empty"),
    ("multi_step_reward_strategy = 'final'", "multi_step_reward_strategy: the task has no steps"),
    ("steps = [{ name = 'a', min_reward = inf }]", "steps.0.min_reward: inf is no reward"),
    ("steps = [{ name = 'a', min_reward = { x = nan } }]", "steps.0.min_reward.x: NaN is no reward"),
    (
        "artifacts = ['/a', '/a/b', { source = '/c', destination = 'a/d' }]",
        "artifacts.2: `/c` would go to `a/d`",
    ),
    (
        "artifacts = ['/logs']",
        "artifacts.0: `/logs` would go to `logs`, which overlaps with `logs/artifacts`",
    ),
    ("artifacts = ['/a', { source = '/a', service = 'judge' }]", "artifacts.1: `/a` would go to `a`"),
    (
        "artifacts = ['/a']\nsteps = [{ name = 's', artifacts = [{ source = '/b', destination = 'a' }] }]",
        "steps.0.artifacts.0: `/b`",
    ),
];

/// Files that both take.
const ACCEPTED: &[&str] = &[
    "",
    "task.name = 'Acme-1/x.y_z'",
    "agent = { network_mode = 'allowlist', allowed_hosts = ['a.b', '*.c.d', '192.0.2.1', '192.0.2.0/24', '2001:db8::/32', '::1'] }",
    "environment.allowed_hosts = []",
    "environment = { network_mode = 'allowlist', allowed_hosts = ['192.0.2.0/255.255.255.0', 'UPPER.case.', '0.0.0.0/0'] }",
    "verifier.environment = {}",
    "environment.mcp_servers = [{ name = 'a', transport = 'http', url = 'x', headers = { Authorization = 'Bearer ${T}' } }]",
    "environment.mcp_servers = [{ name = 'a', url = 'x', headers = { X-Api-Key = '${A}:${B:-}', MAX_TOKENS = '5' } }]",
    "environment.healthcheck = { command = 'x', start_period_sec = 0 }",
    "artifacts = ['relative', '/a', '/a/b', { source = '/evidence', service = 'judge' }]",
    "artifacts = [{ source = '/logs/artifacts', exclude = ['*.o'] }, '/b']",
    "artifacts = [{ source = '/a', destination = '' }, { source = 'C:/x', service = 'judge' }]",
    "steps = [{ name = 'a' }, { name = 'Größe 2' }]\nmulti_step_reward_strategy = 'final'",
];

#[test]
fn problems_name_their_place() {
    for (text, expected) in REFUSED.iter().chain(QUESTIONED) {
        let found = problems(text);
        assert!(
            found.len() == 1 && found[0].starts_with(expected),
            "{text}\n  expected {expected}\n  found {found:#?}"
        );
    }
    for text in ACCEPTED {
        assert_eq!(problems(text), [""; 0], "{text}");
    }
}

#[test]
fn hosts_that_harbor_refuses() {
    for entry in HOSTS_REFUSED {
        assert!(host::check(entry).is_err(), "{entry}");
    }
}

const HOSTS_REFUSED: &[&str] = &[
    "",
    ".",
    "*",
    "*.",
    "a.*.b",
    "*.192.0.2.1",
    "a_b",
    "-a",
    "a-",
    "a..b",
    "https://a.b",
    "a.b:80",
    "a.b/c",
    "192.0.2.1/24",
    "192.0.2.0/33",
    "192.0.2.0/+24",
    "192.0.2.0/",
    "192.0.2.0/255.0.255.0",
    "2001:db8::1/32",
    "fe80::1%eth0",
    "[::1]",
    "é.de",
];

#[test]
fn harbor_judges_alike() {
    const SCRIPT: &str = "
import json, sys, warnings
from harbor.models.task.config import TaskConfig
warnings.simplefilter('ignore')
def loads(text):
    try:
        TaskConfig.model_validate_toml(text)
        return True
    except Exception:
        return False
json.dump([loads(text) for text in json.load(sys.stdin)], sys.stdout)
";
    let python = python::of_harbor();
    let mut cases: Vec<(String, bool)> = Vec::new();
    cases.extend(REFUSED.iter().map(|(text, _)| ((*text).to_owned(), false)));
    cases.extend(QUESTIONED.iter().map(|(text, _)| ((*text).to_owned(), true)));
    cases.extend(ACCEPTED.iter().map(|text| ((*text).to_owned(), true)));
    cases.extend(HOSTS_REFUSED.iter().map(|entry| {
        (format!("environment = {{ network_mode = 'allowlist', allowed_hosts = ['{entry}'] }}"), false)
    }));
    let texts: Vec<_> = cases.iter().map(|(text, _)| text).collect();
    let verdicts = python::run(&python, SCRIPT, &serde_json::to_string(&texts).unwrap());
    let verdicts: Vec<bool> = serde_json::from_str(&verdicts).unwrap();
    for ((text, expected), verdict) in cases.iter().zip(&verdicts) {
        assert_eq!(verdict, expected, "harbor on {text}");
    }
    eprintln!("harbor judged {} task.toml files as we say it does", verdicts.len());
}

#[test]
fn harbor_reads_everything_as_we_do() {
    const SCRIPT: &str = "
import json, sys
from harbor.models.task.config import TaskConfig
config = TaskConfig.model_validate_toml(sys.stdin.read())
json.dump(config.model_dump(mode='json', exclude_unset=True), sys.stdout)
";
    let python = python::of_harbor();
    let read: Value = serde_json::from_str(&python::run(&python, SCRIPT, EVERYTHING)).unwrap();
    let mut ours = serde_json::to_value(parse(EVERYTHING)).unwrap();
    // Dates are texts in one JSON and tables in the other; they are not what this is about.
    ours["metadata"] = read["metadata"].clone();
    assert_eq!(same_numbers(read), same_numbers(ours));
}

/// The keys of every table in a JSON Schema, as paths.
fn keys(schema: &Value) -> BTreeSet<String> {
    fn visit(root: &Value, schema: &Value, path: &str, found: &mut BTreeSet<String>) {
        if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/")) {
            visit(root, &root["$defs"][name], path, found);
        }
        for branch in ["anyOf", "allOf", "oneOf"] {
            for schema in schema[branch].as_array().into_iter().flatten() {
                visit(root, schema, path, found);
            }
        }
        visit_items(root, &schema["items"], path, found);
        for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}/{key}");
            visit(root, schema, &path, found);
            found.insert(path);
        }
    }
    fn visit_items(root: &Value, items: &Value, path: &str, found: &mut BTreeSet<String>) {
        if items.is_object() {
            visit(root, items, path, found);
        }
    }
    let mut found = BTreeSet::new();
    visit(schema, schema, "", &mut found);
    found
}

#[test]
fn our_keys_are_harbors_keys() {
    let python = python::of_harbor();
    let script = "import json; from harbor.models.task.config import TaskConfig as T; print(json.dumps(T.model_json_schema()))";
    let mut theirs = keys(&serde_json::from_str(&python::run(&python, script, "")).unwrap());
    theirs.retain(|key| !key.ends_with("/allow_internet"));
    assert_eq!(keys(schemars::schema_for!(TaskToml).as_value()), theirs);
    eprintln!("the schema has harbor's {} keys", theirs.len());
}

#[test]
fn every_key_is_described() {
    fn visit(schema: &Value, path: &str) {
        for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
            assert!(
                schema["description"].is_string() || schema["$ref"].is_string(),
                "{path}/{key} has no description"
            );
        }
        for (name, schema) in schema["$defs"].as_object().into_iter().flatten() {
            assert!(schema["description"].is_string(), "{name} has no description");
            visit(schema, name);
        }
    }
    visit(schemars::schema_for!(TaskToml).as_value(), "");
    visit(schemars::schema_for!(TaskOverrides).as_value(), "");
}

#[test]
fn overrides_are_task_toml_less_what_is_ours() {
    let all = keys(schemars::schema_for!(TaskToml).as_value());
    let ours = keys(schemars::schema_for!(TaskOverrides).as_value());
    let owned: Vec<_> = all
        .difference(&ours)
        .map(String::as_str)
        .filter(|key| !key.starts_with("/task/") && !key.starts_with("/steps/"))
        .collect();
    assert_eq!(
        owned,
        [
            "/agent/user",
            "/multi_step_reward_strategy",
            "/schema_version",
            "/source",
            "/steps",
            "/task",
            "/verifier/environment_mode",
        ]
    );
    assert!(ours.is_subset(&all));
}

#[test]
fn owned_keys_are_refused_where_they_stand() {
    let overrides: TaskOverrides =
        toml::from_str("agent = { user = 'me', timeout_sec = 0 }\nverifier.environment_mode = 'shared'")
            .unwrap();
    let paths: Vec<_> = overrides.validate().into_iter().map(|problem| problem.path.join(".")).collect();
    assert_eq!(paths, ["agent.user", "verifier.environment_mode", "agent.timeout_sec",]);
    assert!(
        toml::from_str::<TaskOverrides>("task.name = 'a/b'")
            .unwrap_err()
            .to_string()
            .contains("unknown field")
    );
}

#[test]
fn overrides_become_a_task_toml() {
    let overrides: TaskOverrides =
        toml::from_str("agent.timeout_sec = 5\nmetadata.difficulty = 'hard'").unwrap();
    assert_eq!(overrides.validate(), []);
    assert_eq!(
        TaskToml::from(overrides).to_toml(),
        "schema_version = \"1.4\"\n\n[metadata]\ndifficulty = \"hard\"\n\n[agent]\ntimeout_sec = 5.0\n"
    );
}
