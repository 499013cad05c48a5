//! A group of the kernel's (cgroup) around one command, where there is one to be had: then the kernel itself keeps all of its
//! processes together to their memory and their number, however many and however busy they are. Where there is none, the
//! watch alone has to see it in time.
//!
//! Version 2 has one tree of groups, version 1 a tree for memory and one for processes; machines have the one or the other.
//! In a container the trees are mostly read-only, so that there is no group to be had.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Access, FsWord, Mode, OFlags};
use serde::{Deserialize, Serialize};
use taskwright_base::{Result, failed};

use super::sweep;

/// Where the trees are, on every distribution.
const TREES: &str = "/sys/fs/cgroup";

/// How long the kernel may take to let go of a group whose processes are dead.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where groups can be made: one folder for both bounds, or one for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Groups {
    memory: PathBuf,
    processes: PathBuf,
}

/// A group for one command at a time: its folders, which are there while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Group {
    memory: PathBuf,
    processes: PathBuf,
}

/// What all processes of a group may use together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Bytes.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u64,
}

impl Groups {
    /// Finds where we may make groups that count among what we ourselves may use; none if there is no such place.
    pub fn find() -> Option<Self> {
        Self::find_in(Path::new(TREES), &fs::read_to_string("/proc/self/cgroup").ok()?)
    }

    /// The same with other trees, and other lines of `/proc/self/cgroup`.
    fn find_in(trees: &Path, ours: &str) -> Option<Self> {
        // A line is `NUMBER:CONTROLLERS:/PATH`; that of version 2 names no controllers.
        let lines = ours.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        let own = |controller: &str| {
            let mut lines = lines.clone();
            lines.find(|(names, _)| names.split(',').any(|name| name == controller)).map(|(_, path)| path)
        };
        let below = |tree: &Path, path: &str| tree.join(path.trim_start_matches('/'));
        if trees.join("cgroup.controllers").exists() {
            let place = unified(trees, below(trees, own("")?))?;
            return Some(Self { memory: place.clone(), processes: place });
        }
        let place = |controller| {
            let place = below(&trees.join(controller), own(controller)?);
            is_writable(&place).then_some(place)
        };
        Some(Self { memory: place("memory")?, processes: place("pids")? })
    }

    /// The group of this name.
    pub fn group(&self, name: &str) -> Group {
        Group { memory: self.memory.join(name), processes: self.processes.join(name) }
    }
}

/// The place for groups in the tree of version 2, where a group holds processes or other groups, but not both, unless it is
/// the topmost. So it is our own if that is the topmost, else the nearest above ours that hands its bounds on: as long as
/// nothing between it and us sets a bound, which would not hold there.
fn unified(tree: &Path, own: PathBuf) -> Option<PathBuf> {
    if !hands_on(&own) {
        // The kernel refuses it where it must not be.
        let _ = set(&own.join("cgroup.subtree_control"), "+memory +pids");
    }
    let mut at = own;
    while !(is_writable(&at) && hands_on(&at)) {
        if at == tree || is_bounded(&at) || !at.pop() {
            return None;
        }
    }
    Some(at)
}

fn hands_on(group: &Path) -> bool {
    let names = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
    ["memory", "pids"].iter().all(|name| names.split_ascii_whitespace().any(|other| other == *name))
}

fn is_bounded(group: &Path) -> bool {
    let bound = |name: &&str| {
        fs::read_to_string(group.join(name)).is_ok_and(|bound| !bound.trim_start().starts_with("max"))
    };
    ["memory.max", "memory.high", "pids.max", "cpu.max"].iter().any(bound)
}

/// Writes to a file of the kernel's, which has no other beside it that could take its place.
fn set(file: &Path, value: &str) -> io::Result<()> {
    File::options().write(true).open(file)?.write_all(value.as_bytes())
}

fn is_writable(folder: &Path) -> bool {
    folder.is_dir() && rustix::fs::access(folder, Access::WRITE_OK).is_ok()
}

impl Group {
    /// Makes it, with these bounds. What an earlier command left in it is ended.
    pub fn make(&self, bounds: &Bounds) -> Result<()> {
        self.end();
        for folder in self.folders() {
            DirBuilder::new().mode(0o755).create(folder).map_err(failed("making", folder))?;
        }
        let memory = bounds.memory.to_string();
        let write = |folder: &Path, name: &str, value: &str| {
            let path = folder.join(name);
            set(&path, value).map_err(failed("writing", &path))
        };
        write(&self.processes, "pids.max", &bounds.processes.to_string())?;
        let others = if self.is_unified() {
            write(&self.memory, "memory.max", &memory)?;
            vec![("memory.swap.max", "0"), ("memory.oom.group", "1")]
        } else {
            write(&self.memory, "memory.limit_in_bytes", &memory)?;
            vec![("memory.memsw.limit_in_bytes", memory.as_str())]
        };
        // What not every kernel has: without the first, what does not fit goes to the swap.
        for (name, value) in others {
            if self.memory.join(name).exists() {
                write(&self.memory, name, value)?;
            }
        }
        Ok(())
    }

