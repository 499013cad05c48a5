//! A disk that is full: said in so many words, nothing lost, and the next build with more room ends well.

use std::fs;
use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_testing::{Need, not_run, test};

use crate::support::{LARGE, TestSpace, look, summary};

/// A small file system in memory, gone with the value.
struct SmallDisk {
    folder: Utf8PathBuf,
}

impl SmallDisk {
    fn mount(folder: &Utf8Path, kilobytes: usize) -> Self {
        fs::create_dir_all(folder).unwrap();
        let size = format!("size={kilobytes}k,mode=755");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs", folder.as_str()]).output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            not_run(Need::Root, "this user may not mount a small disk");
        }
        Self { folder: folder.to_owned() }
    }

    fn resize(&self, kilobytes: usize) {
        let size = format!("remount,size={kilobytes}k");
        let done = Command::new("mount").args(["-o", &size, self.folder.as_str()]).status().unwrap();
        assert!(done.success());
    }

    fn used(&self) -> usize {
        let stat = rustix::fs::statvfs(self.folder.as_std_path()).unwrap();
        usize::try_from((stat.f_blocks - stat.f_bfree) * stat.f_frsize / 1024).unwrap()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["--lazy", self.folder.as_str()]).status();
    }
}

/// A workspace whose `target` is a disk of its own.
fn on_small_disk() -> (TestSpace, SmallDisk) {
    let space = TestSpace::new();
    let disk = SmallDisk::mount(&space.path("target"), 64 * 1024);
    space.settle();
    (space, disk)
}

#[test]
fn a_full_disk_is_said_and_nothing_is_lost() {
    let (space, disk) = on_small_disk();
    let old = look::contents(&space.workspace.out);
    let lock = space.read("harbor-tasks/taskwright.lock");
    space.write("harbor-tasks/alpha/scorer/large.bin", "x".repeat(LARGE * 20));
    space.write("harbor-tasks/alpha/instruction.md", "A new one.\n".repeat(100));
    // From no room at all to nearly enough: the disk fills up at another place each time.
    let used = disk.used();
    let mut failures = 0;
    for room in (0..LARGE * 20 / 1024 + 100).step_by(40) {
        disk.resize(used + 4 + room);
        let report = match space.try_build(&taskwright_builder::Options::default()) {
            Ok(report) if report.is_success() => break,
            Ok(report) => space.failures(&report),
            Err(error) => space.error(&error),
        };
        failures += 1;
        assert!(report.contains("no space left on device"), "with {room} KiB: {report}");
        assert!(report.contains("free some space"), "with {room} KiB: {report}");
        let difference = look::difference(&old, &look::contents(&space.workspace.out));
        assert_eq!(difference, "", "with {room} KiB");
        assert_eq!(space.read("harbor-tasks/taskwright.lock"), lock, "with {room} KiB");
    }
    assert!(failures > 3, "the disk was hardly ever full");

    disk.resize(64 * 1024);
    let report = space.build();
    assert!(report.is_success(), "{}", space.failures(&report));
    assert_eq!(fs::read(space.out("alpha/environment/sidecar/scorer/large.bin")).unwrap().len(), LARGE * 20);
    assert!(!space.out(".taskwright-staging").exists());
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");
}

#[test]
fn a_disk_that_is_full_when_the_state_is_written_loses_nothing() {
    let (space, disk) = on_small_disk();
    let old = look::contents(&space.workspace.out);
    // Only the state is to be written, and there is no room for it.
    space.write(
        "harbor-tasks/alpha/spec.toml",
        format!("# A comment.\n{}", space.read("harbor-tasks/alpha/spec.toml")),
    );
    disk.resize(disk.used());
    let report = space.build();
    assert!(!report.is_success(), "{}", summary(&report));
    let said = space.failures(&report);
    assert!(said.contains("no space left on device"), "{said}");
    assert_eq!(look::difference(&old, &look::contents(&space.workspace.out)), "");
    disk.resize(64 * 1024);
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");
}

#[test]
fn an_output_on_another_disk_than_the_store_is_copied() {
    let space = TestSpace::new();
    space.build();
    let good = look::contents(&space.workspace.out);
    let _disk = SmallDisk::mount(&space.path("elsewhere"), 16 * 1024);
    let mut other = space.workspace.clone();
    other.out = space.path("elsewhere/tasks");
    let build = || {
        taskwright_builder::build(
            &other,
            &taskwright_builder::Options::default(),
            &taskwright_builder::Silent,
            &std::sync::atomic::AtomicBool::new(false),
        )
        .unwrap()
    };
    assert_eq!(summary(&build()), "alpha: built, beta: built");
    assert_eq!(look::difference(&good, &look::contents(&other.out)), "");
    crate::support::wait_a_tick();
    assert_eq!(summary(&build()), "alpha: up to date, beta: up to date");
}
