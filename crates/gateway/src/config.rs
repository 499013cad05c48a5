//! What a gateway is told: who may ask for which models, how much they may use, and how patient it is.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use taskwright_base::text::one_of;
use taskwright_base::{Error, Result};
use taskwright_language::model::{self, GatewayScope, Limit, ModelPrice, lone_finalization, without_price};

use crate::money::{CostLimit, Money, Price};
use crate::request::headers::Account;
use crate::scope::{Door, Scope};

/// What a gateway is told. It holds no secret, so it can stand in a built file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Other names for models: what a client asks for, and what the upstream is asked for.
    #[serde(default)]
    pub model_aliases: BTreeMap<String, String>,
    /// What models cost, under the name that a client uses or the one that the upstream does.
    #[serde(default)]
    pub prices: BTreeMap<String, Price>,
    /// Whether the upstream's own word for what a request cost is taken where it says it: a LiteLLM proxy does.
    #[serde(default)]
    pub upstream_says_cost: bool,
    /// Whether the log of requests says for whom each was.
    #[serde(default)]
    pub request_log_attribution: bool,
    /// What the optimizer may use; without it there is no door for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub producer: Option<ScopeConfig>,
    /// What candidates may use while the optimizer works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<ScopeConfig>,
    /// What candidates may use while the final one is scored; without it, what `evaluation` has left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finalization: Option<ScopeConfig>,
    /// How large things may be.
    #[serde(default)]
    pub sizes: Sizes,
    /// How patient it is.
    #[serde(default)]
    pub patience: Patience,
}

/// What one scope may use.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScopeConfig {
    /// The models it may ask for, as its clients call them.
    pub allowed_models: Vec<String>,
    /// Other names for models, for this scope alone; they go before the common ones.
    #[serde(default)]
    pub model_aliases: BTreeMap<String, String>,
    /// The most requests.
    #[serde(default)]
    pub max_requests: Limit,
    /// The most tokens, in and out.
    #[serde(default)]
    pub max_tokens: Limit,
    /// The most money. Every allowed model needs a price then.
    #[serde(default)]
    pub max_cost: CostLimit,
    /// The most requests at once; more wait.
    #[serde(default)]
    pub max_concurrency: Limit,
    /// Whether tools may be used that the upstream runs itself, such as a search of the web: they are a way out into the network,
    /// and cost what no token shows.
    #[serde(default)]
    pub hosted_tools: bool,
}

/// How large things may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sizes {
    /// The body of a request, in bytes.
    pub request: usize,
    /// An answer that is not a stream, in bytes.
    pub answer: usize,
    /// All that is kept for all clients of a door together, in bytes; one answer may go beyond it.
    pub memory: usize,
    /// How many tokens a request is taken to produce that does not say how many it may.
    pub output_tokens: u64,
    /// How many connections may be open at each door; more wait.
    pub connections: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            request: 16 << 20,
            answer: 64 << 20,
            memory: 128 << 20,
            output_tokens: 4096,
            connections: 4096,
        }
    }
}

/// How long the gateway waits, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Patience {
    /// For a connection to the upstream.
    pub connect: f64,
    /// For the upstream to begin its answer.
    pub answer: f64,
    /// For the upstream to go on with it.
    pub stream: f64,
    /// For a client to send a request's head, or the next request.
    pub head: f64,
    /// For a client to send a request's body.
    pub body: f64,
    /// For a client to read something of what it is sent.
    pub reader: f64,
    /// For the memory that a request needs.
    pub memory: f64,
}

impl Default for Patience {
    fn default() -> Self {
        let (connect, answer, stream) = (10.0, 900.0, 300.0);
        Self { connect, answer, stream, head: 75.0, body: 60.0, reader: 60.0, memory: 90.0 }
    }
}

fn dollars(dollars: f64) -> Result<Money> {
    Money::dollars(dollars)
        .ok_or_else(|| Error::new("an amount is a number of US dollars, at most a million"))
}

fn price(said: &ModelPrice) -> Result<Price> {
    Ok(Price {
        input: dollars(said.input)?,
        cached_input: said.cached_input.map(dollars).transpose()?,
        cache_write: said.cache_write.map(dollars).transpose()?,
        output: dollars(said.output)?,
    })
}

