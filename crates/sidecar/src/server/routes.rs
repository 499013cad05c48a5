//! The paths of the API.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRef, RawQuery, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use serde::Serialize;

use super::answer::{Answer, Name, blocking, json, read};
use super::memory::Memory;
use super::{events, upload};
use crate::api::{NewEvaluation, Nomination, PREFIX};
use crate::problem::{Kind, Problem};
use crate::service::{Service, parse_id};

type Shared = State<Arc<Service>>;

#[derive(Clone)]
struct Server {
    service: Arc<Service>,
    memory: Memory,
}

impl FromRef<Server> for Arc<Service> {
    fn from_ref(server: &Server) -> Self {
        Arc::clone(&server.service)
    }
}

impl FromRef<Server> for Memory {
    fn from_ref(server: &Server) -> Self {
        server.memory.clone()
    }
}

/// The API. Nothing in it is privileged.
pub fn routes(service: Arc<Service>) -> Router {
    routes_within(service, Memory::new())
}

pub(super) fn routes_within(service: Arc<Service>, memory: Memory) -> Router {
    let api = Router::new()
        .route("/health", get(health))
        .route("/plan", get(plan))
        .route("/status", get(status))
        .route("/candidates/{commit}", get(candidate).put(upload::upload))
        .route("/evaluations", get(list).post(create))
        .route("/evaluations/{id}", get(show))
        .route("/evaluations/{id}/cancel", post(cancel))
        .route("/evaluations/{id}/events", get(events::follow))
        .route("/evaluations/{id}/samples", get(events::samples))
        .route("/submit", post(submit))
        .method_not_allowed_fallback(no_method)
        .with_state(Server { service, memory });
    Router::new().nest(PREFIX, api).fallback(no_path)
}

/// What is answered where the state is damaged: why there is no service.
pub fn refusals(why: &str) -> Router {
    let why = why.to_owned();
    Router::new().fallback(move || {
        let problem = Problem::new(Kind::Broken, why.clone(), "nothing is evaluated or submitted any more");
        async { problem }
    })
}

async fn no_path() -> Problem {
    Problem::new(Kind::NotFound, "there is nothing at this path", "the paths begin with `/v1`")
}

async fn no_method() -> Problem {
    Problem::new(Kind::Usage, "this path does not take this method", "use the `taskwright` command")
}

#[derive(Serialize)]
struct Health {
    status: &'static str,
    version: &'static str,
}

async fn health() -> Answer {
    json(StatusCode::OK, &Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

async fn plan(State(service): Shared) -> Answer {
    json(StatusCode::OK, &crate::rules::plan(&service))
}

async fn status(State(service): Shared) -> Answer {
    json(StatusCode::OK, &service.status())
}

async fn candidate(State(service): Shared, Name(commit): Name) -> Answer {
    json(StatusCode::OK, &service.candidate(&commit)?)
}

async fn list(State(service): Shared, RawQuery(query): RawQuery) -> Answer {
    let from = match query.as_deref() {
        None | Some("") => Some(0),
        Some(query) => query.strip_prefix("from=").and_then(|from| from.parse().ok()),
    };
    let from = from.ok_or_else(|| {
        Problem::new(
            Kind::Usage,
            "the query is not understood",
            "write `?from=N`, where a page says it goes on",
        )
    })?;
    json(StatusCode::OK, &service.list(from))
}

async fn create(State(service): Shared, State(memory): State<Memory>, body: Body) -> Answer {
    let (asked, _share): (NewEvaluation, _) = read(body, &memory).await?;
    let evaluation = blocking(move || service.evaluate(&asked.commit, &asked.split, &asked.samples)).await?;
    json(StatusCode::CREATED, &evaluation)
}

async fn show(State(service): Shared, Name(id): Name) -> Answer {
    json(StatusCode::OK, &service.evaluation(parse_id(&id)?)?)
}

async fn cancel(State(service): Shared, Name(id): Name) -> Answer {
    let number = parse_id(&id)?;
    json(StatusCode::OK, &blocking(move || service.cancel(number)).await?)
}

async fn submit(State(service): Shared, State(memory): State<Memory>, body: Body) -> Answer {
    let (asked, _share): (Nomination, _) = read(body, &memory).await?;
    json(StatusCode::OK, &blocking(move || service.submit(&asked.commit)).await?)
}
