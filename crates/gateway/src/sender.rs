//! How a request is sent to the upstream, and who is to blame where the upstream does not take the key.
//!
//! Every dialect is sent on, with the key where that dialect has it. An upstream may know one place only, and says to all others
//! what it says to a wrong key: 401. Clients choose the dialect, so a 401 alone says nothing of the key. The gateway then asks by
//! itself, in a way that no client has a part in:
//!
//! ```text
//!   401 ──▶ asked lately? ──▶ as it was found then
//!             └─ no ──▶ is the key answered in another way than one that is made up?
//!                         ├─ yes ──▶ known: whoever asked chose a way that the upstream does not take
//!                         └─ no  ──▶ did a dialect take it before that does not refuse it now? ──▶ known
//!                                      └─ no ──▶ the key is to blame
//! ```

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use taskwright_base::Result;
use taskwright_https::Client;

use crate::body::Whole;
use crate::config::{Patience, seconds};
use crate::request::headers::{credential, sent};
use crate::upstream::Upstream;
use crate::wire::Dialect;
use crate::wire::refusal::{Kind, Refusal};

/// How long is believed what was found out about the key. A key can be withdrawn, and clients could have us ask without end.
const BELIEVED: Duration = Duration::from_secs(10);
/// The most that the answer to one question is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// A key that no upstream has made.
const MADE_UP: &str = "taskwright-asks-what-a-wrong-key-is-told";
/// What is asked to find out whether the upstream knows the key. None of it costs anything: an empty request has no answer. Some
/// upstreams list their models to everybody, some list none, and some keys may not read the list.
const QUESTIONS: [(Dialect, Method, &str); 5] = [
    (Dialect::OpenAi, Method::GET, "models"),
    (Dialect::Anthropic, Method::GET, "models"),
    (Dialect::Gemini, Method::GET, "models"),
    (Dialect::OpenAi, Method::POST, "chat/completions"),
    (Dialect::Anthropic, Method::POST, "messages"),
];

/// A client of the upstream, which keeps its connections.
pub struct Sender {
    upstream: Upstream,
    client: Client<Whole>,
    patience: Duration,
    /// The dialects in which the upstream took the key.
    took: Mutex<BTreeSet<Dialect>>,
    /// When it was found out whether the upstream knows the key, and what. Who finds out keeps the others waiting.
    found: tokio::sync::Mutex<Option<(Instant, bool)>>,
}

/// What is sent to the upstream.
pub struct Outgoing<'a> {
    /// In whose words.
    pub dialect: Dialect,
    /// How.
    pub method: Method,
    /// To which path, below the upstream's root.
    pub path: &'a str,
    /// With which query.
    pub query: Option<&'a str>,
    /// With which headers, but those that say who we are.
    pub headers: HeaderMap,
    /// With which body.
    pub body: Whole,
}

impl Sender {
    /// A client of an upstream.
    ///
    /// # Errors
    /// The certificates that `SSL_CERT_FILE` names cannot be read.
    pub fn new(upstream: Upstream, patience: &Patience) -> Result<Self> {
        let client = taskwright_https::client(seconds(patience.connect))?;
        let patience = seconds(patience.answer);
        Ok(Self { upstream, client, patience, took: Mutex::default(), found: tokio::sync::Mutex::default() })
    }

    /// The key, for whoever looks that it does not pass.
    pub fn secret(&self) -> &str {
        self.upstream.key.reveal()
    }

    /// Sends a request and waits for the answer to begin. What cannot be passed on is a refusal; one of the key still has to be
    /// [judged](Self::judged).
    pub async fn send(&self, outgoing: Outgoing<'_>) -> Result<Response<Incoming>, Refusal> {
        let dialect = outgoing.dialect;
        let answer = self.answer(outgoing, self.secret(), self.patience).await?;
        let status = answer.status();
        if status.is_redirection() {
            return Err(failed("the upstream points to another place, which is not followed"));
        }
        if status == StatusCode::UNAUTHORIZED {
            return Err(Refusal::new(
                Kind::UpstreamKey,
                "the upstream does not accept the gateway's own key",
            ));
        }
        let encoding = answer.headers().get(CONTENT_ENCODING);
        if encoding.is_some_and(|encoding| encoding != "identity") {
            return Err(failed("the upstream answers in an encoding that was not asked for"));
        }
        if status.is_success() {
            self.took.lock().unwrap_or_else(PoisonError::into_inner).insert(dialect);
        }
        Ok(answer)
    }

