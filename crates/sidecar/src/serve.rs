//! `taskwright serve`: opens the state and serves until it is asked to end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use taskwright_base::process;
use taskwright_base::write::{self, Durable};
use taskwright_base::{Result, failed, failed_to};
use tokio::signal::unix::{SignalKind, signal};

use crate::admin::protocol::Request;
use crate::container::{self, Opened};
use crate::finalize::interim;
use crate::paths::Paths;
use crate::{admin, server};

pub fn serve(paths: &Paths, address: SocketAddr) -> Result<()> {
    process::raise_open_files();
    // Whatever the container was started with: candidates must be able to read their checkouts.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let opened = container::open(paths)?;
    match &opened {
        Opened::Intact(service) => {
            let worker = Arc::clone(service);
            start("evaluations", move || worker.work())?;
            let (service, paths) = (Arc::clone(service), paths.clone());
            start("evidence", move || interim::keep(&service, &paths))?;
        }
        // What would be said to whoever asks for a verdict stands there already, for when nobody can ask.
        Opened::Damaged { .. } => {
            drop(opened.act(paths, Request::Finalize, &|line| eprintln!("taskwright: {line}"))?);
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(32)
        .build()
        .map_err(failed_to("starting the service"))?;
    let result = runtime.block_on(run(paths, address, opened));
    // Handlers that wait for the disk are not waited for: what they wrote is complete or will be dropped.
    runtime.shutdown_background();
    result
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map(drop).map_err(failed_to(format_args!("starting the thread for {name}")))
}

async fn run(paths: &Paths, address: SocketAddr, opened: Opened) -> Result<()> {
    let listener = server::bind(address).map_err(failed_to(format_args!("listening on {address}")))?;
    let address = listener.local_addr().map_err(failed_to("listening"))?;
    let socket = admin::listen::bind(paths).map_err(failed("making the socket", &paths.socket()))?;
    write::atomic(paths.address(), Durable::No, address.to_string().as_bytes())?;
    let asked = asked_to_end()?;
    let routes = match &opened {
        Opened::Intact(service) => {
            println!("taskwright: serving {} on {address}", service.config.task);
            server::routes(Arc::clone(service))
        }
        // Not ended: whoever finalizes is to be told why there is no verdict.
        Opened::Damaged { why, .. } => {
            eprintln!("taskwright: {why}");
            server::refusals()
        }
    };
    let paths = paths.clone();
    tokio::spawn(server::listen(listener, routes));
    let act = move |request, tell: admin::protocol::Tell<'_>| opened.act(&paths, request, tell);
    tokio::spawn(admin::listen::listen(socket, Arc::new(act)));
    asked.await;
    Ok(())
}

/// Waits until this process is asked to end.
pub fn until_asked_to_end() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed_to("waiting for signals"))?;
    runtime.block_on(async {
        asked_to_end()?.await;
        Ok(())
    })
}

/// Listens from now on, and is ready when this process is asked to end.
fn asked_to_end() -> Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate()).map_err(failed_to("waiting for signals"))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed_to("waiting for signals"))?;
    Ok(std::future::poll_fn(move |context| {
        let asked = terminate.poll_recv(context).is_ready() | interrupt.poll_recv(context).is_ready();
        if asked { Poll::Ready(()) } else { Poll::Pending }
    }))
}
