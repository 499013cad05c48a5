//! How much memory all requests together may take: bodies that arrive, and answers that wait to be read.
//!
//! Each connection is bounded by itself, but a client may open hundreds of them. What is kept for clients is drawn from one
//! budget for each door, and given back when it is sent. Who finds nothing left waits; a request that waits too long is refused.
//!
//! Many that have a part and wait for the rest would wait for one another. So one of them at a time may take more than there
//! is, and comes to its end.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
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
    /// For the one that may take more than there is.
    beyond: Arc<Semaphore>,
    units: usize,
    wait: Duration,
}

/// A share of the memory, given back when it is dropped.
#[derive(Debug)]
pub struct Share {
    taken: OwnedSemaphorePermit,
    /// It takes more than there is, and is the only one.
    beyond: Option<OwnedSemaphorePermit>,
}

impl Memory {
    /// So many bytes, and how long a request waits for its share.
    pub fn of(bytes: usize, wait: Duration) -> Self {
        let units = (bytes / UNIT).max(1);
        Self { free: Arc::new(Semaphore::new(units)), beyond: Arc::new(Semaphore::new(1)), units, wait }
    }

    fn units(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT).min(self.units)).unwrap_or(u32::MAX)
    }

    /// A share of so many bytes, if it is free now.
    pub fn take_now(&self, bytes: usize) -> Option<Share> {
        let taken = Arc::clone(&self.free).try_acquire_many_owned(self.units(bytes)).ok()?;
        Some(Share { taken, beyond: None })
    }

    /// Adds to a share; false if it is not free in time.
    pub async fn grow(&self, share: &mut Option<Share>, bytes: usize) -> bool {
        if share.as_ref().is_some_and(|share| share.beyond.is_some()) {
            return true;
        }
        let more = match self.take_now(bytes) {
            Some(more) => Some(more),
            None => tokio::time::timeout(self.wait, self.wait_for(bytes)).await.ok().flatten(),
        };
        more.map(|more| Share::add(share, more)).is_some()
    }

    /// Waits for a share, or to be the one that may take more than there is.
    async fn wait_for(&self, bytes: usize) -> Option<Share> {
        let mut taken = pin!(Arc::clone(&self.free).acquire_many_owned(self.units(bytes)));
        let mut beyond = pin!(Arc::clone(&self.beyond).acquire_owned());
        poll_fn(|context| {
            if let std::task::Poll::Ready(taken) = taken.as_mut().poll(context) {
                return std::task::Poll::Ready(taken.ok().map(|taken| Share { taken, beyond: None }));
            }
            beyond.as_mut().poll(context).map(|beyond| {
                let taken = Arc::clone(&self.free).try_acquire_many_owned(0).ok()?;
                Some(Share { taken, beyond: Some(beyond.ok()?) })
            })
        })
        .await
    }
}

impl Share {
    /// Adds another share to one.
    pub fn add(share: &mut Option<Self>, more: Self) {
        match share {
            Some(share) => {
                share.taken.merge(more.taken);
                share.beyond = share.beyond.take().or(more.beyond);
            }
            None => *share = Some(more),
        }
    }

    /// The bytes, which keep of the share what they need until they are dropped.
    pub fn keep(self, bytes: Vec<u8>) -> Bytes {
        let Self { mut taken, beyond } = self;
        let taken = taken.split(bytes.len().div_ceil(UNIT)).unwrap_or(taken);
        Bytes::from_owner(Kept { bytes, _share: Self { taken, beyond } })
    }
}

struct Kept {
    bytes: Vec<u8>,
    _share: Share,
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

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
    }

    #[test]
    fn what_is_sent_keeps_its_share_until_it_is_dropped() {
        let memory = Memory::of(10 * UNIT, Duration::from_millis(1));
        let share = memory.take_now(100 * UNIT).unwrap();
        assert!(memory.take_now(1).is_none());
        let bytes = share.keep(vec![0; 3 * UNIT]);
        assert_eq!(memory.free.available_permits(), 7);
        let copy = bytes.clone();
        drop(bytes);
        assert_eq!(memory.free.available_permits(), 7);
        drop(copy);
        assert_eq!(memory.free.available_permits(), 10);
    }

    #[test]
    fn of_those_that_wait_for_one_another_one_comes_to_its_end() {
        let memory = Memory::of(10 * UNIT, Duration::from_millis(20));
        let (mut one, mut two) = (memory.take_now(5 * UNIT), memory.take_now(5 * UNIT));
        let runtime = runtime();
        runtime.block_on(async {
            assert!(memory.grow(&mut one, 20 * UNIT).await);
            assert!(memory.grow(&mut one, 20 * UNIT).await);
            assert!(!memory.grow(&mut two, UNIT).await);
            drop(one.take().unwrap().keep(vec![0; 45 * UNIT]));
            assert!(memory.grow(&mut two, UNIT).await);
        });
        drop(two);
        assert_eq!((memory.free.available_permits(), memory.beyond.available_permits()), (10, 1));
    }
}
