//! `run`, as far as it goes without Harbor: what is refused before anything starts.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

const MANIFEST: &str = "\
name = \"try\"
[[tasks]]
path = \"../tasks\"
[[agents]]
name = \"codex\"
model = \"openai/small\"
";
const GATEWAY: &str = "\
[gateway]
upstream_api_key_env = \"TRY_UPSTREAM_KEY\"
upstream_base_url_env = \"TRY_UPSTREAM_URL\"
[gateway.agents]
allowed_models = [\"small\"]
";

/// A workspace with one task and one experiment.
fn workspace(manifest: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("taskwright.toml", "");
    write("tasks/one/task.toml", "schema_version = \"1.4\"\n[task]\nname = \"try/one\"\n");
    write("tasks/one/instruction.md", "Nothing.\n");
    write("experiments/try.toml", manifest);
    folder
}

/// The exit status, and what was said.
fn run(folder: &Path, words: &[&str]) -> (i32, String) {
    let Output { status, stderr, .. } = Command::new(env!("CARGO_BIN_EXE_taskwright"))
        .args(["run", "try"])
        .args(words)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("TRY_UPSTREAM_URL", "http://127.0.0.1:9")
        .env_remove("TRY_UPSTREAM_KEY")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (status.code().unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_bound_needs_a_gateway_and_a_price_of_every_model() {
    let priced = format!(
        "{GATEWAY}model_aliases = {{ small = \"vendor/m\" }}\n[gateway.prices]\nother = {{ input = 1, output = 1 }}\n"
    );
    for (manifest, words) in [
        (MANIFEST.to_owned(), "`--max-usd` needs a gateway"),
        (format!("{MANIFEST}{GATEWAY}"), "`--max-usd` needs a price of `small`"),
        (format!("{MANIFEST}{priced}"), "`--max-usd` needs a price of `small`"),
    ] {
        let folder = workspace(&manifest);
        let (status, said) = run(folder.path(), &["--max-usd", "1"]);
        assert!(status == 2 && said.contains(words) && said.contains("prices"), "{status}: {said}");
        assert!(!folder.path().join("jobs").exists());
    }
    let folder = workspace(MANIFEST);
    let (status, said) = run(folder.path(), &["--max-usd", "much"]);
    assert!(status == 2 && said.contains("US dollars"), "{said}");
}

#[test]
fn a_gateway_without_its_key_is_said_before_anything_starts() {
    let folder = workspace(&format!("{MANIFEST}{GATEWAY}"));
    for words in [&["--dry-run"][..], &[]] {
        let (status, said) = run(folder.path(), words);
        assert!(
            status == 1 && said.contains("the variable `TRY_UPSTREAM_KEY` is not set"),
            "{status}: {said}"
        );
    }
    assert!(!folder.path().join("jobs").exists());
}
