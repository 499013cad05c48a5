//! One request: who asks, for what, whether that may be, and what it may take.
//!
//! ```text
//!   token ──▶ path ──▶ body ──▶ model ──▶ a place among those under way ──▶ budget ──▶ upstream ──▶ answer
//!     401      404     400, 413   403            waits                     waits, 402     502, 504
//! ```

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, TRANSFER_ENCODING, UPGRADE};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use serde_json::Value;
use taskwright_base::text::{brief, cut};

use super::Gate;
use super::forward::{Way, forward};
use crate::answer::count::BYTES_A_TOKEN;
use crate::answer::naming::Naming;
use crate::answer::whole::{Missing, Received, drain, receive};
use crate::body::{Answer, Whole};
use crate::config::{ScopeConfig, seconds};
use crate::log::{Record, now};
use crate::memory::{Memory, Share};
use crate::meter::{Ask, Who};
use crate::models;
use crate::request::asked::Asked;
use crate::request::headers;
use crate::scope::Door;
use crate::sender::Outgoing;
use crate::token::Token;
use crate::wire::refusal::{Kind, Refusal};
use crate::wire::route::{self, Call, NoRoute, Route, SERVED};
use crate::wire::{Dialect, Wire};

/// How long a body that nobody needs is listened to, so that its sender hears the answer.
const POLITE: Duration = Duration::from_secs(5);

/// A request on its way.
struct Asking<'a> {
    gate: &'a Arc<Gate>,
    memory: &'a Memory,
    parts: &'a Parts,
    began: Instant,
    record: Record,
    who: Option<Who>,
}

