//! `cargo xtask gateway`: runs a command whose requests to language models are metered and bounded.

pub mod host;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Command;

use anyhow::Context;
use camino::Utf8PathBuf;
use serde_json::json;
use taskwright_base::Error;
use taskwright_base::write::{Durable, atomic};
use taskwright_gateway::{Config, CostLimit, Money, Price, ScopeConfig, Upstream};
use taskwright_language::model::Limit;

use self::host::HostGateway;
use crate::exit::Status;
use crate::interrupt;
use crate::output::say;
use crate::workspace::from_here;

/// Run a command whose requests to language models are metered and bounded.
///
/// A gateway on this machine holds the key of the upstream. The command finds the gateway's address and a token of its own in the
/// variables that clients of OpenAI, Anthropic and Gemini look for; both end with it. Its exit status is this one's.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask gateway --allow gpt-5-mini --max-requests 100 -- python3 agent.py\n  \
                  cargo xtask gateway --allow small --alias small=vendor/model-7 --price small=0.25,2 --max-usd 1 --usage usage.json -- ./evolve\n\n\
                  docs/gateway.md says what goes over the wire."
)]
pub struct Arguments {
    /// A model that may be asked for, as the command calls it; may be given more than once.
    #[arg(long = "allow", value_name = "MODEL", required = true)]
    allowed: Vec<String>,
    /// Another name of a model: what the command asks for, and what the upstream is asked for.
    #[arg(long = "alias", value_name = "NAME=MODEL", value_parser = alias)]
    aliases: Vec<(String, String)>,
    /// The most requests.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_requests: Option<u64>,
    /// The most tokens, in and out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
    /// The most money, in US dollars. Every model that is allowed needs a price then.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_usd: Option<Money>,
    /// What a million tokens of a model cost in US dollars: in, out, and in from the upstream's cache.
    #[arg(long = "price", value_name = "MODEL=IN,OUT[,CACHED]", value_parser = price)]
    prices: Vec<(String, Price)>,
    /// The most requests at once; more wait.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_concurrency: Option<u64>,
    /// The variable that holds the upstream's key; the command does not see it.
    #[arg(long, value_name = "NAME", default_value = "OPENAI_API_KEY")]
    key_env: String,
    /// The variable that holds the upstream's address.
    #[arg(long, value_name = "NAME", default_value = "OPENAI_BASE_URL")]
    url_env: String,
    /// Where the gateway listens: an address that containers reach, where the command starts some.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Write what was used to a file, as JSON.
    #[arg(long, value_name = "FILE")]
    usage: Option<Utf8PathBuf>,
    /// The command, and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

fn alias(text: &str) -> Result<(String, String), String> {
    let (name, model) = text.split_once('=').ok_or("write it as NAME=MODEL")?;
    if name.is_empty() || model.is_empty() {
        return Err("write it as NAME=MODEL".to_owned());
    }
    Ok((name.to_owned(), model.to_owned()))
}

/// An amount of US dollars, as arguments say it.
pub fn dollars(text: &str) -> Result<Money, String> {
    let number: f64 =
        text.trim_start_matches('$').parse().map_err(|_| "write it as a number of US dollars")?;
    Money::dollars(number).ok_or_else(|| "this is no amount".to_owned())
}

fn price(text: &str) -> Result<(String, Price), String> {
    let wrong = "write it as MODEL=IN,OUT or MODEL=IN,OUT,CACHED, in US dollars for a million tokens";
    let (model, amounts) = text.rsplit_once('=').ok_or(wrong)?;
    let amounts = amounts.split(',').map(dollars).collect::<Result<Vec<_>, _>>()?;
    let (input, output, cached_input) = match *amounts.as_slice() {
        [input, output] => (input, output, None),
        [input, output, cached] => (input, output, Some(cached)),
        _ => return Err(wrong.to_owned()),
    };
    Ok((model.to_owned(), Price { input, output, cached_input, cache_write: None }))
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    // A Ctrl-C is for the command as well; what it used is said when it has ended.
    let _stop = interrupt::flag()?;
    let upstream = Upstream::from_env(&arguments.url_env, &arguments.key_env).map_err(Error::usage)?;
    let what = arguments.command.first().map_or("", String::as_str);
    let gateway = HostGateway::start(config(arguments), upstream, arguments.listen, what)?;
    let mut command = Command::new(what);
    command.args(&arguments.command[1..]);
    command.envs(gateway.variables(&arguments.url_env, &arguments.key_env));
    let ended = command.status();
    let (usage, _) = gateway.end()?;
    let ended = ended.with_context(|| format!("starting `{what}`"))?;
    say(&format!("models: {usage}"));
    if let Some(file) = &arguments.usage {
        let text = format!("{:#}\n", json!(usage));
        atomic(&from_here(file)?, Durable::Yes, text.as_bytes())?;
    }
    Ok(Status::of_child(ended))
}

fn config(arguments: &Arguments) -> Config {
    let at_most = |limit: Option<u64>| limit.map_or(Limit::Unlimited, Limit::AtMost);
    Config {
        model_aliases: arguments.aliases.iter().cloned().collect(),
        prices: arguments.prices.iter().cloned().collect::<BTreeMap<_, _>>(),
        evaluation: Some(ScopeConfig {
            allowed_models: arguments.allowed.clone(),
            max_requests: at_most(arguments.max_requests),
            max_tokens: at_most(arguments.max_tokens),
            max_concurrency: at_most(arguments.max_concurrency),
            max_cost: arguments.max_usd.map_or(CostLimit::Unlimited, CostLimit::AtMost),
            ..ScopeConfig::default()
        }),
        ..Config::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_and_amounts_are_read() {
        let (model, price) = price("vendor/m=1=0.25,2,0.025").unwrap();
        assert_eq!(model, "vendor/m=1");
        assert_eq!(
            (price.input, price.output),
            (Money::dollars(0.25).unwrap(), Money::dollars(2.0).unwrap())
        );
        assert_eq!(price.cached_input, Money::dollars(0.025));
        for wrong in ["m", "m=1", "m=1,2,3,4", "m=-1,2", "m=x,2"] {
            assert!(self::price(wrong).is_err(), "{wrong}");
        }
        assert_eq!(dollars("$1.5").unwrap(), Money::dollars(1.5).unwrap());
        assert!(dollars("-1").is_err() && dollars("much").is_err());
        assert!(alias("a=").is_err() && alias("a").is_err());
        assert_eq!(alias("a=b/c=d").unwrap(), ("a".to_owned(), "b/c=d".to_owned()));
    }
}
