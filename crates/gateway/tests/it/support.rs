//! A scripted upstream, a client of raw requests, and a gateway between them.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskwright_gateway::{
    Address, Config, Door, Gateway, Key, Scope, Setup, Token, TokenId, Tokens as _, Upstream, Usage,
};

/// The key that must be seen by the upstream only.
pub const KEY: &str = "sk-REAL-UPSTREAM-KEY-1234567890";
/// How long anything may take before a test gives up.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A message of HTTP.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// The first line.
    pub first: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Message {
    pub fn status(&self) -> u16 {
        self.first.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub fn path(&self) -> &str {
        self.first.split(' ').nth(1).unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn head(from: &mut impl BufRead) -> io::Result<Option<Message>> {
    let mut message = Message::default();
    if from.read_line(&mut message.first)? == 0 {
        return Ok(None);
    }
    message.first.truncate(message.first.trim_end().len());
    loop {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                message.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            None => return Ok(Some(message)),
        }
    }
}

/// The next piece of a chunked body; none at its end.
fn chunk(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let length = usize::from_str_radix(line.trim(), 16).map_err(|_| io::ErrorKind::InvalidData)?;
    let mut bytes = vec![0; length + 2];
    from.read_exact(&mut bytes)?;
    bytes.truncate(length);
    Ok((length > 0).then_some(bytes))
}

/// The side of the upstream of one request.
pub struct Reply<'a> {
    stream: &'a mut TcpStream,
    stop: &'a AtomicBool,
}

impl Reply<'_> {
    pub fn raw(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).and_then(|()| self.stream.flush()).is_ok()
    }

    pub fn whole(&mut self, status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) {
        let body = body.as_ref();
        let extra: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        self.raw(format!("HTTP/1.1 {status} X\r\n{extra}content-length: {}\r\n\r\n", body.len()));
        self.raw(body);
    }

    pub fn json(&mut self, body: &Value) {
        self.whole(200, &[("content-type", "application/json")], body.to_string());
    }

    pub fn begin_events(&mut self) {
        self.raw("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
    }

    pub fn piece(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let bytes = bytes.as_ref();
        let mut piece = format!("{:x}\r\n", bytes.len()).into_bytes();
        piece.extend_from_slice(bytes);
        piece.extend_from_slice(b"\r\n");
        self.raw(piece)
    }

    pub fn end(&mut self) {
        self.raw("0\r\n\r\n");
    }

    /// A stream in pieces of so many bytes.
    pub fn events(&mut self, text: &str, size: usize) {
        self.begin_events();
        for piece in text.as_bytes().chunks(size) {
            self.piece(piece);
        }
        self.end();
    }

    /// Says nothing until the other side goes away or the test ends.
    pub fn stall(&mut self) {
        self.stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        while !self.stop.load(Ordering::Relaxed) {
            match self.stream.read(&mut [0]) {
                Ok(0) => return,
                Err(error)
                    if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
                {
                    return;
                }
                _ => {}
            }
        }
    }
}

