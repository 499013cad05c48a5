//! The arithmetic of timeouts: what an evaluation and a finalization can take at most.

use crate::model::{Limits, Mode, Spec};

/// What finalizing runs at most, as counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinalizeWork {
    /// What is scored: a name, how many samples, and how often each in all.
    pub parts: Vec<(String, u64, u64)>,
    concurrency: u64,
    sample_timeout_sec: u64,
}

/// A timeout that is too short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeProblem {
    /// Whether it is too short even if nothing has to be tried again; otherwise it is only a warning.
    pub certain: bool,
    /// What is too short, with the arithmetic.
    pub message: String,
    /// What to write instead.
    pub hint: String,
}

/// The numbers that the arithmetic starts from.
#[derive(Debug, Clone, Copy)]
pub struct Counts<'a> {
    /// The samples of each target.
    pub targets: &'a [u64],
    /// The samples of the split that ranks candidates.
    pub selection: u64,
    /// Seconds that a sample takes at most where each has a time of its own: the longest of them, if that is known.
    pub own_seconds: Option<u64>,
}

impl Counts<'_> {
    /// Seconds that one sample may take; none if nobody knows.
    fn seconds(&self, spec: &Spec) -> Option<u64> {
        spec.limits.sample_timeout_sec.seconds().or(self.own_seconds)
    }
}

/// The work that finalizing does; none if nobody knows how long a sample takes.
pub fn finalize_work(spec: &Spec, counts: &Counts<'_>) -> Option<FinalizeWork> {
    let Counts { targets: target_samples, selection: selection_samples, .. } = *counts;
    let mut parts = Vec::new();
    for (target, samples) in spec.targets.iter().zip(target_samples) {
        parts.push((format!("target `{}`", target.reward_key), *samples, target.attempts));
        if spec.selection.score_baseline && target.baseline_reward.is_none() {
            parts.push((format!("the baseline on `{}`", target.reward_key), *samples, target.attempts));
        }
    }
    let selection = &spec.selection;
    if selection.rescore_top_k > 0 && selection_samples > 0 {
        let times = selection.rescore_top_k.saturating_mul(selection.rescore_attempts);
        parts.push((format!("rescoring the best {}", selection.rescore_top_k), selection_samples, times));
    }
    if selection.baseline_floor && selection_samples > 0 {
        let times = selection.rescore_attempts.max(1);
        parts.push(("the baseline for comparison".to_owned(), selection_samples, times));
    }
    Some(FinalizeWork {
        parts,
        concurrency: spec.limits.concurrency.max(1),
        sample_timeout_sec: counts.seconds(spec)?,
    })
}

impl FinalizeWork {
    /// Seconds that it takes if every sample takes its whole time, `tries` times.
    pub fn seconds(&self, tries: u64) -> u64 {
        self.parts
            .iter()
            .map(|(_, samples, times)| {
                wall(samples.saturating_mul(*times), tries, self.concurrency, self.sample_timeout_sec)
            })
            .fold(0, u64::saturating_add)
    }

    /// The arithmetic in words.
    fn explain(&self, tries: u64) -> String {
        let again = if tries > 1 { format!(" x {tries} tries") } else { String::new() };
        let parts: Vec<String> = self
            .parts
            .iter()
            .filter(|(_, samples, _)| *samples > 0)
            .map(|(name, samples, times)| {
                format!(
                    "{name} ceil({samples} samples x {times}{again} / {}) x {} s",
                    self.concurrency, self.sample_timeout_sec
                )
            })
            .collect();
        format!("{} = {} s", parts.join(" + "), self.seconds(tries))
    }
}

/// What is wrong with `limits.finalize_timeout_sec` at these numbers of samples: certain if the trials alone take
/// longer, a warning if only their repetition after failures of ours does.
pub fn finalize_problem(spec: &Spec, counts: &Counts<'_>) -> Option<TimeProblem> {
    let Limits { finalize_timeout_sec: limit, infrastructure_max_attempts, .. } = spec.limits;
    let work = finalize_work(spec, counts)?;
    let tries = infrastructure_max_attempts.max(1);
    let (certain, tries) = if work.seconds(1) > limit {
        (true, 1)
    } else if work.seconds(tries) > limit {
        (false, tries)
    } else {
        return None;
    };
    Some(TimeProblem {
        certain,
        message: format!(
            "`finalize_timeout_sec` is {limit} s, but finalizing can take {}",
            work.explain(tries)
        ),
        hint: format!(
            "write `finalize_timeout_sec = {}` or more, or raise `concurrency`: a verdict that comes too late is lost",
            work.seconds(tries)
        ),
    })
}

/// What is doubtful about `limits.evaluation_timeout_sec` for a whole split of `samples` samples.
pub fn evaluation_problem(spec: &Spec, split: &str, samples: u64) -> Option<TimeProblem> {
    let attempts = match (&spec.harbor, spec.mode) {
        (Some(harbor), Mode::B) => harbor.attempts,
        _ => 1,
    };
    let Limits { evaluation_timeout_sec: limit, sample_timeout_sec, concurrency, .. } = spec.limits;
    let sample_timeout_sec = sample_timeout_sec.seconds()?;
    let concurrency = concurrency.max(1);
    let seconds = wall(samples.saturating_mul(attempts), 1, concurrency, sample_timeout_sec);
    (seconds > limit).then(|| TimeProblem {
        certain: false,
        message: format!(
            "`evaluation_timeout_sec` is {limit} s, but the whole split `{split}` can take ceil({samples} samples x \
             {attempts} / {concurrency}) x {sample_timeout_sec} s = {seconds} s"
        ),
        hint: format!("write `evaluation_timeout_sec = {seconds}` or more, or raise `concurrency`"),
    })
}

fn wall(trials: u64, tries: u64, concurrency: u64, seconds: u64) -> u64 {
    trials.saturating_mul(tries.max(1)).div_ceil(concurrency.max(1)).saturating_mul(seconds)
}

#[cfg(test)]
mod tests {
    use super::wall;

    #[test]
    fn rounds_up_and_never_overflows() {
        assert_eq!(wall(10, 1, 3, 60), 240);
        assert_eq!(wall(9, 1, 3, 60), 180);
        assert_eq!(wall(0, 1, 3, 60), 0);
        assert_eq!(wall(u64::MAX, u64::MAX, 0, u64::MAX), u64::MAX);
    }
}
