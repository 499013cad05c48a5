//! The candidates' way to language models: the gateway beside us makes a token for each evaluation, and says what that used.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use taskwright_base::{Error, Result};
use taskwright_eval::{Cancel, ModelAccess, SampleResult};
use taskwright_gateway::{Client, Door, Scope, Token, TokenId, Tokens, Usage, clients};
use taskwright_language::serve::ServeConfig;

use crate::api::Models;
use crate::door;
use crate::events::Purpose;
use crate::paths::{EVALUATION_DOOR, Paths, SANDBOX_DOOR};
use crate::runner::{Job, Ran, Spent};

/// Who is told of a sample as it finishes.
pub type Finished<'a> = dyn Fn(&SampleResult) + Sync + 'a;

/// The gateway, and the names that the spec has for its address and its key.
#[derive(Clone)]
pub struct Way {
    client: Client,
    door: String,
    address: String,
    key: String,
    /// All secrets of the spec.
    secrets: Vec<String>,
    scopes: Vec<Scope>,
}

/// A token of one evaluation. It ends with this.
pub struct Open<'a> {
    way: &'a Way,
    id: TokenId,
    token: Token,
    is_ended: bool,
}

impl Way {
    /// The gateway of a task, if it has one.
    pub fn of(config: &ServeConfig, paths: &Paths) -> Option<Self> {
        let gateway = config.gateway.as_ref()?;
        let scopes = gateway.scopes().filter_map(|(name, _)| name.parse().ok()).collect::<Vec<_>>();
        Some(Self {
            client: Client::new(paths.gateway_socket()),
            door: EVALUATION_DOOR.to_owned(),
            address: gateway.upstream_base_url_env.clone(),
            key: gateway.upstream_api_key_env.clone(),
            secrets: config.secrets.clone(),
            scopes,
        })
    }

    /// Whether candidates may ask for anything.
    pub fn is_candidates(&self) -> bool {
        self.scopes.contains(&Scope::Evaluation)
    }

    /// What everybody has left.
    pub fn left(&self) -> Result<Models> {
        // Whoever wants to know does not wait for a gateway that is not there.
        let client = self.client.clone().at_once();
        let mut models = Models::new();
        for scope in &self.scopes {
            models.extend(client.budget(*scope)?.map(|budget| (*scope, budget)));
        }
        Ok(models)
    }

    /// Whether candidates can ask for nothing more.
    fn is_spent(&self) -> Result<bool> {
        Ok(self.client.budget(Scope::Evaluation)?.is_some_and(|budget| budget.is_spent()))
    }

    /// Has samples run and scored with a token of their own.
    ///
    /// While the optimizer works, a sample that had a request refused because nothing is left of the budget is none, and those
    /// after it are not run. The final candidate's budget is its own to keep within. A sample whose requests could not be answered for
    /// reasons that are not the candidate's is none. What was used is known of the evaluation, not of a sample: samples go on side by
    /// side, with one token.
    pub fn metered(
        &self,
        job: &Job,
        finished: &Finished<'_>,
        stop: &Cancel,
        run: impl FnOnce(&Open<'_>, &Finished<'_>, &Cancel) -> Result<()>,
    ) -> Result<Ran> {
        let is_optimizers = job.purpose == Purpose::Optimizer;
        if is_optimizers && self.is_spent()? {
            return Ok(Ran { models: None, spent: Some(Spent::Before) });
        }
        let open = self.open(job)?;
        let own = stop.part();
        let (is_spent, trouble) = (AtomicBool::new(false), Mutex::new(None));
        let told = |result: &SampleResult| match open.usage() {
            Ok(Usage { unreachable: 0, spent, .. }) if spent == 0 || !is_optimizers => finished(result),
            Ok(Usage { unreachable: 0, .. }) => {
                is_spent.store(true, Ordering::Relaxed);
                own.cancel();
            }
            usage => {
                let error = usage.err().unwrap_or_else(unreachable);
                *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                own.cancel();
            }
        };
        run(&open, &told, &own)?;
        if let Some(error) = trouble.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let models = open.end();
        if let Err(error) = &models {
            eprintln!(
                "taskwright: what evaluation {} used of language models is not known: {error}",
                job.number
            );
        }
        Ok(Ran { models: models.ok(), spent: is_spent.into_inner().then_some(Spent::Meanwhile) })
    }

