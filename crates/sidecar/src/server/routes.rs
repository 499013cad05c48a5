//! The paths of the API.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRef, RawQuery, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use serde::Serialize;

use super::answer::{Answer, LARGE, MOST_JSON, Name, SMALL, answer, blocking, read};
use super::memory::Memory;
use super::upload::Turns;
use super::{events, upload};
use crate::api::{NewEvaluation, Nomination, PREFIX};
use crate::problem::{Kind, Problem};
use crate::service::{Service, parse_id};

type Shared = State<Arc<Service>>;

/// What a JSON body may have that lists samples, however many there are.
const MOST_LISTED: usize = 4 << 20;

#[derive(Clone)]
struct Server {
    service: Arc<Service>,
    memory: Memory,
    turns: Turns,
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

impl FromRef<Server> for Turns {
    fn from_ref(server: &Server) -> Self {
        server.turns.clone()
    }
}

/// The API. Nothing in it is privileged.
pub fn routes(service: Arc<Service>) -> Router {
    routes_within(service, Memory::new(), Turns::new())
}

pub(super) fn routes_within(service: Arc<Service>, memory: Memory, turns: Turns) -> Router {
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
        .with_state(Server { service, memory, turns });
    Router::new().nest(PREFIX, api).fallback(no_path)
}

/// What is answered where the state is damaged.
pub fn refusals() -> Router {
    Router::new().fallback(|| async { Problem::new(Kind::Damaged, "", "") })
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

async fn health(State(memory): State<Memory>) -> Answer {
    let health = Health { status: "ok", version: env!("CARGO_PKG_VERSION") };
    answer(&memory, SMALL, async || Ok((StatusCode::OK, health))).await
}

async fn plan(State(service): Shared, State(memory): State<Memory>) -> Answer {
    answer(&memory, LARGE, async || Ok((StatusCode::OK, crate::rules::plan(&service)))).await
}

async fn status(State(service): Shared, State(memory): State<Memory>) -> Answer {
    // The gateway is asked, too, and may take its time.
    answer(&memory, LARGE, async || Ok((StatusCode::OK, blocking(move || Ok(service.status())).await?))).await
}

async fn candidate(State(service): Shared, State(memory): State<Memory>, Name(commit): Name) -> Answer {
    answer(&memory, SMALL, async || Ok((StatusCode::OK, service.candidate(&commit)?))).await
}

async fn list(State(service): Shared, State(memory): State<Memory>, RawQuery(query): RawQuery) -> Answer {
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
    answer(&memory, LARGE, async || Ok((StatusCode::OK, service.list(from)))).await
}

/// How long the body is that names every sample of the largest split, each character escaped.
fn most_to_evaluate(service: &Service) -> usize {
    let named = |ids: &Vec<String>| ids.iter().map(|id| id.len().saturating_mul(6) + 3).sum::<usize>();
    service.evaluable().map(|(_, split)| named(&split.samples)).max().unwrap_or(0).saturating_add(MOST_JSON)
}

async fn create(State(service): Shared, State(memory): State<Memory>, body: Body) -> Answer {
    let most = most_to_evaluate(&service).min(MOST_LISTED);
    let (asked, _share): (NewEvaluation, _) = read(body, most, &memory).await?;
    answer(&memory, SMALL, async || {
        let evaluation = blocking(move || service.evaluate(&asked.commit, &asked.split, &asked.samples));
        Ok((StatusCode::CREATED, evaluation.await?))
    })
    .await
}

async fn show(State(service): Shared, State(memory): State<Memory>, Name(id): Name) -> Answer {
    let number = parse_id(&id)?;
    answer(&memory, SMALL, async || Ok((StatusCode::OK, service.evaluation(number)?))).await
}

async fn cancel(State(service): Shared, State(memory): State<Memory>, Name(id): Name) -> Answer {
    let number = parse_id(&id)?;
    answer(&memory, SMALL, async || Ok((StatusCode::OK, blocking(move || service.cancel(number)).await?)))
        .await
}

async fn submit(State(service): Shared, State(memory): State<Memory>, body: Body) -> Answer {
    let (asked, _share): (Nomination, _) = read(body, MOST_JSON, &memory).await?;
    answer(&memory, SMALL, async || {
        Ok((StatusCode::OK, blocking(move || service.submit(&asked.commit)).await?))
    })
    .await
}
