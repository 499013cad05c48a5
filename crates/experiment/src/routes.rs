//! Whether every agent of a job asks language models through the gateway beside Harbor: as Harbor itself says it.

use taskwright_base::text::one_of;
use taskwright_base::{Error, Result};
use taskwright_harbor::endpoints::Endpoint;
use taskwright_harbor::job_config::AgentConfig;

/// Harbor's agents that ask no model.
const SILENT: [&str; 2] = ["oracle", "nop"];

/// Refuses agents that would go around the gateway at `root` (`http://host:port`). `is_token` says whether a variable holds the
/// gateway's token.
///
/// # Errors
/// Some agent asks elsewhere, or with another key, or Harbor does not say where.
pub fn check(
    agents: &[AgentConfig],
    endpoints: &[Endpoint],
    root: &str,
    is_token: impl Fn(&str) -> bool,
) -> Result<()> {
    if endpoints.len() < agents.len() {
        return Err(Error::new("Harbor does not say where its agents would ask language models")
            .hint("leave `[gateway]` out, or run it with the Harbor that docs/experiments.md names last"));
    }
    let mut around = Vec::new();
    for (agent, endpoint) in agents.iter().zip(endpoints) {
        let label = agent.label();
        let is_through = match (&endpoint.address, &endpoint.key) {
            (Some(address), key) => is_below(address, root) && key.as_deref().is_none_or(&is_token),
            // A class of one's own looks into its environment, as a client of a model does.
            (None, _) => agent.import_path.is_some() || SILENT.contains(&label),
        };
        if !is_through {
            around.push(match &agent.model_name {
                Some(model) => format!("{label} ({model})"),
                None => label.to_owned(),
            });
        }
    }
    if around.is_empty() {
        return Ok(());
    }
    Err(Error::new(format!(
        "Harbor has no way to send the requests of {} to the gateway",
        one_of(around.iter().map(String::as_str))
    ))
    .hint("`harbor agent auth NAME` says which variables an agent takes; leave it out, or run it without `[gateway]`"))
}

/// Whether an address is the gateway's, or a path below it.
fn is_below(address: &str, root: &str) -> bool {
    address.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str) -> AgentConfig {
        let class = name.contains(':').then(|| name.to_owned());
        AgentConfig {
            name: class.is_none().then(|| name.to_owned()),
            import_path: class,
            ..AgentConfig::default()
        }
    }

    fn said(agents: &[&str], endpoints: &[(Option<&str>, Option<&str>)]) -> String {
        let agents: Vec<AgentConfig> = agents.iter().map(|name| agent(name)).collect();
        let own = |text: Option<&str>| text.map(str::to_owned);
        let endpoints: Vec<Endpoint> = endpoints
            .iter()
            .map(|&(address, key)| Endpoint { address: own(address), key: own(key) })
            .collect();
        match check(&agents, &endpoints, "http://10.0.0.1:80", |name| name == "TOKEN") {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn who_asks_elsewhere_is_named() {
        let here = Some("http://10.0.0.1:80/v1");
        assert_eq!(said(&["a", "oracle", "m:C"], &[(here, Some("TOKEN")), (None, None), (None, None)]), "");
        assert_eq!(said(&["a"], &[(here, None)]), "");
        for (endpoint, why) in [
            ((Some("http://10.0.0.1:8080/v1"), None), "another port"),
            ((Some("https://api.openai.com/v1"), Some("TOKEN")), "another host"),
            ((here, Some("OTHER_KEY")), "another key"),
            ((None, Some("TOKEN")), "nobody knows"),
        ] {
            let said = said(&["oracle", "a"], &[(None, None), endpoint]);
            assert!(said.ends_with("the requests of `a` to the gateway"), "{why}: {said}");
        }
        assert!(said(&["m:C"], &[(Some("https://elsewhere"), None)]).contains("`m:C`"));
        assert!(said(&["oracle", "a"], &[(None, None)]).contains("does not say"));
    }
}
