//! The system calls that none of our dependencies wraps: all unsafe code of this crate, each with why it is sound.

use std::ffi::c_long;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::Pid;

/// `struct landlock_ruleset_attr`; a kernel reads as much of it as it is told to.
#[repr(C)]
pub(super) struct RulesetAttributes {
    pub files: u64,
    pub net: u64,
    pub scoped: u64,
}

/// `struct landlock_path_beneath_attr`, which is packed.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// Has a command set itself up between fork and exec.
///
/// `set_up` must be fit for a process that was forked from one with several threads: it makes system calls on values
/// that were prepared before the fork, allocates nothing, takes no lock, and calls nothing of the C library that does.
pub(super) fn before_exec(
    command: &mut Command,
    set_up: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the one caller, `child::spawn`, hands over `Setup::apply`, which keeps to what is said above.
    #[expect(
        unsafe_code,
        reason = "rights are given up between fork and exec, which is unsafe by its nature"
    )]
    unsafe {
        command.pre_exec(set_up);
    }
}

/// Which of two processes we are.
pub(super) enum Forked {
    Child,
    /// With the child's number.
    Parent(Pid),
}

/// Makes a copy of this process. Refused where there is more than one thread, as the copy would have but ours; an emulator that
/// runs us has one of its own, which it sees to itself.
pub(super) fn fork() -> io::Result<Forked> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 + usize::from(is_emulated()) {
        return Err(io::Error::other("this process has several threads"));
    }
    // SAFETY: ours is the only thread, so the copy finds no lock taken and nothing half done.
    #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
    let process = unsafe { libc::fork() };
    match process {
        0 => Ok(Forked::Child),
        _ => Pid::from_raw(process)
            .filter(|_| process > 0)
            .map(Forked::Parent)
            .ok_or_else(io::Error::last_os_error),
    }
}

/// Whether a user-mode emulator runs this program: it answers itself which program we are, but the kernel, asked by way of our
/// thread, says that it is the emulator.
fn is_emulated() -> bool {
    let thread = rustix::process::getpid().as_raw_nonzero();
    let program = |path: &str| std::fs::read_link(path).ok();
    program("/proc/self/exe") != program(&format!("/proc/self/task/{thread}/exe"))
}

/// Whatever descriptors we were started with, the command gets the three standard ones.
pub(super) fn close_on_exec() -> io::Result<()> {
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

/// The version of Landlock that this kernel has; none if it has none or does not let us.
pub(super) fn landlock_version() -> Option<u32> {
    const VERSION: c_long = 1;
    // SAFETY: with this flag the call takes no structure, so the null pointer is not followed.
    #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0_usize, 0_usize, VERSION) };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

/// Makes a ruleset of Landlock from the first `size` bytes of its attributes, which must not be more than there are.
pub(super) fn landlock_ruleset(attributes: &RulesetAttributes, size: usize) -> io::Result<OwnedFd> {
    let size = size.min(size_of::<RulesetAttributes>());
    // SAFETY: the pointer is to a live structure of at least `size` bytes, which the kernel only reads. It makes the
    // descriptor for us, and nobody else has it.
    #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
    unsafe {
        let fd = libc::syscall(libc::SYS_landlock_create_ruleset, &raw const *attributes, size, 0);
        Ok(OwnedFd::from_raw_fd(descriptor(fd)?))
    }
}

/// Allows some rights below an open folder, or to an open file.
pub(super) fn landlock_allow(rules: &OwnedFd, allowed: u64, path: &OwnedFd) -> io::Result<()> {
    /// The one type of rule that is used here.
    const PATH_BENEATH: c_long = 1;
    let rule = PathBeneath { allowed, parent: path.as_raw_fd() };
    // SAFETY: the pointer is to a live structure of the layout that the kernel expects of this rule type and only reads.
    #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
    let added = unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, rules.as_raw_fd(), PATH_BENEATH, &raw const rule, 0)
    };
    descriptor(added).map(drop)
}

/// Keeps the calling thread to the rules, for good. It must have given up gaining privileges before. Fit for
/// [`before_exec`].
pub(super) fn restrict(rules: RawFd) -> io::Result<()> {
    // SAFETY: takes a descriptor and a flag word, no memory.
    #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
    let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules, 0) };
    descriptor(done).map(drop)
}

