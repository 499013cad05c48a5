//! How long the phases of a trial may take, by the task.toml of its task: read leniently, since an inner task may be of any
//! version.

use serde::Deserialize;

/// What Harbor 0.26 gives a verifier that says nothing, in seconds.
const VERIFIER: f64 = 600.0;
/// What it gives the building of an environment.
const BUILD: f64 = 600.0;
/// What it gives the set-up of an agent, which a task does not say.
const SETUP: f64 = 360.0;

/// The times that a task.toml gives the phases of its trials.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Phases {
    agent: Phase,
    verifier: Phase,
    environment: Building,
    steps: Vec<StepPhases>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(default)]
struct Phase {
    timeout_sec: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(default)]
struct Building {
    build_timeout_sec: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(default)]
struct StepPhases {
    agent: Phase,
    verifier: Phase,
}

/// What a run changes of these times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Changes {
    /// Seconds for the agent in place of what the task says.
    pub agent: Option<f64>,
    /// The factors on the times of agent, set-up, building and verifier.
    pub agent_factor: f64,
    /// See `agent_factor`.
    pub setup_factor: f64,
    /// See `agent_factor`.
    pub build_factor: f64,
    /// See `agent_factor`.
    pub verifier_factor: f64,
}

impl Phases {
    /// The times in a task.toml; none if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        toml::from_str(text).ok()
    }

    /// The longest time that it writes down for a verifier, or for an agent whose time the run does not change, in seconds.
    pub fn longest_declared(&self, changes: &Changes) -> Option<f64> {
        let whole = StepPhases { agent: self.agent, verifier: self.verifier };
        let agent = |step: &StepPhases| step.agent.timeout_sec.filter(|_| changes.agent.is_none());
        let steps = self.steps.iter().chain([&whole]);
        steps.flat_map(|step| [agent(step), step.verifier.timeout_sec]).flatten().reduce(f64::max)
    }

    /// Seconds that a whole trial may take; none if its agent may take as long as it likes.
    pub fn total(&self, changes: &Changes) -> Option<f64> {
        let whole = [StepPhases { agent: self.agent, verifier: self.verifier }];
        let steps = if self.steps.is_empty() { &whole[..] } else { &self.steps };
        let mut seconds = self.environment.build_timeout_sec.unwrap_or(BUILD) * changes.build_factor
            + SETUP * changes.setup_factor;
        for step in steps {
            let agent = changes.agent.or(step.agent.timeout_sec).or(self.agent.timeout_sec)?;
            let verifier = step.verifier.timeout_sec.or(self.verifier.timeout_sec).unwrap_or(VERIFIER);
            seconds += agent * changes.agent_factor + verifier * changes.verifier_factor;
        }
        Some(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    const PLAIN: Changes = Changes {
        agent: None,
        agent_factor: 1.0,
        setup_factor: 1.0,
        build_factor: 1.0,
        verifier_factor: 1.0,
    };

    #[test]
    fn what_a_trial_may_take_is_the_sum_of_its_phases() {
        let whole = "[agent]\ntimeout_sec = 900\n[verifier]\ntimeout_sec = 60.0\n[environment]\nbuild_timeout_sec = 30\nother = 1\n";
        let phases = Phases::parse(whole).unwrap();
        assert_eq!((phases.total(&PLAIN), phases.longest_declared(&PLAIN)), (Some(1350.0), Some(900.0)));
        let changed = Changes { agent: Some(100.0), agent_factor: 2.0, build_factor: 0.5, ..PLAIN };
        assert_eq!((phases.total(&changed), phases.longest_declared(&changed)), (Some(635.0), Some(60.0)));
        let nothing = Phases::parse("").unwrap();
        assert_eq!((nothing.total(&PLAIN), nothing.longest_declared(&PLAIN)), (None, None));
        assert_eq!(nothing.total(&changed), Some(200.0 + 360.0 + 300.0 + 600.0));
    }

    #[test]
    fn steps_take_their_times_one_after_the_other() {
        let text = "[agent]\ntimeout_sec = 10\n[[steps]]\nname = \"a\"\n[[steps]]\nname = \"b\"\n[steps.agent]\ntimeout_sec = 20\n\
                    [steps.verifier]\ntimeout_sec = 5\n";
        assert_eq!(
            Phases::parse(text).unwrap().total(&PLAIN),
            Some(600.0 + 360.0 + 10.0 + 600.0 + 20.0 + 5.0)
        );
    }
}
