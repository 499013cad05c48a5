//! The generated pages of docs/ are current, and the manifests of this workspace are good.

use std::collections::BTreeMap;

use camino::Utf8Path;
use taskwright_experiment::{load, reference_page, schema_text};
use taskwright_testing::test;

fn root() -> &'static Utf8Path {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Utf8Path::parent).unwrap()
}

#[test]
fn the_pages_are_current() {
    for (page, text, flag) in [
        ("docs/experiment-reference.md", reference_page(), "--reference"),
        ("docs/experiment.schema.json", schema_text(), "--schema"),
    ] {
        let written = std::fs::read_to_string(root().join(page)).unwrap_or_default();
        assert!(written == text, "{page} is not current: run `cargo xtask run {flag} > {page}`");
    }
}

#[test]
fn every_field_says_what_it_means() {
    let page = reference_page();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let meaning = line.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        assert!(meaning.len() > 8, "{line}");
    }
    assert!(page.contains("## `[compute.resource_limits]`"), "{page}");
    assert!(!page.contains("| mode |"));
}

#[test]
fn the_example_in_the_docs_is_good() {
    let page = std::fs::read_to_string(root().join("docs/experiments.md")).unwrap();
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    std::fs::write(folder.join("example.toml"), example).unwrap();
    let said = load(folder, "example.toml".into(), &BTreeMap::new()).map(|document| document.warnings);
    let said = said.unwrap_or_else(|mistakes| mistakes);
    assert!(said.is_empty(), "{}", said.render(false));
}

#[test]
fn the_manifests_of_this_workspace_are_good() {
    let mut any = false;
    for entry in root().join("experiments").read_dir_utf8().unwrap() {
        let name = entry.unwrap().file_name().to_owned();
        let file = Utf8Path::new("experiments").join(name);
        if file.extension() != Some("toml") {
            continue;
        }
        any = true;
        match load(root(), &file, &BTreeMap::new()) {
            Ok(document) => assert!(document.warnings.is_empty(), "{}", document.warnings.render(false)),
            Err(mistakes) => panic!("{}", mistakes.render(false)),
        }
    }
    assert!(any);
}
