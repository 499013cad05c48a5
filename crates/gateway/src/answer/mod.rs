//! What the upstream answers: counted as it passes, and given the client's own name for the model.

pub mod count;
pub mod naming;
pub mod reading;
pub mod sse;
pub mod stream;
pub mod whole;
