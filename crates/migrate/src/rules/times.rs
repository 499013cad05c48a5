//! Times: of an evaluation, of a sample, of the end; and how many failures an evaluation bears.

use taskwright_base::Result;
use taskwright_language::model::Mode;
use toml::Value as Toml;

use crate::kind::Kind;
use crate::mapping::{At, Mapping};
use crate::notes::List;
use crate::yaml::{Entry, Value};

/// What vero takes for `case_timeout_seconds` and `task_agent_timeout_seconds` where they are absent.
const ABSENT: (f64, f64) = (180.0, 600.0);

/// `case_timeout_seconds`. For inner tasks vero makes a ratio of it and of `task_agent_timeout_seconds`, which stretches
/// the time that each task gives its agent.
pub fn sample(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let sample = seconds(mapping, at.entry, ABSENT.0)?;
    mapping.sample_seconds = sample.map_or(0.0, f64::ceil);
    let comments = at.entry.map(|entry| entry.comments.clone()).unwrap_or_default();
    let task = at.map.get("task_agent_timeout_seconds");
    let declared = seconds(mapping, task, ABSENT.1)?;
    if let (Mode::B, Some(sample), Some(declared)) = (mapping.mode, sample, declared) {
        mapping.draft.set("limits", "sample_timeout_sec", "task", &comments);
        return ratio(mapping, at.entry.or(task), (sample, declared));
    }
    if let (Mode::B, Some(entry)) = (mapping.mode, at.entry.or(task)) {
        let text = "the ratio of the two times is not known before a parameter has its value: for every sample this many seconds, with set-up and verifier";
        mapping.note(List::ToDecide, entry, text);
    }
    let value = match at.entry {
        Some(entry) => mapping.value(entry, Kind::Seconds)?,
        None => Toml::Integer(180),
    };
    mapping.draft.set("limits", "sample_timeout_sec", value, &comments);
    Ok(())
}

fn seconds(mapping: &mut Mapping, entry: Option<&Entry>, absent: f64) -> Result<Option<f64>> {
    match entry {
        None => Ok(Some(absent)),
        Some(entry) => mapping.value(entry, Kind::Number).map(|value| number(&value)),
    }
}

fn ratio(mapping: &mut Mapping, said: Option<&Entry>, (sample, declared): (f64, f64)) -> Result<()> {
    if declared <= 0.0 {
        let line = said.map_or(1, |entry| entry.line);
        return Err(mapping.error(line, "`task_agent_timeout_seconds` must be more than 0"));
    }
    let factor = sample / declared;
    #[expect(clippy::float_cmp, reason = "the same number, written twice")]
    let is_same = sample == declared;
    let text = if is_same {
        format!(
            "{sample} s of {declared} s: each inner task keeps the times that it declares, and the number stands nowhere"
        )
    } else {
        mapping.draft.set("harbor", "agent_timeout_multiplier", factor, &[]);
        format!(
            "{sample} s of {declared} s: the agent has {factor} of what its task declares, and the numbers stand nowhere"
        )
    };
    match said {
        Some(entry) => mapping.note(List::Changed, entry, text),
        None => mapping.remark(List::Changed, "case_timeout_seconds", text),
    }
    Ok(())
}

fn number(value: &Toml) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a number of seconds")]
    let whole = value.as_integer().map(|whole| whole as f64);
    value.as_float().or(whole)
}

/// `verifier_timeout_seconds`, or as long as an evaluation may take.
pub fn finalize(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let (value, comments) = match at.entry {
        Some(entry) if entry.node.value != Value::Null => {
            (mapping.value(entry, Kind::Seconds)?, entry.comments.as_slice())
        }
        _ => {
            let evaluation = mapping.draft.get("limits", "evaluation_timeout_sec").cloned();
            (evaluation.unwrap_or(Toml::Integer(1800)), [].as_slice())
        }
    };
    mapping.draft.set("limits", "finalize_timeout_sec", value, comments);
    Ok(())
}

/// `error_rate_threshold`, which `null` turns off.
pub fn error_rate(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let value = if entry.node.value == Value::Null {
        mapping.note(
            List::Changed,
            entry,
            "null: there is no off, so 1.0: an evaluation fails only if every sample does",
        );
        Toml::Float(1.0)
    } else {
        mapping.value(entry, Kind::Number)?
    };
    mapping.draft.set("limits", "error_rate_threshold", value, &entry.comments);
    Ok(())
}