    /// The files through which a process joins: it writes `0` to each.
    pub fn doors(&self) -> io::Result<Vec<OwnedFd>> {
        let open = |folder: &Path| -> io::Result<OwnedFd> {
            let flags = OFlags::WRONLY | OFlags::CLOEXEC;
            Ok(rustix::fs::open(folder.join("cgroup.procs"), flags, Mode::empty())?)
        };
        self.folders().into_iter().map(open).collect()
    }

    /// Whether the kernel had to end a process of it for want of memory.
    pub fn ran_out(&self) -> bool {
        let name = if self.is_unified() { "memory.events" } else { "memory.oom_control" };
        let events = fs::read_to_string(self.memory.join(name)).unwrap_or_default();
        let mut counts = events.lines().filter_map(|line| line.strip_prefix("oom_kill "));
        counts.any(|count| count.trim() != "0")
    }

    /// Ends what is in it, if anything is, and removes it, if it is there.
    pub fn end(&self) {
        let start = Instant::now();
        for folder in self.folders() {
            while folder.exists() && fs::remove_dir(folder).is_err() && start.elapsed() < PATIENCE {
                let processes = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
                processes.lines().filter_map(|line| line.parse().ok()).for_each(sweep::kill_process);
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn is_unified(&self) -> bool {
        self.memory == self.processes
    }

    fn folders(&self) -> Vec<&Path> {
        let mut folders = vec![self.memory.as_path(), &self.processes];
        folders.dedup();
        folders
    }
}

/// Whether the files of a folder are kept in memory, and count as such.
pub(super) fn is_memory(folder: &Path) -> bool {
    const TMPFS: FsWord = 0x0102_1994;
    rustix::fs::statfs(folder).is_ok_and(|system| system.f_type == TMPFS)
}

#[cfg(test)]
mod tests {
    use taskwright_testing::{Need, not_run, test};

    use super::*;

    /// A tree with these groups and the controllers that each hands on.
    fn tree(groups: &[(&str, &str)]) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        fs::write(tree.path().join("cgroup.controllers"), "cpu memory pids").unwrap();
        for (group, handed_on) in groups {
            let folder = tree.path().join(group);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cgroup.subtree_control"), handed_on).unwrap();
        }
        tree
    }

    #[test]
    fn a_group_is_made_where_our_own_bounds_hold_as_well() {
        let slice = "user.slice/session.scope";
        let all = "cpu memory pids";
        let found = |tree: &tempfile::TempDir, own: &str| {
            let found = Groups::find_in(tree.path(), &format!("1:name=systemd:/x\n0::/{own}\n"))?;
            assert_eq!(found.memory, found.processes);
            Some(found.memory.strip_prefix(tree.path()).unwrap().to_string_lossy().into_owned())
        };
        assert_eq!(found(&tree(&[("", all)]), "").as_deref(), Some(""));
        let session = tree(&[("", all), ("user.slice", all), (slice, "")]);
        assert_eq!(found(&session, slice).as_deref(), Some("user.slice"));
        // A bound of ours would not hold for the groups.
        fs::write(session.path().join(slice).join("memory.max"), "max\n").unwrap();
        fs::write(session.path().join(slice).join("pids.max"), "100\n").unwrap();
        assert_eq!(found(&session, slice), None);
        assert_eq!(found(&tree(&[("", "cpu"), (slice, "")]), slice), None);
    }

    #[test]
    fn trees_of_version_1_have_a_place_each() {
        let trees = tempfile::tempdir().unwrap();
        for folder in ["memory/jobs/a", "pids"] {
            fs::create_dir_all(trees.path().join(folder)).unwrap();
        }
        let lines = "8:pids:/\n4:cpu,memory:/jobs/a\n0::/\n";
        let found = Groups::find_in(trees.path(), lines).unwrap();
        assert_eq!(found.memory, trees.path().join("memory/jobs/a"));
        assert_eq!(found.processes, trees.path().join("pids"));
        assert_eq!(Groups::find_in(trees.path(), "8:pids:/\n4:memory:/docker/b\n0::/\n"), None);
        assert_eq!(Groups::find_in(trees.path(), "0::/\n"), None);
    }

    #[test]
    fn what_is_in_a_group_ends_with_it() {
        let Some(groups) = Groups::find() else {
            not_run(Need::Root, "no group of the kernel's can be made here");
        };
        let group = groups.group(&format!("taskwright-test-{}", std::process::id()));
        group.make(&Bounds { memory: 64 << 20, processes: 8 }).unwrap();
        let joins = "for door; do echo 0 > \"$door\"; done; exec sleep 1000";
        let doors = group.folders().into_iter().map(|folder| folder.join("cgroup.procs"));
        let mut command = std::process::Command::new("sh");
        let mut child = command.args(["-c", joins, "sh"]).args(doors).spawn().unwrap();
        let is_in = || fs::read_to_string(group.processes.join("cgroup.procs")).unwrap() != "";
        while !is_in() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        assert!(is_in() && !group.ran_out());
        group.end();
        assert!(!child.wait().unwrap().success());
        assert!(group.folders().into_iter().all(|folder| !folder.exists()));
    }
}
