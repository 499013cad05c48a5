//! `cargo xtask compare`.

use crate::exit::{self, Status};
use crate::output;
use taskwright_ledger::compare::{Comparison, Note, Side};
use taskwright_ledger::leaderboard::Cell;
use taskwright_ledger::statistics::{Direction, Measure, SignificanceMethod};

use crate::selection::{RuleArguments, Selection};
use taskwright_base::table::{Table, number};
use taskwright_base::text::{clean, count};
use taskwright_ledger::leaderboard::interval;

/// Compare two agents on the tasks that both have tried.
///
/// Differences are the first less the second. docs/statistics.md has every formula.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask compare oracle nop\n  cargo xtask compare monday:codex tuesday:codex\n  \
                        cargo xtask compare 0f3a5b77 91c2de40 --experiment smoke --json"
)]
pub struct Arguments {
    /// An agent's label, six digits of its digest or more, an experiment with a single agent, or EXPERIMENT:AGENT.
    a: String,
    /// The other.
    b: String,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    rules: RuleArguments,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let ledger = arguments.selection.read()?;
    let filter = arguments.selection.filter();
    let tasks = arguments.selection.tasks()?;
    let comparison =
        ledger.compare((&arguments.a, &arguments.b), &filter, &tasks, &arguments.rules.rules())?;
    output::print(&if arguments.json {
        format!("{}\n", serde_json::to_string_pretty(&comparison)?)
    } else {
        format!("{}\n{}", table(&comparison), summary(&comparison))
    })?;
    Ok(exit::SUCCESS)
}

fn table(comparison: &Comparison) -> String {
    let mut table = Table::new(["<task", "A", "n", "B", "n", "A - B"]);
    for task in &comparison.tasks {
        let cells = |cell: &Option<Cell>| {
            let counted = cell.as_ref().map_or(0, |cell| cell.counted);
            (number(cell.as_ref().and_then(|cell| cell.by(comparison.compared_by))), counted.to_string())
        };
        let ((a, trials_a), (b, trials_b)) = (cells(&task.a), cells(&task.b));
        table.row(vec![task.task.clone(), a, trials_a, b, trials_b, signed(task.difference)]);
    }
    table.text()
}

fn summary(comparison: &Comparison) -> String {
    let name = |side: &Side| {
        let experiment = side.experiment.as_ref().map(|experiment| format!(" in {}", clean(experiment)));
        clean(&side.row.label) + &experiment.unwrap_or_default()
    };
    let mut lines = vec![
        format!("A = {}: {}", name(&comparison.a), number(comparison.mean_a)),
        format!("B = {}: {}", name(&comparison.b), number(comparison.mean_b)),
    ];
    let by = match comparison.compared_by {
        Measure::Reward => None,
        Measure::Gain => Some("the gain over the baseline, as a part of its reward"),
        Measure::Share => Some("the share of what the tasks' own solutions gain over the baseline"),
    };
    lines.extend(by.map(|by| format!("by {by}")));
    let same = comparison.common - comparison.better - comparison.worse;
    let is_smaller_better =
        comparison.compared_by == Measure::Reward && comparison.rules.direction == Direction::Minimize;
    let direction = if is_smaller_better { " (smaller is better)" } else { "" };
    lines.push(format!(
        "on the {} that both have: A is better on {}, worse on {}, the same on {same}{direction}",
        count(comparison.common, "task"),
        comparison.better,
        comparison.worse
    ));
    match &comparison.paired {
        None => lines.push("no task has complete trials of both: there is nothing to compare".to_owned()),
        Some(paired) => {
            let significance = &paired.significance;
            let all = match significance.method {
                SignificanceMethod::Exact => "all",
                SignificanceMethod::Sampled => "drawn",
            };
            lines.push(format!(
                "A - B = {}, 95 % interval {}, p = {} (by exchanging their trials within tasks: {all} {} ways)",
                signed(Some(paired.difference)),
                interval(paired.interval),
                p_value(significance.p_value),
                significance.arrangements
            ));
            lines.extend(comparison.notes.iter().map(|note| remark(note, comparison.compared_by)));
        }
    }
    lines.extend(spent(comparison));
    if let Some(value) = comparison.rules.partial {
        let trials = comparison.a.row.partial_counted + comparison.b.row.partial_counted;
        if trials > 0 {
            let (trials, s) = (count(trials, "partial trial"), if trials == 1 { "s" } else { "" });
            lines.push(format!("! {trials} count{s} as {value}: this compares more than complete trials"));
        }
    }
    lines.join("\n") + "\n"
}

/// What the two differ in by what they took, as far as it is known of both.
fn spent(comparison: &Comparison) -> Vec<String> {
    let each = [
        ("cost", comparison.cost_usd, "$"),
        ("candidates in the search", comparison.evaluation_cost_usd, "$"),
        ("candidates in the end", comparison.finalization_cost_usd, "$"),
        ("time", comparison.seconds, "s"),
    ];
    let known = each.into_iter().filter(|(_, difference, _)| difference.is_some());
    let line = |(what, difference, unit)| {
        format!("{what}: A - B = {} {unit}, the mean over these tasks", signed(difference))
    };
    known.map(line).collect()
}

