//! New specs build as they are, and what is in them does what their pages say.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::Error;
use taskwright_builder::scaffold::{Scaffold, scaffold};
use taskwright_builder::{Binary, Options, Silent, Workspace, build};
use taskwright_language::model::Mode;
use taskwright_testing::{Need, needs_python, not_run, test};

/// A workspace without specs, in a folder that vanishes.
struct Room {
    workspace: Workspace,
    _folder: tempfile::TempDir,
}

impl Room {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(folder.path().canonicalize().unwrap()).unwrap();
        fs::write(root.join("taskwright"), "#!/bin/sh\n").unwrap();
        let mut workspace = Workspace::new(root);
        workspace.binary = Binary::Prebuilt("taskwright".into());
        Self { workspace, _folder: folder }
    }

    /// A git repository without any commit, as `git init` leaves it.
    fn with_git() -> Self {
        let room = Self::new();
        let status =
            Command::new("git").args(["init", "--quiet"]).arg(&room.workspace.root).status().unwrap();
        assert!(status.success());
        room
    }

    fn make(&self, name: &str, mode: Mode) -> Result<Scaffold, Error> {
        scaffold(&self.workspace, name, mode, &AtomicBool::new(false))
    }

    fn path(&self, path: &str) -> Utf8PathBuf {
        self.workspace.root.join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }
}

