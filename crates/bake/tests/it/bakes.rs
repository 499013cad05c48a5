//! What a bake promises: the same images everywhere, each made once, and tasks that build nothing.

use std::fs;

use taskwright_bake::{Intent, Output};
use taskwright_testing::{needs_engine, test};

use crate::support::{BASE, Space, files, options};

#[test]
fn two_workspaces_bake_the_same_bytes_and_nothing_twice() {
    needs_engine();
    let (one, other) = (Space::new(&["first", "second"]), Space::new(&["first"]));
    let report = one.bake(&options(Intent::Bake)).unwrap();
    // Two tasks with the same files have the same two images.
    assert_eq!((report.made, report.tasks.len(), report.bases.len()), (2, 2, 1));
    assert_eq!(report.bases[0].name, BASE);
    assert_eq!(one.digest("first", "main"), one.digest("second", "main"));

    // In another folder, from files with other times, without anything that was made before.
    let forced = taskwright_bake::Options { force: true, ..options(Intent::Bake) };
    other.bake(&forced).unwrap();
    for service in ["main", "verifier"] {
        assert_eq!(one.digest("first", service), other.digest("first", service), "{service}");
    }
    assert_eq!(one.lock().bases, other.lock().bases);

    // What is in an image, and where it comes from.
    let read = |path: &str| -> serde_json::Value {
        serde_json::from_slice(&fs::read(one.workspace.images_dir().join(path)).unwrap()).unwrap()
    };
    let packages = read("sbom/first.main.spdx.json")["packages"].as_array().unwrap().clone();
    assert!(packages.iter().any(|package| package["name"] == "dpkg" && package["versionInfo"].is_string()));
    let provenance = read("provenance/first.main.json");
    let digest = provenance["subject"][0]["digest"]["sha256"].as_str().unwrap().to_owned();
    assert_eq!(one.digest("first", "main"), format!("sha256:{digest}"));
    assert!(provenance.to_string().contains(BASE));

    let before = fs::read(one.workspace.lock_file()).unwrap();
    let again = one.bake(&options(Intent::Bake)).unwrap();
    assert!(again.made == 0 && again.tasks.iter().all(|task| !task.changed), "{again:?}");
    one.bake(&options(Intent::Locked)).unwrap();
    assert_eq!(fs::read(one.workspace.lock_file()).unwrap(), before);

    // One task changes: its image is made, and the other's is not.
    fs::write(one.task("second").join("environment/files/a.txt"), "b\n").unwrap();
    let check = one.bake(&options(Intent::Check)).unwrap();
    let stale: Vec<_> = check.tasks.iter().filter(|task| task.changed).map(|task| &task.name).collect();
    assert_eq!(stale, ["second"]);
    assert_eq!(one.bake(&options(Intent::Bake)).unwrap().made, 1);
    assert_ne!(one.digest("first", "main"), one.digest("second", "main"));
    // A blob that no image has any more is gone: two mains and a verifier on one base, of which one main and one layer are new.
    let blobs = files(&one.workspace.images_dir().join("blobs"));
    fs::write(one.task("second").join("environment/files/a.txt"), "a\n").unwrap();
    one.bake(&options(Intent::Bake)).unwrap();
    assert!(files(&one.workspace.images_dir().join("blobs")).len() < blobs.len());
}

