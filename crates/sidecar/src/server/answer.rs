//! Answers: JSON, and problems as `application/problem+json`; and requests' bodies, bounded in size and time.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::PROBLEM;
use crate::problem::{Kind, Problem};

/// The largest JSON body.
const MOST_JSON: usize = 4 << 20;
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
        (status, [(header::CONTENT_TYPE, PROBLEM)], body).into_response()
    }
}

/// An answer as JSON.
pub fn json<T: Serialize>(status: StatusCode, value: &T) -> Answer {
    let body = serde_json::to_vec(value)
        .map_err(|error| Problem::new(Kind::Broken, format!("writing the answer: {error}"), "try again"))?;
    Ok((status, [(header::CONTENT_TYPE, "application/json")], body).into_response())
}

pub async fn read<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    let bytes = match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, MOST_JSON)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => {
            return Err(Problem::new(
                Kind::TooLarge,
                format!("the body cannot be read: {error}"),
                format!("a request's body has at most {MOST_JSON} bytes"),
            ));
        }
        Err(_) => return Err(too_slow()),
    };
    serde_json::from_slice(&bytes).map_err(|error| {
        Problem::new(
            Kind::Usage,
            format!("the body is not what is expected here: {error}"),
            "send JSON with the documented fields and no others",
        )
    })
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
