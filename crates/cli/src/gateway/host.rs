//! A gateway of this process, for whoever it starts: on loopback, with one token, for as long as that runs.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use taskwright_base::Result;
use taskwright_base::process::{self, Limits};
use taskwright_gateway::{
    Config, Door, Gateway, Handle, Money, Scope, Setup, Token, TokenId, Tokens, Upstream, Usage, clients,
};
use taskwright_language::model::{self, GatewayScope};
use taskwright_language::serve::ServeConfig;
use tempfile::TempDir;

/// How long what is under way may take when everything else has ended.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long an engine may take to say where its bridge is.
const ASKING: Duration = Duration::from_secs(10);

/// Where a gateway for inner tasks listens: agents that run in containers of this machine find loopback to be their own.
pub fn address(environment: &str) -> SocketAddr {
    let bridge = || {
        let format = ["network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}"];
        let answer = process::run(Command::new("docker").args(format), &Limits::of(ASKING)).ok()?;
        String::from_utf8_lossy(&answer.stdout).trim().parse::<IpAddr>().ok()
    };
    let address = (environment == "docker").then(bridge).flatten();
    SocketAddr::new(address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), 0)
}

/// What of a task's gateway decides what candidates are answered. How much they may use does not: with more, an evaluation goes on.
pub fn settings(spec: &model::Gateway) -> Value {
    // Taken apart by name, so that a new field cannot be forgotten.
    let model::Gateway {
        upstream_api_key_env: _,
        upstream_base_url_env: upstream,
        request_log_attribution: _,
        model_aliases: aliases,
        prices: _,
        producer: _,
        evaluation,
        finalization: _,
    } = spec;
    let candidates = evaluation.as_ref().map(|scope| {
        let GatewayScope {
            allowed_models: models,
            model_aliases: aliases,
            max_requests: _,
            max_tokens: _,
            max_cost: _,
            max_concurrency: _,
            hosted_tools,
        } = scope;
        json!({"models": models, "aliases": aliases, "hosted_tools": hosted_tools})
    });
    json!({"upstream": upstream, "aliases": aliases, "candidates": candidates})
}

/// A gateway that runs, and the one token that opens it.
pub struct HostGateway {
    gateway: Gateway,
    address: SocketAddr,
    id: TokenId,
    token: Token,
    /// Its journal, where what that says is over with the process.
    _state: Option<TempDir>,
}

impl HostGateway {
    /// Starts it. What it counts is forgotten when it ends.
    ///
    /// # Errors
    /// The config makes no sense, or nothing can be listened at.
    pub fn start(config: Config, upstream: Upstream, listen: SocketAddr, what: &str) -> anyhow::Result<Self> {
        let state = tempfile::Builder::new()
            .prefix("taskwright-gateway-")
            .tempdir()
            .context("making a temporary folder")?;
        let started = Self::start_in(state.path(), config, upstream, listen, what)?;
        Ok(Self { _state: Some(state), ..started })
    }

    /// The same with a folder of its own, where what it counted before is read, and counts.
    ///
    /// # Errors
    /// The config makes no sense, nothing can be listened at, or the folder is in use or damaged.
    pub fn start_in(
        state: &Path,
        config: Config,
        upstream: Upstream,
        listen: SocketAddr,
        what: &str,
    ) -> anyhow::Result<Self> {
        let gateway = Gateway::start(Setup {
            config,
            upstream,
            state: state.to_owned(),
            producer: None,
            evaluation: Some(listen),
            control: None,
        })?;
        // One that was killed has left a token that is still valid.
        gateway.handle().revoke_all(Door::Evaluation)?;
        let (id, token) = gateway.handle().mint(Scope::Evaluation, what)?;
        let address = gateway.address(Door::Evaluation).unwrap_or(listen);
        Ok(Self { gateway, address, id, token, _state: None })
    }

    /// Its address as clients have it, without a path.
    pub fn root(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What opens it: nothing that is kept may hold this.
    pub fn token(&self) -> &str {
        self.token.show()
    }

    /// What was spent until now, by what its folder says of earlier ones, too.
    ///
    /// # Errors
    /// None: the scope is its own.
    pub fn spent(&self) -> Result<Money> {
        spent(self.gateway.handle())
    }

    /// The one that candidates of a task ask language models through, if its spec says so and anything is to be run. What it needs
    /// of the environment has to be there either way.
    ///
    /// # Errors
    /// The upstream's address or key is missing, or it cannot be started.
    pub fn of_candidates(
        serve: &ServeConfig,
        what: &str,
        is_dry: bool,
        listen: impl FnOnce() -> SocketAddr,
    ) -> anyhow::Result<Option<Self>> {
        let Some(spec) = serve.gateway.as_ref().filter(|_| serve.candidates_ask_models()) else {
            return Ok(None);
        };
        let upstream = Upstream::from_env(&spec.upstream_base_url_env, &spec.upstream_api_key_env)?;
        if is_dry {
            return Ok(None);
        }
        Ok(Some(Self::start(Config::of_spec(spec)?, upstream, listen(), what)?))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What its clients find in their environment: under every name that they look for.
    pub fn variables<'a>(&self, address: &'a str, key: &'a str) -> Vec<(&'a str, String)> {
        clients::variables(&self.address.to_string(), &self.token, address, key)
    }

    /// What was used until now.
    ///
    /// # Errors
    /// None: the token is its own.
    pub fn usage(&self) -> Result<Usage> {
        self.gateway.handle().usage(self.id)
    }

    /// Whether its clients' requests cannot be made any more.
    pub fn is_cut_off(&self) -> bool {
        self.usage().is_ok_and(|usage| usage.is_cut_off())
    }

    /// Ends it, and says what was used, and what was spent in all.
    ///
    /// # Errors
    /// Its journal cannot be written.
    pub fn end(self) -> Result<(Usage, Money)> {
        let handle = self.gateway.handle().clone();
        let revoked = handle.revoke(self.id);
        self.gateway.stop(PATIENCE);
        revoked?;
        // What was under way is settled only now.
        Ok((handle.usage(self.id)?, spent(&handle)?))
    }
}

fn spent(handle: &Handle) -> Result<Money> {
    Ok(handle.budget(Scope::Evaluation)?.map(|budget| budget.spent.cost).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use taskwright_gateway::{Address, Key, ScopeConfig};

    use super::*;

    fn start(state: &Path) -> HostGateway {
        let scope = ScopeConfig { allowed_models: vec!["m".to_owned()], ..ScopeConfig::default() };
        let config = Config { evaluation: Some(scope), ..Config::default() };
        let address = Address::new("http://127.0.0.1:9").unwrap();
        let upstream = Upstream { address, key: Key::new("k").unwrap() };
        let listen = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        HostGateway::start_in(state, config, upstream, listen, "a test").unwrap()
    }

    /// How a gateway answers who shows a token.
    fn status(gateway: &HostGateway, token: &str) -> String {
        let mut stream = TcpStream::connect(gateway.address).unwrap();
        let request = format!(
            "GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    }

    #[test]
    fn one_that_is_started_again_knows_no_earlier_token() {
        let folder = tempfile::tempdir().unwrap();
        let first = start(folder.path());
        let token = first.token().to_owned();
        assert_eq!(status(&first, &token), "200");
        // As if it had been killed: nobody ends its token.
        drop(first);
        let second = start(folder.path());
        assert_eq!(
            (status(&second, &token), status(&second, second.token())),
            ("401".to_owned(), "200".to_owned())
        );
    }
}
