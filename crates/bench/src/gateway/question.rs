//! What is asked in all measurements: a chat completion of a few words, whole or as a stream.

use serde_json::json;

use crate::http::request;

/// A model that answers at once.
pub const PLAIN: &str = "plain";
/// A model that waits after the first event of a stream.
pub const SLOW: &str = "slow";
/// A model that comes to no end: it sends the first event of a stream, and nothing of a whole answer.
pub const HELD: &str = "held";
/// How many tokens an answer says that it took in.
pub const INPUT: u64 = 20;
/// How many tokens an answer says that it gave.
pub const OUTPUT: u64 = 10;
/// How many tokens each request may give.
const MOST: u64 = 100;

/// Whether an answer comes in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// In one piece.
    Whole,
    /// As a stream of events.
    Stream,
}

/// A question, as it is sent.
#[derive(Debug, Clone)]
pub struct Question {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// How many tokens the gateway sets aside for it at least: what it may give, and one for four bytes of it.
    pub set_aside: u64,
}

impl Question {
    /// To a model, with a token of the gateway's.
    pub fn new(model: &str, kind: Kind, token: &str) -> Self {
        let mut body = json!({
            "model": model, "max_tokens": MOST,
            "messages": [{ "role": "user", "content": "What is the answer to everything?" }],
        });
        if kind == Kind::Stream {
            body["stream"] = true.into();
            // Asked for in both, so that the same bytes come from the gateway and from the bare upstream.
            body["stream_options"] = json!({ "include_usage": true });
        }
        let body = body.to_string();
        let set_aside = MOST + (body.len() as u64).div_ceil(4);
        let headers = format!("authorization: Bearer {token}\r\ncontent-type: application/json\r\n");
        Self { bytes: request("POST", "/v1/chat/completions", &headers, &body), set_aside }
    }
}
