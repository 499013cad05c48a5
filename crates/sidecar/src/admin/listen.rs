//! The server's side of root's socket. Who asks may go away; the work goes on, and who asks again gets what came of it.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::sync::Arc;

use taskwright_base::Result;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

use super::protocol::{Reply, Request, Tell};
use crate::paths::Paths;

/// Does what is asked for, telling what is going on.
pub type Act = Arc<dyn Fn(Request, Tell<'_>) -> Result<serde_json::Value> + Send + Sync>;

/// Makes the socket, in a folder that only root may enter: at no moment could anybody else open it.
pub fn bind(paths: &Paths) -> io::Result<UnixListener> {
    let folder = paths.admin_folder();
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?,
    }
    let socket = paths.socket();
    match fs::remove_file(&socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&socket)?;
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Answers until the future that serves them is dropped.
pub async fn listen(listener: UnixListener, act: Act) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let act = Arc::clone(&act);
                tokio::spawn(async move { answer(stream, act).await });
            }
            Err(error) => {
                eprintln!("taskwright: accepting a request of root: {error}");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    }
}

async fn answer(stream: UnixStream, act: Act) -> Option<()> {
    let (from, mut to) = stream.into_split();
    let mut line = Vec::new();
    BufReader::new(from.take(4096)).read_until(b'\n', &mut line).await.ok()?;
    let (sender, mut replies) = mpsc::unbounded_channel();
    match serde_json::from_slice::<Request>(&line) {
        Ok(request) => {
            tokio::task::spawn_blocking(move || {
                let tell = |line: String| {
                    println!("taskwright: {line}");
                    // Nobody may be listening any more: the work goes on.
                    let _ = sender.send(Reply::Progress(line));
                };
                let last = match act(request, &tell) {
                    Ok(value) => Reply::Done(value),
                    Err(error) => {
                        eprintln!("taskwright: {error}");
                        Reply::Failed(error.to_string())
                    }
                };
                let _ = sender.send(last);
            });
        }
        Err(error) => {
            let _ = sender.send(Reply::Failed(format!("the request is not understood: {error}")));
            drop(sender);
        }
    }
    while let Some(reply) = replies.recv().await {
        let mut text = serde_json::to_vec(&reply).ok()?;
        text.push(b'\n');
        to.write_all(&text).await.ok()?;
    }
    Some(())
}
