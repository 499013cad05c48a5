//! Starts the sandboxed command: everything between fork and exec.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Resource, Rlimit, Signal};

use super::kernel;
use super::landlock::{self, Paths, Use};
use super::order::{Network, Order};
use super::procfs;
use super::seccomp::{self, Filter};
use super::user::User;
use super::way_out::{self, WayOut};

/// Where programs, their libraries and their settings are on a Linux system.
const SYSTEM: &[&str] = &[
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/proc", "/sys",
];
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// How long a program that is open for writing is waited for.
const BUSY: Duration = Duration::from_secs(10);

/// How many processes the user may start besides while a command runs that has no user of its own. A command that only makes
/// processes has these as well before the watch ends it: so many can be ended faster than they are made, thousands cannot.
const HEADROOM: u64 = 128;

/// What Linux gives a stack by default.
const THREAD_STACK: u64 = 8 << 20;

/// Why a command did not start.
#[derive(Debug)]
pub(crate) enum NotSpawned {
    /// The kernel refused the program itself.
    Program(io::Error),
    /// There was no process, its rights could not be set up, or the machine had no room for the program.
    Sandbox(io::Error),
}

/// What the kernel answers to a program that cannot be executed, on whatever machine.
const OF_THE_PROGRAM: &[Errno] = &[
    Errno::NOENT,
    Errno::ACCESS,
    Errno::PERM,
    Errno::NOEXEC,
    Errno::NOTDIR,
    Errno::ISDIR,
    Errno::LOOP,
    Errno::NAMETOOLONG,
    Errno::INVAL,
    Errno::LIBBAD,
];

/// A command that was started.
#[derive(Debug)]
pub(crate) struct Spawned {
    pub child: Child,
    /// How it reaches the gateway, if it may.
    pub way_out: Option<WayOut>,
}

/// Starts a command with its standard streams and working directory from us and everything else from the order.
/// With another priority than ours, if it has one.
pub(crate) fn spawn(
    order: &Order,
    command: &[OsString],
    temporary: &Path,
    priority: Option<i32>,
) -> Result<Spawned, NotSpawned> {
    let [program, arguments @ ..] = command else {
        let none = io::Error::new(io::ErrorKind::InvalidInput, "there is no command to run");
        return Err(NotSpawned::Program(none));
    };
    let (is_set_up, set_up) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
        .map_err(|error| NotSpawned::Sandbox(error.into()))?;
    let (passage, filter) = filter(order).map_err(NotSpawned::Sandbox)?;
    let (ours, theirs) = passage.unzip();
    let rules = if order.landlock {
        landlock::ruleset(&paths(order, temporary)).map_err(NotSpawned::Sandbox)?
    } else {
        None
    };
    let setup = Setup {
        user: order.user,
        priority,
        limits: limits(order),
        doors: match &order.group {
            Some(group) => group.doors().map_err(NotSpawned::Sandbox)?,
            None => Vec::new(),
        },
        rules,
        filter,
        passage: theirs,
        parent: rustix::process::getpid(),
        set_up,
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(&order.environment)
        .env("HOME", temporary)
        .env("TMPDIR", temporary);
    kernel::before_exec(&mut command, move || setup.apply());
    // A program that was written a moment ago can still be open for writing, in a process that was started meanwhile and
    // has not executed its own program yet.
    let start = Instant::now();
    loop {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && start.elapsed() < BUSY => {
                // Each attempt hands over a way out, and there is room for a few hundred.
                ours.iter().for_each(way_out::forget);
                std::thread::sleep(Duration::from_millis(2));
            }
            Ok(child) => return spawned(order, child, ours.as_ref()),
            Err(error) => {
                let is_set_up = matches!(rustix::io::read(&is_set_up, &mut [0; 1]), Ok(1));
                return Err(not_spawned(error, ours.is_some(), is_set_up));
            }
        }
    }
}

/// Whose fault it is. All that the parent hears of a child that failed is a number, whatever failed in it; but the child has said so when it
/// had set itself up, and after that there is nothing but the program that it can fail at.
fn not_spawned(error: io::Error, has_way_out: bool, is_set_up: bool) -> NotSpawned {
    if has_way_out && error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) {
        return NotSpawned::Sandbox(io::Error::other(
            "something outside answers system calls of this container itself, so that we cannot give a candidate a way to language \
             models; run the task under another container runtime",
        ));
    }
    let of_program = Errno::from_io_error(&error).is_some_and(|code| OF_THE_PROGRAM.contains(&code));
    if is_set_up && of_program { NotSpawned::Program(error) } else { NotSpawned::Sandbox(error) }
}

/// A command that runs, with its way out. One that should have a way out and has none is ended.
fn spawned(order: &Order, mut child: Child, passage: Option<&OwnedFd>) -> Result<Spawned, NotSpawned> {
    let (Some(passage), Network::Gateway(gateway)) = (passage, order.limits.network) else {
        return Ok(Spawned { child, way_out: None });
    };
    match WayOut::of(passage, gateway) {
        Ok(way_out) => Ok(Spawned { child, way_out: Some(way_out) }),
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(NotSpawned::Sandbox(error))
        }
    }
}

