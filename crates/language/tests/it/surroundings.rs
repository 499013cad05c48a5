//! Mistakes in the baseline, images, packages, scorer, dataset, secrets, templates and the pass-through.

use crate::support::a;

#[test]
fn rev_of_a_work_tree() {
    let said = a(&[(
        r#"path = "baseline""#,
        r#"path = "baseline"
source = "work-tree"
rev = "HEAD""#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 8:7 <"HEAD"> `rev` means nothing when the files are taken from the work tree
      help: leave it out, or write `source = "commit"`
    "#);
}

#[test]
fn rev_that_is_none() {
    let said = a(&[(
        r#"path = "baseline""#,
        r#"path = "baseline"
rev = "--all""#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 7:7 <"--all"> `--all` cannot be a revision
      help: write a commit, a tag or a branch, for example "HEAD"
    "#);
}

#[test]
fn read_only_patterns() {
    let said = a(&[(
        r#"path = "baseline""#,
        r#"path = "baseline"
read_only = ["tests/**", "", "../x", "/y", "a[", "!z"]"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 7:26 <""> the pattern is empty
      help: take it out, or write for example "tests/**"
    error 7:30 <"../x"> `../x` leads out of the folder
      help: write a path from the root of the folder; "." is the root
    error 7:38 <"/y"> `/y` is an absolute path
      help: write it relative to this file: an absolute path means something else on every machine
    error 7:44 <"a["> `a[` is not a pattern: a `[` without a `]`; `\[` is the character itself
      help: `*` is anything within a name, `**` any folders, `[ab]` one of these
    error 7:50 <"!z"> `!z` would take something out of the others
      help: patterns only add; name what is meant itself
    "#);
}

#[test]
fn overlays() {
    let said = a(&[(
        r#"path = "baseline""#,
        r#"path = "baseline"
overlays = [{ from = "o", to = "../x" }, { from = "o", to = "" }, { from = "o" }]"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 7:32 <"../x"> `../x` leads out of the baseline
      help: write a path from the root of the baseline; "." is the root
    error 7:61 <""> `to` is empty
      help: "." is the baseline's root
    "#);
}

#[test]
fn overlays_where_git_keeps_things() {
    let said = a(&[(
        r#"path = "baseline""#,
        r#"path = "baseline"
overlays = [{ from = "o", to = ".git/hooks" }, { from = "o", to = "x/.GIT" }, { from = "o", to = ".gitmodules" }, { from = "o", to = ".github" }]"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 7:32 <".git/hooks"> `.git/hooks` has a name that git keeps for itself
      help: the optimizer's container makes a repository of its own of the baseline: name another folder
    error 7:67 <"x/.GIT"> `x/.GIT` has a name that git keeps for itself
      help: the optimizer's container makes a repository of its own of the baseline: name another folder
    error 7:98 <".gitmodules"> `.gitmodules` is no plain file where git looks for its settings
      help: rename it, or put a plain file in its place
    "#);
}

#[test]
fn baseline_of_another_repository() {
    let said = a(&[(
        r#"path = "baseline""#,
        r#"path = "../x"
git = "../../elsewhere""#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 6:8 <"../x"> `../x` leads out of that repository
      help: write a path from the root of that repository; "." is the root
    "#);
}

#[test]
fn images() {
    let said = a(&[(
        "",
        r#"[images]
main = ""
sidecar = "a b"
verifier = "-x"
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 35:8 <""> the image has no name
      help: leave the key out for the standard image
    error 36:11 <"a b"> `a b` cannot be the name of an image
      help: write it as `docker pull` takes it, for example "python:3.13-trixie"
    error 37:12 <"-x"> `-x` cannot be the name of an image
      help: write it as `docker pull` takes it, for example "python:3.13-trixie"
    "#);
}

#[test]
fn packages_without_a_day() {
    let said = a(&[(
        "",
        r#"[packages]
main = ["git"]
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 34:1 <[packages]> packages without a day to take them from
      help: add `snapshot = "YYYY-MM-DD"`, so that the same spec gives the same image next year
    "#);
}

#[test]
fn packages() {
    let said = a(&[(
        "",
        r#"[packages]
main = ["Git", "curl", "curl=8.0", "gcc=latest"]
snapshot = "2026-02-30"
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 35:9 <"Git"> `Git` is not a Debian package
      help: write `name` or `name=version`, in small letters
    error 35:24 <"curl=8.0"> the package `curl` is named twice
      also 35:16 <"curl"> first here
      help: take one of them out
    error 35:36 <"gcc=latest"> `gcc=latest` is not a Debian package
      help: write `name` or `name=version`, in small letters
    error 36:12 <"2026-02-30"> `2026-02-30` is not a day
      help: write year, month and day: "2026-01-31"; or "off" for what the image's own sources have
    "#);
}

#[test]
fn packages_of_the_images_own_sources() {
    let said = a(&[("", "[packages]\nmain = [\"git\"]\nsnapshot = \"off\"\n")]);
    insta::assert_snapshot!(said, @"fine");
}

#[test]
fn score_empty() {
    let said = a(&[(r#"score = ["python3", "{scorer}/score.py"]"#, "score = []")]);
    insta::assert_snapshot!(said, @r#"
    error 14:9 <[]> `score` names no command
      help: for example ["python3", "{scorer}/score.py"]
    "#);
}

#[test]
fn placeholders() {
    let said = a(&[(r#""main.py""#, r#""{candidte}/main.py", "{data}", "{}", "{\"a\": 1}""#)]);
    insta::assert_snapshot!(said, @r#"
    error 13:19 <"{candidte}/main.py"> there is no placeholder `{candidte}`
      help: did you mean `{candidate}`?
    error 13:41 <"{data}"> there is no placeholder `{data}`
      help: there are `{scorer}`, `{candidate}` and `{taskwright}`
    "#);
}

#[test]
fn command_without_a_name() {
    let said = a(&[(r#"run = ["python3", "main.py"]"#, r#"run = [""]"#)]);
    insta::assert_snapshot!(said, @r#"
    error 13:8 <""> the command has no name
      help: the first word is the program
    "#);
}

#[test]
fn batch_of_zero() {
    let said = a(&[(
        r#"path = "scorer""#,
        r#"path = "scorer"
batch = 0"#,
    )]);
    insta::assert_snapshot!(said, @"
    error 13:9 <0> `batch` must be at least 1
      help: 1 hands each sample to a process of its own
    ");
}

#[test]
fn scorer_environment() {
    let said = a(&[(
        r#"path = "scorer""#,
        r#"path = "scorer"
env = { "A-B" = "x" }"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 13:9 <"A-B"> `A-B` cannot be the name of an environment variable
      help: use letters, digits and `_`, and no digit first
    "#);
}

#[test]
fn label_is_the_id() {
    let said = a(&[(r#"labels = ["answer"]"#, r#"labels = ["id"]"#)]);
    insta::assert_snapshot!(said, @r#"
    error 18:11 <"id"> `id` is the rows' id and cannot be hidden from candidates
      help: answers are matched to samples by it; give the label a field of its own
    "#);
}

#[test]
fn labels_twice_and_empty() {
    let said = a(&[(r#"labels = ["answer"]"#, r#"labels = ["answer", "", "answer"]"#)]);
    insta::assert_snapshot!(said, @r#"
    error 18:21 <""> the label has no name
      help: take it out
    error 18:25 <"answer"> the label `answer` is named twice
      also 18:11 <"answer"> first here
      help: take one of them out
    "#);
}

#[test]
fn rows() {
    let said = a(&[(
        r#"labels = ["answer"]"#,
        r#"rows = []
id = """#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 18:8 <[]> no file holds rows
      help: for example ["*.jsonl"]
    error 19:6 <""> `id` is empty
      help: name the field that tells the rows apart
    "#);
}

#[test]
fn row_patterns() {
    let said = a(&[(r#"labels = ["answer"]"#, r#"rows = ["{a"]"#)]);
    insta::assert_snapshot!(said, @r#"
    error 18:9 <"{a"> `{a` is not a pattern: a `{` without a `}`; `\{` is the character itself
      help: `*` is anything within a name, `**` any folders, `[ab]` one of these
    "#);
}

#[test]
fn secret_names() {
    let said = a(&[(
        r#"mode = "a""#,
        r#"mode = "a"
secrets = ["KEY", "sk-123", "A=B", "KEY"]"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 4:19 <"sk-123"> this is not the name of an environment variable
      help: use letters, digits and `_`, and no digit first
    error 4:29 <"A=B"> this is not the name of an environment variable
      help: name the variable only: its value is taken from the machine that runs Harbor
    error 4:36 <"KEY"> the secret `KEY` is named twice
      also 4:12 <"KEY"> first here
      help: take one of them out
    "#);
}

#[test]
fn secret_in_the_optimizers_environment() {
    let said = a(&[(
        r#"mode = "a""#,
        r#"mode = "a"
secrets = ["KEY"]
agent_env = { KEY = "x", OTHER = "$${KEY}", THIRD = "$KEY" }"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 5:21 <"x"> the secret `KEY` would reach the optimizer
      also 4:12 <"KEY"> a secret
      help: secrets reach the eval sidecar only; take it out here, or out of `secrets`
    error 5:34 <"$${KEY}"> the secret `KEY` would reach the optimizer
      also 4:12 <"KEY"> a secret
      help: secrets reach the eval sidecar only; take it out here, or out of `secrets`
    error 5:53 <"$KEY"> the secret `KEY` would reach the optimizer
      also 4:12 <"KEY"> a secret
      help: secrets reach the eval sidecar only; take it out here, or out of `secrets`
    "#);
}

#[test]
fn secret_in_mains_environment() {
    let said = a(&[
        (
            r#"mode = "a""#,
            r#"mode = "a"
secrets = ["KEY"]"#,
        ),
        (
            "",
            r#"[task.environment.env]
X = "$${KEY}"
"#,
        ),
    ]);
    insta::assert_snapshot!(said, @r#"
    error 36:5 <"$${KEY}"> the secret `KEY` would reach the optimizer
      also 4:12 <"KEY"> a secret
      help: secrets reach the eval sidecar only; take it out here, or out of `secrets`
    "#);
}

#[test]
fn secret_in_the_scorers_environment() {
    let said = a(&[
        (
            r#"mode = "a""#,
            r#"mode = "a"
secrets = ["KEY"]"#,
        ),
        (
            r#"path = "scorer""#,
            r#"path = "scorer"
env = { X = "$${KEY}" }"#,
        ),
    ]);
    insta::assert_snapshot!(said, @r#"
    error 14:13 <"$${KEY}"> the secret `KEY` would reach the candidate
      also 4:12 <"KEY"> a secret
      help: secrets reach the eval sidecar only; take it out here, or out of `secrets`
    "#);
}

#[test]
fn environment_names() {
    let said = a(&[(
        r#"mode = "a""#,
        r#"mode = "a"
agent_env = { "1A" = "x", "B C" = "y" }"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 4:15 <"1A"> `1A` cannot be the name of an environment variable
      help: use letters, digits and `_`, and no digit first
    error 4:27 <"B C"> `B C` cannot be the name of an environment variable
      help: use letters, digits and `_`, and no digit first
    "#);
}

#[test]
fn templates() {
    let said = a(&[(
        "",
        r#"[templates]
"environment/Dockerfil" = "x.hbs"
"README.md" = "y.hbs"
"task.toml" = "z.hbs"
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 35:1 <"environment/Dockerfil"> no template makes the file `environment/Dockerfil`
      help: did you mean `environment/Dockerfile`?
    error 36:1 <"README.md"> no template makes the file `README.md`
      help: there are `environment/Dockerfile`, `environment/docker-compose.yaml`, `environment/gateway/Dockerfile`, `environment/sidecar/Dockerfile`, `instruction.md`, `solution/solve.sh`, `tests/Dockerfile`, `tests/docker-compose.yaml` or `tests/test.sh`
    error 37:1 <"task.toml"> no template makes the file `task.toml`
      help: task.toml is made from the spec: `[task]` says what else it is to hold
    "#);
}

#[test]
fn pass_through() {
    let said = a(&[(
        "",
        r#"[task.environment]
cpus = -1
network_mode = "allowlist"
"#,
    )]);
    insta::assert_snapshot!(said, @"
    error 35:8 <-1> `cpus` is -1
      help: give a number greater than zero, or leave the key out
    ");
}

#[test]
fn pass_through_of_an_unknown_key() {
    let said = a(&[("", "[task.environment]\ncpu = 2\n")]);
    insta::assert_snapshot!(said, @"
    error 35:1 <cpu> unknown key `cpu` in `[task.environment]`
      help: did you mean `cpus`?
    ");
}

#[test]
fn pass_through_of_a_date() {
    let said = a(&[("", "[task.metadata]\nmade = 2026-01-01\nlist = [{ at = 10:00:00 }]\n")]);
    insta::assert_snapshot!(said, @r#"
    error 35:8 <2026-01-01> `task.metadata.made` is a date or time, which cannot be passed on
      help: put it in quotes: "2026-01-01"
    error 36:16 <10:00:00> `task.metadata.list` is a date or time, which cannot be passed on
      help: put it in quotes: "10:00:00"
    "#);
}
