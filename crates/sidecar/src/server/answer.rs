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

const MOST_JSON: usize = 4 << 20;
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
        let body = serde_json::to_vec(&self.to_wire()).unwrap_or_default();
        let status = StatusCode::from_u16(self.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, [(header::CONTENT_TYPE, PROBLEM)], body).into_response();
        if self.kind == Kind::Overloaded {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }
}

pub fn json<T: Serialize>(status: StatusCode, value: &T) -> Answer {
    let body = serde_json::to_vec(value)
        .map_err(|error| Problem::new(Kind::Broken, format!("writing the answer: {error}"), "try again"))?;
    Ok((status, [(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// Reads a body as JSON, with the share of the memory that its value takes.
pub async fn read<T: DeserializeOwned>(body: Body, memory: &Memory) -> Result<(T, Option<Share>), Problem> {
    let received = tokio::time::timeout(BODY_TIMEOUT, receive(body, memory)).await;
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

async fn receive(mut body: Body, memory: &Memory) -> Result<(Vec<u8>, Option<Share>), Problem> {
    let (mut bytes, mut share) = (Vec::new(), None);
    let unreadable = |why: &dyn std::fmt::Display| {
        Problem::new(
            Kind::TooLarge,
            format!("the body cannot be read: {why}"),
            format!("a request's body has at most {MOST_JSON} bytes"),
        )
    };
    while let Some(frame) = next(&mut body).await {
        let Ok(data) = frame.map_err(|error| unreadable(&error))?.into_data() else { continue };
        if bytes.len() + data.len() > MOST_JSON {
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
