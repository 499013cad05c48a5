//! The metered way to a language model: one process that holds the upstream's key, and lets others ask with tokens of its own.
//!
//! ```text
//!   optimizer ──▶ door of the producer ───┐                                    ┌──▶ upstream
//!   candidate ──▶ door of evaluations ────┴─▶ token, model, budget ──▶ journal ┘
//!   eval, sidecar ──▶ Handle, control socket ──▶ tokens, usage
//! ```
//!
//! - [`Config`] says who may ask for which models and how much they may use; it holds no secret.
//! - [`Upstream`] is where requests go, and the key, which come from the environment of the gateway alone.
//! - [`Gateway`] runs; [`Handle`] in the same process, or a [`Client`] over its socket, makes [`Token`]s and asks what they used:
//!   both are [`Tokens`].
//!
//! What goes over the wire is in `docs/gateway.md`.
//!
//! ```no_run
//! use std::time::Duration;
//! use taskwright_gateway::{Config, Door, Gateway, Scope, Setup, Tokens, Upstream};
//! # fn example(config: Config) -> taskwright_base::Result<()> {
//! let gateway = Gateway::start(Setup {
//!     config,
//!     upstream: Upstream::from_env("OPENAI_BASE_URL", "OPENAI_API_KEY")?,
//!     state: "/var/lib/taskwright/gateway".into(),
//!     producer: None,
//!     evaluation: Some(([127, 0, 0, 1], 0).into()),
//!     control: None,
//! })?;
//! let (id, token) = gateway.handle().mint(Scope::Evaluation, "evaluation 17")?;
//! println!("OPENAI_BASE_URL=http://{}/v1", gateway.address(Door::Evaluation).unwrap());
//! println!("OPENAI_API_KEY={}", token.show());
//! let usage = gateway.handle().revoke(id)?;
//! println!("{} tokens, {}", usage.tokens.total(), usage.cost);
//! gateway.stop(Duration::from_secs(5));
//! # Ok(())
//! # }
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::iter_over_hash_type, clippy::too_many_lines))]

mod answer;
mod body;
mod book;
pub mod clients;
pub mod config;
pub mod control;
mod entry;
mod fields;
mod gateway;
mod log;
pub mod memory;
mod meter;
pub mod models;
pub mod money;
mod request;
pub mod scope;
mod sender;
mod serve;
pub mod token;
pub mod tokens;
pub mod upstream;
pub mod usage;
pub mod wire;

pub use config::{Config, Patience, ScopeConfig, Sizes};
pub use control::Tokens;
pub use control::client::Client;
pub use gateway::{Gateway, Handle, Setup};
pub use money::{CostLimit, Money, Price};
pub use scope::{Door, Scope};
pub use token::{Token, TokenId};
pub use upstream::{Address, Key, Upstream};
pub use usage::{Budget, Usage};

#[cfg(test)]
fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
