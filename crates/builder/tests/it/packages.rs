//! Mode B: which version of each package Harbor and the baseline get, and how long inner tasks may take.

use std::sync::atomic::AtomicBool;

use taskwright_builder::scaffold::scaffold;
use taskwright_language::model::Mode;
use taskwright_testing::test;

use crate::support::{TestSpace, changes, summary};

const SPEC: &str = "harbor-tasks/inner/spec.toml";
const PROJECT: &str = "harbor-tasks/inner/baseline/pyproject.toml";
const REQUIREMENTS: &str = "harbor-tasks/inner/requirements.txt";

/// A task of Mode B whose baseline pins a library that Harbor needs too.
fn space() -> TestSpace {
    let space = TestSpace::with(&[]);
    scaffold(&space.workspace, "inner", Mode::B, &AtomicBool::new(false)).unwrap();
    space.edit(PROJECT, "dependencies = []", "dependencies = [\"openai==2.46.0\"]");
    space
}

/// The same, locked to these versions.
fn locked(requirements: &str) -> TestSpace {
    let space = space();
    space.edit(SPEC, "[harbor]", "[harbor]\nrequirements = \"requirements.txt\"");
    space.write(REQUIREMENTS, requirements);
    space
}

fn refused(space: &TestSpace) -> String {
    let report = space.build();
    assert_eq!(summary(&report), "inner: failed");
    space.failure(&report, "inner")
}

fn dockerfile(space: &TestSpace) -> String {
    space.read(space.out("inner/environment/sidecar/Dockerfile"))
}

#[test]
fn harbor_and_the_baseline_are_resolved_together_in_the_image() {
    let space = space();
    assert!(space.build().is_success());
    let text = dockerfile(&space);
    let steps = [
        "COPY --chown=root:root baseline/ /opt/project/",
        "uv venv --quiet --python 3.13 /opt/harbor;",
        "echo harbor==0.26.0 | uv pip compile --quiet --no-header --no-annotate --generate-hashes --python-version 3.13 \
         --output-file /opt/requirements.txt /opt/project/pyproject.toml -;",
        "uv pip sync --quiet --python /opt/harbor/bin/python /opt/requirements.txt",
        "--constraints /opt/requirements.txt /tmp/baseline;",
    ];
    let places: Vec<_> =
        steps.iter().map(|step| text.find(step).unwrap_or_else(|| panic!("{step}: {text}"))).collect();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn what_a_task_is_locked_to_is_a_part_of_it() {
    let space = locked("harbor==0.26.0\nopenai==2.46.0\n");
    assert!(space.build().is_success());
    let text = dockerfile(&space);
    assert!(text.contains("COPY --chown=root:root sidecar/requirements.txt /opt/requirements.txt"), "{text}");
    assert!(!text.contains("uv pip compile"), "{text}");
    let built = space.read(space.out("inner/environment/sidecar/requirements.txt"));
    assert_eq!(built, space.read(REQUIREMENTS));
    let lock = space.read("harbor-tasks/taskwright.lock");
    let digest = lock.lines().find_map(|line| line.strip_prefix("requirements = ")).expect("in the lock");
    assert!(space.read(space.out("inner/environment/sidecar/serve.json")).contains(digest));
    space.write(REQUIREMENTS, "harbor==0.26.0\nopenai==2.46.0\nidna==3.11\n");
    let report = space.build();
    assert_eq!(summary(&report), "inner: built");
    assert!(changes(&report, "inner").contains("requirements"), "{}", changes(&report, "inner"));
}

#[test]
fn a_lock_that_does_not_hold_is_refused_with_the_line_that_makes_it() {
    for (requirements, words) in [
        ("harbor==0.25.0\nopenai==2.46.0\n", "it has Harbor 0.25.0, the spec Harbor 0.26.0"),
        ("openai==2.46.0\n", "it has no version of Harbor"),
        ("harbor==0.26.0\nopenai>=2\n", "line 2: `openai>=2` is not pinned"),
        ("harbor==0.26.0\nopenai==3.57.0\n", "it has openai 3.57.0, but the baseline wants `openai==2.46.0`"),
        ("harbor==0.26.0\n", "it has no version for the baseline's `openai==2.46.0`"),
    ] {
        let said = refused(&locked(requirements));
        assert!(said.contains(words) && said.contains("requirements = \"requirements.txt\""), "{said}");
        assert!(said.contains("resolve it again: `echo harbor==0.26.0 | uv pip compile"), "{said}");
    }
    let space = locked("");
    space.remove(REQUIREMENTS);
    let said = refused(&space);
    assert!(
        said.contains("does not exist") && said.contains("--output-file harbor-tasks/inner/requirements.txt"),
        "{said}"
    );
}

#[test]
fn a_baseline_that_cannot_stand_beside_harbor_is_refused() {
    let wants = space();
    wants.edit(PROJECT, "openai==2.46.0", "harbor==0.20.0");
    let said = refused(&wants);
    assert!(said.contains("the dependency `harbor==0.20.0` wants another Harbor"), "{said}");
    assert!(said.contains("path = \"baseline\""), "{said}");
    let none = space();
    none.remove(PROJECT);
    assert!(refused(&none).contains("neither a pyproject.toml nor a setup.py"));
}

#[test]
fn times_of_inner_tasks_are_their_own_or_said_to_be_cut() {
    let inner = "harbor-tasks/inner/inner-tasks/reverse-test/task.toml";
    let slow = |space: &TestSpace| {
        let text = space.read(inner);
        let old = text.lines().find(|line| line.starts_with("timeout_sec")).expect("a timeout").to_owned();
        space.edit(inner, &old, "timeout_sec = 6000.0");
    };
    let space = space();
    space.settle();
    assert!(space.build().warnings.is_empty());
    slow(&space);
    // It stays as long as it is so, whether the spec is read again or not.
    for _ in 0..3 {
        let report = space.build();
        let said: Vec<_> = report.warnings.iter().map(|warning| warning.message.as_str()).collect();
        assert_eq!(
            said,
            ["the inner task `reverse-test` has 6000 s of its own, and is cut short after 300 s"]
        );
    }
    space.edit(SPEC, "sample_timeout_sec = 300", "sample_timeout_sec = \"task\"");
    let said = refused(&space);
    assert!(said.contains("`finalize_timeout_sec` is 7200 s, but finalizing can take"), "{said}");
    space.edit(
        SPEC,
        "sample_timeout_sec = \"task\"",
        "sample_timeout_sec = \"task\"\nfinalize_timeout_sec = 30000",
    );
    let report = space.build();
    assert!(report.is_success() && report.warnings.is_empty(), "{}", space.failures(&report));
    assert!(
        space
            .read(space.out("inner/environment/sidecar/serve.json"))
            .contains("\"sample_timeout_sec\": \"task\"")
    );
}
