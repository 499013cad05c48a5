//! Mistakes in names, versions, sections and the objective.

use crate::support::{a, b};

#[test]
fn name_with_wrong_letters() {
    let said = a(&[(r#""sort-fast""#, r#""Sort Fast""#)]);
    insta::assert_snapshot!(said, @r#"
    error 1:8 <"Sort Fast"> `Sort Fast` cannot name a task directory: use 1 to 32 of a-z, 0-9 and `-`, with no `-` at either end
      help: for example `sort-fast-75ea932b`
    "#);
}

#[test]
fn name_too_long() {
    let said = a(&[(r#""sort-fast""#, r#""sort-numbers-faster-than-anybody-else-does""#)]);
    insta::assert_snapshot!(said, @r#"
    error 1:8 <"sort-numbers-faster-than-anybody-else-does"> `sort-numbers-faster-than-anybody-else-does` cannot name a task directory: use 1 to 32 of a-z, 0-9 and `-`, with no `-` at either end
      help: for example `sort-numbers-faster-tha-e95e806d`
    "#);
}

#[test]
fn name_empty() {
    let said = a(&[(r#""sort-fast""#, r#""""#)]);
    insta::assert_snapshot!(said, @r#"
    error 1:8 <""> `` cannot name a task directory: use 1 to 32 of a-z, 0-9 and `-`, with no `-` at either end
      help: for example `sort-numbers`
    "#);
}

#[test]
fn organization() {
    let said = a(&[(
        r#"mode = "a""#,
        r#"mode = "a"
organization = "a/b""#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 4:16 <"a/b"> `a/b` cannot be the organization of a task
      help: start with a letter or digit, and go on with letters, digits, `.`, `_` and `-`
    "#);
}

#[test]
fn version() {
    let said = a(&[(
        r#"mode = "a""#,
        r#"mode = "a"
version = "1.0""#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 4:11 <"1.0"> `1.0` is not a semantic version: unexpected end of input while parsing minor version number
      help: write three numbers, as in "1.0.0"
    "#);
}

#[test]
fn description_empty() {
    let said = a(&[(r#""Sort numbers faster.""#, r#""  ""#)]);
    insta::assert_snapshot!(said, @r#"
    error 2:15 <"  "> `description` is empty
      help: say in one sentence what is to be improved
    "#);
}

#[test]
fn authors() {
    let said = a(&[(
        r#"mode = "a""#,
        r#"mode = "a"
authors = [{ name = " " }, { name = "Ada", email = "ada" }]"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 4:21 <" "> the author has no name
      help: write who it is
    error 4:52 <"ada"> `ada` is not a mail address
      help: write `name@domain`, or leave it out
    "#);
}

#[test]
fn keywords() {
    let said = a(&[(
        r#"mode = "a""#,
        r#"mode = "a"
keywords = ["x", ""]"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 4:18 <""> the keyword is empty
      help: take it out
    "#);
}

#[test]
fn mode_a_without_its_sections() {
    let said = a(&[(
        r#"[scorer]
path = "scorer"
run = ["python3", "main.py"]
score = ["python3", "{scorer}/score.py"]

[dataset]
path = "rows.jsonl"
labels = ["answer"]
"#,
        "",
    )]);
    insta::assert_snapshot!(said, @r#"
    error 3:8 <"a"> Mode A needs `[dataset]`
      help: add `[dataset]`: the rows that candidates are run on
    error 3:8 <"a"> Mode A needs `[scorer]`
      help: add `[scorer]`: the commands that run and score a candidate
    "#);
}

#[test]
fn mode_b_without_its_section() {
    let said = b(&[(
        r#"[harbor]
source = { path = "inner-tasks" }
agent = "solver.agent:Solver"
environment = "modal"
"#,
        "",
    )]);
    insta::assert_snapshot!(said, @r#"
    error 3:8 <"b"> Mode B needs `[harbor]`
      help: add `[harbor]`: the nested `harbor run` that scores a candidate
    "#);
}

#[test]
fn shared_verifier() {
    let said = a(&[(
        r#"mode = "a""#,
        r#"mode = "a"
verifier = "shared""#,
    )]);
    insta::assert_snapshot!(said, @r#"
    warning 4:12 <"shared"> a process that the optimizer leaves behind can forge the reward
      help: use `verifier = "separate"` wherever the runner can collect from sidecars
    "#);
}

#[test]
fn metric_empty() {
    let said = a(&[(
        "",
        r#"[objective]
metric = ""
constraints = [{ metric = " ", operator = "<", value = 1 }]
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 35:10 <""> `metric` is empty
      help: name a metric that the scorer reports, or `score`
    error 36:27 <" "> the constraint names no metric
      help: name a metric that the scorer reports
    "#);
}

#[test]
fn minimize_without_a_failure_value() {
    let said = a(&[(
        "",
        r#"[objective]
direction = "minimize"
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    warning 35:13 <"minimize"> a candidate that fails scores 0, which is a good score where less is better
      help: write `failure_value` in `[objective]`: a score worse than any real one
    "#);
}

#[test]
fn minimize_with_a_failure_value() {
    let said = a(&[(
        "",
        r#"[objective]
direction = "minimize"
failure_value = 1e9
"#,
    )]);
    insta::assert_snapshot!(said, @"fine");
}
