//! Names for agents that say what sets each apart from others of the same name.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::record::{Agent, Json};
use crate::redact::REDACTED;

/// How many differing parameters a name may carry, and how many characters a value of one may have. What needs more is
/// told apart by the beginning of its digest.
const PARAMETERS: usize = 3;
const LONGEST: usize = 48;

/// The parameters that are named before others.
const FIRST: [&str; 2] = ["model", "version"];

/// How many digits of a digest are shown where nothing better tells agents apart.
const DIGITS: usize = 12;

/// A name for each agent, no two the same.
///
/// An agent whose label nobody else has is called by it. Those that share one get, in brackets, the parameters of their
/// configurations in which they differ; and the beginning of the digest, if that is too long or not enough.
pub(crate) fn labels(agents: &[Agent]) -> Vec<String> {
    let mut names: Vec<String> = agents.iter().map(|agent| agent.label.clone()).collect();
    for places in repeated(&names) {
        let parameters: Vec<_> = places.iter().map(|place| parameters(&agents[*place])).collect();
        for (place, difference) in places.iter().zip(differences(&parameters)) {
            names[*place] = format!("{} ({difference})", names[*place]);
        }
    }
    for place in repeated(&names).into_iter().flatten() {
        let digest: String = agents[place].digest.chars().take(DIGITS).collect();
        names[place] = format!("{} #{digest}", named(&agents[place]));
    }
    // Digests that begin alike, or a label that looks like another's name: what is left is the whole digest.
    for place in repeated(&names).into_iter().flatten() {
        names[place] = format!("{} #{}", agents[place].label, agents[place].digest);
    }
    names
}

/// The label and the model: where parameters are too many to tell agents apart, whoever reads the digest still sees it.
fn named(agent: &Agent) -> String {
    agent
        .model
        .as_ref()
        .map_or_else(|| agent.label.clone(), |model| format!("{} (model={model})", agent.label))
}

/// The places of every name that occurs more than once.
fn repeated(names: &[String]) -> Vec<Vec<usize>> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, name) in names.iter().enumerate() {
        places.entry(name).or_default().push(place);
    }
    places.into_values().filter(|places| places.len() > 1).collect()
}

/// What an agent is configured with, by path.
fn parameters(agent: &Agent) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if let Some(configuration) = Json::parse(&agent.configuration) {
        flatten(&configuration, "", &mut found);
    }
    // The configuration's own entries for these, if there are any, would say the same thing twice.
    for (key, value) in [("model", &agent.model), ("version", &agent.version)] {
        found.retain(|path, text| path != key && Some(&*text) != value.as_ref());
        if let Some(value) = value {
            found.insert(key.to_owned(), value.clone());
        }
    }
    found
}

fn flatten(value: &Json, path: &str, found: &mut BTreeMap<String, String>) {
    match value {
        Json::Object(members) => {
            for (key, member) in members {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten(member, &path, found);
            }
        }
        Json::Plain(text) if text == "null" => {}
        Json::Text(text) => {
            found.insert(path.to_owned(), text.clone());
        }
        other => {
            found.insert(path.to_owned(), other.to_string());
        }
    }
}

/// For each agent the parameters in which the agents differ, as `name=value`.
fn differences(agents: &[BTreeMap<String, String>]) -> Vec<String> {
    let keys: BTreeSet<&String> = agents.iter().flat_map(BTreeMap::keys).collect();
    let mut differing: Vec<&String> = keys
        .into_iter()
        .filter(|key| agents.iter().any(|agent| agent.get(*key) != agents[0].get(*key)))
        .collect();
    // What matters most first, then by alphabet whatever the case of their letters.
    differing.sort_by_cached_key(|key| {
        (FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len()), key.to_lowercase())
    });
    let differing: Vec<&String> = differing
        .into_iter()
        // A nested parameter's last name is enough to know it by; whoever wants more looks at the configuration.
        .take(PARAMETERS)
        .collect();
    let shown = |agent: &BTreeMap<String, String>| {
        let pairs = differing.iter().map(|key| {
            let name = key.rsplit('.').next().unwrap_or(key);
            let is_variable = key.split('.').any(|part| part == "env");
            let Some(value) = agent.get(*key) else {
                return if is_variable { format!("without {name}") } else { format!("{name}=-") };
            };
            // Of a variable whose value is not kept, only that it was there is known.
            if value == REDACTED {
                return format!("with {name}");
            }
            let end = value.char_indices().nth(LONGEST).map_or(value.len(), |(end, _)| end);
            format!("{name}={}", &value[..end])
        });
        pairs.collect::<Vec<_>>().join(", ")
    };
    agents.iter().map(shown).collect()
}
