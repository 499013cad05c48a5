//! What stands in the journal.

use serde::{Deserialize, Serialize};
use taskwright_base::{Digest, words};

use crate::scope::Scope;
use crate::token::TokenId;
use crate::tokens::Tokens;
use crate::usage::{Charge, Parts, Refusals, Usage};

words! {
    /// How a request ended.
    End {
        /// With the upstream's answer.
        Answered = "answered",
        /// In the middle of it: the client or the upstream went away.
        Cut = "cut",
        /// Nobody knows how: the gateway was killed. It is charged what was reserved.
        Lost = "lost",
        /// The upstream failed or refused it. It costs nothing.
        Failed = "failed",
    }
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A token was made.
    Minted {
        /// Its number.
        token: TokenId,
        /// Whose it is.
        scope: Scope,
        /// The digest of its text.
        digest: Digest,
        /// What it is for, in the words of whoever had it made.
        attribution: String,
    },
    /// A token is no longer valid.
    Revoked {
        /// Its number.
        token: TokenId,
        /// What was refused of it in all.
        #[serde(flatten)]
        refusals: Refusals,
    },
    /// For the first time a request of a token could not be made, for want of budget or of an upstream: what asked for it has no score,
    /// whatever becomes of this process.
    CutOff {
        /// Its number.
        token: TokenId,
        /// What was refused of it so far.
        #[serde(flatten)]
        refusals: Refusals,
    },
    /// A request is about to be sent.
    Reserved(Reserved),
    /// A request has ended.
    Settled(Settled),
    /// In a journal that replaces another: a token, and what it has used.
    Token {
        /// Its number.
        token: TokenId,
        /// Whose it is.
        scope: Scope,
        /// The digest of its text.
        digest: Digest,
        /// What it is for.
        attribution: String,
        /// Whether it is still valid.
        valid: bool,
        /// What it has used.
        usage: Usage,
        /// What of that is money, exactly.
        cost: Parts,
    },
    /// In a journal that replaces another: what is spent of a budget.
    Spent {
        /// Whose budget.
        pool: Scope,
        /// What is spent.
        charge: Charge,
    },
    /// In a journal that replaces another: the last number of a request.
    Numbered {
        /// The number.
        request: u64,
    },
}

/// What is set aside for a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reserved {
    /// The request's number.
    pub request: u64,
    /// Who asked.
    pub token: TokenId,
    /// Whose budget it is.
    pub pool: Scope,
    /// The tokens that go in, as far as can be told.
    pub input: u64,
    /// The most tokens that come out.
    pub output: u64,
    /// The most that it costs.
    pub cost: Parts,
    /// Whether nobody knows what its model costs, so that `cost` says nothing.
    #[serde(default)]
    pub unpriced: bool,
}

/// What a request took in the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// The request's number.
    pub request: u64,
    /// How it ended.
    pub end: End,
    /// The tokens.
    pub tokens: Tokens,
    /// What it cost.
    pub cost: Parts,
    /// Whether the tokens are estimated, because nobody said how many there were.
    pub estimated: bool,
    /// Whether nobody knows what it cost, so that `cost` says nothing.
    #[serde(default)]
    pub unpriced: bool,
}
