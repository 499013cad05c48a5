//! A release: what goes out, what its versions have to be, and what keeps it from going out.

use std::fs;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use taskwright_base::rule::Rule;
use taskwright_builder::release::{Moved, Release, last, plan};
use taskwright_language::Fix;
use taskwright_testing::{needs_harbor, test};

use crate::support::{TestSpace, look, wait_a_tick};

/// A space with a data set, whose images are pinned and whose lock is committed.
fn space() -> TestSpace {
    let space = TestSpace::new();
    space.write(".gitignore", "/target/\n");
    for task in ["alpha", "beta"] {
        let path = format!("harbor-tasks/{task}/spec.toml");
        let image = format!("image:1@sha256:{}", "a".repeat(64));
        let images = format!("[images]\nmain = \"{image}\"\nsidecar = \"{image}\"\nverifier = \"{image}\"\n");
        space.write(&path, space.read(&path) + &images);
    }
    space.write(
        "harbor-tasks/dataset.toml",
        "# Ours.\n[dataset]\nname = \"acme/set\"\ndescription = \"it's \\\"ours\\\"\"\nauthors = [{ name = \"A\", email = \"a@example.org\" }]\n\
         keywords = [\"x\"]\n[[files]]\npath = \"metric.py\"\n",
    );
    space.write("harbor-tasks/metric.py", "print(1)\n");
    space.settle();
    space.commit("Built");
    space
}

fn planned(space: &TestSpace) -> Release {
    let since = last(&space.workspace).unwrap();
    plan(&space.workspace, &[], since.as_ref(), &[], &AtomicBool::new(false)).unwrap()
}

fn rebuilt(space: &TestSpace) {
    wait_a_tick();
    let report = space.build();
    assert!(report.is_success(), "{}", space.failures(&report));
}

/// Writes a release and commits what says so.
fn released(space: &TestSpace) {
    planned(space).write(&space.workspace, &space.path("target/set")).unwrap();
    space.commit("Release");
}

fn refusals(space: &TestSpace, release: &Release) -> String {
    release.refusals.iter().map(|error| space.error(error) + "\n").collect()
}

#[test]
fn harbor_changes_nothing_about_a_release() {
    let space = space();
    let release = planned(&space);
    assert_eq!((refusals(&space, &release).as_str(), release.since.as_deref()), ("", None));
    released(&space);
    let out = space.path("target/set");
    assert_eq!(
        fs::read_to_string(out.join("dataset.toml")).unwrap(),
        space.read("harbor-tasks/dataset.toml")
    );
    // Copies of their own: what happens to them happens to nothing else.
    fs::write(out.join("alpha/instruction.md.part"), "x").unwrap();
    fs::remove_file(out.join("alpha/instruction.md.part")).unwrap();
    needs_harbor();
    let before = look::contents(&out);
    let synced = Command::new("harbor")
        .args(["sync", out.as_str()])
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&synced.stdout).into_owned();
    assert!(synced.status.success(), "{said}{}", String::from_utf8_lossy(&synced.stderr));
    assert_eq!(look::difference(&before, &look::contents(&out)), "", "{said}");
}

