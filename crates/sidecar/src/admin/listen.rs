//! What only root in the sidecar may ask: finalizing and archiving, over a unix socket.
//!
//! A request is one line, the answer JSON lines: what is going on, and last what came out. Who asks may go away; the
//! work goes on, and who asks again gets what came of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

/// Does what is asked for, telling what is going on.
pub type Act = Arc<dyn Fn(Ask, &dyn Fn(String)) -> Result<serde_json::Value, String> + Send + Sync>;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Seal, decide, and write all evidence.
    Finalize,
    /// Write the evidence of the work so far.
    Archive,
}

/// A line of the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tell {
    /// What is going on.
    Progress(String),
    /// It is done: where the evidence is, and the verdict if there is one.
    Done(serde_json::Value),
    /// It failed.
    Failed(String),
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
    let (sender, mut lines) = mpsc::unbounded_channel();
    match serde_json::from_slice::<Ask>(&line) {
        Ok(ask) => {
            tokio::task::spawn_blocking(move || {
                let tell = |line: String| {
                    println!("taskwright: {line}");
                    // Nobody may be listening any more: the work goes on.
                    let _ = sender.send(Tell::Progress(line));
                };
                let last = match act(ask, &tell) {
                    Ok(value) => Tell::Done(value),
                    Err(error) => {
                        eprintln!("taskwright: {error}");
                        Tell::Failed(error)
                    }
                };
                let _ = sender.send(last);
            });
        }
        Err(error) => {
            let _ = sender.send(Tell::Failed(format!("the request is not understood: {error}")));
            drop(sender);
        }
    }
    while let Some(tell) = lines.recv().await {
        let mut text = serde_json::to_vec(&tell).ok()?;
        text.push(b'\n');
        to.write_all(&text).await.ok()?;
    }
    Some(())
}
