//! Answers: JSON, and problems as `application/problem+json`; and requests' bodies, bounded in size and time.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body::Frame;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::memory::{Memory, Share};
use crate::api::PROBLEM;
use crate::problem::{Kind, Problem};

/// What a JSON body may have that lists no samples.
pub const MOST_JSON: usize = 64 << 10;
/// What an answer of one thing takes, most likely. So much every connection has without asking for it.
pub const SMALL: usize = 8 << 10;
/// What an answer of many things takes, most likely.
pub const LARGE: usize = 512 << 10;
/// How much more memory the value of a JSON body may take than its text: a list of samples with the shortest ids.
const EXPANSION: usize = 14;
/// How long a JSON body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The variable part of a path, as the client wrote it.
pub struct Name(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(rejection) => {
                let detail = format!("the path is not understood: {rejection}");
                Err(Problem::new(Kind::Usage, detail, "use the `taskwright` command"))
            }
        }
    }
}

/// What a handler gives.
pub type Answer = Result<Response, Problem>;

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.log();
        let body = serde_json::to_vec(&self.to_wire()).unwrap_or_default();
        let status = StatusCode::from_u16(self.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, [(header::CONTENT_TYPE, PROBLEM)], body).into_response();
        if self.kind == Kind::Overloaded {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }
}

/// Makes an answer within the memory that there is for all: it is not made before about what it takes is free, and what it
/// really takes is given back when it is sent, or nobody waits for it any more.
pub async fn answer<T: Serialize>(
    memory: &Memory,
    about: usize,
    make: impl AsyncFnOnce() -> Result<(StatusCode, T), Problem>,
) -> Answer {
    let share = if about > SMALL { Some(memory.take_for_answer(about).await?) } else { None };
    let (status, value) = make().await?;
    let body = serde_json::to_vec(&value)
        .map_err(|error| Problem::new(Kind::Broken, format!("writing the answer: {error}"), "try again"))?;
    let body = if share.is_none() && body.len() <= SMALL {
        Bytes::from(body)
    } else {
        memory.grow(share, body.len())?.keep(body)
    };
    Ok((status, [(header::CONTENT_TYPE, "application/json")], Body::from(body)).into_response())
}

/// Reads a body of at most so many bytes as JSON, with the share of the memory that its value takes.
pub async fn read<T: DeserializeOwned>(
    body: Body,
    most: usize,
    memory: &Memory,
) -> Result<(T, Option<Share>), Problem> {
    let received = tokio::time::timeout(BODY_TIMEOUT, receive(body, most, memory)).await;
    let (bytes, share) = received.map_err(|_| too_slow())??;
    let value = serde_json::from_slice(&bytes).map_err(|error| {
        Problem::new(
            Kind::Usage,
            format!("the body is not what is expected here: {error}"),
            "send JSON with the documented fields and no others",
        )
    })?;
    Ok((value, share))
}

async fn receive(mut body: Body, most: usize, memory: &Memory) -> Result<(Vec<u8>, Option<Share>), Problem> {
    let (mut bytes, mut share) = (Vec::new(), None);
    let unreadable = |why: &dyn std::fmt::Display| {
        Problem::new(
            Kind::TooLarge,
            format!("the body cannot be read: {why}"),
            format!("the body of this request has at most {most} bytes"),
        )
    };
    while let Some(frame) = next(&mut body).await {
        let Ok(data) = frame.map_err(|error| unreadable(&error))?.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return Err(unreadable(&"it is too long"));
        }
        memory.add(&mut share, data.len() * EXPANSION).await?;
        bytes.extend_from_slice(&data);
    }
    Ok((bytes, share))
}

pub async fn next(body: &mut Body) -> Option<Result<Frame<Bytes>, axum::Error>> {
    std::future::poll_fn(|context| std::pin::Pin::new(&mut *body).poll_frame(context)).await
}

/// The problem of a body that does not arrive.
pub fn too_slow() -> Problem {
    Problem::new(Kind::Usage, "the body did not arrive in time", "send it at once")
}

/// Runs something that waits for the disk where waiting holds nobody up.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(Problem::new(Kind::Broken, format!("the service failed: {error}"), "try again"))
    })
}
