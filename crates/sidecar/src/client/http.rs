//! The service over HTTP.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::Response;
use ureq::{Agent, Body, SendBody};

use crate::api::{JSON_LINES, PREFIX};
use crate::exit;
use crate::problem::{Problem, Wire};

/// The variable that names the service's address.
pub const URL: &str = "TASKWRIGHT_URL";
/// The address in a task's network.
const DEFAULT: &str = "http://eval-sidecar:8700";
/// The largest answer that is read at once.
const MOST: u64 = 1 << 30;

/// Why a command did not come to its end.
#[derive(Debug)]
pub enum Failure {
    /// The service refused, or could not.
    Problem(Problem),
    /// The service cannot be reached.
    Unreachable {
        /// Its address.
        url: String,
        /// What the attempt to reach it said.
        why: String,
    },
    /// Something on this side.
    Here {
        /// What is wrong.
        what: String,
        /// What to do.
        remedy: String,
    },
}

impl Failure {
    /// A failure on this side.
    pub fn here(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Here { what: what.into(), remedy: remedy.into() }
    }

    /// The exit status that it means.
    pub fn exit(&self) -> u8 {
        match self {
            Self::Problem(problem) => problem.kind.exit(),
            Self::Unreachable { .. } => exit::UNREACHABLE,
            Self::Here { .. } => exit::USAGE,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Problem(problem) => problem.fmt(formatter),
            Self::Unreachable { url, why } => write!(
                formatter,
                "the eval sidecar at {url} cannot be reached: {why}\n  it is there as long as the task runs; {URL} \
                 names another address"
            ),
            Self::Here { what, remedy } => write!(formatter, "{what}\n  {remedy}"),
        }
    }
}

/// The service.
pub struct Service {
    agent: Agent,
    url: String,
}

impl Service {
    /// The service that the environment names.
    pub fn of_environment() -> Self {
        let url = std::env::var(URL).ok().filter(|url| !url.is_empty());
        Self::at(url.as_deref().unwrap_or(DEFAULT), None)
    }

    /// The service at an address.
    pub fn at(url: &str, timeout: Option<Duration>) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // The sidecar is near: a proxy for the world outside does not know it.
            .proxy(None)
            .max_redirects(0)
            // A connection is cheap here, and one that is kept may have been closed by the other side.
            .max_idle_connections(0)
            .timeout_connect(Some(Duration::from_secs(10)))
            .timeout_recv_response(Some(Duration::from_mins(5)))
            .timeout_global(timeout)
            .build();
        Self { agent: config.into(), url: url.trim_end_matches('/').to_owned() }
    }

    fn path(&self, path: &str) -> String {
        format!("{}{PREFIX}{path}", self.url)
    }

    fn unreachable(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::Unreachable { url: self.url.clone(), why: error.to_string() }
    }

    /// Asks for a value.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let answer = self.agent.get(self.path(path)).call().map_err(|error| self.unreachable(&error))?;
        self.value(answer)
    }

    /// Sends a value and gets another.
    pub fn post<T: DeserializeOwned>(&self, path: &str, value: &impl Serialize) -> Result<T, Failure> {
        let body = serde_json::to_vec(value)
            .map_err(|error| Failure::here(format!("writing the request: {error}"), "report this"))?;
        let request = self.agent.post(self.path(path)).header("content-type", "application/json");
        let answer = request.send(&body[..]).map_err(|error| self.unreachable(&error))?;
        self.value(answer)
    }

    /// Sends bytes as they come.
    pub fn put<T: DeserializeOwned>(&self, path: &str, bytes: &mut dyn Read) -> Result<T, Failure> {
        let mut bytes = bytes;
        let request = self.agent.put(self.path(path)).header("content-type", "application/octet-stream");
        let answer =
            request.send(SendBody::from_reader(&mut bytes)).map_err(|error| self.unreachable(&error))?;
        self.value(answer)
    }

    fn value<T: DeserializeOwned>(&self, answer: Response<Body>) -> Result<T, Failure> {
        let mut body = self.accepted(answer)?;
        let bytes = body.with_config().limit(MOST).read_to_vec().map_err(|error| self.unreachable(&error))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| self.unreachable(&format!("its answer is not understood: {error}")))
    }

    fn accepted(&self, answer: Response<Body>) -> Result<Body, Failure> {
        let status = answer.status();
        let mut body = answer.into_body();
        if status.is_success() {
            return Ok(body);
        }
        let bytes =
            body.with_config().limit(1 << 20).read_to_vec().map_err(|error| self.unreachable(&error))?;
        match serde_json::from_slice::<Wire>(&bytes) {
            Ok(wire) => Err(Failure::Problem(Problem::from_wire(wire))),
            Err(_) => {
                Err(self.unreachable(&format!("it answers with status {status}, which is not its way")))
            }
        }
    }

    /// Asks for a stream of values; each is handed over as it comes, until one says to stop.
    pub fn stream<T: DeserializeOwned>(
        &self,
        path: &str,
        mut each: impl FnMut(T) -> bool,
    ) -> Result<(), Failure> {
        let request = self.agent.get(self.path(path)).header("accept", JSON_LINES);
        let answer = request.call().map_err(|error| self.unreachable(&error))?;
        let body = self.accepted(answer)?;
        for line in BufReader::new(body.into_reader()).lines() {
            let line = line.map_err(|error| self.unreachable(&error))?;
            let value = serde_json::from_str(&line)
                .map_err(|error| self.unreachable(&format!("its answer is not understood: {error}")))?;
            if !each(value) {
                break;
            }
        }
        Ok(())
    }
}
