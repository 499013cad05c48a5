//! Databases that are new, old, damaged, locked and read-only.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::record::Filter;

#[test]
fn a_ledger_of_a_newer_program_is_refused_and_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    ledger.connection.pragma_update(None, "user_version", 99).unwrap();
    drop(ledger);
    for error in [Ledger::open(folder.path()).unwrap_err(), Ledger::read(folder.path()).unwrap_err()] {
        assert!(error.to_string().contains("has version 99"), "{error}");
        assert!(error.hint_text().unwrap().contains("newer Taskwright"));
    }
}

#[test]
fn the_database_of_another_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let other = Connection::open(folder.path().join(DATABASE)).unwrap();
    other.execute_batch("PRAGMA user_version = 1; CREATE TABLE trials (x)").unwrap();
    let error = Ledger::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("another program"), "{error}");
}

#[test]
fn no_ledger_is_an_error_and_reading_makes_none() {
    let folder = tempfile::tempdir().unwrap();
    let error = Ledger::read(folder.path().join("x")).unwrap_err();
    assert!(error.to_string().starts_with("there is no ledger at"), "{error}");
    assert!(!folder.path().join("x").exists());
}

#[test]
fn a_ledger_on_a_read_only_medium_is_read_and_writing_is_refused_in_clear_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("with space #?%");
    drop(Ledger::open(&path).unwrap());
    let permit = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    permit(0o555);
    fs::set_permissions(path.join(DATABASE), fs::Permissions::from_mode(0o444)).unwrap();
    if File::create(path.join("probe")).is_ok() {
        eprintln!("skipped: root may write everywhere, so a folder without permissions does not show it");
        let ledger = connect_at_rest(&path.join(DATABASE)).unwrap();
        assert_eq!(schema::version(&ledger, &path).unwrap(), schema::current());
        permit(0o755);
        return;
    }
    assert_eq!(Ledger::read(&path).unwrap().count(&Filter::default()).unwrap(), 0);
    let error = Ledger::open(&path).unwrap_err();
    assert!(error.hint_text().unwrap().contains("permissions"), "{error}");
    permit(0o755);
}

#[test]
fn whoever_comes_second_waits_and_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    let turn = ledger.take_turn(|| unreachable!()).unwrap();
    let (told, hears) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            let ledger = Ledger::open(folder.path()).unwrap();
            ledger.take_turn(|| told.send(()).unwrap()).map(|_| ())
        });
        hears.recv().unwrap();
        drop(turn);
        second.join().unwrap().unwrap();
    });
}