/// The filter, and what its listener is handed over by if it needs one.
#[expect(clippy::type_complexity, reason = "two ends of one thing, and what they belong to")]
fn filter(order: &Order) -> io::Result<(Option<(OwnedFd, OwnedFd)>, Option<Filter>)> {
    let filter = if order.seccomp { seccomp::filter(order.limits.network) } else { None };
    match order.limits.network {
        Network::Nothing => Ok((None, filter)),
        // Without a filter it would have all of the network.
        Network::Gateway(_) if filter.is_none() || !kernel::calls_can_be_answered() => Err(io::Error::other(
            "system calls cannot be answered by another process here, so that a candidate can have no way to language \
                 models; use Linux 5.9 or later and a container engine that allows `seccomp`",
        )),
        Network::Gateway(_) => Ok((Some(way_out::passage()?), filter)),
    }
}

fn paths(order: &Order, temporary: &Path) -> Paths {
    let mut paths: Paths = DEVICES.iter().map(|path| (path.into(), Use::Device)).collect();
    for path in SYSTEM.iter().map(Path::new).chain(order.read.iter().map(AsRef::as_ref)) {
        landlock::read_around(path, &order.hidden, &mut paths);
    }
    paths.push((temporary.to_owned(), Use::Write));
    paths
}

fn limits(order: &Order) -> Vec<(Resource, u64)> {
    let limits = &order.limits;
    // The kernel counts processes by user: without a user of its own the command shares the count with everything else that
    // runs, and with what is started meanwhile. So there it is counted from what runs already,
    // and the watch looks at what the command itself has.
    let others = match order.user {
        Some(_) => 0,
        None => procfs::threads_of_user(rustix::process::getuid().as_raw()).saturating_add(HEADROOM),
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
    priority: Option<i32>,
    limits: Vec<(Resource, u64)>,
    /// How it joins the kernel's group.
    doors: Vec<OwnedFd>,
    rules: Option<OwnedFd>,
    filter: Option<Filter>,
    /// Where the listener goes of a filter that leaves calls to the supervisor.
    passage: Option<OwnedFd>,
    parent: Pid,
    /// Gets a byte when everything is set up.
    set_up: OwnedFd,
}

impl Setup {
    fn apply(&self) -> io::Result<()> {
        rustix::process::setsid()?;
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
        most_expendable();
        for door in &self.doors {
            rustix::io::write(door, b"0")?;
        }
        if let Some(priority) = self.priority {
            rustix::process::setpriority_process(None, priority)?;
        }
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
        kernel::close_on_exec()?;
        if let Some(rules) = &self.rules {
            kernel::restrict(rules.as_raw_fd())?;
        }
        match (&self.filter, &self.passage) {
            (Some(filter), Some(passage)) => way_out::hand_over(passage, &kernel::filter_and_tell(filter)?)?,
            (Some(filter), None) => kernel::filter_calls(filter)?,
            (None, _) => {}
        }
        rustix::io::write(&self.set_up, b"x")?;
        Ok(())
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    use taskwright_testing::{Need, not_run, test};

    use super::*;
    use crate::sandbox::order::RunLimits;

    fn order(user: Option<User>, folder: &Path) -> Order {
        let limits = RunLimits {
            memory: 1 << 30,
            processes: 64,
            file: 1 << 20,
            disk: 1 << 20,
            files: 10,
            processor_seconds: 10,
            seconds: 10,
            network: Network::Nothing,
        };
        Order {
            user,
            limits,
            temporary: folder.to_owned(),
            read: vec![folder.to_owned()],
            hidden: Vec::new(),
            group: None,
            landlock: false,
            seccomp: false,
            environment: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
            report: None,
        }
    }

    #[test]
    fn nothing_of_ours_is_handed_down() {
        if !rustix::process::geteuid().is_root() {
            not_run(Need::Root, "only root gives a command another user");
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // A group that we are in, and a descriptor that was opened by somebody who did not think of exec.
                rustix::thread::set_thread_groups(&[rustix::process::Gid::from_raw(54_000)]).unwrap();
                let file = std::fs::File::open("/dev/null").unwrap();
                let open = rustix::io::fcntl_dupfd_cloexec(&file, 300).unwrap();
                rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
                let number = open.as_raw_fd().to_string();
                let script = "cd \"$0\"; id -G > groups; ls /proc/self/fd > descriptors";
                let command = ["sh".into(), "-c".into(), script.into(), folder.path().into()];
                let user = User { uid: 54_321, shadow: 54_322 };
                let order = order(Some(user), folder.path());
                let mut child = super::spawn(&order, &command, folder.path(), None).unwrap().child;
                assert!(child.wait().unwrap().success());
                assert_eq!(text("groups").trim(), "54321");
                assert!(!text("descriptors").lines().any(|line| line == number), "{}", text("descriptors"));
            });
        });
    }

    #[test]
    fn what_fails_before_exec_is_not_the_programs_fault() {
        let folder = tempfile::tempdir().unwrap();
        let spawn = |user, program: &str| {
            let command = [folder.path().join(program).into_os_string()];
            let order = order(user, folder.path());
            super::spawn(&order, &command, folder.path(), None).map(|mut spawned| spawned.child.wait())
        };
        for (program, text) in [("missing", None), ("plain", Some("no program"))] {
            if let Some(text) = text {
                std::fs::write(folder.path().join(program), text).unwrap();
            }
            assert!(matches!(spawn(None, program), Err(NotSpawned::Program(_))), "{program}");
        }
        // A thread without rights cannot make another user of its child; that the program is missing as well never shows.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let none = CapabilitySet::empty();
                let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
                set_capabilities(None, sets).unwrap();
                let user = User { uid: 54_321, shadow: 54_322 };
                let spawned = spawn(Some(user), "missing");
                let is_denied = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
                assert!(
                    matches!(&spawned, Err(NotSpawned::Sandbox(error)) if is_denied(error)),
                    "{spawned:?}"
                );
            });
        });
    }
}
