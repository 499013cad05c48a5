//! As much of an HTTP client as is needed to ask a service of ours how long it takes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);

/// A connection that is asked one thing after the other.
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects.
    pub fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE).context("connecting to the sidecar")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Asks, and returns the answer's body, which must be a good one.
    pub fn ask(&mut self, method: &str, path: &str, body: &str) -> anyhow::Result<Vec<u8>> {
        let length = body.len();
        let request =
            format!("{method} /v1{path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}");
        self.stream.get_mut().write_all(request.as_bytes()).context("asking the sidecar")?;
        let status = self.line()?;
        let (mut length, mut chunked) = (0, false);
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().context("reading the length of an answer")?;
            }
            chunked |= line.starts_with("transfer-encoding:") && line.contains("chunked");
        }
        let answer = if chunked { self.chunks()? } else { self.bytes(length)? };
        if !status.contains(" 2") {
            bail!("{method} {path}: {status} {}", String::from_utf8_lossy(&answer));
        }
        Ok(answer)
    }

    /// Evaluates samples of the split and waits for the end, which must be a score.
    pub fn evaluate(&mut self, commit: &str, samples: usize) -> anyhow::Result<()> {
        let body = serde_json::json!({ "commit": commit, "split": "all", "samples": { "count": samples } });
        let evaluation: Value =
            serde_json::from_slice(&self.ask("POST", "/evaluations", &body.to_string())?)?;
        let id = evaluation["id"].as_str().context("an evaluation has no name")?;
        let events = self.ask("GET", &format!("/evaluations/{id}/events"), "")?;
        let last = events.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let end: Value = serde_json::from_slice(last)?;
        ensure!(end["end"]["score"] == 1.0, "an evaluation ended with {end}");
        Ok(())
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        ensure!(self.stream.read_line(&mut line).context("listening to the sidecar")? > 0, "it hung up");
        Ok(line.trim_end().to_owned())
    }

    fn bytes(&mut self, length: usize) -> anyhow::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).context("listening to the sidecar")?;
        Ok(bytes)
    }

    fn chunks(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let length = usize::from_str_radix(&self.line()?, 16).context("reading a piece's length")?;
            all.extend(self.bytes(length)?);
            self.line()?;
            if length == 0 {
                return Ok(all);
            }
        }
    }
}
