//! What is rendered, read back by those who will read it: Python, Compose and shells, with texts that break out of
//! whatever is not quoted.

use std::fs;
use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use taskwright_testing::{Need, not_run, test};

use crate::support::TestSpace;

const SPEC: &str = "harbor-tasks/alpha/spec.toml";

/// Texts that go wrong wherever somebody forgot to quote.
const HOSTILE: [&str; 19] = [
    "plain",
    "it's \"quoted\" \\ twice",
    "'''\"\"\"",
    "$HOME ${HOME} $(id) $$ $${x}",
    "`id`",
    "{{description}} {{{x}}} {{#if}}",
    "#hash: yaml, [list] {map} & *anchor !tag | > % @",
    "- item",
    "? key",
    "yes",
    "null",
    "1.0",
    "~",
    "ü 漢字 🙂 \u{2028}\u{feff}\u{85}",
    "two\nlines\n\n  and more",
    "tab\tcarriage\rbell\u{7}",
    " spaces ",
    "; rm -rf / #",
    "\\n \\u0041 \\",
];

/// A text as a value of a spec: TOML's quoting, and a `${` that is no parameter.
fn toml_text(text: &str) -> String {
    toml::Value::String(text.replace("${", "$${")).to_string()
}

/// A workspace with one task whose spec says all of these texts wherever a text may stand.
fn hostile() -> TestSpace {
    let space = TestSpace::with(&["alpha"]);
    let keywords: Vec<_> = HOSTILE.iter().map(|text| toml_text(text)).collect();
    let variables: Vec<_> =
        HOSTILE.iter().enumerate().map(|(number, text)| format!("V{number} = {}", toml_text(text))).collect();
    space.edit(SPEC, "\"Improve alpha\"", &toml_text(&HOSTILE.join(" | ")));
    let authors = format!("authors = [{{ name = {} }}]", toml_text(&HOSTILE.join("/")));
    let head = format!(
        "keywords = [{}]\n{authors}\nsecrets = [\"API_KEY\", \"OTHER_KEY\"]\n\n[agent_env]\n{}\n\n[baseline]",
        keywords.join(", "),
        variables.join("\n")
    );
    space.edit(SPEC, "[baseline]", &head);
    space
}

fn built(space: &TestSpace) {
    let report = space.build();
    assert!(report.is_success(), "{}", space.failures(&report));
}

