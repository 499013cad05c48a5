//! Parameters and the matrix.

use crate::support::{A, B, Space, edited, load_text, said};

fn with(
    text: &str,
    set: &[(&str, &str)],
) -> Result<taskwright_language::Loaded, taskwright_language::Diagnostics> {
    let space = Space::new();
    space.write("spec.toml", text);
    space.load_with("spec.toml", set)
}

const PARAMS: &str = "[params]\nwho = \"Ada\"\ncount = 3\nshare = 0.5\non = true\nid = \"x1\"\n";

fn params(edits: &[(&str, &str)]) -> String {
    let mut all = vec![("", PARAMS)];
    all.extend(edits);
    edited(A, &all)
}

#[test]
fn references_take_the_parameters_type() {
    let text = params(&[
        ("\"Sort numbers faster.\"", "\"By ${who}, ${count} times $${who} ${on} $\""),
        (
            "access = \"viewable\"",
            "access = \"viewable\"\nbudget = { runs = \"${count}\" }\nexpose = \"${on}\"",
        ),
        ("[params]", "[selection]\nmin_coverage = \"${share}\"\n[agent_env]\nCOUNT = \"${count}\"\n[params]"),
        ("\"x1\"", "\"${id}\""),
    ]);
    let spec = &load_text(&text).expect("a good spec").tasks[0].spec;
    assert_eq!(spec.description, "By Ada, 3 times ${who} true $");
    assert_eq!(spec.splits["train"].budget.runs.at_most(), Some(3));
    assert!(spec.splits["train"].expose);
    assert!((spec.selection.min_coverage - 0.5).abs() < f64::EPSILON);
    assert_eq!(spec.agent_env["COUNT"], "3");
    let set = [("who", "${on} \"you\""), ("count", "7"), ("share", "1"), ("on", "false")];
    let spec = &with(&text, &set).expect("a good spec").tasks[0].spec;
    assert_eq!(spec.description, "By ${on} \"you\", 7 times ${who} false $");
    assert!(!spec.splits["train"].expose);
}

