//! What went wrong in a trial: Harbor's policy for each type of exception, and whose failure it is.
//!
//! Everything here goes by an exception's type, by the phase it fell in and by the policy that Harbor recorded. The
//! words of a message are a candidate's to choose, so they decide nothing.
//!
//! The name of a type is a candidate's to choose as well. One that Harbor raises elsewhere only is seen through; one of
//! a service that the agent calls cannot be told from the real one. So what has no value for such a reason is
//! incomplete, and must not rank above what is complete.

mod class;
mod table;

pub use class::{AgentCode, Failure, FailureClass, Phase, failure, reward_is_valid};
pub use table::{Policy, policy};
