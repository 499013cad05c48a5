//! Builds Harbor task directories from Taskwright specs, and takes along those that somebody wrote.
//!
//! [`build`] is the way in. A build looks at what changed since the last one (`state`, `inputs`), makes what is shared
//! once (`steps`), renders and assembles each task, and puts it in its place by one rename (`publish`). `engine` draws
//! the phases. A spec author outside of this repository calls it from an `xtask` of three lines:
//!
//! ```no_run
//! use std::sync::atomic::AtomicBool;
//! use taskwright_builder::{Options, Silent, Workspace, build};
//!
//! let report = build(&Workspace::new("/my/specs"), &Options::default(), &Silent, &AtomicBool::new(false))?;
//! assert!(report.is_success());
//! # Ok::<(), taskwright_base::Error>(())
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::iter_over_hash_type, clippy::too_many_lines))]

pub mod clean;
mod compile;
pub mod controls;
pub mod depot;
pub mod descriptions;
pub mod diff;
pub mod dockerfile;
pub mod doctor;
pub mod embedded;
mod engine;
mod error;
pub mod evidence;
mod gc;
mod git;
mod inputs;
mod key;
mod lint;
pub mod lock;
mod lost;
mod observe;
mod pending;
mod publish;
pub mod release;
mod render;
mod report;
pub mod scaffold;
mod shard;
mod state;
mod steps;
mod store;
mod tree;
mod workspace;

pub use engine::{Intent, Options, build};
pub use gc::Collected;
pub use key::Change;
pub use lint::lint;
pub use observe::{Boundary, Observer, Silent};
pub use report::{Failure, Report, Status, TaskReport};
pub use shard::Shard;
pub use workspace::{Binary, Workspace, resolved};
