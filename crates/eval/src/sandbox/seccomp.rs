//! A system call filter: no network, no lasting channel between runs, no way around the limits on memory.
//!
//! It is not what keeps a candidate from our files (its user and Landlock do that). It takes away what the two do not
//! reach: sockets of the internal network, by which a candidate could tell the optimizer what it is being asked;
//! kernel objects that belong to no file and outlive a process; memory that no limit counts; new name spaces.
//!
//! A command that may reach the gateway makes no connection either. Its call for a socket is answered from outside by one that is
//! connected already (`way_out`), and after that it is told that `connect` has succeeded, whatever address it names: no
//! filter can see an address, which lies in memory.

use super::order::Network;

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

/// What may be set of a socket to the gateway, by level and option: how it waits, and how it gathers what is sent.
const OPTIONS: [(i32, i32); 15] = [
    (libc::SOL_SOCKET, libc::SO_REUSEADDR),
    (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
    (libc::SOL_SOCKET, libc::SO_LINGER),
    (libc::SOL_SOCKET, libc::SO_SNDBUF),
    (libc::SOL_SOCKET, libc::SO_RCVBUF),
    (libc::SOL_SOCKET, libc::SO_SNDTIMEO),
    (libc::SOL_SOCKET, libc::SO_RCVTIMEO),
    (libc::IPPROTO_TCP, libc::TCP_NODELAY),
    (libc::IPPROTO_TCP, libc::TCP_CORK),
    (libc::IPPROTO_TCP, libc::TCP_QUICKACK),
    (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE),
    (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL),
    (libc::IPPROTO_TCP, libc::TCP_KEEPCNT),
    (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT),
    (libc::IPPROTO_IP, libc::IP_TOS),
];

const LOAD: u16 = 0x20;
const MASK: u16 = 0x54;
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
const SECOND_ARGUMENT: u32 = 24;
const THIRD_ARGUMENT: u32 = 32;
const FOURTH_ARGUMENT: u32 = 40;

/// The filter for this machine; none if we do not know its system calls.
pub(crate) fn filter(network: Network) -> Option<Filter> {
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
    when(
        &mut program,
        libc::SYS_clone,
        &[
            step(LOAD, 0, 0, FIRST_ARGUMENT),
            step(IF_ANY_BIT, 0, 1, spaces),
            step(RETURN, 0, 0, errno(libc::EPERM)),
            step(RETURN, 0, 0, ALLOW),
        ],
    )?;
    match network {
        // Between processes of the machine; Landlock and file rights say which.
        Network::Nothing => when(
            &mut program,
            libc::SYS_socket,
            &[
                step(LOAD, 0, 0, FIRST_ARGUMENT),
                step(IF_EQUAL, 1, 0, libc::AF_UNIX.cast_unsigned()),
                step(RETURN, 0, 0, errno(libc::EACCES)),
                step(RETURN, 0, 0, ALLOW),
            ],
        )?,
        Network::Gateway(_) => to_the_gateway(&mut program)?,
    }
    program.push(step(RETURN, 0, 0, ALLOW));
    Some(program)
}

/// A socket for TCP is asked for outside, every other is refused: also one between processes, since a `connect` of it would be
/// answered like any other and not be made. Pairs of sockets, which are connected from the start, are there.
fn to_the_gateway(program: &mut Filter) -> Option<()> {
    const EITHER_WAY: u32 = (libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC).cast_unsigned();
    when(
        program,
        libc::SYS_socket,
        &[
            step(LOAD, 0, 0, FIRST_ARGUMENT),
            step(IF_EQUAL, 0, 6, libc::AF_INET.cast_unsigned()),
            step(LOAD, 0, 0, SECOND_ARGUMENT),
            step(MASK, 0, 0, !EITHER_WAY),
            step(IF_EQUAL, 0, 3, libc::SOCK_STREAM.cast_unsigned()),
            step(LOAD, 0, 0, THIRD_ARGUMENT),
            step(IF_EQUAL, 2, 0, 0),
            step(IF_EQUAL, 1, 0, libc::IPPROTO_TCP.cast_unsigned()),
            step(RETURN, 0, 0, errno(libc::EACCES)),
            step(RETURN, 0, 0, libc::SECCOMP_RET_USER_NOTIF),
        ],
    )?;
    // Not made, so that a socket stays connected to what it is: not even by the address that dissolves a connection.
    when(program, libc::SYS_connect, &[step(RETURN, 0, 0, errno(0))])?;
    for call in [libc::SYS_bind, libc::SYS_listen] {
        when(program, call, &[step(RETURN, 0, 0, errno(libc::EACCES))])?;
    }
    // Connects while it sends, to an address in memory.
    let flags = [
        (libc::SYS_sendto, FOURTH_ARGUMENT),
        (libc::SYS_sendmsg, THIRD_ARGUMENT),
        (libc::SYS_sendmmsg, FOURTH_ARGUMENT),
    ];
    for (call, flags) in flags {
        when(
            program,
            call,
            &[
                step(LOAD, 0, 0, flags),
                step(IF_ANY_BIT, 0, 1, libc::MSG_FASTOPEN.cast_unsigned()),
                step(RETURN, 0, 0, errno(libc::EACCES)),
                step(RETURN, 0, 0, ALLOW),
            ],
        )?;
    }
    options(program)
}

/// Lets options of a socket be set by name. By others it names a host that its packets go to first, an interface that they leave by, or a
/// group that it tells the whole network of: each is seen by the optimizer's container.
fn options(program: &mut Filter) -> Option<()> {
    let mut steps = Vec::new();
    for (level, option) in OPTIONS {
        steps.extend([
            step(LOAD, 0, 0, SECOND_ARGUMENT),
            step(IF_EQUAL, 0, 3, level.cast_unsigned()),
            step(LOAD, 0, 0, THIRD_ARGUMENT),
            step(IF_EQUAL, 0, 1, option.cast_unsigned()),
            step(RETURN, 0, 0, ALLOW),
        ]);
    }
    steps.push(step(RETURN, 0, 0, errno(libc::ENOPROTOOPT)));
    when(program, libc::SYS_setsockopt, &steps)
}

/// Adds what happens to a call. All ways through it end in it, as the call's number is not there any more afterwards.
fn when(program: &mut Filter, call: i64, steps: &[libc::sock_filter]) -> Option<()> {
    program.push(step(IF_EQUAL, 0, u8::try_from(steps.len()).ok()?, u32::try_from(call).ok()?));
    program.extend_from_slice(steps);
    Some(())
}

fn step(code: u16, if_true: u8, if_false: u8, value: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt: if_true, jf: if_false, k: value }
}

