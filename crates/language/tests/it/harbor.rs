//! Mistakes in the nested run, its gateway and its reports.

use crate::support::{B, Space, a, b, edited, said};

#[test]
fn agent_class() {
    let said = b(&[(r#""solver.agent:Solver""#, r#""solver.agent.Solver""#)]);
    insta::assert_snapshot!(said, @r#"
    error 13:9 <"solver.agent.Solver"> `solver.agent.Solver` does not name a class
      help: did you mean `solver.agent:Solver`?
    "#);
}

#[test]
fn harbor_version() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
version = ">=0.26""#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 15:11 <">=0.26"> `>=0.26` does not pin a version of Harbor
      help: write three numbers and nothing else: "0.26.0"
    "#);
}

#[test]
fn harbor_version_other_than_ours() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
version = "0.19.0""#,
    )]);
    insta::assert_snapshot!(said, @r#"
    warning 15:11 <"0.19.0"> Taskwright was tried with Harbor 0.20.0, 0.21.0, 0.22.0, 0.23.0 and 0.26.0, not with 0.19.0
      help: other releases name flags, files and fields differently
    "#);
}

#[test]
fn python_and_extras() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
python = "3"
extras = ["modal", "a b", "modal"]"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 15:10 <"3"> `3` is not a version of Python
      help: for example "3.13"
    error 16:20 <"a b"> `a b` cannot be an optional part of a package
      help: for example "modal"
    error 16:27 <"modal"> the part `modal` is named twice
      also 16:11 <"modal"> first here
      help: take one of them out
    "#);
}

