//! The Taskwright spec language: from a TOML file to checked, typed tasks with mistakes shown where they stand.
//!
//! [`load`] is the way in. The types of [`model`] are the one source of the language: the checks of shape, the JSON
//! Schema ([`schema`]) and the reference page ([`reference`]) all come from them.
//!
//! Without the feature `language` only [`serve`], the part of [`model`] that it is made of, and [`pattern`] are there: what
//! the eval sidecar needs, whose binary every fresh clone compiles.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::iter_over_hash_type, clippy::too_many_lines))]

#[cfg(feature = "language")]
pub mod by_hand;
#[cfg(feature = "language")]
pub mod check;
#[cfg(feature = "language")]
pub mod diagnostic;
#[cfg(feature = "language")]
pub mod document;
#[cfg(feature = "language")]
mod duplicate;
#[cfg(feature = "language")]
mod env;
#[cfg(feature = "language")]
mod extend;
#[cfg(feature = "language")]
mod load;
#[cfg(feature = "language")]
mod matrix;
pub mod model;
#[cfg(feature = "language")]
mod params;
#[cfg(feature = "language")]
mod paths;
pub mod pattern;
#[cfg(feature = "language")]
pub mod reference;
#[cfg(feature = "language")]
pub mod schema;
pub mod serve;
#[cfg(feature = "language")]
mod shape;
#[cfg(feature = "language")]
mod source;
#[cfg(feature = "language")]
mod tree;
#[cfg(feature = "language")]
pub mod workspace;

#[cfg(feature = "language")]
pub use diagnostic::{Diagnostic, Diagnostics, Fix, Label, Severity};
#[cfg(feature = "language")]
pub use load::{Loaded, LoadedSpec, load};
#[cfg(feature = "language")]
pub use model::Spec;
#[cfg(feature = "language")]
pub use paths::normalize;
#[cfg(feature = "language")]
pub use shape::Shapes;
#[cfg(feature = "language")]
pub use source::{Position, Source};
