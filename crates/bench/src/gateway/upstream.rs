//! The scripted upstream: a process of its own that answers chat completions at once, whole or as a stream, and says how many it
//! was sent. A thread serves each connection, so that it costs no more than the sockets do.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use taskwright::output;
use taskwright_base::process;

use super::question::{HELD, INPUT, OUTPUT, SLOW};
use crate::http::{Connection, request};

/// How long it waits after a stream's first event, where it is asked to.
pub const PAUSE: Duration = Duration::from_millis(20);
/// Where it says how many requests it was sent.
const COUNT: &str = "/count";
/// A thread needs little, and there are thousands.
const STACK: usize = 128 << 10;

/// Answer chat completions until standard input ends.
#[derive(clap::Args)]
pub struct Arguments {
    /// How many events a stream has.
    events: usize,
}

/// Is the upstream.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    process::raise_open_files();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("listening")?;
    output::print(&format!("{}\n", listener.local_addr()?))?;
    let (script, seen) = (Arc::new(Script::of(arguments.events)), Arc::new(AtomicU64::new(0)));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (script, seen) = (Arc::clone(&script), Arc::clone(&seen));
            // One that cannot be served is closed, and whoever asks notices.
            let _ = thread::Builder::new().stack_size(STACK).spawn(move || serve(stream, &script, &seen));
        }
    });
    // Whoever started it holds the other end, and goes away with it.
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

/// What it says, as it is sent.
struct Script {
    whole: Vec<u8>,
    head: Vec<u8>,
    first: Vec<u8>,
    others: Vec<Vec<u8>>,
}

impl Script {
    fn of(events: usize) -> Self {
        let usage = json!({
            "prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT,
        });
        let message =
            json!({ "role": "assistant", "content": "The answer is forty-two, as everybody knows." });
        let answer = json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "plain", "usage": usage,
            "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
        });
        let event = |choices: Value, usage: &Value| {
            let data = json!({
                "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "plain",
                "choices": choices, "usage": usage,
            });
            chunk(&format!("data: {data}\n\n"))
        };
        let word = json!([{ "index": 0, "delta": { "content": " word" }, "finish_reason": null }]);
        let first = event(word.clone(), &Value::Null);
        let mut others = vec![first.clone(); events.saturating_sub(1)];
        others.push(event(json!([]), &usage));
        others.push([chunk("data: [DONE]\n\n"), b"0\r\n\r\n".to_vec()].concat());
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        Self { whole: whole(&answer.to_string()), head: head.into(), first, others }
    }

    /// Answers a question. False if nothing more can be asked here.
    fn answer(&self, to: &mut TcpStream, body: &[u8]) -> io::Result<bool> {
        let is_held = has(body, &format!("\"model\":\"{HELD}\""));
        if !has(body, "\"stream\":true") {
            return if is_held { hold(to) } else { to.write_all(&self.whole).map(|()| true) };
        }
        to.write_all(&self.head)?;
        to.write_all(&self.first)?;
        if is_held {
            return hold(to);
        }
        if has(body, &format!("\"model\":\"{SLOW}\"")) {
            thread::sleep(PAUSE);
        }
        // As a model's words come: each by itself.
        self.others.iter().try_for_each(|piece| to.write_all(piece)).map(|()| true)
    }
}

fn whole(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

fn has(body: &[u8], text: &str) -> bool {
    body.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Says nothing until the other side goes away.
fn hold(stream: &mut TcpStream) -> io::Result<bool> {
    io::copy(stream, &mut io::sink())?;
    Ok(false)
}

fn serve(mut stream: TcpStream, script: &Script, seen: &AtomicU64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut from = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    loop {
        let (mut length, mut is_count) = (0, false);
        loop {
            line.clear();
            if from.read_line(&mut line)? == 0 {
                return Ok(());
            }
            is_count |= line.starts_with("GET ") && line.contains(COUNT);
            match line.trim_end().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().map_err(io::Error::other)?;
                }
                None if line.trim_end().is_empty() => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        from.read_exact(&mut body)?;
        if is_count {
            stream.write_all(&whole(&seen.load(Ordering::SeqCst).to_string()))?;
            continue;
        }
        seen.fetch_add(1, Ordering::SeqCst);
        if !script.answer(&mut stream, &body)? {
            return Ok(());
        }
    }
}

/// The upstream's process, ended when it goes out of use.
pub struct Upstream {
    child: Child,
    /// Where it is.
    pub address: SocketAddr,
}

impl Upstream {
    /// Starts it. A stream of it has so many events.
    pub fn start(events: usize) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe().context("finding this program")?)
            .args(["bench", "upstream", &events.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting the upstream")?;
        let mut line = String::new();
        let out = child.stdout.take().context("the upstream has no output")?;
        BufReader::new(out).read_line(&mut line).context("listening to the upstream")?;
        ensure!(!line.is_empty(), "the upstream does not come up");
        Ok(Self { child, address: line.trim().parse().context("reading where the upstream is")? })
    }

    /// How many requests it was sent.
    pub fn seen(&self) -> anyhow::Result<u64> {
        let count = Connection::open(self.address)?.ask(&request("GET", COUNT, "", ""))?;
        Ok(std::str::from_utf8(&count)?.parse()?)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::super::question::{Kind, PLAIN, Question};
    use super::*;

    #[test]
    fn it_answers_whole_and_as_a_stream_and_says_how_many_it_was_sent() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (script, seen) = (Script::of(3), AtomicU64::new(0));
            serve(listener.accept().unwrap().0, &script, &seen)
        });
        let mut connection = Connection::open(address).unwrap();
        let whole = connection.ask(&Question::new(PLAIN, Kind::Whole, "t").bytes).unwrap();
        let whole: Value = serde_json::from_slice(&whole).unwrap();
        assert_eq!(whole["usage"]["completion_tokens"], OUTPUT);
        connection.begin(&Question::new(PLAIN, Kind::Stream, "t").bytes).unwrap();
        let mut pieces = Vec::new();
        while let Some(piece) = connection.piece().unwrap() {
            pieces.push(String::from_utf8(piece).unwrap());
        }
        // Three events, what they took, and the end.
        assert_eq!(pieces.len(), 5);
        assert!(pieces[3].contains("\"prompt_tokens\":20") && pieces[4] == "data: [DONE]\n\n");
        assert_eq!(connection.ask(&request("GET", COUNT, "", "")).unwrap(), b"2");
        // Nothing but the first event of one that comes to no end, and then no other question.
        connection.begin(&Question::new(HELD, Kind::Stream, "t").bytes).unwrap();
        assert!(connection.piece().unwrap().is_some());
    }
}
