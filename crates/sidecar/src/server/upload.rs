//! Uploads of candidates: streamed to a file, never held in memory, never larger than the task allows.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::answer::{Answer, Name, SMALL, answer, blocking, next, too_slow};
use super::memory::Memory;
use crate::api::Candidate;
use crate::problem::{Kind, Problem};
use crate::service::{Service, Upload};

/// How long an upload may take between two pieces.
const PIECE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long an upload may take whatever its size, and how many bytes must come in each second after that.
const GRACE: Duration = Duration::from_mins(1);
const LEAST_RATE: u64 = 64 << 10;
/// How long it may take whatever its size where others wait for their turn.
const GRACE_AWAITED: Duration = Duration::from_secs(10);
/// How many arrive at once.
const MOST_UPLOADS: usize = 8;
/// How often an upload that says nothing is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long an upload waits for its turn.
const TURN: Duration = Duration::from_mins(3);
/// How long the rest of a refused upload is listened to.
const DRAIN_TIME: Duration = Duration::from_mins(1);
/// How long it may pause.
const DRAIN_PAUSE: Duration = Duration::from_secs(10);

/// Who may upload: a few at a time, in the order in which they came. One that trickles holds up nobody as long as there is
/// another place, and gives up its own when somebody waits for it.
#[derive(Clone)]
pub struct Turns {
    places: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    grace_awaited: Duration,
}

impl Turns {
    pub fn new() -> Self {
        Self::of(MOST_UPLOADS, GRACE_AWAITED)
    }

    pub fn of(places: usize, grace_awaited: Duration) -> Self {
        Self { places: Arc::new(Semaphore::new(places)), waiting: Arc::default(), grace_awaited }
    }

    async fn take(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let _waiting = Waiting::new(&self.waiting);
        let turn = tokio::time::timeout(TURN, Arc::clone(&self.places).acquire_owned()).await;
        turn.ok().and_then(Result::ok).ok_or_else(|| {
            Problem::new(
                Kind::Overloaded,
                format!("other uploads took longer than {} s", TURN.as_secs()),
                "wait for them, or end them, and try again",
            )
        })
    }

    /// How long an upload may take whatever its size.
    fn grace(&self) -> Duration {
        if self.waiting.load(Ordering::Relaxed) > 0 { self.grace_awaited } else { GRACE }
    }
}

/// Somebody who waits for a turn, until this is dropped: whoever goes away waits no more.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(all: &'a AtomicUsize) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(all)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Imports a candidate. Uploading one that is there already changes nothing.
pub async fn upload(
    State(service): State<Arc<Service>>,
    State(memory): State<Memory>,
    State(turns): State<Turns>,
    Name(commit): Name,
    body: Body,
) -> Answer {
    answer(&memory, SMALL, async || match service.candidate(&commit) {
        Err(problem) if problem.kind == Kind::NotFound => {
            Ok((StatusCode::CREATED, take(service, &turns, commit, body).await?))
        }
        known => Ok((StatusCode::OK, known?)),
    })
    .await
}

async fn take(
    service: Arc<Service>,
    turns: &Turns,
    commit: String,
    mut body: Body,
) -> Result<Candidate, Problem> {
    let most = service.config.limits.candidate_mb.saturating_mul(1 << 20).saturating_add(1 << 20);
    let too_large = || {
        Problem::new(
            Kind::TooLarge,
            format!("the candidate is larger than {} MiB", service.config.limits.candidate_mb),
            "take large files out of the history since the baseline: `git rebase` or a new branch from it",
        )
    };
    if HttpBody::size_hint(&body).lower() > most {
        drain(&mut body).await;
        return Err(too_large());
    }
    let turn = turns.take().await?;
    let (mut upload, file) = Upload::begin(Arc::clone(&service))?;
    let (pieces, receiver) = mpsc::channel::<Bytes>(4);
    let writer = tokio::task::spawn_blocking(move || write(file, receiver));
    let count = |bytes| match upload.grow(bytes) {
        Ok(size) if size > most => Err(too_large()),
        counted => counted,
    };
    let received = receive(&service, turns, &mut body, &pieces, count).await;
    drop(pieces);
    let written = writer.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    if let Err(problem) = received {
        drop((upload, turn));
        drain(&mut body).await;
        return Err(problem);
    }
    written.map_err(|error| {
        Problem::new(
            Kind::Broken,
            format!("the upload cannot be written: {error}"),
            "try again, or with a smaller candidate",
        )
    })?;
    let importer = Arc::clone(&service);
    blocking(move || {
        let candidate = importer.import(upload.path(), &commit);
        drop(upload);
        candidate
    })
    .await
}

async fn receive(
    service: &Service,
    turns: &Turns,
    body: &mut Body,
    pieces: &mpsc::Sender<Bytes>,
    mut count: impl FnMut(u64) -> Result<u64, Problem>,
) -> Result<(), Problem> {
    let mut size = 0;
    let start = Instant::now();
    let mut heard = start;
    loop {
        // What it would take of the disk is for the end now.
        service.refuse_if_over()?;
        if is_too_slow(size, start.elapsed(), turns.grace()) || heard.elapsed() > PIECE_TIMEOUT {
            return Err(too_slow());
        }
        let frame = match tokio::time::timeout(LOOK, next(body)).await {
            Err(_) => continue,
            Ok(None) => return Ok(()),
            Ok(Some(Err(error))) => {
                let detail = format!("the upload broke off: {error}");
                return Err(Problem::new(Kind::Usage, detail, "try again"));
            }
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else { continue };
        heard = Instant::now();
        size = count(data.len() as u64)?;
        if pieces.send(data).await.is_err() {
            // The writer gave up; its own error says why.
            return Ok(());
        }
    }
}

fn is_too_slow(size: u64, elapsed: Duration, grace: Duration) -> bool {
    size < elapsed.saturating_sub(grace).as_secs().saturating_mul(LEAST_RATE)
}

/// Lets the rest of a refused body arrive, for a moment: who is still sending does not read the refusal.
async fn drain(body: &mut Body) {
    let rest = async {
        // Who sends nothing for a while waits for the refusal already.
        while let Ok(Some(Ok(_))) = tokio::time::timeout(DRAIN_PAUSE, next(body)).await {}
    };
    let _ = tokio::time::timeout(DRAIN_TIME, rest).await;
}

fn write(mut file: File, mut pieces: mpsc::Receiver<Bytes>) -> std::io::Result<()> {
    while let Some(piece) = pieces.blocking_recv() {
        file.write_all(&piece)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn an_upload_that_trickles_does_not_keep_its_turn() {
        assert!(!is_too_slow(0, GRACE, GRACE));
        assert!(is_too_slow(13, GRACE + Duration::from_secs(1), GRACE));
        assert!(is_too_slow(13, GRACE, GRACE_AWAITED));
        // A hundred megabytes over a line of a megabyte a second.
        assert!(!is_too_slow(100 << 20, Duration::from_secs(100), GRACE_AWAITED));
    }
}
