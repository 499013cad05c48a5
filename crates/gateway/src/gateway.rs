//! A gateway that runs: its doors, its socket, and how it is started and stopped.
//!
//! ```text
//!   start: journal read, doors and socket bound ──▶ running
//!   stop:  no new connections ──▶ what is under way may end, for so long ──▶ cut and settled ──▶ journal synced
//! ```

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use taskwright_base::{Error, Result, failed, failed_to};
use tokio::runtime::{self, Runtime};
use tokio::sync::watch;

use crate::config::Config;
use crate::control::{Tokens, listen as control};
use crate::meter::Meter;
use crate::scope::{Door, Scope};
use crate::sender::Sender;
use crate::serve::{self, Gate};
use crate::token::{Token, TokenId};
use crate::upstream::Upstream;
use crate::usage::{Budget, Usage};

/// How a gateway is started.
#[derive(Debug)]
pub struct Setup {
    /// What it is told.
    pub config: Config,
    /// Where its requests go, and what opens that.
    pub upstream: Upstream,
    /// The folder of its journal and its log.
    pub state: PathBuf,
    /// Where the optimizer finds it; port 0 for any. Without it that door is closed.
    pub producer: Option<SocketAddr>,
    /// Where candidates find it.
    pub evaluation: Option<SocketAddr>,
    /// The socket for processes of our own side, in a folder of its own.
    pub control: Option<PathBuf>,
}

/// A gateway that runs. When it is dropped, it is stopped at once.
#[derive(Debug)]
pub struct Gateway {
    handle: Handle,
    producer: Option<SocketAddr>,
    evaluation: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    patience: watch::Sender<Option<Duration>>,
    threads: Vec<JoinHandle<()>>,
}

/// Makes tokens of a gateway that runs in this process.
#[derive(Debug, Clone)]
pub struct Handle(Arc<Meter>);

