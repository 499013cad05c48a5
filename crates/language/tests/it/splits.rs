//! Mistakes in splits, selection and targets.

use crate::support::{a, b};

#[test]
fn no_split() {
    let said = a(&[(
        r#"[splits.train]
samples = ["t1", "t2", "t3"]
access = "viewable"

[splits.validation]
samples = ["v1", "v2", "v3"]
access = "non_viewable"
min_samples = 2

[splits.test]
samples = ["x1", "x2"]
"#,
        "[splits]\n",
    )]);
    insta::assert_snapshot!(said, @"
    error 20:1 <[splits]> there is no split
      help: add one: `[splits.test]` with its `samples`
    ");
}

#[test]
fn split_names() {
    let said = a(&[(
        "",
        r#"[splits."a b"]
samples = ["n1"]
[splits.auto]
samples = ["n2"]
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 34:9 <"a b"> `a b` cannot be the name of a split
      help: use letters, digits, `-` and `_`: it is typed on command lines
    error 36:9 <auto> a split cannot be called `auto`
      help: `selection.split = "auto"` has a meaning of its own; take another name
    "#);
}

#[test]
fn empty_list() {
    let said = a(&[(r#"samples = ["x1", "x2"]"#, "samples = []")]);
    insta::assert_snapshot!(said, @r#"
    error 30:11 <[]> the list of samples is empty
      help: name at least one, or write "all"
    "#);
}

#[test]
fn sample_twice_in_a_split() {
    let said = a(&[(r#"["t1", "t2", "t3"]"#, r#"["t1", "t2", "t1"]"#)]);
    insta::assert_snapshot!(said, @r#"
    error 21:24 <"t1"> the sample `t1` is named twice
      also 21:12 <"t1"> first here
      help: take one of them out
    "#);
}

#[test]
fn sample_in_two_splits() {
    let said = a(&[(r#"["x1", "x2"]"#, r#"["x1", "t2"]"#)]);
    insta::assert_snapshot!(said, @r#"
    error 30:18 <"t2"> the sample `t2` is in the splits `train` and `test`
      also 21:18 <"t2"> first here
      help: every sample belongs to one split: what is learnt in one must not be tested in another
    "#);
}

#[test]
fn sample_ids() {
    let said = a(&[(r#"["x1", "x2"]"#, r#"["", " x", "a\nb"]"#)]);
    insta::assert_snapshot!(said, @r#"
    error 30:12 <""> `` cannot be the id of a sample
      help: ids are not empty, and have no spaces at their ends and no control characters
    error 30:16 <" x"> ` x` cannot be the id of a sample
      help: ids are not empty, and have no spaces at their ends and no control characters
    error 30:22 <"a\nb"> `a\nb` cannot be the id of a sample
      help: ids are not empty, and have no spaces at their ends and no control characters
    "#);
}

#[test]
fn all_beside_another_split() {
    let said = a(&[(r#"["x1", "x2"]"#, r#""all""#)]);
    insta::assert_snapshot!(said, @r#"
    error 30:11 <"all"> the split `test` holds all samples, also those of `train`
      also 21:11 <["t1", "t2", "t3"]> also here
      help: every sample belongs to one split; list those of each
    "#);
}

#[test]
fn same_file_in_two_splits() {
    let said = a(&[
        (r#"["x1", "x2"]"#, r#"{ file = "ids.txt" }"#),
        (r#"["t1", "t2", "t3"]"#, r#"{ file = "./ids.txt" }"#),
    ]);
    insta::assert_snapshot!(said, @r#"
    error 30:11 <{ file = "ids.txt" }> the splits `train` and `test` hold the same samples
      also 21:11 <{ file = "./ids.txt" }> also here
      help: every sample belongs to one split
    "#);
}

#[test]
fn same_filter_in_two_splits() {
    let said = a(&[
        (r#"["x1", "x2"]"#, r#"{ field = "s", equals = "x" }"#),
        (r#"["t1", "t2", "t3"]"#, r#"{ field = "s", equals = "x" }"#),
    ]);
    insta::assert_snapshot!(said, @r#"
    error 30:11 <{ field = "s", equals = "x" }> the splits `train` and `test` hold the same samples
      also 21:11 <{ field = "s", equals = "x" }> also here
      help: every sample belongs to one split
    "#);
}

#[test]
fn floor_on_a_viewable_split() {
    let said = a(&[(
        r#"access = "viewable""#,
        r#"access = "viewable"
min_samples = 2"#,
    )]);
    insta::assert_snapshot!(said, @"
    error 23:1 <min_samples> `min_samples` means nothing on a split that is `viewable`
      help: it is the floor of a `non_viewable` split; leave it out, or change the access
    ");
}

#[test]
fn floor_on_a_held_out_split() {
    let said = a(&[(
        r#"["x1", "x2"]"#,
        r#"["x1", "x2"]
min_samples = 2"#,
    )]);
    insta::assert_snapshot!(said, @"
    error 31:1 <min_samples> `min_samples` means nothing on a split that is `no_access`
      help: it is the floor of a `non_viewable` split; leave it out, or change the access
    ");
}

#[test]
fn floor_of_zero() {
    let said = a(&[("min_samples = 2", "min_samples = 0")]);
    insta::assert_snapshot!(said, @"
    error 27:15 <0> `min_samples` must be at least 1
      help: it is the fewest samples that one evaluation takes
    ");
}

#[test]
fn floor_above_the_list() {
    let said = a(&[("min_samples = 2", "min_samples = 4")]);
    insta::assert_snapshot!(said, @"
    error 27:15 <4> the split `validation` has 3 samples, and an evaluation of it takes at least 4
      help: write `min_samples` of at most 3, or add samples
    ");
}

#[test]
fn floor_left_to_its_default() {
    let said = a(&[("min_samples = 2\n", "")]);
    insta::assert_snapshot!(said, @r#"
    error 25:11 <["v1", "v2", "v3"]> the split `validation` has 3 samples, and an evaluation of it takes at least 5
      help: write `min_samples` of at most 3, or add samples
    "#);
}

#[test]
fn budget_below_the_floor() {
    let said = a(&[("min_samples = 2", "min_samples = 2\nbudget = { samples = 1 }")]);
    insta::assert_snapshot!(said, @"
    error 28:22 <1> a budget of 1 samples never pays for an evaluation of at least 2
      help: raise it, or lower `min_samples`
    ");
}

#[test]
fn expose_of_tasks_that_are_not_here() {
    let source = r#"source = { path = "inner-tasks" }"#;
    let registry = (source, r#"source = { registry = "org/tasks", version = "1.0" }"#);
    let exposed = ("access = \"viewable\"", "access = \"viewable\"\nexpose = true");
    assert_eq!(b(&[exposed]), "fine");
    insta::assert_snapshot!(b(&[registry, exposed]), @r#"
    error 19:10 <true> the tasks of a registry are not here when this task is built, so none can be shown to the optimizer
      help: leave `expose` out, or fetch the tasks and name their folder in `harbor.source`
    "#);
}

#[test]
fn expose_on_a_non_viewable_split() {
    let said = a(&[("min_samples = 2", "min_samples = 2\nexpose = true")]);
    insta::assert_snapshot!(said, @"
    error 28:10 <true> the samples of a split that is `non_viewable` cannot be exposed
      help: only a `viewable` split's samples may lie in the optimizer's container
    ");
}

#[test]
fn budget_on_a_held_out_split() {
    let said = a(&[(
        r#"["x1", "x2"]"#,
        r#"["x1", "x2"]
budget = { runs = 2, samples = "unlimited" }"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 31:12 <runs> a budget means nothing on a split that is `no_access`
      help: leave it out, or give the split `access = "viewable"` or `"non_viewable"`
    error 31:22 <samples> a budget means nothing on a split that is `no_access`
      help: leave it out, or give the split `access = "viewable"` or `"non_viewable"`
    "#);
}

#[test]
fn budget_of_nothing() {
    let said = a(&[(
        r#"access = "viewable""#,
        r#"access = "viewable"
budget = { runs = 0 }"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 23:19 <0> a budget of 0 allows no evaluation
      help: to hold the split out write `access = "no_access"`
    "#);
}

#[test]
fn nothing_can_be_evaluated() {
    let said = a(&[
        (
            r#"access = "viewable"
"#,
            "",
        ),
        (
            r#"access = "non_viewable"
min_samples = 2
"#,
            "",
        ),
    ]);
    insta::assert_snapshot!(said, @r#"
    warning 20:2 <splits> the optimizer may evaluate no split at all
      help: give one of them `access = "viewable"` or `"non_viewable"`
    "#);
}

#[test]
fn selection_cannot_be_told() {
    let said = a(&[("[splits.validation]", "[splits.dev]")]);
    insta::assert_snapshot!(said, @r#"
    error 1:1 <name = "sort-fast"> which split ranks the candidates? `dev` or `train` can be evaluated
      help: name one in `[selection]`: `split = "..."`
    "#);
}

#[test]
fn selection_of_an_unknown_split() {
    let said = a(&[(
        "",
        r#"[selection]
split = "validaton"
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 35:9 <"validaton"> there is no split `validaton`
      help: did you mean `validation`? it can be `test`, `train` or `validation`
    "#);
}

#[test]
fn selection_of_a_held_out_split() {
    let said = a(&[(
        "",
        r#"[selection]
split = "test"
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 35:9 <"test"> the split `test` can rank nothing: the optimizer may not evaluate it
      also 29:1 <[splits.test]> no_access
      help: candidates are ranked by its evaluations; it can be `train` or `validation`
    "#);
}

#[test]
fn coverage_out_of_range() {
    let said = a(&[("", "[selection]\nmin_coverage = 1.5\n")]);
    insta::assert_snapshot!(said, @"
    error 35:16 <1.5> `min_coverage` must lie between 0 and 1, but is 1.5
      help: it is a share: 0.1 is 10 %
    ");
}

#[test]
fn no_rescore_attempts() {
    let said = a(&[("", "[selection]\nrescore_attempts = 0\n")]);
    insta::assert_snapshot!(said, @"
    error 35:20 <0> `rescore_attempts` must be at least 1
      help: to score nothing again write `rescore_top_k = 0`
    ");
}

#[test]
fn no_target() {
    let said = a(&[
        (
            r#"[[targets]]
split = "test"
"#,
            "",
        ),
        ("description", "targets = []\ndescription"),
    ]);
    insta::assert_snapshot!(said, @"
    error 2:11 <[]> there is no target
      help: add one: `[[targets]]` with its `split`
    ");
}

#[test]
fn target_on_an_unknown_split() {
    let said = a(&[(r#"split = "test""#, r#"split = "tests""#)]);
    insta::assert_snapshot!(said, @r#"
    error 33:9 <"tests"> there is no split `tests`
      help: did you mean `test`? it can be `test`, `train` or `validation`
    "#);
}

#[test]
fn target_on_a_viewable_split() {
    let said = a(&[(r#"split = "test""#, r#"split = "train""#)]);
    insta::assert_snapshot!(said, @r#"
    error 33:9 <"train"> the optimizer may read the results of `train`, so it cannot be a target
      also 22:10 <"viewable"> viewable
      help: score a split that it cannot see: `access = "no_access"`
    "#);
}

#[test]
fn target_on_a_non_viewable_split() {
    let said = a(&[(r#"split = "test""#, r#"split = "validation""#)]);
    insta::assert_snapshot!(said, @r#"
    warning 33:9 <"validation"> the optimizer may evaluate `validation`, so its reward can be fitted to
      help: a target is best held out: `access = "no_access"`
    "#);
}

#[test]
fn target_samples() {
    let said = a(&[(
        r#"split = "test""#,
        r#"split = "test"
samples = ["x1", "x3", "x1"]"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 34:18 <"x3"> the split `test` has no sample `x3`
      help: did you mean `x1`?
    error 34:24 <"x1"> the sample `x1` is named twice
      also 34:12 <"x1"> first here
      help: take one of them out
    "#);
}

#[test]
fn target_without_samples() {
    let said = a(&[(
        r#"split = "test""#,
        r#"split = "test"
samples = []"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 34:11 <[]> the list of samples is empty
      help: name at least one, or write "all"
    "#);
}

#[test]
fn reward_key_twice() {
    let said = a(&[(
        "",
        r#"[[targets]]
split = "test"
[[targets]]
split = "test"
reward_key = "reward"
"#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 34:1 <[[targets]]> two targets have the reward key `reward`
      also 32:1 <[[targets]]> first here
      help: give each a key of its own: in reward.json one would overwrite the other
    error 38:14 <"reward"> two targets have the reward key `reward`
      also 34:1 <[[targets]]> first here
      help: give each a key of its own: in reward.json one would overwrite the other
    "#);
}

#[test]
fn reward_key_empty() {
    let said = a(&[(
        r#"split = "test""#,
        r#"split = "test"
reward_key = """#,
    )]);
    insta::assert_snapshot!(said, @r#"
    error 34:14 <""> `` cannot be the key of a reward
      help: for example "reward"
    "#);
}

#[test]
fn target_attempts() {
    let said = a(&[(
        r#"split = "test""#,
        r#"split = "test"
attempts = 0
max_attempts = 0"#,
    )]);
    insta::assert_snapshot!(said, @"
    error 34:12 <0> `attempts` must be at least 1
      help: 1 scores each sample once
    error 35:16 <0> `max_attempts` must be at least 1
      help: 1 tries the target once
    ");
}