#[test]
fn a_baked_task_names_its_images_and_holds_nothing_to_build() {
    needs_engine();
    let space = Space::new(&["loaded"]);
    let compose = "services:\n  main:\n    build: .\n    environment: {A: \"${B:-c}\"}\n  side:\n    image: debian:trixie-slim\n";
    fs::write(space.task("loaded").join("environment/docker-compose.yaml"), compose).unwrap();
    let report =
        space.bake(&taskwright_bake::Options { output: Output::Docker, ..options(Intent::Bake) }).unwrap();
    assert_eq!(report.loaded, 2);
    let images = &report.tasks[0].images;
    let baked = space.workspace.baked_dir().join("loaded");
    assert_eq!(
        files(&baked),
        [
            "environment/docker-compose.yaml",
            "environment/files/a.txt",
            "instruction.md",
            "task.toml",
            "tests/test.sh"
        ]
    );
    let compose = fs::read_to_string(baked.join("environment/docker-compose.yaml")).unwrap();
    assert!(
        compose.contains(&images["main"]) && compose.contains("${B:-c}") && !compose.contains("build:"),
        "{compose}"
    );
    let toml: toml::Table = fs::read_to_string(baked.join("task.toml")).unwrap().parse().unwrap();
    assert_eq!(toml["environment"]["docker_image"].as_str(), Some(images["main"].as_str()));
    assert_eq!(toml["verifier"]["environment"]["docker_image"].as_str(), Some(images["verifier"].as_str()));
    // By the name that the task has for it, and with nothing fetched.
    for (image, command) in [(&images["main"], "cat /made"), (&images["verifier"], "cat /tests/test.sh")] {
        let words = ["run", "--rm", "--pull", "never", image, "sh", "-c", command];
        let output = std::process::Command::new("docker").args(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    // It is in the engine by then.
    let again =
        space.bake(&taskwright_bake::Options { output: Output::Docker, ..options(Intent::Bake) }).unwrap();
    assert_eq!(again.loaded, 0);
    for image in images.values() {
        let tagged = image.split('@').next().unwrap();
        let _ = std::process::Command::new("docker").args(["image", "rm", "--force", tagged]).output();
    }
}

#[test]
fn what_stands_in_a_baked_tasks_place_is_moved_aside() {
    needs_engine();
    let space = Space::new(&["kept"]);
    space.bake(&options(Intent::Bake)).unwrap();
    let baked = space.workspace.baked_dir().join("kept");
    // The lock of a branch on which nothing was baked: what stands there is no less our own.
    fs::remove_file(space.workspace.lock_file()).unwrap();
    let report = space.bake(&options(Intent::Bake)).unwrap();
    assert_eq!((report.tasks[0].changed, &report.tasks[0].aside), (true, &None));
    fs::write(baked.join("tests/notes.txt"), "mine").unwrap();
    let report = space.bake(&options(Intent::Bake)).unwrap();
    let aside = report.tasks[0].aside.as_ref().unwrap();
    assert_eq!(fs::read_to_string(aside.join("tests/notes.txt")).unwrap(), "mine");
    assert!(!baked.join("tests/notes.txt").exists());
}

#[test]
fn a_task_alone_is_what_it_was_among_others() {
    needs_engine();
    let space = Space::new(&["one", "two"]);
    // Another name for the same image is another base.
    let other = "taskwright.test/base:1";
    let tag = std::process::Command::new("docker").args(["tag", BASE, other]).status().unwrap();
    assert!(tag.success());
    let dockerfile = space.task("two").join("environment/Dockerfile");
    let text = fs::read_to_string(&dockerfile).unwrap().replace(BASE, other);
    fs::write(&dockerfile, text).unwrap();
    assert_eq!(space.bake(&options(Intent::Bake)).unwrap().bases.len(), 2);
    let alone = space.bake_some(&["one"], &options(Intent::Check)).unwrap();
    assert!(!alone.tasks[0].changed);
    let _ = std::process::Command::new("docker").args(["image", "rm", other]).output();
    // Where an image comes from does not name the bases of others.
    let provenance =
        fs::read_to_string(space.workspace.images_dir().join("provenance/one.main.json")).unwrap();
    assert!(provenance.contains(BASE) && !provenance.contains(other));
}

#[test]
fn what_a_killed_bake_left_goes() {
    needs_engine();
    let space = Space::new(&["again"]);
    let left = [
        space.workspace.images_dir().join(".taskwright/bake-1/blobs"),
        space.workspace.baked_dir().join(".taskwright-1/again"),
    ];
    for folder in &left {
        fs::create_dir_all(folder).unwrap();
    }
    space.bake(&options(Intent::Bake)).unwrap();
    assert!(left.iter().all(|folder| !folder.parent().unwrap().exists()));
    let hidden: Vec<_> =
        files(&space.workspace.baked_dir()).into_iter().filter(|path| path.starts_with('.')).collect();
    assert_eq!(hidden, [".taskwright.json"]);
}