fn errno(error: i32) -> u32 {
    ERRNO | error.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4};

    use super::*;
    use taskwright_testing::test;

    const GATEWAY: Network = Network::Gateway(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8702));

    /// Follows the filter as the kernel does.
    fn decide(filter: &Filter, architecture: u32, number: i64, arguments: &[i32]) -> u32 {
        let argument = |number: usize| arguments.get(number).map_or(0, |argument| argument.cast_unsigned());
        let (mut at, mut value) = (0, 0_u32);
        loop {
            let instruction = filter[at];
            let jump = |yes: bool| 1 + usize::from(if yes { instruction.jt } else { instruction.jf });
            at += match instruction.code {
                LOAD => {
                    value = match instruction.k {
                        NUMBER => u32::try_from(number).unwrap(),
                        ARCH => architecture,
                        FIRST_ARGUMENT => argument(0),
                        SECOND_ARGUMENT => argument(1),
                        THIRD_ARGUMENT => argument(2),
                        FOURTH_ARGUMENT => argument(3),
                        other => panic!("reads {other}"),
                    };
                    1
                }
                MASK => {
                    value &= instruction.k;
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
        let (closed, gateway) = (filter(Network::Nothing).unwrap(), filter(GATEWAY).unwrap());
        assert_eq!(decide(&closed, here, libc::SYS_socket, &[libc::AF_UNIX]), ALLOW);
        assert_eq!(decide(&closed, here, libc::SYS_socket, &[libc::AF_INET, 1, 0]), errno(libc::EACCES));
        for filter in [&closed, &gateway] {
            for family in [libc::AF_INET6, libc::AF_NETLINK, libc::AF_VSOCK, libc::AF_PACKET] {
                let socket = decide(filter, here, libc::SYS_socket, &[family, libc::SOCK_STREAM, 0]);
                assert_eq!(socket, errno(libc::EACCES), "{family}");
            }
            assert_eq!(decide(filter, 0x4000_0003, libc::SYS_read, &[]), KILL);
            assert_eq!(decide(filter, here, libc::SYS_read, &[]), ALLOW);
            assert_eq!(decide(filter, here, libc::SYS_execve, &[-1]), ALLOW);
            for call in MISSING {
                assert_eq!(decide(filter, here, *call, &[]), errno(libc::ENOSYS));
            }
            for call in UNSUPPORTED {
                assert_eq!(decide(filter, here, *call, &[]), errno(libc::EOPNOTSUPP));
            }
            for call in FORBIDDEN {
                assert_eq!(decide(filter, here, *call, &[]), errno(libc::EPERM));
            }
            assert_eq!(decide(filter, here, libc::SYS_clone, &[libc::SIGCHLD]), ALLOW);
            let space = libc::CLONE_NEWUSER | libc::SIGCHLD;
            assert_eq!(decide(filter, here, libc::SYS_clone, &[space]), errno(libc::EPERM));
        }
    }

    #[test]
    fn of_the_network_there_is_tcp_alone_and_nothing_connects() {
        const SO_BINDTOIFINDEX: i32 = 62;
        use libc::{AF_INET, AF_UNIX, SOCK_CLOEXEC, SOCK_DGRAM, SOCK_NONBLOCK, SOCK_RAW, SOCK_STREAM};
        let Some(here) = ARCHITECTURE else { return };
        let filter = filter(GATEWAY).unwrap();
        let asked = libc::SECCOMP_RET_USER_NOTIF;
        let (allowed, refused, done) = (ALLOW, errno(libc::EACCES), errno(0));
        let unknown = errno(libc::ENOPROTOOPT);
        let fast = libc::MSG_FASTOPEN | libc::MSG_NOSIGNAL;
        for (call, arguments, outcome) in [
            (libc::SYS_socket, [AF_INET, SOCK_STREAM, 0, 0], asked),
            (libc::SYS_socket, [AF_INET, SOCK_STREAM, libc::IPPROTO_TCP, 0], asked),
            (libc::SYS_socket, [AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, 0], asked),
            (libc::SYS_socket, [AF_INET, SOCK_STREAM, libc::IPPROTO_MPTCP, 0], refused),
            (libc::SYS_socket, [AF_INET, SOCK_STREAM, libc::IPPROTO_SCTP, 0], refused),
            (libc::SYS_socket, [AF_INET, SOCK_DGRAM, 0, 0], refused),
            (libc::SYS_socket, [AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, libc::IPPROTO_UDP, 0], refused),
            (libc::SYS_socket, [AF_INET, SOCK_RAW, libc::IPPROTO_TCP, 0], refused),
            (libc::SYS_socket, [AF_UNIX, SOCK_STREAM, 0, 0], refused),
            (libc::SYS_socketpair, [AF_UNIX, SOCK_STREAM, 0, 0], allowed),
            (libc::SYS_connect, [3, 0, 16, 0], done),
            (libc::SYS_bind, [3, 0, 16, 0], refused),
            (libc::SYS_listen, [3, 16, 0, 0], refused),
            (libc::SYS_sendto, [3, 0, 1, libc::MSG_NOSIGNAL], allowed),
            (libc::SYS_sendto, [3, 0, 1, fast], refused),
            (libc::SYS_sendmsg, [3, 0, libc::MSG_NOSIGNAL, 0], allowed),
            (libc::SYS_sendmsg, [3, 0, fast, 0], refused),
            (libc::SYS_sendmmsg, [3, 0, 1, fast], refused),
            (libc::SYS_setsockopt, [3, libc::IPPROTO_TCP, libc::TCP_NODELAY, 0], allowed),
            (libc::SYS_setsockopt, [3, libc::IPPROTO_IP, libc::IP_TOS, 0], allowed),
            (libc::SYS_setsockopt, [3, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 0], allowed),
            (libc::SYS_setsockopt, [3, libc::IPPROTO_IP, libc::IP_OPTIONS, 0], unknown),
            (libc::SYS_setsockopt, [3, libc::IPPROTO_IP, libc::MCAST_JOIN_GROUP, 0], unknown),
            (libc::SYS_setsockopt, [3, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, 0], unknown),
            (libc::SYS_setsockopt, [3, libc::SOL_SOCKET, SO_BINDTOIFINDEX, 0], unknown),
            // The same numbers at another level.
            (libc::SYS_setsockopt, [3, libc::IPPROTO_IP, libc::SO_KEEPALIVE, 0], unknown),
            (libc::SYS_setsockopt, [3, libc::IPPROTO_IPV6, libc::TCP_NODELAY, 0], unknown),
        ] {
            assert_eq!(decide(&filter, here, call, &arguments), outcome, "{call} {arguments:?}");
        }
    }
}
