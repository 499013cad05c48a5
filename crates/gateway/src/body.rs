//! The bodies of what is sent, in either direction.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Bytes;

use crate::answer::stream::Passing;

/// A body that is there.
#[derive(Debug)]
pub struct Whole(Option<Bytes>);

impl Whole {
    /// With these bytes.
    pub fn of(bytes: impl Into<Bytes>) -> Self {
        Self(Some(bytes.into()).filter(|bytes| !bytes.is_empty()))
    }

    fn length(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, Bytes::len) as u64)
    }
}

impl HttpBody for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.length()
    }
}

/// What a client is sent.
pub enum Answer {
    /// All at once.
    Whole(Whole),
    /// As the upstream sends it.
    Passing(Box<Passing>),
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Self::Whole(whole) => Poll::Ready(whole.0.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Passing(passing) => passing.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(Whole(None)))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(whole) => whole.length(),
            Self::Passing(_) => SizeHint::default(),
        }
    }
}
