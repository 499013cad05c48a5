//! The gateway of a manifest: what is refused before anything starts, and where the real Harbor then says that its agents ask.

use crate::support::{Space, said};
use taskwright_experiment::dispatch::Harbor;
use taskwright_experiment::{ExperimentError, routes};
use taskwright_gateway::{Config, Token, clients};
use taskwright_testing::{needs_harbor, test};

const GATEWAY: &str = "\
[gateway]
upstream_api_key_env = \"UPSTREAM_KEY\"
upstream_base_url_env = \"UPSTREAM_URL\"
prices = { \"vendor/m-7\" = { input = 0.25, output = 2.0 } }

[gateway.agents]
allowed_models = [\"m\"]
model_aliases = { m = \"vendor/m-7\" }
max_requests = 100
max_tokens = 200
max_cost = 1.5
";
const DOOR: &str = "10.0.0.1:8700";

/// A manifest whose agent has these lines, and whose gateway this.
fn with(agent: &str, gateway: &str) -> String {
    format!("name = \"try\"\n[[tasks]]\npath = \"tasks\"\n[[agents]]\n{agent}\n{gateway}")
}

#[test]
fn a_good_one_is_what_a_spec_would_say() {
    let agent = "name = \"codex\"\nmodel = \"openai/m\"\nenv = { A = \"$${B}\" }";
    assert_eq!(said(&with(agent, GATEWAY)), "");
    let space = Space::new();
    space.write("try.toml", &with(agent, GATEWAY));
    let document = space.load("try.toml");
    let gateway = document.value.gateway.as_ref().unwrap();
    let config = Config::of_spec(&gateway.as_of_spec()).unwrap();
    config.check().unwrap();
    let expected = serde_json::json!({
        "prices": { "vendor/m-7": { "input": 0.25, "output": 2.0 } },
        "evaluation": {
            "allowed_models": ["m"], "model_aliases": { "m": "vendor/m-7" }, "max_requests": 100, "max_tokens": 200,
            "max_cost": 1.5,
        },
    });
    assert_eq!(config, serde_json::from_value(expected).unwrap());
}

#[test]
fn what_is_wrong_is_said() {
    let codex = "name = \"codex\"\nmodel = \"openai/m\"";
    let away = |from: &str, to: &str| GATEWAY.replace(from, to);
    let cases = [
        (codex, away("allowed_models = [\"m\"]", "allowed_models = []"), "no model may be asked for"),
        (codex, away("UPSTREAM_KEY", "sk-1"), "not the name of an environment variable"),
        (codex, away("vendor/m-7\" = {", "other\" = {"), "without a price of `m`"),
        (codex, away("max_cost = 1.5", "max_cost = 0"), "no amount of money"),
        (codex, away("max_requests = 100", "max_requests = 0"), "allows nothing"),
        (codex, away("[gateway.agents]", "[gateway.producer]"), "unknown key `producer`"),
        (
            codex,
            format!("{GATEWAY}[compute]\nbackend = \"modal\""),
            "trials on `modal` cannot reach the gateway",
        ),
        (codex, format!("{GATEWAY}[compute]\nbackend = \"a.b:C\""), "trials on `a.b:C` cannot reach"),
        (codex, format!("{GATEWAY}[harbor]\nversion = \"0.23.0\""), "does not say where its agents ask"),
        (
            "name = \"codex\"\nmodel = \"openai/n\"",
            GATEWAY.to_owned(),
            "no model that the gateway lets through",
        ),
        ("name = \"codex\"\nsecrets = [\"UPSTREAM_KEY\"]", GATEWAY.to_owned(), "is the gateway's to set"),
        ("name = \"codex\"\nsecrets = [\"OPENAI_API_KEY\"]", GATEWAY.to_owned(), "is the gateway's to set"),
        (
            "name = \"codex\"\nenv = { X_KEY = \"$${UPSTREAM_KEY}\" }",
            GATEWAY.to_owned(),
            "is the gateway's alone",
        ),
        (
            "name = \"codex\"\nenv = { OPENAI_BASE_URL = \"http://x\" }",
            GATEWAY.to_owned(),
            "would go around it",
        ),
        (
            "name = \"codex\"\nbase_url = \"https://x\"",
            GATEWAY.to_owned(),
            "would ask there, and not the gateway",
        ),
        (
            "name = \"codex\"\napi_key_name = \"OTHER\"",
            GATEWAY.to_owned(),
            "does not hold the gateway's token",
        ),
        (codex, format!("{GATEWAY}[simulated_user]\nname = \"codex\""), "none is known to use the gateway"),
        (codex, format!("{GATEWAY}[verification]\nsecrets = [\"UPSTREAM_KEY\"]"), "is the gateway's to set"),
    ];
    for (agent, gateway, words) in cases {
        let text = with(agent, &gateway);
        let said = said(&text);
        assert!(said.contains(words) && said.contains("try.toml:"), "{text}\n{said}");
    }
    // A judge with a key of its own is nobody's way around.
    let judge = format!("{GATEWAY}[verification]\nenv = {{ OPENAI_API_KEY = \"$${{JUDGE_KEY}}\" }}");
    assert_eq!(said(&with(codex, &judge)), "");
}

#[test]
fn other_models_make_another_job_and_a_larger_budget_does_not() {
    let space = Space::new();
    space.task("tasks/one", "true");
    let name = |gateway: &str| {
        space.write("try.toml", &with("name = \"oracle\"", gateway));
        space.prepare("try.toml").unwrap().config.job_name
    };
    let first = name(GATEWAY);
    assert_eq!(first, name(&GATEWAY.replace("1.5", "9").replace("100", "\"unlimited\"")));
    assert_ne!(first, name(&GATEWAY.replace("m-7", "m-8")));
    // Nor does one that began metered go on with the key itself.
    let plain = GATEWAY.replace("model_aliases = { m = \"vendor/m-7\" }\n", "").replace("vendor/m-7", "m");
    let jobs =
        [plain.clone(), plain.replace("STREAM_KEY", "STREAM_TOKEN"), String::new()].map(|text| name(&text));
    assert!(jobs[0] != jobs[1] && jobs[1] != jobs[2] && jobs[0] != jobs[2], "{jobs:?}");
}

#[test]
fn a_task_that_meters_its_agents_itself_is_refused() {
    let space = Space::new();
    space.task("tasks/one", "true");
    space.task("tasks/two", "true");
    let serve = "tasks/two/environment/sidecar/serve.json";
    let said = |gateway: &str| {
        space.write("try.toml", &with("name = \"oracle\"", gateway));
        match space.prepare("try.toml") {
            Ok(_) => String::new(),
            Err(ExperimentError::Manifest(mistakes)) => mistakes.render(false),
            Err(error) => panic!("{error}"),
        }
    };
    space.write(serve, r#"{"gateway": {"producer": null, "evaluation": {}}}"#);
    assert_eq!(said(GATEWAY), "", "candidates of its own are metered, and agents are not");
    space.write(serve, r#"{"gateway": {"producer": {"allowed_models": ["m"]}}}"#);
    assert!(said(GATEWAY).contains("`two` has a gateway of its own"), "{}", said(GATEWAY));
    assert!(!said(GATEWAY).contains("`one`"));
    assert_eq!(said(""), "");
}

#[test]
fn a_task_that_would_be_given_the_token_is_named() {
    let space = Space::new();
    space.task("tasks/one", "true");
    let toml = std::fs::read_to_string(space.root.join("tasks/one/task.toml")).unwrap();
    let judge = "[verifier.env]\nOPENAI_API_KEY = \"${OPENAI_API_KEY}\"\nOTHER = \"${JUDGE_KEY:-x}\"\n# ${IN_A_COMMENT}\n";
    space.write("tasks/one/task.toml", &format!("{toml}{judge}"));
    let compose = "services: {main: {environment: {URL: \"${UPSTREAM_URL:?set it}\"}}}\n";
    space.write("tasks/one/environment/docker-compose.yaml", compose);
    space.write("try.toml", &with("name = \"oracle\"", GATEWAY));
    let taken = space.prepare("try.toml").unwrap().taken;
    let is_given = |name: &str| clients::names("UPSTREAM_URL", "UPSTREAM_KEY").any(|known| known == name);
    let said: Vec<String> = taken.iter().filter_map(|taken| taken.warning(is_given)).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("`one` takes `OPENAI_API_KEY` from this machine (task.toml)"), "{said:?}");
    assert!(said[1].contains("`UPSTREAM_URL`") && said[1].contains("docker-compose.yaml"), "{said:?}");
    assert!(taken[0].names.contains("JUDGE_KEY") && !taken[0].names.contains("IN_A_COMMENT"));
    space.write("try.toml", &with("name = \"oracle\"", ""));
    assert_eq!(space.prepare("try.toml").unwrap().taken, []);
}

/// What comes of holding a manifest's agents against the gateway, asked of the real Harbor.
fn routed(agents: &str) -> Result<(), String> {
    let space = Space::new();
    space.task("tasks/one", "true");
    space.write("asking.py", "from harbor.agents.nop import NopAgent\nclass Own(NopAgent):\n    pass\nclass OneWithANameThatIsWiderThanItsTable(Own):\n    pass\n");
    space.write("try.toml", &format!("name = \"try\"\n[[tasks]]\npath = \"tasks\"\n{agents}\n{GATEWAY}"));
    let prepared = space.prepare("try.toml").unwrap();
    prepared.keep(&space.workspace()).unwrap();
    let (address, key) = ("UPSTREAM_URL", "UPSTREAM_KEY");
    let variables = clients::variables(DOOR, &Token::shown("tok-1"), address, key);
    let harbor = Harbor::find(&space.root, &prepared).unwrap().with(variables);
    // Whoever runs it may have asked every program for colours.
    let harbor = harbor.with(
        [("PYTHONPATH", space.root.as_str()), ("FORCE_COLOR", "1"), ("COLUMNS", "40")]
            .map(|(name, value)| (name, value.to_owned())),
    );
    let checked = harbor.check(&prepared.yaml().unwrap()).map_err(|error| error.to_string())?;
    assert_eq!(checked.endpoints.len(), prepared.config.agents.len());
    let is_token = |name: &str| clients::names(address, key).any(|known| known == name);
    routes::check(&prepared.config.agents, &checked.endpoints, &format!("http://{DOOR}"), is_token)
        .map_err(|error| error.to_string())
}

/// Tables of agents, each with its model.
fn agents(list: &[(&str, &str)]) -> String {
    let table =
        |(name, model): &(&str, &str)| format!("[[agents]]\nname = \"{name}\"\nmodel = \"{model}\"\n");
    list.iter().map(table).collect()
}

#[test]
fn harbors_agents_ask_the_gateway() {
    needs_harbor();
    let known = agents(&[
        ("claude-code", "anthropic/m"),
        ("codex", "openai/m"),
        ("opencode", "openai/m"),
        ("mini-swe-agent", "anthropic/m"),
        ("terminus-2", "openai/m"),
        ("gemini-cli", "gemini/m"),
    ]);
    let silent = "[[agents]]\nname = \"oracle\"\n[[agents]]\nimport_path = \"asking:Own\"\n[[agents]]\nimport_path = \"asking:OneWithANameThatIsWiderThanItsTable\"\n";
    routed(&format!("{known}{silent}")).unwrap();
}

#[test]
fn an_agent_that_harbor_cannot_send_there_is_named() {
    needs_harbor();
    let said = routed(&agents(&[("codex", "openai/m"), ("cline-cli", "openai/m")])).unwrap_err();
    assert!(said.contains("`cline-cli (openai/m)`") && !said.contains("codex"), "{said}");
}
