//! The one way out that a command can have: its calls for a socket are answered with one that is connected to the gateway.
//!
//! ```text
//!  command: socket() ──▶ called ──▶ connecting ──▶ connected: the command has the socket, we close ours
//!                          │            └─ refused, or too late ──▶ the error
//!                          └─ too many are open ──▶ the error
//! ```
//!
//! The filter (`seccomp`) leaves the call to us, answers what would connect the socket elsewhere, and refuses everything else.
//! Rules for ports, which Landlock has, would not do: the optimizer's container shares a network with the eval sidecar, and a
//! candidate that reached it could tell what it is asked. A network of its own takes rights that a container does not have.

use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, ipproto,
};

use super::kernel::{self, Call};
use super::procfs;

/// How long a connection may take to be made.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many may be under way at once; whoever asks for more waits.
const MOST_CONNECTING: usize = 64;
/// How many all processes of a command together may have open.
const MOST_OPEN: usize = 512;

/// Both ends of what the listener travels by: from the command, which makes it before it is executed, to us.
pub(super) fn passage() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?)
}

/// Hands a listener over. Fit for [`kernel::before_exec`].
pub(super) fn hand_over(passage: &OwnedFd, listener: &OwnedFd) -> io::Result<()> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    let listener = [listener.as_fd()];
    message.push(SendAncillaryMessage::ScmRights(&listener));
    rustix::net::sendmsg(passage, &[io::IoSlice::new(b"x")], &mut message, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Closes what a command handed over that could not be executed.
pub(super) fn forget(passage: &OwnedFd) {
    let _ = received(passage);
}

/// The listener that was handed over last.
fn received(passage: &OwnedFd) -> io::Result<OwnedFd> {
    let mut last = None;
    loop {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let mut into = [io::IoSliceMut::new(&mut byte)];
        match rustix::net::recvmsg(passage, &mut into, &mut message, RecvFlags::CMSG_CLOEXEC) {
            Ok(_) => {}
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        for part in message.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = part {
                last = descriptors.last().or(last);
            }
        }
    }
    last.ok_or_else(|| io::Error::other("the command did not hand over its way out"))
}

/// A command's calls for sockets, and those that are being answered.
#[derive(Debug)]
pub(super) struct WayOut {
    gateway: SocketAddrV4,
    /// Where calls are told; none once nobody is left who could call.
    listener: Option<OwnedFd>,
    connecting: Vec<Connecting>,
    /// Knows every socket that was handed over and is still open, wherever it is, without holding it open.
    open: OwnedFd,
    /// How many may be open, at the most.
    may_be_open: usize,
}

#[derive(Debug)]
struct Connecting {
    call: Call,
    socket: OwnedFd,
    deadline: Instant,
}

impl WayOut {
    /// Of the command that was given the other end of the passage, and has been executed.
    pub fn of(passage: &OwnedFd, gateway: SocketAddrV4) -> io::Result<Self> {
        Ok(Self {
            gateway,
            listener: Some(received(passage)?),
            connecting: Vec::new(),
            open: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            may_be_open: 0,
        })
    }

    /// What tells that there is something to do.
    pub fn events(&self) -> impl Iterator<Item = PollFd<'_>> {
        let listener = self.listener.iter().filter(|_| self.connecting.len() < MOST_CONNECTING);
        let connecting = self.connecting.iter().map(|one| PollFd::new(&one.socket, PollFlags::OUT));
        listener.map(|listener| PollFd::new(listener, PollFlags::IN)).chain(connecting)
    }

    /// Does what there is to do, and waits for nothing.
    ///
    /// # Errors
    /// This kernel does not let calls be answered by sockets.
    pub fn serve(&mut self) -> io::Result<()> {
        self.take_call()?;
        let Some(listener) = &self.listener else {
            self.connecting.clear();
            return Ok(());
        };
        let now = Instant::now();
        let mut index = 0;
        while let Some(one) = self.connecting.get(index) {
            let is_made = !ready(&one.socket, PollFlags::OUT)?.is_empty();
            if !is_made && now < one.deadline {
                index += 1;
                continue;
            }
            let one = self.connecting.swap_remove(index);
            let outcome = if is_made {
                rustix::net::sockopt::socket_error(&one.socket).and_then(|outcome| outcome)
            } else {
                Err(Errno::TIMEDOUT)
            };
            match outcome {
                Ok(()) => hand_out(listener, &self.open, &one)?,
                Err(error) => refuse(listener, one.call, error),
            }
        }
        Ok(())
    }

    /// Takes the next call, if there is one and room for it.
    fn take_call(&mut self) -> io::Result<()> {
        let Some(listener) = self.listener.as_ref().filter(|_| self.connecting.len() < MOST_CONNECTING)
        else {
            return Ok(());
        };
        let events = ready(listener, PollFlags::IN)?;
        if !events.contains(PollFlags::IN) {
            if !events.is_empty() {
                self.listener = None;
            }
            return Ok(());
        }
        let Some(call) = kernel::next_call(listener.as_fd())? else { return Ok(()) };
        if self.may_be_open >= MOST_OPEN {
            self.may_be_open = procfs::watched_files(&self.open)? + self.connecting.len();
        }
        let socket = if self.may_be_open >= MOST_OPEN { Err(Errno::MFILE) } else { connect(self.gateway) };
        match socket {
            Ok(socket) => {
                self.may_be_open += 1;
                self.connecting.push(Connecting { call, socket, deadline: Instant::now() + PATIENCE });
            }
            Err(error) => refuse(listener, call, error),
        }
        Ok(())
    }
}

