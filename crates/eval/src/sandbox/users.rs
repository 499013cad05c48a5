//! The users that candidates run as: numbers without a name, one for each run, in a range of this process's own.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::sweep;
use super::user::User;

/// How many users there are, and so how many runs can be under way at once.
pub(crate) const USERS: u32 = 64;

/// The users that are free.
#[derive(Debug)]
pub(crate) struct Pool {
    free: Mutex<BTreeSet<User>>,
    returned: Condvar,
}

impl Pool {
    /// A pool in a range of numbers that nobody else uses, most likely.
    ///
    /// The kernel counts a user's processes over all containers of a machine that share a user name space. Were the
    /// range fixed, the limit on processes of one task's candidates would be used up by those of another task.
    pub fn new() -> io::Result<Self> {
        let base = base(&uid_map()?, random()?)
            .ok_or_else(|| io::Error::other("this user name space has no room for users of candidates"))?;
        let users = (0..USERS).map(|i| User { uid: base + i, shadow: base + USERS + i }).collect();
        Ok(Self { free: Mutex::new(users), returned: Condvar::new() })
    }

    /// One of its users, to try things out with; not taken.
    pub fn any(&self) -> Option<User> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).first().copied()
    }

    /// Takes some users at once, waiting until so many are free, so that nobody who holds one waits for another. None
    /// if told to give up first.
    pub fn take(self: &Arc<Self>, count: usize, give_up: &dyn Fn() -> bool) -> Option<Vec<Lease>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while free.len() < count {
            if give_up() {
                return None;
            }
            let pause = std::time::Duration::from_millis(50);
            free = self.returned.wait_timeout(free, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
        let taken = (0..count).filter_map(|_| free.pop_first());
        Some(
            taken
                .map(|user| Lease { user, suspect: AtomicBool::new(false), pool: Arc::clone(self) })
                .collect(),
        )
    }
}

/// A user that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    pub user: User,
    suspect: AtomicBool,
    pool: Arc<Pool>,
}

impl Lease {
    /// Ends every process of the user; true if none is left.
    pub fn end_processes(&self) -> bool {
        sweep::user_is_gone(self.user)
    }

    /// Says that processes of the user may be left: to be made sure of before it is given out again.
    pub fn suspect(&self) {
        self.suspect.store(true, Ordering::Relaxed);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A user whose processes cannot be ended is never given out again.
        if !self.suspect.load(Ordering::Relaxed) || sweep::user_is_gone(self.user) {
            self.pool.free.lock().unwrap_or_else(PoisonError::into_inner).insert(self.user);
            self.pool.returned.notify_all();
        }
    }
}

/// The first of the numbers to use: two for each user.
fn base(map: &[(u32, u32)], random: u32) -> Option<u32> {
    const FIRST: u32 = 20_000;
    // The upper half has numbers that some programs take for negative.
    const END: u32 = 1 << 31;
    // Above the 16-bit numbers, where people and services are, if the name space reaches so far.
    let room = |first: u32, end: u32| {
        map.iter()
            .map(|&(start, count)| (start.max(first), start.saturating_add(count).min(end)))
            .filter(|(start, end)| end.saturating_sub(*start) >= 2 * USERS)
            .max_by_key(|(start, end)| end - start)
    };
    let (start, end) = room(1 << 20, END).or_else(|| room(FIRST, 60_000)).or_else(|| room(FIRST, END))?;
    let places = (end - start) / (2 * USERS);
    Some(start + (random % places) * 2 * USERS)
}

/// The user numbers that exist in our name space: first and count.
fn uid_map() -> io::Result<Vec<(u32, u32)>> {
    let text = std::fs::read_to_string("/proc/self/uid_map")?;
    let mut ranges = Vec::new();
    for line in text.lines() {
        let numbers: Vec<u32> = line.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
        if let [inside, _, count] = numbers[..] {
            ranges.push((inside, count));
        }
    }
    Ok(ranges)
}

pub(super) fn random() -> io::Result<u32> {
    let mut bytes = [0; 4];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(u32::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    use taskwright_testing::{Need, not_run, test};

    use super::*;

    #[test]
    fn a_user_whose_processes_cannot_be_ended_is_never_given_out_again() {
        if !rustix::process::geteuid().is_root() {
            not_run(Need::Root, "only root has users for candidates");
        }
        let pool = Arc::new(Pool::new().unwrap());
        // A thread that may not act as another user can end nothing of its.
        let is_free_again = |is_suspect: bool| {
            let lease = pool.take(1, &|| false).unwrap().pop().unwrap();
            let user = lease.user;
            let mut left = Command::new("sleep").arg("1000").uid(user.uid).gid(user.uid).spawn().unwrap();
            if is_suspect {
                lease.suspect();
            }
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let none = CapabilitySet::empty();
                    set_capabilities(
                        None,
                        CapabilitySets { effective: none, permitted: none, inheritable: none },
                    )
                    .unwrap();
                    drop(lease);
                });
            });
            assert!(left.try_wait().unwrap().is_none());
            let _ = left.kill();
            let _ = left.wait();
            pool.free.lock().unwrap().contains(&user)
        };
        assert!(!is_free_again(true));
        assert!(is_free_again(false));
    }

    #[test]
    fn the_range_lies_in_the_name_space() {
        for random in [0, 1, 12_345, u32::MAX] {
            let whole = base(&[(0, u32::MAX)], random).unwrap();
            assert!((1 << 20..1 << 31).contains(&whole) && whole + 2 * USERS <= 1 << 31, "{whole}");
            let small = base(&[(0, 65_536)], random).unwrap();
            assert!((20_000..60_000).contains(&small) && small + 2 * USERS <= 60_000, "{small}");
        }
        assert_eq!(base(&[(0, 1)], 7), None);
        assert_eq!(base(&[], 7), None);
    }
}
