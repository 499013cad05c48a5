//! Streams of JSON lines: what happens to an evaluation, and its samples.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use http_body::Frame;
use serde::Serialize;
use tokio::sync::mpsc;

use super::answer::{Answer, Name, blocking};
use crate::api::{Event, JSON_LINES, Progress, SampleView};
use crate::problem::{Kind, Problem};
use crate::service::{Service, parse_id};

/// How often something is sent when nothing happens, so that both sides know that the other is there.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How much of a record is read at once.
const PIECE: u64 = 1 << 20;

/// A body whose pieces come through a channel.
struct Channel(mpsc::Receiver<Bytes>);

impl HttpBody for Channel {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

fn stream() -> (mpsc::Sender<Bytes>, Response) {
    let (sender, receiver) = mpsc::channel(8);
    let body = Body::new(Channel(receiver));
    (sender, ([(header::CONTENT_TYPE, JSON_LINES)], body).into_response())
}

/// Sends values, one a line. None if nobody listens any more.
async fn send<T: Serialize>(to: &mpsc::Sender<Bytes>, values: &[T]) -> Option<()> {
    let mut text = Vec::new();
    for value in values {
        serde_json::to_writer(&mut text, value).ok()?;
        text.push(b'\n');
    }
    if text.is_empty() { Some(()) } else { to.send(text.into()).await.ok() }
}

/// Everything that happens to an evaluation from now on, and where the split allows it, every sample.
pub async fn follow(State(service): State<Arc<Service>>, Name(id): Name) -> Answer {
    let number = parse_id(&id)?;
    let evaluation = service.evaluation(number)?;
    let (sender, response) = stream();
    tokio::spawn(async move { tell(service, number, evaluation.split, evaluation.samples, sender).await });
    Ok(response)
}

async fn tell(
    service: Arc<Service>,
    number: u64,
    split: String,
    samples: u64,
    to: mpsc::Sender<Bytes>,
) -> Option<()> {
    let each = service.shows_samples(&split);
    let mut sent = 0;
    let mut last = None;
    let mut waited = false;
    let mut changes = service.follow(number);
    while let Some(changes) = &mut changes {
        let now = *changes.borrow_and_update();
        if each {
            sent = send_samples(&service, number, sent, now.bytes, &to).await?;
        }
        let shown =
            Progress { state: now.state, finished: service.shown_progress(&split, now.finished), samples };
        if last != Some(shown) {
            send(&to, &[Event::Progress(shown)]).await?;
            last = Some(shown);
        } else if waited {
            send(&to, &[Event::Waiting(shown)]).await?;
        }
        match tokio::time::timeout(HEARTBEAT, changes.changed()).await {
            Ok(Ok(())) => waited = false,
            Ok(Err(_)) => break,
            Err(_) => waited = true,
        }
    }
    if each {
        send_samples(&service, number, sent, length(&service, number), &to).await?;
    }
    let evaluation = service.evaluation(number).ok()?;
    send(&to, &[Event::End(evaluation)]).await
}

fn length(service: &Service, number: u64) -> u64 {
    std::fs::metadata(service.record_path(number)).map_or(0, |metadata| metadata.len())
}

/// Sends the samples between two offsets of the record as events; returns where the next ones begin.
async fn send_samples(
    service: &Arc<Service>,
    number: u64,
    from: u64,
    to: u64,
    channel: &mpsc::Sender<Bytes>,
) -> Option<u64> {
    if from < to {
        let service = Arc::clone(service);
        let views = blocking(move || service.samples(number, from, to)).await.ok()?;
        let events: Vec<Event> = views.into_iter().map(Event::Sample).collect();
        send(channel, &events).await?;
    }
    Some(to.max(from))
}

/// The samples of an evaluation, as far as they are finished.
pub async fn samples(State(service): State<Arc<Service>>, Name(id): Name) -> Answer {
    let number = parse_id(&id)?;
    // Refused here, where a refusal can still be said.
    service.samples(number, 0, 0)?;
    let (sender, response) = stream();
    tokio::spawn(async move {
        let end = length(&service, number);
        let mut from = 0;
        while from < end {
            let piece = Arc::clone(&service);
            let (views, next) = blocking(move || a_piece(&piece, number, from, end)).await.ok()?;
            send(&sender, &views).await?;
            from = next;
        }
        Some(())
    });
    Ok(response)
}

/// Whole lines of the record, as many as make a piece.
fn a_piece(service: &Service, number: u64, from: u64, end: u64) -> Result<(Vec<SampleView>, u64), Problem> {
    let failed = |error: std::io::Error| {
        Problem::new(Kind::Broken, format!("the record cannot be read: {error}"), "try again later")
    };
    let to = crate::chained_log::next_line(&service.record_path(number), (from + PIECE).min(end), end)
        .map_err(failed)?;
    Ok((service.samples(number, from, to)?, to))
}
