//! Input that nobody should write, and somebody does.

use std::ffi::OsStr;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use taskwright_testing::test;

use super::*;

#[test]
fn names_and_identifiers_are_data() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    let long = "x".repeat(10_000);
    for (number, id) in
        ["../../etc/passwd", "\\u0000nul", "日本語", &long, "'; DROP TABLE trials; --", "\\ud800half"]
            .iter()
            .enumerate()
    {
        let trial = job.trial("t", &number.to_string(), "1.0");
        fs::write(trial.join("result.json"), result("../../x", id, "1.0")).unwrap();
    }
    let (report, events) = fixture.again();
    assert_eq!((report.imported, report.rejected), (6, 0), "{events:?}");
    assert_eq!(fixture.again().0.duplicates, 6);
    assert!(fixture.ledger.find("../../etc/passwd").is_ok());
    assert!(fixture.ledger.find(&long).is_ok());
    assert!(fixture.ledger.find("日本語").is_ok());
    assert!(fixture.is_sound());
}

#[test]
fn links_pipes_and_odd_names_among_the_evidence_are_neither_followed_nor_opened() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    let trial = job.trial("a", "1", "1.0");
    symlink("/etc/passwd", trial.join("agent/link")).unwrap();
    symlink("/", trial.join("agent/root")).unwrap();
    symlink(".", trial.join("agent/loop")).unwrap();
    assert!(Command::new("mkfifo").arg(trial.join("agent/pipe")).status().unwrap().success());
    fs::write(trial.join("agent").join(OsStr::from_bytes(b"bad\xff\\name\n")), "odd").unwrap();
    fs::write(trial.join("agent/empty"), "").unwrap();
    fixture.again();
    let record = fixture.trials().remove(0);
    let kept = |path: &str| record.evidence.iter().find(|file| file.path == path).map(|file| file.kept);
    for path in ["agent/link", "agent/root", "agent/loop", "agent/pipe"] {
        assert_eq!(kept(path), Some(Kept::Skipped), "{path}");
    }
    assert_eq!(kept("agent/root/etc"), None);
    assert_eq!(fixture.content(&record, "agent/bad\\xff\\\\name\n"), b"odd");
    assert_eq!(fixture.content(&record, "agent/empty"), b"");
    assert!(fixture.ledger.evidence(&record, "agent/link").is_err());
    assert!(fixture.ledger.evidence(&record, "../../../etc/passwd").is_err());
    assert!(fixture.is_sound());
}

#[test]
fn a_result_in_the_place_of_a_pipe_or_a_link_is_refused_without_waiting() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    for (task, make) in [("a", "mkfifo"), ("b", "ln")] {
        let trial = job.trial(task, "1", "1.0");
        fs::remove_file(trial.join("result.json")).unwrap();
        let mut command = Command::new(make);
        if make == "ln" {
            command.args(["-s", "/etc/hostname"]);
        }
        assert!(command.arg(trial.join("result.json")).status().unwrap().success());
    }
    let (report, events) = fixture.again();
    assert_eq!((report.rejected, report.imported), (2, 0), "{events:?}");
}

#[test]
fn deep_documents_and_deep_folders_have_an_end() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    let trial = job.trial("a", "1", "1.0");
    let deep = format!(r#""deep": {}{}, "started_at""#, "[".repeat(100_000), "]".repeat(100_000));
    fs::write(trial.join("result.json"), result("a", "1", "1.0").replace("\"started_at\"", &deep)).unwrap();
    let mut folder = trial.join("agent");
    for _ in 0..200 {
        folder.push("d");
    }
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("file"), "far").unwrap();
    let (report, events) = fixture.again();
    assert_eq!(report.imported, 1, "{events:?}");
    assert!(events[0].reasons[0].contains("folders deep"), "{events:?}");
    assert!(fixture.is_sound());
}

#[test]
fn a_large_trajectory_is_streamed_and_stored_once() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    // Sparse: it has no blocks, but every byte is read. The memory of the process must not grow by it.
    let size = 300_u64 << 20;
    for id in ["1", "2"] {
        let trial = job.trial("a", id, "1.0");
        let mut file = fs::File::create(trial.join("agent/trajectory.json")).unwrap();
        file.seek(SeekFrom::Start(size - 1)).unwrap();
        file.write_all(b"}").unwrap();
    }
    let before = peak();
    fixture.again();
    if let (Some(before), Some(after)) = (before, peak()) {
        assert!(after - before < 64 << 10, "{before} kB, then {after} kB");
    }
    let records = fixture.trials();
    let file = |trial: &Trial| {
        trial.evidence.iter().find(|file| file.path == "agent/trajectory.json").unwrap().clone()
    };
    assert_eq!(file(&records[0]), file(&records[1]));
    assert_eq!(file(&records[0]).size, size);
    let stored: u64 =
        crate::db::layout::packs(fixture.ledger.directory()).unwrap().iter().map(|(_, size)| size).sum();
    assert!(stored < 1 << 20, "{stored}");
}

/// The most memory that the process has had, in kB.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