#[test]
fn model_empty() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
model = """#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 15:9 <""> the model has no proper name
      help: "none" gives the agent no model
    "#);
}

#[test]
fn root() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
run_as = "root""#,
    )]);
    insta::assert_snapshot!(said, @r#"
    warning 15:10 <"root"> the candidate runs as root beside the held-out data
      help: use it only for candidates that you trust, and that cannot do without
    "#);
}

#[test]
fn environment_unknown() {
    let said = b(&[(r#"environment = "modal""#, r#"environment = "modl""#)]);
    insta::assert_snapshot!(said, @r#"
    error 14:15 <"modl"> Harbor 0.26.0 knows no environment `modl`
      help: did you mean `modal`?
    "#);
}

#[test]
fn environment_custom() {
    let said = b(&[(r#"environment = "modal""#, r#"environment = "our.module:Cloud""#)]);
    insta::assert_snapshot!(said, @"fine");
}

#[test]
fn docker_without_docker() {
    let said = b(&[(
        r#"environment = "modal"
"#,
        "",
    )]);
    insta::assert_snapshot!(said, @r#"
    warning 11:1 <[harbor]> inside the eval sidecar there is no Docker, so this task cannot evaluate there
      help: write `inner_docker = "host-socket"`, or name a cloud environment; `inner_docker = "off"` says that it is evaluated with `cargo xtask eval` alone
    "#);
    // Who has written it knows.
    assert_eq!(b(&[("environment = \"modal\"\n", "inner_docker = \"off\"\n")]), "fine");
}

#[test]
fn host_socket() {
    let docker = (r#"environment = "modal""#, "environment = \"docker\"\ninner_docker = \"host-socket\"");
    let said = b(&[docker]);
    insta::assert_snapshot!(said, @r#"
    error 15:16 <"host-socket"> the eval sidecar needs Docker's client, and nothing says of which day
      help: add `packages = { snapshot = "YYYY-MM-DD" }`, or name an image in `images.sidecar` that has `docker` and `docker compose`
    warning 15:16 <"host-socket"> whoever controls the eval sidecar controls the host, through its Docker socket
      help: use it on machines that hold nothing else; a cloud environment needs no socket
    "#);
    for enough in
        ["[packages]\nsnapshot = \"2026-11-01\"", "[images]\nsidecar = \"registry.example/sidecar:1\""]
    {
        let said = b(&[docker, ("[splits.train]", &format!("{enough}\n\n[splits.train]"))]);
        assert!(!said.contains("error"), "{said}");
    }
}

#[test]
fn host_socket_without_docker() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
inner_docker = "host-socket""#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 15:16 <"host-socket"> the environment `modal` does not use Docker
      help: leave it out, or write `environment = "docker"`
    "#);
}

#[test]
fn registry_not_pinned() {
    let said = b(&[(r#"{ path = "inner-tasks" }"#, r#"{ registry = "org/tasks" }"#)]);
    insta::assert_snapshot!(said, @r#"
    error 12:10 <{ registry = "org/tasks" }> the dataset is not pinned
      help: add `version = "..."` or `digest = "sha256:..."`, so that the same file means the same tasks next year
    "#);
}

#[test]
fn registry_like_a_path() {
    let said = b(&[(r#"{ path = "inner-tasks" }"#, r#"{ registry = "../tasks", version = "1" }"#)]);
    insta::assert_snapshot!(said, @r#"
    error 12:23 <"../tasks"> `../tasks` looks like a path and does not exist
      help: tasks on this machine are named by `path = "..."`
    "#);
}

#[test]
fn registry_with_a_pin() {
    let said = b(&[(r#"{ path = "inner-tasks" }"#, r#"{ registry = "org/tasks@sha256:00" }"#)]);
    insta::assert_snapshot!(said, @r#"
    error 12:23 <"org/tasks@sha256:00"> `org/tasks@sha256:00` holds a pin
      help: write `registry = "org/tasks"` and `digest = "sha256:00"`
    "#);
}

#[test]
fn registry_name_and_digest() {
    let said = b(&[(
        r#"{ path = "inner-tasks" }"#,
        r#"{ registry = "a/b/c", digest = "sha256:ABC", version = "" }"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 12:23 <"a/b/c"> `a/b/c` cannot be the name of a dataset
      help: write `name`, or `organization/name`
    error 12:41 <"sha256:ABC"> `sha256:ABC` is not a digest
      help: write `sha256:` and 64 hexadecimal digits in small letters
    error 12:65 <""> this is not a version
      help: for example "1.0"
    "#);
}

#[test]
fn attempts_and_waits() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
attempts = 0
retry_min_wait_sec = -1
retry_max_wait_sec = -2
retry_wait_multiplier = 0"#,
    )]);
    insta::assert_snapshot!(said, @"
    error 15:12 <0> `attempts` must be at least 1
      help: 1 tries each inner task once
    error 16:22 <-1> `retry_min_wait_sec` must not be negative
      help: it is a number of seconds
    error 17:22 <-2> `retry_max_wait_sec` must not be negative
      help: it is a number of seconds
    error 18:25 <0> `retry_wait_multiplier` must be greater than 0
      help: 1 changes nothing
    ");
}

#[test]
fn waits_the_wrong_way_round() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
retry_min_wait_sec = 90"#,
    )]);
    insta::assert_snapshot!(said, @"
    error 15:22 <90> the most seconds before a retry (60) are fewer than the first (90)
      help: raise `retry_max_wait_sec`, or lower `retry_min_wait_sec`
    ");
}

#[test]
fn timeouts_of_zero() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
agent_timeout_sec = 0
timeout_multiplier = 0
verifier_timeout_multiplier = -1"#,
    )]);
    insta::assert_snapshot!(said, @"
    error 15:21 <0> `agent_timeout_sec` must be greater than 0
      help: leave it out to give the agent what the inner task says
    error 16:22 <0> `timeout_multiplier` must be greater than 0
      help: 1 changes nothing
    error 17:31 <-1> `verifier_timeout_multiplier` must be greater than 0
      help: 1 changes nothing
    ");
}

#[test]
fn exceptions() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
retry_include = ["A", "b.C", "A"]
retry_exclude = ["A"]"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 15:23 <"b.C"> `b.C` cannot be the type of an exception
      help: write the class's bare name, for example "AgentTimeoutError"
    error 15:30 <"A"> the exception `A` is named twice
      also 15:18 <"A"> first here
      help: take one of them out
    error 16:18 <"A"> `A` is tried again and is not
      also 15:18 <"A"> included here
      help: take it out of one of the two
    "#);
}

#[test]
fn arguments() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
agent_args = { "a-b" = 1, day = 2026-01-01 }"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 15:33 <2026-01-01> `harbor.agent_args.day` is a date or time, which cannot be passed on
      help: put it in quotes: "2026-01-01"
    "#);
}

#[test]
fn reward_key_empty() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
reward_key = """#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 15:14 <""> `reward_key` is empty
      help: name a key of the inner reward.json, or leave it out
    "#);
}

