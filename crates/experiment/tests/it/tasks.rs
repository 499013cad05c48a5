//! Which tasks a manifest names, and what becomes of those that it names wrongly.

use std::fs;

use crate::support::Space;
use taskwright_experiment::{ExperimentError, jobs};
use taskwright_testing::test;

const DIGEST: &str = "sha256:ac9436b9dce9ccb8f75bcd781568a46b6ab40b56c68c44cea4b337f520f81315";

/// A workspace that has built these tasks.
fn built(names: &[&str]) -> Space {
    let space = Space::new();
    let mut lock = "version = 1\n".to_owned();
    for name in names {
        space.task(&format!("target/harbor-tasks/{name}"), "true");
        lock.push_str(&format!("\n[task.{name}]\nversion = \"1.0.0\"\nbaseline_commit = \"0\"\n"));
        for key in ["spec", "baseline", "templates", "binary", "tree", "harbor"] {
            lock.push_str(&format!("{key} = \"{DIGEST}\"\n"));
        }
    }
    space.write("harbor-tasks/taskwright.lock", &lock);
    space
}

/// A spec of Mode B that asks for arguments of the outer `harbor run`.
fn spec(space: &Space, name: &str, arguments: &str) {
    space.write(
        &format!("harbor-tasks/{name}/spec.toml"),
        &format!(
            r#"
name = "{name}"
description = "Improve it"
mode = "b"
baseline = {{ path = "baseline" }}
instruction = {{ file = "instruction.md" }}
splits = {{ test = {{ samples = ["a"], access = "no_access" }}, validation = {{ samples = ["b"], access = "non_viewable", min_samples = 1 }} }}
targets = [{{ split = "test" }}]

[harbor]
source = {{ path = "inner-tasks" }}
agent = "agent.core:Agent"
environment = "modal"
optimizer_args = {arguments}
"#
        ),
    );
}

/// The names of the tasks of a manifest with these sources, or what is said of it.
fn tasks(space: &Space, sources: &str) -> Result<Vec<String>, String> {
    space.write("m.toml", &format!("name = \"m\"\n{sources}\n[[agents]]\nname = \"nop\"\n"));
    let prepared = space.prepare("m.toml").map_err(|error| match &error {
        ExperimentError::Manifest(diagnostics) => diagnostics.render(false),
        ExperimentError::Failed(_) => format!("{error}; {}", error.hint_text().unwrap_or_default()),
    })?;
    let paths = prepared.config.tasks.iter().filter_map(|task| task.path.as_ref());
    Ok(paths.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect())
}

#[test]
fn built_tasks_are_named_by_patterns() {
    let space = built(&["c-matmul", "circle-packing", "digits"]);
    for (source, expected) in [
        ("built = [\"*\"]", &["c-matmul", "circle-packing", "digits"][..]),
        ("built = [\"c*\", \"digits\"]\nexclude = [\"*-packing\"]", &["c-matmul", "digits"]),
        ("built = [\"{digits,c-matmul}\"]", &["c-matmul", "digits"]),
        ("built = [\"digits\"]", &["digits"]),
    ] {
        assert_eq!(tasks(&space, &format!("[[tasks]]\n{source}")).unwrap(), expected, "{source}");
    }
    let said = tasks(&space, "[[tasks]]\nbuilt = [\"digit\", \"x*\"]").unwrap_err();
    assert!(
        said.contains("no built task is named `digit`") && said.contains("did you mean `digits`?"),
        "{said}"
    );
    assert!(said.contains("no built task is named `x*`") && said.contains("--> m.toml:3:19"), "{said}");
    let said = tasks(&space, "[[tasks]]\nbuilt = [\"digits\"]\nexclude = [\"d*\"]").unwrap_err();
    assert!(said.contains("every task is left out"), "{said}");
}

#[test]
fn without_a_lock_nothing_is_built() {
    let said = tasks(&Space::new(), "[[tasks]]\nbuilt = [\"digits\"]").unwrap_err();
    assert!(said.contains("has no `taskwright.lock`") && said.contains("cargo xtask build-tasks"), "{said}");
    let space = built(&["digits"]);
    space.write("harbor-tasks/taskwright.lock", "<<<<<<< HEAD\n");
    let said = tasks(&space, "[[tasks]]\nbuilt = [\"digits\"]").unwrap_err();
    assert!(said.contains("is not a lock") && said.contains("cargo xtask build-tasks"), "{said}");
}

#[test]
fn folders_hold_tasks_or_are_one() {
    let space = Space::new();
    for name in ["one", "two", "three"] {
        space.task(&format!("bench/{name}"), "true");
    }
    space.write("bench/notes/readme.md", "no task");
    space.write("bench/file", "no folder");
    for (source, expected) in [
        ("path = \"bench\"", &["one", "three", "two"][..]),
        ("path = \"bench/two\"", &["two"]),
        ("path = \"bench\"\ninclude = [\"t*\"]\nexclude = [\"try/two\"]", &["three"]),
        ("path = \"bench\"\ninclude = [\"try/*\"]", &["one", "three", "two"]),
    ] {
        assert_eq!(tasks(&space, &format!("[[tasks]]\n{source}")).unwrap(), expected, "{source}");
    }
    for (source, words) in [
        ("path = \"bnch\"", "`bnch` does not exist"),
        ("path = \"bench/file\"", "`bench/file` is not a folder"),
        ("path = \"bench/notes\"", "`bench/notes` holds no task"),
        ("path = \"bench\"\ninclude = [\"tow\"]", "did you mean `two`?"),
        ("path = \"bench\"\nexclude = [\"*\"]", "every task is left out"),
    ] {
        let said = tasks(&space, &format!("[[tasks]]\n{source}")).unwrap_err();
        assert!(said.contains(words) && said.contains("--> m.toml:"), "{said}");
    }
}

