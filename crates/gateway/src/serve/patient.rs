//! A connection whose client has to read what it is sent: one that does not for too long is ended.
//!
//! What waits for such a client is memory that others wait for.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream that is not written to for ever.
pub struct Patient<S> {
    stream: S,
    patience: Duration,
    /// While nothing can be written: when that has lasted too long.
    blocked: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    /// With how long it waits for what it writes to be read.
    pub fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, blocked: None }
    }

    fn watch<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.blocked = None;
            return written;
        }
        let blocked = self.blocked.get_or_insert_with(|| Box::pin(sleep(self.patience)));
        ready!(blocked.as_mut().poll(context));
        // Asked once more, it is still late.
        blocked.as_mut().reset(Instant::now());
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing waits here: a stream of the kernel's has written what it took.
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[test]
    fn who_reads_nothing_is_not_written_to_for_ever() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (near, _far) = tokio::io::duplex(10);
            let mut patient = Patient::new(near, Duration::from_millis(20));
            let error = patient.write_all(&[0; 11]).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        });
    }
}
