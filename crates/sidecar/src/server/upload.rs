//! Uploads of candidates: streamed to a file, never held in memory, never larger than the task allows.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::StatusCode;
use tokio::sync::{Mutex, mpsc};

use super::answer::{Answer, Name, blocking, json, next, too_slow};
use crate::problem::{Kind, Problem};
use crate::service::Service;

/// How long an upload may take between two pieces.
const PIECE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the rest of a refused upload is listened to.
const DRAIN_TIME: Duration = Duration::from_mins(1);
/// How long it may pause.
const DRAIN_PAUSE: Duration = Duration::from_secs(10);
/// One at a time: what an optimizer can make the sidecar hold on disk is one upload, whatever it opens.
static ONE: Mutex<()> = Mutex::const_new(());

/// Imports a candidate. Uploading one that is there already changes nothing.
pub async fn upload(State(service): State<Arc<Service>>, Name(commit): Name, body: Body) -> Answer {
    match service.candidate(&commit) {
        Err(problem) if problem.kind == Kind::NotFound => {}
        known => return json(StatusCode::OK, &known?),
    }
    let most = service.config.limits.candidate_mb.saturating_mul(1 << 20).saturating_add(1 << 20);
    let too_large = || {
        Problem::new(
            Kind::TooLarge,
            format!("the candidate is larger than {} MiB", service.config.limits.candidate_mb),
            "take large files out of the history since the baseline: `git rebase` or a new branch from it",
        )
    };
    let mut body = body;
    if HttpBody::size_hint(&body).lower() > most {
        drain(&mut body).await;
        return Err(too_large());
    }
    let _one = ONE.lock().await;
    let (room, full) = service.room_for_upload();
    let refusal = if room < most { full } else { too_large() };
    let temporary = Temporary(service.state.join("upload.pack"));
    let (pieces, receiver) = mpsc::channel::<Bytes>(4);
    let path = temporary.0.clone();
    let writer = tokio::task::spawn_blocking(move || write(&path, receiver));
    let received = receive(&mut body, &pieces, most.min(room), refusal).await;
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
    let candidate = blocking(move || {
        let candidate = importer.import(&temporary.0, &commit);
        drop(temporary);
        candidate
    })
    .await?;
    json(StatusCode::CREATED, &candidate)
}

async fn receive(
    body: &mut Body,
    pieces: &mpsc::Sender<Bytes>,
    most: u64,
    too_large: Problem,
) -> Result<(), Problem> {
    let mut size = 0;
    loop {
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
