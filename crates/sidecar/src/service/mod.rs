//! The service behind the network: evaluations, budgets and submissions, kept in a journal.
//!
//! [`open`] brings the state to life, [`state`] holds it, [`request`] decides what is asked for, [`queue`] says what runs
//! next, [`work`] runs it, [`view`] shows what may be shown, [`room`] keeps the
//! disk from filling up, and [`reserve`] keeps some of it for the end.

mod open;
mod queue;
mod request;
mod reserve;
mod room;
mod state;
#[cfg(test)]
mod tests;
mod view;
mod work;

pub use open::{OpenError, open};
pub use request::OwnRequest;
pub use room::Upload;
pub use state::Service;
pub use view::parse_id;
