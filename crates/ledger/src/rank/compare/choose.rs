//! Finds out which agent, of which experiment, a word means.

use std::collections::BTreeSet;

use crate::rank::leaderboard::labels;
use crate::record::Agent;
use taskwright_base::{Error, Result};

/// The shortest beginning of a digest that is taken for one.
const SHORTEST: usize = 6;

/// How many choices an error lists.
const LISTED: usize = 6;

/// How many digits of a digest a choice shows.
const DIGITS: usize = 12;

/// Who can be compared.
pub(super) struct Known {
    agents: Vec<Agent>,
    /// What a leaderboard of them calls them.
    labels: Vec<String>,
    /// Which agent (by its place) has trials in which experiment.
    experiments: BTreeSet<(String, usize)>,
}

/// An agent, and the experiment that its trials have to be of, if any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) experiment: Option<String>,
    pub(super) agent: Agent,
    pub(super) label: String,
}

impl Known {
    /// From agents, and the pairs of an agent's digest and an experiment that there are trials of.
    pub(super) fn new(agents: Vec<Agent>, trials: &[(String, Option<String>)]) -> Self {
        let used: BTreeSet<&str> = trials.iter().map(|(digest, _)| digest.as_str()).collect();
        let agents: Vec<Agent> =
            agents.into_iter().filter(|agent| used.contains(agent.digest.as_str())).collect();
        let place = |digest: &String| agents.iter().position(|agent| agent.digest == *digest);
        let experiments = trials
            .iter()
            .filter_map(|(digest, experiment)| Some((experiment.clone()?, place(digest)?)))
            .collect();
        Self { labels: labels(&agents), agents, experiments }
    }

    /// The one that a word means: an agent's label, its name in a leaderboard, or the beginning of its digest; an
    /// experiment with one agent; or `EXPERIMENT:AGENT`.
    pub(super) fn choose(&self, word: &str) -> Result<Choice> {
        let mut found: BTreeSet<(Option<&str>, usize)> = (0..self.agents.len())
            .filter(|place| self.is_called(*place, word))
            .map(|place| (None, place))
            .collect();
        for (experiment, place) in &self.experiments {
            let is_meant = match word.strip_prefix(experiment.as_str()) {
                Some("") => true,
                Some(rest) => rest.strip_prefix(':').is_some_and(|agent| self.is_called(*place, agent)),
                None => false,
            };
            if is_meant {
                found.insert((Some(experiment), *place));
            }
        }
        let found: Vec<_> = found.into_iter().collect();
        match found[..] {
            [(experiment, place)] => Ok(Choice {
                experiment: experiment.map(str::to_owned),
                agent: self.agents[place].clone(),
                label: self.labels[place].clone(),
            }),
            [] => {
                let all: Vec<_> = (0..self.agents.len()).map(|place| (None, place)).collect();
                Err(Error::new(format!("no agent or experiment here is called `{}`", word.escape_debug()))
                    .hint(if all.is_empty() {
                        "there are no trials here; `cargo xtask import` and `cargo xtask run` bring some"
                            .to_owned()
                    } else {
                        format!(
                            "name one of these by its label or digest, or an experiment: {}",
                            self.list(&all)
                        )
                    })
                    .usage())
            }
            _ => Err(Error::new(format!("`{}` may mean {} things", word.escape_debug(), found.len()))
                .hint(format!("say which: {}", self.list(&found)))
                .usage()),
        }
    }

    fn is_called(&self, place: usize, word: &str) -> bool {
        let agent = &self.agents[place];
        agent.label == word
            || self.labels[place] == word
            || (word.len() >= SHORTEST && agent.digest.starts_with(word))
    }

    /// Choices, each by a word that means it alone, and its name.
    fn list(&self, choices: &[(Option<&str>, usize)]) -> String {
        let mut listed: Vec<String> = choices
            .iter()
            .take(LISTED)
            .map(|(experiment, place)| {
                let digest: String = self.agents[*place].digest.chars().take(DIGITS).collect();
                let experiment =
                    experiment.map(|name| format!("{}:", name.escape_debug())).unwrap_or_default();
                format!("`{experiment}{digest}` = {}", self.labels[*place].escape_debug())
            })
            .collect();
        if choices.len() > LISTED {
            listed.push(format!("and {} more", choices.len() - LISTED));
        }
        listed.join(", ")
    }
}
