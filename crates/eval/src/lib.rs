//! Evaluates candidates: imports their commits as untrusted data, runs them in a sandbox and scores what they print.
//!
//! Four parts that know of each other only what they must:
//! - [`candidate`]: a commit arrives as a pack, is checked, pinned by its tree and written out as plain files.
//! - [`sandbox`]: a command runs as a user of its own, under limits, and no process of it survives.
//! - [`mode_a`]: samples are run on a candidate, and the scorer judges the outputs.
//! - [`mode_b`]: the candidate is an agent, a nested `harbor run` tries it on whole tasks, and its trials are collated.
//!
//! A fifth, `controls`, tries tasks out instead of candidates, and is compiled for the command line only.
//!
//! What becomes of a sample is in [`result`], what samples add up to in [`summary`]. The caller keeps budgets, access rules and the record; it also
//! must make `taskwright sandbox -- COMMAND` call [`sandbox::command_main`], because runs go through that command.
//!
//! ```no_run
//! use taskwright_eval::{Cancel, ImportLimits, IsolationMode, ModeA, Options, Plan, Store};
//! # fn example(serve: std::sync::Arc<taskwright_language::serve::ServeConfig>, pack: &mut dyn std::io::Read)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! let evaluator = ModeA::open(Options {
//!     serve: serve.clone(),
//!     dataset: "/taskwright/dataset".into(),
//!     scorer: "/taskwright/scorer".into(),
//!     taskwright: "/usr/local/bin/taskwright".into(),
//!     runtime: "/run/taskwright".into(),
//!     isolation: IsolationMode::Required,
//!     path: None,
//!     hidden: Vec::new(),
//! })?;
//! let store = Store::open(
//!     "/var/lib/taskwright/store".as_ref(),
//!     &serve.baseline,
//!     "/taskwright/baseline".as_ref(),
//!     evaluator.sandbox().clone(),
//! )?;
//! let commit = "0123456789abcdef0123456789abcdef01234567".parse()?;
//! let candidate = match store.find(&commit)? {
//!     Some(known) => known,
//!     None => store.import(&commit, pack, &ImportLimits::from(&serve.limits))?,
//! };
//! let checkout = store.checkout(&candidate)?;
//! let samples = &serve.splits["validation"].samples;
//! let plan = Plan { candidate: checkout.path(), samples, models: None };
//! let result = evaluator.evaluate(&plan, &|sample| println!("{}", sample.id), &Cancel::new());
//! println!("{:?}", result.aggregate.mean);
//! # Ok(())
//! # }
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::iter_over_hash_type, clippy::too_many_lines))]

pub mod attempts;
pub mod cancel;
pub mod candidate;
#[cfg(feature = "controls")]
pub mod controls;
pub mod evaluation;
pub mod failure;
pub mod mode_a;
pub mod mode_b;
pub mod result;
pub mod sandbox;
pub mod summary;
mod tail;

pub use attempts::{Attempt, Attempts, Claimed, Phases};
pub use cancel::Cancel;
pub use candidate::{Candidate, Checkout, CommitId, ImportError, ImportLimits, Refusal, Store, TreeId};
pub use evaluation::{End, EvaluationResult};
pub use failure::{ErrorClass, FailureKind, RunErrorKind};
pub use mode_a::{ModeA, ModelAccess, Options, Plan};
pub use mode_b::{
    DryRun, EvaluationB, HostPlace, ModeB, ModeBOptions, Observer, Place, PlanB, Rules, SidecarPlace, Trials,
};
pub use result::{Outcome, SampleResult, Score};
pub use sandbox::{IsolationGap, IsolationMode, Sandbox, SandboxOptions, remove_folder};
pub use summary::{ConstraintResult, Measured, Summary, summarize};

#[cfg(test)]
fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