/// Puts the calling thread under a filter of system calls, for good. It must have given up gaining privileges before.
/// Fit for [`before_exec`].
pub(super) fn filter_calls(filter: &[libc::sock_filter]) -> io::Result<()> {
    let Ok(len) = u16::try_from(filter.len()) else { return Err(io::ErrorKind::InvalidInput.into()) };
    let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut() };
    // SAFETY: `program` points to `len` live instructions, which the kernel copies and does not write to.
    #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
    let done =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The same, for a filter that leaves calls to be answered from outside: they are told by the descriptor that is returned.
pub(super) fn filter_and_tell(filter: &[libc::sock_filter]) -> io::Result<OwnedFd> {
    let Ok(len) = u16::try_from(filter.len()) else { return Err(io::ErrorKind::InvalidInput.into()) };
    let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut() };
    // SAFETY: `program` points to `len` live instructions, which the kernel copies and does not write to. It makes the descriptor
    // for us, and nobody else has it.
    #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
    unsafe {
        let fd = libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const program,
        );
        Ok(OwnedFd::from_raw_fd(descriptor(fd)?))
    }
}

/// Whether this kernel lets calls be answered from outside.
pub(super) fn calls_can_be_answered() -> bool {
    let action: u32 = libc::SECCOMP_RET_USER_NOTIF;
    // SAFETY: the pointer is to a live number, which the kernel only reads.
    #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) };
    answer == 0
}

/// A call that waits for its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub id: u64,
    pub arguments: [u64; 6],
}

/// The next call that waits, once the descriptor can be read from. None if whoever made it is gone.
pub(super) fn next_call(listener: BorrowedFd<'_>) -> io::Result<Option<Call>> {
    let data = libc::seccomp_data { nr: 0, arch: 0, instruction_pointer: 0, args: [0; 6] };
    let mut told = libc::seccomp_notif { id: 0, pid: 0, flags: 0, data };
    // SAFETY: the pointer is to a live structure of the size that is part of the request's number; the kernel writes to it
    // alone, and wants it to be zero before.
    #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
    let done = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut told) };
    match descriptor(done.into()) {
        Ok(_) => Ok(Some(Call { id: told.id, arguments: told.data.args })),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Answers a call with a copy of a file of ours, under the next free number of whoever made it.
pub(super) fn answer_with_file(
    listener: BorrowedFd<'_>,
    call: u64,
    file: BorrowedFd<'_>,
    closes_on_exec: bool,
) -> io::Result<()> {
    let add = |flags: u32| {
        let addition = libc::seccomp_notif_addfd {
            id: call,
            flags,
            srcfd: file.as_raw_fd().cast_unsigned(),
            newfd: 0,
            newfd_flags: if closes_on_exec { libc::O_CLOEXEC.cast_unsigned() } else { 0 },
        };
        // SAFETY: the pointer is to a live structure of the size that is part of the request's number, which the kernel only
        // reads. The descriptor that it makes is another process's.
        #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
        let number = unsafe {
            libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const addition)
        };
        descriptor(number.into())
    };
    let and_answer = u32::try_from(libc::SECCOMP_ADDFD_FLAG_SEND).unwrap_or_default();
    match add(and_answer) {
        // A kernel before 5.14 takes two steps; if the call goes away between them, whoever made it has one file more.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            let number = add(0)?;
            answer(listener, call, number.into(), 0)
        }
        added => added.map(drop),
    }
}

/// Answers a call with an error.
pub(super) fn answer_with_error(listener: BorrowedFd<'_>, call: u64, error: i32) -> io::Result<()> {
    answer(listener, call, 0, error)
}

fn answer(listener: BorrowedFd<'_>, call: u64, value: i64, error: i32) -> io::Result<()> {
    let answer = libc::seccomp_notif_resp { id: call, val: value, error: -error, flags: 0 };
    // SAFETY: the pointer is to a live structure of the size that is part of the request's number, which the kernel only reads.
    #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
    let done =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer) };
    descriptor(done.into()).map(drop)
}

fn descriptor(returned: c_long) -> io::Result<RawFd> {
    RawFd::try_from(returned).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)
}
