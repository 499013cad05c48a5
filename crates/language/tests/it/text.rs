//! How files are read and mistakes are shown, whatever the bytes.

use crate::support::{self, A, Space, edited, load_text, said};
use taskwright_language::Severity;

#[test]
fn full_rendering() {
    let text = edited(A, &[(r#"access = "viewable""#, r#"access = "viewble""#), ("\"x2\"", "\"t2\"")]);
    let found = load_text(&text).expect_err("a mistake");
    insta::assert_snapshot!(found.render(false), @r#"
    error: `splits.train.access` cannot be `viewble`
      --> spec.toml:22:10
       |
    22 | access = "viewble"
       |          ^^^^^^^^^
       |
       = help: did you mean `viewable`? it can be `no_access`, `non_viewable` or `viewable`
    "#);
    let found = load_text(edited(A, &[("\"x2\"", "\"t2\"")])).expect_err("a mistake");
    insta::assert_snapshot!(found.render(false), @r#"
    error: the sample `t2` is in the splits `train` and `test`
      --> spec.toml:30:18
       |
    21 | samples = ["t1", "t2", "t3"]
       |                  ---- first here
    ...
    30 | samples = ["x1", "t2"]
       |                  ^^^^
       |
       = help: every sample belongs to one split: what is learnt in one must not be tested in another
    "#);
}

#[test]
fn colours_only_when_asked_for() {
    let found = load_text(edited(A, &[("mode", "mde")])).expect_err("a mistake");
    assert!(!found.render(false).contains('\u{1b}'));
    assert!(found.render(true).contains('\u{1b}'));
    assert_eq!(found.to_string(), found.render(false));
}

#[test]
fn form_for_programs() {
    let found = load_text(edited(A, &[("\"x2\"", "\"t2\"")])).expect_err("a mistake");
    let json = serde_json::to_string_pretty(&found).expect("JSON");
    insta::assert_snapshot!(json, @r#"
    [
      {
        "severity": "error",
        "rule": "splits",
        "file": "spec.toml",
        "line": 30,
        "column": 18,
        "end_column": 22,
        "message": "the sample `t2` is in the splits `train` and `test`",
        "hint": "every sample belongs to one split: what is learnt in one must not be tested in another",
        "label": "",
        "related": [
          {
            "file": "spec.toml",
            "line": 21,
            "column": 18,
            "text": "first here"
          }
        ]
      }
    ]
    "#);
}

#[test]
fn letters_and_tabs_before_the_caret() {
    let text = edited(A, &[("samples = [\"x1\", \"x2\"]", "\tsamples = [\"größe\", \"日本\", 3]")]);
    let found = load_text(&text).expect_err("a mistake");
    insta::assert_snapshot!(found.render(false), @r#"
    error: `splits.test.samples[2]` must be a string, but is a whole number
      --> spec.toml:30:28
       |
    30 |     samples = ["größe", "日本", 3]
       |                                 ^
       |
       = help: put it in quotes: "3"
    "#);
    let first = found.iter().next().expect("one");
    assert_eq!(first.primary.source.position(first.primary.span.start).column, 28);
}

#[test]
fn windows_line_ends() {
    let text = edited(A, &[("mode = \"a\"", "mode = \"a\"\nmodel = \"x\"")]).replace('\n', "\r\n");
    let found = load_text(&text).expect_err("a mistake");
    insta::assert_snapshot!(found.render(false), @r#"
    error: unknown key `model` in the spec
     --> spec.toml:4:1
      |
    4 | model = "x"
      | ^^^^^
      |
      = help: `model` belongs in `[harbor]`
    "#);
    assert!(load_text(A.replace('\n', "\r\n")).is_ok());
}

#[test]
fn byte_order_mark() {
    assert!(load_text(format!("\u{feff}{A}")).is_ok());
    let found = load_text(format!("\u{feff}nme = 1\n{A}")).expect_err("a mistake");
    insta::assert_snapshot!(said(Err(found)), @"
    error 1:1 <nme> unknown key `nme` in the spec
      help: did you mean `name`?
    ");
}

#[test]
fn nothing_at_all() {
    for text in ["", "\n\n", "# only a comment\n", "\u{feff}"] {
        let found = load_text(text).expect_err("a mistake");
        assert_eq!(found.len(), 1, "{text:?}");
        assert!(found.to_string().contains("`name`"), "{text:?}");
        assert!(found.to_string().contains("spec.toml:1:1") || text == "\n\n", "{found}");
    }
    insta::assert_snapshot!(load_text("").expect_err("a mistake").render(false), @"
    error: `baseline`, `description`, `instruction`, `mode`, `name`, `splits` and `targets` are missing in the spec
     --> spec.toml:1:1
      |
    1 |
      | ^
      |
      = help: `baseline`: The repository that the optimizer starts from.
              `description`: One sentence that says what is to be improved.
              `instruction`: What the optimizer reads.
              `mode`: What a sample is: `a`, a row of our own dataset scored by our own scorer; `b`, an inner Harbor task.
              `name`: The task's directory name: lower-case letters, digits and dashes, at most 32 characters.
              `splits`: The named groups of samples, with what the optimizer may learn of each.
              `targets`: What the verifier scores: the first target's score is the task's reward.
    ");
}

#[test]
fn last_line_without_an_end() {
    let found = load_text(format!("{}x = ", A.trim_end())).expect_err("a mistake");
    assert!(found.has_errors());
    let found = load_text("a").expect_err("a mistake");
    insta::assert_snapshot!(said(Err(found)), @"
    error 1:2 <> not TOML: key with no value, expected `=`
      help: see https://toml.io for the notation
    ");
}

#[test]
fn not_utf8() {
    let mut bytes = A.as_bytes().to_vec();
    bytes[8] = 0xff;
    insta::assert_snapshot!(load_text(bytes).expect_err("a mistake").render(false), @r#"
    error: `spec.toml` is not UTF-8 text
     --> spec.toml:1:9
      |
    1 | name = "�ort-fast"
      |         ^
      |
      = help: save the file as UTF-8
    "#);
}

#[test]
fn too_large() {
    let text = format!("{A}# {}", "x".repeat(5 * 1024 * 1024));
    insta::assert_snapshot!(load_text(text).expect_err("a mistake").render(false), @r#"
    error: `spec.toml` is larger than 4 MiB
     --> spec.toml:1:1
      |
    1 |
      | ^
      |
      = help: put long lists of samples in a file of their own: `samples = { file = "..." }`
    "#);
}

#[test]
fn large_but_not_too_large() {
    let ids: Vec<String> = (0..150_000).map(|index| format!("\"sample-{index:010}\"")).collect();
    let list = format!("samples = [{}]", ids.join(", "));
    let text = edited(
        A,
        &[
            ("samples = [\"x1\", \"x2\"]", &list),
            ("[[targets]]", "[limits]\nfinalize_timeout_sec = 9000000\n[[targets]]"),
        ],
    );
    assert_eq!(load_text(&text).expect("a good spec").tasks.len(), 1);
    // One line of megabytes can still be shown.
    let found = load_text(text.replacen("\"sample-0000149999\"", "\"t1\"", 1)).expect_err("a mistake");
    assert!(found.render(false).len() < 10_000);
}

#[test]
fn missing_and_unreadable() {
    let space = Space::new();
    space.write("folder/spec.toml", A);
    insta::assert_snapshot!(space.load("none.toml").expect_err("a mistake").render(false), @"
    error: `none.toml` does not exist
     --> none.toml:1:1
      |
    1 |
      | ^
      |
      = help: create the file, or correct its name
    ");
    insta::assert_snapshot!(space.load("folder").expect_err("a mistake").render(false), @"
    error: `folder` is a folder, not a file
     --> folder:1:1
      |
    1 |
      | ^
      |
      = help: did you mean `folder/spec.toml`?
    ");
    assert_eq!(support::names(space.load("none.toml").expect_err("a mistake").files()), ["none.toml"]);
}

#[cfg(unix)]
#[test]
fn no_permission() {
    use std::os::unix::fs::PermissionsExt;
    let space = Space::new();
    space.write("spec.toml", A);
    let path = space.root().join("spec.toml");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o0)).expect("permissions");
    // Root reads whatever it likes.
    if std::fs::read(&path).is_ok() {
        return;
    }
    insta::assert_snapshot!(said(space.load("spec.toml")), @"
    error 1:1 <> no permission to read `spec.toml`
      help: give it with `chmod u+r spec.toml`, or look at the folders above it
    ");
}

#[test]
fn syntax() {
    insta::assert_snapshot!(said(load_text(edited(A, &[("\"sort-fast\"", "sort-fast")]))), @"
    error 1:8 <sort-fast> not TOML: string values must be quoted, expected literal string
      help: put strings in quotes
    ");
    insta::assert_snapshot!(said(load_text(edited(A, &[("\"sort-fast\"", "\"sort-fast")]))), @r#"
    error 1:18 <> not TOML: invalid basic string, expected `"`
      help: see https://toml.io for the notation
    "#);
    insta::assert_snapshot!(said(load_text(edited(A, &[("[scorer]", "[scorer")]))), @"
    error 11:8 <> not TOML: unclosed table, expected `]`
      help: see https://toml.io for the notation
    ");
}

#[test]
fn keys_written_twice() {
    insta::assert_snapshot!(said(load_text(edited(A, &[("mode", "name = \"x\"\nmode")]))), @"
    error 3:1 <name> `name` is written twice
      also 1:1 <name> first written here
      help: keep one of them: which would win is nothing to guess at
    ");
    insta::assert_snapshot!(said(load_text(edited(A, &[("", "split = \"test\"\n")]))), @"
    error 34:1 <split> `split` is written twice
      also 33:1 <split> first written here
      help: keep one of them: which would win is nothing to guess at
    ");
    insta::assert_snapshot!(said(load_text(edited(A, &[("", "[splits.train]\nsamples = [\"z\"]\n")]))), @"
    error 34:9 <train> `train` is written twice
      also 20:9 <train> first written here
      help: keep one of them: which would win is nothing to guess at
    ");
    insta::assert_snapshot!(said(load_text(edited(A, &[("mode", "images = { main = \"a\", main = \"b\" }\nmode")]))), @"
    error 3:24 <main> `main` is written twice
      also 3:12 <main> first written here
      help: keep one of them: which would win is nothing to guess at
    ");
    insta::assert_snapshot!(said(load_text(edited(A, &[("mode", "images.main = \"a\"\nimages.main = \"b\"\nmode")]))), @"
    error 4:8 <main> `main` is written twice
      also 3:8 <main> first written here
      help: keep one of them: which would win is nothing to guess at
    ");
}

#[test]
fn nested_too_deep() {
    let deep = 100_000;
    for text in [
        format!("x = {}{}", "[".repeat(deep), "]".repeat(deep)),
        format!("x = {}", "{a=".repeat(deep)),
        format!("{}x = 1", "a.".repeat(deep)),
        format!("[{}x]", "a.".repeat(deep)),
        format!("x = {}", "[{a.b.c.d=".repeat(deep)),
        "[a\n".repeat(deep),
        "]".repeat(deep),
    ] {
        assert!(load_text(text).expect_err("a mistake").has_errors());
    }
    insta::assert_snapshot!(said(load_text(format!("x = {}", "[".repeat(99)))), @"
    error 1:37 <[> tables and lists lie too deep in each other
      help: nobody needs more than 32 levels
    ");
}

#[test]
fn warnings_do_not_stop() {
    let loaded = load_text(edited(A, &[("mode = \"a\"", "mode = \"a\"\nverifier = \"shared\"")]))
        .expect("a good spec");
    assert_eq!(loaded.tasks.len(), 1);
    assert!(loaded.warnings.iter().all(|item| item.severity == Severity::Warning));
    assert!(!loaded.warnings.has_errors());
}

#[test]
fn very_many_mistakes_are_not_all_written_out() {
    let many: Vec<String> = (0..500).map(|index| format!("unknown_{index:03} = 1")).collect();
    let found = load_text(format!("{}\n{A}", many.join("\n"))).expect_err("a mistake");
    assert_eq!(found.len(), 500);
    assert!(found.render(false).ends_with("... and 450 more"));
}

#[test]
fn later_mistakes_find_their_place() {
    let loaded = load_text(A).expect("a good spec");
    let task = &loaded.tasks[0];
    insta::assert_snapshot!(task.error(&["baseline", "path"], "there is no folder `baseline`", "create it"), @r#"
    error: there is no folder `baseline`
     --> spec.toml:6:8
      |
    6 | path = "baseline"
      |        ^^^^^^^^^^
      |
      = help: create it
    "#);
    // A field that was left out is shown at its table; one of a table that was left out, at the top.
    insta::assert_snapshot!(task.warning(&["baseline", "rev"], "no commit", "commit"), @"
    warning: no commit
     --> spec.toml:5:1
      |
    5 | [baseline]
      | ^^^^^^^^^^
      |
      = help: commit
    ");
    insta::assert_snapshot!(task.error(&["limits", "concurrency"], "too many", "fewer"), @r#"
    error: too many
     --> spec.toml:1:1
      |
    1 | name = "sort-fast"
      | ^^^^^^^^^^^^^^^^^^
      |
      = help: fewer
    "#);
    insta::assert_snapshot!(task.error(&["targets", "0", "split"], "no such samples", "x"), @r#"
    error: no such samples
      --> spec.toml:33:9
       |
    33 | split = "test"
       |         ^^^^^^
       |
       = help: x
    "#);
    assert_eq!(task.file(), "spec.toml");
}