/// What a Python program prints, as JSON; none if Python, or a module that it needs, is missing.
fn python(program: &str, path: &Utf8Path) -> Option<Value> {
    let output = Command::new("python3").args(["-c", program, path.as_str()]).output().ok()?;
    let words = String::from_utf8_lossy(&output.stderr);
    if words.contains("ModuleNotFoundError") {
        return None;
    }
    assert!(output.status.success(), "{words}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn the_reader_that_harbor_uses_reads_task_toml_back() {
    let space = hostile();
    built(&space);
    let program = "import json, sys, tomllib\nprint(json.dumps(tomllib.load(open(sys.argv[1], 'rb'))))";
    let Some(task) = python(program, &space.out("alpha/task.toml")) else {
        not_run(Need::Python, "there is no python3 with tomllib");
    };
    assert_eq!(task["task"]["name"], "taskwright/alpha");
    assert_eq!(task["task"]["description"], HOSTILE.join(" | "));
    assert_eq!(task["task"]["keywords"], json!(HOSTILE));
    assert_eq!(task["task"]["authors"][0]["name"], HOSTILE.join("/"));
}

#[test]
fn the_serve_config_says_what_the_spec_says() {
    let space = hostile();
    built(&space);
    let text = fs::read_to_string(space.out("alpha/environment/sidecar/serve.json")).unwrap();
    let serve: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(serve["description"], HOSTILE.join(" | "));
    assert_eq!(serve["secrets"], json!(["API_KEY", "OTHER_KEY"]));
}

#[test]
fn the_instruction_says_what_its_file_says_and_does_not_repeat_it() {
    let space = hostile();
    built(&space);
    let text = fs::read_to_string(space.out("alpha/instruction.md")).unwrap();
    assert!(text.starts_with("# Make alpha better\n"));
    // The description is for lists of tasks.
    assert!(!text.contains(&HOSTILE.join(" | ")), "{text}");
}

#[test]
fn an_instruction_may_hold_what_looks_like_a_template() {
    let space = TestSpace::with(&["alpha"]);
    space.write("harbor-tasks/alpha/instruction.md", "Use {{name}}, {{#if x}} and ${HOME}.\n");
    built(&space);
    let text = fs::read_to_string(space.out("alpha/instruction.md")).unwrap();
    assert!(text.starts_with("Use {{name}}, {{#if x}} and ${HOME}.\n"), "{text}");
}

/// The services of a Compose file as Compose understands it, else as Python's YAML does; none if both are missing.
fn services(path: &Utf8Path) -> Option<(Value, bool)> {
    let composed = Command::new("docker")
        .args(["compose", "--file", path.as_str(), "config", "--format", "json"])
        .envs([("API_KEY", "key'\"$x"), ("OTHER_KEY", "other"), ("HOME", "/home/somebody")])
        .envs([("OPENAI_API_KEY", "upstream-key"), ("OPENAI_BASE_URL", "https://upstream")])
        .output();
    if let Ok(output) = composed
        && !String::from_utf8_lossy(&output.stderr).contains("not a docker command")
    {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let config: Value = serde_json::from_slice(&output.stdout).unwrap();
        return Some((config["services"].clone(), true));
    }
    let program = "import json, sys, yaml\nprint(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    python(program, path).map(|config| (config["services"].clone(), false))
}

#[test]
fn compose_reads_every_value_back() {
    let space = hostile();
    built(&space);
    let Some((services, composed)) = services(&space.out("alpha/environment/docker-compose.yaml")) else {
        not_run(Need::Engine, "neither `docker compose` nor Python's yaml is there");
    };
    let main = &services["main"]["environment"];
    for (number, text) in HOSTILE.iter().enumerate() {
        // What Compose would print for another run of itself has every `$` twice, as the file has.
        let expected = text.replace('$', "$$");
        assert_eq!(main[format!("V{number}")], expected, "{text:?}");
    }
    assert_eq!(main["API_KEY"], "", "no secret reaches the optimizer");
    assert_eq!(main["OTHER_KEY"], "");
    let sidecar = &services["eval-sidecar"]["environment"];
    if composed {
        assert_eq!(sidecar["API_KEY"].as_str().unwrap().replace("$$", "$"), "key'\"$x");
    } else {
        assert!(sidecar["API_KEY"].as_str().unwrap().starts_with("${API_KEY:?"), "{sidecar}");
    }
    assert_eq!(services["main"]["environment"].as_object().unwrap().len(), HOSTILE.len() + 3);
}

#[test]
fn the_gateway_alone_has_the_upstreams_key_and_each_user_a_network() {
    let space = TestSpace::with(&["alpha"]);
    space.edit(SPEC, "[scorer]", "[gateway.producer]\nallowed_models = [\"small\"]\n\n[scorer]");
    space.edit(SPEC, "mode = \"a\"", "mode = \"a\"\nsecrets = [\"API_KEY\"]");
    built(&space);
    let config: Value = serde_json::from_str(
        &fs::read_to_string(space.out("alpha/environment/gateway/gateway.json")).unwrap(),
    )
    .unwrap();
    assert_eq!(config["producer"]["allowed_models"], json!(["small"]));
    let Some((services, _)) = services(&space.out("alpha/environment/docker-compose.yaml")) else {
        not_run(Need::Engine, "neither `docker compose` nor Python's yaml is there");
    };
    let value = |service: &str, name: &str| services[service]["environment"][name].clone();
    for name in ["OPENAI_API_KEY", "OPENAI_BASE_URL"] {
        assert_eq!(value("main", name), "");
        assert_eq!(value("eval-sidecar", name), Value::Null);
        assert!(value("gateway", name).as_str().unwrap().len() > 8);
    }
    assert_eq!(value("gateway", "API_KEY"), Value::Null);
    let networks = |service: &str| -> Vec<String> {
        match &services[service]["networks"] {
            Value::Object(networks) => networks.keys().cloned().collect(),
            networks => serde_json::from_value(networks.clone()).unwrap(),
        }
    };
    assert_eq!(networks("main"), ["default", "evaluation", "producer"]);
    assert_eq!(networks("eval-sidecar"), ["evaluation"]);
    assert_eq!(networks("gateway"), ["default", "producer"]);
}

#[test]
fn candidates_that_ask_models_have_a_network_of_the_gateways_and_are_not_taken_to_answer_the_same() {
    let space = TestSpace::with(&["alpha"]);
    let built = |space: &TestSpace| {
        built(space);
        let serve = fs::read_to_string(space.out("alpha/environment/sidecar/serve.json")).unwrap();
        let serve: Value = serde_json::from_str(&serve).unwrap();
        let instruction = fs::read_to_string(space.out("alpha/instruction.md")).unwrap();
        let Some((services, _)) = services(&space.out("alpha/environment/docker-compose.yaml")) else {
            not_run(Need::Engine, "neither `docker compose` nor Python's yaml is there");
        };
        let mut networks: Vec<String> = match &services["eval-sidecar"]["networks"] {
            Value::Object(networks) => networks.keys().cloned().collect(),
            networks => serde_json::from_value(networks.clone()).unwrap(),
        };
        networks.sort();
        (networks, serve["scorer"]["deterministic"].clone(), instruction.contains("without a network"))
    };
    assert_eq!(built(&space), (vec!["evaluation".to_owned()], json!(true), true));
    space.edit(SPEC, "[scorer]", "[gateway.evaluation]\nallowed_models = [\"small\"]\n\n[scorer]");
    let both = ["candidates", "evaluation"].map(str::to_owned).to_vec();
    assert_eq!(built(&space), (both.clone(), json!(false), false));
    // Who knows better says so.
    space.edit(SPEC, "[scorer]", "[scorer]\ndeterministic = true");
    assert_eq!(built(&space), (both, json!(true), false));
}

#[test]
fn compose_says_which_secret_is_missing() {
    let space = hostile();
    built(&space);
    let path = space.out("alpha/environment/docker-compose.yaml");
    let output = Command::new("docker")
        .args(["compose", "--file", path.as_str(), "config", "--quiet"])
        .env_remove("API_KEY")
        .env_remove("OTHER_KEY")
        .output();
    let Ok(output) = output else { not_run(Need::Engine, "docker is missing") };
    let words = String::from_utf8_lossy(&output.stderr);
    if words.contains("not a docker command") {
        not_run(Need::Engine, "`docker compose` is missing");
    }
    assert!(!output.status.success());
    assert!(
        words.contains("set API_KEY in the environment") || words.contains("set OTHER_KEY in"),
        "{words}"
    );
}

/// A folder with programs that write down what they are called with.
fn stubs(folder: &Utf8Path, names: &[&str]) -> Utf8PathBuf {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    for name in names {
        let path = bin.join(name);
        let script = format!(
            "#!/bin/sh\nprintf '{name}' >> \"$CALLS\"\nprintf '\\001%s' \"$@\" >> \"$CALLS\"\nprintf '\\002' >> \"$CALLS\"\n"
        );
        fs::write(&path, script).unwrap();
        crate::support::chmod(&path, 0o755);
    }
    bin
}

#[test]
fn the_oracle_says_the_message_exactly() {
    for message in HOSTILE {
        let space = TestSpace::with(&["alpha"]);
        let solution =
            format!("[solution]\npath = \"solution\"\nmessage = {}\n\n[scorer]", toml_text(message));
        space.edit(SPEC, "[scorer]", &solution);
        space.write("harbor-tasks/alpha/solution/main.py", "better\n");
        built(&space);
        let script = space.out("alpha/solution/solve.sh");
        for shell in ["bash", "sh"] {
            let output = Command::new(shell).args(["-n", script.as_str()]).output().unwrap();
            assert!(output.status.success(), "{message:?}: {}", String::from_utf8_lossy(&output.stderr));
        }

        let room = tempfile::tempdir().unwrap();
        let room = Utf8Path::from_path(room.path()).unwrap();
        let bin = stubs(room, &["git", "taskwright", "cp"]);
        let text = fs::read_to_string(&script).unwrap();
        assert!(text.contains("cd /workspace\n"));
        let output = Command::new("bash")
            .args(["-c", &text.replace("cd /workspace\n", "")])
            .current_dir(room)
            .env("PATH", format!("{bin}:{}", std::env::var("PATH").unwrap()))
            .env("CALLS", room.join("calls"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{message:?}: {}", String::from_utf8_lossy(&output.stderr));
        let calls = fs::read_to_string(room.join("calls")).unwrap();
        let calls: Vec<Vec<&str>> =
            calls.split_terminator('\u{2}').map(|call| call.split('\u{1}').collect()).collect();
        let commit = calls.iter().find(|call| call.contains(&"commit")).unwrap();
        assert_eq!(commit[commit.len() - 2..], ["--message", message]);
        assert_eq!(calls.last().unwrap()[..], ["taskwright", "submit"]);
        assert!(calls.iter().any(|call| call[..] == ["taskwright", "eval", "--split", "train"]), "{calls:?}");
    }
}

/// Runs the verifier's script on some evidence, in folders that stand in for those of its container.
fn verify(evidence: impl Fn(&Utf8Path)) -> (Option<i32>, String, Vec<String>) {
    let space = TestSpace::with(&["alpha"]);
    built(&space);
    let script = space.out("alpha/tests/test.sh");
    let checked = Command::new("sh").args(["-n", script.as_str()]).status().unwrap();
    assert!(checked.success());
    let room = tempfile::tempdir().unwrap();
    let room = Utf8Path::from_path(room.path()).unwrap();
    fs::create_dir_all(room.join("logs")).unwrap();
    evidence(&room.join("evidence"));
    let text = fs::read_to_string(&script).unwrap();
    let text = text
        .replace("/logs/verifier", room.join("logs").as_str())
        .replace("evidence=/evidence", &format!("evidence={}", room.join("evidence")));
    let output = Command::new("sh").args(["-c", &text]).output().unwrap();
    let mut left: Vec<_> = fs::read_dir(room.join("logs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).trim().to_owned(), left)
}

/// Evidence as the sidecar leaves it: a reward, and a verdict that names it.
fn whole(folder: &Utf8Path) {
    fs::create_dir(folder).unwrap();
    let reward = "{\"reward\": 1}\n";
    let digest = taskwright_base::Digest::of(reward.as_bytes());
    let verdict = json!({ "files": { "reward.json": digest.to_string() } });
    fs::write(folder.join("reward.json"), reward).unwrap();
    fs::write(folder.join("verdict.json"), serde_json::to_string_pretty(&verdict).unwrap()).unwrap();
}

#[test]
fn the_verifier_copies_whole_evidence() {
    let (code, words, left) = verify(whole);
    assert_eq!((code, words.as_str()), (Some(0), ""));
    assert_eq!(left, ["details.json", "reward.json"]);
}

#[test]
fn the_verifier_writes_no_reward_if_any_evidence_is_missing() {
    let refused = |spoil: &dyn Fn(&Utf8Path)| {
        let (code, words, left) = verify(|folder| {
            whole(folder);
            spoil(folder);
        });
        assert_eq!(code, Some(1));
        assert!(!left.iter().any(|name| name.contains("reward")), "{left:?}");
        words
    };
    let said = refused(&|folder| fs::remove_dir_all(folder).unwrap());
    insta::assert_snapshot!(said, @"taskwright: no evidence was collected from the eval sidecar: no reward is written");
    let said = refused(&|folder| fs::remove_file(folder.join("reward.json")).unwrap());
    insta::assert_snapshot!(said, @"taskwright: the verdict gives no reward; details.json says why: no reward is written");
    let said = refused(&|folder| fs::remove_file(folder.join("verdict.json")).unwrap());
    insta::assert_snapshot!(said, @"taskwright: the evidence has no verdict: no reward is written");
    let said = refused(&|folder| fs::write(folder.join("reward.json"), "").unwrap());
    insta::assert_snapshot!(said, @"taskwright: the verdict gives no reward; details.json says why: no reward is written");
    let said = refused(&|folder| fs::write(folder.join("reward.json"), "{\"reward\": 2}\n").unwrap());
    insta::assert_snapshot!(said, @"taskwright: the reward is not the one of the verdict: no reward is written");
    let said = refused(&|folder| {
        fs::rename(folder.join("reward.json"), folder.join("other")).unwrap();
        std::os::unix::fs::symlink("other", folder.join("reward.json")).unwrap();
    });
    insta::assert_snapshot!(said, @"taskwright: the verdict gives no reward; details.json says why: no reward is written");
    let said = refused(&|folder| {
        fs::remove_file(folder.join("reward.json")).unwrap();
        fs::create_dir(folder.join("reward.json")).unwrap();
    });
    insta::assert_snapshot!(said, @"taskwright: the verdict gives no reward; details.json says why: no reward is written");
}

#[test]
fn no_credential_and_nothing_that_is_held_out_reaches_the_optimizer() {
    let space = hostile();
    space.edit(SPEC, "access = \"viewable\"", "access = \"viewable\"\nexpose = true");
    built(&space);
    let dockerfile = fs::read_to_string(space.out("alpha/environment/Dockerfile")).unwrap();
    let copied: Vec<_> = dockerfile.lines().filter(|line| line.starts_with("COPY")).collect();
    assert_eq!(copied.len(), 3, "{copied:?}");
    for line in copied {
        assert!(["bin/", "samples/", "baseline/"].iter().any(|what| line.contains(what)), "{line}");
        assert!(!line.contains("sidecar"), "{line}");
    }
    let shown = fs::read_to_string(space.out("alpha/environment/samples/train.jsonl")).unwrap();
    assert_eq!(shown, "{\"id\":\"one\",\"split\":\"train\"}\n");
    assert!(!space.out("alpha/environment/samples/test.jsonl").exists());
}

#[test]
fn packages_are_words_of_a_shell() {
    let space = TestSpace::with(&["alpha"]);
    let packages = "[packages]\nmain = [\"gcc\", \"python3=3.13.5-1+b1\", \"libc6=1:2.41~rc1\"]\nsnapshot = \"2026-01-31\"\n\n[baseline]";
    space.edit(SPEC, "[baseline]", packages);
    built(&space);
    let dockerfile = fs::read_to_string(space.out("alpha/environment/Dockerfile")).unwrap();
    let joined = dockerfile.replace("\\\n", "");
    let line = joined.lines().find(|line| line.contains("apt-get install")).unwrap();
    let script = line.strip_prefix("RUN ").unwrap();
    let install = script.split(';').find(|part| part.contains("apt-get install")).unwrap();
    let output =
        Command::new("sh").args(["-c", &install.replace("apt-get install", "printf '%s\\n'")]).output();
    let words = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(words.ends_with("gcc\npython3=3.13.5-1+b1\nlibc6=1:2.41~rc1\n"), "{words}");
    assert!(script.contains("20260131T000000Z"), "{script}");
}

#[test]
fn packages_of_the_images_own_sources_leave_the_sources_alone() {
    let space = TestSpace::with(&["alpha"]);
    space.edit(SPEC, "[baseline]", "[packages]\nmain = [\"gcc\"]\nsnapshot = \"off\"\n\n[baseline]");
    built(&space);
    let dockerfile = fs::read_to_string(space.out("alpha/environment/Dockerfile")).unwrap();
    assert!(dockerfile.contains("apt-get install --yes --no-install-recommends gcc"), "{dockerfile}");
    assert!(!dockerfile.contains("sources.list") && !dockerfile.contains("snapshot"), "{dockerfile}");
}
