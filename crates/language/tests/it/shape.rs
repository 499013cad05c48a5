//! Mistakes of shape: each with the place and the likely meaning.

use crate::support::{a, b};

#[test]
fn unknown_key_with_a_near_one() {
    let said = a(&[(r#"path = "baseline""#, r#"pth = "baseline""#)]);
    insta::assert_snapshot!(said, @"
    error 6:1 <pth> unknown key `pth` in `[baseline]`
      help: did you mean `path`?
    ");
}

#[test]
fn unknown_key_without_a_near_one() {
    let said = a(&[(
        r#"path = "scorer""#,
        r#"path = "scorer"
zzzzzzzzzz = 1"#,
    )]);
    insta::assert_snapshot!(said, @"
    error 13:1 <zzzzzzzzzz> unknown key `zzzzzzzzzz` in `[scorer]`
      help: known here: `batch`, `deterministic`, `env`, `path`, `run` or `score`
    ");
}

#[test]
fn unknown_key_that_is_known_elsewhere() {
    let said = a(&[(
        r#"mode = "a""#,
        r#"mode = "a"
model = "gpt""#,
    )]);
    insta::assert_snapshot!(said, @"
    error 4:1 <model> unknown key `model` in the spec
      help: `model` belongs in `[harbor]`
    ");
}

#[test]
fn unknown_key_that_is_known_in_several_places() {
    let said = a(&[(
        r#"path = "baseline""#,
        r#"path = "baseline"
attempts = 3"#,
    )]);
    insta::assert_snapshot!(said, @"
    error 7:1 <attempts> unknown key `attempts` in `[baseline]`
      help: `attempts` belongs in `[[targets]]`, `[feedback]` or `[harbor]`
    ");
}

#[test]
fn key_that_taskwright_writes() {
    let said = a(&[(
        "",
        r#"[task]
schema_version = "1.4"
[task.agent]
user = "root"
"#,
    )]);
    insta::assert_snapshot!(said, @"
    error 35:1 <schema_version> unknown key `schema_version` in `[task]`
      help: Taskwright writes the schema's version itself
    error 37:1 <user> unknown key `user` in `[task.agent]`
      help: Taskwright sets the agent's user, which it also makes in the image
    ");
}

#[test]
fn missing_keys_at_the_root() {
    let said = a(&[(
        r#"name = "sort-fast"
description = "Sort numbers faster."
"#,
        "",
    )]);
    insta::assert_snapshot!(said, @r#"
    error 1:1 <mode = "a"> `description` and `name` are missing in the spec
      help: `description`: One sentence that says what is to be improved.
    `name`: The task's directory name: lower-case letters, digits and dashes, at most 32 characters.
    "#);
}

#[test]
fn missing_key_in_a_table() {
    let said = a(&[(
        r#"path = "scorer"
"#,
        "",
    )]);
    insta::assert_snapshot!(said, @"
    error 11:1 <[scorer]> `path` is missing in `[scorer]`
      help: `path`: The folder that holds the scorer's files.
    ");
}

#[test]
fn missing_key_in_an_array_of_tables() {
    let said = a(&[(r#"split = "test""#, "attempts = 1")]);
    insta::assert_snapshot!(said, @"
    error 32:1 <[[targets]]> `split` is missing in `[[targets]]`
      help: `split`: The split.
    ");
}

#[test]
fn missing_key_in_an_implicit_table() {
    let said = a(&[("", "[splits.extra.budget]\nruns = 1\n")]);
    insta::assert_snapshot!(said, @r#"
    error 34:9 <extra> `samples` is missing in `[splits.extra]`
      help: `samples`: Which samples it holds: `"all"`, a list of their ids (of directory names in Mode B), `{ file = "..." }` with a JSON array or one id a line, or `{ field = "...", equals = "..." }`, the rows whose field has that value.
    "#);
}

#[test]
fn string_where_a_number_is_wanted() {
    let said = a(&[(
        "",
        r#"[limits]
concurrency = "4"
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 35:15 <"4"> `limits.concurrency` must be a whole number, but is a string
      help: write it without quotes: 4
    "#);
}

#[test]
fn number_where_a_string_is_wanted() {
    let said = a(&[(r#"name = "sort-fast""#, "name = 12")]);
    insta::assert_snapshot!(said, @r#"
    error 1:8 <12> `name` must be a string, but is a whole number
      help: put it in quotes: "12"
    "#);
}

#[test]
fn string_where_a_list_is_wanted() {
    let said = a(&[(r#"labels = ["answer"]"#, r#"labels = "answer""#)]);
    insta::assert_snapshot!(said, @r#"
    error 18:10 <"answer"> `dataset.labels` must be a list of strings, but is a string
      help: a list of one is written ["answer"]
    "#);
}

#[test]
fn string_where_a_truth_value_is_wanted() {
    let said = a(&[(
        "",
        r#"[selection]
baseline_floor = "true"
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 35:18 <"true"> `selection.baseline_floor` must be `true` or `false`, but is a string
      help: write it without quotes: true
    "#);
}

#[test]
fn fraction_where_a_whole_number_is_wanted() {
    let said = a(&[("", "[limits]\nconcurrency = 1.5\n")]);
    insta::assert_snapshot!(said, @"
    error 35:15 <1.5> `limits.concurrency` must be a whole number, but is a number with a fraction
      help: How many samples, or inner trials, run at once.
    ");
}

#[test]
fn whole_number_where_a_fraction_is_wanted() {
    let said = a(&[("", "[selection]\nmin_coverage = 1\n")]);
    insta::assert_snapshot!(said, @"fine");
}

#[test]
fn date_where_a_string_is_wanted() {
    let said = a(&[(
        "",
        r#"[packages]
main = ["git"]
snapshot = 2026-01-01
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 36:12 <2026-01-01> `packages.snapshot` must be a string, but is a date or time
      help: put it in quotes: "2026-01-01"
    "#);
}

#[test]
fn table_where_a_string_is_wanted() {
    let said = a(&[(r#"name = "sort-fast""#, "name = { a = 1 }")]);
    insta::assert_snapshot!(said, @"
    error 1:8 <{ a = 1 }> `name` must be a string, but is a table
      help: The task's directory name: lower-case letters, digits and dashes, at most 32 characters.
    ");
}

#[test]
fn string_where_a_table_is_wanted() {
    let said = a(&[(
        r#"[baseline]
path = "baseline"
"#,
        r#"baseline = "x"
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 5:12 <"x"> `baseline` must be a table, but is a string
      help: write `baseline = { path = "x" }`
    "#);
}

#[test]
fn one_bracket_and_two() {
    insta::assert_snapshot!(a(&[("[[targets]]", "[targets]")]), @r#"
    error 32:1 <[targets]> `targets` must be a list of tables, but is a table
      help: write `[[targets]]` with two brackets: each is one of the list
    "#);
    insta::assert_snapshot!(a(&[("[splits.train]", "[[splits]]"), ("[splits.validation]", "[[splits]]"), ("[splits.test]", "[[splits]]")]), @r#"
    error 20:1 <[[splits]]> `splits` must be a table, but is a list
      help: write `[splits.NAME]` with one bracket: each has a name of its own
    "#);
    insta::assert_snapshot!(a(&[("[scorer]", "[[scorer]]")]), @r#"
    error 11:1 <[[scorer]]> `scorer` must be a table, but is a list
      help: write `[scorer]` with one bracket: there is only one
    "#);
    insta::assert_snapshot!(a(&[("min_samples = 2", "min_samples = 2\nbudget = 20")]), @r#"
    error 28:10 <20> `splits.validation.budget` must be a table, but is a whole number
      help: write `budget = { runs = 20 }`
    "#);
}

#[test]
fn a_key_of_the_spec_below_a_table() {
    insta::assert_snapshot!(a(&[("", "limits.sample_timeout_sec = 10\n")]), @r#"
    error 34:1 <limits> unknown key `limits` in `[[targets]]`
      help: `limits` belongs in the spec itself: move it above the first `[table]`, or write it as `[limits]`
    "#);
    insta::assert_snapshot!(a(&[("", "version = \"1.0.0\"\n")]), @r#"
    error 34:1 <version> unknown key `version` in `[[targets]]`
      help: `version` belongs in `[harbor]`, `[harbor.source]` or the spec itself: move it above the first `[table]`
    "#);
}

#[test]
fn a_section_of_the_other_mode_is_not_looked_into() {
    let said = a(&[("", "[harbor]\nsource = { path = \"inner-tasks\" }\nagent = \"a.b:C\"\n")]);
    insta::assert_snapshot!(said, @r#"
    error 34:2 <harbor> `harbor` belongs to Mode B, and this spec is of Mode A
      help: leave it out, or write `mode = "b"`
    "#);
}

#[test]
fn a_command_that_is_one_string() {
    let run = r#"run = ["python3", "main.py"]"#;
    insta::assert_snapshot!(a(&[(run, r#"run = "python3 {scorer}/run.py --name 'a b'""#)]), @r#"
    error 13:7 <"python3 {scorer}/run.py --name 'a b'"> `scorer.run` must be a list of strings, but is a string
      help: write each word of the command by itself: ["python3", "{scorer}/run.py", "--name", "a b"]
    "#);
    insta::assert_snapshot!(a(&[(run, r#"run = ["python3 {scorer}/run.py"]"#)]), @r#"
    error 13:8 <"python3 {scorer}/run.py"> the first word is the program, and this is a whole command
      help: write each of its words by itself: ["python3", "{scorer}/run.py"]
    "#);
    insta::assert_snapshot!(a(&[(run, r#"run = ["python3 main.py"]"#)]), @r#"
    error 13:8 <"python3 main.py"> the first word is the program, and this is a whole command
      help: write each of its words by itself: ["python3", "main.py"]
    "#);
    // A program may lie in a folder with a blank in its name.
    assert_eq!(a(&[(run, r#"run = ["/opt/my tools/python", "main.py"]"#)]), "fine");
}

#[test]
fn characters_that_nobody_sees() {
    insta::assert_snapshot!(a(&[("\"Sort numbers faster.\"", "\"a\\u0000b\"")]), @r#"
    error 2:15 <"a\u0000b"> the text holds the control character `\0`
      help: take it out
    "#);
}

#[test]
fn list_element_of_the_wrong_type() {
    let said = a(&[(r#"labels = ["answer"]"#, r#"labels = ["answer", 3]"#)]);
    insta::assert_snapshot!(said, @r#"
    error 18:21 <3> `dataset.labels[1]` must be a string, but is a whole number
      help: put it in quotes: "3"
    "#);
}

#[test]
fn word_with_a_near_one() {
    let said = a(&[(r#"access = "viewable""#, r#"access = "viewble""#)]);
    insta::assert_snapshot!(said, @r#"
    error 22:10 <"viewble"> `splits.train.access` cannot be `viewble`
      help: did you mean `viewable`? it can be `no_access`, `non_viewable` or `viewable`
    "#);
}

#[test]
fn word_without_a_near_one() {
    let said = a(&[(r#"mode = "a""#, r#"mode = "c""#)]);
    insta::assert_snapshot!(said, @r#"
    error 3:8 <"c"> `mode` cannot be `c`
      help: it can be `a` or `b`
    "#);
}

#[test]
fn negative_count() {
    let said = a(&[("", "[limits]\nconcurrency = -1\n")]);
    insta::assert_snapshot!(said, @"
    error 35:15 <-1> `limits.concurrency` must not be negative, but is -1
      help: How many samples, or inner trials, run at once.
    ");
}

#[test]
fn number_beyond_64_bits() {
    let said = a(&[("", "[limits]\nconcurrency = 99999999999999999999\n")]);
    insta::assert_snapshot!(said, @"
    error 35:15 <99999999999999999999> the number is too large
      help: whole numbers go up to 2^63 - 1
    ");
}

#[test]
fn number_that_is_not_finite() {
    let said = a(&[("", "[objective]\nfailure_value = nan\n[selection]\nmin_coverage = inf\n")]);
    insta::assert_snapshot!(said, @r#"
    error 35:17 <nan> `nan` is not a finite number
      help: every number here is finite; leave the key out, or use its word for "off"
    error 37:16 <inf> `inf` is not a finite number
      help: every number here is finite; leave the key out, or use its word for "off"
    "#);
}

#[test]
fn limit_is_a_count_or_a_word() {
    let said = a(&[(
        r#"access = "viewable""#,
        r#"access = "viewable"
budget = { runs = "unlimted", samples = true }"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 23:19 <"unlimted"> `splits.train.budget.runs` cannot be `unlimted`
      help: did you mean `unlimited`? it can be `unlimited`
    error 23:41 <true> `splits.train.budget.samples` must be `"unlimited"` or a whole number, but is a truth value
      help: The most samples over all evaluations, or `"unlimited"`.
    "#);
}

#[test]
fn samples_of_no_form() {
    let said = a(&[(r#"samples = ["x1", "x2"]"#, "samples = 7")]);
    insta::assert_snapshot!(said, @r#"
    error 30:11 <7> `splits.test.samples` must be `"all"`, a list of strings or a table, but is a whole number
      help: Which samples it holds: `"all"`, a list of their ids (of directory names in Mode B), `{ file = "..." }` with a JSON array or one id a line, or `{ field = "...", equals = "..." }`, the rows whose field has that value.
    "#);
}

#[test]
fn samples_of_two_forms() {
    let said = a(&[(r#"samples = ["x1", "x2"]"#, r#"samples = { file = "x.txt", equals = "test" }"#)]);
    insta::assert_snapshot!(said, @"
    error 30:29 <equals> unknown key `equals` in `[splits.test.samples]`
      help: write one of { file = ... } or { equals = ..., field = ... }
    ");
}

#[test]
fn samples_of_an_unknown_form() {
    let said = a(&[(r#"samples = ["x1", "x2"]"#, r#"samples = { glob = "*" }"#)]);
    insta::assert_snapshot!(said, @r#"
    error 30:11 <{ glob = "*" }> `splits.test.samples` is none of the tables that can stand here
      help: write one of { file = ... } or { equals = ..., field = ... }
    "#);
}

#[test]
fn samples_word() {
    let said = a(&[(r#"samples = ["x1", "x2"]"#, r#"samples = "every""#)]);
    insta::assert_snapshot!(said, @r#"
    error 30:11 <"every"> `splits.test.samples` cannot be `every`
      help: it can be `all`
    "#);
}

#[test]
fn source_of_an_unknown_form() {
    let said = b(&[(r#"source = { path = "inner-tasks" }"#, r#"source = { git = "x" }"#)]);
    insta::assert_snapshot!(said, @r#"
    error 12:10 <{ git = "x" }> `harbor.source` is none of the tables that can stand here
      help: write one of { path = ... } or { digest = ..., registry = ..., version = ... }
    "#);
}

#[test]
fn empty_path() {
    let said = a(&[(r#"path = "scorer""#, r#"path = """#)]);
    insta::assert_snapshot!(said, @r#"
    error 12:8 <""> `scorer.path` must not be empty
      help: The folder that holds the scorer's files.
    "#);
}

#[test]
fn absolute_paths() {
    let said = a(&[
        (r#"path = "scorer""#, r#"path = "/scorer""#),
        (r#"path = "rows.jsonl""#, r#"path = "C:\\rows.jsonl""#),
        (r#"file = "instruction.md""#, r#"file = "~/x.md""#),
    ]);
    insta::assert_snapshot!(said, @r#"
    error 9:8 <"~/x.md"> `~/x.md` starts at a home folder
      help: write it relative to this file: nobody else has your home folder
    error 12:8 <"/scorer"> `/scorer` is an absolute path
      help: write it relative to this file: an absolute path means something else on every machine
    error 17:8 <"C:\\rows.jsonl"> `C:\rows.jsonl` is an absolute path
      help: write it relative to this file: an absolute path means something else on every machine
    "#);
}

#[test]
fn path_out_of_the_workspace() {
    let said = a(&[(r#"path = "rows.jsonl""#, r#"path = "../rows.jsonl""#)]);
    insta::assert_snapshot!(said, @r#"
    error 17:8 <"../rows.jsonl"> `../rows.jsonl` leads out of the workspace
      help: move what it names into the workspace, so that every clone has it
    "#);
}

#[test]
fn section_of_the_other_mode() {
    let said = a(&[(
        "",
        r#"[harbor]
source = { path = "x" }
agent = "a:B"
environment = "modal"
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 34:2 <harbor> `harbor` belongs to Mode B, and this spec is of Mode A
      help: leave it out, or write `mode = "b"`
    "#);
}

#[test]
fn sections_of_mode_a_in_mode_b() {
    let said = b(&[(
        "",
        r#"[scorer]
path = "scorer"
score = ["true"]
[dataset]
path = "rows"
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 25:2 <scorer> `scorer` belongs to Mode A, and this spec is of Mode B
      help: leave it out, or write `mode = "a"`
    error 28:2 <dataset> `dataset` belongs to Mode A, and this spec is of Mode B
      help: leave it out, or write `mode = "a"`
    "#);
}

#[test]
fn limits_of_mode_a_in_mode_b() {
    let said = b(&[("", "[limits]\nmemory_mb = 10\nprocesses = 1\nfile_size_mb = 1\noutput_mb = 1\n")]);
    insta::assert_snapshot!(said, @r#"
    error 26:1 <memory_mb> `memory_mb` belongs to Mode A, and this spec is of Mode B
      help: leave it out, or write `mode = "a"`
    error 27:1 <processes> `processes` belongs to Mode A, and this spec is of Mode B
      help: leave it out, or write `mode = "a"`
    error 28:1 <file_size_mb> `file_size_mb` belongs to Mode A, and this spec is of Mode B
      help: leave it out, or write `mode = "a"`
    error 29:1 <output_mb> `output_mb` belongs to Mode A, and this spec is of Mode B
      help: leave it out, or write `mode = "a"`
    "#);
}

#[test]
fn sample_filter_in_mode_b() {
    let said = b(&[(r#"samples = ["x1", "x2"]"#, r#"samples = { field = "split", equals = "test" }"#)]);
    insta::assert_snapshot!(said, @r#"
    error 21:11 <{ field = "split", equals = "test" }> `splits.test.samples` belongs to Mode A, and this spec is of Mode B
      help: write another form of it, or `mode = "a"`
    "#);
}

#[test]
fn several_mistakes_in_source_order() {
    let said = a(&[
        (r#"name = "sort-fast""#, r#"nme = "sort-fast""#),
        (r#"path = "baseline""#, "path = 3"),
        (
            r#"access = "viewable""#,
            r#"access = "visible"
attempt = 1"#,
        ),
        (r#"labels = ["answer"]"#, r#"labels = ["id"]"#),
    ]);
    insta::assert_snapshot!(said, @r#"
    error 1:1 <nme> unknown key `nme` in the spec
      help: did you mean `name`?
    error 6:8 <3> `baseline.path` must be a string, but is a whole number
      help: put it in quotes: "3"
    error 22:10 <"visible"> `splits.train.access` cannot be `visible`
      help: it can be `no_access`, `non_viewable` or `viewable`
    error 23:1 <attempt> unknown key `attempt` in `[splits.train]`
      help: known here: `access`, `budget`, `expose`, `min_samples` or `samples`
    "#);
}

#[test]
fn shape_and_meaning_together() {
    let said = a(&[
        (r#"labels = ["answer"]"#, r#"labels = ["id"]"#),
        (r#"access = "viewable""#, r#"acess = "viewable""#),
    ]);
    insta::assert_snapshot!(said, @r#"
    error 18:11 <"id"> `id` is the rows' id and cannot be hidden from candidates
      help: answers are matched to samples by it; give the label a field of its own
    error 22:1 <acess> unknown key `acess` in `[splits.train]`
      help: did you mean `access`?
    "#);
}
