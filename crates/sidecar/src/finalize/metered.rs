//! What everybody took of language models, as the gateway beside us metered it.

use taskwright_base::Result;
use taskwright_gateway::{Client, Scope, Tokens as _};

use crate::api::Metered;
use crate::paths::Paths;
use crate::service::Service;

/// The sums of each user; nothing where the task has no gateway, or it does not say.
pub fn metered(service: &Service, paths: &Paths) -> Metered {
    if service.config.gateway.is_none() {
        return Metered::new();
    }
    // All or nothing: a sum that is missing would look like one that is 0.
    ask(&Client::new(paths.gateway_socket()).at_once()).unwrap_or_else(|error| {
        eprintln!("taskwright: what was used of language models is not known: {error}");
        Metered::new()
    })
}

fn ask(client: &Client) -> Result<Metered> {
    let mut metered = Metered::new();
    // The candidate that is scored in the end is told apart even where it lives on what others left.
    for scope in Scope::ALL {
        metered.extend(client.used(*scope)?.map(|usage| (*scope, usage)));
    }
    Ok(metered)
}
