//! Inheritance: what merges, what is replaced, whose place a mistake has, whose folder a path is relative to.

use crate::support::{A, Space, edited, names, said};

#[test]
fn tables_merge_and_the_rest_is_replaced() {
    let space = Space::new();
    space
        .write("shared/base.toml", edited(A, &[("labels = [\"answer\"]", "labels = [\"answer\", \"why\"]")]));
    space.write(
        "tasks/spec.toml",
        "extends = \"../shared/base.toml\"\nname = \"other\"\n[scorer]\nbatch = 4\n[dataset]\nlabels = [\"x\"]\n\
         [splits.test]\nsamples = { file = \"ids.txt\" }\n",
    );
    let loaded = space.load("tasks/spec.toml").expect("a good spec");
    assert_eq!(names(&loaded.files), ["tasks/spec.toml", "shared/base.toml"]);
    let spec = &loaded.tasks[0].spec;
    assert_eq!(spec.name, "other");
    let scorer = spec.scorer.as_ref().expect("a scorer");
    assert_eq!((scorer.batch, scorer.path.as_path().as_str()), (4, "shared/scorer"));
    assert_eq!(spec.dataset.as_ref().expect("a dataset").labels, ["x"]);
    assert_eq!(spec.extends.as_ref().expect("a parent").as_path(), "shared/base.toml");
    let test = serde_json::to_value(&spec.splits["test"].samples).expect("JSON");
    assert_eq!(test, serde_json::json!({ "file": "tasks/ids.txt" }));
}

#[test]
fn a_choice_of_forms_is_replaced_whole() {
    let space = Space::new();
    space.write("base.toml", edited(A, &[("samples = [\"x1\", \"x2\"]", "samples = { file = \"a.txt\" }")]));
    space.write(
        "spec.toml",
        "extends = \"base.toml\"\n[splits.test]\nsamples = { field = \"f\", equals = \"v\" }\n",
    );
    let loaded = space.load("spec.toml").expect("a good spec");
    let test = serde_json::to_value(&loaded.tasks[0].spec.splits["test"].samples).expect("JSON");
    assert_eq!(test, serde_json::json!({ "field": "f", "equals": "v" }));
}

#[test]
fn three_generations() {
    let space = Space::new();
    space.write("a/base.toml", A);
    space.write("b/middle.toml", "extends = \"../a/base.toml\"\nversion = \"2.0.0\"\nkeywords = [\"b\"]\n");
    space.write("spec.toml", "extends = \"b/middle.toml\"\nkeywords = [\"c\"]\n");
    let loaded = space.load("spec.toml").expect("a good spec");
    let spec = &loaded.tasks[0].spec;
    assert_eq!((spec.version.as_str(), spec.keywords.as_slice()), ("2.0.0", ["c".to_owned()].as_slice()));
    assert_eq!(names(&loaded.files), ["spec.toml", "b/middle.toml", "a/base.toml"]);
}

