//! Starts the sandboxed command: everything between fork and exec.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal};

use super::landlock::{self, Places, Use};
use super::order::Order;
use super::procfs;
use super::seccomp::{self, Filter};
use super::users::User;

/// Where programs, their libraries and their settings are on a Linux system.
const SYSTEM: &[&str] = &[
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/proc", "/sys",
];
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// How long a program that is open for writing is waited for.
const BUSY: Duration = Duration::from_secs(10);

/// What Linux gives a stack by default.
const THREAD_STACK: u64 = 8 << 20;

/// Starts a command with its standard streams and working directory from us and everything else from the order.
pub(crate) fn spawn(order: &Order, command: &[OsString], temporary: &Path) -> io::Result<Child> {
    let [program, arguments @ ..] = command else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no command to run"));
    };
    let rules = if order.landlock {
        landlock::ruleset(&places(order, temporary), order.limits.network)?
    } else {
        None
    };
    let setup = Setup {
        user: order.user,
        limits: limits(order),
        rules,
        filter: if order.seccomp { seccomp::filter(order.limits.network) } else { None },
        parent: rustix::process::getpid(),
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(&order.environment)
        .env("HOME", temporary)
        .env("TMPDIR", temporary);
    // SAFETY: `Setup::apply` runs in the forked child of this process, before exec. It only makes system calls on
    // values that were prepared before the fork: it allocates nothing, takes no lock and calls nothing of the C library
    // that does.
    #[expect(
        unsafe_code,
        reason = "rights are given up between fork and exec, which is unsafe by its nature"
    )]
    unsafe {
        command.pre_exec(move || setup.apply());
    }
    // A program that was written a moment ago can still be open for writing, in a process that was started meanwhile and
    // has not executed its own program yet.
    let start = Instant::now();
    loop {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && start.elapsed() < BUSY => {
                std::thread::sleep(Duration::from_millis(2));
            }
            spawned => return spawned,
        }
    }
}

fn places(order: &Order, temporary: &Path) -> Places {
    let mut places: Places = SYSTEM.iter().map(|path| (path.into(), Use::Read)).collect();
    places.extend(DEVICES.iter().map(|path| (path.into(), Use::Device)));
    places.extend(order.read.iter().map(|path| (path.clone(), Use::Read)));
    places.push((temporary.to_owned(), Use::Write));
    places
}

fn limits(order: &Order) -> Vec<(Resource, u64)> {
    let limits = &order.limits;
    // The kernel counts processes by user: without a user of its own the command shares the count with everything else.
    let others = match order.user {
        Some(_) => 0,
        None => procfs::threads_of_user(rustix::process::getuid().as_raw()),
    };
    vec![
        (Resource::Core, 0),
        (Resource::Cpu, limits.processor_seconds.max(1)),
        (Resource::Fsize, limits.file),
        // So that one process cannot run far past its memory between two looks of the watch. The stacks of threads are
        // writable from the start and count whole.
        (Resource::Data, limits.memory.saturating_add(limits.processes.saturating_mul(THREAD_STACK))),
        // Programs reserve far more addresses than they use, some of them ten gigabytes at a time.
        (Resource::As, limits.memory.saturating_mul(4).saturating_add(64 << 30)),
        // Also the size of a thread's stack.
        (Resource::Stack, THREAD_STACK),
        (Resource::Nproc, limits.processes.saturating_add(others)),
        (Resource::Nofile, 1024),
        (Resource::Memlock, 1 << 20),
        (Resource::Msgqueue, 0),
        (Resource::Rtprio, 0),
        (Resource::Nice, 0),
    ]
}

/// What the child does to itself.
struct Setup {
    user: Option<User>,
    limits: Vec<(Resource, u64)>,
    rules: Option<OwnedFd>,
    filter: Option<Filter>,
    parent: Pid,
}

impl Setup {
    fn apply(&self) -> io::Result<()> {
        rustix::process::setsid()?;
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
        most_expendable();
        for (resource, most) in &self.limits {
            set_limit(*resource, *most)?;
        }
        if let Some(user) = self.user {
            let (uid, gid) = (user.uid(), user.gid());
            rustix::thread::set_thread_groups(&[])?;
            rustix::thread::set_thread_res_gid(gid, gid, gid)?;
            rustix::thread::set_thread_res_uid(uid, uid, uid)?;
        }
        // Forgotten at a change of user, so only now.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid() != Some(self.parent) {
            return Err(rustix::io::Errno::SRCH.into());
        }
        rustix::thread::set_no_new_privs(true)?;
        close_on_exec()?;
        if let Some(rules) = &self.rules {
            landlock::restrict(rules.as_raw_fd())?;
        }
        match &self.filter {
            Some(filter) => seccomp::install(filter),
            None => Ok(()),
        }
    }
}

/// Never raises a limit that we ourselves are under.
fn set_limit(resource: Resource, most: u64) -> io::Result<()> {
    let now = rustix::process::getrlimit(resource);
    let most = Some(now.maximum.map_or(most, |maximum| most.min(maximum)));
    Ok(rustix::process::setrlimit(resource, Rlimit { current: most, maximum: most })?)
}

/// When memory runs out, the kernel is to take the candidate and not us. That it may refuse to hear so is no reason
/// to stop.
fn most_expendable() {
    use rustix::fs::{Mode, OFlags};
    if let Ok(file) = rustix::fs::open(c"/proc/self/oom_score_adj", OFlags::WRONLY, Mode::empty()) {
        let _ = rustix::io::write(&file, b"1000");
    }
}

/// Whatever descriptors we were started with, the command gets the three standard ones.
fn close_on_exec() -> io::Result<()> {
    const CLOEXEC: u32 = 4;
    // SAFETY: marks descriptors, which closes none of those that are in use before exec; no memory is passed.
    #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, CLOEXEC) };
    match done {
        0 => Ok(()),
        // A kernel before 5.11: our own descriptors are marked anyway, as Rust opens none without.
        _ if matches!(io::Error::last_os_error().raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
