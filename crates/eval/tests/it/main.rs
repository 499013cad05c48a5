//! The tests of this crate, as one program: linked once, and run side by side.

mod accepted;
mod candidates;
mod common;
mod evaluations;
mod examples;
mod hostile;
mod nested;
mod real_harbor;
