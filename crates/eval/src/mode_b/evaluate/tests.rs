//! What of an evaluation is left to be done.