/// Answers a request, whatever it is.
pub async fn handle(
    gate: Arc<Gate>,
    door: Door,
    request: Request<Incoming>,
) -> Result<Response<Answer>, Infallible> {
    let (parts, body) = request.into_parts();
    let mut body = Some(body);
    let path = parts.uri.path();
    let memory = &gate.memory[&door];
    let record = Record { path: brief(path, 200), ..Record::default() };
    let mut asking = Asking { gate: &gate, memory, parts: &parts, began: Instant::now(), record, who: None };
    match asking.answer(door, &mut body).await {
        Ok(answer) => Ok(answer),
        Err(refusal) => {
            asking.note(&refusal);
            if let Some(body) = body.filter(|_| refusal.kind != Kind::Slow) {
                drain(body, gate.meter.config.sizes.request, POLITE).await;
            }
            let mut answer = refusal.answer(dialect(&parts));
            if refusal.kind == Kind::Bad && is_ambiguous(&parts) {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(answer.map(|body| Answer::Whole(Whole::of(body))))
        }
    }
}

/// In whose words a client is answered.
fn dialect(parts: &Parts) -> Dialect {
    match route::dialect(parts.uri.path()) {
        Dialect::OpenAi if parts.headers.contains_key("anthropic-version") => Dialect::Anthropic,
        Dialect::OpenAi if parts.uri.path().starts_with("/v1beta/") => Dialect::Gemini,
        dialect => dialect,
    }
}

/// Whether the length of the body is said in two ways, of which others might believe the other one.
fn is_ambiguous(parts: &Parts) -> bool {
    parts.headers.contains_key(TRANSFER_ENCODING) && parts.headers.contains_key(CONTENT_LENGTH)
}

fn json(value: &Value) -> Response<Answer> {
    let mut response = Response::new(Answer::Whole(Whole::of(value.to_string())));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

impl Asking<'_> {
    async fn answer(&mut self, door: Door, body: &mut Option<Incoming>) -> Result<Response<Answer>, Refusal> {
        let path = self.parts.uri.path();
        if is_ambiguous(self.parts) {
            return Err(Refusal::new(Kind::Bad, "the length of the body is said in two ways"));
        }
        let found = route::find(self.parts.method.as_str(), path);
        if found == Ok(Route::Health) {
            return Ok(json(&serde_json::json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") })));
        }
        let who = self.authenticate(door)?;
        let limits = self.gate.meter.config.scope(who.scope).map(|(limits, _)| limits).ok_or_else(unknown)?;
        let route = found.map_err(|why| match why {
            NoRoute::Path => Refusal::new(Kind::NotFound, format!("this path is not served: {SERVED}")),
            // A client that tries a WebSocket first goes on at once when it is told what this is.
            NoRoute::Method(_) if self.parts.headers.contains_key(UPGRADE) => {
                Refusal::new(Kind::Upgrade, "WebSockets are not served: send it by POST")
            }
            NoRoute::Method(method) => {
                Refusal::new(Kind::Method, format!("this path is served for {method} only"))
            }
        })?;
        match route {
            Route::Health => Err(unknown()),
            Route::Models => Ok(json(&models::list(limits, dialect(self.parts)))),
            Route::Model(model) => {
                models::admit(limits, &model)
                    .map_err(|refusal| Refusal { kind: Kind::NotFound, ..refusal })?;
                Ok(json(&models::one(&model, dialect(self.parts))))
            }
            // An id says nothing of who had it kept: through it candidates could tell the optimizer what they see.
            Route::Kept { .. } if door == Door::Evaluation => Err(Refusal::new(
                Kind::NotFound,
                "responses that the upstream keeps are served to the optimizer only",
            )),
            Route::Kept { path } => self.kept(&who, limits, &path).await,
            Route::Count(call) => self.call(who, limits, &call, body, Counted::Free).await,
            Route::Call(call) => self.call(who, limits, &call, body, Counted::Yes).await,
        }
    }

    /// Who asks: the first of what is shown that is known at the door.
    fn authenticate(&mut self, door: Door) -> Result<Who, Refusal> {
        let shown = headers::shown(&self.parts.headers, self.parts.uri.query());
        let find = |token: &String| self.gate.meter.who(door, &Token::shown(token));
        let who = shown.iter().find_map(find).ok_or_else(unknown)?;
        self.record.token = Some(who.token);
        self.record.scope = Some(who.scope);
        if self.gate.meter.config.request_log_attribution {
            self.record.attribution = Some(who.attribution.clone());
            let session = ["x-session-id", "session_id"]
                .into_iter()
                .find_map(|name| self.parts.headers.get(name).and_then(|value| value.to_str().ok()));
            self.record.session = session.map(|session| cut(session, 200).to_owned());
        }
        self.who = Some(who.clone());
        Ok(who)
    }

    /// Counts a refusal, and writes it to the log.
    fn note(&mut self, refusal: &Refusal) {
        if let Some(who) = &self.who {
            self.gate.meter.refused(who.token, refusal.kind);
        }
        let mut record = std::mem::take(&mut self.record);
        record.at = now();
        record.status = Some(refusal.kind.status());
        record.why = Some(brief(&refusal.message, 300));
        record.milliseconds = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.gate.meter.log.write(&record);
    }

    /// Something about a response that the upstream keeps.
    async fn kept(
        &mut self,
        who: &Who,
        limits: &ScopeConfig,
        path: &str,
    ) -> Result<Response<Answer>, Refusal> {
        let _slot = self.gate.meter.slot(who.scope).await;
        let query = self.parts.uri.query().and_then(route::query);
        let outgoing = Outgoing {
            dialect: Dialect::OpenAi,
            method: self.parts.method.clone(),
            path,
            query: query.as_deref(),
            headers: headers::sent(&self.parts.headers),
            body: Whole::of(Vec::new()),
        };
        // The client's own names, for those that the upstream has.
        let config = &self.gate.meter.config;
        let known: BTreeMap<String, String> = limits
            .allowed_models
            .iter()
            .map(|model| (config.upstream_model(limits, model).to_owned(), model.clone()))
            .filter(|(upstream, model)| upstream != model)
            .collect();
        let naming = if known.is_empty() { Naming::AsItIs } else { Naming::Known(known) };
        let account = self.gate.meter.config.account(who.scope.door());
        let way = Way { wire: Wire::Responses, naming, hides_usage: false, names: None, account };
        forward(self.gate, self.memory, outgoing, way, None).await
    }

    async fn body(&self, body: &mut Option<Incoming>) -> Result<Received, Refusal> {
        let config = &self.gate.meter.config;
        let most = config.sizes.request;
        let too_long =
            || Refusal::new(Kind::TooLarge, format!("the body of a request has at most {most} bytes"));
        if headers::length(&self.parts.headers).is_some_and(|length| length > most) {
            return Err(too_long());
        }
        let Some(incoming) = body else { return Ok(Received { bytes: Vec::new(), share: None }) };
        let patience = seconds(config.patience.body);
        let received = tokio::time::timeout(patience, receive(incoming, most, self.memory, patience)).await;
        let received = received.unwrap_or(Err(Missing::Slow));
        if received.is_ok() {
            *body = None;
        }
        received.map_err(|missing| match missing {
            Missing::TooLong => too_long(),
            Missing::NoMemory => {
                Refusal::new(Kind::Overloaded, "too many large requests are being received at the moment")
            }
            Missing::BrokenOff => Refusal::new(Kind::Bad, "the body breaks off"),
            Missing::Slow => Refusal::new(Kind::Slow, "the body did not arrive in time"),
        })
    }

    /// A body as it is sent, which keeps its share of the memory until it is.
    fn keep(&self, bytes: Vec<u8>, mut share: Option<Share>) -> Bytes {
        // What was added in changing it is little, and counts where memory is short.
        if let Some(more) = self.memory.take_now(1 << 10).filter(|_| share.is_some()) {
            Share::add(&mut share, more);
        }
        match share {
            Some(share) => share.keep(bytes),
            None => bytes.into(),
        }
    }

    async fn call(
        &mut self,
        who: Who,
        limits: &ScopeConfig,
        call: &Call,
        body: &mut Option<Incoming>,
        counted: Counted,
    ) -> Result<Response<Answer>, Refusal> {
        let Received { bytes, share } = self.body(body).await?;
        let length = bytes.len() as u64;
        let text = String::from_utf8(bytes).map_err(|_| Refusal::new(Kind::Bad, "the body is not UTF-8"))?;
        let asked = Asked::read(call.wire, call.model.as_deref(), &text, limits.hosted_tools)?;
        self.record.model = Some(brief(&asked.model, 200));
        models::admit(limits, &asked.model)?;
        let query = self.parts.uri.query().and_then(route::query);
        if call.streams
            && !query.as_deref().is_some_and(|query| query.split('&').any(|pair| pair == "alt=sse"))
        {
            return Err(Refusal::new(Kind::Bad, "streams are served as events only: add `?alt=sse`"));
        }
        let config = &self.gate.meter.config;
        let upstream_model = config.upstream_model(limits, &asked.model);
        self.record.upstream_model = Some(upstream_model.to_owned());
        let has_alias = upstream_model != asked.model;
        let names = has_alias.then(|| (upstream_model.to_owned(), asked.model.clone()));
        let bytes = match asked.sent(&text, upstream_model) {
            None => text.into_bytes(),
            Some(changed) => {
                drop(text);
                changed.into_bytes()
            }
        };
        let bytes = self.keep(bytes, share);
        let path = call.path.replace("{model}", &route::encode(upstream_model));
        let outgoing = Outgoing {
            dialect: call.wire.dialect(),
            method: self.parts.method.clone(),
            path: &path,
            query: query.as_deref(),
            headers: headers::sent(&self.parts.headers),
            body: Whole::of(bytes),
        };
        let naming = if has_alias { Naming::Asked(asked.model.clone()) } else { Naming::AsItIs };
        let account = config.account(who.scope.door());
        let way = Way { wire: call.wire, naming, hides_usage: asked.hides_usage(), names, account };
        let slot = self.gate.meter.slot(who.scope).await;
        if counted == Counted::Free {
            let answer = forward(self.gate, self.memory, outgoing, way, None).await;
            drop(slot);
            return answer;
        }
        let ask = Ask {
            input: length.div_ceil(BYTES_A_TOKEN),
            output: asked.output(config.sizes.output_tokens),
            in_background: asked.in_background,
            price: config.price(&asked.model, upstream_model).copied(),
            slot,
            record: std::mem::take(&mut self.record),
            began: self.began,
        };
        let reserved = self.gate.meter.reserve(who, ask).await;
        forward(self.gate, self.memory, outgoing, way, Some(reserved?)).await
    }
}

/// Whether a call is charged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    Yes,
    Free,
}

fn unknown() -> Refusal {
    Refusal::new(Kind::Unauthorized, "no token was shown that is known here and still valid")
}
