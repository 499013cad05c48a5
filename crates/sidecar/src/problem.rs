//! Refusals and failures as the service reports them: what, why, and what to do instead.

use std::fmt;

use serde::{Deserialize, Serialize};
use taskwright_base::Error;
use taskwright_base::text::brief;

use crate::exit;

/// What kind of problem it is; the kind decides the HTTP status and the command's exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Usage,
    NotFound,
    TooLarge,
    Candidate,
    /// The split may not be used like that.
    Access,
    Budget,
    /// There is no room for more.
    Full,
    /// The work is over.
    Sealed,
    /// Too many evaluations are waiting.
    Busy,
    /// There is no memory left for the request at the moment.
    Overloaded,
    /// The service failed, for reasons of its own that may pass.
    Broken,
    /// The state is damaged, so that there is no service any more.
    Damaged,
}

impl Kind {
    pub const ALL: [Self; 12] = [
        Self::Usage,
        Self::NotFound,
        Self::TooLarge,
        Self::Candidate,
        Self::Access,
        Self::Budget,
        Self::Full,
        Self::Sealed,
        Self::Busy,
        Self::Overloaded,
        Self::Broken,
        Self::Damaged,
    ];

    /// Its HTTP status, a command's exit status, its name on the wire, and what it says in general.
    fn row(self) -> (u16, u8, &'static str, &'static str) {
        match self {
            Self::Usage => (400, exit::USAGE, "usage", "the request makes no sense"),
            Self::NotFound => (404, exit::USAGE, "not-found", "there is no such thing"),
            Self::TooLarge => (413, exit::REFUSED, "too-large", "the request is too large"),
            Self::Candidate => (422, exit::REFUSED, "candidate", "the candidate is not acceptable"),
            Self::Access => (403, exit::REFUSED, "access", "the split may not be used like that"),
            Self::Budget => (403, exit::REFUSED, "budget", "the budget does not suffice"),
            Self::Full => (507, exit::REFUSED, "full", "there is no room for more"),
            Self::Sealed => (409, exit::REFUSED, "sealed", "the work is over"),
            Self::Busy => (429, exit::REFUSED, "busy", "too much is going on"),
            Self::Overloaded => (503, exit::REFUSED, "overloaded", "too many requests at once"),
            Self::Broken => (503, exit::UNREACHABLE, "broken", "the service cannot work"),
            Self::Damaged => (503, exit::UNREACHABLE, "damaged", "there is no service any more"),
        }
    }

    /// What a client is told of a failure that is the service's own, and what it can do. These words are fixed: those of
    /// an error may name what no client may know, a scorer's label or a sample of another split. None where a problem
    /// speaks of what the client sent.
    fn fixed(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Broken => Some((
                "the service failed, for reasons of its own, and nothing was charged for it",
                "try again later; why it failed stands in the service's log",
            )),
            Self::Damaged => Some((
                "the state of the service is damaged, so no service is given",
                "nothing is evaluated or submitted any more",
            )),
            Self::Usage
            | Self::NotFound
            | Self::TooLarge
            | Self::Candidate
            | Self::Access
            | Self::Budget
            | Self::Full
            | Self::Sealed
            | Self::Busy
            | Self::Overloaded => None,
        }
    }

    pub fn status(self) -> u16 {
        self.row().0
    }

    pub fn exit(self) -> u8 {
        self.row().1
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub kind: Kind,
    pub detail: String,
    pub hint: String,
}

impl Problem {
    pub fn new(kind: Kind, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), hint: hint.into() }
    }

    /// The problem as it is sent: the only form of it that leaves the service.
    pub fn to_wire(&self) -> Wire {
        let (status, _, name, title) = self.kind.row();
        let (detail, remedy) = self.kind.fixed().unwrap_or((self.detail.as_str(), self.hint.as_str()));
        Wire {
            kind: format!("urn:taskwright:problem:{name}"),
            title: title.to_owned(),
            status,
            detail: detail.to_owned(),
            remedy: remedy.to_owned(),
        }
    }

    /// Keeps in the service's log what [`Self::to_wire`] leaves out.
    pub fn log(&self) {
        // Why the state is damaged was said when it was opened.
        if self.kind == Kind::Broken {
            eprintln!("taskwright: {}", self.detail);
        }
    }

    /// The problem that was sent.
    pub fn from_wire(wire: Wire) -> Self {
        let name = wire.kind.rsplit(':').next().unwrap_or_default();
        let kind = Kind::ALL.into_iter().find(|kind| kind.row().2 == name).unwrap_or(Kind::Broken);
        Self { kind, detail: wire.detail, hint: wire.remedy }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.detail)?;
        if !self.hint.is_empty() {
            write!(formatter, "\n  {}", self.hint)?;
        }
        Ok(())
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::new(problem.detail).hint(problem.hint)
    }
}

/// A name that somebody sent, as a message shows it, however long it is.
pub fn shown(name: &str) -> String {
    brief(name, 60)
}

/// A problem as `application/problem+json` (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// A name that stays.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    pub detail: String,
    pub remedy: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn what_an_error_of_ours_says_is_never_sent() {
        let (ours, clients) = Kind::ALL.into_iter().partition::<Vec<_>, _>(|kind| {
            let wire = Problem::new(*kind, "label 7", "ask for label 7").to_wire();
            assert!(!wire.detail.is_empty() && !wire.remedy.is_empty(), "{wire:?}");
            let sent = Problem::from_wire(wire.clone());
            assert_eq!(sent.kind, *kind);
            !serde_json::to_string(&wire).unwrap().contains("label")
        });
        assert_eq!(ours, [Kind::Broken, Kind::Damaged]);
        // Whatever ends in 5xx and is not about room or load is ours.
        let about_load = [Kind::Full, Kind::Overloaded];
        assert!(clients.iter().all(|kind| kind.status() < 500 || about_load.contains(kind)), "{clients:?}");
    }
}
