//! Uploads of candidates: streamed to a file, never held in memory, never larger than the task allows.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::StatusCode;
use tokio::sync::{Mutex, mpsc};

use super::answer::{Answer, Name, SMALL, answer, blocking, next, too_slow};
use super::memory::Memory;
use crate::api::Candidate;
use crate::problem::{Kind, Problem};
use crate::service::{Service, UPLOAD};

/// How long an upload may take between two pieces.
const PIECE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long an upload may take whatever its size, and how many bytes must come in each second after that: others wait.
const GRACE: Duration = Duration::from_mins(1);
const LEAST_RATE: u64 = 64 << 10;
/// How long an upload waits for its turn.
const TURN: Duration = Duration::from_mins(3);
/// How long the rest of a refused upload is listened to.
const DRAIN_TIME: Duration = Duration::from_mins(1);
/// How long it may pause.
const DRAIN_PAUSE: Duration = Duration::from_secs(10);
/// One at a time: what an optimizer can make the sidecar hold on disk is one upload, whatever it opens.
static ONE: Mutex<()> = Mutex::const_new(());

/// Imports a candidate. Uploading one that is there already changes nothing.
pub async fn upload(
    State(service): State<Arc<Service>>,
    State(memory): State<Memory>,
    Name(commit): Name,
    body: Body,
) -> Answer {
    answer(&memory, SMALL, async || match service.candidate(&commit) {
        Err(problem) if problem.kind == Kind::NotFound => {
            Ok((StatusCode::CREATED, take(service, commit, body).await?))
        }
        known => Ok((StatusCode::OK, known?)),
    })
    .await
}

async fn take(service: Arc<Service>, commit: String, mut body: Body) -> Result<Candidate, Problem> {
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
    let _one = tokio::time::timeout(TURN, ONE.lock()).await.map_err(|_| {
        Problem::new(
            Kind::Overloaded,
            format!("other uploads took longer than {} s", TURN.as_secs()),
            "wait for them, or end them, and try again",
        )
    })?;
    let (room, full) = service.room_for_upload();
    let refusal = if room < most { full } else { too_large() };
    let temporary = Temporary(service.state.join(UPLOAD));
    let (pieces, receiver) = mpsc::channel::<Bytes>(4);
    let path = temporary.0.clone();
    let writer = tokio::task::spawn_blocking(move || write(&path, receiver));
    let received = receive(&service, &mut body, &pieces, most.min(room), refusal).await;
    if received.is_err() {
        drain(&mut body).await;
    }
    drop(pieces);
    let written = writer.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    received?;
    written.map_err(|error| {
        Problem::new(
            Kind::Broken,
            format!("the upload cannot be written: {error}"),
            "try again, or with a smaller candidate",
        )
    })?;
    let importer = Arc::clone(&service);
    blocking(move || {
        let candidate = importer.import(&temporary.0, &commit);
        drop(temporary);
        candidate
    })
    .await
}

async fn receive(
    service: &Service,
    body: &mut Body,
    pieces: &mpsc::Sender<Bytes>,
    most: u64,
    too_large: Problem,
) -> Result<(), Problem> {
    let mut size = 0;
    let start = Instant::now();
    loop {
        // What it would take of the disk is for the end now.
        service.refuse_if_over()?;
        if is_too_slow(size, start.elapsed()) {
            return Err(too_slow());
        }
        let frame = match tokio::time::timeout(PIECE_TIMEOUT, next(body)).await {
            Err(_) => return Err(too_slow()),
            Ok(None) => return Ok(()),
            Ok(Some(Err(error))) => {
                let detail = format!("the upload broke off: {error}");
                return Err(Problem::new(Kind::Usage, detail, "try again"));
            }
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else { continue };
        size += data.len() as u64;
        if size > most {
            return Err(too_large);
        }
        if pieces.send(data).await.is_err() {
            // The writer gave up; its own error says why.
            return Ok(());
        }
    }
}

fn is_too_slow(size: u64, elapsed: Duration) -> bool {
    size < elapsed.saturating_sub(GRACE).as_secs().saturating_mul(LEAST_RATE)
}

/// Lets the rest of a refused body arrive, for a moment: who is still sending does not read the refusal.
async fn drain(body: &mut Body) {
    let rest = async {
        // Who sends nothing for a while waits for the refusal already.
        while let Ok(Some(Ok(_))) = tokio::time::timeout(DRAIN_PAUSE, next(body)).await {}
    };
    let _ = tokio::time::timeout(DRAIN_TIME, rest).await;
}

fn write(path: &FilePath, mut pieces: mpsc::Receiver<Bytes>) -> std::io::Result<()> {
    let _ = fs::remove_file(path);
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    while let Some(piece) = pieces.blocking_recv() {
        file.write_all(&piece)?;
    }
    Ok(())
}

/// A file that goes when nobody needs it any more.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn an_upload_that_trickles_does_not_keep_its_turn() {
        assert!(!is_too_slow(0, GRACE));
        assert!(is_too_slow(13, GRACE + Duration::from_secs(1)));
        // A hundred megabytes over a line of a megabyte a second.
        assert!(!is_too_slow(100 << 20, Duration::from_secs(100)));
    }
}
