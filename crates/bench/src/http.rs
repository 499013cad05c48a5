//! As much of an HTTP client as is needed to ask a service of ours how long it takes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, ensure};

const PATIENCE: Duration = Duration::from_secs(60);

/// A connection that is asked one thing after the other.
pub struct Connection {
    stream: BufReader<TcpStream>,
    left: Left,
}

/// What of an answer's body has not been read.
#[derive(Debug, Clone, Copy)]
enum Left {
    Bytes(usize),
    Chunks,
}

/// A request as it is sent, with lines of headers that each end with `\r\n`.
pub fn request(method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("{method} {path} HTTP/1.1\r\nhost: x\r\n{headers}content-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

impl Connection {
    /// Connects.
    pub fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)
            .with_context(|| format!("connecting to {address}"))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), left: Left::Bytes(0) })
    }

    /// Asks, and returns the answer's body, which must be a good one.
    pub fn ask(&mut self, request: &[u8]) -> anyhow::Result<Vec<u8>> {
        self.begin(request)?;
        self.rest()
    }

    /// Asks, and waits for a good answer to begin.
    pub fn begin(&mut self, request: &[u8]) -> anyhow::Result<()> {
        self.send(request)?;
        let status = self.line()?;
        self.left = Left::Bytes(0);
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                self.left = Left::Bytes(value.trim().parse().context("reading the length of an answer")?);
            } else if line.starts_with("transfer-encoding:") && line.contains("chunked") {
                self.left = Left::Chunks;
            }
        }
        if !status.contains(" 2") {
            let asked = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
            let answer = self.rest()?;
            let [asked, answer] = [asked, &answer].map(String::from_utf8_lossy);
            anyhow::bail!("{asked}: {status} {answer}");
        }
        Ok(())
    }

    /// Asks, and does not wait.
    pub fn send(&mut self, request: &[u8]) -> anyhow::Result<()> {
        self.stream.get_mut().write_all(request).context("asking the service")
    }

    /// The next piece of the answer's body, as it comes; none at its end.
    pub fn piece(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        match self.left {
            Left::Bytes(0) => Ok(None),
            Left::Bytes(length) => {
                self.left = Left::Bytes(0);
                self.bytes(length).map(Some)
            }
            Left::Chunks => {
                let length = usize::from_str_radix(&self.line()?, 16).context("reading a piece's length")?;
                let bytes = self.bytes(length)?;
                self.line()?;
                if length == 0 {
                    self.left = Left::Bytes(0);
                }
                Ok((length > 0).then_some(bytes))
            }
        }
    }

    /// What of the answer's body has not been read.
    pub fn rest(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(bytes) = self.piece()? {
            all.extend(bytes);
        }
        Ok(all)
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).context("listening to the service")?;
        ensure!(read > 0, "the service hung up");
        Ok(line.trim_end().to_owned())
    }

    fn bytes(&mut self, length: usize) -> anyhow::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).context("listening to the service")?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn a_bad_answer_is_an_error_that_says_what_was_asked() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let _ = stream.read(&mut [0; 1024]);
            let answer = b"HTTP/1.1 402 Payment Required\r\nContent-Length: 5\r\n\r\nspent";
            let _ = stream.write_all(answer);
        });
        let error = Connection::open(address).unwrap().ask(&request("POST", "/v1/x", "", "{}")).unwrap_err();
        assert_eq!(error.to_string(), "POST /v1/x HTTP/1.1: HTTP/1.1 402 Payment Required spent");
    }
}