type Script = dyn Fn(&Message, &mut Reply<'_>) + Send + Sync;

/// An upstream that answers as it is told, and keeps what it was asked.
pub struct Scripted {
    pub address: SocketAddr,
    pub seen: Arc<Mutex<Vec<Message>>>,
    /// How many requests it is answering.
    pub open: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl Scripted {
    pub fn start(script: impl Fn(&Message, &mut Reply<'_>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let scripted = Self {
            address: listener.local_addr().unwrap(),
            seen: Arc::default(),
            open: Arc::default(),
            stop: Arc::default(),
        };
        let script: Arc<Script> = Arc::new(script);
        let (seen, open) = (Arc::clone(&scripted.seen), Arc::clone(&scripted.open));
        let stop = Arc::clone(&scripted.stop);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let (script, seen) = (Arc::clone(&script), Arc::clone(&seen));
                let (open, stop) = (Arc::clone(&open), Arc::clone(&stop));
                thread::spawn(move || serve(stream, &*script, &seen, &open, &stop));
            }
        });
        scripted
    }

    pub fn requests(&self) -> Vec<Message> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(
    mut stream: TcpStream,
    script: &Script,
    seen: &Mutex<Vec<Message>>,
    open: &AtomicUsize,
    stop: &AtomicBool,
) {
    stream.set_nodelay(true).unwrap();
    let mut from = BufReader::new(stream.try_clone().unwrap());
    while let Ok(Some(mut message)) = head(&mut from) {
        let length = message.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        message.body = vec![0; length];
        if from.read_exact(&mut message.body).is_err() {
            return;
        }
        seen.lock().unwrap().push(message.clone());
        open.fetch_add(1, Ordering::SeqCst);
        script(&message, &mut Reply { stream: &mut stream, stop });
        open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A gateway with an upstream, and a folder for its journal.
pub struct World {
    pub upstream: Scripted,
    pub gateway: Option<Gateway>,
    pub folder: tempfile::TempDir,
    pub config: Value,
}

/// A scope that may ask for two models.
pub fn scope(limits: &Value) -> Value {
    let mut scope = json!({ "allowed_models": ["small", "openai/big"] });
    for (name, value) in limits.as_object().unwrap() {
        scope[name] = value.clone();
    }
    scope
}

pub fn start(config: &Value, upstream: SocketAddr, folder: &Path) -> taskwright_base::Result<Gateway> {
    Gateway::start(Setup {
        config: serde_json::from_value::<Config>(config.clone()).unwrap(),
        upstream: Upstream {
            address: Address::new(&format!("http://{upstream}/v1")).unwrap(),
            key: Key::new(KEY).unwrap(),
        },
        state: folder.join("state"),
        producer: Some(([127, 0, 0, 1], 0).into()),
        evaluation: Some(([127, 0, 0, 1], 0).into()),
        control: Some(folder.join("control/socket")),
    })
}

impl World {
    pub fn new(config: Value, script: impl Fn(&Message, &mut Reply<'_>) + Send + Sync + 'static) -> Self {
        let upstream = Scripted::start(script);
        let folder = tempfile::tempdir().unwrap();
        let gateway = Some(start(&config, upstream.address, folder.path()).unwrap());
        Self { upstream, gateway, folder, config }
    }

    /// With one budget for evaluations.
    pub fn limited(
        limits: &Value,
        script: impl Fn(&Message, &mut Reply<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self::new(json!({ "evaluation": scope(limits) }), script)
    }

    pub fn gateway(&self) -> &Gateway {
        self.gateway.as_ref().unwrap()
    }

    pub fn mint(&self, scope: Scope) -> (TokenId, Token) {
        self.gateway().handle().mint(scope, &format!("a test of {scope}")).unwrap()
    }

    pub fn usage(&self, token: TokenId) -> Usage {
        self.gateway().handle().usage(token).unwrap()
    }

    pub fn door(&self, door: Door) -> SocketAddr {
        self.gateway().address(door).unwrap()
    }

    /// Waits until a token's usage is as it should be.
    pub fn until(&self, token: TokenId, holds: impl Fn(&Usage) -> bool) -> Usage {
        wait(|| Some(self.usage(token)).filter(&holds), || format!("{:?}", self.usage(token)))
    }

    /// Asks at the door of evaluations, with a token as OpenAI's clients show it.
    pub fn ask(&self, token: &Token, path: &str, body: &Value) -> Message {
        self.ask_with(token, "POST", path, &[], body.to_string())
    }

    pub fn ask_with(
        &self,
        token: &Token,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Message {
        self.ask_at(Door::Evaluation, token, method, path, headers, body)
    }

    pub fn ask_at(
        &self,
        door: Door,
        token: &Token,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Message {
        let bearer = format!("Bearer {}", token.show());
        let headers: Vec<(&str, &str)> =
            headers.iter().copied().chain([("authorization", bearer.as_str())]).collect();
        Client::connect(self.door(door)).ask(method, path, &headers, body)
    }

    /// Stops the gateway and starts it again over the same journal.
    pub fn again(&mut self) {
        drop(self.gateway.take());
        self.gateway = Some(start(&self.config, self.upstream.address, self.folder.path()).unwrap());
    }
}

/// Waits for something to be there.
pub fn wait<T>(look: impl Fn() -> Option<T>, what: impl Fn() -> String) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "it never came to this: {}", what());
        thread::sleep(Duration::from_millis(5));
    }
}

/// A connection to the gateway.
pub struct Client {
    from: BufReader<TcpStream>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { from: BufReader::new(stream) }
    }

    pub fn raw(&mut self, bytes: impl AsRef<[u8]>) {
        // The other side may have answered and closed before it has read all.
        let _ = self.from.get_mut().write_all(bytes.as_ref());
    }

    pub fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) {
        let body = body.as_ref();
        let extra: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = body.len();
        self.raw(format!("{method} {path} HTTP/1.1\r\nhost: x\r\n{extra}content-length: {length}\r\n\r\n"));
        self.raw(body);
    }

    pub fn head(&mut self) -> Message {
        head(&mut self.from).unwrap().expect("an answer")
    }

    /// Whether the other side has closed the connection without a word.
    pub fn is_closed(&mut self) -> bool {
        matches!(head(&mut self.from), Ok(None) | Err(_))
    }

    pub fn piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        chunk(&mut self.from)
    }

    pub fn answer(&mut self) -> Message {
        let mut message = self.head();
        if message.header("transfer-encoding").is_some() {
            while let Some(piece) = self.piece().unwrap() {
                message.body.extend(piece);
            }
        } else {
            let length = message.header("content-length").map_or(0, |length| length.parse().unwrap());
            message.body = vec![0; length];
            self.from.read_exact(&mut message.body).unwrap();
        }
        message
    }

    pub fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Message {
        self.send(method, path, headers, body);
        self.answer()
    }
}