#[test]
fn versions_have_to_say_what_changed() {
    let space = space();
    released(&space);
    let release = planned(&space);
    assert_eq!(release.refusals, [], "nothing changed");
    assert!(release.rows.iter().all(|row| row.fate.is_none() && row.version == Moved::Fine));

    space.edit("harbor-tasks/alpha/spec.toml", "Improve alpha", "Better");
    space.write("harbor-tasks/beta/scorer/score.py", "print('another')\n");
    space.commit("Edits");
    rebuilt(&space);
    let release = planned(&space);
    let to: Vec<_> = release.rows.iter().map(|row| row.version.clone()).collect();
    assert_eq!(to, [Moved::Not { to: "1.0.1".to_owned() }, Moved::Not { to: "2.0.0".to_owned() }]);
    insta::assert_snapshot!(refusals(&space, &release), @r#"
    harbor-tasks/alpha/spec.toml:1:8: `alpha` changed (patch: earlier results are reused) and its version did not move on from 1.0.0
    help: write `version = "1.0.1"`; `--write` does
    harbor-tasks/beta/spec.toml:1:8: `beta` changed (major: trials run again) and its version did not move on from 1.0.0
    help: write `version = "2.0.0"`; `--write` does
    "#);
    let text = |text: &str| Some(Fix::Text(text.to_owned()));
    let fixes: Vec<_> = release.lines().into_iter().map(|line| line.fix).collect();
    assert_eq!(fixes, [text("\"alpha\"\nversion = \"1.0.1\""), text("\"beta\"\nversion = \"2.0.0\"")]);
    let out = space.path("target/set");
    let before = look::contents(&out);
    assert!(release.write(&space.workspace, &out).is_err());
    assert_eq!(look::difference(&before, &look::contents(&out)), "");

    space.edit("harbor-tasks/alpha/spec.toml", "name = \"alpha\"", "name = \"alpha\"\nversion = \"1.0.1\"");
    space.edit("harbor-tasks/beta/spec.toml", "name = \"beta\"", "name = \"beta\"\nversion = \"1.1.0\"");
    rebuilt(&space);
    let release = planned(&space);
    assert_eq!(refusals(&space, &release), "");
    let said: Vec<_> = release.rows.iter().map(|row| row.version.clone()).collect();
    assert_eq!(said, [Moved::Fine, Moved::Little { by: taskwright_harbor::change::Level::Minor }]);
    // It goes back, and the line that is there is the one to be written.
    space.edit("harbor-tasks/alpha/spec.toml", "1.0.1", "0.9.0");
    rebuilt(&space);
    let release = planned(&space);
    assert_eq!(release.rows[0].version, Moved::Not { to: "1.0.1".to_owned() });
    assert_eq!(release.lines()[0].fix, text("\"1.0.1\""));
}

#[test]
fn who_edits_the_head_of_the_data_set_releases_nothing() {
    let space = space();
    released(&space);
    let release = last(&space.workspace).unwrap().unwrap().shown;
    space.edit("harbor-tasks/alpha/spec.toml", "Improve alpha", "Better");
    rebuilt(&space);
    space.edit("harbor-tasks/dataset.toml", "acme/set", "acme/other");
    space.commit("Another head");
    assert_eq!(last(&space.workspace).unwrap().unwrap().shown, release);
}

#[test]
fn what_must_not_go_out_is_refused() {
    let space = space();
    space.edit("harbor-tasks/alpha/spec.toml", &format!("image:1@sha256:{}", "a".repeat(64)), "image:1");
    rebuilt(&space);
    let release = planned(&space);
    let rules: Vec<_> = release.refusals.iter().map(taskwright_base::Error::rule).collect();
    assert_eq!(rules, [Some(Rule::UnpinnedImage)]);
    assert!(refusals(&space, &release).contains("`environment/Dockerfile` takes `image:1`"));
    let allowed = plan(&space.workspace, &[], None, &[Rule::UnpinnedImage], &AtomicBool::new(false)).unwrap();
    assert_eq!(allowed.refusals, []);
}

#[test]
fn what_is_not_built_or_has_no_name_is_no_release() {
    let space = space();
    let refused = |space: &TestSpace| {
        let error = plan(&space.workspace, &[], None, &[], &AtomicBool::new(false)).err().unwrap();
        space.error(&error)
    };
    space.write("harbor-tasks/alpha/instruction.md", "# Another\n");
    wait_a_tick();
    assert!(refused(&space).contains("`alpha` is not built as its spec says"), "{}", refused(&space));
    rebuilt(&space);
    space.write("harbor-tasks/dataset.toml", "[dataset]\nname = \"set\"\n");
    assert!(refused(&space).contains("the data set's name"), "{}", refused(&space));
    space.remove("harbor-tasks/dataset.toml");
    insta::assert_snapshot!(refused(&space), @r#"
    there is no `harbor-tasks/dataset.toml`: nobody said what the data set is called
    help: write it: `[dataset]`, and below it `name = "organization/name"` and `description = "..."`; the tasks are added by `cargo xtask release`
    "#);
}

#[test]
fn a_folder_of_something_else_is_left() {
    let space = space();
    let release = planned(&space);
    space.write("target/mine/notes.txt", "mine");
    for folder in ["target/mine", "harbor-tasks", "target", "."] {
        let error = release.write(&space.workspace, &space.path(folder)).unwrap_err();
        assert!(error.to_string().contains("something else than a release"), "{folder}: {error}");
    }
    assert_eq!(space.read("target/mine/notes.txt"), "mine");
}