#[test]
fn mistakes_are_shown_in_the_file_that_made_them() {
    let space = Space::new();
    space.write(
        "base.toml",
        edited(A, &[("labels = [\"answer\"]", "labels = [\"id\"]"), ("\"scorer\"", "\"../x\"")]),
    );
    space.write("spec.toml", "extends = \"base.toml\"\nnme = \"x\"\n[splits.test]\nsamples = [\"t1\"]\n");
    insta::assert_snapshot!(said(space.load("spec.toml")), @r#"
    error 2:1 <nme> unknown key `nme` in the spec
      help: did you mean `name`?
    error 4:12 <"t1"> the sample `t1` is in the splits `train` and `test`
      also base.toml:21:12 <"t1"> first here
      help: every sample belongs to one split: what is learnt in one must not be tested in another
    error base.toml:12:8 <"../x"> `../x` leads out of the workspace
      help: move what it names into the workspace, so that every clone has it
    error base.toml:18:11 <"id"> `id` is the rows' id and cannot be hidden from candidates
      help: answers are matched to samples by it; give the label a field of its own
    "#);
    space.write("base.toml", edited(A, &[("labels = [\"answer\"]", "labels = [\"id\"]")]));
    space.write("spec.toml", "extends = \"base.toml\"\n[splits.test]\nsamples = [\"t1\"]\n");
    let found = space.load("spec.toml").expect_err("a mistake");
    insta::assert_snapshot!(found.render(false), @r#"
    error: the sample `t1` is in the splits `train` and `test`
      --> spec.toml:3:12
       |
     3 | samples = ["t1"]
       |            ^^^^
       |
      ::: base.toml:21:12
       |
    21 | samples = ["t1", "t2", "t3"]
       |            ---- first here
       |
       = help: every sample belongs to one split: what is learnt in one must not be tested in another

    error: `id` is the rows' id and cannot be hidden from candidates
      --> base.toml:18:11
       |
    18 | labels = ["id"]
       |           ^^^^
       |
       = help: answers are matched to samples by it; give the label a field of its own
    "#);
}

#[test]
fn later_mistakes_are_shown_in_the_file_that_says_the_field() {
    let space = Space::new();
    space.write("base.toml", A);
    space.write("spec.toml", "extends = \"base.toml\"\n[scorer]\nbatch = 2\n");
    let loaded = space.load("spec.toml").expect("a good spec");
    let path = loaded.tasks[0].error(&["scorer", "path"], "not there", "");
    assert_eq!(path.primary.source.name(), "base.toml");
    let batch = loaded.tasks[0].error(&["scorer", "batch"], "too many", "");
    assert_eq!(batch.primary.source.name(), "spec.toml");
}

#[test]
fn circles() {
    let space = Space::new();
    space.write("a.toml", "extends = \"b.toml\"\n").write("b.toml", "extends = \"./x/../c.toml\"\n");
    space.write("c.toml", "extends = \"a.toml\"\n").write("self.toml", "extends = \"self.toml\"\n");
    let found = space.load("a.toml").expect_err("a mistake");
    assert_eq!(names(found.files()), ["a.toml", "b.toml", "c.toml"]);
    insta::assert_snapshot!(said(Err(found)), @r#"
    error c.toml:1:11 <"a.toml"> `extends` goes round in a circle: a.toml -> b.toml -> c.toml -> a.toml
      help: a file cannot inherit from itself; take out one of these lines
    "#);
    insta::assert_snapshot!(said(space.load("self.toml")), @r#"
    error self.toml:1:11 <"self.toml"> `extends` goes round in a circle: self.toml -> self.toml
      help: a file cannot inherit from itself; take out one of these lines
    "#);
}

#[test]
fn too_many_generations() {
    let space = Space::new();
    for index in 0..20 {
        space.write(&format!("s{index}.toml"), format!("extends = \"s{}.toml\"\n", index + 1));
    }
    insta::assert_snapshot!(said(space.load("s0.toml")), @r#"
    error s15.toml:1:11 <"s16.toml"> more than 16 files extend each other
      help: put what they share into fewer
    "#);
}

#[test]
fn parents_that_cannot_be_had() {
    let space = Space::new();
    space.write("spec.toml", edited(A, &[("mode", "extends = \"base.toml\"\nmode")]));
    let found = space.load("spec.toml").expect_err("a mistake");
    // What is looked for is watched too: it may be created.
    assert_eq!(names(found.files()), ["spec.toml", "base.toml"]);
    insta::assert_snapshot!(found.render(false), @r#"
    error: `base.toml` does not exist
     --> spec.toml:3:11
      |
    3 | extends = "base.toml"
      |           ^^^^^^^^^^^
      |
      = help: create the file, or correct its name
    "#);
    for (value, part) in [
        ("\"../up.toml\"", "leads out"),
        ("\"/abs.toml\"", "absolute"),
        ("\"${p}.toml\"", "cannot use parameters"),
        ("3", "must be a string"),
        ("\"\"", "must not be empty"),
    ] {
        space.write("spec.toml", edited(A, &[("mode", &format!("extends = {value}\nmode"))]));
        let found = said(space.load("spec.toml"));
        assert!(found.contains(part), "{value}: {found}");
    }
}

#[test]
fn mistakes_of_a_parents_syntax() {
    let space = Space::new();
    space.write("base.toml", "a = \n").write("spec.toml", "extends = \"base.toml\"\n");
    insta::assert_snapshot!(said(space.load("spec.toml")), @"
    error base.toml:1:5 <> not TOML: string values must be quoted, expected literal string
      help: put strings in quotes
    ");
}
