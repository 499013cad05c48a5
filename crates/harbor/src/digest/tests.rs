//! Compares our digests with those that Harbor wrote, with those it computes, and with themselves.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use proptest::prelude::*;
use taskwright_testing::{corpus, own_jobs, test};

use super::*;
use crate::python;

/// Writes files, folders made as needed.
fn write(root: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

fn digest_of(files: &[(&str, &str)]) -> String {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), files);
    content_digest(root.path()).unwrap().to_string()
}

fn sha256(content: &[u8]) -> [u8; 32] {
    Digest::of(content).bytes()
}

const PLAIN: &[(&str, &str)] = &[
    ("task.toml", "schema_version = \"1.4\"\n"),
    ("instruction.md", "Sort.\n"),
    ("environment/Dockerfile", "FROM scratch\n"),
    ("environment/a-b/x", "1"),
    ("environment/a/x", "2"),
    ("tests/test.sh", "#!/bin/sh\n"),
];

// Told by sha256sum and sort in a C locale.
const PLAIN_DIGEST: &str = "sha256:6b1bac4b715965338ca3c84e44928f610cd2126e6c9e5bb030255289a7a698f9";

#[test]
fn known_digests() {
    assert_eq!(digest_of(&[]), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_eq!(digest_of(PLAIN), PLAIN_DIGEST);
}

#[test]
fn what_is_not_hashed_changes_nothing() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), PLAIN);
    write(
        root.path(),
        &[
            ("LICENSE", "free"),
            ("taskwright.lock", "x"),
            ("environment/__pycache__/a.pyc", "x"),
            ("environment/.DS_Store", "x"),
            ("environment/a/.harborignore/x", "x"),
            ("tests/test.sh~", "x"),
            ("environment/.harborignore", "x"),
        ],
    );
    fs::create_dir(root.path().join("solution")).unwrap();
    symlink("nowhere", root.path().join("tests/broken")).unwrap();
    symlink("circle", root.path().join("tests/circle")).unwrap();
    symlink("a", root.path().join("environment/folder")).unwrap();
    assert_eq!(content_digest(root.path()).unwrap().to_string(), PLAIN_DIGEST);
    write(root.path(), &[(".gitignore", "")]);
    assert_ne!(
        content_digest(root.path()).unwrap().to_string(),
        PLAIN_DIGEST,
        "no default list beside a .gitignore"
    );
}

#[test]
fn links_to_files_are_hashed_as_the_files() {
    let root = tempfile::tempdir().unwrap();
    let (target, rest) = PLAIN.split_last().unwrap();
    write(root.path(), rest);
    write(root.path(), &[("elsewhere", target.1)]);
    fs::create_dir(root.path().join("tests")).unwrap();
    symlink("../elsewhere", root.path().join(target.0)).unwrap();
    assert_eq!(content_digest(root.path()).unwrap().to_string(), PLAIN_DIGEST);
}

#[test]
fn a_listing_gives_the_same_digest_as_the_files() {
    let extra = [
        ("environment/.harborignore/x", "x"),
        ("LICENSE", "x"),
        ("tests/a.swp", "x"),
        ("environment/sub/.harborignore", "x"),
    ];
    let entries = PLAIN.iter().chain(&extra).rev().map(|(path, content)| (*path, sha256(content.as_bytes())));
    assert_eq!(content_digest_of(entries).unwrap().to_string(), PLAIN_DIGEST);
}

#[test]
fn a_listing_that_cannot_be_judged_is_refused() {
    for path in [
        ".gitignore",
        "tests/.harborignore",
        "steps/a/solution/.harborignore",
        "tests/.harborignore/x",
        "a//b",
        "/a",
        "tests/../x",
        "./a",
        "",
    ] {
        let error = content_digest_of([(path, [0; 32])]).unwrap_err();
        assert!(matches!(error, DigestError::Entry { .. }), "{path}: {error}");
    }
    assert!(content_digest_of([("tests/a", [0; 32]), ("tests/a", [1; 32])]).is_err());
    assert!(content_digest_of([("steps/a/.harborignore", [0; 32]), (".harborignore", [0; 32])]).is_ok());
}

