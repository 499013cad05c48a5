//! Streams of JSON lines: what happens to an evaluation, and its samples.

use std::io;
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
use super::memory::Memory;
use crate::api::{Event, JSON_LINES, Progress, SampleView};
use crate::problem::{Kind, Problem};
use crate::service::{Service, parse_id};
use taskwright_base::chained_log::next_line;

/// How often something is sent when nothing happens, so that both sides know that the other is there.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How much of a record is read at once.
const PIECE: u64 = 256 << 10;
/// How much memory a piece of a record takes while it is read, parsed and written again, for each of its bytes.
const EXPANSION: usize = 4;

type Piece = io::Result<Bytes>;

/// A body whose pieces come through a channel. An error breaks it off, so that nobody takes a part for everything.
struct Channel(mpsc::Receiver<Piece>);

impl HttpBody for Channel {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

/// Somebody who listens to an evaluation.
struct Listener {
    service: Arc<Service>,
    memory: Memory,
    number: u64,
    to: mpsc::Sender<Piece>,
}

/// Why nothing more is sent: nobody listens any more, or there was a problem.
struct Stopped;

fn stream(service: Arc<Service>, memory: Memory, number: u64) -> (Listener, Response) {
    let (to, receiver) = mpsc::channel(1);
    let body = Body::new(Channel(receiver));
    let listener = Listener { service, memory, number, to };
    (listener, ([(header::CONTENT_TYPE, JSON_LINES)], body).into_response())
}

/// Values, one a line.
fn lines<T: Serialize>(values: impl IntoIterator<Item = T>) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::new();
    for value in values {
        serde_json::to_writer(&mut text, &value)?;
        text.push(b'\n');
    }
    Ok(text)
}

fn broken(error: &dyn std::fmt::Display) -> Problem {
    Problem::new(Kind::Broken, format!("the record cannot be read: {error}"), "try again later")
}

impl Listener {
    async fn send(&self, event: Event) -> Result<(), Stopped> {
        let text = lines([event]).map_err(|_| Stopped)?;
        self.to.send(Ok(text.into())).await.map_err(|_| Stopped)
    }

    fn length(&self) -> u64 {
        std::fs::metadata(self.service.record_path(self.number)).map_or(0, |metadata| metadata.len())
    }

    /// Sends the samples between two offsets of the record, piece by piece.
    async fn send_samples<T: Serialize + 'static>(
        &self,
        mut from: u64,
        end: u64,
        form: fn(SampleView) -> T,
    ) -> Result<(), Stopped> {
        while from < end {
            let sent = self.send_piece(from, end, form).await;
            from = match sent {
                Ok(Some(next)) => next,
                Ok(None) => return Err(Stopped),
                Err(problem) => {
                    problem.log();
                    let _ = self.to.send(Err(io::ErrorKind::Other.into())).await;
                    return Err(Stopped);
                }
            };
        }
        Ok(())
    }

    /// Sends a piece, and returns where the next one begins; none if nobody listens any more.
    async fn send_piece<T: Serialize + 'static>(
        &self,
        from: u64,
        end: u64,
        form: fn(SampleView) -> T,
    ) -> Result<Option<u64>, Problem> {
        let to = if end - from <= PIECE {
            end
        } else {
            let path = self.service.record_path(self.number);
            blocking(move || next_line(&path, from + PIECE, end).map_err(|error| broken(&error))).await?
        };
        let size = usize::try_from(to - from).unwrap_or(usize::MAX).saturating_mul(EXPANSION);
        let share = loop {
            match self.memory.take(size).await {
                Some(share) => break share,
                None if self.to.is_closed() => return Ok(None),
                None => {}
            }
        };
        let (service, number) = (Arc::clone(&self.service), self.number);
        let text = blocking(move || {
            let views = service.samples(number, from, to)?;
            lines(views.into_iter().map(form)).map_err(|error| broken(&error))
        });
        let text = text.await?;
        if text.is_empty() {
            return Ok(Some(to));
        }
        Ok(self.to.send(Ok(share.keep(text))).await.is_ok().then_some(to))
    }

    async fn follow(self, split: String, samples: u64) -> Result<(), Stopped> {
        let each = self.service.shows_samples(&split);
        let mut sent = 0;
        let mut last = None;
        let mut waited = false;
        let mut changes = self.service.follow(self.number);
        while let Some(changes) = &mut changes {
            let now = *changes.borrow_and_update();
            if each {
                self.send_samples(sent, now.bytes, Event::Sample).await?;
                sent = sent.max(now.bytes);
            }
            let finished = self.service.shown_progress(&split, now.finished);
            let shown = Progress { state: now.state, finished, samples };
            if last != Some(shown) {
                self.send(Event::Progress(shown)).await?;
                last = Some(shown);
            } else if waited {
                self.send(Event::Waiting(shown)).await?;
            }
            match tokio::time::timeout(HEARTBEAT, changes.changed()).await {
                Ok(Ok(())) => waited = false,
                Ok(Err(_)) => break,
                Err(_) => waited = true,
            }
        }
        if each {
            self.send_samples(sent, self.length(), Event::Sample).await?;
        }
        let evaluation = self.service.evaluation(self.number).map_err(|_| Stopped)?;
        self.send(Event::End(evaluation)).await
    }
}

/// Everything that happens to an evaluation from now on, and where the split allows it, every sample.
pub async fn follow(
    State(service): State<Arc<Service>>,
    State(memory): State<Memory>,
    Name(id): Name,
) -> Answer {
    let number = parse_id(&id)?;
    let evaluation = service.evaluation(number)?;
    let (listener, response) = stream(service, memory, number);
    tokio::spawn(listener.follow(evaluation.split, evaluation.samples));
    Ok(response)
}

/// The samples of an evaluation, as far as they are finished.
pub async fn samples(
    State(service): State<Arc<Service>>,
    State(memory): State<Memory>,
    Name(id): Name,
) -> Answer {
    let number = parse_id(&id)?;
    // Refused here, where a refusal can still be said.
    service.samples(number, 0, 0)?;
    let (listener, response) = stream(service, memory, number);
    tokio::spawn(async move {
        let end = listener.length();
        listener.send_samples(0, end, |sample| sample).await
    });
    Ok(response)
}
