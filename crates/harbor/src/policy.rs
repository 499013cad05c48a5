//! Harbor 0.26's table of exception types: what it does about each, for older versions that do not record their policy,
//! and whose failure each is.

use taskwright_base::words;

use crate::document::{Part, flag, object, parts};

use self::FailureClass::{Budget, Cancelled, Candidate, Infrastructure, Timeout, Verifier};

words! {
    /// Whose failure something is, by the type of its exception and the phase it was raised in; never by searching prose.
    FailureClass {
        /// What the trial ran on: the machine, the environment, the network, credentials, or a service that the agent
        /// depends on.
        Infrastructure = "infrastructure",
        /// What was tried: the agent, or the code it wrote.
        Candidate = "candidate",
        /// The verifier: it failed, took too long, or reported no usable reward.
        Verifier = "verifier",
        /// Its budget of money or tokens was used up.
        Budget = "budget",
        /// The agent's time was used up.
        Timeout = "timeout",
        /// Somebody stopped it.
        Cancelled = "cancelled",
    }
}

/// What Harbor does about an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Whether the trial is tried again.
    pub retry: bool,
    /// Whether the verifier still runs.
    pub grade: bool,
    /// Whether a reward given nevertheless counts.
    pub valid: bool,
}

parts! { PolicyParts { should_retry, should_grade, has_valid_reward } }

impl Policy {
    /// Takes a policy from a document.
    pub(crate) fn take(part: Part<'_>) -> Option<Self> {
        let policy: PolicyParts<'_> = object(part)?;
        Some(Self {
            retry: flag(policy.should_retry)?,
            grade: flag(policy.should_grade)?,
            valid: flag(policy.has_valid_reward)?,
        })
    }
}

/// The trial never had a fair start.
const BROKEN: Policy = Policy { retry: true, grade: false, valid: false };
/// A service that the agent depends on failed.
const SERVICE: Policy = Policy { retry: true, grade: true, valid: false };
/// Trying again would end the same.
const REFUSED: Policy = Policy { retry: false, grade: true, valid: false };
/// Neither trying again nor grading is of use.
const HOPELESS: Policy = Policy { retry: false, grade: false, valid: false };
/// The agent's own end: what it left is graded like any other.
const OWN: Policy = Policy { retry: false, grade: true, valid: true };
/// Every type that is not listed.
const UNLISTED: Policy = Policy { retry: true, grade: true, valid: true };

/// What Harbor 0.26 does about an exception of a type, unless a job says otherwise.
#[must_use]
pub fn policy(exception_type: &str) -> Policy {
    listed(exception_type).map_or(UNLISTED, |(policy, _)| policy)
}

/// The policy and class of a type that Harbor lists; the class of every other depends on when it was raised.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(crate) fn listed(exception_type: &str) -> Option<(Policy, FailureClass)> {
    Some(match exception_type {
        "EnvironmentStartTimeoutError"
        | "SandboxBuildFailedError"
        | "AgentSetupTimeoutError"
        | "HealthcheckError"
        | "SandboxLikelyOutOfMemoryError"
        | "MemoryLimitExceededError"
        | "SSHAccessError"
        | "GKEExecStreamClosedError"
        | "GKEPodNotFoundError"
        | "RuntimeRequestError"
        // The machine could not copy files in or out: no word of the verifier was heard.
        | "AddTestsDirError"
        | "DownloadVerifierDirError" => (BROKEN, Infrastructure),
        "ApiError"
        | "ApiRateLimitError"
        | "ApiInternalServerError"
        | "ApiOverloadedError"
        | "ApiConnectionClosedError"
        | "ApiResponseStalledError"
        | "UnknownApiError"
        | "NetworkConnectionError"
        | "ApiConnectionError"
        | "ApiUsageLimitError"
        | "RateLimitError"
        | "InternalServerError"
        | "ServiceUnavailableError"
        | "APIConnectionError"
        | "APIError"
        | "Timeout" => (SERVICE, Infrastructure),
        "UnsupportedModelParametersError"
        | "BadRequestError"
        | "UnprocessableEntityError"
        | "UnsupportedParamsError"
        | "APIResponseValidationError" => (REFUSED, Candidate),
        "BudgetExceededError" => (REFUSED, Budget),
        "VerifierTimeoutError"
        | "RewardFileNotFoundError"
        | "RewardFileEmptyError"
        | "VerifierOutputParseError" => (REFUSED, Verifier),
        "AgentAuthenticationError"
        | "ModelNotFoundError"
        | "ApiProviderResourceNotFoundError"
        | "AuthenticationError"
        | "PermissionDeniedError"
        | "NotFoundError"
        | "ServiceOperationsUnsupportedError"
        | "VercelScopeError"
        | "DspyImportError"
        | "MissingExtraError"
        | "RegradeError" => (HOPELESS, Infrastructure),
        "CancelledError" => (HOPELESS, Cancelled),
        "AgentTimeoutError" => (OWN, Timeout),
        "NonZeroAgentExitCodeError"
        | "ContextWindowExceededError"
        | "OutputTokenExceededError"
        | "ContextLengthExceededError"
        | "OutputLengthExceededError"
        | "AgentSafetyRefusalError"
        | "ContentPolicyViolationError" => (OWN, Candidate),
        _ => return None,
    })
}
