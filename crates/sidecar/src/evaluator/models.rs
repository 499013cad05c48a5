//! The candidates' way to language models: the gateway beside us makes a token for each evaluation, and says what that used.

use taskwright_base::Result;
use taskwright_gateway::{Client, Scope, Token, TokenId, Tokens, Usage, clients};
use taskwright_harbor::child::Environment;
use taskwright_language::serve::ServeConfig;

use crate::api::Models;
use crate::events::Purpose;
use crate::paths::{EVALUATION_DOOR, Paths};
use crate::runner::Job;

/// The gateway, and the names that the spec has for its address and its key.
#[derive(Clone)]
pub struct Way {
    client: Client,
    address: String,
    key: String,
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
    /// The way that a task's candidates have, if they have one.
    pub fn of_candidates(config: &ServeConfig, paths: &Paths) -> Option<Self> {
        Self::of(config, paths).filter(|way| way.scopes.contains(&Scope::Evaluation))
    }

    /// The gateway of a task, if it has one.
    pub fn of(config: &ServeConfig, paths: &Paths) -> Option<Self> {
        let gateway = config.gateway.as_ref()?;
        let scopes = gateway.scopes().filter_map(|(name, _)| name.parse().ok()).collect::<Vec<_>>();
        Some(Self {
            client: Client::new(paths.gateway_socket()),
            address: gateway.upstream_base_url_env.clone(),
            key: gateway.upstream_api_key_env.clone(),
            scopes,
        })
    }

    /// What everybody has left.
    pub fn left(&self) -> Result<Models> {
        let mut models = Models::new();
        for scope in &self.scopes {
            models.extend(self.client.budget(*scope)?.map(|budget| (*scope, budget)));
        }
        Ok(models)
    }

    /// Opens it for an evaluation.
    pub fn open(&self, job: &Job) -> Result<Open<'_>> {
        let scope = match job.purpose {
            Purpose::Optimizer => Scope::Evaluation,
            Purpose::Finalize(_) => Scope::Finalization,
        };
        let (id, token) = self.client.mint(scope, &format!("evaluation {}", job.number))?;
        Ok(Open { way: self, id, token, is_ended: false })
    }
}

impl Open<'_> {
    /// What Harbor finds: the gateway's address and the token, under every name that clients look for.
    pub fn environment(&self, environment: &Environment) -> Environment {
        clients::variables(EVALUATION_DOOR, &self.token, &self.way.address, &self.way.key)
            .into_iter()
            .fold(environment.clone(), |environment, (name, value)| environment.with(name, value))
    }

    /// Whether a request was refused because nothing was left. A gateway that does not answer has refused nothing.
    pub fn is_spent(&self) -> bool {
        self.way.client.usage(self.id).is_ok_and(|usage| usage.spent > 0)
    }

    /// Ends the token, and says what was used.
    pub fn end(mut self) -> Result<Usage> {
        self.is_ended = true;
        self.way.client.revoke(self.id)
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