fn scope(said: &GatewayScope) -> Result<ScopeConfig> {
    // Taken apart by name, so that a new field cannot be forgotten.
    let GatewayScope {
        allowed_models,
        model_aliases,
        max_requests,
        max_tokens,
        max_cost,
        max_concurrency,
        hosted_tools,
    } = said.clone();
    Ok(ScopeConfig {
        allowed_models,
        model_aliases,
        max_requests,
        max_tokens,
        max_cost: max_cost.map(dollars).transpose()?.map_or(CostLimit::Unlimited, CostLimit::AtMost),
        max_concurrency,
        hosted_tools,
    })
}

/// Seconds, which [`Config::check`] has seen to be some.
pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(1))
}

impl Config {
    /// What a spec says.
    ///
    /// # Errors
    /// An amount of money is none.
    pub fn of_spec(spec: &model::Gateway) -> Result<Self> {
        let prices = spec.prices.iter().map(|(model, said)| Ok((model.clone(), price(said)?)));
        let user = |said: &Option<GatewayScope>| said.as_ref().map(scope).transpose();
        Ok(Self {
            model_aliases: spec.model_aliases.clone(),
            prices: prices.collect::<Result<_>>()?,
            request_log_attribution: spec.request_log_attribution,
            producer: user(&spec.producer)?,
            evaluation: user(&spec.evaluation)?,
            finalization: user(&spec.finalization)?,
            ..Self::default()
        })
    }

    /// What a scope may use, and the scope whose budget that is; none if it may use nothing.
    pub fn scope(&self, scope: Scope) -> Option<(&ScopeConfig, Scope)> {
        let found = |config: &'_ Option<ScopeConfig>, scope| config.is_some().then_some(scope);
        let pool = match scope {
            Scope::Producer => found(&self.producer, scope),
            Scope::Evaluation => found(&self.evaluation, scope),
            Scope::Finalization => {
                found(&self.finalization, scope).or_else(|| found(&self.evaluation, Scope::Evaluation))
            }
        }?;
        let config = match pool {
            Scope::Producer => &self.producer,
            Scope::Evaluation => &self.evaluation,
            Scope::Finalization => &self.finalization,
        };
        config.as_ref().map(|config| (config, pool))
    }

    /// The scopes that have a budget of their own.
    pub fn pools(&self) -> impl Iterator<Item = (Scope, &ScopeConfig)> {
        Scope::ALL.iter().filter_map(|&scope| {
            let (config, pool) = self.scope(scope)?;
            (pool == scope).then_some((scope, config))
        })
    }

    /// What a client at a door may learn of the upstream's account. Candidates see what is held out, and ask with the same key as the
    /// optimizer: it would learn by the account what they tell it by what they use up.
    pub fn account(&self, door: Door) -> Account {
        let has_candidates = self.pools().any(|(scope, _)| scope.door() == Door::Evaluation);
        if door == Door::Producer && has_candidates { Account::Hidden } else { Account::Open }
    }

