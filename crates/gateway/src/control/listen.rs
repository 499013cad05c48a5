//! The gateway's side of the socket.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use taskwright_base::{Error, Result};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use super::Tokens;
use super::protocol::{LONGEST, Question, Reply};

/// Makes the socket, in a folder that only we and root may enter: at no moment could anybody else open it.
pub fn bind(socket: &Path) -> io::Result<UnixListener> {
    let folder = socket.parent().ok_or(io::ErrorKind::InvalidInput)?;
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?,
    }
    match fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(socket)?;
    fs::set_permissions(socket, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Answers until the future that serves them is dropped.
pub async fn listen(listener: UnixListener, tokens: Arc<dyn Tokens>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(converse(stream, Arc::clone(&tokens)))),
            Err(error) => {
                eprintln!("taskwright: accepting a question to the gateway: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Answers one question after the other.
async fn converse(stream: UnixStream, tokens: Arc<dyn Tokens>) -> Option<()> {
    let (from, mut to) = stream.into_split();
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        let read = (&mut from).take(LONGEST).read_until(b'\n', &mut line).await.ok()?;
        if read == 0 {
            return None;
        }
        let reply = match serde_json::from_slice(&line) {
            Ok(question) => answer(&*tokens, question).unwrap_or_else(|error| Reply::Failed {
                message: error.to_string(),
                hint: error.hint_text().map(str::to_owned),
            }),
            Err(error) => {
                let message = format!("the question is not understood: {error}");
                Reply::Failed { message, hint: None }
            }
        };
        let mut text = serde_json::to_vec(&reply).ok()?;
        text.push(b'\n');
        to.write_all(&text).await.ok()?;
    }
}

fn answer(tokens: &dyn Tokens, question: Question) -> Result<Reply, Error> {
    Ok(match question {
        Question::Mint { scope, attribution } => {
            let (token, secret) = tokens.mint(scope, &attribution)?;
            Reply::Minted { token, secret }
        }
        Question::Revoke { token } => Reply::Usage(tokens.revoke(token)?),
        Question::RevokeAll { door } => {
            tokens.revoke_all(door)?;
            Reply::Done
        }
        Question::Usage { token } => Reply::Usage(tokens.usage(token)?),
        Question::Used { scope } => Reply::Used(tokens.used(scope)?),
        Question::Budget { scope } => Reply::Budget(tokens.budget(scope)?),
    })
}