    /// Opens it for an evaluation. What an earlier one left open, because its sidecar was killed, is closed: they take turns.
    fn open(&self, job: &Job) -> Result<Open<'_>> {
        let scope = match job.purpose {
            Purpose::Optimizer => Scope::Evaluation,
            Purpose::Finalize(_) => Scope::Finalization,
        };
        self.client.revoke_all(Door::Evaluation)?;
        let (id, token) = self.client.mint(scope, &format!("evaluation {}", job.number))?;
        Ok(Open { way: self, id, token, is_ended: false })
    }
}

fn unreachable() -> Error {
    let what = "language models could not be asked: the upstream cannot be reached, or does not know the key, or the gateway \
                cannot write its journal";
    Error::new(what).hint("the gateway's `requests.jsonl` and what it says on its standard error tell which")
}

impl Open<'_> {
    /// What clients find in their environment: the gateway's address and the token, under every name that they look for. A secret of
    /// the spec's own stays what it is.
    pub fn variables(&self) -> impl Iterator<Item = (&str, String)> {
        let Way { address, key, secrets, client: _, door, scopes: _ } = self.way;
        clients::variables(door, &self.token, address, key)
            .into_iter()
            .filter(|(name, _)| clients::is_free(name, secrets, address, key))
    }

    /// What a candidate in the sandbox gets. No secret reaches it: every name is the gateway's.
    pub fn access(&self) -> Result<ModelAccess> {
        let SocketAddr::V4(gateway) = door::address(&self.way.door)? else {
            return Err(Error::new(format!("the door `{}` has no address of IPv4", self.way.door)));
        };
        let variables = clients::variables(SANDBOX_DOOR, &self.token, &self.way.address, &self.way.key);
        let environment = variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(ModelAccess { gateway, environment })
    }

    /// What was used until now.
    fn usage(&self) -> Result<Usage> {
        self.way.client.usage(self.id)
    }

    /// Ends the token, and says what was used.
    fn end(mut self) -> Result<Usage> {
        let usage = self.way.client.revoke(self.id)?;
        self.is_ended = true;
        Ok(usage)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.is_ended
            && let Err(error) = self.way.client.revoke(self.id)
        {
            eprintln!("taskwright: ending {}: {error}", self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::path::Path;

    use serde_json::json;
    use taskwright_gateway::{Address, Config, Gateway, Key, Setup, Upstream};
    use taskwright_testing::test;

    use super::*;

    const KEY: &str = "a-key-of-the-upstream";
    const CHAT: &str = "/v1/chat/completions";

    /// A model's server that answers every request with one word, for as long as the process lives. It looks for its key where OpenAI's
    /// clients have it, and nowhere else.
    fn upstream() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let body = json!({
                    "object": "chat.completion", "model": "small",
                    "choices": [{"index": 0, "message": {"role": "assistant", "content": "blue"}, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8},
                });
                answer(&stream, &body.to_string());
            }
        });
        address
    }

    fn answer(mut stream: &TcpStream, body: &str) {
        let mut reader = BufReader::new(stream);
        let (mut length, mut status) = (0, "401 Unauthorized");
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim() == format!("authorization: Bearer {KEY}") {
                status = "200 OK";
            }
            if line.trim().is_empty() {
                break;
            }
        }
        reader.read_exact(&mut vec![0; length]).unwrap();
        let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close");
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    }

    /// A gateway that lets candidates ask twice, and the final one as often.
    fn gateway(upstream: SocketAddr, folder: &Path) -> (Gateway, Way) {
        let scope = json!({"allowed_models": ["small"], "max_requests": 2});
        let spec = json!({"evaluation": scope.clone(), "finalization": scope});
        let control = folder.join("control/socket");
        let gateway = Gateway::start(Setup {
            config: Config::of_spec(&serde_json::from_value(spec).unwrap()).unwrap(),
            upstream: Upstream {
                address: Address::new(&format!("http://{upstream}/v1")).unwrap(),
                key: Key::new(KEY).unwrap(),
            },
            state: folder.join("state"),
            producer: None,
            evaluation: Some(([127, 0, 0, 1], 0).into()),
            control: Some(control.clone()),
        })
        .unwrap();
        let way = Way {
            client: Client::new(control),
            door: gateway.address(Door::Evaluation).unwrap().to_string(),
            address: "OPENAI_BASE_URL".to_owned(),
            key: "OPENAI_API_KEY".to_owned(),
            secrets: vec!["GEMINI_API_KEY".to_owned()],
            scopes: vec![Scope::Evaluation, Scope::Finalization],
        };
        (gateway, way)
    }

    /// Asks as a candidate in the sandbox does, of whom the sandbox sees to where it is connected. The status of the answer.
    fn ask(access: &ModelAccess, path: &str) -> String {
        let body = json!({"model": "small", "messages": [{"role": "user", "content": "?"}]}).to_string();
        let mut stream = TcpStream::connect(access.gateway).unwrap();
        let token = &access.environment["OPENAI_API_KEY"];
        let head = format!("POST {path} HTTP/1.1\r\nHost: {SANDBOX_DOOR}\r\nAuthorization: Bearer {token}");
        let head = format!("{head}\r\nContent-Type: application/json\r\nConnection: close");
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said.split(' ').nth(1).unwrap().to_owned()
    }

    fn scored(id: &str) -> SampleResult {
        let result =
            json!({"id": id, "outcome": "scored", "score": 1.0, "metrics": {}, "value": 1.0, "seconds": 0.1});
        serde_json::from_value(result).unwrap()
    }

    /// Runs three samples, each of which asks once at a path, and says what they were answered and which were finished.
    fn run(way: &Way, purpose: Purpose, path: &str) -> (Result<Ran>, Vec<String>, Vec<String>) {
        let job = Job { number: 1, purpose, commit: String::new(), samples: Vec::new() };
        let (answers, done) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        let ran = way.metered(
            &job,
            &|result| done.lock().unwrap().push(result.id.clone()),
            &Cancel::new(),
            |open, finished, stop| {
                let access = open.access()?;
                assert_eq!(access.environment["OPENAI_BASE_URL"], format!("http://{SANDBOX_DOOR}/v1"));
                // A secret of this name is the sidecar's own: in the sandbox there is the token, and Harbor finds the secret.
                assert_eq!(access.environment["GEMINI_API_KEY"], access.environment["OPENAI_API_KEY"]);
                assert!(open.variables().all(|(name, _)| name != "GEMINI_API_KEY"));
                for id in ["a", "b", "c"] {
                    if stop.is_cancelled() {
                        break;
                    }
                    answers.lock().unwrap().push(ask(&access, path));
                    finished(&scored(id));
                }
                Ok(())
            },
        );
        (ran, answers.into_inner().unwrap(), done.into_inner().unwrap())
    }

    #[test]
    fn an_evaluation_that_comes_to_the_end_of_the_budget_stops_there_and_the_next_does_not_begin() {
        let folder = tempfile::tempdir().unwrap();
        let (gateway, way) = gateway(upstream(), folder.path());
        let (ran, answers, done) = run(&way, Purpose::Optimizer, CHAT);
        let ran = ran.unwrap();
        assert_eq!(
            (answers, done),
            (vec!["200".into(), "200".into(), "402".to_owned()], vec!["a".into(), "b".to_owned()])
        );
        assert_eq!(ran.spent, Some(Spent::Meanwhile));
        let used = ran.models.unwrap();
        assert_eq!((used.requests, used.tokens.input, used.tokens.output, used.spent), (2, 14, 2, 1));
        let (ran, answers, _) = run(&way, Purpose::Optimizer, CHAT);
        assert_eq!((ran.unwrap().spent, answers.len()), (Some(Spent::Before), 0));
        // The final candidate has a budget of its own, and whatever it does with it counts.
        let (ran, answers, done) = run(&way, Purpose::Finalize("test".to_owned()), CHAT);
        assert_eq!((ran.unwrap().spent, answers.len(), done.len()), (None, 3, 3));
        gateway.stop(std::time::Duration::ZERO);
    }

    #[test]
    fn a_candidate_cannot_have_its_evaluation_given_back_by_what_it_asks_for() {
        let folder = tempfile::tempdir().unwrap();
        let (gateway, way) = gateway(upstream(), folder.path());
        for path in ["/v1/messages/count_tokens", "/v1beta/models/small:countTokens", "/v1/files"] {
            let (ran, answers, done) = run(&way, Purpose::Optimizer, path);
            assert!(answers.iter().all(|status| status.starts_with('4')), "{path}: {answers:?}");
            assert_eq!((ran.unwrap().spent, done.len()), (None, 3), "{path}");
        }
        gateway.stop(std::time::Duration::ZERO);
    }

    #[test]
    fn an_upstream_that_is_not_there_is_no_failure_of_the_candidate() {
        let folder = tempfile::tempdir().unwrap();
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (gateway, way) = gateway(gone, folder.path());
        let (ran, answers, done) = run(&way, Purpose::Optimizer, CHAT);
        assert_eq!((answers.len(), done.len()), (1, 0));
        assert!(ran.unwrap_err().to_string().contains("language models could not be asked"));
        gateway.stop(std::time::Duration::ZERO);
    }
}
