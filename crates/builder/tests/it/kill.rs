//! Builds that are killed: at every boundary between two steps and at random moments, old or new stands, never a
//! mixture, and the next build ends well.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use taskwright_builder::clean::{Scope, clean};
use taskwright_builder::{Boundary, Silent};
use taskwright_testing::test;

use crate::support::child::{Act, Builder};
use crate::support::{LARGE, TestSpace, look, summary};

const TASKS: [&str; 2] = ["alpha", "beta"];

/// A workspace with tasks that change, one that goes and one that comes, in two versions.
struct Versions {
    space: TestSpace,
    /// What each version's outputs are, by task.
    outputs: [BTreeMap<&'static str, look::Contents>; 2],
    locks: [String; 2],
    commits: [String; 2],
}

/// All names that can stand among the outputs.
const NAMES: [&str; 4] = ["alpha", "beta", "only-old", "only-new"];

impl Versions {
    fn new() -> Self {
        let space = TestSpace::with(&TASKS);
        for task in TASKS {
            // Large files of their own, which are linked from the store.
            space.write(format!("harbor-tasks/{task}/baseline/large.bin"), "old".repeat(LARGE / 2));
        }
        space.add_task("only-old");
        space.commit("The old version");
        space.git(&["tag", "old"]);
        for task in TASKS {
            let path = format!("harbor-tasks/{task}");
            space.write(format!("{path}/baseline/large.bin"), "new".repeat(LARGE / 2));
            space.write(format!("{path}/baseline/more/new.py"), "new");
            space.remove(format!("{path}/baseline/lib"));
            space.write(format!("{path}/scorer/score.py"), "new");
            space.edit(format!("{path}/dataset/rows.jsonl"), "\"label\":1", "\"label\":9");
            space.edit(format!("{path}/spec.toml"), "Improve", "Improve greatly");
        }
        space.remove("harbor-tasks/only-old");
        space.add_task("only-new");
        space.commit("The new version");
        space.git(&["tag", "new"]);
        let mut versions = Self {
            space,
            outputs: Default::default(),
            locks: Default::default(),
            commits: ["old".to_owned(), "new".to_owned()],
        };
        for version in 0..2 {
            versions.take(version);
            let report = versions.space.build();
            assert!(report.is_success(), "{}", versions.space.failures(&report));
            versions.outputs[version] = versions.standing();
            versions.locks[version] = versions.space.read("harbor-tasks/taskwright.lock");
        }
        versions
    }

    /// Puts a version's inputs in place.
    fn take(&self, version: usize) {
        self.space.git(&["checkout", "--quiet", "--force", &self.commits[version]]);
    }

    /// What stands among the outputs now.
    fn standing(&self) -> BTreeMap<&'static str, look::Contents> {
        NAMES.map(|name| (name, look::contents(&self.space.out(name)))).into()
    }

    /// Every task's directory is exactly that of one version, or absent in one.
    fn assert_old_or_new(&self, what: &str) {
        for (name, standing) in self.standing() {
            let known = [&self.outputs[0][name], &self.outputs[1][name]];
            if !known.contains(&&standing) {
                let differences = known.map(|known| look::difference(known, &standing));
                panic!("{what}: `{name}` is neither old nor new: {differences:#?}");
            }
        }
    }

    /// The next build cleans up and ends in exactly one version.
    fn assert_next_build_ends_in(&self, version: usize, what: &str) {
        let report = self.space.build();
        assert!(report.is_success(), "{what}: {}", self.space.failures(&report));
        for (name, standing) in self.standing() {
            let difference = look::difference(&self.outputs[version][name], &standing);
            assert_eq!(difference, "", "{what}: `{name}` after the next build");
        }
        assert_eq!(self.space.read("harbor-tasks/taskwright.lock"), self.locks[version], "{what}");
        assert!(!self.space.out(".taskwright-staging").exists(), "{what}");
        let left = look::contents(&self.space.workspace.store_dir().join("incoming"));
        assert_eq!(left.len(), 1, "{what}: something is left in the store: {left:?}");
        let report = self.space.build();
        let done = report.tasks.iter().all(|task| task.status.word() == "up to date");
        assert!(done, "{what}: {}", summary(&report));
    }

    /// Forgets what was stored, so that everything has to be made again.
    fn forget_store(&self) {
        let _ = fs::remove_dir_all(self.space.workspace.store_dir());
    }
}

