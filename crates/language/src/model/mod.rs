//! What a spec can say, as types. Their doc comments are the reference page, the editor's help and the JSON Schema.
//!
//! Nothing here checks one field against another (that is [`crate::check`]) or reads a file.

#[cfg(feature = "language")]
mod baseline;
mod controls;
mod gateway;
mod harbor;
#[cfg(feature = "language")]
mod images;
mod limits;
mod samples;
#[cfg(feature = "language")]
mod scorer;
mod selection;
#[cfg(feature = "language")]
mod spec;
mod text;

#[cfg(feature = "language")]
pub use baseline::{Baseline, BaselineSource, Overlay};
pub use controls::{Control, Controls, Verdict};
pub use gateway::{
    CLIENT_ADDRESSES, CLIENT_KEYS, Gateway, GatewayScope, MOST_DOLLARS, ModelPrice, WandbMode, WandbRun,
    lone_finalization, upstream_model, without_price,
};
pub use harbor::{HarborRun, InnerDocker, LocalTasks, RegistryTasks, RunAs, TaskSource};
#[cfg(feature = "language")]
pub use images::{Images, Packages};
pub use limits::{Limit, Limits, OwnTime, SampleTime};
pub use samples::{Access, Budget, EverySample, SampleFile, SampleFilter, Samples, Split};
#[cfg(feature = "language")]
pub use scorer::{Dataset, Scorer};
pub use selection::{Aggregate, Comparison, Constraint, Direction, Objective, Policy, Selection, Target};
#[cfg(feature = "language")]
pub use spec::{Author, Param, Required, Scalar, Spec, Verifier};
pub use text::{AgentEnv, Feedback, Instruction, Solution, SpecPath};

#[cfg(feature = "language")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A row of our own dataset, scored by our own scorer.
    A,
    /// An inner Harbor task, scored by its own verifier through a nested `harbor run`.
    B,
}
