//! What `/proc` says of processes. Everything here races with processes that come and go: a missing one is no error.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;

/// A process's number.
pub(crate) type ProcessId = i32;

/// The processes that a process started, and those that they started, without itself.
pub(crate) fn descendants(of: ProcessId) -> Vec<ProcessId> {
    let mut found = Vec::new();
    let mut look = vec![of];
    while let Some(process) = look.pop() {
        let Some(children) = children(process) else {
            // A kernel that does not list children: look at everyone's parent instead.
            return descendants_by_parent(of);
        };
        // A number that was reused meanwhile must not send us round in circles.
        let new: Vec<_> = children.into_iter().filter(|child| !found.contains(child)).collect();
        found.extend(&new);
        look.extend(new);
    }
    found
}

/// None if this kernel does not say.
fn children(of: ProcessId) -> Option<Vec<ProcessId>> {
    let mut found = Vec::new();
    let Ok(threads) = fs::read_dir(format!("/proc/{of}/task")) else { return Some(found) };
    for thread in threads.flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(text) => {
                found.extend(text.split_ascii_whitespace().filter_map(|n| n.parse::<ProcessId>().ok()));
            }
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(found)
}

fn descendants_by_parent(of: ProcessId) -> Vec<ProcessId> {
    let parents: Vec<(ProcessId, ProcessId)> =
        all().into_iter().filter_map(|process| Some((process, parent(process)?))).collect();
    let mut found = vec![of];
    let mut next = 0;
    while let Some(&process) = found.get(next) {
        next += 1;
        for (child, _) in parents.iter().filter(|(_, parent)| *parent == process) {
            if !found.contains(child) {
                found.push(*child);
            }
        }
    }
    found.remove(0);
    found
}

/// How many files an epoll of ours watches that somebody has open.
pub(crate) fn watched_files(epoll: &OwnedFd) -> io::Result<usize> {
    let said = fs::read_to_string(format!("/proc/self/fdinfo/{}", epoll.as_raw_fd()))?;
    Ok(said.lines().filter(|line| line.starts_with("tfd:")).count())
}

fn all() -> Vec<ProcessId> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn parent(process: ProcessId) -> Option<ProcessId> {
    stat(process).map(|stat| stat.parent)
}

/// What `/proc/PID/stat` says of a process.
struct Stat {
    parent: ProcessId,
    /// It waits for the kernel and hears no signal meanwhile.
    is_waiting: bool,
    /// It still runs the program of the one that made it.
    is_copy: bool,
    /// When it was made, in ticks since the machine was started.
    made: u64,
}

fn stat(process: ProcessId) -> Option<Stat> {
    const FORK_NO_EXEC: u64 = 0x40;
    // The second field is the program's name in parentheses and may hold anything, parentheses too.
    let stat = fs::read(format!("/proc/{process}/stat")).ok()?;
    let after = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let fields: Vec<&str> = std::str::from_utf8(&stat[after..]).ok()?.split_ascii_whitespace().collect();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        is_waiting: *fields.first()? == "D",
        is_copy: fields.get(6)?.parse::<u64>().ok()? & FORK_NO_EXEC != 0,
        made: fields.get(19)?.parse().ok()?,
    })
}

/// The process that is starting another program in this one, and whose memory this one has until it does (`vfork`): what
/// it has in use is counted there already. None if it has memory of its own, or has taken longer than any start does.
pub(crate) fn lender(process: ProcessId) -> Option<ProcessId> {
    const LONGEST: u64 = 2;
    let stat = stat(process).filter(|stat| stat.is_copy)?;
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let now: u64 = uptime.split('.').next()?.parse().ok()?;
    let is_young = stat.made / rustix::param::clock_ticks_per_second() + LONGEST >= now;
    let waits = is_young && self::stat(stat.parent).is_some_and(|parent| parent.is_waiting);
    (waits && resident(process) == resident(stat.parent)).then_some(stat.parent)
}

/// Whether a process that still does something has this user as any of its four.
pub(crate) fn user_has_processes(uid: u32) -> bool {
    all().into_iter().any(|process| {
        let Ok(status) = fs::read(format!("/proc/{process}/status")) else { return false };
        let status = String::from_utf8_lossy(&status);
        let mut lines = status.lines();
        // The name in the first line is escaped, so no process can make up the lines below it.
        let dead = lines
            .by_ref()
            .find_map(|line| line.strip_prefix("State:"))
            .is_some_and(|state| state.trim_start().starts_with(['Z', 'X']));
        let users = lines.find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
        !dead && users.split_ascii_whitespace().any(|user| user.parse() == Ok(uid))
    })
}

