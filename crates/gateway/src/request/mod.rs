//! What a client sends: read strictly, so that the upstream cannot read it in another way, and made ready to be sent on.

pub mod asked;
pub mod headers;
pub mod strict;
pub mod tools;
