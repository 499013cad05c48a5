//! `taskwright gateway`: the metered way to language models, a service of its own beside a task and alone with the upstream's key.
//!
//! ```text
//!   main ─────────── network `producer` ────▶ door of the producer ─────┐
//!   eval-sidecar ─── network `candidates` ──▶ door of evaluations ──────┴──▶ upstream
//!   eval-sidecar ─── a socket on a volume ──▶ tokens, usage
//! ```
//!
//! Each door is bound to the address that the gateway has in its own network, so that nobody finds the other one.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;
use std::time::Duration;

use taskwright_base::{Error, Result, failed, process};
use taskwright_gateway::{Client, Config, Gateway, Scope, Setup, Token, Tokens, Upstream};
use taskwright_language::model;

use crate::cli::GatewayArguments;
use crate::door;
use crate::exit;
use crate::paths::Paths;
use crate::serve::until_asked_to_end;

/// The optimizer's token, where whoever starts the trial chooses it: an agent that Harbor configures must know it before.
const PRODUCER_TOKEN: &str = "TASKWRIGHT_PRODUCER_TOKEN";
/// The fewest characters of such a token.
const SHORTEST_TOKEN: usize = 32;
/// How long what is under way may take when the task ends.
const PATIENCE: Duration = Duration::from_secs(1);

/// Serves until it is asked to end, or says whether the one that serves answers.
pub fn run(arguments: &GatewayArguments) -> ExitCode {
    let paths = Paths::under(&arguments.root.root);
    let (result, status) = if arguments.health {
        (Client::new(paths.gateway_socket()).at_once().budget(Scope::Evaluation).map(drop), exit::UNREACHABLE)
    } else {
        (serve(&paths, arguments), exit::FAILED)
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::after(status, &error),
    }
}

fn serve(paths: &Paths, arguments: &GatewayArguments) -> Result<()> {
    process::raise_open_files();
    let path = paths.image.join("gateway.json");
    let text = fs::read(&path).map_err(failed("reading", &path))?;
    let spec: model::Gateway = serde_json::from_slice(&text)
        .map_err(|error| Error::new(format!("`{}` is not a gateway's: {error}", path.display())))?;
    let config = Config::of_spec(&spec)?;
    let upstream = Upstream::from_env(&spec.upstream_base_url_env, &spec.upstream_api_key_env)?;
    let producer = config.producer.as_ref().map(|_| door::address(&arguments.producer)).transpose()?;
    let evaluation = config.evaluation.as_ref().map(|_| door::address(&arguments.evaluation)).transpose()?;
    let gateway = Gateway::start(Setup {
        config,
        upstream,
        state: paths.state.clone(),
        producer,
        evaluation,
        control: Some(paths.gateway_socket()),
    })?;
    if producer.is_some() {
        give_to_optimizer(&gateway, paths)?;
    }
    let doors = [producer, evaluation].into_iter().flatten().map(|door| door.to_string());
    println!("taskwright: the gateway listens on {}", doors.collect::<Vec<_>>().join(" and "));
    until_asked_to_end()?;
    gateway.stop(PATIENCE);
    Ok(())
}

/// Puts the optimizer's token where the optimizer finds it.
fn give_to_optimizer(gateway: &Gateway, paths: &Paths) -> Result<()> {
    let path = paths.producer_token();
    match std::env::var(PRODUCER_TOKEN).ok().filter(|token| !token.is_empty()) {
        Some(chosen) if chosen.len() < SHORTEST_TOKEN => {
            return Err(Error::new(format!("`{PRODUCER_TOKEN}` could be guessed"))
                .hint(format!("choose {SHORTEST_TOKEN} characters or more at random")));
        }
        Some(chosen) => {
            let token = Token::shown(&chosen);
            gateway.handle().admit_into(Scope::Producer, "optimizer", &token, &path)?;
        }
        None => {
            gateway.handle().mint_into(Scope::Producer, "optimizer", &path)?;
        }
    }
    // Whatever user the optimizer is: nobody else has this folder.
    fs::set_permissions(&path, Permissions::from_mode(0o644)).map_err(failed("opening", &path))
}
