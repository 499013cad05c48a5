//! Rules of the house that no compiler checks.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// Every file of the workspace whose name ends so, less what is built.
fn files(ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && name != ".git" && name != "__pycache__" {
                    folders.push(path);
                }
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "no file ends in {ending}");
    found
}

fn complaints(check: impl Fn(&str) -> Option<String>, ending: &str) -> Vec<String> {
    let of = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        check(&text).map(|what| format!("{}: {what}", path.strip_prefix(root()).unwrap().display()))
    };
    let mut complaints: Vec<_> = files(ending).into_iter().filter_map(of).collect();
    complaints.sort();
    complaints
}

#[test]
fn every_module_says_what_it_is_for() {
    let check = |text: &str| (!text.starts_with("//!")).then(|| "begins without a `//!` sentence".to_owned());
    assert_eq!(complaints(check, ".rs"), [""; 0]);
}

#[test]
fn no_line_ends_in_white_space() {
    let check = |text: &str| {
        let number = text.lines().position(|line| line.ends_with([' ', '\t']))? + 1;
        Some(format!("line {number} ends in white space"))
    };
    for ending in [".rs", ".md", ".toml", ".hbs", ".py"] {
        assert_eq!(complaints(check, ending), [""; 0]);
    }
}

#[test]
fn no_files_of_a_crate_use_one_another_in_a_circle() {
    let output = std::process::Command::new(root().join(".ci/circles")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn every_dependency_is_justified() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let contributing = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let names = manifest["workspace"]["dependencies"].as_table().unwrap().keys();
    let missing: Vec<_> = names
        .filter(|name| name.split('-').next() != Some("taskwright"))
        .filter(|name| {
            !contributing.lines().any(|line| {
                line.starts_with('|')
                    && line.split('|').nth(1).unwrap().split(',').any(|word| word.trim() == **name)
            })
        })
        .collect();
    assert!(missing.is_empty(), "CONTRIBUTING.md does not say why these are there: {missing:?}");
}

#[test]
fn every_crate_turns_the_bans_of_clippy_on() {
    let exempt = ["crates/bench", "crates/testing", "crates/testing-macros", "xtask"]
        .map(|folder| root().join(folder));
    let is_root = |path: &PathBuf| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
    // Measurements write what nobody else reads, tests are no product, and three lines need no bans.
    let is_exempt = |path: &PathBuf| exempt.iter().any(|folder| path.starts_with(folder));
    let roots = files(".rs").into_iter().filter(is_root).filter(|path| !is_exempt(path));
    let without: Vec<_> = roots
        .filter(|path| !fs::read_to_string(path).unwrap().contains("clippy::disallowed_methods"))
        .collect();
    assert!(without.is_empty(), "these do not turn on what clippy.toml bans: {without:?}");
}

/// A `#[test]` of the other harness is one that nobody runs, and nothing would say so.
#[test]
fn every_test_has_the_attribute_of_its_harness() {
    let mut lost = Vec::new();
    for path in files("Cargo.toml") {
        let manifest: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        let is_ours = |target: &toml::Value| target.get("harness") == Some(&false.into());
        let listed = |kind: &str| manifest.get(kind).and_then(|list| list.as_array()).into_iter().flatten();
        let programs: Vec<_> = listed("test").filter(|test| is_ours(test)).collect();
        let is_inner = manifest.get("lib").into_iter().chain(listed("bin")).any(is_ours);
        let package = path.parent().unwrap();
        for file in files(".rs") {
            let Ok(inner) = file.strip_prefix(package) else { continue };
            let part = |number: usize| inner.iter().nth(number).unwrap_or_default().to_string_lossy();
            let program = part(1).replace(".rs", "");
            let expected = match &*part(0) {
                "src" => is_inner,
                "tests" => programs.iter().any(|test| test["name"].as_str() == Some(&*program)),
                _ => continue,
            };
            let text = fs::read_to_string(&file).unwrap();
            let imports = text.split("use taskwright_testing::").skip(1);
            let names = imports.filter_map(|rest| rest.split_once(';')).map(|(names, _)| names);
            let found = names.flat_map(|names| names.split(['{', ',', '}', ' '])).any(|name| name == "test");
            let is_test = text.lines().any(|line| line.trim() == "#[test]");
            if is_test && found != expected {
                lost.push(file.strip_prefix(root()).unwrap().display().to_string());
            }
        }
    }
    assert_eq!(lost, [""; 0], "`use taskwright_testing::test` goes with `harness = false`");
}

#[test]
fn pages_link_to_what_is_there() {
    let mut lost = Vec::new();
    for page in files(".md") {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap();
            let is_outside = target.contains(':') || target.is_empty();
            if !is_outside && !page.parent().unwrap().join(target).exists() {
                lost.push(format!("{}: {target}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert_eq!(lost, [""; 0], "links to files that are not there");
}
