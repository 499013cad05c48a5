//! The gateway's process: the program of the images, started as a task's container starts it.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;
use taskwright_gateway::{Client, Scope, TokenId, Tokens, Usage};

use super::question::{HELD, PLAIN, SLOW};
use crate::frame::memory;
use crate::http::{Connection, request};

const PATIENCE: Duration = Duration::from_secs(30);

/// A gateway's folders, and the program that runs in them.
pub struct Service {
    program: Utf8PathBuf,
    root: Utf8PathBuf,
    upstream: SocketAddr,
}

/// The process that runs, killed when it goes out of use.
pub struct Running {
    child: Child,
    socket: Utf8PathBuf,
    /// The door of candidates.
    pub address: SocketAddr,
}

impl Service {
    /// In a folder that is not there yet. Requests, tokens and money are all limited, so that all are counted.
    pub fn new(program: &Utf8Path, root: Utf8PathBuf, upstream: SocketAddr) -> anyhow::Result<Self> {
        for folder in ["taskwright", "run/taskwright-gateway"] {
            let folder = root.join(folder);
            fs::create_dir_all(&folder).with_context(|| format!("making `{folder}`"))?;
        }
        let models = [PLAIN, SLOW, HELD];
        let price = json!({ "input": 0.01, "output": 0.04 });
        let config = json!({
            "prices": { PLAIN: price, SLOW: price, HELD: price },
            "evaluation": {
                "allowed_models": models, "max_requests": 1_000_000_000, "max_tokens": 1_000_000_000_000_u64,
                "max_cost": 1_000_000,
            },
        });
        let path = root.join("taskwright/gateway.json");
        fs::write(&path, config.to_string()).with_context(|| format!("writing `{path}`"))?;
        Ok(Self { program: program.to_owned(), root, upstream })
    }

    /// Starts it, and waits until it answers. Returns also how long that took.
    pub fn start(&self) -> anyhow::Result<(Running, f64)> {
        // A port that was free a moment ago: the program does not say which one it was given.
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let started = Instant::now();
        let child = Command::new(&self.program)
            .args(["gateway", "--root", self.root.as_str(), "--evaluation", &address.to_string()])
            .env("OPENAI_BASE_URL", format!("http://{}/v1", self.upstream))
            .env("OPENAI_API_KEY", "the-key-of-the-upstream")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("starting `{}`", self.program))?;
        let mut running =
            Running { child, socket: self.root.join("run/taskwright-gateway/control/socket"), address };
        let health = request("GET", "/health", "", "");
        while Connection::open(address).and_then(|mut connection| connection.ask(&health)).is_err() {
            let ended = running.child.try_wait()?;
            ensure!(ended.is_none(), "the gateway ended at once: what it said stands above");
            ensure!(started.elapsed() < PATIENCE, "the gateway does not come up");
            thread::sleep(Duration::from_millis(1));
        }
        Ok((running, started.elapsed().as_secs_f64()))
    }

    /// The folder of its journal.
    pub fn state(&self) -> Utf8PathBuf {
        self.root.join("var/lib/taskwright")
    }
}

impl Running {
    /// Makes a token.
    pub fn mint(&self) -> anyhow::Result<(TokenId, String)> {
        let (id, token) = Client::new(&self.socket).mint(Scope::Evaluation, "bench gateway")?;
        Ok((id, token.show().to_owned()))
    }

    /// What a token has used.
    pub fn usage(&self, token: TokenId) -> anyhow::Result<Usage> {
        Ok(Client::new(&self.socket).usage(token)?)
    }

    /// A field of its process's status, in bytes.
    pub fn memory(&self, field: &str) -> anyhow::Result<f64> {
        let path = format!("/proc/{}/status", self.child.id());
        memory(&fs::read_to_string(&path).with_context(|| format!("reading `{path}`"))?, field)
    }

    /// Ends it as a power cut would, but for what the system has been handed.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill().context("killing the gateway")?;
        self.child.wait().context("waiting for the gateway")?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}
