//! One request on a connection of its own, sent and answered while the caller waits.
//!
//! Written on hyper, which the server needs anyway, because the answer must be listened for while the request is still
//! being sent: a service that refuses an upload says so at once. A client that sends first and listens then (ureq 3.5 was
//! tried) goes on sending until the connection breaks, and the refusal is lost.

use std::future::{Future, poll_fn};
use std::io::{self, Read};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Buf, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_LENGTH, HOST};
use hyper::{Request, StatusCode, Uri, http};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::{self, Runtime};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::{self, Instant};

const CONNECT: Duration = Duration::from_secs(10);
/// How long the answer may take once everything is sent.
const ANSWER: Duration = Duration::from_mins(5);
/// How much of a stream is sent at once.
const CHUNK: usize = 64 << 10;

pub enum Content<'a> {
    Nothing,
    Whole(Vec<u8>),
    Stream(&'a mut dyn Read),
}

/// An answer; reading it reads its body.
pub struct Answer {
    pub status: StatusCode,
    /// Drives the connection while somebody waits for more of the body.
    runtime: Runtime,
    body: Incoming,
    unread: Bytes,
    deadline: Option<Instant>,
}

/// Sends a request to the host that its address names. The time is for all of it, the body of the answer included.
pub fn send(
    request: http::request::Builder,
    content: Content<'_>,
    time: Option<Duration>,
) -> io::Result<Answer> {
    let deadline = time.map(|time| Instant::now() + time);
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let answer = runtime.block_on(by(deadline, exchange(request, content)))?;
    Ok(Answer { status: answer.status(), runtime, body: answer.into_body(), unread: Bytes::new(), deadline })
}

async fn exchange(
    mut request: http::request::Builder,
    content: Content<'_>,
) -> io::Result<hyper::Response<Incoming>> {
    let (sender, receiver) = mpsc::channel(1);
    let body = match &content {
        Content::Nothing => Pieces(None),
        Content::Whole(_) | Content::Stream(_) => Pieces(Some(receiver)),
    };
    if let Content::Whole(bytes) = &content {
        request = request.header(CONTENT_LENGTH, bytes.len());
    }
    let mut request = request.body(body).map_err(io::Error::other)?;
    let stream = connect(&mut request).await?;
    let (mut requests, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(told)?;
    // What goes wrong with the connection is said by the answer or by its body.
    tokio::spawn(connection);
    let mut answer = pin!(requests.send_request(request));
    let mut overdue = pin!(async {
        feed(content, sender).await;
        time::sleep(ANSWER).await;
    });
    // The answer first: one that comes early, a refusal, ends the sending.
    poll_fn(|context| match answer.as_mut().poll(context) {
        Poll::Ready(answer) => Poll::Ready(answer.map_err(told)),
        Poll::Pending => overdue.as_mut().poll(context).map(|()| Err(late("it does not answer"))),
    })
    .await
}

/// Connects to the host of a request's address, and leaves in the request what the host is to be told.
async fn connect(request: &mut Request<Pieces>) -> io::Result<TcpStream> {
    let unfit = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what);
    let uri = request.uri().clone();
    if uri.scheme_str() != Some("http") {
        return Err(unfit("its address does not begin with http://"));
    }
    let authority = uri.authority().ok_or_else(|| unfit("its address names no host"))?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse::<Uri>().map_err(io::Error::other)?;
    request.headers_mut().insert(HOST, authority.as_str().parse().map_err(io::Error::other)?);
    let address = format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80));
    let stream = time::timeout(CONNECT, TcpStream::connect(address));
    let stream = stream.await.map_err(|_| late("nobody answers there"))??;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Hands the content over piece by piece, until it ends or nobody wants more.
async fn feed(content: Content<'_>, pieces: Sender<io::Result<Bytes>>) {
    let bytes = match content {
        Content::Nothing => return,
        Content::Whole(bytes) => {
            // Nobody wants it any more: then there is an answer, or an error, that says why.
            let _ = pieces.send(Ok(bytes.into())).await;
            return;
        }
        Content::Stream(bytes) => bytes,
    };
    let mut buffer = vec![0; CHUNK];
    loop {
        let piece = match bytes.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => Ok(Bytes::copy_from_slice(&buffer[..length])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = piece.is_err();
        if pieces.send(piece).await.is_err() || is_last {
            return;
        }
    }
}

/// The body of a request, as it is fed.
struct Pieces(Option<Receiver<io::Result<Bytes>>>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.0 {
            Some(pieces) => pieces.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data))),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        if self.0.is_none() { SizeHint::with_exact(0) } else { SizeHint::default() }
    }
}

impl Read for Answer {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.unread.is_empty() {
            let body = &mut self.body;
            let next = poll_fn(|context| Pin::new(&mut *body).poll_frame(context).map(Option::transpose));
            let frame = self.runtime.block_on(by(self.deadline, async { next.await.map_err(told) }))?;
            let Some(frame) = frame else { return Ok(0) };
            self.unread = frame.into_data().unwrap_or_default();
        }
        let length = buffer.len().min(self.unread.len());
        self.unread.split_to(length).copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}

/// What comes of something, unless its time is over before.
async fn by<T>(deadline: Option<Instant>, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    match deadline {
        Some(deadline) => time::timeout_at(deadline, work).await.map_err(|_| late("it takes too long"))?,
        None => work.await,
    }
}

fn late(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

/// An error with its cause, which hyper leaves out of its own words.
fn told(error: hyper::Error) -> io::Error {
    match std::error::Error::source(&error) {
        Some(cause) => io::Error::other(format!("{error}: {cause}")),
        None => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::sync::mpsc as threads;
    use taskwright_testing::test;

    use super::*;

    /// Zeros without end; counts how many were asked for.
    struct Endless(u64);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(0);
            self.0 += buffer.len() as u64;
            Ok(buffer.len())
        }
    }

    #[test]
    fn a_refusal_is_heard_while_the_upload_goes_on() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/upload", listener.local_addr().unwrap());
        let (heard, wait) = threads::channel::<()>();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // Reads the beginning, refuses, and reads no more of it, but keeps the connection.
            let _ = stream.read(&mut [0; 4096]).unwrap();
            stream.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 9\r\n\r\ntoo large").unwrap();
            let _ = wait.recv_timeout(Duration::from_mins(1));
        });
        let mut bytes = Endless(0);
        let request = Request::builder().method("PUT").uri(url);
        let mut answer = send(request, Content::Stream(&mut bytes), Some(Duration::from_mins(1))).unwrap();
        let mut text = String::new();
        answer.read_to_string(&mut text).unwrap();
        assert_eq!((answer.status.as_u16(), text.as_str()), (413, "too large"));
        assert!(bytes.0 < 1 << 30, "{}", bytes.0);
        drop(heard);
        server.join().unwrap();
    }
}