#[test]
fn undefined_and_broken_references() {
    insta::assert_snapshot!(said(load_text(params(&[("\"Sort numbers faster.\"", "\"a ${whom} ${WHO:-x} ${}\"")]))), @"
    error 2:18 <${whom}> `${whom}`: there is no parameter `whom`
      help: did you mean `who`? declared are `count`, `id`, `on`, `share` or `who`; `$${` is a literal `${`
    error 2:26 <${WHO:-x> `${WHO:-x}` is not a reference to a parameter
      help: write `${name}` for a parameter, and `$${` where `${` itself is meant
    ");
    insta::assert_snapshot!(said(load_text(params(&[("\"Sort numbers faster.\"", "\"${who\"")]))), @"
    error 2:16 <${who> `${who` has no closing `}`
      help: write `${name}` for a parameter, and `$${` where `${` itself is meant
    ");
    insta::assert_snapshot!(said(load_text(params(&[("\"Sort numbers faster.\"", "\"${whom}\"")]))), @"
    error 2:16 <${whom}> `${whom}`: there is no parameter `whom`
      help: did you mean `who`? declared are `count`, `id`, `on`, `share` or `who`; `$${` is a literal `${`
    ");
    insta::assert_snapshot!(said(load_text(edited(A, &[("\"Sort numbers faster.\"", "\"${whom}\"")]))), @"
    error 2:16 <${whom}> `${whom}`: there is no parameter `whom`
      help: declare it under `[params]`: none is declared; `$${` is a literal `${`
    ");
}

#[test]
fn values_of_the_wrong_type_say_where_they_come_from() {
    insta::assert_snapshot!(said(load_text(params(&[("[params]", "[limits]\nconcurrency = \"${who}\"\n[params]")]))), @r#"
    error 35:15 <"${who}"> `limits.concurrency` must be a whole number, but is a string
      also 37:7 <"Ada"> the value comes from here
      help: How many samples, or inner trials, run at once.
    "#);
}

#[test]
fn declarations() {
    insta::assert_snapshot!(said(load_text(edited(A, &[("", "[params]\n\"a b\" = 1\nc = [1]\nd = \"${a}\"\ne = \"$${a}\"\n")]))), @r#"
    error 35:1 <"a b"> `a b` cannot be the name of a parameter
      help: names are made of letters, digits, `_` and `-`
    error 36:5 <[1]> `params.c` must be `true` or `false`, a whole number, a number, a string or a table, but is a list
    error 37:6 <${> a parameter cannot refer to another
      help: write the value itself; `$${` is a literal `${`
    "#);
}

#[test]
fn a_parameter_without_a_default_is_given_by_each_build() {
    let text = edited(
        A,
        &[
            ("\"Sort numbers faster.\"", "\"For ${whom}\""),
            (
                "",
                "[limits]\nconcurrency = \"${count}\"\n\n[params]\nwhom = { required = \"who reads it\" }\ncount = { required = \"how many\" }\n",
            ),
        ],
    );
    insta::assert_snapshot!(said(load_text(&text)), @r#"
    error 38:8 <{ required = "who reads it" }> the parameter `whom` has no value: who reads it
      help: give it one with `--set whom=VALUE`
    error 39:9 <{ required = "how many" }> the parameter `count` has no value: how many
      help: give it one with `--set count=VALUE`
    "#);
    // It has no type of its own: what is typed is what the field takes.
    for whom in ["Ada", "007", "12", "true", "1.50"] {
        let loaded = with(&text, &[("whom", whom), ("count", "12")]).unwrap();
        let spec = &loaded.tasks[0].spec;
        assert_eq!(
            (spec.description.as_str(), spec.limits.concurrency),
            (format!("For {whom}").as_str(), 12)
        );
    }
    insta::assert_snapshot!(said(load_text(edited(A, &[("", "[params]\na = { required = \"\" }\nb = { require = \"x\" }\n")]))), @r#"
    error 35:18 <""> `params.a.required` must not be empty
      help: What the value is for, which is said where none is given.
    error 36:7 <require> unknown key `require` in `[params.b]`
      help: did you mean `required`?
    "#);
}

#[test]
fn the_command_line() {
    insta::assert_snapshot!(said(with(&params(&[]), &[("count", "many"), ("on", "yes")])), @"
    error 36:9 <3> `--set count=many`: `count` is a whole number
      help: give a value of the same type as the default
    error 38:6 <true> `--set on=yes`: `on` is a truth value
      help: give a value of the same type as the default
    ");
}

#[test]
fn a_name_of_another_spec_is_let_pass_and_the_own_ones_are_told() {
    let loaded = with(&params(&[]), &[("elsewhere", "x")]).unwrap();
    assert_eq!(
        loaded.names.iter().map(String::as_str).collect::<Vec<_>>(),
        ["count", "id", "on", "share", "who"]
    );
}

#[test]
fn parameters_of_parents() {
    let space = Space::new();
    space.write("base.toml", params(&[("\"Sort numbers faster.\"", "\"By ${who}.\"")]));
    space.write("spec.toml", "extends = \"base.toml\"\n[params]\nwho = \"Bob\"\n");
    assert_eq!(space.load("spec.toml").expect("a good spec").tasks[0].spec.description, "By Bob.");
}

#[test]
fn paths_with_parameters() {
    let text = params(&[("\"rows.jsonl\"", "\"data/${who}/../rows.jsonl\"")]);
    let spec = &load_text(&text).expect("a good spec").tasks[0].spec;
    assert_eq!(spec.dataset.as_ref().expect("a dataset").path.as_path(), "data/rows.jsonl");
    let found = said(with(&text, &[("who", "../../..")]));
    assert!(found.contains("leads out of the workspace"), "{found}");
}

#[test]
fn mode_b_variables_are_written_with_two_dollars() {
    let text = edited(
        B,
        &[
            ("mode = \"b\"", "mode = \"b\"\nsecrets = [\"KEY\"]"),
            ("agent =", "agent_env = { KEY = \"$${KEY}\" }\nagent ="),
        ],
    );
    let spec = &load_text(&text).expect("a good spec").tasks[0].spec;
    assert_eq!(spec.harbor.as_ref().expect("harbor").agent_env["KEY"], "${KEY}");
}

fn matrix(axes: &str, name: &str) -> String {
    edited(A, &[("\"sort-fast\"", &format!("\"{name}\"")), ("", &format!("[matrix]\n{axes}\n"))])
}

#[test]
fn combinations_come_in_the_order_of_names_and_values() {
    let loaded =
        load_text(matrix("size = [10, 2]\nkind = [\"b\", \"a\"]", "s-${size}-${kind}")).expect("a good spec");
    let names: Vec<&str> = loaded.tasks.iter().map(|task| task.spec.name.as_str()).collect();
    assert_eq!(names, ["s-10-b", "s-2-b", "s-10-a", "s-2-a"]);
}

#[test]
fn a_value_of_an_axis_can_be_picked() {
    let text = matrix("size = [10, 2]\nkind = [\"b\", \"a\"]", "s-${size}-${kind}");
    let loaded = with(&text, &[("size", "2")]).expect("a good spec");
    let names: Vec<&str> = loaded.tasks.iter().map(|task| task.spec.name.as_str()).collect();
    assert_eq!(names, ["s-2-b", "s-2-a"]);
    insta::assert_snapshot!(said(with(&text, &[("size", "3")])), @"
    error 35:9 <10> `--set size=3`: no value of that axis
      help: its values are `10` or `2`
    ");
}

#[test]
fn mistakes_in_a_matrix() {
    insta::assert_snapshot!(said(load_text(matrix("size = [1, 2]\nkind = [\"a\"]", "s-${size}"))), @r#"
    error 1:8 <"s-${size}"> `name` does not use the axis `kind`
      also 36:1 <kind> the axis
      help: every task needs a name of its own: put `${kind}` into `name`, as in `name = "s-${size}-${kind}"`
    "#);
    insta::assert_snapshot!(said(load_text(matrix("size = []", "s-${size}"))), @"
    error 35:8 <[]> the axis `size` has no values
      help: an axis without values makes no task at all; give it one, or take it out
    ");
    insta::assert_snapshot!(said(load_text(matrix("size = [1, 2, 1]", "s-${size}"))), @"
    error 35:15 <1> the axis `size` has this value twice
      also 35:9 <1> first here
      help: take one of them out
    ");
    insta::assert_snapshot!(said(load_text(matrix("x = [1, 11]\ny = [1, 11]", "s${x}${y}"))), @r#"
    error 1:8 <"s${x}${y}"> two combinations are both named `s111`
      help: put something between the axes in `name`, for example a dash
    "#);
    insta::assert_snapshot!(said(load_text(matrix("size = [[1]]\nkind = 3", "s-${size}-${kind}"))), @"
    error 35:9 <[1]> `matrix.size[0]` must be `true` or `false`, a whole number, a number or a string, but is a list
    error 36:8 <3> `matrix.kind` must be a list, but is a whole number
    ");
    insta::assert_snapshot!(said(load_text(matrix("size = [1]\n[params]\nsize = 3", "s-${size}"))), @"
    error 35:1 <size> `size` is an axis and a parameter
      also 37:8 <3> the parameter
      help: an axis is a parameter already; take it out of `[params]`
    ");
}

#[test]
fn too_many_combinations() {
    let axis = format!("[{}]", (0..101).map(|value| value.to_string()).collect::<Vec<_>>().join(", "));
    insta::assert_snapshot!(said(load_text(matrix(&format!("a = {axis}\nb = {axis}"), "s-${a}-${b}"))), @"
    error 34:2 <matrix> the matrix makes more than 10000 tasks
      help: take out values, or split the spec
    ");
}

#[test]
fn a_mistake_of_every_combination_is_said_once() {
    let text = edited(&matrix("size = [1, 2, 3]", "s-${size}"), &[("\"viewable\"", "\"viewble\"")]);
    assert_eq!(load_text(text).expect_err("a mistake").len(), 1);
}