#[test]
fn inner_variables() {
    let said = b(&[
        (
            r#"mode = "b""#,
            r#"mode = "b"
secrets = ["API_KEY"]"#,
        ),
        (
            r#"environment = "modal""#,
            r#"environment = "modal"
agent_env = { A = "$${API_KEY}", B = "$${API_KY}", "C D" = "x" }
task_env = { E = "$${API_KEY}", F = "$${API_KEY:-none}", G = "$$API_KEY" }"#,
        ),
    ]);
    insta::assert_snapshot!(said, @r#"
    error 16:38 <"$${API_KY}"> the sidecar has no variable `API_KY`
      help: did you mean `API_KEY`? the sidecar has `API_KEY`
    error 16:52 <"C D"> `C D` cannot be the name of an environment variable
      help: use letters, digits and `_`, and no digit first
    error 17:18 <"$${API_KEY}"> Harbor does not look into the variables of an environment: it would hold this text
      help: take it in the task's own task.toml: `[environment.env]` with `E = "${API_KEY}"`
    error 17:37 <"$${API_KEY:-none}"> Harbor does not look into the variables of an environment: it would hold this text
      help: take it in the task's own task.toml: `[environment.env]` with `F = "${API_KEY:-none}"`
    "#);
}

#[test]
fn owned_flags() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
extra_args = ["--agent", "x", "--agent=x", "-a", "x", "-ax", "--jobs-dir", "j", "-o", "j", "--config", "c", "-c=c", "--job-name=n"]"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 15:15 <"--agent"> `--agent` is Taskwright's to say
      help: write it in `harbor.agent`
    error 15:31 <"--agent=x"> `--agent` is Taskwright's to say
      help: write it in `harbor.agent`
    error 15:44 <"-a"> `-a` is Taskwright's to say
      help: write it in `harbor.agent`
    error 15:55 <"-ax"> `-a` is Taskwright's to say
      help: write it in `harbor.agent`
    error 15:62 <"--jobs-dir"> `--jobs-dir` is Taskwright's to say
      help: jobs are named and kept by Taskwright, so that their results are found again
    error 15:81 <"-o"> `-o` is Taskwright's to say
      help: jobs are named and kept by Taskwright, so that their results are found again
    error 15:92 <"--config"> `--config` is Taskwright's to say
      help: every setting has a field of its own in `[harbor]`
    error 15:109 <"-c=c"> `-c` is Taskwright's to say
      help: every setting has a field of its own in `[harbor]`
    error 15:117 <"--job-name=n"> `--job-name` is Taskwright's to say
      help: jobs are named and kept by Taskwright, so that their results are found again
    "#);
}

