//! Builds Harbor task directories from Taskwright specs.
//!
//! [`build`] is the way in. A build looks at what changed since the last one ([`state`], [`stat`], [`inputs`]), makes
//! what is shared once ([`steps`]), renders and assembles each task, and puts it in its place by one rename
//! ([`publish`]). A spec author outside of this repository calls it from an `xtask` of three lines:
//!
//! ```no_run
//! use std::sync::atomic::AtomicBool;
//! use taskwright_builder::{Options, Silent, Workspace, build};
//!
//! let report = build(&Workspace::new("/my/specs"), &Options::default(), &Silent, &AtomicBool::new(false))?;
//! assert!(report.is_success());
//! # Ok::<(), taskwright_base::Error>(())
//! ```

pub mod clean;
pub mod doctor;
mod engine;
mod error;
pub mod gc;
pub mod git;
pub mod inputs;
pub mod key;
pub mod lock;
pub mod observe;
pub mod pending;
pub mod publish;
pub mod render;
pub mod report;
pub mod scaffold;
pub mod state;
pub mod steps;
pub mod store;
pub mod tree;
pub mod workspace;

pub use engine::{Intent, Options, build};
pub use observe::{Boundary, Observer, Silent};
pub use report::{Failure, Report, Status, TaskReport};
pub use workspace::{Binary, Workspace};
