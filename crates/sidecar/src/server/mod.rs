//! The server of the optimizer's API, over TCP.

mod answer;
mod events;
mod memory;
mod patient;
mod routes;
#[cfg(test)]
mod tests;
mod upload;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Semaphore;

use patient::Patient;
pub use routes::{refusals, routes};

/// How many connections may be open at once. More wait, which harms nobody but those who opened them.
const MOST_CONNECTIONS: usize = 256;
/// How many more the kernel holds until they are taken.
const BACKLOG: u32 = 1024;
/// What a connection costs before it has sent anything: what hyper reads into, which is also the longest head.
const READ_BUFFER: usize = 16 << 10;
/// How much the kernel holds of what a connection sent or is sent. It holds twice as much as it is told, and by itself
/// would let either grow to megabytes, which count as the container's memory.
const KERNEL_BUFFER: u32 = 16 << 10;
/// How long a connection may take to send a request's head, or stay idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client may read nothing of what it is sent.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Answers connections until the future that serves them is dropped.
pub async fn listen(listener: TcpListener, routes: Router) {
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // A connection that was gone before it was taken, or no file descriptor left: neither ends the service.
                eprintln!("taskwright: accepting a connection: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let routes = TowerToHyperService::new(routes.clone());
        tokio::spawn(async move {
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(READ_BUFFER);
            let stream = TokioIo::new(Patient::new(stream, WRITE_TIMEOUT));
            // Whatever a client does wrong ends its connection and nothing else.
            let _ = http.serve_connection(stream, routes).await;
            drop(slot);
        });
    }
}

pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    // Every connection inherits these.
    socket.set_recv_buffer_size(KERNEL_BUFFER)?;
    socket.set_send_buffer_size(KERNEL_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
