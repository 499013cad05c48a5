//! All we know of Harbor: what a task directory must look like for Harbor 0.26, and how Harbor names its content.
//!
//! Two features: `task-toml` is what building tasks needs, `runs` is what running them needs.
//!
//! - [`task_toml`]: the `task.toml` of schema 1.4 as types, with Harbor's own rules about values.
//! - [`digest`]: the content digest that Harbor writes into a job's `lock.json`.
//! - [`document`], [`result`], [`rewards`], [`exceptions`], [`job`], [`time`]: what Harbor leaves behind, every version of
//!   it, read with bounds.
//! - [`job_config`], [`command`], [`tools`], [`run`]: a job's configuration, the command that runs it, the programs that
//!   takes, and the run itself, from its start to its end.
//! - [`child`], [`watch`], [`containers`]: the process of a run, its trials as they end, and what it leaves in Docker.
//! - [`dataset`]: the digest of a set of tasks.
//! - [`manifest`]: `dataset.toml`, the file of such a set; [`change`]: what a task's new version means to its earlier trials.
//! - [`backends`]: what can run a task, by its release and by where the containers are.
//! - [`credentials`]: names under which Harbor expects a credential; [`secret_names`]: names under which one stands.
//! - [`names`]: names of task directories, tasks and steps that Harbor can live with.
//! - [`project`], [`requirements`]: a Python project beside Harbor, and the versions of packages that both get.
//! - [`phases`]: how long the phases of a trial may take.
//! - [`version`]: the release of Harbor all this was tested against.
//!
//! ```
//! use taskwright_harbor::digest::content_digest_of;
//! use taskwright_harbor::names::check_dir_name;
//! use taskwright_harbor::task_toml::{EnvironmentMode, PackageInfo, TaskToml};
//!
//! let mut task = TaskToml::default();
//! task.task = Some(PackageInfo { name: "acme/sorting".into(), ..PackageInfo::default() });
//! task.verifier.environment_mode = Some(EnvironmentMode::Separate);
//! assert!(task.validate().is_empty());
//! assert!(check_dir_name("sorting").is_ok());
//!
//! // What the digest needs of a file is its path and the SHA-256 of its bytes, here that of no bytes at all.
//! let empty = *b"\xe3\xb0\xc4\x42\x98\xfc\x1c\x14\x9a\xfb\xf4\xc8\x99\x6f\xb9\x24\
//!                \x27\xae\x41\xe4\x64\x9b\x93\x4c\xa4\x95\x99\x1b\x78\x52\xb8\x55";
//! let digest = content_digest_of([("task.toml", empty), ("instruction.md", empty)])?;
//! assert!(digest.to_string().starts_with("sha256:"));
//! # Ok::<(), taskwright_harbor::digest::DigestError>(())
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::iter_over_hash_type, clippy::too_many_lines))]

#[cfg(feature = "task-toml")]
pub mod backends;
#[cfg(feature = "task-toml")]
pub mod change;
#[cfg(feature = "runs")]
pub mod child;
#[cfg(feature = "runs")]
pub mod command;
#[cfg(feature = "runs")]
pub mod containers;
pub mod credentials;
#[cfg(feature = "runs")]
pub mod dataset;
pub mod digest;
#[cfg(feature = "runs")]
pub mod document;
#[cfg(feature = "runs")]
pub mod endpoints;
#[cfg(feature = "runs")]
pub mod exceptions;
#[cfg(feature = "runs")]
pub mod job;
#[cfg(feature = "runs")]
pub mod job_config;
#[cfg(feature = "task-toml")]
pub mod manifest;
pub mod names;
pub mod phases;
#[cfg(feature = "runs")]
mod policy;
pub mod project;
pub mod requirements;
#[cfg(feature = "runs")]
pub mod result;
#[cfg(feature = "runs")]
pub mod rewards;
#[cfg(feature = "runs")]
pub mod run;
pub mod secret_names;
#[cfg(feature = "task-toml")]
pub mod task_toml;
#[cfg(feature = "runs")]
pub mod time;
#[cfg(feature = "runs")]
pub mod tools;
#[cfg(feature = "runs")]
mod traceback;
pub mod version;
#[cfg(feature = "runs")]
pub mod watch;

pub use version::{HARBOR_VERSION, Release, SCHEMA_VERSION, TRIED, tried};

#[cfg(test)]
#[path = "../tests/support/python.rs"]
mod python;

#[cfg(test)]
fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
