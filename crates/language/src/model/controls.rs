//! Controls: candidates whose score is known before, by which a task is tried out.

use std::collections::BTreeMap;

#[cfg(feature = "language")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SpecPath;

/// What `validate` is told of a task. It changes nothing of what is built.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Controls {
    /// A folder of candidates that cheat, one folder each, whose files are laid over the baseline. None of them may score better than
    /// the baseline. It is for what no general control can do: where the scorer runs the candidate itself, a clock can only be
    /// patched, an answer only be kept, in the candidate's own language.
    pub candidates: Option<SpecPath>,
    /// The controls that this task does not hold to, each with the reason, which is shown in place of a verdict.
    pub waived: BTreeMap<Control, String>,
}

impl Controls {
    /// Whether a spec says nothing of controls.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A candidate whose score is known before: not how much it is, but what it is more or less than.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// What the optimizer starts from.
    Baseline,
    /// The baseline once more.
    Repeat,
    /// The spec's own solution.
    Oracle,
    /// No files but those that a candidate must leave as they are.
    Empty,
    /// Every file there, and nothing in it.
    Hollow,
    /// A program that ends well and says nothing.
    Silent,
    /// A program that answers every sample as the baseline answers the first.
    Constant,
    /// The baseline, with the best known answer to each sample whose input the optimizer may see.
    Replay,
    /// Answers that claim a score.
    Forged,
    /// The baseline under a clock that goes too slowly.
    Clock,
    /// A program that answers before the work is done, and goes on after it has ended.
    Early,
    /// A program that looks for what an earlier one left.
    Leftovers,
    /// A program that reaches for the labels, the scorer and the other samples.
    Trespass,
}

impl Control {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Self; 13] = [
        Self::Baseline,
        Self::Repeat,
        Self::Oracle,
        Self::Empty,
        Self::Hollow,
        Self::Silent,
        Self::Constant,
        Self::Replay,
        Self::Forged,
        Self::Clock,
        Self::Early,
        Self::Leftovers,
        Self::Trespass,
    ];

    /// Its name in a spec, in a lock and on a terminal.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Repeat => "repeat",
            Self::Oracle => "oracle",
            Self::Empty => "empty",
            Self::Hollow => "hollow",
            Self::Silent => "silent",
            Self::Constant => "constant",
            Self::Replay => "replay",
            Self::Forged => "forged",
            Self::Clock => "clock",
            Self::Early => "early",
            Self::Leftovers => "leftovers",
            Self::Trespass => "trespass",
        }
    }
}

/// Whether a control scored as it must.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It did.
    Pass,
    /// It did not.
    Fail,
    /// It means nothing for this task, or the spec waives it.
    NotApplicable,
    /// Something went wrong that is not the task's fault.
    NotMeasured,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::NotApplicable => "not applicable",
            Self::NotMeasured => "not measured",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_a_spec_writes() {
        for control in Control::ALL {
            assert_eq!(serde_json::to_string(&control).unwrap(), format!("\"{}\"", control.name()));
        }
    }
}