/// How many threads a user has, for a limit that the kernel counts by user.
pub(crate) fn threads_of_user(uid: u32) -> u64 {
    all()
        .into_iter()
        .filter_map(|process| {
            let status = fs::read(format!("/proc/{process}/status")).ok()?;
            let status = String::from_utf8_lossy(&status);
            let field = |name: &str| {
                status.lines().find_map(|line| line.strip_prefix(name))?.split_ascii_whitespace().next()
            };
            (field("Uid:")?.parse() == Ok(uid)).then(|| field("Threads:")?.parse::<u64>().ok())?
        })
        .sum()
}

/// How many threads a process has.
pub(crate) fn threads(process: ProcessId) -> u64 {
    use std::os::unix::fs::MetadataExt;
    // A folder for each, and every folder counts in the links of the one above it.
    fs::metadata(format!("/proc/{process}/task")).map_or(0, |folder| folder.nlink().saturating_sub(2))
}

/// Bytes of memory that a process has in use, counting what it shares with others whole.
pub(crate) fn resident(process: ProcessId) -> u64 {
    let Ok(text) = fs::read_to_string(format!("/proc/{process}/statm")) else { return 0 };
    let pages: u64 = text.split_ascii_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    pages.saturating_mul(rustix::param::page_size() as u64)
}

/// Bytes of memory that a process has in use, with its share only of what it shares with others; where we may not ask
/// for that, as [`resident`].
pub(crate) fn used(process: ProcessId) -> u64 {
    let text = match fs::read_to_string(format!("/proc/{process}/smaps_rollup")) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return resident(process),
        // It is gone, or has no memory any more.
        Err(_) => return 0,
    };
    let field = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
    let kibibytes: u64 = field.split_ascii_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
    kibibytes.saturating_mul(1024)
}

/// The folder of a process's open files.
pub(crate) fn open_files(process: ProcessId) -> PathBuf {
    PathBuf::from(format!("/proc/{process}/fd"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn memory_that_is_lent_for_a_start_is_known_and_counted_once() {
        let me = i32::try_from(std::process::id()).expect("a process number");
        assert_eq!(lender(me), None);
        // On a busy machine a start may take longer than any that counts as one: then another is looked at.
        let seen = (0..5).find_map(|_| look_at_a_loan()).expect("a start is seen in time");
        assert_eq!(seen, ((1, 2), [true, false, true]));
    }

    /// Of a process that lends its memory to one that waits for a pipe before it starts its program, beside one with memory
    /// of its own: how many borrow and how many there are; and whether half of its memory, once and a half of it, and that
    /// with the borrower twice, is passed by both together. None where it took too long to see.
    fn look_at_a_loan() -> Option<((usize, usize), [bool; 3])> {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("a pipe");
        let lends = "import os, signal, sys, time\nhog = bytearray(20 << 20)\nother = os.fork()\n\
                     if other == 0: time.sleep(1000)\n\
                     pipe = (os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)\n\
                     os.posix_spawn('/bin/true', ['true'], {}, file_actions=[pipe])\nos.kill(other, signal.SIGKILL)\n";
        let mut command = std::process::Command::new("python3");
        let mut child = command.args(["-c", lends]).arg(&pipe).spawn().expect("Python starts");
        let id = i32::try_from(child.id()).expect("a process number");
        let borrowers = || -> Vec<ProcessId> {
            descendants(id).into_iter().filter(|process| lender(*process) == Some(id)).collect()
        };
        let start = std::time::Instant::now();
        let mut lent = Vec::new();
        while lent.is_empty() && start.elapsed().as_secs() < 20 {
            lent = borrowers();
        }
        let half = used(id) / 2;
        let is_more =
            |borrowers: &[ProcessId], most| super::super::watch::is_more(&[&[id], borrowers].concat(), most);
        let passed = [
            is_more(&lent, half),
            is_more(&lent, half * 3),
            is_more(&[lent.clone(), lent.clone()].concat(), half * 3),
        ];
        let in_time = !lent.is_empty() && borrowers() == lent;
        let others = descendants(id);
        others.iter().for_each(|process| super::super::sweep::kill_process(*process));
        let _ = child.kill();
        let _ = child.wait();
        in_time.then_some(((lent.len(), others.len()), passed))
    }

    #[test]
    fn finds_children_both_ways() {
        let mut child =
            std::process::Command::new("sh").args(["-c", "sleep 30 & wait"]).spawn().expect("sh starts");
        let id = i32::try_from(child.id()).expect("a process number");
        let me = i32::try_from(std::process::id()).expect("a process number");
        let start = std::time::Instant::now();
        while descendants(id).len() != 1 && start.elapsed().as_secs() < 120 {
            std::thread::yield_now();
        }
        let grandchild = descendants(id);
        assert_eq!(grandchild.len(), 1);
        assert_eq!(descendants_by_parent(id), grandchild);
        assert!(descendants(me).contains(&grandchild[0]));
        assert!(used(id) > 0 && used(id) <= resident(id));
        assert_eq!(threads(id), 1);
        assert!(threads(me) > 1);
        super::super::sweep::kill_process(grandchild[0]);
        let _ = child.wait();
        assert!(descendants(id).is_empty());
    }
}