/// Begins a connection.
fn connect(gateway: SocketAddrV4) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket =
        rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    match rustix::net::connect(&socket, &gateway) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// Gives a socket to whoever called for it, as it was called for.
fn hand_out(listener: &OwnedFd, open: &OwnedFd, one: &Connecting) -> io::Result<()> {
    let Connecting { call, socket, deadline: _ } = one;
    let has = |flag: i32| call.arguments[1] & u64::from(flag.cast_unsigned()) != 0;
    let flags = if has(libc::SOCK_NONBLOCK) { OFlags::NONBLOCK } else { OFlags::empty() };
    let ready = rustix::fs::fcntl_setfl(socket, flags)
        .and_then(|()| epoll::add(open, socket, epoll::EventData::new_u64(0), epoll::EventFlags::empty()));
    if let Err(error) = ready {
        refuse(listener, *call, error);
        return Ok(());
    }
    match kernel::answer_with_file(listener.as_fd(), call.id, socket.as_fd(), has(libc::SOCK_CLOEXEC)) {
        Ok(()) => Ok(()),
        Err(error) => match Errno::from_io_error(&error) {
            // Whoever called is gone, or was interrupted and calls again.
            Some(Errno::NOENT | Errno::INPROGRESS) => Ok(()),
            Some(Errno::INVAL | Errno::NOTTY | Errno::NOSYS) | None => Err(error),
            // It has as many files open as it may.
            Some(error) => {
                refuse(listener, *call, error);
                Ok(())
            }
        },
    }
}

/// Answers a call with an error. Where that fails nobody waits for it any more.
fn refuse(listener: &OwnedFd, call: Call, error: Errno) {
    let _ = kernel::answer_with_error(listener.as_fd(), call.id, error.raw_os_error());
}

/// What can be done with a descriptor at this moment.
fn ready(descriptor: &OwnedFd, events: PollFlags) -> io::Result<PollFlags> {
    let mut waiting = [PollFd::new(descriptor, events)];
    match poll(&mut waiting, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Ok(_) => Ok(waiting[0].revents()),
        Err(Errno::INTR) => Ok(PollFlags::empty()),
        Err(error) => Err(error.into()),
    }
}
