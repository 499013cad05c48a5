//! How much memory all requests together may take: bodies that arrive, and answers that wait to be read.
//!
//! Each connection is bounded by itself, but a client may open hundreds of them. What is kept for clients is drawn from one
//! budget for each door, and given back when it is sent. Who finds nothing left waits; a request that waits too long is refused.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes are counted in these.
const UNIT: usize = 1 << 10;

/// A budget of memory.
#[derive(Debug, Clone)]
pub struct Memory {
    free: Arc<Semaphore>,
    units: usize,
    wait: Duration,
}

/// A share of the memory, given back when it is dropped.
#[derive(Debug)]
pub struct Share(OwnedSemaphorePermit);

impl Memory {
    /// So many bytes, and how long a request waits for its share.
    pub fn of(bytes: usize, wait: Duration) -> Self {
        let units = (bytes / UNIT).max(1);
        Self { free: Arc::new(Semaphore::new(units)), units, wait }
    }

    fn units(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT).min(self.units)).unwrap_or(u32::MAX)
    }

    /// A share of so many bytes, or of everything if that is less; none if it is not free in time.
    pub async fn take(&self, bytes: usize) -> Option<Share> {
        let asked = Arc::clone(&self.free).acquire_many_owned(self.units(bytes));
        tokio::time::timeout(self.wait, asked).await.ok()?.ok().map(Share)
    }

    /// A share of so many bytes, if it is free now.
    pub fn take_now(&self, bytes: usize) -> Option<Share> {
        Arc::clone(&self.free).try_acquire_many_owned(self.units(bytes)).ok().map(Share)
    }

    /// Adds to a share; false if it is not free in time.
    pub async fn grow(&self, share: &mut Option<Share>, bytes: usize) -> bool {
        match self.take(bytes).await {
            Some(more) => {
                Share::add(share, more);
                true
            }
            None => false,
        }
    }
}

impl Share {
    /// Adds another share to one.
    pub fn add(share: &mut Option<Self>, more: Self) {
        match share {
            Some(share) => share.0.merge(more.0),
            None => *share = Some(more),
        }
    }

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
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn what_is_sent_keeps_its_share_until_it_is_dropped() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let memory = Memory::of(10 * UNIT, Duration::from_millis(1));
        let share = runtime.block_on(memory.take(100 * UNIT)).unwrap();
        assert!(runtime.block_on(memory.take(1)).is_none() && memory.take_now(1).is_none());
        let bytes = share.keep(vec![0; 3 * UNIT]);
        assert_eq!(memory.free.available_permits(), 7);
        let copy = bytes.clone();
        drop(bytes);
        assert_eq!(memory.free.available_permits(), 7);
        drop(copy);
        assert_eq!(memory.free.available_permits(), 10);
    }
}
