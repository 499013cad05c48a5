//! An answer that is not a stream: received, counted, given the client's name for the model, and kept until it is sent.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use http_body::Body as _;
use hyper::body::{Bytes, Incoming};

use super::naming::Naming;
use super::reading::read;
use crate::fields::edited;
use crate::memory::{Memory, Share};
use crate::meter::Reservation;
use crate::wire::Wire;

/// Why a body is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// It is longer than any may be.
    TooLong,
    /// There was no memory for it.
    NoMemory,
    /// It broke off.
    BrokenOff,
    /// It did not go on in time.
    Slow,
}

/// A body that was received, and its share of the memory.
pub struct Received {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// What they take.
    pub share: Option<Share>,
}

/// Receives a body of at most so many bytes, waiting so long for each piece of it.
pub async fn receive(
    body: &mut Incoming,
    most: usize,
    memory: &Memory,
    patience: Duration,
) -> Result<Received, Missing> {
    let (mut bytes, mut share) = (Vec::new(), None);
    loop {
        let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context));
        let frame = tokio::time::timeout(patience, frame).await.map_err(|_| Missing::Slow)?;
        let Some(frame) = frame else { return Ok(Received { bytes, share }) };
        let Ok(data) = frame.map_err(|_| Missing::BrokenOff)?.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return Err(Missing::TooLong);
        }
        if !memory.grow(&mut share, data.len()).await {
            return Err(Missing::NoMemory);
        }
        bytes.extend_from_slice(&data);
    }
}

/// Receives and forgets at most so many bytes of a body, so that its sender hears an answer that does not need it.
pub async fn drain(mut body: Incoming, most: usize, patience: Duration) {
    let drained = async {
        let mut left = most;
        while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            if length > left {
                return;
            }
            left -= length;
        }
    };
    let _ = tokio::time::timeout(patience, drained).await;
}

/// Counts an answer and settles its request. Returns what the client is sent.
pub fn settle(
    wire: Wire,
    received: Received,
    naming: &Naming,
    reservation: Option<Reservation>,
    secret: &str,
) -> Bytes {
    let Received { bytes, share } = received;
    let mut reservation = reservation;
    let mut changed = None;
    match std::str::from_utf8(&bytes).ok().and_then(|text| Some((text, read(wire, text)?))) {
        Some((text, reading)) => {
            if let Some(count) = reservation.as_mut().and_then(Reservation::count) {
                count.add(&reading);
            }
            let edits = naming.edits(text, &reading);
            if !edits.is_empty() {
                changed = Some(edited(text, edits).into_bytes());
            }
        }
        None => {
            if let Some(count) = reservation.as_mut().and_then(Reservation::count) {
                count.add_bytes(bytes.len());
            }
        }
    }
    if let Some(reservation) = reservation {
        reservation.answered();
    }
    let bytes = without(secret, changed.unwrap_or(bytes));
    match share {
        Some(share) => share.keep(bytes),
        None => Bytes::from(bytes),
    }
}

/// A text in which a secret does not stand.
pub fn without(secret: &str, bytes: Vec<u8>) -> Vec<u8> {
    if secret.len() < 8 || !std::str::from_utf8(&bytes).is_ok_and(|text| text.contains(secret)) {
        return bytes;
    }
    String::from_utf8_lossy(&bytes).replace(secret, "[key]").into_bytes()
}
