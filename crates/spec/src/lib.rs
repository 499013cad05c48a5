//! The Taskwright spec language: from a TOML file to checked, typed tasks with mistakes shown where they stand.
//!
//! [`load`] is the way in. The types of [`model`] are the one source of the language: the checks of shape, the JSON
//! Schema ([`schema`]) and the reference page ([`reference`]) all come from them.

pub mod check;
pub mod diagnostic;
mod duplicate;
mod extend;
mod load;
mod matrix;
pub mod model;
mod params;
mod paths;
pub mod reference;
pub mod schema;
pub mod serve;
mod shape;
mod source;
mod tree;

pub use diagnostic::{Diagnostic, Diagnostics, Label, Severity};
pub use load::{Loaded, LoadedSpec, load};
pub use model::Spec;
pub use source::{Position, Source};
