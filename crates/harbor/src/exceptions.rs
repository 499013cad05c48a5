//! What went wrong in a trial, and whose failure it is.
//!
//! Everything here goes by an exception's type, by the phase it fell in and by the policy that Harbor recorded. The
//! words of a message are a candidate's to choose, so they decide nothing.
//!
//! The name of a type is a candidate's to choose as well. So what was raised while a candidate had its hands on the trial
//! is nobody else's doing unless the traceback says that Harbor's own code raised it.

use taskwright_base::words;

use crate::policy::listed;
use crate::result::{Exception, TrialResult};
use crate::time::{Span, Timestamp};
use crate::traceback::is_raised_by_harbor;

pub use crate::policy::{FailureClass, Policy, policy};

words! {
    /// Where in a trial something happened, in the words of Harbor's results.
    Phase {
        /// While the environment was built and started.
        Environment = "environment_setup",
        /// While the agent was installed into it.
        AgentSetup = "agent_setup",
        /// While the agent worked.
        Agent = "agent_execution",
        /// While the verifier worked.
        Verifier = "verifier",
    }
}

/// Whose code the agent is, which decides whose failure its set-up is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentCode {
    /// Harbor's own agents and others that are taken as they are: that one cannot be installed is not its failure.
    Stock,
    /// The candidate under test: what it does in its set-up is its own doing.
    Candidate,
}

/// What a trial failed of.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure<'a> {
    /// Whose failure it is.
    pub class: FailureClass,
    /// When it happened.
    pub phase: Phase,
    /// What was raised.
    pub exception: &'a Exception,
    /// The step in which it was raised, in a trial of several.
    pub step: Option<&'a str>,
}

/// What a trial failed of: its own exception or, if it has none, that of the first step that has one.
///
/// A trial that failed may have a reward that counts all the same; see [`reward_is_valid`].
#[must_use]
pub fn failure(trial: &TrialResult, code: AgentCode) -> Option<Failure<'_>> {
    if let Some(exception) = &trial.exception {
        let spans = [
            (Phase::Environment, trial.environment_setup),
            (Phase::AgentSetup, trial.agent_setup),
            (Phase::Agent, trial.agent_execution),
            (Phase::Verifier, trial.verifier),
        ];
        let phase = phase(&spans, exception.occurred_at, trial.rewards.is_some());
        return Some(Failure { class: class(exception, phase, code), phase, exception, step: None });
    }
    trial.steps.iter().find_map(|step| {
        let exception = step.exception.as_ref()?;
        // What comes before a step's agent is the environment being made ready for it.
        let spans = [
            (Phase::Environment, None),
            (Phase::Agent, step.agent_execution),
            (Phase::Verifier, step.verifier),
        ];
        let phase = phase(&spans, exception.occurred_at, step.rewards.is_some());
        let class = class(exception, phase, code);
        Some(Failure { class, phase, exception, step: step.name.as_deref() })
    })
}

/// Whether Harbor counts a trial's reward: what the trial itself says or, for versions before 0.26, what follows from
/// the exceptions of the trial and of its steps.
#[must_use]
pub fn reward_is_valid(trial: &TrialResult) -> bool {
    trial.reward_valid.unwrap_or_else(|| {
        trial.rewards.as_ref().is_some_and(|rewards| rewards.iter().next().is_some())
            && trial.exceptions().all(|exception| effective(exception).valid)
    })
}

/// The policy that Harbor recorded, else the table's.
fn effective(exception: &Exception) -> Policy {
    exception.policy.unwrap_or_else(|| policy(&exception.kind))
}

/// The phase that something happened in: the last that had begun by then.
fn phase(spans: &[(Phase, Option<Span>)], at: Option<Timestamp>, graded: bool) -> Phase {
    let begun: Vec<_> = spans.iter().filter_map(|(phase, span)| Some((*phase, (*span)?))).collect();
    let Some((last, rest)) = begun.split_last() else { return spans[0].0 };
    let (phase, span) = *last;
    if phase != Phase::Verifier {
        return phase;
    }
    // Newer versions grade after the agent has failed, so an exception may be older than the last phase. Where the
    // times cannot be compared, a reward says that it was not the verifier that failed.
    let since = at.zip(span.started_at).and_then(|(at, started)| at.since(started));
    let before = since.map_or(graded, |seconds| seconds < 0.0);
    match rest.last() {
        Some((earlier, _)) if before => *earlier,
        _ => phase,
    }
}

fn class(exception: &Exception, phase: Phase, code: AgentCode) -> FailureClass {
    let class = class_by_type(exception, phase, code);
    let is_candidates = code == AgentCode::Candidate && matches!(phase, Phase::AgentSetup | Phase::Agent);
    match class {
        FailureClass::Infrastructure | FailureClass::Verifier
            if is_candidates && !is_raised_by_harbor(exception) =>
        {
            FailureClass::Candidate
        }
        class => class,
    }
}

fn class_by_type(exception: &Exception, phase: Phase, code: AgentCode) -> FailureClass {
    let is_candidates = code == AgentCode::Candidate && matches!(phase, Phase::AgentSetup | Phase::Agent);
    match (listed(&exception.kind), exception.kind.as_str()) {
        (Some(_), "AgentSetupTimeoutError") if is_candidates => return FailureClass::Timeout,
        // The candidate's own, under a name that Harbor would not have raised there.
        (Some(_), kind) if is_candidates && is_raised_elsewhere(kind) => return FailureClass::Candidate,
        (Some((_, class)), _) => return class,
        (None, _) => {}
    }
    // A type that a later Harbor or the job itself lists among the failures of services and sandboxes.
    if exception.policy.is_some_and(|policy| !policy.valid && (policy.retry || !policy.grade)) {
        return FailureClass::Infrastructure;
    }
    match (phase, code) {
        (Phase::Environment, _) | (Phase::AgentSetup, AgentCode::Stock) => FailureClass::Infrastructure,
        (Phase::AgentSetup, AgentCode::Candidate) | (Phase::Agent, _) => FailureClass::Candidate,
        (Phase::Verifier, _) => FailureClass::Verifier,
    }
}

/// Whether Harbor raises a type only while it starts the environment or runs the verifier.
fn is_raised_elsewhere(kind: &str) -> bool {
    matches!(
        kind,
        "EnvironmentStartTimeoutError"
            | "SandboxBuildFailedError"
            | "HealthcheckError"
            | "AddTestsDirError"
            | "DownloadVerifierDirError"
            | "VerifierTimeoutError"
            | "RewardFileNotFoundError"
            | "RewardFileEmptyError"
            | "VerifierOutputParseError"
            | "RegradeError"
    )
}
