//! The Taskwright spec language: from a TOML file to checked, typed tasks with mistakes shown where they stand.
//!
//! [`load`] is the way in. The types of [`model`] are the one source of the language: the checks of shape, the JSON
//! Schema ([`schema`]) and the reference page ([`reference`]) all come from them.
//!
//! Without the feature `language` only [`model`] and [`serve`] are there: what the eval sidecar needs, which is compiled
//! into every fresh clone's binary.

#[cfg(feature = "language")]
pub mod check;
#[cfg(feature = "language")]
pub mod diagnostic;
#[cfg(feature = "language")]
mod duplicate;
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
pub use diagnostic::{Diagnostic, Diagnostics, Label, Severity};
#[cfg(feature = "language")]
pub use load::{Loaded, LoadedSpec, load};
pub use model::Spec;
#[cfg(feature = "language")]
pub use source::{Position, Source};
