//! How much memory all requests together may take: bodies that arrive, and answers that wait to be read.
//!
//! Each connection is bounded by itself, but an optimizer may open hundreds of them, and what the sidecar is killed with
//! is its own trial. So what is kept in memory for a client is drawn from one budget, and given back when it is parsed or
//! sent. Who finds nothing left waits; a request that waits too long is refused.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::{Kind, Problem};

/// What all requests may take together, in bytes.
const ALL: usize = 64 << 20;
/// How long a request waits for its share.
const WAIT: Duration = Duration::from_secs(10);
/// Bytes are counted in these.
const UNIT: usize = 1 << 10;

#[derive(Debug, Clone)]
pub struct Memory {
    free: Arc<Semaphore>,
    units: usize,
    wait: Duration,
}

/// A share of the memory, given back when it is dropped.
pub struct Share(OwnedSemaphorePermit);

impl Memory {
    pub fn new() -> Self {
        Self::of(ALL, WAIT)
    }

    pub fn of(bytes: usize, wait: Duration) -> Self {
        let units = bytes / UNIT;
        Self { free: Arc::new(Semaphore::new(units)), units, wait }
    }

    /// A share of so many bytes, or of everything if that is less; none if it is not free in time.
    pub async fn take(&self, bytes: usize) -> Option<Share> {
        let units = bytes.div_ceil(UNIT).min(self.units);
        let asked = Arc::clone(&self.free).acquire_many_owned(u32::try_from(units).unwrap_or(u32::MAX));
        tokio::time::timeout(self.wait, asked).await.ok()?.ok().map(Share)
    }

    /// A share for an answer that is about to be made, or the refusal to make it.
    pub async fn take_for_answer(&self, bytes: usize) -> Result<Share, Problem> {
        self.take(bytes).await.ok_or_else(overloaded)
    }

    /// A share that has grown, if need be, to so many bytes: at once or not at all, since what it is for is there already.
    pub fn grow(&self, share: Option<Share>, bytes: usize) -> Result<Share, Problem> {
        let has = share.as_ref().map_or(0, |share| share.0.num_permits());
        let more = bytes.div_ceil(UNIT).min(self.units).saturating_sub(has);
        let more = Arc::clone(&self.free).try_acquire_many_owned(u32::try_from(more).unwrap_or(u32::MAX));
        let mut grown = Share(more.map_err(|_| overloaded())?);
        if let Some(share) = share {
            grown.0.merge(share.0);
        }
        Ok(grown)
    }

    /// Adds to a request's share, or refuses the request.
    pub async fn add(&self, share: &mut Option<Share>, bytes: usize) -> Result<(), Problem> {
        let more = self.take(bytes).await.ok_or_else(overloaded)?;
        match share {
            Some(share) => share.0.merge(more.0),
            None => *share = Some(more),
        }
        Ok(())
    }
}

fn overloaded() -> Problem {
    Problem::new(
        Kind::Overloaded,
        "too many requests are being received and answered at the moment",
        "close some connections, and try again",
    )
}

impl Share {
    /// The bytes, which keep of the share what they need until they are dropped.
    pub fn keep(mut self, bytes: Vec<u8>) -> Bytes {
        let share = self.0.split(bytes.len().div_ceil(UNIT)).unwrap_or(self.0);
        Bytes::from_owner(Kept { bytes, _share: share })
    }
}

struct Kept {
    bytes: Vec<u8>,
    _share: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn what_is_sent_keeps_its_share_until_it_is_dropped() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let memory = Memory::of(10 * UNIT, Duration::from_millis(1));
        let share = runtime.block_on(memory.take(100 * UNIT)).unwrap();
        assert!(runtime.block_on(memory.take(1)).is_none());
        let bytes = share.keep(vec![0; 3 * UNIT]);
        assert_eq!(memory.free.available_permits(), 7);
        let copy = bytes.clone();
        drop(bytes);
        assert_eq!(memory.free.available_permits(), 7);
        drop(copy);
        assert_eq!(memory.free.available_permits(), 10);
    }
}