#[test]
fn a_build_killed_at_any_boundary_leaves_old_or_new() {
    let versions = Versions::new();
    let mut version = 1;
    for boundary in Boundary::ALL {
        // How often a build gets there, so that the last time is known.
        versions.forget_store();
        version = 1 - version;
        versions.take(version);
        let answer = Builder::new(&versions.space).run();
        assert_eq!(answer.code, Some(0), "{:?}", answer.lines);
        let reached = answer.lines.iter().filter(|line| **line == format!("boundary {boundary:?}")).count();
        assert!(reached > 0, "no build gets to {boundary:?}");
        let mut occurrences = vec![0, reached / 2, reached - 1];
        occurrences.dedup();
        for occurrence in occurrences {
            versions.forget_store();
            version = 1 - version;
            versions.take(version);
            let what = format!("killed at {boundary:?}, {occurrence} of {reached}");
            let answer = Builder::new(&versions.space).at(boundary, occurrence, Act::Kill).run();
            assert_eq!(answer.code, None, "{what}: {:?}", answer.lines);
            versions.assert_old_or_new(&what);
            versions.assert_next_build_ends_in(version, &what);
        }
    }
}

#[test]
fn what_a_killed_build_published_goes_with_its_spec() {
    for (boundary, occurrence) in [(Boundary::Published, 1), (Boundary::Pruned, 0), (Boundary::Locked, 0)] {
        let what = format!("killed at {boundary:?}");
        let space = TestSpace::with(&["alpha", "beta", "gamma"]);
        space.add_task("gamma");
        let answer = Builder::new(&space).jobs(1).at(boundary, occurrence, Act::Kill).run();
        assert_eq!(answer.code, None, "{what}: {:?}", answer.lines);
        let published: Vec<_> =
            ["alpha", "beta", "gamma"].into_iter().filter(|name| space.out(name).exists()).collect();
        assert!(published.len() >= 2, "{what}: {published:?}");
        // A build that is killed before it can clean up changes nothing about that.
        let answer = Builder::new(&space).jobs(1).at(Boundary::Planned, 0, Act::Kill).run();
        assert_eq!(answer.code, None, "{what}: {:?}", answer.lines);
        space.remove(format!("harbor-tasks/{}", published[0]));
        space.remove(format!("harbor-tasks/{}", published[1]));
        space.commit("Remove two specs");

        let said = summary(&space.look());
        assert!(published[..2].iter().all(|name| said.contains(&format!("{name}: stale"))), "{what}: {said}");
        let said = summary(&space.build());
        assert!(
            published[..2].iter().all(|name| said.contains(&format!("{name}: removed"))),
            "{what}: {said}"
        );
        assert_eq!(
            summary(&space.build()),
            said.split(", ").last().unwrap().replace("built", "up to date"),
            "{what}"
        );
        assert!(!space.workspace.pending_file().exists(), "{what}");
    }
}

#[test]
fn what_a_killed_build_published_is_cleaned_away() {
    let space = TestSpace::new();
    let answer = Builder::new(&space).jobs(1).at(Boundary::Published, 0, Act::Kill).run();
    assert_eq!(answer.code, None, "{:?}", answer.lines);
    clean(&space.workspace, Scope::Outputs, &Silent, &AtomicBool::new(false)).unwrap();
    assert_eq!(fs::read_dir(&space.workspace.out).unwrap().count(), 0);
    assert!(!space.workspace.pending_file().exists());
}

/// Numbers that look random and come again from the same seed (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn a_build_killed_at_any_moment_leaves_old_or_new() {
    const ROUNDS: usize = 200;
    let seed =
        std::env::var("TASKWRIGHT_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_260_101);
    let mut numbers = Numbers(seed);
    let versions = Versions::new();
    // How long a build takes here, from start to end; less as soon as one is seen to be quicker.
    let started = Instant::now();
    versions.take(0);
    Builder::new(&versions.space).run();
    let mut whole = started.elapsed();

    let mut version = 0;
    let mut in_time = 0;
    for round in 0..ROUNDS {
        let what = format!("round {round} of seed {seed}");
        // Now and then the build that should clean up is killed as well.
        let is_retry = round > 0 && numbers.below(2) == 0;
        if !is_retry {
            if round > 0 {
                versions.assert_next_build_ends_in(version, &what);
            }
            version = 1 - version;
            versions.take(version);
        }
        if numbers.below(4) == 0 {
            versions.forget_store();
        }
        let delay = whole.mul_f64(f64::from(u32::try_from(numbers.below(1000)).unwrap()) / 1000.0);
        let running = Builder::new(&versions.space).jobs(2).start();
        spin(delay);
        running.signal(rustix::process::Signal::KILL);
        if running.wait().code.is_none() {
            in_time += 1;
        } else {
            whole = whole.min(delay);
        }
        versions.assert_old_or_new(&what);
    }
    versions.assert_next_build_ends_in(version, "in the end");
    // Each build that ends too early brings the delays down, so that most are killed however the speed of the machine
    // changes: a test that kills hardly any shows nothing.
    assert!(in_time > ROUNDS / 4, "only {in_time} of {ROUNDS} builds were killed before they ended");
}

/// Waits exactly, which a sleep does not.
fn spin(delay: Duration) {
    let started = Instant::now();
    while started.elapsed() < delay {
        std::thread::yield_now();
    }
}