#[test]
fn owned_flags_with_fields() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
extra_args = ["-k", "3", "-k3", "--n-attempts=3", "-r1", "--max-retries", "1", "-n", "2", "--n-concurrent=2", "-e", "docker", "--env=docker", "-m", "m", "--model=m", "--ak", "a=1", "--ek=b=2", "--ae", "X=1", "--timeout-multiplier", "2", "--no-force-build"]"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 15:15 <"-k"> `-k` is Taskwright's to say
      help: write it in `harbor.attempts`, or in a target's `attempts`
    error 15:26 <"-k3"> `-k` is Taskwright's to say
      help: write it in `harbor.attempts`, or in a target's `attempts`
    error 15:33 <"--n-attempts=3"> `--n-attempts` is Taskwright's to say
      help: write it in `harbor.attempts`, or in a target's `attempts`
    error 15:51 <"-r1"> `-r` is Taskwright's to say
      help: write it in `harbor.max_retries`, `retry_include` and `retry_exclude`
    error 15:58 <"--max-retries"> `--max-retries` is Taskwright's to say
      help: write it in `harbor.max_retries`, `retry_include` and `retry_exclude`
    error 15:80 <"-n"> `-n` is Taskwright's to say
      help: write it in `limits.concurrency`
    error 15:91 <"--n-concurrent=2"> `--n-concurrent` is Taskwright's to say
      help: write it in `limits.concurrency`
    error 15:111 <"-e"> `-e` is Taskwright's to say
      help: write it in `harbor.environment`
    error 15:127 <"--env=docker"> `--env` is Taskwright's to say
      help: write it in `harbor.environment`
    error 15:143 <"-m"> `-m` is Taskwright's to say
      help: write it in `harbor.model`
    error 15:154 <"--model=m"> `--model` is Taskwright's to say
      help: write it in `harbor.model`
    error 15:167 <"--ak"> `--ak` is Taskwright's to say
      help: write it in `harbor.agent_args`
    error 15:182 <"--ek=b=2"> `--ek` is Taskwright's to say
      help: write it in `harbor.environment_args`
    error 15:194 <"--ae"> `--ae` is Taskwright's to say
      help: write it in `harbor.agent_env`
    error 15:209 <"--timeout-multiplier"> `--timeout-multiplier` is Taskwright's to say
      help: write it in `harbor.timeout_multiplier`
    error 15:238 <"--no-force-build"> `--no-force-build` is Taskwright's to say
      help: write it in `harbor.force_build`
    "#);
}

#[test]
fn owned_flags_of_the_source() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
extra_args = ["-p", "x", "--path=x", "-d", "x", "--dataset=x", "-t", "x", "-i", "x", "--include-task-name=x", "-x", "y", "-l", "1", "-y", "--yes", "-qk2", "--", "--disable-verification", "--upload", "--launch", "--dry-run"]"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 15:15 <"-p"> `-p` is Taskwright's to say
      help: write it in `harbor.source`
    error 15:26 <"--path=x"> `--path` is Taskwright's to say
      help: write it in `harbor.source`
    error 15:38 <"-d"> `-d` is Taskwright's to say
      help: write it in `harbor.source`
    error 15:49 <"--dataset=x"> `--dataset` is Taskwright's to say
      help: write it in `harbor.source`
    error 15:64 <"-t"> `-t` is Taskwright's to say
      help: write it in `harbor.source`
    error 15:75 <"-i"> `-i` is Taskwright's to say
      help: the splits say which samples run: write it in `[splits]`
    error 15:86 <"--include-task-name=x"> `--include-task-name` is Taskwright's to say
      help: the splits say which samples run: write it in `[splits]`
    error 15:111 <"-x"> `-x` is Taskwright's to say
      help: the splits say which samples run: write it in `[splits]`
    error 15:122 <"-l"> `-l` is Taskwright's to say
      help: the splits say which samples run: write it in `[splits]`
    error 15:133 <"-y"> `-y` is Taskwright's to say
      help: it is always given
    error 15:139 <"--yes"> `--yes` is Taskwright's to say
      help: it is always given
    error 15:148 <"-qk2"> `-k` is Taskwright's to say
      help: write it in `harbor.attempts`, or in a target's `attempts`
    error 15:156 <"--"> `--` would turn Taskwright's own flags into words
      help: take it out
    error 15:162 <"--disable-verification"> `--disable-verification` is Taskwright's to say
      help: the score is what the task's own verifier says
    error 15:188 <"--upload"> `--upload` is Taskwright's to say
      help: held-out samples must not be shown to others
    error 15:200 <"--launch"> `--launch` is Taskwright's to say
      help: the results must lie on this machine; name a cloud in `harbor.environment`
    error 15:212 <"--dry-run"> `--dry-run` is Taskwright's to say
      help: with it nothing would be run or scored
    "#);
}

#[test]
fn flags_that_only_start_alike() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
extra_args = ["--agent-setup-timeout-multiplier", "4", "--agents-file", "x", "--envoy", "-q", "--debug", "--artifact", "-a", "--mounts=[]"]"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    warning 15:56 <"--agents-file"> Harbor 0.26.0 knows no flag `--agents-file`
      help: did you mean `--env-file`?
    warning 15:78 <"--envoy"> Harbor 0.26.0 knows no flag `--envoy`
      help: did you mean `--env`?
    "#);
}

