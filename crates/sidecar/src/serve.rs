//! `taskwright serve`: checks what the image brings, opens the state and serves until it is asked to end.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::sync::Arc;
use std::task::Poll;

use serde_json::Value;
use taskwright_language::serve::{SERVE_VERSION, ServeConfig};
use tokio::signal::unix::{SignalKind, signal};

use crate::api::Candidate;
use crate::places::Places;
use crate::server::admin::Ask;
use crate::service::{self, OpenError, Service};
use crate::{evaluator, finalize, server, sha256};

/// Reads the serve config and its digest.
pub fn read_config(places: &Places) -> Result<(ServeConfig, String), String> {
    let path = places.image.join("serve.json");
    let text = fs::read(&path).map_err(|error| format!("reading `{}`: {error}", path.display()))?;
    let config: ServeConfig = serde_json::from_slice(&text)
        .map_err(|error| format!("`{}` is not a serve config: {error}", path.display()))?;
    if config.serve_version != SERVE_VERSION {
        return Err(format!(
            "`{}` has version {}, and this program reads version {SERVE_VERSION}: build the task again",
            path.display(),
            config.serve_version
        ));
    }
    Ok((config, sha256(&text)))
}

/// What there is to serve.
pub enum Opened {
    /// The service.
    Whole(Arc<Service>),
    /// A state that cannot be believed: nothing is served, and the only verdict is that there can be none.
    Damaged {
        /// What the task says.
        config: Box<ServeConfig>,
        /// The digest of what the task says.
        digest: String,
        /// What is wrong.
        why: String,
    },
}

impl Opened {
    /// Does what root asks for.
    pub fn act(&self, places: &Places, ask: Ask, tell: finalize::Tell<'_>) -> Result<Value, String> {
        match (self, ask) {
            (Self::Whole(service), Ask::Finalize) => finalize::finalize(service, places, tell),
            (Self::Whole(service), Ask::Archive) => finalize::archive(service, places, tell),
            (Self::Damaged { config, digest, why }, _) => {
                finalize::give_up(config, digest, why, places, tell)
            }
        }
    }
}

/// Opens the service of a container.
pub fn open(places: &Places) -> Result<Opened, String> {
    let (config, digest) = read_config(places)?;
    for folder in [&places.state, &places.runtime] {
        fs::create_dir_all(folder).map_err(|error| format!("making `{}`: {error}", folder.display()))?;
    }
    // Budgets, results and candidates are nobody else's to read.
    fs::set_permissions(&places.state, fs::Permissions::from_mode(0o700))
        .map_err(|error| format!("closing `{}`: {error}", places.state.display()))?;
    let runner = evaluator::open(&config, places)?;
    let baseline = Candidate { commit: config.baseline.commit.clone(), tree: config.baseline.tree.clone() };
    let service = match service::open(config.clone(), digest.clone(), &places.state, Box::new(runner)) {
        Ok(service) => service,
        Err(error @ OpenError::Damaged(_)) => {
            return Ok(Opened::Damaged { config: Box::new(config), digest, why: error.to_string() });
        }
        Err(OpenError::Failed(error)) => return Err(error),
    };
    service.know(&baseline).map_err(|problem| problem.detail)?;
    Ok(Opened::Whole(Arc::new(service)))
}

/// Serves.
pub fn serve(places: &Places, address: SocketAddr) -> Result<(), String> {
    // Whatever the container was started with: candidates must be able to read their checkouts.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let opened = open(places)?;
    if let Opened::Whole(service) = &opened {
        let worker = Arc::clone(service);
        std::thread::Builder::new()
            .name("evaluations".to_owned())
            .spawn(move || worker.work())
            .map_err(|error| format!("starting the thread that evaluates: {error}"))?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(32)
        .build()
        .map_err(|error| format!("starting the service: {error}"))?;
    let result = runtime.block_on(run(places, address, opened));
    // Handlers that wait for the disk are not waited for: what they wrote is whole or will be dropped.
    runtime.shutdown_background();
    result
}

async fn run(places: &Places, address: SocketAddr, opened: Opened) -> Result<(), String> {
    let listener = server::bind(address).map_err(|error| format!("listening on {address}: {error}"))?;
    let address = listener.local_addr().map_err(|error| format!("listening: {error}"))?;
    let admin = bind_admin(places)
        .map_err(|error| format!("making the socket `{}`: {error}", places.socket().display()))?;
    fs::write(places.address(), address.to_string())
        .map_err(|error| format!("noting the address: {error}"))?;
    let failed = |error: std::io::Error| format!("waiting for signals: {error}");
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let routes = match &opened {
        Opened::Whole(service) => {
            println!("taskwright: serving {} on {address}", service.config.task);
            server::routes(Arc::clone(service))
        }
        // Not ended: whoever finalizes is to be told why there is no verdict.
        Opened::Damaged { why, .. } => {
            eprintln!("taskwright: {why}");
            server::refusals(why)
        }
    };
    let places = places.clone();
    tokio::spawn(server::listen(listener, routes));
    tokio::spawn(server::admin::listen(admin, Arc::new(move |ask, tell| opened.act(&places, ask, tell))));
    std::future::poll_fn(|context| {
        let asked = terminate.poll_recv(context).is_ready() | interrupt.poll_recv(context).is_ready();
        if asked { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    Ok(())
}

/// The socket, in a folder that only root may enter, so that no moment exists in which anybody else could open it.
fn bind_admin(places: &Places) -> std::io::Result<tokio::net::UnixListener> {
    let folder = places.admin_folder();
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        _ => fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?,
    }
    let socket = places.socket();
    match fs::remove_file(&socket) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = tokio::net::UnixListener::bind(&socket)?;
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}
