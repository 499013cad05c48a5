//! The releases of Harbor that everything in this crate was written for and tried with.

/// The release that is used where none is named, and that everything is tested with.
pub const HARBOR_VERSION: &str = "0.26.0";

/// A release that trials were run with. Harbor changes what a result means without changing its schema, so each is tried before
/// it is named here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// Its version.
    pub version: &'static str,
    /// Whether it knows [`crate::job_config::JobConfig::override_error_policy`], the one part of the configurations we write that
    /// not all of them know.
    pub has_error_policies: bool,
    /// Whether `harbor run --dry-run` reads a configuration without running it.
    pub has_dry_run: bool,
    /// Whether that says where each agent would ask a language model.
    pub says_endpoints: bool,
}

/// One that lacks most of what the last one has.
const fn old(version: &'static str, has_dry_run: bool) -> Release {
    Release { version, has_error_policies: false, has_dry_run, says_endpoints: false }
}

/// The releases that were tried, the oldest first.
pub const TRIED: [Release; 5] = [
    old("0.20.0", false),
    old("0.21.0", false),
    old("0.22.0", false),
    old("0.23.0", true),
    Release { version: HARBOR_VERSION, has_error_policies: true, has_dry_run: true, says_endpoints: true },
];

impl Release {
    /// The release of a version, if it was tried.
    pub fn of(version: &str) -> Option<Self> {
        TRIED.into_iter().find(|release| release.version == version)
    }
}

/// The versions that were tried, in words.
pub fn tried() -> String {
    let versions = TRIED.map(|release| release.version);
    format!("{} and {HARBOR_VERSION}", versions[..versions.len() - 1].join(", "))
}

/// The `schema_version` of the `task.toml` we write.
pub const SCHEMA_VERSION: &str = "1.4";
