//! Damage that has to be found.

use std::fs;
use std::os::unix::fs::FileExt;

use taskwright_testing::test;

use super::*;
use crate::import::Options;

/// A ledger with one imported trial.
fn ledger() -> (tempfile::TempDir, Ledger) {
    let root = tempfile::tempdir().unwrap();
    let trial = root.path().join("jobs/one/a__1");
    fs::create_dir_all(&trial).unwrap();
    fs::write(root.path().join("jobs/one/config.json"), r#"{"job_name": "one"}"#).unwrap();
    fs::write(
        trial.join("result.json"),
        r#"{"id": "1", "trial_name": "a__1", "task_name": "a", "task_checksum": "0", "config": {"agent": {"name": "oracle"}},
            "verifier_result": {"rewards": {"reward": 1.0}}}"#,
    )
    .unwrap();
    fs::write(trial.join("trial.log"), "one line\n".repeat(100)).unwrap();
    let mut ledger = Ledger::open(root.path().join("ledger")).unwrap();
    let report = ledger.import(&[root.path().join("jobs")], &Options::default(), |_| {}).unwrap();
    assert_eq!(report.imported, 1);
    (root, ledger)
}

fn problems(ledger: &Ledger) -> Vec<String> {
    ledger.verify(None, |_| {}).unwrap().problems
}

#[test]
fn a_damaged_byte_of_evidence_is_found_and_the_trial_named() {
    let (root, ledger) = ledger();
    assert_eq!(problems(&ledger), [""; 0]);
    let (name, size) = layout::packs(ledger.directory()).unwrap().remove(0);
    let path = root.path().join("ledger/evidence").join(name);
    let pack = fs::File::options().write(true).open(path).unwrap();
    pack.write_all_at(b"\xff\xff", size - 10).unwrap();
    let found = problems(&ledger);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("content ") && found[1].starts_with("trial `1`: `"), "{found:?}");
    let damaged = ledger.damage(&ledger.find("1").unwrap());
    assert!(damaged.len() == 1 && damaged[0].contains("it is damaged"), "{damaged:?}");
}

#[test]
fn a_pack_that_was_cut_short_anywhere_is_called_damaged() {
    let (root, ledger) = ledger();
    let (name, size) = layout::packs(ledger.directory()).unwrap().remove(0);
    let pack = fs::File::options().write(true).open(root.path().join("ledger/evidence").join(name)).unwrap();
    // In the last content, and in the first one's header.
    for (length, contents) in [(size - 10, 1), (30, 2)] {
        pack.set_len(length).unwrap();
        let found = problems(&ledger);
        assert_eq!(found.len(), 2 * contents, "{found:?}");
        assert!(found.iter().all(|line| line.contains("it is damaged")), "{found:?}");
    }
}

#[test]
fn a_pack_that_is_gone_is_found_and_its_evidence_can_be_imported_again() {
    let (root, mut ledger) = ledger();
    let (name, _) = layout::packs(ledger.directory()).unwrap().remove(0);
    fs::remove_file(root.path().join("ledger/evidence").join(&name)).unwrap();
    let found = problems(&ledger);
    assert!(found[0].contains("is gone, and with it 2 contents"), "{found:?}");
    ledger.gc(false).unwrap();
    let options = Options { replace: true, ..Options::default() };
    assert_eq!(ledger.import(&[root.path().join("jobs")], &options, |_| {}).unwrap().replaced, 1);
    assert_eq!(problems(&ledger), [""; 0]);
}

#[test]
fn a_record_that_was_changed_by_hand_is_found() {
    let (_root, ledger) = ledger();
    ledger.connection.execute("UPDATE trials SET reward = 0.5, agent = 'other'", []).unwrap();
    let found = problems(&ledger);
    assert!(found.iter().any(|line| line.contains("reward: 0.5 -> 1.0")), "{found:?}");
    assert!(found.iter().any(|line| line.contains("agent: \"other\" -> \"oracle\"")), "{found:?}");
}

#[test]
fn a_damaged_database_is_said_in_clear_words() {
    let (root, ledger) = ledger();
    drop(ledger);
    let path = root.path().join("ledger/ledger.sqlite");
    let whole = fs::read(&path).unwrap();
    // In the middle: pages of tables.
    let mut bytes = whole.clone();
    for byte in &mut bytes[8192..40_000] {
        *byte = 0xa5;
    }
    fs::write(&path, &bytes).unwrap();
    match Ledger::read(root.path().join("ledger")) {
        Ok(ledger) => assert!(!problems(&ledger).is_empty()),
        Err(error) => assert!(error.to_string().contains("damaged"), "{error}"),
    }
    // From the beginning: no database at all.
    fs::write(&path, "not a database, but long enough to be taken for one".repeat(100)).unwrap();
    let error = Ledger::read(root.path().join("ledger")).unwrap_err();
    assert!(
        error.to_string().contains("is damaged") && error.hint_text().unwrap().contains("verify"),
        "{error}"
    );
    // Cut short.
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    match Ledger::read(root.path().join("ledger")) {
        Ok(ledger) => assert!(!problems(&ledger).is_empty()),
        Err(error) => assert!(error.to_string().contains("damaged"), "{error}"),
    }
}