fn names(folder: &Utf8Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn new_specs_build_without_a_commit() {
    let room = Room::with_git();
    for (name, mode) in [
        ("words", Mode::A),
        ("sort-2-things", Mode::A),
        ("coder", Mode::B),
        ("2048", Mode::B),
        ("a--b", Mode::B),
        (&"x".repeat(32), Mode::B),
    ] {
        let made = room.make(name, mode).unwrap();
        assert_eq!(made.obstacle, None);
        assert_eq!(made.folder, format!("harbor-tasks/{name}"));
        let report = build(&room.workspace, &Options::default(), &Silent, &AtomicBool::new(false)).unwrap();
        assert!(report.is_success(), "{name}: {report:?}");
        // That Mode B's service is given no Docker unless somebody says so is worth a warning, and nothing else is.
        let warnings: Vec<_> = report.warnings.iter().map(|warning| warning.render(false)).collect();
        assert!(warnings.iter().all(|text| text.contains("there is no Docker")), "{name}: {warnings:?}");
        for file in &made.files {
            assert!(room.path(&format!("harbor-tasks/{name}/{file}")).is_file(), "{file}");
        }
        assert!(room.path(&format!("target/harbor-tasks/{name}/task.toml")).is_file());
    }
    let left: Vec<_> =
        names(&room.path("harbor-tasks")).into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn packages_have_names_that_python_takes() {
    let room = Room::with_git();
    room.make("2-big-words", Mode::B).unwrap();
    let folder = "harbor-tasks/2-big-words";
    for place in ["baseline", "solution"] {
        let agent = room.read(&format!("{folder}/{place}/task_2_big_words_agent/agent.py"));
        assert!(agent.contains("class Agent(BaseAgent):"));
    }
    let project: toml::Table = room.read(&format!("{folder}/baseline/pyproject.toml")).parse().unwrap();
    assert_eq!(project["project"]["name"].as_str(), Some("task-2-big-words-agent"));
    assert!(room.read(&format!("{folder}/spec.toml")).contains("\"task_2_big_words_agent.agent:Agent\""));
}

#[test]
fn what_is_there_is_not_touched() {
    let room = Room::with_git();
    let specs = room.path("harbor-tasks");
    fs::create_dir_all(specs.join("folder")).unwrap();
    fs::write(specs.join("file"), "mine\n").unwrap();
    symlink("nowhere", specs.join("link")).unwrap();
    for name in ["folder", "file", "link"] {
        let error = room.make(name, Mode::A).unwrap_err();
        assert_eq!(error.to_string(), format!("`harbor-tasks/{name}` exists already"));
        assert!(!error.is_usage());
    }
    assert_eq!(names(&specs), ["file", "folder", "link"]);
    assert_eq!(names(&specs.join("folder")), [""; 0]);
    assert_eq!(room.read("harbor-tasks/file"), "mine\n");
    assert_eq!(fs::read_link(specs.join("link")).unwrap().to_str(), Some("nowhere"));
}

#[test]
fn a_bad_name_makes_nothing() {
    let room = Room::with_git();
    for name in ["", ".", "..", "../x", "A", "a_b", "a b", "-a", "a\nb", "é", &"x".repeat(33)] {
        let error = room.make(name, Mode::B).unwrap_err();
        assert!(error.is_usage() && error.hint_text().is_some(), "{name}");
    }
    assert!(!room.path("harbor-tasks").exists());
}

#[test]
fn a_folder_that_cannot_be_written_stays_as_it_was() {
    let room = Room::with_git();
    fs::write(room.path("harbor-tasks"), "a file\n").unwrap();
    let error = room.make("words", Mode::A).unwrap_err();
    assert!(error.to_string().contains("harbor-tasks"), "{error}");
    assert_eq!(room.read("harbor-tasks"), "a file\n");
    fs::remove_file(room.path("harbor-tasks")).unwrap();

    let specs = room.path("harbor-tasks");
    fs::create_dir(&specs).unwrap();
    fs::set_permissions(&specs, PermissionsExt::from_mode(0o555)).unwrap();
    // Whoever is root may write anyway.
    if let Err(error) = room.make("words", Mode::A) {
        assert!(error.to_string().contains("permission denied"), "{error}");
        assert!(error.hint_text().unwrap().contains("nothing was made"));
        assert_eq!(names(&specs), [""; 0]);
    }
    fs::set_permissions(&specs, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_workspace_outside_of_git_is_told_so() {
    let room = Room::new();
    // What is called `.git` and is no repository does not make one.
    fs::create_dir(room.path(".git")).unwrap();
    let obstacle = room.make("words", Mode::A).unwrap().obstacle;
    let asked = Command::new("git")
        .args(["rev-parse", "--git-dir"])
        .current_dir(room.path(".").as_std_path())
        .output();
    if asked.unwrap().status.success() {
        not_run(Need::System, "the temporary folder is in a git repository");
    }
    let obstacle = obstacle.expect("it is not said that no task can be built here");
    assert_eq!(obstacle.to_string(), "`harbor-tasks/words` is not in a git repository");
    assert!(obstacle.hint_text().unwrap().contains("/.git` for none: mend or remove it"), "{obstacle:?}");

    fs::remove_dir(room.path(".git")).unwrap();
    let obstacle = room.make("more-words", Mode::A).unwrap().obstacle.unwrap();
    assert!(obstacle.hint_text().unwrap().starts_with("run `git init`"), "{obstacle:?}");
}

/// Runs a script of Python in a folder on some lines, and returns the lines it prints.
fn python(folder: &Utf8Path, script: &Utf8Path, lines: &[String]) -> Vec<serde_json::Value> {
    let mut child = Command::new("python3")
        .args(["-B", script.as_str()])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = lines.join("\n");
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_mode_a_example_scores_as_its_page_says() {
    needs_python();
    let room = Room::with_git();
    let folder = room.path(&room.make("words", Mode::A).unwrap().folder.into_string());
    let rows: Vec<serde_json::Value> = fs::read_to_string(folder.join("dataset/rows.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (candidate, expected) in [("baseline", 0.5), ("solution", 1.0)] {
        for split in ["train", "validation", "test"] {
            let rows: Vec<_> = rows.iter().filter(|row| row["split"] == split).collect();
            let asked: Vec<_> = rows
                .iter()
                .map(|row| serde_json::json!({"id": row["id"], "input": {"text": row["text"]}}).to_string())
                .collect();
            let outputs = python(&folder.join(candidate), &folder.join("scorer/run.py"), &asked);
            let judged: Vec<_> = rows
                .iter()
                .zip(outputs)
                .map(|(row, answer)| {
                    let output = &answer["output"];
                    serde_json::json!({"id": row["id"], "sample": row, "output": output, "error": null})
                        .to_string()
                })
                .collect();
            let scores = python(&folder, &folder.join("scorer/score.py"), &judged);
            let sum: f64 = scores.iter().map(|score| score["score"].as_f64().unwrap()).sum();
            #[expect(clippy::cast_precision_loss, reason = "a handful of rows")]
            let mean = sum / rows.len() as f64;
            assert!((mean - expected).abs() < 1e-9, "{candidate} on {split}: {mean}");
        }
    }
}

#[test]
fn the_mode_a_scorer_takes_any_answer() {
    needs_python();
    let room = Room::with_git();
    let folder = room.path(&room.make("words", Mode::A).unwrap().folder.into_string());
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let digits = "9".repeat(5000);
    let hostile = ["null", "true", "\"7\"", "NaN", "1e999", "[7]", "{\"score\": 1}", &digits, &deep, "7.5"];
    let mut lines: Vec<_> = hostile
        .iter()
        .map(|output| {
            format!(
                "{{\"id\": \"a\\\"b\", \"sample\": {{\"value\": 7}}, \"output\": {output}, \"error\": null}}"
            )
        })
        .collect();
    lines.push("{\"id\": \"a\\\"b\", \"sample\": {\"value\": 7}, \"output\": 7, \"error\": null}".to_owned());
    lines.push(
        "{\"id\": \"a\\\"b\", \"sample\": {\"value\": 7}, \"output\": null, \"error\": \"timeout\"}"
            .to_owned(),
    );
    let answers = python(&folder, &folder.join("scorer/score.py"), &lines);
    let scores: Vec<_> = answers.iter().map(|answer| answer["score"].as_i64().unwrap()).collect();
    assert!(answers.iter().all(|answer| answer["id"] == "a\"b"));
    assert_eq!(scores, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
}

#[test]
fn the_inner_verifiers_know_right_from_wrong() {
    let room = Room::with_git();
    room.make("coder", Mode::B).unwrap();
    for split in ["train", "validation", "test"] {
        let task = format!("harbor-tasks/coder/inner-tasks/reverse-{split}");
        let machine = room.path(split);
        fs::create_dir_all(machine.join("app")).unwrap();
        fs::create_dir_all(machine.join("logs/verifier")).unwrap();
        // The scripts' folders are moved below one of ours.
        let run = |script: &str| {
            let text = room.read(&format!("{task}/{script}"));
            let text = text
                .replace("/app/", &format!("{machine}/app/"))
                .replace("/logs/", &format!("{machine}/logs/"));
            assert!(Command::new("sh").args(["-c", &text]).status().unwrap().success());
        };
        let reward = || {
            run("tests/test.sh");
            fs::read_to_string(machine.join("logs/verifier/reward.json")).unwrap()
        };
        assert_eq!(reward(), "{\"reward\": 0}\n");
        run("solution/solve.sh");
        assert_eq!(reward(), "{\"reward\": 1}\n");
        let instruction = room.read(&format!("{task}/instruction.md"));
        let word = instruction.split('`').nth(1).unwrap();
        fs::write(machine.join("app/answer.txt"), format!("{word}\n")).unwrap();
        assert_eq!(reward(), "{\"reward\": 0}\n");
        for script in ["tests/test.sh", "solution/solve.sh"] {
            let mode = fs::metadata(room.path(&format!("{task}/{script}"))).unwrap().permissions().mode();
            assert_eq!(mode & 0o100, 0o100, "{script}");
        }
    }
}

fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
