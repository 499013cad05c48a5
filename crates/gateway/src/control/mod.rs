//! What only the gateway's own side may ask: tokens, what they have used, and what is left of a budget. In this process, or over
//! a unix socket in a folder that two containers share.
//!
//! ```text
//!   eval, in the same process ───────────────▶ Handle ──▶ meter
//!   the sidecar ──▶ Client ──socket──▶ listen ───┘
//! ```

pub mod client;
pub mod listen;
pub mod protocol;

use taskwright_base::Result;

use crate::scope::{Door, Scope};
use crate::token::{Token, TokenId};
use crate::usage::{Budget, Usage};

/// Who makes tokens and knows what they have used.
pub trait Tokens: Send + Sync {
    /// Makes a token. `attribution` says what it is for.
    ///
    /// # Errors
    /// The scope may use nothing, or the journal cannot be written.
    fn mint(&self, scope: Scope, attribution: &str) -> Result<(TokenId, Token)>;

    /// Ends a token, and its requests that are under way. Returns what it has used.
    ///
    /// # Errors
    /// There is no such token, or the journal cannot be written.
    fn revoke(&self, token: TokenId) -> Result<Usage>;

    /// Ends every token of a door: those that somebody did not live to end.
    ///
    /// # Errors
    /// The journal cannot be written.
    fn revoke_all(&self, door: Door) -> Result<()>;

    /// What a token has used.
    ///
    /// # Errors
    /// There is no such token.
    fn usage(&self, token: TokenId) -> Result<Usage>;

    /// What all tokens of a scope have used, those among them that have ended; none if it may use nothing.
    ///
    /// # Errors
    /// The gateway does not answer.
    fn used(&self, scope: Scope) -> Result<Option<Usage>>;

    /// What is left of a scope's budget; none if it may use nothing.
    ///
    /// # Errors
    /// The gateway does not answer.
    fn budget(&self, scope: Scope) -> Result<Option<Budget>>;
}
