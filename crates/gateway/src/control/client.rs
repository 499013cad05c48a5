//! The other side of the socket: for a process that is not the gateway's own.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use taskwright_base::{Error, Result, failed};

use super::Tokens;
use super::protocol::{LONGEST, Question, Reply};
use crate::scope::{Door, Scope};
use crate::token::{Token, TokenId};
use crate::usage::{Budget, Usage};

/// How long the gateway may take for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take to be there: one that was killed is started again.
const ABSENCE: Duration = Duration::from_secs(10);

/// Asks a gateway over its socket. Each question has a connection of its own, so that a gateway that was started again is found.
#[derive(Debug, Clone)]
pub struct Client {
    socket: PathBuf,
    /// How long it is waited for.
    absence: Duration,
}

impl Client {
    /// For a socket, which need not be there yet.
    pub fn new(socket: impl AsRef<Path>) -> Self {
        Self { socket: socket.as_ref().to_owned(), absence: ABSENCE }
    }

    /// The same for who does not wait for a gateway that is not there.
    #[must_use]
    pub fn at_once(self) -> Self {
        Self { absence: Duration::ZERO, ..self }
    }

    fn ask(&self, question: &Question) -> Result<Reply> {
        let doing = failed("asking the gateway at", &self.socket);
        let reply = self
            .exchange(question)
            .map_err(|error| doing(error).hint("see whether the gateway runs, and what it says"))?;
        match reply {
            Reply::Failed { message, hint } => {
                let error = Error::new(message);
                Err(match hint {
                    Some(hint) => error.hint(hint),
                    None => error,
                })
            }
            reply => Ok(reply),
        }
    }

    fn connect(&self) -> std::io::Result<UnixStream> {
        let began = Instant::now();
        loop {
            match UnixStream::connect(&self.socket) {
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused)
                        && began.elapsed() < self.absence =>
                {
                    std::thread::sleep(Duration::from_millis(100));
                }
                connected => return connected,
            }
        }
    }

    fn exchange(&self, question: &Question) -> std::io::Result<Reply> {
        let mut stream = self.connect()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut line = serde_json::to_vec(question)?;
        line.push(b'\n');
        stream.write_all(&line)?;
        let mut reply = String::new();
        BufReader::new(stream).take(LONGEST).read_line(&mut reply)?;
        Ok(serde_json::from_str(&reply)?)
    }
}

fn strange() -> Error {
    Error::new("the gateway answers another question than the one that was asked")
}

impl Tokens for Client {
    fn mint(&self, scope: Scope, attribution: &str) -> Result<(TokenId, Token)> {
        match self.ask(&Question::Mint { scope, attribution: attribution.to_owned() })? {
            Reply::Minted { token, secret } => Ok((token, secret)),
            _ => Err(strange()),
        }
    }

    fn revoke(&self, token: TokenId) -> Result<Usage> {
        match self.ask(&Question::Revoke { token })? {
            Reply::Usage(usage) => Ok(usage),
            _ => Err(strange()),
        }
    }

    fn revoke_all(&self, door: Door) -> Result<()> {
        match self.ask(&Question::RevokeAll { door })? {
            Reply::Done => Ok(()),
            _ => Err(strange()),
        }
    }

    fn usage(&self, token: TokenId) -> Result<Usage> {
        match self.ask(&Question::Usage { token })? {
            Reply::Usage(usage) => Ok(usage),
            _ => Err(strange()),
        }
    }

    fn used(&self, scope: Scope) -> Result<Option<Usage>> {
        match self.ask(&Question::Used { scope })? {
            Reply::Used(usage) => Ok(usage),
            _ => Err(strange()),
        }
    }

    fn budget(&self, scope: Scope) -> Result<Option<Budget>> {
        match self.ask(&Question::Budget { scope })? {
            Reply::Budget(budget) => Ok(budget),
            _ => Err(strange()),
        }
    }
}
