//! The version of Harbor that everything in this crate was written and tested against.

/// The release of Harbor we drive: what a runner installs and what a job's `lock.json` must name.
///
/// Harbor changes what a result means without changing its schema, so it is pinned to one release, not to a range.
pub const HARBOR_VERSION: &str = "0.26.0";

/// The `schema_version` of the `task.toml` we write.
pub const SCHEMA_VERSION: &str = "1.4";