#[test]
fn tasks_that_harbor_cannot_tell_apart_are_refused() {
    let space = Space::new();
    space.task("a/same", "true");
    space.task("b/same", "true");
    let said = tasks(&space, "[[tasks]]\npath = \"a\"\n[[tasks]]\npath = \"b\"").unwrap_err();
    assert!(said.contains("two tasks cannot be told apart") && said.contains("named here too"), "{said}");
    let long = "a".repeat(32);
    space.task(&format!("c/{long}1"), "true");
    space.task(&format!("c/{long}2"), "true");
    let said = tasks(&space, "[[tasks]]\npath = \"c\"").unwrap_err();
    assert!(said.contains("two tasks cannot be told apart"), "{said}");
}

#[test]
fn arguments_that_specs_ask_for_reach_the_command() {
    let space = built(&["four", "also-four", "none"]);
    spec(&space, "four", r#"["--agent-setup-timeout-multiplier", "4"]"#);
    spec(&space, "also-four", r#"["--agent-setup-timeout-multiplier", "4"]"#);
    spec(&space, "none", "[]");
    assert_eq!(tasks(&space, "[[tasks]]\nbuilt = [\"*four\"]").unwrap().len(), 2);
    let with = space.prepare("m.toml").unwrap();
    assert_eq!(with.arguments, ["--agent-setup-timeout-multiplier", "4"]);
    tasks(&space, "[[tasks]]\nbuilt = [\"none\"]").unwrap();
    assert!(space.prepare("m.toml").unwrap().arguments.is_empty());
    let said = tasks(&space, "[[tasks]]\nbuilt = [\"*\"]").unwrap_err();
    assert!(
        said.contains("do not ask for the same `harbor.optimizer_args`") && said.contains("of its own"),
        "{said}"
    );
}

#[test]
fn a_job_is_named_by_what_it_runs() {
    let space = Space::new();
    space.task("bench/one", "true");
    space.write("prompt.md", "Be brief.\n");
    let manifest = |more: &str| {
        format!(
            "name = \"m\"\n{more}\n[[tasks]]\npath = \"bench\"\n[[agents]]\nname = \"claude-code\"\nsystem_prompt = \"prompt.md\"\n"
        )
    };
    let name = |space: &Space| space.prepare("m.toml").unwrap().config.job_name;
    space.write("m.toml", &manifest(""));
    let first = name(&space);
    assert_eq!(first, name(&space));
    // What people read does not make it another run.
    space.write("m.toml", &manifest("description = \"Why\" # or why not"));
    assert_eq!(first, name(&space));
    space.write("m.toml", &manifest("repetitions = 2"));
    assert_ne!(first, name(&space));
    space.write("m.toml", &manifest(""));
    space.write("prompt.md", "Be verbose.\n");
    assert_ne!(first, name(&space));
    space.write("prompt.md", "Be brief.\n");
    space.write("bench/one/instruction.md", "Something else.\n");
    assert_ne!(first, name(&space));
}

#[test]
fn copies_are_made_once_and_stay_as_they_were() {
    let space = Space::new();
    space.task("bench/one", "true");
    let file = space.root.join("bench/one/solution/extra.txt");
    fs::write(&file, "linked").unwrap();
    fs::write(space.root.join("outside.txt"), "from outside").unwrap();
    for (link, target) in [("inside", "extra.txt"), ("outside", "../../../outside.txt")] {
        std::os::unix::fs::symlink(target, space.root.join("bench/one/solution").join(link)).unwrap();
    }
    space.write("m.toml", "name = \"m\"\n[[tasks]]\npath = \"bench\"\n[[agents]]\nname = \"nop\"\n");
    let prepared = space.prepare("m.toml").unwrap();
    prepared.keep(&space.workspace()).unwrap();
    prepared.keep(&space.workspace()).unwrap();
    let copy = space.root.join(prepared.config.tasks[0].path.as_ref().unwrap().to_str().unwrap());
    assert_eq!(fs::read_to_string(copy.join("solution/inside")).unwrap(), "linked");
    assert!(copy.join("solution/inside").is_symlink());
    // What a link leads to outside is not ours to keep from changing, so the copy has the content.
    assert_eq!(fs::read_to_string(copy.join("solution/outside")).unwrap(), "from outside");
    assert!(!copy.join("solution/outside").is_symlink());
    let mode = |path: &camino::Utf8Path| {
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o777
    };
    assert_eq!(mode(&copy.join("solution/solve.sh")), mode(&space.root.join("bench/one/solution/solve.sh")));
    let inputs = space.workspace().jobs_dir().join(jobs::INPUTS);
    assert_eq!(inputs.read_dir_utf8().unwrap().count(), 1, "nothing is left of the staging");

    fs::write(copy.join("instruction.md"), "edited").unwrap();
    let said = prepared.keep(&space.workspace()).unwrap_err();
    assert!(said.to_string().contains("was changed after it was made"), "{said}");

    for (name, make) in [("dangling", "/nonexistent"), ("folder", "../../..")] {
        let link = space.root.join("bench/one/solution").join(name);
        std::os::unix::fs::symlink(make, &link).unwrap();
        let said = space.prepare("m.toml").unwrap_err();
        assert!(said.to_string().contains("leads out of"), "{said}");
        fs::remove_file(link).unwrap();
    }
}