#[test]
fn errors_say_where() {
    let root = tempfile::tempdir().unwrap();
    let message = |root: &Path| content_digest(root).unwrap_err().to_string();
    assert!(message(&root.path().join("none")).starts_with("cannot find the task directory `"));
    write(root.path(), &[("environment", "")]);
    assert!(
        message(root.path()).ends_with("/environment` is a file, where Harbor reads a folder: move it away")
    );
    fs::remove_file(root.path().join("environment")).unwrap();
    write(root.path(), &[(".gitignore", "ok\nbad\\\n")]);
    assert!(
        message(root.path()).contains(".gitignore` line 2: a backslash has nothing after it in the pattern")
    );
    fs::write(root.path().join(".gitignore"), b"\xff").unwrap();
    assert!(message(root.path()).ends_with(".gitignore` is not UTF-8: rewrite it, or remove it"));
    fs::remove_file(root.path().join(".gitignore")).unwrap();
    write(root.path(), &[("tests/x", ""), ("solution/y", "")]);
    symlink(env::temp_dir(), root.path().join("tests/.harborignore")).unwrap();
    assert!(message(root.path()).contains("leads out of the task directory"));
}

#[test]
fn a_thousand_listings_take_milliseconds() {
    let names: Vec<_> = (0..30).map(|n| format!("environment/baseline/src/module{n}/main.py")).collect();
    let started = Instant::now();
    for n in 0..1_000_u32 {
        let entries = names.iter().map(|name| (name.as_str(), [n.to_le_bytes()[0]; 32]));
        content_digest_of(entries).unwrap();
    }
    eprintln!("1,000 digests of 30 files each: {:?}", started.elapsed());
}

#[test]
fn agrees_with_the_lock_of_a_job_of_ours() {
    assert_eq!(agreed(&own_jobs()), 5);
}

#[test]
fn agrees_with_the_locks_of_real_jobs() {
    assert!(agreed(&corpus()) > 0);
}

/// How many tasks have the digest that the locks of their jobs say.
fn agreed(corpus: &Path) -> usize {
    let mut locked: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for job in fs::read_dir(corpus.join("jobs")).unwrap() {
        let Ok(text) = fs::read_to_string(job.unwrap().path().join("lock.json")) else { continue };
        let lock: serde_json::Value = serde_json::from_str(&text).unwrap();
        for trial in lock["trials"].as_array().unwrap() {
            let (path, digest) = (&trial["task"]["path"], &trial["task"]["digest"]);
            let (Some(path), Some(digest)) = (path.as_str(), digest.as_str()) else { continue };
            locked.entry(corpus.join(path)).or_default().push(digest.to_owned());
        }
    }
    let (mut equal, mut missing, mut other) = (0, Vec::new(), Vec::new());
    for (path, digests) in locked {
        if !path.is_dir() {
            missing.push(path);
            continue;
        }
        let found = content_digest(&path).unwrap().to_string();
        if digests.contains(&found) { equal += 1 } else { other.push((path, digests, found)) }
    }
    eprintln!(
        "{equal} tasks have the digest of their lock; not in the corpus: {missing:?}; edited since: {other:?}"
    );
    assert!(other.is_empty());
    equal
}

/// What Harbor says about task directories, in their order; `None` where it stops with an error.
fn harbors_digests(roots: &[PathBuf]) -> Vec<Option<String>> {
    const SCRIPT: &str = "
import json, sys, warnings
from pathlib import Path
from harbor.publisher.packager import Packager
warnings.simplefilter('ignore')
for root in json.load(sys.stdin):
    try:
        print('sha256:' + Packager.compute_content_hash(Path(root))[0])
    except Exception as error:
        print('error', type(error).__name__)
";
    let python = python::of_harbor();
    let output = python::run(&python, SCRIPT, &serde_json::to_string(roots).unwrap());
    let digests: Vec<_> =
        output.lines().map(|line| line.starts_with("sha256:").then(|| line.to_owned())).collect();
    assert_eq!(digests.len(), roots.len());
    digests
}