#[test]
fn flag_beside_its_field() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
verifier_timeout_multiplier = 2
extra_args = ["--verifier-timeout-multiplier", "3"]"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 16:15 <"--verifier-timeout-multiplier"> `--verifier-timeout-multiplier` says again what `harbor.verifier_timeout_multiplier` says
      also 15:31 <2> said here
      help: take one of them out
    "#);
}

#[test]
fn optimizer_flags() {
    let said = b(&[(
        r#"environment = "modal""#,
        r#"environment = "modal"
optimizer_args = ["--agent-setup-timeout-multiplier", "4", "--ek", "a=1", "-a", "x", "--model=m", "-p", "x", "--job-name", "j", "--ae", "A=1"]"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 15:75 <"-a"> `-a` is Taskwright's to say
      help: it belongs to the experiment: say it to `cargo xtask run`, or in its manifest
    error 15:86 <"--model=m"> `--model` is Taskwright's to say
      help: it belongs to the experiment: say it to `cargo xtask run`, or in its manifest
    error 15:99 <"-p"> `-p` is Taskwright's to say
      help: the outer run is of this very task
    error 15:110 <"--job-name"> `--job-name` is Taskwright's to say
      help: jobs are named and kept by Taskwright, so that their results are found again
    error 15:129 <"--ae"> `--ae` is Taskwright's to say
      help: write it in `agent_env`
    "#);
}

#[test]
fn gateway_that_admits_the_model() {
    let said = b(&[
        (
            r#"environment = "modal""#,
            r#"environment = "modal"
model = "vendor/small""#,
        ),
        (
            "",
            r#"
[gateway]
[gateway.producer]
allowed_models = ["big"]
[gateway.evaluation]
allowed_models = ["vendor/small"]
"#,
        ),
    ]);
    insta::assert_snapshot!(said, @"fine");
}

#[test]
fn gateway_that_does_not_admit_the_model() {
    let said = b(&[
        (
            r#"environment = "modal""#,
            r#"environment = "modal"
model = "vendor/smal""#,
        ),
        (
            "",
            r#"
[gateway]
[gateway.producer]
allowed_models = ["big"]
[gateway.evaluation]
allowed_models = ["vendor/small"]
[gateway.finalization]
allowed_models = ["tiny"]
"#,
        ),
    ]);
    insta::assert_snapshot!(said, @r#"
    error 15:9 <"vendor/smal"> `vendor/smal` is a model that no allow-list of `gateway.evaluation` admits
      also 31:18 <["vendor/small"]> the allow-list
      help: did you mean `vendor/small`? `gateway.evaluation` admits `vendor/small`
    error 15:9 <"vendor/smal"> `vendor/smal` is a model that no allow-list of `gateway.finalization` admits
      also 33:18 <["tiny"]> the allow-list
      help: `gateway.finalization` admits `tiny`
    "#);
}

#[test]
fn gateway_with_an_alias() {
    let said = b(&[
        (
            r#"environment = "modal""#,
            r#"environment = "modal"
model = "small""#,
        ),
        (
            "",
            r#"
[gateway]
model_aliases = { small = "vendor/small", lost = "vendor/lost", none = "" }
[gateway.producer]
allowed_models = ["big"]
[gateway.evaluation]
allowed_models = ["small"]
"#,
        ),
    ]);
    insta::assert_snapshot!(said, @r#"
    warning 28:50 <"vendor/lost"> nobody may ask for `lost`: no allow-list names it
      help: allow-lists name models as clients do, so add the alias to the `allowed_models` of those who may ask for it
    error 28:72 <""> an alias needs a name and a model
      help: write `"name" = "model"`
    "#);
}

#[test]
fn gateway_names() {
    let said = b(&[(
        "",
        r#"
[gateway]
upstream_api_key_env = "sk-1"
upstream_base_url_env = "A B"
[gateway.producer]
allowed_models = []
max_tokens = 0
[gateway.evaluation]
allowed_models = ["x", "", "x"]
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 27:24 <"sk-1"> this is not the name of an environment variable
      help: name the variable only: its value is taken from the machine that runs Harbor
    error 28:25 <"A B"> this is not the name of an environment variable
      help: name the variable only: its value is taken from the machine that runs Harbor
    error 30:18 <[]> no model may be asked for
      help: name at least one
    error 31:14 <0> `max_tokens` of 0 allows nothing
      help: raise it, or write "unlimited"
    error 33:24 <""> `` cannot be the name of a model
      help: write it as the upstream calls it
    error 33:28 <"x"> the model `x` is named twice
      also 33:19 <"x"> first here
      help: take one of them out
    "#);
}

#[test]
fn gateway_money() {
    let said = b(&[(
        "",
        r#"
[gateway]
prices = { big = { input = -1, output = 2 }, "vendor/small" = { input = 0.25, output = 2.0 } }
[gateway.producer]
allowed_models = ["big"]
max_cost = 0
[gateway.evaluation]
allowed_models = ["small", "dear"]
model_aliases = { small = "vendor/small", other = "vendor/small" }
max_cost = 1.5
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 27:18 <{ input = -1, output = 2 }> a price is a number of US dollars for a million tokens, from 0 to a million
      help: write it like `{ input = 0.25, output = 2.0 }`
    error 30:12 <0> this is no amount of money that can be spent
      help: write a number of US dollars above 0, or leave it out
    warning 33:51 <"vendor/small"> nobody may ask for `other`: no allow-list names it
      help: allow-lists name models as clients do, so add the alias to the `allowed_models` of those who may ask for it
    error 34:12 <1.5> `max_cost` cannot be kept without a price of `dear`
      also 32:18 <["small", "dear"]> the allow-list
      help: add it to `[gateway.prices]`, in US dollars for a million tokens
    "#);
}

#[test]
fn gateway_for_nobody() {
    let said = b(&[
        (
            r#"environment = "modal""#,
            r#"environment = "modal"
model = "small""#,
        ),
        (r#"mode = "b""#, "mode = \"b\"\nsecrets = [\"OPENAI_API_KEY\"]"),
        ("", "[gateway.finalization]\nallowed_models = [\"small\"]\n"),
    ]);
    insta::assert_snapshot!(said, @r#"
    error 4:12 <"OPENAI_API_KEY"> the gateway alone holds the upstream's key, and secrets reach the eval sidecar
      also 27:2 <gateway> the key
      help: take it out: candidates find the gateway's address and a token under the same names
    error 16:9 <"small"> candidates may ask no model: `[gateway]` says nothing of `small` for them
      also 27:2 <gateway> the gateway
      help: add `[gateway.evaluation]`
    error 27:1 <[gateway.finalization]> the final candidate is evaluated like every other: `finalization` needs `evaluation`
      help: add `[gateway.evaluation]`
    error 27:2 <gateway> `[gateway]` says nothing of what anybody may use
      help: add `[gateway.evaluation]` for candidates, `[gateway.producer]` for the optimizer, or leave it out
    "#);
}

#[test]
fn a_key_of_ones_own_under_a_name_that_clients_look_for() {
    let gateway = "[gateway.evaluation]\nallowed_models = [\"small\"]\n";
    let secrets = "mode = \"b\"\nsecrets = [\"ANTHROPIC_API_KEY\", \"OTHER\"]";
    let model = "environment = \"modal\"\nmodel = \"small\"";
    let said = b(&[(r#"environment = "modal""#, model), (r#"mode = "b""#, secrets), ("", gateway)]);
    insta::assert_snapshot!(said, @r#"
    warning 4:12 <"ANTHROPIC_API_KEY"> candidates' clients that look for `ANTHROPIC_API_KEY` find this secret, and the gateway's address
      help: take it out, unless something that is no candidate's needs it: they find a token under this name then
    "#);
}

#[test]
fn process_env_holds_no_secret() {
    let said = b(&[
        (r#"mode = "b""#, "mode = \"b\"\nsecrets = [\"TOKEN\"]"),
        (
            r#"environment = "modal""#,
            "environment = \"modal\"\nprocess_env = { TOKEN = \"x\", OTHER = \"$${TOKEN}\", \"a b\" = \"y\", FINE = \"z\" }",
        ),
    ]);
    insta::assert_snapshot!(said, @r#"
    error 16:25 <"x"> the secret `TOKEN` would reach the candidate
      also 4:12 <"TOKEN"> a secret
      help: secrets reach the eval sidecar only; take it out here, or out of `secrets`
    error 16:38 <"$${TOKEN}"> the secret `TOKEN` would reach the candidate
      also 4:12 <"TOKEN"> a secret
      help: secrets reach the eval sidecar only; take it out here, or out of `secrets`
    error 16:51 <"a b"> `a b` cannot be the name of an environment variable
      help: use letters, digits and `_`, and no digit first
    "#);
}

#[test]
fn gateway_for_the_optimizer_alone() {
    let said = a(&[("", "[gateway.producer]\nallowed_models = [\"small\"]\n")]);
    insta::assert_snapshot!(said, @"fine");
}

#[test]
fn gateway_key_in_the_optimizers_environment() {
    let said = b(&[
        (
            r#"mode = "b""#,
            r#"mode = "b"
agent_env = { OPENAI_API_KEY = "x" }"#,
        ),
        (
            "",
            r#"
[gateway]
[gateway.producer]
allowed_models = ["big"]
[gateway.evaluation]
allowed_models = ["vendor/small"]
"#,
        ),
    ]);
    insta::assert_snapshot!(said, @r#"
    error 4:32 <"x"> the secret `OPENAI_API_KEY` would reach the optimizer
      also 27:1 <[gateway]> a secret
      help: secrets reach the eval sidecar only; take it out here, or out of `secrets`
    "#);
}

#[test]
fn wandb() {
    let said = b(&[(
        "",
        r#"[wandb]
project = ""
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    warning 25:1 <[wandb]> `[wandb]` is declared and passed on; this version does not report there itself
      help: the evidence holds everything that would be reported
    error 26:11 <""> `project` is empty
      help: name the project, or leave `[wandb]` out
    "#);
}

#[test]
fn what_the_sidecar_of_mode_a_has_no_part_for() {
    let said = a(&[(
        "",
        r#"[feedback]
attempts = true
[wandb]
project = "sorting"
[gateway.producer]
allowed_models = ["small"]
[gateway.evaluation]
allowed_models = ["small"]
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 35:1 <attempts> `attempts` belongs to Mode B, and this spec is of Mode A
      help: leave it out, or write `mode = "b"`
    error 36:1 <[wandb]> `[wandb]` asks for reports, and the eval sidecar of Mode A makes none
      help: write `mode = "disabled"` in it, or leave it out: the evidence holds everything that would be reported
    "#);
    let itself = a(&[("run = ", "# run = "), ("", "[gateway.evaluation]\nallowed_models = [\"small\"]\n")]);
    insta::assert_snapshot!(itself, @r#"
    error 34:1 <[gateway.evaluation]> the scorer runs the candidate itself, which has no way to a language model then
      help: give the candidate a command of its own, `scorer.run`; or leave this out: `[gateway.producer]` is the optimizer's
    "#);
    let off = a(&[("", "[wandb]\nproject = \"sorting\"\nmode = \"disabled\"\n")]);
    insta::assert_snapshot!(off, @"fine");
}

#[test]
fn registry_that_is_a_folder_beside_the_spec() {
    let space = Space::new();
    space.write("task/inner-tasks/one/task.toml", "");
    space.write(
        "task/spec.toml",
        edited(B, &[(r#"{ path = "inner-tasks" }"#, r#"{ registry = "inner-tasks", version = "1" }"#)]),
    );
    insta::assert_snapshot!(said(space.load("task/spec.toml")), @r#"
    error task/spec.toml:12:23 <"inner-tasks"> `inner-tasks` looks like a path
      help: tasks on this machine are named by `path = "..."`
    "#);
}
