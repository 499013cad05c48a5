//! Imports that end where they should not, and others at the same time.

use std::process::{Command, Stdio};
use std::sync::Barrier;

use taskwright_testing::{Need, not_run, test};

use super::*;

#[test]
fn two_imports_at_once_exclude_each_other_and_nothing_is_there_twice() {
    let fixture = Fixture::new();
    let job = fixture.job("one");
    for number in 0..300 {
        job.trial("a", &number.to_string(), "1.0");
    }
    let barrier = Barrier::new(2);
    let directory = fixture.ledger.directory();
    let jobs = [fixture.root.path().join("jobs")];
    let imported: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut ledger = Ledger::open(directory).unwrap();
                    barrier.wait();
                    ledger.import(&jobs, &Options::default(), |_| {}).unwrap().imported
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(imported, 300);
    assert_eq!(fixture.trials().len(), 300);
    assert!(fixture.is_sound());
}

/// Imports, and is killed by the test below after so many trials.
#[test]
fn import_for_the_test_that_kills() {
    let Some(root) = std::env::var_os("TASKWRIGHT_TEST_ROOT").map(PathBuf::from) else {
        not_run(Need::Asking, "the test that kills an import asks for it");
    };
    let after: usize = std::env::var("TASKWRIGHT_TEST_AFTER").unwrap().parse().unwrap();
    let mut ledger = Ledger::open(root.join("ledger")).unwrap();
    let mut count = 0;
    ledger
        .import(&[root.join("jobs")], &Options::default(), |_| {
            count += 1;
            if count == after {
                rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
                    .unwrap();
            }
        })
        .unwrap();
}

#[test]
fn an_import_that_is_killed_leaves_nothing_half_and_nothing_twice() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    let total = BATCH_TRIALS + 60;
    for number in 0..total {
        let trial = job.0.join(format!("a__{number}"));
        fs::create_dir(&trial).unwrap();
        fs::write(trial.join("result.json"), result("a", &number.to_string(), "1.0")).unwrap();
        fs::write(trial.join("trial.log"), format!("log of {number}")).unwrap();
    }
    let mut before = 0;
    for after in [1, PORTION + 1, BATCH_TRIALS - 1, BATCH_TRIALS + 1, BATCH_TRIALS + 40] {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "import::tests::killed::import_for_the_test_that_kills"])
            .env("TASKWRIGHT_TEST_ROOT", fixture.root.path())
            .env("TASKWRIGHT_TEST_AFTER", after.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(!status.success());
        // Every trial that is there is there with all its evidence; the rest is orphans, which are swept.
        fixture.is_sound();
        let there = fixture.ledger.count(&Filter::default()).unwrap();
        assert!(there >= before && there <= total as u64, "{before} {there}");
        before = there;
    }
    assert!(before > 0, "batches that were finished stay");
    let unfinished = |fixture: &Fixture| {
        let verified = fixture.ledger.verify(None, |_| {}).unwrap();
        verified.orphans.iter().filter(|name| name.contains(".part")).count()
    };
    assert!(unfinished(&fixture) > 0);
    let (report, _) = fixture.again();
    assert_eq!(report.imported + report.duplicates, total as u64);
    assert_eq!(report.duplicates, before);
    // What the killed ones left went first, but for packs that were finished and not yet spoken of.
    assert_eq!(unfinished(&fixture), 0);
    fixture.ledger.gc(false).unwrap();
    assert!(fixture.is_sound());
    assert_eq!(fixture.ledger.gc(false).unwrap(), crate::gc::Collected::default());
}

#[test]
fn a_full_disk_is_said_and_nothing_that_was_there_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1200k", "tmpfs"])
        .arg(folder.path())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !mounted {
        not_run(Need::Root, "mounting a small file system needs root");
    }
    let outcome = std::panic::catch_unwind(|| {
        let fixture = Fixture::new();
        let job = fixture.job("one");
        job.trial("a", "1", "1.0");
        let mut ledger = Ledger::open(folder.path().join("ledger")).unwrap();
        let jobs = [fixture.root.path().join("jobs")];
        ledger.import(&jobs, &Options::default(), |_| {}).unwrap();
        // Bytes that do not compress.
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(3 << 20)
        .collect();
        fs::write(job.trial("a", "2", "1.0").join("agent/noise"), noise).unwrap();
        let error = ledger.import(&jobs, &Options::default(), |_| {}).unwrap_err();
        assert!(error.hint_text().unwrap().contains("free some space"), "{error}");
        assert_eq!(ledger.count(&Filter::default()).unwrap(), 1);
        assert_eq!(ledger.verify(None, |_| {}).unwrap().problems, [""; 0]);
        ledger.gc(false).unwrap();
        fs::remove_file(fixture.root.path().join("jobs/one/a__2/agent/noise")).unwrap();
        assert_eq!(ledger.import(&jobs, &Options::default(), |_| {}).unwrap().imported, 1);
        assert_eq!(ledger.verify(None, |_| {}).unwrap().problems, [""; 0]);
    });
    Command::new("umount").arg(folder.path()).status().unwrap();
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}
