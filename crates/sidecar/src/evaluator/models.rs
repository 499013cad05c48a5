//! The candidates' way to language models: the gateway beside us makes a token for each evaluation, and says what that used.

use taskwright_base::Result;
use taskwright_gateway::{Client, Door, Scope, Token, TokenId, Tokens, Usage, clients};
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
    pub fn is_spent(&self) -> Result<bool> {
        Ok(self.client.budget(Scope::Evaluation)?.is_some_and(|budget| budget.is_spent()))
    }

    /// Opens it for an evaluation. What an earlier one left open, because its sidecar was killed, is closed: they take turns.
    pub fn open(&self, job: &Job) -> Result<Open<'_>> {
        let scope = match job.purpose {
            Purpose::Optimizer => Scope::Evaluation,
            Purpose::Finalize(_) => Scope::Finalization,
        };
        self.client.revoke_all(Door::Evaluation)?;
        let (id, token) = self.client.mint(scope, &format!("evaluation {}", job.number))?;
        Ok(Open { way: self, id, token, is_ended: false })
    }
}

impl Open<'_> {
    /// What Harbor finds: the gateway's address and the token, under every name that clients look for. A secret of the spec's own stays
    /// what it is.
    pub fn environment(&self, environment: &Environment) -> Environment {
        let Way { address, key, secrets, client: _, scopes: _ } = self.way;
        clients::variables(EVALUATION_DOOR, &self.token, address, key)
            .into_iter()
            .filter(|(name, _)| clients::is_free(name, secrets, address, key))
            .fold(environment.clone(), |environment, (name, value)| environment.with(name, value))
    }

    /// What was used until now.
    pub fn usage(&self) -> Result<Usage> {
        self.way.client.usage(self.id)
    }

    /// Ends the token, and says what was used.
    pub fn end(mut self) -> Result<Usage> {
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
