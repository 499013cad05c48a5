//! What is said of manifests that are wrong: each mistake at its place, with what to do about it.

use std::collections::BTreeMap;
use std::fs;

use crate::support::{said, said_with};
use camino::Utf8Path;
use taskwright_experiment::load;
use taskwright_testing::test;

const GOOD: &str = r#"name = "try"

[[tasks]]
built = ["a", "b-*"]

[[agents]]
name = "oracle"
"#;

/// The good manifest with more at its end.
fn with(more: &str) -> String {
    format!("{GOOD}{more}\n")
}

#[test]
fn a_good_one_is_not_talked_about() {
    assert_eq!(said(GOOD), "");
    assert_eq!(said(&with("[compute]\nbackend = \"my.module:Environment\"")), "");
}

#[test]
fn several_mistakes_are_told_together_each_at_its_place() {
    let text = r#"name = "Try It"
repetition = 3

[[tasks]]
registry = "../tasks"
version = "1.0"

[[agents]]
name = "oracle"
env = { OPENAI_API_KEY = "sk-1234" }

[compute]
backend = "dcoker"
resource_limits = { cpu = 2, storage_mb = 100 }
"#;
    insta::assert_snapshot!(said(text), @r#"
    error: `Try It` cannot name an experiment
     --> experiments/try.toml:1:8
      |
    1 | name = "Try It"
      |        ^^^^^^^^
      |
      = help: use 1 to 32 of a-z, 0-9 and `-`, with no `-` at either end: it becomes a part of folder names

    error: unknown key `repetition` in the manifest
     --> experiments/try.toml:2:1
      |
    2 | repetition = 3
      | ^^^^^^^^^^
      |
      = help: did you mean `repetitions`?

    error: `../tasks` looks like a path and does not exist
     --> experiments/try.toml:5:12
      |
    5 | registry = "../tasks"
      |            ^^^^^^^^^^
      |
      = help: tasks on this machine are named by `path = "..."`

    error: a value of `OPENAI_API_KEY` stands in the file
      --> experiments/try.toml:10:26
       |
    10 | env = { OPENAI_API_KEY = "*******" }
       |                          ^^^^^^^^^
       |
       = help: a manifest is committed: name it in `secrets` and set it where Harbor runs, or write `OPENAI_API_KEY = "$${OTHER_NAME}"`

    error: unknown key `cpu` in `[compute.resource_limits]`
      --> experiments/try.toml:14:21
       |
    14 | resource_limits = { cpu = 2, storage_mb = 100 }
       |                     ^^^
       |
       = help: did you mean `cpus`?
    "#);
}

#[test]
fn what_is_wrong_is_said() {
    let cases = [
        ("", "repetitions = 0", "`repetitions` must be at least 1"),
        ("", "reward_key = \" \"", "`reward_key` has no proper value"),
        ("[[tasks]]\nbuilt = []", "", "no task is named"),
        ("[[tasks]]\nbuilt = [\"[a\"]", "", "not a pattern: a `[` without a `]`"),
        ("[[tasks]]\nbuilt = [\"a\", \"a\"]", "", "the pattern `a` is named twice"),
        ("[[tasks]]\npath = \"/tasks\"", "", "`/tasks` is an absolute path"),
        ("[[tasks]]\nregistry = \"bench\"", "", "the dataset is not pinned"),
        ("[[tasks]]\nregistry = \"bench@1\"", "", "`bench@1` holds a pin"),
        ("[[tasks]]\nregistry = \"bench\"\ndigest = \"sha256:00\"", "", "is not a digest"),
        (
            "[[tasks]]\nregistry = \"o/bench\"\nversion = \"1\"\nregistry_path = \"r.json\"",
            "",
            "means nothing for a package",
        ),
        (
            "[[tasks]]\nregistry = \"bench\"\nversion = \"1\"\ninclude = [\"{a,b}\"]",
            "",
            "knows no alternatives",
        ),
        ("[[tasks]]\nregistry = \"bench\"\nversion = \"1\"\nlimit = 0", "", "`limit` must be at least 1"),
        ("[[tasks]]\npath = \"x\"\nbuilt = [\"a\"]", "", "unknown key"),
        ("[[agents]]", "", "neither a name nor a class"),
        ("[[agents]]\nname = \"a\"\nimport_path = \"a.b:C\"", "", "a name and a class"),
        ("[[agents]]\nname = \"a.b:C\"", "", "is a class, not the name of an agent"),
        ("[[agents]]\nimport_path = \"a.b.C\"", "", "did you mean `a.b:C`?"),
        ("[[agents]]\nname = \"codex\"\npackage = \"x\"", "", "needs no package"),
        ("[[agents]]\nname = \"oracle\"", "", "the same agent stands here twice"),
        ("[[agents]]\nname = \"x\"\nmodel = \"\"", "", "`model` has no proper value"),
        ("[[agents]]\nname = \"x\"\nargs = { \"a-b\" = 1 }", "", "cannot be the name of an argument"),
        (
            "[[agents]]\nname = \"x\"\nargs = { api_key = \"sk-1\" }",
            "",
            "a value of `api_key` stands in the file",
        ),
        (
            "[[agents]]\nname = \"x\"\nargs = { llm = { headers = [\"a\"], token = \"t\" } }",
            "",
            "a value of `token` stands",
        ),
        (
            "[[agents]]\nname = \"x\"\nargs = { prompt_template_path = \"p\" }",
            "",
            "said by a field of its own",
        ),
        ("[[agents]]\nname = \"x\"\nsecrets = [\"A=b\"]", "", "not the name of an environment variable"),
        ("[[agents]]\nname = \"x\"\nsecrets = [\"A\", \"A\"]", "", "the variable `A` is named twice"),
        (
            "[[agents]]\nname = \"x\"\nsecrets = [\"A\"]\nenv = { A = \"1\" }",
            "",
            "is taken from the machine as well",
        ),
        (
            "[[agents]]\nname = \"x\"\nenv = { A_TOKEN = \"$${OTHER:-sk-1}\" }",
            "",
            "a value of `A_TOKEN` stands in the file",
        ),
        ("[[agents]]\nname = \"x\"\nenv = { A = \"x$${B}\" }", "", "nothing but `${NAME}`"),
        ("[[agents]]\nname = \"x\"\nconcurrency = 9", "", "the whole experiment runs 4"),
        ("[[agents]]\nname = \"x\"\ntimeout_sec = 0", "", "`timeout_sec` must be greater than 0"),
        (
            "[[agents]]\nname = \"codex\"\nsystem_prompt = \"p.md\"",
            "",
            "no way to give `codex` a system prompt",
        ),
        ("[[agents]]\nname = \"nop\"\nprompt_template = \"p.md\"", "", "`nop` reads no instruction"),
        ("[compute]\nresource_limits = { concurrency = 0 }", "", "`concurrency` must be at least 1"),
        ("[compute]\nresource_limits = { disk = 1 }", "", "unknown key `disk`"),
        ("[compute]\nresource_limits = { storage_mb = 1 }", "", "`docker` does not limit disks"),
        (
            "[compute]\nresource_limits = { tpu = { kind = \"v4\", topology = \"2\" } }",
            "",
            "has no tensor processors",
        ),
        ("[compute]\nresource_limits = { cpu_enforcement = \"limit\" }", "", "about what each task asks for"),
        ("[retries]\nmin_wait_sec = 3", "", "has no effect where nothing is tried again"),
        ("[retries]\nmax = 1\nmin_wait_sec = 90", "", "are fewer than the first (90)"),
        ("[retries]\nmax = 1\ninclude = [\"A\"]\nexclude = [\"A\"]", "", "`A` is tried again and is not"),
        ("[timeouts]\nmultiplier = 0.0", "", "`multiplier` must be greater than 0"),
        ("[verification]\nenabled = false\ntimeout_sec = 3", "", "has no effect where nothing is graded"),
        ("[verification]\nargs = { a = 1 }", "", "the tasks' own verifiers take no arguments"),
        ("", "metrics = [\"mean\", \"mean\"]", "the metric is named twice"),
        ("[harbor]\nversion = \"0.25.0\"", "", "not 0.25.0"),
        (
            "[harbor]\nversion = \"0.23.0\"\n[retries]\nmax = 1\nexclude = [\"A\"]",
            "",
            "Harbor 0.23.0 cannot be told which exceptions",
        ),
        ("[harbor]\nextras = [\"a b\"]", "", "cannot be an optional part"),
        ("[[agents]]\nname = \"x\"\nbase_url = \"models.example.org\"", "", "is not an address"),
        (
            "[[agents]]\nname = \"x\"\nbase_url = \"https://a:b@example.org\"",
            "",
            "a credential stands in the address",
        ),
        ("[[agents]]\nname = \"x\"\napi_key_name = \"A B\"", "", "not the name of an environment variable"),
        ("[[agents]]\nname = \"x\"\napi_format = \"openai\"", "", "cannot be `openai`"),
        ("[[agents]]\nname = \"x\"\nskip_model_parsing = true", "", "there is no model"),
        (
            "[[agents]]\nname = \"x\"\nmcp_servers = [{ name = \"a\", url = \"tools\" }]",
            "",
            "is not an address",
        ),
        (
            "[[agents]]\nname = \"x\"\nmcp_servers = [{ name = \"\", command = \"a\" }]",
            "",
            "`name` has no proper value",
        ),
        (
            "[[agents]]\nname = \"x\"\nmcp_servers = [{ name = \"a\", command = \"b\" }, { name = \"a\", command = \"c\" }]",
            "",
            "the server `a` is named twice",
        ),
        (
            "[[agents]]\nname = \"x\"\nmcp_servers = [{ name = \"a\", command = \"b\", url = \"https://c\" }]",
            "",
            "unknown key",
        ),
        (
            "[[agents]]\nname = \"x\"\n[[agents.mcp_servers]]\nname = \"a\"\nurl = \"https://c\"\nheaders = { Authorization = \"Bearer x\" }",
            "",
            "a value of `Authorization` stands",
        ),
        ("[simulated_user]\nmodel = \"a/b\"", "", "neither a name nor a class"),
        ("[simulated_user]\nname = \"a\"\nenv = { A_KEY = \"x\" }", "", "a value of `A_KEY` stands"),
        ("[simulated_user]\nname = \"a\"\nbridge = { kind = \"phone\" }", "", "cannot be `phone`"),
        ("", "extra_instructions = [\" \"]", "the text says nothing"),
        ("", "extra_instructions = [\"a\", \"a\"]", "named twice"),
        ("[compute]\nbackend = \"e2b\"\ncompose = [\"a.yaml\"]", "", "runs no compose files"),
        (
            "[compute]\nbackend = \"modal\"\nmounts = [{ volume = \"a\", target = \"/b\" }]",
            "",
            "have nothing of this machine",
        ),
        (
            "[compute]\nmounts = [{ volume = \"a\", target = \"b\" }]",
            "",
            "is not where a container can have something",
        ),
        ("[compute]\nmounts = [{ image = \"\", target = \"/b\" }]", "", "`image` has no proper value"),
        (
            "[compute]\nmounts = [{ volume = \"a\", target = \"/b\" }, { image = \"c\", target = \"/b\" }]",
            "",
            "two mounts have the same place",
        ),
        ("[[tasks]]\ngit = \"https://x/y\"\ncommit = \"main\"\npaths = [\"a\"]", "", "is not a commit"),
        (
            "[[tasks]]\ngit = \"https://u:p@x/y\"\ncommit = \"0\"\npaths = [\"a\"]",
            "",
            "a password stands in the address",
        ),
        (
            "[[tasks]]\ngit = \"https://x/y\"\ncommit = \"0123456789abcdef0123456789abcdef01234567\"\npaths = [\"../a\"]",
            "",
            "no folder of the repository",
        ),
        (
            "[[tasks]]\ngit = \"https://x/y\"\ncommit = \"0123456789abcdef0123456789abcdef01234567\"\npaths = []",
            "",
            "no task is named",
        ),
        (
            "[[agents]]\nname = \"x\"\nbase_url = \"https://c\"\n[harbor]\nversion = \"0.23.0\"",
            "",
            "what was tried with Harbor 0.26.0 alone",
        ),
    ];
    for (tables, keys, words) in cases {
        let text = format!("{keys}\n{GOOD}{tables}\n");
        let said = said(&text);
        assert!(said.contains(words), "{text}\n{said}");
        assert!(said.contains("--> experiments/try.toml:"), "{said}");
        assert!(said.contains("= help: ") || said.contains("help: "), "{said}");
    }
}

#[test]
fn a_secret_is_not_shown() {
    let tables = [
        "[[agents]]\nname = \"x\"\nsecrets = [\"sk-very-secret\"]",
        "[[agents]]\nname = \"x\"\nsecrets = [\"KEY=sk-very-secret\", \"A\", \"A\"]",
        "[[agents]]\nname = \"x\"\nenv = { API_KEY = \"sk-very-secret\" }",
        "[[agents]]\nname = \"x\"\nsecrets = [\"A\"]\nenv = { A = \"sk-very-secret\" }",
        "[[agents]]\nname = \"x\"\nargs = { llm = { api_key = \"sk-very-secret\" }, self = 1 }",
        "[verification]\nenv = { JUDGE_TOKEN = \"sk-very-secret\" }",
        "[compute]\nenv = { MY_PASSWORD = \"sk-very-secret\" }",
        // What is wrong is something else, on the same line.
        "[[agents]]\nname = \"x\"\nenv = { API_KEY = \"sk-very-secret\", \"C D\" = \"x\" }",
        "[[agents]]\nname = \"x\"\nenv = { API_KEY = \"sk-very-secret\", API_KEY = \"x\" }",
        "[[agents]]\nname = \"x\"\nenv = { API_KEY = \"sk-very-secret\"",
        "[[agents]]\nname = \"x\"\nenv = { API_KEY = \"sk-very-secret",
        "[[agents]]\nnane = \"x\"\nenv = { API_KEY = \"sk-very-secret\" }",
    ];
    for table in tables {
        let said = said(&with(table));
        assert!(said.contains("error: ") && !said.contains("very"), "{said}");
    }
    let said = said(&with("[[agents]]\nname = \"x\"\nenv = { API_KEY = \"sk-é-secret\", \"C D\" = \"x\" }"));
    // Places stay what they are.
    assert!(said.contains("{ API_KEY = \"***×*******\", \"C D\" = \"x\" }"), "{said}");
    assert!(said.contains("try.toml:10:19\n") && said.contains("try.toml:10:34\n"), "{said}");
}

#[test]
fn environments_take_no_variable_of_the_machine() {
    let said = said(&with("[compute]\nenv = { A = \"$${B}\", C = \"plain\" }"));
    assert!(said.contains("it would hold this text") && said.contains("`A = \"${B}\"`"), "{said}");
    assert_eq!(said.matches("error: ").count(), 1, "{said}");
}

#[test]
fn parameters_and_parents() {
    let text = format!("{GOOD}model = \"${{model}}\"\n\n[params]\nmodel = \"a/b\"\n");
    assert_eq!(said(&text), "");
    assert_eq!(said_with(&text, &[("model", "c/d")]), "");
    let said = said_with(&text, &[("modle", "x")]);
    assert!(
        said.contains("`--set modle=...`: there is no such parameter")
            && said.contains("did you mean `model`?"),
        "{said}"
    );

    let folder = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(folder.path()).unwrap();
    fs::write(root.join("base.toml"), with("[compute]\nresource_limits = { concurrency = 7 }")).unwrap();
    fs::write(root.join("child.toml"), "extends = \"base.toml\"\nname = \"child\"\n").unwrap();
    let document = load(root, "child.toml".into(), &BTreeMap::new()).unwrap();
    assert_eq!(document.value.name, "child");
    assert_eq!(document.value.compute.resource_limits.concurrency, 7);
    assert_eq!(document.files, ["child.toml", "base.toml"]);
}

#[test]
fn nothing_makes_it_panic() {
    let texts = [
        "",
        "\0",
        "name",
        "[[tasks]]",
        "tasks = 3\nagents = \"x\"",
        "name = \"\\uD800\"",
        "[tasks]\na = 1",
        "= = =",
    ];
    for text in texts {
        assert!(!said(text).is_empty(), "{text}");
    }
    // Cut anywhere, it is either good or told of.
    let text = with("[compute]\nbackend = \"docker\"\nargs = { a = [1, { b = \"é\" }] }");
    for (end, _) in text.char_indices() {
        said(&text[..end]);
    }
}