/// All the odd things a task directory can hold, in one.
fn torture_tree(root: &Path) {
    write(
        root,
        &[
            ("task.toml", "x"),
            ("README.md", "y"),
            ("trajectory.json", "{}"),
            ("environment/Dockerfile", "FROM scratch"),
            ("environment/.gitignore", "*"),
            ("environment/.harborignore", "*"),
            ("environment/a-b/x", ""),
            ("environment/a/x", ""),
            ("environment/a b/\u{e9}\u{1F600}\n\"'\\", "odd"),
            ("environment/n\nl/x.pyc", "behind a line break"),
            ("environment/x.pyc\n", ""),
            ("environment/.hidden/deep/er/file", ""),
            ("environment/tests/.harborignore", "*"),
            ("environment/tests/seen", ""),
            ("tests/.harborignore", "# rules\n*.log\n!keep.log\n/only-here\nsub/*.tmp\n*\\ \n"),
            ("tests/a.log", ""),
            ("tests/keep.log", ""),
            ("tests/only-here", ""),
            ("tests/sub/only-here", ""),
            ("tests/sub/x.tmp", ""),
            ("tests/sub/deep/x.tmp", ""),
            ("tests/sub/.harborignore", "!a.log\n/gone/\n"),
            ("tests/sub/a.log", ""),
            ("tests/sub/gone/x", ""),
            ("tests/sub/gone/.harborignore", "!*"),
            ("tests/trailing ", ""),
            ("solution/solve.sh", "#!/bin/sh"),
            ("solution/secret/.harborignore", "*"),
            ("solution/secret/x", ""),
            ("steps/one/instruction.md", ""),
            ("steps/one/tests/.harborignore", "out"),
            ("steps/one/tests/out/x", ""),
            ("steps/one/tests/in", ""),
            ("steps/one/workdir/.harborignore", "*"),
            ("steps/one/workdir/x", ""),
            ("steps/tests/.harborignore", "*"),
            ("steps/tests/x", ""),
            ("LICENSE", ""),
            ("other/x", ""),
        ],
    );
    fs::create_dir(root.join("environment/empty")).unwrap();
    symlink("environment/Dockerfile", root.join("instruction.md")).unwrap();
    symlink("a/x", root.join("environment/link")).unwrap();
    symlink("a", root.join("environment/folder-link")).unwrap();
    symlink("nowhere", root.join("environment/broken")).unwrap();
    symlink("circle", root.join("environment/circle")).unwrap();
    symlink("../tests/a.log", root.join("environment/to-ignored")).unwrap();
    symlink("../tests/keep.log", root.join("environment/to-kept.log")).unwrap();
    symlink("../environment/a/x", root.join("tests/out.log")).unwrap();
    symlink(root.join("LICENSE"), root.join("solution/absolute")).unwrap();
    let pipe = root.join("environment/pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
}

#[test]
fn agrees_with_harbor_on_a_torture_tree() {
    let scratch = tempfile::tempdir().unwrap();
    let root = |name: &str| scratch.path().join(name);
    torture_tree(&root("plain"));
    torture_tree(&root("gitignore"));
    write(
        &root("gitignore"),
        &[(
            ".gitignore",
            "environment/\n!environment/a/\n*.md\n!README.md\ntests/**/x*\n/steps/*\n!/steps/one/\n",
        )],
    );
    // The whole environment is a link into a scope of ignore rules.
    torture_tree(&root("linked"));
    fs::rename(root("linked").join("environment"), root("linked").join("tests/env")).unwrap();
    symlink("tests/env", root("linked").join("environment")).unwrap();
    write(&root("linked"), &[("tests/env/.harborignore", "a/\nfolder-link\nlink\n")]);
    torture_tree(&root("ignored"));
    fs::rename(root("ignored").join("environment"), root("ignored").join("tests/a.log.d")).unwrap();
    symlink("tests/a.log.d", root("ignored").join("environment")).unwrap();
    write(&root("ignored"), &[("tests/.harborignore", "/a.log.d/\n")]);
    // A name that is no text: an error, unless it is ignored.
    torture_tree(&root("bytes"));
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff.swp");
    fs::write(root("bytes").join("tests").join(odd), "").unwrap();
    torture_tree(&root("bad-bytes"));
    fs::write(root("bad-bytes").join("tests").join(std::ffi::OsStr::from_bytes(b"\xff")), "").unwrap();
    torture_tree(&root("bad-pattern"));
    write(&root("bad-pattern"), &[("solution/.harborignore", "!\n")]);
    torture_tree(&root("ignore-folder"));
    write(
        &root("ignore-folder"),
        &[("steps/one/solution/.harborignore/x", ""), ("steps/one/solution/y", "")],
    );

    let names =
        ["plain", "gitignore", "linked", "ignored", "bytes", "bad-bytes", "bad-pattern", "ignore-folder"];
    let roots: Vec<_> = names.iter().map(|name| root(name)).collect();
    let ours: Vec<_> =
        roots.iter().map(|root| content_digest(root).ok().map(|digest| digest.to_string())).collect();
    for (name, digest) in names.iter().zip(&ours) {
        assert_eq!(digest.is_none(), name.starts_with("bad") || *name == "ignore-folder", "{name}");
    }
    let theirs = harbors_digests(&roots);
    for ((name, ours), theirs) in names.iter().zip(ours).zip(theirs) {
        assert_eq!(ours, theirs, "{name}");
    }
    eprintln!("{} torture trees have harbor's digests", names.len());
}

/// Arbitrary small trees with arbitrary ignore files, from pieces that often meet.
fn arbitrary_tree(root: &Path, seed: u64) {
    let mut state = seed;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % limit
    };
    let names = ["a", "b", "c.log", "tests", "solution", "steps", "x.pyc", "__pycache__", ".hidden", "a.log"];
    let tops = [
        "environment",
        "tests",
        "solution",
        "steps",
        "steps/s/tests",
        "steps/a/solution",
        "tests/a",
        "tests",
    ];
    let patterns = [
        "*", "*.log", "!*.log", "a", "/a", "!a/", "b/", "**/b", "a/**", "!a/b", "!b", "tests/", "!/tests",
        "*/a", "# a",
    ];
    for _ in 0..20 {
        let mut path = tops[below(tops.len())].to_owned();
        for _ in 0..=below(3) {
            path = format!("{path}/{}", names[below(names.len())]);
        }
        let path = root.join(path);
        let Some(folder) = path.parent() else { continue };
        if fs::create_dir_all(folder).is_err() || fs::symlink_metadata(&path).is_ok() {
            continue;
        }
        match below(8) {
            0 => drop(symlink(root.join(tops[below(tops.len())]).join(names[below(names.len())]), path)),
            1 => drop(symlink("a", path)),
            2 => {
                let rules: Vec<_> = (0..=below(3)).map(|_| patterns[below(patterns.len())]).collect();
                fs::write(folder.join(".harborignore"), rules.join("\n")).unwrap();
            }
            _ => fs::write(path, below(1_000).to_string()).unwrap(),
        }
    }
    if below(3) == 0 {
        let rules: Vec<_> = (0..=below(4)).map(|_| patterns[below(patterns.len())]).collect();
        fs::write(root.join(".gitignore"), rules.join("\n")).unwrap();
    }
}

