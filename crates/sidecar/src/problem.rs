//! Refusals and failures as the service reports them: what, why, and what to do instead.

use serde::{Deserialize, Serialize};

/// What kind of problem it is; the kind decides the HTTP status and the command's exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The request makes no sense.
    Usage,
    /// There is no such thing.
    NotFound,
    /// The request is larger than the task allows.
    TooLarge,
    /// The candidate is not acceptable.
    Candidate,
    /// The split may not be used like that.
    Access,
    /// The budget does not suffice.
    Budget,
    /// There is no room for more.
    Full,
    /// The work is over.
    Sealed,
    /// Too much is going on at the moment.
    Busy,
    /// The service cannot work.
    Broken,
}

impl Kind {
    const ALL: [Self; 10] = [
        Self::Usage,
        Self::NotFound,
        Self::TooLarge,
        Self::Candidate,
        Self::Access,
        Self::Budget,
        Self::Full,
        Self::Sealed,
        Self::Busy,
        Self::Broken,
    ];

    /// The HTTP status.
    pub fn status(self) -> u16 {
        match self {
            Self::Usage => 400,
            Self::NotFound => 404,
            Self::TooLarge => 413,
            Self::Candidate => 422,
            Self::Access | Self::Budget => 403,
            Self::Full => 507,
            Self::Sealed => 409,
            Self::Busy => 429,
            Self::Broken => 503,
        }
    }

    /// The exit status of a command that met it.
    pub fn exit(self) -> u8 {
        match self {
            Self::Usage | Self::NotFound => crate::exit::USAGE,
            Self::TooLarge
            | Self::Candidate
            | Self::Access
            | Self::Budget
            | Self::Full
            | Self::Sealed
            | Self::Busy => crate::exit::REFUSED,
            Self::Broken => crate::exit::UNREACHABLE,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::NotFound => "not-found",
            Self::TooLarge => "too-large",
            Self::Candidate => "candidate",
            Self::Access => "access",
            Self::Budget => "budget",
            Self::Full => "full",
            Self::Sealed => "sealed",
            Self::Busy => "busy",
            Self::Broken => "broken",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Usage => "the request makes no sense",
            Self::NotFound => "there is no such thing",
            Self::TooLarge => "the request is too large",
            Self::Candidate => "the candidate is not acceptable",
            Self::Access => "the split may not be used like that",
            Self::Budget => "the budget does not suffice",
            Self::Full => "there is no room for more",
            Self::Sealed => "the work is over",
            Self::Busy => "too much is going on",
            Self::Broken => "the service cannot work",
        }
    }
}

/// A refusal or a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its kind.
    pub kind: Kind,
    /// What is wrong.
    pub detail: String,
    /// What to do instead.
    pub remedy: String,
}

impl Problem {
    /// A problem of a kind.
    pub fn new(kind: Kind, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), remedy: remedy.into() }
    }

    /// The problem as it is sent.
    pub fn to_wire(&self) -> Wire {
        Wire {
            kind: format!("urn:taskwright:problem:{}", self.kind.name()),
            title: self.kind.title().to_owned(),
            status: self.kind.status(),
            detail: self.detail.clone(),
            remedy: self.remedy.clone(),
        }
    }

    /// The problem that was sent.
    pub fn from_wire(wire: Wire) -> Self {
        let name = wire.kind.rsplit(':').next().unwrap_or_default();
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name).unwrap_or(Kind::Broken);
        Self { kind, detail: wire.detail, remedy: wire.remedy }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.detail)?;
        if !self.remedy.is_empty() {
            write!(formatter, "\n  {}", self.remedy)?;
        }
        Ok(())
    }
}

/// A problem as `application/problem+json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// Its kind, as a name that stays.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong.
    pub detail: String,
    /// What to do instead.
    pub remedy: String,
}
