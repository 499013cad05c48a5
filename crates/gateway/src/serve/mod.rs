//! The doors: connections, each of them bounded and patient for so long only.

mod forward;
mod handle;
pub mod patient;

use std::collections::BTreeMap;
use std::future::{Future as _, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};

use crate::config::seconds;
use crate::memory::Memory;
use crate::meter::Meter;
use crate::scope::Door;
use crate::sender::Sender;
use patient::Patient;

/// How many connections the kernel holds until they are taken.
const BACKLOG: u32 = 1024;
/// What a connection costs before it has sent anything: what hyper reads into, which is also the longest head.
const READ_BUFFER: usize = 32 << 10;
/// How much the kernel holds of what a connection sent or is sent: by itself it would let either grow to megabytes, which
/// count as the container's memory.
const KERNEL_BUFFER: u32 = 64 << 10;

/// What all requests share.
pub struct Gate {
    /// What is counted.
    pub meter: Arc<Meter>,
    /// The way to the upstream.
    pub sender: Sender,
    /// The memory of each door: who fills that of one takes none from the other.
    memory: BTreeMap<Door, Memory>,
}

impl Gate {
    /// With a meter, and the way to the upstream.
    pub fn new(meter: Arc<Meter>, sender: Sender) -> Self {
        let (sizes, patience) = (&meter.config.sizes, &meter.config.patience);
        let memory = Memory::of(sizes.memory, seconds(patience.memory));
        let second = Memory::of(sizes.memory, seconds(patience.memory));
        let memory = BTreeMap::from([(Door::Producer, memory), (Door::Evaluation, second)]);
        Self { meter, sender, memory }
    }
}

/// Binds a door.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    // Every connection inherits these.
    socket.set_recv_buffer_size(KERNEL_BUFFER)?;
    socket.set_send_buffer_size(KERNEL_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Answers connections until it is told to stop, and then until those that are open have ended.
pub async fn listen(gate: Arc<Gate>, door: Door, listener: TcpListener, stop: watch::Receiver<bool>) {
    let most = u32::try_from(gate.meter.config.sizes.connections).unwrap_or(u32::MAX).min(1 << 20);
    let slots = Arc::new(Semaphore::new(most as usize));
    while let Some(stream) = accept(&listener, &slots, stop.clone()).await {
        let Ok(slot) = Arc::clone(&slots).try_acquire_owned() else { continue };
        let (gate, stop) = (Arc::clone(&gate), stop.clone());
        tokio::spawn(async move {
            converse(gate, door, stream, stop).await;
            drop(slot);
        });
    }
    drop(listener);
    let _ = slots.acquire_many(most).await;
}

/// The next connection; none when it is told to stop.
async fn accept(
    listener: &TcpListener,
    slots: &Semaphore,
    mut stop: watch::Receiver<bool>,
) -> Option<TcpStream> {
    let mut stopped = pin!(async { drop(stop.wait_for(|stop| *stop).await) });
    let mut accepted = pin!(async {
        loop {
            drop(slots.acquire().await);
            match listener.accept().await {
                Ok((stream, _)) => return stream,
                Err(error) => {
                    // A connection that was gone before it was taken, or no file descriptor left: neither ends the service.
                    eprintln!("taskwright: accepting a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    });
    poll_fn(|context| {
        if stopped.as_mut().poll(context).is_ready() {
            return std::task::Poll::Ready(None);
        }
        accepted.as_mut().poll(context).map(Some)
    })
    .await
}

/// Answers one request after the other of a connection. Told to stop, it ends after the one that is being answered.
async fn converse(gate: Arc<Gate>, door: Door, stream: TcpStream, mut stop: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let patience = &gate.meter.config.patience;
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(seconds(patience.head)).max_buf_size(READ_BUFFER);
    let stream = TokioIo::new(Patient::new(stream, seconds(patience.reader)));
    let service = service_fn(move |request| handle::handle(Arc::clone(&gate), door, request));
    let mut connection = pin!(http.serve_connection(stream, service));
    let mut stopped = pin!(async { drop(stop.wait_for(|stop| *stop).await) });
    let mut is_ending = false;
    // Whatever a client does wrong ends its connection and nothing else.
    let _ = poll_fn(|context| {
        if !is_ending && stopped.as_mut().poll(context).is_ready() {
            is_ending = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(context)
    })
    .await;
}
