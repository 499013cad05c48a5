//! Refusals, in the words of each dialect.
//!
//! Clients decide by the status whether they try again, some also by words in the message: none of ours has those.

use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use serde_json::{Value, json};

use super::Dialect;

/// Why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What kind of refusal it is.
    pub kind: Kind,
    /// What happened, and what to do.
    pub message: String,
}

/// Kinds of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The request is not understood.
    Bad,
    /// No token, or one that is not known here.
    Unauthorized,
    /// The budget does not suffice.
    Spent,
    /// A model, or something else that this client may not ask for.
    Denied,
    /// Nothing is served at the path.
    NotFound,
    /// Not with this method.
    Method,
    /// Not over another protocol.
    Upgrade,
    /// The body is too large.
    TooLarge,
    /// The body did not arrive in time.
    Slow,
    /// There is no memory for it now.
    Overloaded,
    /// The gateway cannot write its journal.
    Unavailable,
    /// The upstream cannot be reached.
    Unreachable,
    /// The upstream does not say anything that can be passed on.
    Upstream,
    /// The upstream does not know the gateway's own key.
    UpstreamKey,
    /// The upstream knows the gateway's own key, but does not take it in this dialect.
    UpstreamDialect,
    /// The upstream did not answer in time.
    UpstreamSlow,
}

/// What each kind is in each dialect: the status; OpenAI's type and code; Anthropic's type; Google's status.
struct Words {
    status: u16,
    openai: (&'static str, &'static str),
    anthropic: &'static str,
    gemini: &'static str,
    again: Again,
}

const INVALID: &str = "invalid_request_error";
const SERVER: &str = "server_error";

/// Whether trying again is of use.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    /// Never: the same will be said.
    No,
    /// As the client thinks right.
    Maybe,
    /// In a moment.
    Soon,
}

impl Kind {
    fn words(self) -> Words {
        let words =
            |status, openai, anthropic, gemini, again| Words { status, openai, anthropic, gemini, again };
        match self {
            Self::Bad => words(400, (INVALID, "invalid_request"), INVALID, "INVALID_ARGUMENT", Again::No),
            Self::Unauthorized => {
                words(401, (INVALID, "invalid_api_key"), "authentication_error", "UNAUTHENTICATED", Again::No)
            }
            Self::Spent => words(
                402,
                ("billing_error", "budget_spent"),
                "billing_error",
                "FAILED_PRECONDITION",
                Again::No,
            ),
            Self::Denied => {
                words(403, (INVALID, "model_not_found"), "permission_error", "PERMISSION_DENIED", Again::No)
            }
            Self::NotFound => words(404, (INVALID, "unknown_url"), "not_found_error", "NOT_FOUND", Again::No),
            Self::Method => {
                words(405, (INVALID, "method_not_allowed"), INVALID, "INVALID_ARGUMENT", Again::No)
            }
            Self::Upgrade => {
                words(426, (INVALID, "upgrade_not_served"), INVALID, "INVALID_ARGUMENT", Again::No)
            }
            Self::TooLarge => {
                words(413, (INVALID, "request_too_large"), "request_too_large", "INVALID_ARGUMENT", Again::No)
            }
            Self::Slow => {
                words(408, (INVALID, "request_timeout"), INVALID, "DEADLINE_EXCEEDED", Again::Maybe)
            }
            Self::Overloaded => {
                words(503, (SERVER, "overloaded"), "overloaded_error", "UNAVAILABLE", Again::Soon)
            }
            Self::Unavailable => {
                words(503, (SERVER, "unavailable"), "api_error", "UNAVAILABLE", Again::Maybe)
            }
            Self::Unreachable | Self::Upstream => {
                words(502, (SERVER, "upstream_failed"), "api_error", "UNAVAILABLE", Again::Maybe)
            }
            Self::UpstreamKey => words(502, (SERVER, "upstream_key"), "api_error", "UNAVAILABLE", Again::No),
            Self::UpstreamDialect => {
                words(400, (INVALID, "dialect_not_served"), INVALID, "INVALID_ARGUMENT", Again::No)
            }
            Self::UpstreamSlow => {
                words(504, (SERVER, "upstream_timeout"), "timeout_error", "DEADLINE_EXCEEDED", Again::Maybe)
            }
        }
    }

    /// Whether it is about the upstream or the gateway itself, and not a refusal of what was asked.
    pub fn is_upstreams(self) -> bool {
        matches!(
            self,
            Self::Unreachable
                | Self::Upstream
                | Self::UpstreamKey
                | Self::UpstreamDialect
                | Self::UpstreamSlow
                | Self::Unavailable
        )
    }

    /// Whether the request could not be made for reasons that are nobody's who asks. Memory is not among them: who sends what is large,
    /// or reads no answers, fills that of a door alone.
    pub fn is_nobodys(self) -> bool {
        matches!(self, Self::Unreachable | Self::UpstreamKey | Self::Unavailable)
    }

    /// The status of the answer.
    pub fn status(self) -> u16 {
        self.words().status
    }
}

impl Refusal {
    /// A refusal with what happened and what to do.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The answer, in a dialect.
    pub fn answer(&self, dialect: Dialect) -> hyper::Response<String> {
        let words = self.kind.words();
        let message = &self.message;
        let body = match dialect {
            Dialect::OpenAi => {
                let (kind, code) = words.openai;
                json!({ "error": { "message": message, "type": kind, "param": Value::Null, "code": code } })
            }
            Dialect::Anthropic => {
                let error = json!({ "type": words.anthropic, "message": message });
                json!({ "type": "error", "error": error, "request_id": Value::Null })
            }
            Dialect::Gemini => {
                json!({ "error": { "code": words.status, "message": message, "status": words.gemini } })
            }
        };
        let mut response = hyper::Response::new(body.to_string());
        *response.status_mut() = StatusCode::from_u16(words.status).unwrap_or(StatusCode::BAD_GATEWAY);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match words.again {
            Again::No => drop(headers.insert("x-should-retry", HeaderValue::from_static("false"))),
            Again::Soon => drop(headers.insert(RETRY_AFTER, HeaderValue::from_static("2"))),
            Again::Maybe => {}
        }
        response
    }
}

/// A number in a message. Clients look for the status of a busy server in messages and try again when they find it, in
/// whatever number it stands: such a number is rounded.
pub fn figure(number: u64) -> String {
    let exact = number.to_string();
    if !exact.contains("429") {
        return exact;
    }
    let unit = 10_u64.pow(u32::try_from(exact.len()).unwrap_or(2).saturating_sub(2));
    format!("about {}", number / unit * unit)
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn each_dialect_has_its_own_shape() {
        let refusal = Refusal::new(Kind::Spent, "spent");
        let said = |dialect| serde_json::from_str::<Value>(refusal.answer(dialect).body()).unwrap();
        assert_eq!(said(Dialect::OpenAi)["error"]["code"], "budget_spent");
        assert_eq!(said(Dialect::Anthropic)["error"]["type"], "billing_error");
        assert_eq!(said(Dialect::Anthropic)["type"], "error");
        assert_eq!(said(Dialect::Gemini)["error"]["code"], 402);
        let answer = refusal.answer(Dialect::OpenAi);
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["x-should-retry"]),
            (402, &"false".parse().unwrap())
        );
    }

    #[test]
    fn no_number_reads_like_the_status_of_a_busy_server() {
        assert_eq!([figure(0), figure(430), figure(429)], ["0", "430", "about 420"]);
        for number in [429, 4290, 14_299, 429_429] {
            assert!(!figure(number).contains("429"), "{number}");
        }
    }
}
