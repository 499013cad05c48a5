//! The command line as others see it: what is printed where, and the exit status.
//!
//! The command works in the workspace that it was compiled in. These tests only look at that, and what they would build
//! would go to a folder of their own.

use std::process::{Command, Output, Stdio};

use serde_json::Value;
use taskwright_testing::{Need, not_run, test};

/// The command in a folder that is not the workspace's, with its outputs there.
struct Cli {
    here: tempfile::TempDir,
}

/// What a command printed and how it ended.
struct Said {
    stdout: String,
    stderr: String,
    code: Option<i32>,
}

/// This repository, as a workspace.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

impl Cli {
    fn new() -> Self {
        Self { here: tempfile::tempdir().unwrap() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taskwright"));
        command
            .arg("--root")
            .arg(ROOT)
            .args(arguments)
            .current_dir(self.here.path())
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Said {
        let Output { stdout, stderr, status } = self.command(arguments).output().unwrap();
        let text = |bytes| {
            let text = String::from_utf8(bytes).unwrap();
            assert!(!text.contains('\u{1b}'), "colours in a pipe: {text:?}");
            assert!(!text.contains("panicked"), "{text}");
            text
        };
        // Another build may hold the workspace for a while.
        let stderr = text(stderr);
        let stderr: String =
            stderr.split_inclusive('\n').filter(|line| !line.starts_with("waiting: ")).collect();
        Said { stdout: without_times(&text(stdout)), stderr, code: status.code() }
    }

    /// A look at one task that is to be built into a folder here.
    fn look(&self, arguments: &[&str]) -> Said {
        self.run(&[&["build-tasks", "circle-packing", "--out", "tasks"], arguments].concat())
    }
}

impl Said {
    /// All of it as one text.
    fn all(&self) -> String {
        let code = self.code.map_or("none".to_owned(), |code| code.to_string());
        format!("status {code}\n--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr)
    }
}

/// A text whose `in 12 ms` is `in TIME`.
fn without_times(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        match line.rsplit_once(" in ") {
            Some((what, time)) if time.ends_with(" ms") || time.ends_with(" s") => {
                lines.push_str(&format!("{what} in TIME\n"));
            }
            _ => lines.push_str(&format!("{line}\n")),
        }
    }
    lines
}

#[test]
fn wrong_usage_is_explained_and_ends_with_2() {
    let cli = Cli::new();
    insta::assert_snapshot!(cli.run(&["build-task"]).all(), @r#"
    status 2
    --- stdout
    --- stderr
    error: unrecognized subcommand 'build-task'

      tip: some similar subcommands exist: 'build', 'build-tasks'

    Usage: cargo xtask [OPTIONS] <COMMAND>

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(cli.run(&["build-tasks", "--lockd"]).all(), @r#"
    status 2
    --- stdout
    --- stderr
    error: unexpected argument '--lockd' found

      tip: a similar argument exists: '--locked'

    Usage: cargo xtask build-tasks --locked [NAMES]...

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(cli.run(&["build-tasks", "--check", "--force"]).all(), @r#"
    status 2
    --- stdout
    --- stderr
    error: the argument '--check' cannot be used with '--force'

    Usage: cargo xtask build-tasks --check [NAMES]...

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(cli.run(&["build-tasks", "--locked", "--dry-run"]).all(), @r#"
    status 2
    --- stdout
    --- stderr
    error: the argument '--locked' cannot be used with '--dry-run'

    Usage: cargo xtask build-tasks --locked [NAMES]...

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(cli.run(&["build-tasks", "--jobs", "0"]).all(), @r#"
    status 2
    --- stdout
    --- stderr
    error: invalid value '0' for '--jobs <JOBS>': 0 is not in 1..=1024

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(cli.run(&["build-tasks", "--message-format", "xml"]).all(), @r#"
    status 2
    --- stdout
    --- stderr
    error: invalid value 'xml' for '--message-format <MESSAGE_FORMAT>'
      [possible values: human, json]

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(cli.run(&["build-tasks", "--out"]).all(), @r#"
    status 2
    --- stdout
    --- stderr
    error: a value is required for '--out <DIR>' but none was supplied

    For more information, try '--help'.
    "#);
}

#[test]
fn no_command_is_wrong_usage_too() {
    let said = Cli::new().run(&[]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""));
    assert!(said.stderr.contains("build-tasks"), "{}", said.stderr);
}

#[test]
fn help_and_version_are_answers() {
    let cli = Cli::new();
    for arguments in [&["--help"][..], &["--version"], &["build-tasks", "--help"], &["help", "build-tasks"]] {
        let said = cli.run(arguments);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(!said.stdout.is_empty());
    }
    let said = cli.run(&["build-tasks", "--help"]);
    for option in
        ["--locked", "--check", "--force", "--explain", "--dry-run", "--verify", "--jobs", "--out", "--set"]
    {
        assert!(said.stdout.contains(option), "{option} is not explained");
    }
}

#[test]
fn a_task_that_does_not_exist() {
    let cli = Cli::new();
    insta::assert_snapshot!(cli.run(&["build-tasks", "circle-packin", "--dry-run"]).all(), @r#"
    status 2
    --- stdout
    --- stderr
    error: there is no task `circle-packin`
      help: did you mean `circle-packing`?
    "#);
    let said = cli.run(&["build-tasks", "something-else-altogether", "--dry-run"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""));
    assert!(said.stderr.contains("there are: ") && said.stderr.contains("circle-packing"), "{}", said.stderr);
}

#[test]
fn values_of_parameters() {
    let cli = Cli::new();
    insta::assert_snapshot!(cli.look(&["--dry-run", "--set", "novalue"]).all(), @r#"
    status 2
    --- stdout
    --- stderr
    error: `--set novalue` gives no value
      help: write `--set name=value`
    "#);
    insta::assert_snapshot!(cli.look(&["--dry-run", "--set", "a=1", "--set", "a=2"]).all(), @r#"
    status 2
    --- stdout
    --- stderr
    error: `--set a` is given twice
    "#);
    let said = cli.look(&["--dry-run", "--set", "nosuch=1"]);
    assert_eq!(said.code, Some(2), "{}", said.all());
    assert!(said.stderr.contains("`--set nosuch=...`: no spec has a parameter `nosuch`"), "{}", said.stderr);
    let said = cli.run(&[
        "build-tasks",
        "arithmetic",
        "--dry-run",
        "--out",
        "tasks",
        "--set",
        "inner_docker=nonsense",
    ]);
    assert_eq!(said.code, Some(1), "{}", said.all());
    assert!(
        said.stderr.contains("nonsense") && said.stderr.contains("arithmetic/spec.toml:"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_dry_run_says_what_would_be_built_and_builds_nothing() {
    let cli = Cli::new();
    let said = cli.look(&["--dry-run"]);
    assert_eq!(said.code, Some(0), "{}", said.all());
    assert!(said.stdout.starts_with("would be built circle-packing\n"), "{}", said.stdout);
    assert!(said.stdout.ends_with("1 would be built in TIME\n"), "{}", said.stdout);
    assert!(std::fs::read_dir(cli.here.path()).unwrap().next().is_none(), "something was built");
}

#[test]
fn a_check_of_what_is_not_built_fails() {
    let cli = Cli::new();
    let said = cli.look(&["--check"]);
    assert_eq!(said.code, Some(1), "{}", said.all());
    assert!(said.stdout.contains("     stale circle-packing\n"), "{}", said.stdout);
    assert!(said.stdout.ends_with("1 stale in TIME\n"), "{}", said.stdout);
    assert!(std::fs::read_dir(cli.here.path()).unwrap().next().is_none(), "something was built");
}

#[test]
fn quiet_leaves_the_last_line() {
    let cli = Cli::new();
    for quiet in ["--quiet", "-q"] {
        let said = cli.look(&["--dry-run", "--explain", quiet]);
        assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("1 would be built in TIME\n", ""));
    }
}

#[test]
fn explaining_says_why() {
    let said = Cli::new().look(&["--dry-run", "--explain"]);
    let lines: Vec<_> = said.stdout.lines().collect();
    assert_eq!(lines[0], "would be built circle-packing");
    assert!(lines.len() >= 3 && lines[1].starts_with("             "), "no reason is given: {}", said.stdout);
}

#[test]
fn json_is_one_object_a_line_and_nothing_else() {
    let cli = Cli::new();
    let said = cli.look(&["--dry-run", "--message-format", "json"]);
    assert_eq!(said.stderr, "");
    let objects: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let task = objects.iter().find(|object| object["reason"] == "task").unwrap();
    assert_eq!((&task["name"], &task["status"]), (&"circle-packing".into(), &"stale".into()));
    assert!(task["changes"].is_array() && task["damage"].is_array());
    let summary = objects.last().unwrap();
    assert_eq!(summary["reason"], "summary");
    assert_eq!(summary["success"], false);
    assert_eq!(summary["tasks"]["stale"], 1);
    assert!(summary["seconds"].as_f64().is_some());
}

#[test]
fn json_tells_mistakes_with_their_places() {
    let arguments = ["build-tasks", "arithmetic", "--dry-run", "--message-format", "json", "--set"];
    let said = Cli::new().run(&[&arguments[..], &["inner_docker=nonsense"]].concat());
    assert_eq!(said.code, Some(1), "{}", said.all());
    let objects: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let failed = objects.iter().find(|object| object["status"] == "failed").unwrap();
    let diagnostic = &failed["diagnostics"][0];
    assert_eq!(diagnostic["severity"], "error");
    assert_eq!(diagnostic["file"], "harbor-tasks/arithmetic/spec.toml");
    assert!(diagnostic["line"].is_number() && diagnostic["message"].as_str().unwrap().contains("nonsense"));
}

#[test]
fn json_tells_a_command_that_cannot_be_carried_out_too() {
    let said =
        Cli::new().run(&["build-tasks", "no-such-task-at-all", "--dry-run", "--message-format", "json"]);
    assert_eq!(said.code, Some(2));
    let object: Value = serde_json::from_str(said.stdout.lines().last().unwrap_or("null")).unwrap();
    assert_eq!(object["reason"], "error", "{}", said.all());
}

#[test]
fn json_tells_wrong_usage_too() {
    for wrong in [["--set", "novalue"], ["--out", ""], ["--specs", "nowhere"]] {
        let said =
            Cli::new().run(&[&["build-tasks", "--dry-run", "--message-format", "json"], &wrong[..]].concat());
        assert_eq!((said.code, said.stderr.as_str()), (Some(2), ""), "{wrong:?}");
        let object: Value = serde_json::from_str(said.stdout.trim_end()).unwrap();
        assert_eq!(object["reason"], "error", "{wrong:?}");
    }
}

#[test]
fn a_pipe_that_nobody_reads_is_no_mistake() {
    let cli = Cli::new();
    let command = format!(
        "'{}' --root '{ROOT}' build-tasks --dry-run --out tasks | head -1; echo \"status ${{PIPESTATUS[0]}}\"",
        env!("CARGO_BIN_EXE_taskwright")
    );
    let output = Command::new("bash").args(["-c", &command]).current_dir(cli.here.path()).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(stdout.lines().last() == Some("status 0"), "{stdout}{stderr}");
    assert!(!stderr.contains("panicked") && !stderr.contains("roken pipe"), "{stderr}");

    // Nobody reads from the start.
    let output = unread(&cli, &["build-tasks", "--dry-run", "--out", "tasks"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// How a command ends whose answer goes to a pipe that nobody reads.
fn unread(cli: &Cli, words: &[&str]) -> Output {
    let mut child = cli.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    child.wait_with_output().unwrap()
}

#[test]
fn a_pipe_that_nobody_reads_hides_no_failure() {
    let cli = Cli::new();
    assert_eq!(unread(&cli, &["build-tasks", "--check", "--out", "tasks"]).status.code(), Some(1));
}

#[test]
fn answers_that_cannot_be_written_are_told() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Cli::new().command(&["schema"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("error: writing to standard output: "), "{said}");
}

#[test]
fn a_task_may_be_named_by_the_path_of_its_spec() {
    let cli = Cli::new();
    let root = ROOT;
    for (folder, typed) in [
        ("", "harbor-tasks/circle-packing"),
        ("", "./harbor-tasks/circle-packing/"),
        ("", "harbor-tasks/circle-packing/spec.toml"),
        ("harbor-tasks/circle-packing", "."),
        ("harbor-tasks/circle-packing", "spec.toml"),
        ("docs", "../harbor-tasks/circle-packing"),
    ] {
        let out = cli.here.path().join("tasks");
        let mut command = cli.command(&["build-tasks", typed, "--dry-run", "-q", "--out"]);
        let output = command.arg(out).current_dir(format!("{root}/{folder}")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{typed}: {}", String::from_utf8_lossy(&output.stderr));
    }
    for typed in ["./circle-packing", "harbor-tasks", "..", "/", "circle-packing/spec.toml"] {
        let said = cli.run(&["build-tasks", typed, "--dry-run"]);
        assert_eq!(said.code, Some(2), "{typed}");
        assert!(said.stderr.contains(&format!("there is no task `{typed}`")), "{}", said.stderr);
    }
}

#[test]
fn folders_that_cannot_be_meant() {
    let cli = Cli::new();
    std::fs::write(cli.here.path().join("file"), "mine").unwrap();
    let root = ROOT;
    let specs = format!("{root}/harbor-tasks");
    for (arguments, said) in [
        (["--out", ""], "error: an empty path names no place\n  help: write `.` for the current folder\n"),
        (
            ["--out", "file"],
            "file` is not a folder, so nothing can be built into it\n  help: name another folder with `--out DIR`\n",
        ),
        (["--out", &specs], "where the specs are\n  help: name another folder with `--out DIR`\n"),
        (
            ["--specs", "nowhere"],
            "error: there is no folder `nowhere`\n  help: `--specs` names a folder from here\n",
        ),
        (["--specs", "."], "error: `.` is not in this workspace\n"),
        (["--specs", root], "holds no spec\n  help: a spec is a `spec.toml` in a folder of its own there"),
        (["--specs", &format!("{root}/..")], "is not in this workspace\n"),
    ] {
        let found = cli.run(&[&["build-tasks", "--dry-run"], &arguments[..]].concat());
        assert_eq!((found.code, found.stdout.as_str()), (Some(2), ""), "{arguments:?}: {}", found.stderr);
        assert!(found.stderr.contains(said), "{arguments:?}: {}", found.stderr);
    }
    assert_eq!(std::fs::read_to_string(cli.here.path().join("file")).unwrap(), "mine");
}

#[test]
fn migrating_writes_all_or_nothing_and_says_what_to_know() {
    let cli = Cli::new();
    let suite = concat!(env!("CARGO_MANIFEST_DIR"), "/../migrate/tests/data");
    let said = cli.run(&["migrate", suite, "--out", "specs", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.all());
    let answer: Value = serde_json::from_str(&said.stdout).unwrap();
    let made = answer["made"].as_array().unwrap();
    assert_eq!(made.len(), 3);
    for spec in made {
        assert!(["changed", "not_carried", "to_decide"].iter().all(|list| spec[list].is_array()), "{spec}");
    }
    let specs = cli.here.path().join("specs");
    assert!(specs.join("optimize-questions/spec.toml").is_file());
    // One that is there keeps the others from being made.
    std::fs::remove_dir_all(specs.join("packing")).unwrap();
    let again = cli.run(&["migrate", suite, "--out", "specs"]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    assert!(!specs.join("packing").exists());
    let human = cli.run(&["migrate", &format!("{suite}/questions/build.yaml"), "--out", "others"]).stdout;
    for title in ["changed in meaning", "not carried", "to decide"] {
        assert!(human.contains(&format!("\n{title}\nline  key")), "{human}");
    }
    assert_eq!(cli.run(&["migrate", "gone"]).code, Some(2));
}

#[test]
fn completions_are_for_a_command_that_can_be_typed() {
    let cli = Cli::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let said = cli.run(&["completions", shell, "--command", "xt"]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{shell}");
        assert!(said.stdout.contains("build-tasks"), "{shell}");
        for command in ["", "a b", "x;y", "$(x)", "../x"] {
            let said = cli.run(&["completions", shell, "--command", command]);
            assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{shell} {command}");
            assert!(said.stderr.contains("is not the name of a command"), "{}", said.stderr);
        }
    }
}

#[test]
fn colours_are_for_a_terminal_that_wants_them() {
    let cli = Cli::new();
    // A terminal of its own for each call; `script` copies what is shown on it.
    let shown = |variables: &[(&str, &str)], command: &str| {
        let program = env!("CARGO_BIN_EXE_taskwright");
        let mut script = Command::new("script");
        script.args([
            "-qec",
            &command.replace("xtask", &format!("'{program}' --root '{ROOT}'")),
            "/dev/null",
        ]);
        script.env_remove("NO_COLOR").env("TERM", "xterm").envs(variables.iter().copied());
        script.current_dir(cli.here.path()).stdin(Stdio::null()).output()
    };
    let is_colored = |variables: &[(&str, &str)], command: &str| {
        String::from_utf8_lossy(&shown(variables, command).unwrap().stdout).contains("\u{1b}[1;")
    };
    if shown(&[], "true").is_err() {
        not_run(Need::System, "there is no `script` here to make a terminal");
    }
    let looks = [
        "xtask build-tasks no-such-task --dry-run",
        "xtask build-tasks circle-packing --dry-run --out tasks",
    ];
    for command in looks {
        assert!(is_colored(&[], command) && is_colored(&[("NO_COLOR", "")], command), "{command}");
        assert!(!is_colored(&[("NO_COLOR", "1")], command), "{command}");
        assert!(!is_colored(&[("TERM", "dumb")], command), "{command}");
    }
    // What goes to a file is not for a terminal, whatever the other stream is.
    shown(&[], &format!("{} > answers", looks[1])).unwrap();
    shown(&[], &format!("{} 2> talk", looks[0])).unwrap();
    for file in ["answers", "talk"] {
        let text = std::fs::read_to_string(cli.here.path().join(file)).unwrap();
        assert!(!text.is_empty() && !text.contains('\u{1b}'), "{file}: {text:?}");
    }
}

#[test]
fn errors_are_told_where_nobody_reads_the_answers() {
    let cli = Cli::new();
    let output = cli
        .command(&["build-tasks", "circle-packin", "--dry-run"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean"));
}

fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}

/// A model's service that answers whatever it is asked, and says with which key it was asked: the gateway does not pass that on.
const UPSTREAM: &str = r#"
import http.server, json, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps({"object": "chat.completion", "model": "m", "choices": [],
                           "key": self.headers["authorization"], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
print(server.server_port, flush=True)
server.serve_forever()
"#;

/// What is run: asks three times, and prints what it was answered and what it found of the key.
const CLIENT: &str = r#"
import json, os, sys, urllib.error, urllib.request
assert os.environ["OPENAI_API_KEY"] == os.environ["ANTHROPIC_API_KEY"] != "the real one"
assert "the real one" not in str(os.environ)
for model in ("m", "other", "m"):
    body = json.dumps({"model": model, "messages": [], "max_tokens": 5}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body,
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    try:
        print(json.load(urllib.request.urlopen(request))["key"], flush=True)
    except urllib.error.HTTPError as error:
        print(error.code, flush=True)
sys.exit(7)
"#;

#[test]
fn a_command_is_metered_and_sees_no_key() {
    use std::io::{BufRead, BufReader};
    taskwright_testing::needs_python();
    let mut upstream = Command::new("python3").args(["-c", UPSTREAM]).stdout(Stdio::piped()).spawn().unwrap();
    let mut port = String::new();
    BufReader::new(upstream.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let cli = Cli::new();
    let mut command = cli.command(&[
        "gateway",
        "--allow",
        "m",
        "--max-requests",
        "1",
        "--price",
        "m=100000,200000",
        "--usage",
        "usage.json",
        "--key-env",
        "MODEL_KEY",
        "--url-env",
        "MODEL_URL",
        "--",
        "python3",
        "-c",
        CLIENT,
    ]);
    command.env("MODEL_KEY", "the real one").env("MODEL_URL", format!("http://127.0.0.1:{}/v1", port.trim()));
    let Output { stdout, stderr, status } = command.output().unwrap();
    upstream.kill().unwrap();
    upstream.wait().unwrap();
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert_eq!(stdout, "Bearer [key]\n403\n402\n", "{stderr}");
    assert_eq!(status.code(), Some(7), "{stderr}");
    assert_eq!(stderr, "models: 1 request, 7 tokens in, 3 out, $1.3000; 2 refused\n");
    let usage: Value =
        serde_json::from_slice(&std::fs::read(cli.here.path().join("usage.json")).unwrap()).unwrap();
    assert_eq!((&usage["requests"], &usage["tokens"]["output"]), (&Value::from(1), &Value::from(3)));
}
