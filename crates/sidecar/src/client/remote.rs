//! The service over HTTP.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName};
use hyper::{Method, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;
use taskwright_gateway::Token;

use super::connection::{self, Answer, Content};
use super::failure::{Failure, URL};
use crate::api::{JSON_LINES, PREFIX};
use crate::problem::{Problem, Wire, shown};

/// The address in a task's network.
const DEFAULT: &str = "http://eval-sidecar:8700";
const MOST: u64 = 1 << 30;

/// The service, from the other side of the network.
pub struct Remote {
    url: String,
    /// How long each request may take with its answer.
    time: Option<Duration>,
}

impl Remote {
    /// The service that the environment names.
    pub fn of_environment() -> Self {
        let url = std::env::var(URL).ok().filter(|url| !url.is_empty());
        Self::at(url.as_deref().unwrap_or(DEFAULT), None)
    }

    /// The service at an address.
    pub fn at(url: &str, time: Option<Duration>) -> Self {
        Self { url: url.trim_end_matches('/').to_owned(), time }
    }

    fn unreachable(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::Unreachable { url: self.url.clone(), why: error.to_string() }
    }

    /// Asks for a value.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.value(self.send(Method::GET, path, &[], Content::Nothing)?)
    }

    /// Asks for a value with a token.
    pub fn get_with<T: DeserializeOwned>(&self, token: &Token, path: &str) -> Result<T, Failure> {
        let bearer = format!("Bearer {}", token.show());
        self.value(self.send(Method::GET, path, &[(AUTHORIZATION, &bearer)], Content::Nothing)?)
    }

    /// Sends a value and gets another.
    pub fn post<T: DeserializeOwned>(&self, path: &str, value: &impl Serialize) -> Result<T, Failure> {
        let body = serde_json::to_vec(value)
            .map_err(|error| Failure::here(format!("writing the request: {error}"), "report this"))?;
        let headers = [(CONTENT_TYPE, "application/json")];
        self.value(self.send(Method::POST, path, &headers, Content::Whole(body))?)
    }

    /// Sends bytes as they come.
    pub fn put<T: DeserializeOwned>(&self, path: &str, bytes: &mut dyn Read) -> Result<T, Failure> {
        let headers = [(CONTENT_TYPE, "application/octet-stream")];
        self.value(self.send(Method::PUT, path, &headers, Content::Stream(bytes))?)
    }

    /// Sends a request; what it is answered is a success.
    fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, &str)],
        content: Content<'_>,
    ) -> Result<Answer, Failure> {
        let mut request = Request::builder().method(method).uri(format!("{}{PREFIX}{path}", self.url));
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let answer =
            connection::send(request, content, self.time).map_err(|error| self.unreachable(&error))?;
        let status = answer.status;
        if status.is_success() {
            return Ok(answer);
        }
        let bytes = self.read(answer, 1 << 20)?;
        match serde_json::from_slice::<Wire>(&bytes) {
            Ok(wire) => Err(Failure::Problem(Problem::from_wire(wire))),
            Err(_) => {
                Err(self.unreachable(&format!("it answers with status {status}, which is not its way")))
            }
        }
    }

    fn value<T: DeserializeOwned>(&self, answer: Answer) -> Result<T, Failure> {
        let bytes = self.read(answer, MOST)?;
        serde_json::from_slice(&bytes)
            .map_err(|error| self.unreachable(&format!("its answer is not understood: {error}")))
    }

    fn read(&self, answer: Answer, most: u64) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let length =
            answer.take(most + 1).read_to_end(&mut bytes).map_err(|error| self.unreachable(&error))?;
        if length as u64 > most {
            return Err(self.unreachable(&format!("its answer is longer than {most} bytes")));
        }
        Ok(bytes)
    }

    /// Asks for a stream of values; each is handed over as it comes, until one says to stop.
    pub fn stream<T: DeserializeOwned>(
        &self,
        path: &str,
        mut each: impl FnMut(T) -> bool,
    ) -> Result<(), Failure> {
        let answer = self.send(Method::GET, path, &[(ACCEPT, JSON_LINES)], Content::Nothing)?;
        for line in BufReader::new(answer).lines() {
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

/// Where an evaluation is, if that may be its name.
pub fn evaluation_path(id: &str) -> Result<String, Failure> {
    if !id.is_empty() && id.len() <= 20 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Ok(format!("/evaluations/{id}"));
    }
    Err(Failure::here(
        format!("`{}` is not an evaluation's name", shown(id)),
        "a name is like `e3`; `taskwright results list` shows them",
    ))
}