fn remark(note: &Note, compared_by: Measure) -> String {
    match note {
        Note::DifferentScales { tasks } => {
            let tasks: Vec<String> = tasks.iter().map(|task| clean(task)).collect();
            let what = match compared_by {
                Measure::Reward => "! rewards are of different size, and a mean of them mostly that of the larger",
                Measure::Gain | Measure::Share => "their rewards are of different size, and are not averaged themselves",
            };
            format!("{what}: {}", tasks.join(", "))
        }
        Note::FewTasks { tasks } => format!("! {} say little of others: the interval is rough", count(*tasks, "task")),
        Note::LeastP { value } => {
            format!("! with so few trials that differ, p could not have been below {}", p_value(*value))
        }
        Note::Disagree { interval_excludes_zero: true } => {
            "! the interval excludes 0 and p is not below 0.05: the interval speaks of other tasks of this kind, p of these \
             trials; take neither for proof"
                .to_owned()
        }
        Note::Disagree { interval_excludes_zero: false } => {
            "! p is below 0.05 and the interval holds 0: the agents differ on these tasks, and on others of this kind that is \
             not sure"
                .to_owned()
        }
    }
}

/// A number with its sign.
fn signed(value: Option<f64>) -> String {
    let sign = if value.is_some_and(|value| value > 0.0) { "+" } else { "" };
    format!("{sign}{}", number(value))
}

fn p_value(value: f64) -> String {
    if value < 0.001 {
        return format!("{value:.1e}");
    }
    // Four digits only where the fourth says something: 0.0625, but 0.125.
    let text = format!("{value:.4}");
    text.strip_suffix('0').unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use taskwright_ledger::leaderboard::Rules;
    use taskwright_ledger::patterns::TaskPatterns;
    use taskwright_ledger::record::{Agent, Seconds, Status as TrialStatus};
    use taskwright_ledger::{Filter, Ledger, Trial};

    use super::*;

    #[test]
    fn a_comparison_says_what_it_rests_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(folder.path()).unwrap();
        let agent = |label: &str| Agent {
            digest: label.repeat(20),
            label: label.into(),
            version: None,
            model: None,
            configuration: "{}".into(),
        };
        let trial = |label: &str, task: usize, reward: f64| Trial {
            id: format!("{label}{task}"),
            task: format!("task-{task}"),
            agent: label.into(),
            agent_digest: agent(label).digest,
            status: TrialStatus::Complete,
            reward: Some(reward),
            seconds: Seconds { total: Some(reward * 10.0), ..Seconds::default() },
            ..Trial::default()
        };
        let mut trials: Vec<Trial> = (0..6).map(|task| trial("oracle", task, 1.0)).collect();
        trials.extend((0..5).map(|task| trial("nop", task, if task == 3 { 1.0 } else { 0.25 })));
        ledger.add(&[agent("oracle"), agent("nop")], &trials).unwrap();
        let shown = |rules: &Rules, tasks: &[&str]| {
            let tasks = TaskPatterns::new(tasks).unwrap();
            let found = ledger.compare(("oracle", "nop"), &Filter::default(), &tasks, rules).unwrap();
            format!("{}\n{}", table(&found), summary(&found))
        };
        insta::assert_snapshot!(shown(&Rules::default(), &[]), @r"
        task        A  n      B  n   A - B
        task-0  1.000  1  0.250  1  +0.750
        task-1  1.000  1  0.250  1  +0.750
        task-2  1.000  1  0.250  1  +0.750
        task-3  1.000  1  1.000  1   0.000
        task-4  1.000  1  0.250  1  +0.750
        task-5  1.000  1      -  0       -

        A = oracle: 1.000
        B = nop: 0.400
        on the 5 tasks that both have: A is better on 4, worse on 0, the same on 1
        A - B = +0.600, 95 % interval [0.184, 1.016], p = 0.125 (by exchanging their trials within tasks: all 16 ways)
        ! 5 tasks say little of others: the interval is rough
        ! with so few trials that differ, p could not have been below 0.125
        ! the interval excludes 0 and p is not below 0.05: the interval speaks of other tasks of this kind, p of these trials; take neither for proof
        time: A - B = +6.000 s, the mean over these tasks
        ");
        insta::assert_snapshot!(shown(&Rules { partial: Some(0.0), ..Rules::default() }, &["task-5"]), @r"
        task        A  n  B  n  A - B
        task-5  1.000  1  -  0      -

        A = oracle: -
        B = nop: -
        on the 0 tasks that both have: A is better on 0, worse on 0, the same on 0
        no task has complete trials of both: there is nothing to compare
        ");
    }
}