    /// A refusal, as it is for the client: one of the key is the client's own where the upstream knows the key otherwise.
    pub async fn judged(&self, refusal: Refusal) -> Refusal {
        if refusal.kind != Kind::UpstreamKey {
            return refusal;
        }
        if self.is_known().await {
            return Refusal::new(
                Kind::UpstreamDialect,
                "the upstream knows the gateway's own key, but does not take it for what is asked here: ask by another of \
                 the paths that are served, in the words of another dialect",
            );
        }
        Refusal { message: format!("{}: whoever runs it must set another", refusal.message), ..refusal }
    }

    /// Whether the upstream knows the key.
    async fn is_known(&self) -> bool {
        let mut found = self.found.lock().await;
        if let Some((at, known)) = *found
            && at.elapsed() < BELIEVED
        {
            return known;
        }
        let known = self.find_out().await;
        *found = Some((Instant::now(), known));
        known
    }

    async fn find_out(&self) -> bool {
        let mut took = self.took.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (dialect, method, path) in &QUESTIONS {
            let ask = |key| self.said(*dialect, method, path, key);
            let Some(ours) = ask(self.secret()).await else { continue };
            if is_refusal(ours) {
                took.remove(dialect);
            } else if let Some(other) = ask(MADE_UP).await
                && is_known(ours, other)
            {
                return true;
            }
        }
        !took.is_empty()
    }

    /// What the upstream says to a key; nothing if it does not answer.
    async fn said(&self, dialect: Dialect, method: &Method, path: &str, key: &str) -> Option<StatusCode> {
        let mut headers = sent(&HeaderMap::new());
        // Without it Anthropic answers nothing, whatever the key.
        headers.insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
        let mut body = Whole::of(Vec::new());
        if method == Method::POST {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            body = Whole::of("{}");
        }
        let outgoing = Outgoing { dialect, method: method.clone(), path, query: None, headers, body };
        let answer = self.answer(outgoing, key, self.patience.min(PATIENCE)).await;
        answer.ok().map(|answer| answer.status())
    }

    /// The answer to a request with a key, whatever it is.
    async fn answer(
        &self,
        outgoing: Outgoing<'_>,
        key: &str,
        patience: Duration,
    ) -> Result<Response<Incoming>, Refusal> {
        let Outgoing { dialect, method, path, query, headers, body } = outgoing;
        let uri = self.upstream.address.uri(dialect, path, query);
        let uri = uri.ok_or_else(|| Refusal::new(Kind::Bad, "the path or its query is not understood"))?;
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let (name, before) = credential(dialect);
        let mut key = HeaderValue::try_from(format!("{before}{key}"))
            .map_err(|_| failed("the gateway's own key cannot be sent"))?;
        key.set_sensitive(true);
        request.headers_mut().insert(name, key);
        let answer = tokio::time::timeout(patience, self.client.request(request)).await;
        answer.map_err(|_| Refusal::new(Kind::UpstreamSlow, "the upstream did not answer in time"))?.map_err(
            |error| {
                if error.is_connect() {
                    return Refusal::new(Kind::Unreachable, "the upstream cannot be reached");
                }
                failed("the upstream broke off")
            },
        )
    }
}

fn failed(message: &str) -> Refusal {
    Refusal::new(Kind::Upstream, message)
}

fn is_refusal(status: StatusCode) -> bool {
    [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status)
}

/// Whether a key is known, by what is said to it and to one that is made up. A path that is not there is so for every key.
fn is_known(ours: StatusCode, made_up: StatusCode) -> bool {
    // Google says 400 to a key that it does not know.
    let is_told_apart = is_refusal(made_up) || made_up == StatusCode::BAD_REQUEST;
    is_told_apart && ours != made_up && !is_refusal(ours) && !ours.is_server_error()
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn only_what_a_made_up_key_is_not_told_says_that_a_key_is_known() {
        for (ours, made_up, known) in [
            (200, 401, true),
            (200, 403, true),
            (200, 400, true),
            // An empty request, and one too many: both were let in.
            (400, 401, true),
            (429, 401, true),
            // A list for everybody, a path that is not there, a body that is read before the key, a server that is down.
            (200, 200, false),
            (404, 404, false),
            (400, 400, false),
            (503, 401, false),
            (401, 401, false),
            (403, 401, false),
        ] {
            let status = |code| StatusCode::from_u16(code).unwrap();
            assert_eq!(is_known(status(ours), status(made_up)), known, "{ours} {made_up}");
        }
    }
}
