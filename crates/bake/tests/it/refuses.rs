//! What a bake does not do, and what it says then.

use std::fs;

use taskwright_bake::Intent;
use taskwright_testing::{needs_engine, test};

use crate::support::{BASE, Space, options};

#[test]
fn an_image_that_is_not_the_locks_is_refused_with_the_file_that_differs() {
    needs_engine();
    let space = Space::new(&["stamped"]);
    let dockerfile =
        format!("FROM {BASE}\nCOPY files/ /files/\nRUN cat /proc/sys/kernel/random/uuid > /stamp\n");
    fs::write(space.task("stamped").join("environment/Dockerfile"), dockerfile).unwrap();
    space.bake(&options(Intent::Bake)).unwrap();
    let before = fs::read(space.workspace.lock_file()).unwrap();
    let forced = taskwright_bake::Options { force: true, ..options(Intent::Locked) };
    let error = space.bake(&forced).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("stamped/main: sha256:")
            && said.contains("/stamp # buildkit`")
            && said.contains("\n    stamp: mode 644"),
        "{said}"
    );
    assert!(!said.contains("stamped/verifier"), "{said}");
    assert_eq!(fs::read(space.workspace.lock_file()).unwrap(), before);
    // The images that the lock names are still there.
    assert!(!space.bake(&options(Intent::Locked)).unwrap().tasks[0].changed);
}

#[test]
fn a_base_that_is_not_to_be_had_changes_nothing() {
    needs_engine();
    let space = Space::new(&["based"]);
    space.bake(&options(Intent::Bake)).unwrap();
    let mut lock = space.lock();
    let wrong = format!("sha256:{}", "0".repeat(64));
    lock.bases.insert(BASE.to_owned(), wrong.clone());
    lock.text().write(&space.workspace.lock_file()).unwrap();
    let error = space.bake(&options(Intent::Bake)).unwrap_err();
    assert!(error.to_string().contains(&wrong), "{error}");
    assert!(error.hint_text().unwrap().contains("--update-bases"), "{error:?}");
    assert_eq!(space.lock(), lock);
    let report =
        space.bake(&taskwright_bake::Options { update_bases: true, ..options(Intent::Bake) }).unwrap();
    assert_eq!(report.bases[0].before.as_deref(), Some(wrong.as_str()));
    assert_ne!(space.lock().bases, lock.bases);
    // A lock without the base cannot hold anything against it.
    let mut lock = space.lock();
    lock.bases.clear();
    lock.text().write(&space.workspace.lock_file()).unwrap();
    let locked = taskwright_bake::Options { force: true, ..options(Intent::Locked) };
    // Its layers are here, but not by a digest that the lock says.
    let error = space.bake(&locked).unwrap_err().to_string();
    assert!(error.contains(&format!("the base `{BASE}`")), "{error}");
}

#[test]
fn what_baking_does_not_know_is_said_before_anything_is_made() {
    let cases = [
        ("services: {main: {build: {context: ., secrets: [a]}}}\n", "`build.secrets` is not known"),
        ("services: {main: {build: ../..}}\n", "lies outside of the task"),
        ("services: {main: {build: \"${A}\"}}\n", "a variable in `build`"),
        ("services: {main: {build: 3}}\n", "its `build` is not known"),
        ("services: [\n", "docker-compose.yaml"),
        ("services: {verifier: {build: .}}\n", "a service called `verifier`"),
    ];
    for (compose, said) in cases {
        let space = Space::new(&["odd"]);
        fs::write(space.task("odd").join("environment/docker-compose.yaml"), compose).unwrap();
        let error = space.bake(&options(Intent::Bake)).unwrap_err().to_string();
        assert!(error.contains(said), "{compose}: {error}");
        assert!(space.lock().tasks["odd"].images.is_none());
        assert!(!space.workspace.baked_dir().exists());
    }
    let space = Space::new(&["odd"]);
    fs::write(space.task("odd").join("environment/Dockerfile"), "ARG A\nFROM $A\n").unwrap();
    let error = space.bake(&options(Intent::Bake)).unwrap_err().to_string();
    assert!(error.contains("Dockerfile`: the base `$A` is named by a variable"), "{error}");
}
