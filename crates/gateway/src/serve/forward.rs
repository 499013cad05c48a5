//! A request that may be made: sent on, and what comes back is passed on and counted.

use std::sync::Arc;

use hyper::Response;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap};

use super::Gate;
use crate::answer::naming::Naming;
use crate::answer::stream::{Passing, Reader};
use crate::answer::whole::{Missing, Received, receive, settle, without};
use crate::body::{Answer, Whole};
use crate::config::seconds;
use crate::memory::Memory;
use crate::meter::Reservation;
use crate::money::Money;
use crate::request::headers::{Account, passed_back};
use crate::sender::Outgoing;
use crate::wire::Wire;
use crate::wire::refusal::{Kind, Refusal};

/// The most bytes of what the upstream says is wrong.
const MOST_ERROR: usize = 1 << 20;

/// How an answer is read and changed.
pub struct Way {
    /// What was called.
    pub wire: Wire,
    /// What the client calls the model.
    pub naming: Naming,
    /// Whether the client did not ask for what the stream says of its tokens.
    pub hides_usage: bool,
    /// The upstream's name for the model and the client's, where they differ.
    pub names: Option<(String, String)>,
    /// Whether the client may learn of the upstream's account.
    pub account: Account,
}

/// Sends a request on, and returns the answer as it begins.
pub async fn forward(
    gate: &Arc<Gate>,
    memory: &Memory,
    outgoing: Outgoing<'_>,
    way: Way,
    mut reservation: Option<Reservation>,
) -> Result<Response<Answer>, Refusal> {
    if let Some(reservation) = &mut reservation {
        reservation.sent();
    }
    let answer = match gate.sender.send(outgoing).await {
        Ok(answer) => answer,
        Err(refusal) => {
            failed(reservation, refusal.kind.status(), &refusal.message);
            return Err(gate.sender.judged(refusal).await);
        }
    };
    let (parts, body) = answer.into_parts();
    let account = way.account;
    let status = parts.status;
    if !status.is_success() {
        let said = said(gate, memory, body, &way).await;
        failed(reservation, status.as_u16(), "the upstream refused it");
        return Ok(response(status, &parts.headers, account, Answer::Whole(Whole::of(said?))));
    }
    if let Some(reservation) = &mut reservation {
        reservation.durable().await?;
        if !reservation.who().is_valid() {
            return Err(Refusal::new(Kind::Unauthorized, "this token is not valid any more"));
        }
        reservation.record().status = Some(status.as_u16());
    }
    let patience = seconds(gate.meter.config.patience.stream);
    let kind = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let Way { wire, naming, hides_usage, names: _, account: _ } = way;
    if kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream") {
        if let Some(reservation) = &mut reservation {
            reservation.answering(None);
        }
        let reader = Reader::new(wire, naming, hides_usage);
        let passing = Passing::new(body, reader, reservation, memory.clone(), patience);
        return Ok(response(status, &parts.headers, account, Answer::Passing(Box::new(passing))));
    }
    let mut body = body;
    let received = receive(&mut body, gate.meter.config.sizes.answer, memory, patience).await;
    // Whatever is dropped before this is charged what was set aside.
    let received = received.map_err(missing)?;
    if let Some(reservation) = &mut reservation {
        reservation.answering(told(gate, &parts.headers));
    }
    let bytes = settle(wire, received, &naming, reservation, gate.sender.secret());
    Ok(response(status, &parts.headers, account, Answer::Whole(Whole::of(bytes))))
}

fn failed(reservation: Option<Reservation>, status: u16, why: &str) {
    if let Some(mut reservation) = reservation {
        let record = reservation.record();
        record.status = Some(status);
        record.why = Some(why.to_owned());
        reservation.failed();
    }
}

fn response(
    status: hyper::StatusCode,
    upstream: &HeaderMap,
    account: Account,
    body: Answer,
) -> Response<Answer> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = passed_back(upstream, account);
    response
}

fn missing(missing: Missing) -> Refusal {
    match missing {
        Missing::TooLong => Refusal::new(Kind::Upstream, "the upstream's answer is longer than any may be"),
        Missing::NoMemory => {
            Refusal::new(Kind::Overloaded, "too many long answers are being received at the moment")
        }
        Missing::BrokenOff => Refusal::new(Kind::Upstream, "the upstream's answer breaks off"),
        Missing::Slow => {
            Refusal::new(Kind::UpstreamSlow, "the upstream did not go on with its answer in time")
        }
    }
}

/// What the upstream says that a request cost, where that is taken.
fn told(gate: &Gate, headers: &HeaderMap) -> Option<Money> {
    if !gate.meter.config.upstream_says_cost {
        return None;
    }
    let dollars: f64 = headers.get("x-litellm-response-cost")?.to_str().ok()?.trim().parse().ok()?;
    Money::dollars(dollars).filter(|cost| *cost > Money::ZERO)
}

/// What the upstream says is wrong, without our key and without its own name for the model.
async fn said(gate: &Gate, memory: &Memory, mut body: Incoming, way: &Way) -> Result<Vec<u8>, Refusal> {
    let patience = seconds(gate.meter.config.patience.stream);
    let received = receive(&mut body, MOST_ERROR, memory, patience).await.map_err(missing)?;
    let Received { bytes, share: _ } = received;
    let bytes = without(gate.sender.secret(), bytes);
    Ok(match &way.names {
        Some((upstream, client)) => without_name(bytes, upstream, client),
        None => bytes,
    })
}

fn without_name(bytes: Vec<u8>, upstream: &str, client: &str) -> Vec<u8> {
    match String::from_utf8(bytes) {
        Ok(text) => text.replace(upstream, client).into_bytes(),
        Err(error) => error.into_bytes(),
    }
}
