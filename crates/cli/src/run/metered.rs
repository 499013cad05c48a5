//! The gateway beside an experiment's Harbor: started before it, found by its agents in their environment, ended with it.

use std::env;

use anyhow::Context as _;
use serde_json::{Value, json};
use taskwright_experiment::dispatch::{Checked, Harbor};
use taskwright_experiment::jobs::Job;
use taskwright_experiment::model::{Experiment, Gateway};
use taskwright_experiment::plan::Prepared;
use taskwright_experiment::routes;
use taskwright_gateway::{Config, Money, Upstream, Usage};

use crate::gateway::host::{self, HostGateway};
use crate::output::say;

/// A gateway that runs beside an experiment.
pub struct Metered<'a> {
    said: &'a Gateway,
    host: HostGateway,
}

/// What a gateway's journal is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// What is used counts for the job, today and when it goes on.
    Journal,
    /// Nothing is used: something is looked at.
    Nothing,
}

/// The gateway of an experiment, before it is started.
pub struct Ready<'a> {
    experiment: &'a Experiment,
    said: &'a Gateway,
    config: Config,
    upstream: Upstream,
}

/// Looks for what the gateway of an experiment needs, if its manifest has one. Nothing is written.
pub fn ready(experiment: &Experiment) -> anyhow::Result<Option<Ready<'_>>> {
    let Some(said) = &experiment.gateway else { return Ok(None) };
    let spec = said.as_of_spec();
    let upstream = Upstream::from_env(&spec.upstream_base_url_env, &spec.upstream_api_key_env)?;
    Ok(Some(Ready { experiment, said, config: Config::of_spec(&spec)?, upstream }))
}

impl<'a> Ready<'a> {
    /// Starts it. To keep its journal takes the job's lock.
    pub fn start(self, job: &Job, keep: Keep) -> anyhow::Result<Metered<'a>> {
        let Self { experiment, said, config, upstream } = self;
        let listen = host::address(&experiment.compute.backend);
        let host = match keep {
            Keep::Nothing => HostGateway::start(config, upstream, listen, &job.name),
            Keep::Journal => {
                HostGateway::start_in(job.gateway().as_std_path(), config, upstream, listen, &job.name)
            }
        };
        let host = host.with_context(|| format!("starting the gateway at {}", listen.ip()))?;
        Ok(Metered { said, host })
    }
}

impl Metered<'_> {
    /// What Harbor finds in its environment instead of the upstream's address and key.
    pub fn variables(&self) -> Vec<(String, String)> {
        let Gateway { upstream_base_url_env: address, upstream_api_key_env: key, .. } = self.said;
        // The key may be there under another name as well.
        let value = env::var(key).unwrap_or_default();
        let twins = env::vars_os().filter_map(|(name, twin)| {
            let is_one = !value.is_empty() && twin.to_str().is_some_and(|twin| twin.trim() == value.trim());
            is_one.then(|| name.into_string().ok()).flatten()
        });
        let twins = twins.map(|name| (name, self.host.token().to_owned()));
        let own = self.host.variables(address, key);
        twins.chain(own.into_iter().map(|(name, value)| (name.to_owned(), value))).collect()
    }

    /// Refuses agents that Harbor would not send to the gateway. Says which tasks would ask through it themselves.
    pub fn check(&self, prepared: &Prepared, checked: &Checked) -> anyhow::Result<()> {
        let variables = self.variables();
        let is_token = |name: &str| variables.iter().any(|(known, _)| known == name);
        routes::check(&prepared.config.agents, &checked.endpoints, &self.host.root(), is_token)?;
        prepared.taken.iter().filter_map(|taken| taken.warning(is_token)).for_each(|warning| say(&warning));
        Ok(())
    }

    /// What nothing that is kept may hold.
    pub fn token(&self) -> &str {
        self.host.token()
    }

    /// What the job's agents have spent, today and before.
    pub fn spent(&self) -> anyhow::Result<Money> {
        Ok(self.host.spent()?)
    }

    /// Ends it. Says what was used.
    pub fn end(self) -> anyhow::Result<Used> {
        let (usage, in_all) = self.host.end()?;
        Ok(Used { usage, in_all })
    }
}

/// What the agents used of language models.
pub struct Used {
    /// In this run.
    usage: Usage,
    /// What the job has cost, with its earlier runs.
    pub in_all: Money,
}

impl Used {
    /// Says it.
    pub fn tell(&self) {
        let earlier = self.in_all > self.usage.cost;
        let all =
            if earlier { format!("; {} with earlier runs of this job", self.in_all) } else { String::new() };
        say(&format!("models: {}{all}", self.usage));
        if self.usage.spent > 0 {
            say(
                "some were refused because what `gateway.agents` allows is used up: those trials have failed of it",
            );
        }
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        json!({"usage": self.usage, "cost_in_all": self.in_all})
    }
}

/// A Harbor that finds the gateway, where there is one.
pub fn beside(harbor: Harbor, metered: Option<&Metered<'_>>) -> Harbor {
    match metered {
        Some(metered) => harbor.with(metered.variables()),
        None => harbor,
    }
}