#[test]
fn agrees_with_harbor_on_arbitrary_trees() {
    let scratch = tempfile::tempdir().unwrap();
    let roots: Vec<_> = (0..300).map(|n| scratch.path().join(n.to_string())).collect();
    for (root, seed) in roots.iter().zip(1..) {
        fs::create_dir(root).unwrap();
        arbitrary_tree(root, seed);
    }
    let ours: Vec<_> =
        roots.iter().map(|root| content_digest(root).ok().map(|digest| digest.to_string())).collect();
    let theirs = harbors_digests(&roots);
    for ((root, ours), theirs) in roots.iter().zip(&ours).zip(&theirs) {
        if ours != theirs {
            let kept = scratch.keep();
            panic!("{} differs: {ours:?}, harbor {theirs:?} (kept in {})", root.display(), kept.display());
        }
    }
    let errors = ours.iter().filter(|digest| digest.is_none()).count();
    eprintln!("{} arbitrary trees have harbor's digests, {errors} of them none", roots.len());
}

/// Files of a task: names that Harbor hashes, each with its content.
fn hashed_files() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
    let name = "(environment|tests|solution|steps)(/[a-c]{1,2}\u{e9}?){1,3}[.]x";
    proptest::collection::btree_map(name, proptest::collection::vec(any::<u8>(), 0..20), 1..8)
}

fn listing_digest(files: &BTreeMap<String, Vec<u8>>) -> Digest {
    content_digest_of(files.iter().map(|(name, content)| (name.as_str(), sha256(content)))).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn order_of_creation_does_not_matter(files in hashed_files(), rotate in any::<proptest::sample::Index>()) {
        let root = tempfile::tempdir().unwrap();
        let mut order: Vec<_> = files.iter().collect();
        order.rotate_left(rotate.index(files.len()));
        for (name, content) in order {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        prop_assert_eq!(content_digest(root.path()).unwrap(), listing_digest(&files));
    }

    #[test]
    fn any_byte_and_any_path_counts(
        files in hashed_files(),
        which in any::<proptest::sample::Index>(),
        byte in any::<proptest::sample::Index>(),
        bit in 0..8_u8,
    ) {
        let before = listing_digest(&files);
        let name = files.keys().nth(which.index(files.len())).unwrap().clone();
        let mut edited = files.clone();
        let content = edited.get_mut(&name).unwrap();
        if content.is_empty() {
            content.push(0);
        } else {
            let at = byte.index(content.len());
            content[at] ^= 1 << bit;
        }
        prop_assert_ne!(listing_digest(&edited), before);
        let mut renamed = files.clone();
        let content = renamed.remove(&name).unwrap();
        renamed.insert(format!("{name}y"), content);
        prop_assert_ne!(listing_digest(&renamed), before);
        let mut shorter = files;
        shorter.remove(&name);
        prop_assert_ne!(listing_digest(&shorter), before);
    }
}
