//! Student's interval of a mean over tasks.

use super::interval::{Interval, IntervalMethod};

/// The 95 % interval of the mean of these values, one a task; nothing for fewer than two tasks.
///
/// Tasks are drawn from tasks of their kind, so that the spread of their means is all that matters: trials within a task
/// add to it, and need no account of their own.
pub fn student(task_means: &[f64]) -> Option<Interval> {
    let (low, high) = taskwright_base::student::interval(task_means)?;
    Some(Interval { low, high, method: IntervalMethod::StudentT })
}