    /// What the upstream is asked for when a client of a scope asks for a model.
    pub fn upstream_model<'a>(&'a self, scope: &'a ScopeConfig, model: &'a str) -> &'a str {
        model::upstream_model(&scope.model_aliases, &self.model_aliases, model)
    }

    /// What a model costs, if that is known.
    pub fn price(&self, model: &str, upstream: &str) -> Option<&Price> {
        self.prices.get(model).or_else(|| self.prices.get(upstream))
    }

    /// Whether it makes sense.
    ///
    /// # Errors
    /// Nobody may ask for anything, a limit cannot be kept, or a wait or a size is none.
    pub fn check(&self) -> Result<()> {
        if self.pools().next().is_none() {
            return Err(Error::new("nobody may use the gateway: it has neither `producer` nor `evaluation`"));
        }
        if let Some(why) = lone_finalization(self.finalization.as_ref(), self.evaluation.as_ref()) {
            return Err(Error::new(why).at(&["finalization"]));
        }
        for (scope, config) in self.pools() {
            if config.allowed_models.is_empty() {
                return Err(Error::new("no model may be asked for")
                    .at(&[scope.word(), "allowed_models"])
                    .hint("name at least one"));
            }
            let upstream = |model| self.upstream_model(config, model);
            let is_priced = |model: &str| self.prices.contains_key(model);
            let unknown = without_price(&config.allowed_models, upstream, is_priced);
            if config.max_cost.at_most().is_some() && !unknown.is_empty() {
                return Err(Error::new(format!(
                    "`max_cost` cannot be kept without a price of {}",
                    one_of(unknown)
                ))
                .at(&[scope.word(), "max_cost"])
                .hint("add them to `prices`, in US dollars for a million tokens"));
            }
        }
        let Patience { connect, answer, stream, head, body, reader, memory } = self.patience;
        for (name, wait) in [
            ("connect", connect),
            ("answer", answer),
            ("stream", stream),
            ("head", head),
            ("body", body),
            ("reader", reader),
            ("memory", memory),
        ] {
            if !(0.001..=1e6).contains(&wait) {
                return Err(Error::new("a wait is a number of seconds above 0").at(&["patience", name]));
            }
        }
        let Sizes { request, answer, memory, output_tokens: _, connections } = self.sizes;
        if request == 0 || answer == 0 || connections == 0 || memory < request.max(answer) {
            return Err(Error::new("`sizes.memory` must hold the largest request and the largest answer")
                .at(&["sizes", "memory"]));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    fn config(json: serde_json::Value) -> Config {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn finalization_without_limits_of_its_own_uses_what_evaluation_has_left() {
        let mut config =
            config(serde_json::json!({ "evaluation": { "allowed_models": ["m"], "max_requests": 3 } }));
        config.check().unwrap();
        assert_eq!(config.scope(Scope::Finalization).unwrap().1, Scope::Evaluation);
        assert!(config.scope(Scope::Producer).is_none());
        config.finalization.clone_from(&config.evaluation);
        assert_eq!(config.scope(Scope::Finalization).unwrap().1, Scope::Finalization);
        assert_eq!(config.pools().count(), 2);
    }

    #[test]
    fn a_limit_that_cannot_be_kept_is_an_error() {
        let said = |json| config(json).check().unwrap_err().to_string();
        let scope = serde_json::json!({ "allowed_models": ["m", "n"], "max_cost": 1.5 });
        let prices = serde_json::json!({ "up/m": { "input": 1, "output": 2 } });
        assert_eq!(
            said(
                serde_json::json!({ "producer": scope, "prices": prices, "model_aliases": { "m": "up/m" } })
            ),
            "`max_cost` cannot be kept without a price of `n`"
        );
        assert!(said(serde_json::json!({})).starts_with("nobody"));
        let scope = serde_json::json!({ "allowed_models": ["m"] });
        assert!(
            said(serde_json::json!({ "producer": scope, "patience": { "answer": 0.0 } })).contains("wait")
        );
        assert!(said(serde_json::json!({ "producer": scope, "finalization": scope })).contains("needs"));
    }

    #[test]
    fn a_spec_says_all_of_it() {
        let said = serde_json::json!({
            "model_aliases": { "n": "up/n" },
            "prices": { "m": { "input": 0.5, "output": 2.0, "cached_input": 0.1 } },
            "evaluation": {
                "allowed_models": ["m"], "model_aliases": { "m": "up/m" }, "max_requests": 3, "max_tokens": 4,
                "max_cost": 1.5, "max_concurrency": 2, "hosted_tools": true,
            },
        });
        let config = Config::of_spec(&serde_json::from_value(said.clone()).unwrap()).unwrap();
        assert_eq!(config, self::config(said));
        config.check().unwrap();
        let wrong = serde_json::json!({ "producer": { "allowed_models": ["m"], "max_cost": -1.0 } });
        assert!(Config::of_spec(&serde_json::from_value(wrong).unwrap()).is_err());
    }

    #[test]
    fn an_alias_of_a_scope_goes_before_a_common_one() {
        let scope = serde_json::json!({ "allowed_models": ["m"], "model_aliases": { "m": "own" } });
        let config =
            config(serde_json::json!({ "producer": scope, "model_aliases": { "m": "common", "n": "up/n" } }));
        let scope = config.scope(Scope::Producer).unwrap().0;
        let named = ["m", "n", "o"].map(|model| config.upstream_model(scope, model));
        assert_eq!(named, ["own", "up/n", "o"]);
    }
}