impl Gateway {
    /// Starts a gateway, in threads of its own. When this returns, its doors are open.
    ///
    /// # Errors
    /// The config makes no sense, the journal is damaged or in use, or a door cannot be opened.
    pub fn start(setup: Setup) -> Result<Self> {
        // Taken apart by name, so that a new field cannot be forgotten.
        let Setup { config, upstream, state, producer, evaluation, control: socket } = setup;
        let sender = Sender::new(upstream, &config.patience)?;
        let meter = Meter::open(config, &state)?;
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed_to("starting the gateway"))?;
        let handle = Handle(Arc::clone(&meter));
        let gate = Arc::new(Gate::new(Arc::clone(&meter), sender));
        let (stop, stopped) = watch::channel(false);
        let (patience, patient) = watch::channel(None);
        let mut open = Vec::new();
        let entered = runtime.enter();
        let mut door = |door, address: Option<SocketAddr>| -> Result<Option<SocketAddr>> {
            let Some(address) = address else { return Ok(None) };
            let listener = serve::bind(address).map_err(failed_to(format!("listening at {address}")))?;
            let address = listener.local_addr().map_err(failed_to("asking where a door is"))?;
            open.push(runtime.spawn(serve::listen(Arc::clone(&gate), door, listener, stopped.clone())));
            Ok(Some(address))
        };
        let producer = door(Door::Producer, producer)?;
        let evaluation = door(Door::Evaluation, evaluation)?;
        if let Some(socket) = socket {
            let listener = control::bind(&socket).map_err(failed("listening at", &socket))?;
            runtime.spawn(control::listen(listener, Arc::new(handle.clone())));
        }
        drop(entered);
        let journal = meter.start()?;
        let serving = thread::Builder::new()
            .name("gateway".to_owned())
            .spawn(move || run(runtime, open, patient))
            .map_err(failed_to("starting a thread"))?;
        Ok(Self { handle, producer, evaluation, stop, patience, threads: vec![serving, journal] })
    }

    /// Where a door is.
    pub fn address(&self, door: Door) -> Option<SocketAddr> {
        match door {
            Door::Producer => self.producer,
            Door::Evaluation => self.evaluation,
        }
    }

    /// What makes tokens.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Stops: nothing new is answered, and what is under way has so long to end. What has not then is cut, and settled.
    pub fn stop(mut self, patience: Duration) {
        self.end(patience);
    }

    fn end(&mut self, patience: Duration) {
        self.stop.send_replace(true);
        self.patience.send_replace(Some(patience));
        let mut threads = self.threads.drain(..);
        if let Some(serving) = threads.next() {
            let _ = serving.join();
        }
        // Only now is everything settled that there will be.
        self.handle.0.stop();
        threads.for_each(|thread| drop(thread.join()));
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Serves until it is told to stop, and then until the doors are closed or its patience is over.
fn run(
    runtime: Runtime,
    open: Vec<tokio::task::JoinHandle<()>>,
    mut patient: watch::Receiver<Option<Duration>>,
) {
    runtime.block_on(async {
        let patience = match patient.wait_for(Option::is_some).await {
            Ok(patience) => patience.unwrap_or_default(),
            Err(_) => Duration::ZERO,
        };
        let closed = async {
            for door in open {
                let _ = door.await;
            }
        };
        let _ = tokio::time::timeout(patience, closed).await;
    });
    // Whatever is still under way is dropped here, which settles it.
    drop(runtime);
}

impl Tokens for Handle {
    fn mint(&self, scope: Scope, attribution: &str) -> Result<(TokenId, Token)> {
        self.0.mint(scope, attribution)
    }

    fn revoke(&self, token: TokenId) -> Result<Usage> {
        self.0.revoke(token)
    }

    fn revoke_all(&self, door: Door) -> Result<()> {
        self.0.revoke_all(door)
    }

    fn usage(&self, token: TokenId) -> Result<Usage> {
        self.0.usage(token)
    }

    fn used(&self, scope: Scope) -> Result<Option<Usage>> {
        Ok(self.0.used(scope))
    }

    fn budget(&self, scope: Scope) -> Result<Option<Budget>> {
        Ok(self.0.budget(scope))
    }
}

impl Handle {
    /// The token in a file, if it is there and still valid; else a new one, which is written there for nobody else to read. So a
    /// gateway that is started again knows those that have read it before.
    ///
    /// # Errors
    /// The file cannot be written, or the token not be made.
    pub fn mint_into(&self, scope: Scope, attribution: &str, path: &Path) -> Result<TokenId> {
        let kept = fs::read_to_string(path).ok().map(|text| Token::shown(text.trim()));
        let token = match kept.filter(|token| self.known(scope, token).is_some()) {
            Some(kept) => kept,
            None => Token::new()?,
        };
        self.admit_into(scope, attribution, &token, path)
    }

    /// Makes a text that somebody else has chosen a token, and writes it into a file for nobody else to read.
    ///
    /// # Errors
    /// The file cannot be written, or the token not be made.
    pub fn admit_into(&self, scope: Scope, attribution: &str, token: &Token, path: &Path) -> Result<TokenId> {
        let id = match self.known(scope, token) {
            Some(id) => id,
            None => self.0.admit(scope, attribution, token)?,
        };
        write_secret(path, token.show())?;
        Ok(id)
    }

    fn known(&self, scope: Scope, token: &Token) -> Option<TokenId> {
        self.0.who(scope.door(), token).filter(|who| who.scope == scope).map(|who| who.token)
    }
}

/// Writes a file that only its owner may read, at no moment anybody else.
fn write_secret(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().ok_or_else(|| Error::new("a token needs a file in a folder"))?;
    fs::create_dir_all(folder).map_err(failed("making", folder))?;
    let part = path.with_extension("part");
    let _ = fs::remove_file(&part);
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(&part);
    file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&part, path))
        .map_err(failed("writing", path))
}
