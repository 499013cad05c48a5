//! What goes over the socket: a line asks, a line answers.

use serde::{Deserialize, Serialize};

use crate::scope::{Door, Scope};
use crate::token::{Token, TokenId};
use crate::usage::{Budget, Usage};

/// The most bytes of a line.
pub const LONGEST: u64 = 64 << 10;

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// For a token.
    Mint {
        /// Whose.
        scope: Scope,
        /// What it is for.
        attribution: String,
    },
    /// For the end of a token.
    Revoke {
        /// Its number.
        token: TokenId,
    },
    /// For the end of every token of a door.
    RevokeAll {
        /// Which.
        door: Door,
    },
    /// What a token has used.
    Usage {
        /// Its number.
        token: TokenId,
    },
    /// What all tokens of a scope have used.
    Used {
        /// Whose.
        scope: Scope,
    },
    /// What is left of a budget.
    Budget {
        /// Whose.
        scope: Scope,
    },
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// A token was made.
    Minted {
        /// Its number.
        token: TokenId,
        /// What a client must show.
        secret: Token,
    },
    /// It is done.
    Done,
    /// What a token has used.
    Usage(Usage),
    /// What all tokens of a scope have used; none if there is no such scope.
    Used(Option<Usage>),
    /// What is left of a budget; none if there is no such scope.
    Budget(Option<Budget>),
    /// It could not be done.
    Failed {
        /// What happened.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
}
