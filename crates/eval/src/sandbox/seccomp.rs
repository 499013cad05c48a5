//! A system call filter: no network, no lasting channel between runs, no way around the limits on memory.
//!
//! It is not what keeps a candidate from our files (its user and Landlock do that). It takes away what the two do not
//! reach: sockets of the internal network, by which a candidate could tell the optimizer what it is being asked;
//! kernel objects that belong to no file and outlive a process; memory that no limit counts; new name spaces.

/// The instructions of the filter.
pub(crate) type Filter = Vec<libc::sock_filter>;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

/// Pretend that the call does not exist: programs then do without it.
const MISSING: &[i64] = &[
    // Its flags are in memory, where no filter can see them; without it the C library uses `clone`.
    libc::SYS_clone3,
    // A second way to make every call that is refused here.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Memory that counts as nobody's until it is mapped.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    // Objects that stay when their process is gone.
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Nothing that a candidate needs, much that went wrong in the past.
    libc::SYS_userfaultfd,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
];

/// Pretend that the file system cannot do it: programs then write what they would have reserved, which takes time that we can
/// look in. Reserving takes none: gigabytes in a few milliseconds, of a disk that others write to.
const UNSUPPORTED: &[i64] = &[libc::SYS_fallocate];

/// Refuse.
const FORBIDDEN: &[i64] = &[
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_open_by_handle_at,
];

const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7FFF_0000;
const KILL: u32 = 0x8000_0000;
const ERRNO: u32 = 0x0005_0000;
/// Offsets in `struct seccomp_data`; the lower half of an argument on machines that store it first.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;

/// The filter for this machine; none if we do not know its system calls.
pub(crate) fn filter(network: bool) -> Option<Filter> {
    let architecture = ARCHITECTURE?;
    let mut program = vec![
        step(LOAD, 0, 0, ARCH),
        // A program of another architecture has other numbers.
        step(IF_EQUAL, 1, 0, architecture),
        step(RETURN, 0, 0, KILL),
        step(LOAD, 0, 0, NUMBER),
    ];
    if cfg!(target_arch = "x86_64") {
        // The x32 calls are the same ones under numbers with this bit.
        program.extend([step(IF_ANY_BIT, 0, 1, 0x4000_0000), step(RETURN, 0, 0, errno(libc::ENOSYS))]);
    }
    let numbers = |calls: &'static [i64]| calls.iter().filter_map(|call| u32::try_from(*call).ok());
    for (calls, error) in [(MISSING, libc::ENOSYS), (UNSUPPORTED, libc::EOPNOTSUPP), (FORBIDDEN, libc::EPERM)]
    {
        for number in numbers(calls) {
            program.extend([step(IF_EQUAL, 0, 1, number), step(RETURN, 0, 0, errno(error))]);
        }
    }
    // New name spaces by `clone`: a user name space would be root in a world of its own.
    let spaces = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    let spaces = spaces.iter().fold(0, |all, flag| all | flag.cast_unsigned());
    program.extend([
        step(IF_EQUAL, 0, 4, u32::try_from(libc::SYS_clone).ok()?),
        step(LOAD, 0, 0, FIRST_ARGUMENT),
        step(IF_ANY_BIT, 0, 1, spaces),
        step(RETURN, 0, 0, errno(libc::EPERM)),
        step(RETURN, 0, 0, ALLOW),
    ]);
    // Sockets: between processes of the machine (Landlock and file rights say which), and the network if it is given.
    let families: &[i32] = if network {
        &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]
    } else {
        &[libc::AF_UNIX]
    };
    let count = u8::try_from(families.len()).ok()?;
    program.push(step(IF_EQUAL, 0, count + 2, u32::try_from(libc::SYS_socket).ok()?));
    program.push(step(LOAD, 0, 0, FIRST_ARGUMENT));
    for (family, left) in families.iter().zip((0..count).rev()) {
        program.push(step(IF_EQUAL, left + 1, 0, family.cast_unsigned()));
    }
    program.push(step(RETURN, 0, 0, errno(libc::EACCES)));
    program.push(step(RETURN, 0, 0, ALLOW));
    Some(program)
}

fn step(code: u16, if_true: u8, if_false: u8, value: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt: if_true, jf: if_false, k: value }
}

fn errno(error: i32) -> u32 {
    ERRNO | error.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    /// Follows the filter as the kernel does.
    fn decide(filter: &Filter, architecture: u32, number: i64, argument: u32) -> u32 {
        let (mut at, mut value) = (0, 0_u32);
        loop {
            let instruction = filter[at];
            let jump = |yes: bool| 1 + usize::from(if yes { instruction.jt } else { instruction.jf });
            at += match instruction.code {
                LOAD => {
                    value = match instruction.k {
                        NUMBER => u32::try_from(number).unwrap(),
                        ARCH => architecture,
                        FIRST_ARGUMENT => argument,
                        other => panic!("reads {other}"),
                    };
                    1
                }
                IF_EQUAL => jump(value == instruction.k),
                IF_ANY_BIT => jump(value & instruction.k != 0),
                RETURN => return instruction.k,
                other => panic!("unknown instruction {other}"),
            };
        }
    }

    #[test]
    fn every_path_of_the_filter_ends_where_it_should() {
        let Some(here) = ARCHITECTURE else { return };
        let (closed, open) = (filter(false).unwrap(), filter(true).unwrap());
        let socket = |filter, family: i32| decide(filter, here, libc::SYS_socket, family.cast_unsigned());
        for family in [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK] {
            assert_eq!(socket(&closed, family), errno(libc::EACCES));
            assert_eq!(socket(&open, family), ALLOW);
        }
        for filter in [&closed, &open] {
            assert_eq!(socket(filter, libc::AF_UNIX), ALLOW);
            assert_eq!(socket(filter, libc::AF_VSOCK), errno(libc::EACCES));
            assert_eq!(socket(filter, libc::AF_PACKET), errno(libc::EACCES));
            assert_eq!(decide(filter, 0x4000_0003, libc::SYS_read, 0), KILL);
            assert_eq!(decide(filter, here, libc::SYS_read, 0), ALLOW);
            assert_eq!(decide(filter, here, libc::SYS_execve, u32::MAX), ALLOW);
            for call in MISSING {
                assert_eq!(decide(filter, here, *call, 0), errno(libc::ENOSYS));
            }
            for call in UNSUPPORTED {
                assert_eq!(decide(filter, here, *call, 0), errno(libc::EOPNOTSUPP));
            }
            for call in FORBIDDEN {
                assert_eq!(decide(filter, here, *call, 0), errno(libc::EPERM));
            }
            assert_eq!(decide(filter, here, libc::SYS_clone, libc::SIGCHLD.cast_unsigned()), ALLOW);
            let space = (libc::CLONE_NEWUSER | libc::SIGCHLD).cast_unsigned();
            assert_eq!(decide(filter, here, libc::SYS_clone, space), errno(libc::EPERM));
        }
    }
}
