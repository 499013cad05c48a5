//! Times: of an evaluation, of a sample, of the end; and how many failures an evaluation bears.

use taskwright_base::Result;
use taskwright_language::model::Mode;
use toml::Value as Toml;

use crate::kind::Kind;
use crate::mapping::{At, Mapping};
use crate::notes::List;
use crate::yaml::Value;

/// What vero takes for `case_timeout_seconds` and `task_agent_timeout_seconds` where they are absent.
const ABSENT: (f64, f64) = (180.0, 600.0);

/// `case_timeout_seconds`. For inner tasks vero makes a ratio of it and of `task_agent_timeout_seconds`, which stretches
/// the time that each task gives its agent.
pub fn sample(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let said = match at.entry {
        Some(entry) => Some((entry, mapping.value(entry, Kind::Seconds)?)),
        None => None,
    };
    let comments = at.entry.map(|entry| entry.comments.clone()).unwrap_or_default();
    let value = said.map_or(Toml::Integer(180), |(_, value)| value);
    mapping.draft.set("limits", "sample_timeout_sec", value, &comments);
    if mapping.mode == Mode::B { ratio(mapping, at) } else { Ok(()) }
}

fn ratio(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let task = at.map.get("task_agent_timeout_seconds");
    let seconds = |mapping: &mut Mapping, entry, absent| match entry {
        None => Ok(Some(absent)),
        Some(entry) => mapping.value(entry, Kind::Number).map(|value| number(&value)),
    };
    let sample = seconds(mapping, at.entry, ABSENT.0)?;
    let declared = seconds(mapping, task, ABSENT.1)?;
    let Some(said) = at.entry.or(task) else { return Ok(()) };
    let (Some(sample), Some(declared)) = (sample, declared) else {
        mapping.note(
            List::ToDecide,
            said,
            "the ratio of the two times is not known before a parameter has its value",
        );
        return Ok(());
    };
    #[expect(clippy::float_cmp, reason = "the same number, written twice")]
    if sample == declared {
        mapping.note(List::Changed, said, format!("{sample} s for every sample with set-up and verifier, also where an inner task declares more; there each task keeps the time that it declares"));
        return Ok(());
    }
    if declared <= 0.0 {
        return Err(mapping.error(said.line, "`task_agent_timeout_seconds` must be more than 0"));
    }
    let factor = format!("{}", sample / declared);
    mapping.note(List::Changed, said, format!("{sample} s of {declared} s: the agent has {factor} of what its task declares, and no sample more than {sample} s with set-up and verifier"));
    let arguments = [Toml::from("--agent-timeout-multiplier"), Toml::from(factor)];
    let mut all =
        mapping.draft.get("harbor", "extra_args").and_then(Toml::as_array).cloned().unwrap_or_default();
    all.extend(arguments);
    mapping.draft.set("harbor", "extra_args", all, task.map_or(&[][..], |task| &task.comments));
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