/// A question in OpenAI's words.
pub fn chat(model: &str) -> Value {
    json!({ "model": model, "max_tokens": 100, "messages": [{ "role": "user", "content": "hello" }] })
}

/// The same, for a stream.
pub fn streamed(model: &str) -> Value {
    let mut body = chat(model);
    body["stream"] = true.into();
    body
}

/// An answer to it.
pub fn chat_answer(model: &str, input: u64, output: u64) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model,
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": "hi there" }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output },
    })
}

/// What an upstream says to whatever it is asked, with 10 tokens in and 5 out.
pub fn obliging(asked: &Message, reply: &mut Reply<'_>) {
    let model = serde_json::from_slice::<Value>(&asked.body).unwrap_or_default()["model"].clone();
    let path = asked.path();
    if path.contains("/messages/count_tokens") {
        reply.json(&json!({ "input_tokens": 7 }));
    } else if path.contains("/messages") {
        reply.json(&json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": model, "stop_reason": "end_turn",
            "content": [{ "type": "text", "text": "hi" }],
            "usage": { "input_tokens": 3, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 5 },
        }));
    } else if path.contains("/responses") {
        reply.json(&json!({
            "id": "resp_1", "object": "response", "model": model, "status": "completed", "output": [],
            "usage": { "input_tokens": 10, "output_tokens": 5, "output_tokens_details": { "reasoning_tokens": 2 } },
        }));
    } else if path.contains("/embeddings") {
        reply.json(&json!({
            "object": "list", "model": model, "data": [{ "embedding": [0.5], "index": 0 }],
            "usage": { "prompt_tokens": 10, "total_tokens": 10 },
        }));
    } else if path.contains(":countTokens") {
        reply.json(&json!({ "totalTokens": 7 }));
    } else if path.contains(":generateContent") {
        reply.json(&json!({
            "candidates": [{ "content": { "parts": [{ "text": "hi" }] } }], "modelVersion": "up/small",
            "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 4, "thoughtsTokenCount": 1 },
        }));
    } else {
        reply.json(&chat_answer(model.as_str().unwrap_or_default(), 10, 5));
    }
}
