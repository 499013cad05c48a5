//! What a new spec's folder holds, for each mode, from the files in `templates/new/`.

use super::Name;

/// A file to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path below the spec's folder.
    pub path: String,
    /// What it says.
    pub text: String,
    /// Whether it can be run.
    pub executable: bool,
}

/// A template: where its file goes, and its text. Both may hold placeholders such as `{{name}}`.
type Template = (&'static str, &'static str);

macro_rules! template {
    ($path:literal, $from:literal) => {
        ($path, include_str!(concat!("../../templates/new/", $from)))
    };
}

const MODE_A: &[Template] = &[
    template!("spec.toml", "a/spec.toml"),
    template!("README.md", "a/README.md"),
    template!("instruction.md", "a/instruction.md"),
    template!("baseline/reader.py", "a/baseline/reader.py"),
    template!("solution/reader.py", "a/solution/reader.py"),
    template!("scorer/run.py", "a/scorer/run.py"),
    template!("scorer/score.py", "a/scorer/score.py"),
    template!("dataset/rows.jsonl", "a/dataset/rows.jsonl"),
];

const MODE_B: &[Template] = &[
    template!("spec.toml", "b/spec.toml"),
    template!("README.md", "b/README.md"),
    template!("instruction.md", "b/instruction.md"),
    template!("baseline/pyproject.toml", "b/baseline/pyproject.toml"),
    template!("baseline/{{package}}/__init__.py", "b/baseline/package/__init__.py"),
    template!("baseline/{{package}}/agent.py", "b/baseline/package/agent.py"),
    template!("solution/{{package}}/agent.py", "b/solution/agent.py"),
];

/// One inner task of Mode B; there is one for each split.
const INNER_TASK: &[Template] = &[
    template!("task.toml", "b/inner-task/task.toml"),
    template!("instruction.md", "b/inner-task/instruction.md"),
    template!("environment/Dockerfile", "b/inner-task/environment/Dockerfile"),
    template!("environment/docker-compose.yaml", "b/inner-task/environment/docker-compose.yaml"),
    template!("tests/Dockerfile", "b/inner-task/tests/Dockerfile"),
    template!("tests/docker-compose.yaml", "b/inner-task/tests/docker-compose.yaml"),
    template!("tests/test.sh", "b/inner-task/tests/test.sh"),
    template!("solution/solve.sh", "b/inner-task/solution/solve.sh"),
];

/// The split of each inner task, and the word that it asks to reverse.
const WORDS: [(&str, &str); 3] = [("train", "window"), ("validation", "garden"), ("test", "planet")];

/// The files of a new Mode A spec.
pub fn mode_a(name: &Name) -> Vec<File> {
    MODE_A.iter().map(|template| file("", template, &common(name))).collect()
}

/// The files of a new Mode B spec.
pub fn mode_b(name: &Name) -> Vec<File> {
    let mut files: Vec<_> = MODE_B.iter().map(|template| file("", template, &common(name))).collect();
    for (split, word) in WORDS {
        let answer: String = word.chars().rev().collect();
        let mut values = common(name);
        values.extend([("split", split), ("word", word), ("answer", &answer)]);
        let folder = format!("inner-tasks/reverse-{split}/");
        files.extend(INNER_TASK.iter().map(|template| file(&folder, template, &values)));
    }
    files
}

fn common(name: &Name) -> Vec<(&'static str, &str)> {
    vec![
        ("name", &name.task),
        ("package", &name.package),
        ("project", &name.project),
        ("harbor", taskwright_harbor::HARBOR_VERSION),
    ]
}

fn file(folder: &str, (path, text): &Template, values: &[(&str, &str)]) -> File {
    File {
        path: format!("{folder}{}", fill(path, values)),
        text: fill(text, values),
        executable: path.rsplit_once('.').is_some_and(|(_, extension)| extension == "sh"),
    }
}

/// Puts values in the place of placeholders. No value needs escaping: all are made of letters, digits, `-`, `_` and `.`.
fn fill(text: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(text.to_owned(), |text, (key, value)| text.replace(&format!("{{{{{key}}}}}"), value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;

    #[test]
    fn no_template_is_forgotten_and_scripts_are_executable_there_too() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/new");
        let used: BTreeSet<&str> =
            MODE_A.iter().chain(MODE_B).chain(INNER_TASK).map(|(_, text)| *text).collect();
        for entry in walkdir::WalkDir::new(&root).sort_by_file_name() {
            let entry = entry.unwrap();
            if !entry.file_type().is_file() {
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).unwrap();
            assert!(used.contains(text.as_str()), "{}", entry.path().display());
            let is_script = entry.path().extension().is_some_and(|extension| extension == "sh");
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o100 != 0, is_script, "{}", entry.path().display());
        }
    }

    #[test]
    fn every_placeholder_is_filled() {
        let name = Name::new("my-task-2").unwrap();
        for file in mode_a(&name).into_iter().chain(mode_b(&name)) {
            assert!(!file.path.contains("{{") && !file.text.contains("{{"), "{}", file.path);
            assert!(file.text.ends_with('\n'), "{}", file.path);
        }
    }
}
