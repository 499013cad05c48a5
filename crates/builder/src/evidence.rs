//! What the lock keeps of a task besides what builds make of it: which images were baked, and what its controls scored. Each says what
//! it is evidence of, so that it can be seen when it is of something else than the task as it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use taskwright_language::model::{Control, Verdict};

/// What the lock says of a task's images.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Images {
    /// All files of the task directory that they were made from.
    pub tree: String,
    /// Everything that they were made from: the task as built, the bases, the platforms, the names.
    pub inputs: String,
    /// The content digest that Harbor computes for the task that names them.
    pub harbor: String,
    /// The digest of each, by the service that it is for: of a manifest, or of an index where it is for several platforms.
    pub digest: BTreeMap<String, String>,
}

impl Images {
    /// The table of the lock.
    pub(crate) fn lines(&self, task: &str) -> String {
        let mut lines = format!("\n[task.{task}.images]\n");
        lines.push_str(&line("tree", &self.tree));
        lines.push_str(&line("inputs", &self.inputs));
        lines.push_str(&line("harbor", &self.harbor));
        lines.push_str(&format!("\n[task.{task}.images.digest]\n"));
        lines.extend(self.digest.iter().map(|(service, digest)| line(service, digest)));
        lines
    }
}

/// What the controls of a task scored. The digests are those of the entry when they were run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controls {
    /// The spec: which samples are held out and which fields are labels stands in it.
    #[serde(default)]
    pub spec: Option<String>,
    /// The baseline.
    #[serde(default)]
    pub baseline: Option<String>,
    /// Mode A: the dataset.
    #[serde(default)]
    pub dataset: Option<String>,
    /// Mode A: the scorer.
    #[serde(default)]
    pub scorer: Option<String>,
    /// Mode B: the inner tasks.
    #[serde(default)]
    pub inner_tasks: Option<String>,
    /// What became of each control, by its name.
    pub outcomes: BTreeMap<String, Outcome>,
}

/// What became of a control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Whether it scored as it must.
    pub verdict: Verdict,
    /// Its score, to six digits; none where it varies from one run to the next, or where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Why the task need not hold to it, if the spec says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Controls {
    /// Whether the task can be believed: its baseline is scored, and no control came out otherwise than it must.
    pub fn passed(&self) -> bool {
        let is_baseline = |(name, outcome): (&String, &Outcome)| {
            name == Control::Baseline.name() && outcome.verdict == Verdict::Pass
        };
        self.outcomes.iter().any(is_baseline) && self.not_passed().is_empty()
    }

    /// The names of those that came out otherwise than they must, or not at all.
    pub(crate) fn not_passed(&self) -> Vec<&str> {
        let is_wrong = |outcome: &Outcome| matches!(outcome.verdict, Verdict::Fail | Verdict::NotMeasured);
        let wrong = self.outcomes.iter().filter(|(_, outcome)| is_wrong(outcome));
        wrong.map(|(name, _)| name.as_str()).collect()
    }

    pub(crate) fn digests(&self) -> [(&'static str, Option<&str>); 5] {
        [
            ("spec", self.spec.as_deref()),
            ("baseline", self.baseline.as_deref()),
            ("dataset", self.dataset.as_deref()),
            ("scorer", self.scorer.as_deref()),
            ("inner_tasks", self.inner_tasks.as_deref()),
        ]
    }

    /// The table of the lock.
    pub(crate) fn lines(&self, task: &str) -> String {
        let mut lines = format!("\n[task.{task}.controls]\n");
        for (label, digest) in self.digests() {
            if let Some(digest) = digest {
                lines.push_str(&line(label, digest));
            }
        }
        lines.push_str(&format!("\n[task.{task}.controls.outcomes]\n"));
        for (name, outcome) in &self.outcomes {
            let score = outcome.score.map(|score| format!(", score = {}", toml::Value::from(score)));
            let reason = outcome.reason.as_deref();
            // On one line, whatever stands in it.
            let reason = reason.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
            let reason = reason.map(|text| format!(", reason = {}", toml::Value::from(text)));
            let verdict = toml::Value::try_from(outcome.verdict).unwrap_or_else(|_| "fail".into());
            let (score, reason) = (score.unwrap_or_default(), reason.unwrap_or_default());
            lines.push_str(&format!("{name} = {{ verdict = {verdict}{score}{reason} }}\n"));
        }
        lines
    }
}

/// A line of the lock.
pub(crate) fn line(label: &str, value: &str) -> String {
    let is_bare =
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let value = toml::Value::from(value);
    if is_bare { format!("{label} = {value}\n") } else { format!("{} = {value}\n", toml::Value::from(label)) }
}
