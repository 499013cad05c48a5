//! Databases that are new, old, damaged, locked and read-only.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;

use taskwright_testing::{Need, not_run, test};

use super::*;
use crate::rank::leaderboard::Rules;
use crate::rank::patterns::TaskPatterns;
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

/// What a program of the first version left, evidence and all.
#[test]
fn a_ledger_of_the_first_version_is_brought_up_with_all_that_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let from = taskwright_testing::own_jobs().join("ledgers/version-1");
    let old = Connection::open(folder.path().join(DATABASE)).unwrap();
    old.execute_batch(&fs::read_to_string(from.join("ledger.sql")).unwrap()).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    old.pragma_update(None, "application_id", schema::APPLICATION).unwrap();
    drop(old);
    fs::create_dir(folder.path().join("evidence")).unwrap();
    for pack in fs::read_dir(from.join("evidence")).unwrap().flatten() {
        fs::copy(pack.path(), folder.path().join("evidence").join(pack.file_name())).unwrap();
    }
    // Reading is enough to bring it up.
    let ledger = Ledger::read(folder.path()).unwrap();
    let version: i64 = ledger.connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version.unsigned_abs(), schema::current() as u64);
    let verified = ledger.verify(None, |_| {}).unwrap();
    assert_eq!((verified.trials, verified.contents, verified.problems), (10, 13, Vec::new()));
    let board = ledger.leaderboard(&Filter::default(), &TaskPatterns::default(), &Rules::default()).unwrap();
    let row = &board.rows[0];
    assert_eq!((row.mean, row.complete, row.partial, row.missing), (Some(0.5), 2, 1, 7));
    let trial = ledger.find("passes__mqi35G4").unwrap();
    assert_eq!((trial.reward, trial.regrade_of), (Some(1.0), None));
    let (complete, mean): (i64, f64) = ledger
        .connection
        .query_row("SELECT complete, mean FROM leaderboard", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert_eq!((complete, mean), (2, 0.5));
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
fn a_ledger_whose_database_was_lost_is_not_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    drop(Ledger::open(folder.path()).unwrap());
    fs::write(folder.path().join("evidence/1.pack"), "evidence").unwrap();
    for lose in [|path: &Path| fs::write(path, "").unwrap(), |path: &Path| fs::remove_file(path).unwrap()] {
        lose(&folder.path().join(DATABASE));
        let error = Ledger::open(folder.path()).unwrap_err();
        assert!(error.to_string().ends_with("the records are lost"), "{error}");
        assert!(Ledger::read(folder.path()).is_err());
        assert!(folder.path().join("evidence/1.pack").exists());
    }
    fs::rename(folder.path().join("evidence"), folder.path().join("old")).unwrap();
    Ledger::open(folder.path()).unwrap();
}

#[test]
fn what_stands_in_the_way_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    let says = |place: &Path, words: &str| {
        let error = Ledger::open(place).unwrap_err();
        assert!(error.to_string().contains(words) && error.hint_text().is_some(), "{error}");
    };
    says(&file, "file` is in the way");
    let place = folder.path().join("a");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("evidence"), "mine").unwrap();
    says(&place, "evidence` is in the way");
    let place = folder.path().join("b");
    fs::create_dir_all(place.join(DATABASE)).unwrap();
    says(&place, "is a folder, not a database");
}

#[test]
fn a_table_that_is_gone_is_said_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    ledger.connection.execute_batch("DROP TABLE rewards").unwrap();
    let error = ledger.trials(&Filter::default()).unwrap_err();
    assert!(error.to_string().contains("no such table: rewards"), "{error}");
    assert!(error.hint_text().unwrap().starts_with("restore it from a copy"));
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
        let ledger = connect_at_rest(&path.join(DATABASE)).unwrap();
        assert_eq!(schema::version(&ledger, &path).unwrap(), schema::current());
        permit(0o755);
        not_run(
            Need::Ordinary,
            "root may write everywhere, so a folder without permissions does not show it",
        );
    }
    assert_eq!(Ledger::read(&path).unwrap().count(&Filter::default()).unwrap(), 0);
    let error = Ledger::open(&path).unwrap_err();
    assert!(error.hint_text().unwrap().contains("permissions"), "{error}");
    permit(0o755);
}

#[test]
fn an_old_ledger_on_a_read_only_medium_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    drop(Ledger::open(folder.path()).unwrap());
    let path = folder.path().join(DATABASE);
    refuse_old(&connect_at_rest(&path).unwrap(), &path).unwrap();
    for version in [0, schema::current() - 1] {
        Connection::open(&path)
            .unwrap()
            .pragma_update(None, "user_version", i64::try_from(version).unwrap())
            .unwrap();
        let error = refuse_old(&connect_at_rest(&path).unwrap(), &path).unwrap_err();
        assert!(error.to_string().contains(&format!("has version {version},")), "{error}");
        assert!(error.hint_text().unwrap().contains("copy its folder"));
    }
}

#[test]
fn whoever_comes_second_waits_and_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    let lock = ledger.lock(&|_| unreachable!(), &|| false).unwrap();
    let us = format!("process {}", std::process::id());
    let (told, hears) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            let ledger = Ledger::open(folder.path()).unwrap();
            ledger.lock(&|holder| told.send(holder.to_owned()).unwrap(), &|| false).map(|_| ())
        });
        assert_eq!(hears.recv().unwrap(), us);
        drop(lock);
        second.join().unwrap().unwrap();
    });
}
