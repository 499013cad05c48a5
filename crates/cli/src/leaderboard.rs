//! `cargo xtask leaderboard`.

use crate::exit::{self, Status};
use crate::output;
use taskwright_base::Error;
use taskwright_ledger::Filter;
use taskwright_ledger::leaderboard::{Leaderboard, Note, Row, gain};
use taskwright_ledger::statistics::{Direction, Measure};

use crate::selection::{RuleArguments, Selection};
use taskwright_base::table::number;
use taskwright_base::text::{clean, count};

/// Rank the agents by their trials.
///
/// A row is an agent configuration: agents of the same name with other parameters have rows of their own. The mean is
/// over tasks, each task counting with the mean of its complete trials. docs/statistics.md has every formula.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask leaderboard\n  cargo xtask leaderboard --experiment smoke --k 1,5\n  \
                        cargo xtask leaderboard --task 'circle-*' --metric radius --direction minimize --json\n  \
                        cargo xtask leaderboard --rank-by share"
)]
pub struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Only the agent with this label, or whose digest begins like this.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    #[command(flatten)]
    rules: RuleArguments,
    /// Print JSON, with a cell for each task and agent, instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let ledger = arguments.selection.read()?;
    let filter = Filter { agent: arguments.agent.clone(), ..arguments.selection.filter() };
    let tasks = arguments.selection.tasks()?;
    let board = ledger.leaderboard(&filter, &tasks, &arguments.rules.rules())?;
    if board.rows.is_empty() {
        let what = "no trial in the ledger is like that";
        return Err(Error::new(what).hint("`cargo xtask trials` lists those that there are").into());
    }
    output::print(&if arguments.json {
        format!("{}\n", serde_json::to_string_pretty(&board)?)
    } else {
        format!("{}\n{}", board.table().text(), remarks(&board))
    })?;
    Ok(exit::SUCCESS)
}

/// What has to be known to read the table rightly, a line each.
fn remarks(board: &Leaderboard) -> String {
    let rules = &board.rules;
    let mut lines = Vec::new();
    let metric =
        rules.metric.as_ref().map(|key| format!("the reward `{}`, ", clean(key))).unwrap_or_default();
    let direction = if rules.direction == Direction::Minimize { "smaller is better, " } else { "" };
    lines.push(format!(
        "{metric}{direction}mean over tasks of the mean over each task's {} trials{}",
        if rules.partial.is_some() { "complete and partial" } else { "complete" },
        match board.ranked_by {
            Measure::Reward => "",
            Measure::Gain => ", ranked by the gain over the baseline's reward",
            Measure::Share => ", ranked by the share of what the tasks' own solutions gain over the baseline",
        }
    ));
    if board.rows.iter().any(|row| !row.flagged.is_empty()) {
        lines.push("+ failed, and was graded nevertheless".to_owned());
    }
    let is_short =
        |row: &Row| row.pass_at_k.iter().any(|pass| pass.mean.is_some() && pass.tasks < row.tasks_counted);
    if board.rows.iter().any(is_short) {
        lines.push("(n) pass@k of the n tasks that have as many trials".to_owned());
    }
    lines.extend(bracket(board));
    lines.extend(board.notes.iter().map(remark));
    lines.join("\n") + "\n"
}

/// The other end of the bracket, of those for which it is another one.
fn bracket(board: &Leaderboard) -> Option<String> {
    const SHOWN: usize = 6;
    let planned = |row: &Row| {
        let found = row.by(board.ranked_by);
        let planned = if board.ranked_by == Measure::Reward { row.planned_mean } else { found?.planned_mean };
        planned.filter(|_| planned != found.map(|found| found.mean))
    };
    let shown = |value| if board.ranked_by == Measure::Gain { gain(value) } else { number(value) };
    let rows: Vec<String> = board
        .rows
        .iter()
        .filter_map(|row| Some(format!("{} {}", clean(&row.label), shown(Some(planned(row)?)))))
        .collect();
    let more = if rows.len() > SHOWN { format!(" and {} more", rows.len() - SHOWN) } else { String::new() };
    let listed = rows[..rows.len().min(SHOWN)].join(", ");
    let zero = if board.ranked_by == Measure::Reward { "0" } else { "no gain" };
    (!rows.is_empty())
        .then(|| format!("with every planned trial that has no reward as {zero}: {listed}{more}"))
}

fn remark(note: &Note) -> String {
    let list = |names: &[String]| {
        let shown: Vec<String> = names.iter().take(4).map(|name| clean(name)).collect();
        let more = names.len().saturating_sub(shown.len());
        shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
    };
    match note {
        Note::PartialCounted { trials, value } => {
            let (trials, s) = (count(*trials, "partial trial"), if *trials == 1 { "s" } else { "" });
            format!("! {trials} count{s} as {value}: this is no leaderboard of complete trials")
        }
        Note::DifferentTasks { tasks } => format!(
            "! the means are not over the same tasks, for want of some: {}; `cargo xtask compare` takes those that two agents \
             share",
            list(tasks)
        ),
        Note::NoThreshold => "pass@k needs rewards of 0 and 1, or `--threshold`".to_owned(),
        Note::NoVariation { .. } => {
            "* all tasks have the same mean, which says nothing of how sure it is".to_owned()
        }
        Note::FewTasks { agents } => {
            format!("fewer than ten tasks make a rough interval: {}", list(agents))
        }
        Note::NearAnEnd { agents } => {
            format!("so near 0 or 1, intervals of so few tasks are too narrow: {}", list(agents))
        }
        Note::CostAtLeast { agents } => {
            format!(
                "! the cost is a lower bound where agents were killed before they had reported all: {}",
                list(agents)
            )
        }
        Note::DifferentScales { tasks, without_baseline } => {
            let why = if without_baseline.is_empty() {
                String::new()
            } else {
                format!("; ranking by gain takes the baseline's reward of {}", list(without_baseline))
            };
            format!(
                "! the mean is over rewards of different size, and mostly that of the larger: {}; `--task` takes those of one \
                 kind{why}",
                list(tasks)
            )
        }
        Note::OtherDirection { tasks } => {
            format!("! these say that other rewards are better: {}; see `--direction`", list(tasks))
        }
        Note::ChangedTasks { tasks } => format!("! changed between trials: {}", list(tasks)),
    }
}

#[cfg(test)]
mod tests {
    use taskwright_ledger::Score;
    use taskwright_ledger::leaderboard::{Rules, rank};
    use taskwright_ledger::record::{Agent, Failure, Status as TrialStatus};

    use super::*;

    #[test]
    fn a_leaderboard_says_all_that_is_needed_to_read_it() {
        let agent = |digest: &str, label: &str, model: Option<&str>| Agent {
            digest: digest.into(),
            label: label.into(),
            version: None,
            model: model.map(str::to_owned),
            configuration: String::new(),
        };
        let agents = [
            agent("1", "codex", Some("small")),
            agent("2", "codex", Some("large")),
            agent("3", "orac\u{1b}le", None),
            agent("4", "nop", None),
        ];
        // What a later column needs is no business of this test.
        #[allow(clippy::needless_update)]
        let score = |digest: &str, task: &str, reward: Option<f64>, failure: Option<Failure>| Score {
            task: task.into(),
            agent_digest: digest.into(),
            status: if reward.is_some() { TrialStatus::Complete } else { TrialStatus::Partial },
            failure,
            reward,
            cost_usd: (digest == "2").then_some(0.125),
            seconds: Some(12.5),
            task_digest: Some(format!("{task}{}", if task == "b" { digest } else { "" })),
            ..Score::default()
        };
        let scores = [
            score("1", "a", Some(1.0), None),
            score("1", "a", Some(0.0), Some(Failure::Timeout)),
            score("1", "b", None, Some(Failure::Infrastructure)),
            score("2", "a", Some(1.0), None),
            score("2", "a", Some(1.0), None),
            score("2", "b", Some(0.0), None),
            score("3", "a", Some(1.0), None),
            score("3", "b", Some(1.0), None),
            score("4", "a", None, Some(Failure::Candidate)),
        ];
        let shown = |rules: &Rules| {
            let board = rank(scores.clone(), &agents, rules);
            format!("{}\n{}", board.table().text(), remarks(&board))
        };
        insta::assert_snapshot!(shown(&Rules { k: vec![1, 2], ..Rules::default() }), @r"
        rank  agent                 mean  95 % interval    tasks  complete  partial  missing  pass@1     pass@2  cost $  seconds  failed
           1  orac\u{1b}le         1.000  [1.000, 1.000]*      2         2        0        0   1.000          -       -   12.500
           2  codex (model=large)  0.500  [0.000, 1.000]       2         3        0        0   0.500  1.000 (1)   0.125   12.500
           2  codex (model=small)  0.500  [0.095, 0.905]     1/2         2        1        0   0.500      1.000       -   12.500  1 infrastructure, +1 timeout
           -  nop                      -  -                  0/1         0        1        0       -          -       -        -  1 candidate

        mean over tasks of the mean over each task's complete trials
        + failed, and was graded nevertheless
        (n) pass@k of the n tasks that have as many trials
        with every planned trial that has no reward as 0: codex (model=small) 0.250, nop 0.000
        ! the means are not over the same tasks, for want of some: b; `cargo xtask compare` takes those that two agents share
        * all tasks have the same mean, which says nothing of how sure it is
        fewer than ten tasks make a rough interval: codex (model=large)
        ! changed between trials: b
        ");
        let rules = Rules {
            metric: Some("loss".into()),
            direction: Direction::Minimize,
            partial: Some(2.0),
            ..Rules::default()
        };
        insta::assert_snapshot!(shown(&rules), @r"
        rank  agent                 mean  95 % interval    tasks  complete  partial  missing  pass@1  cost $  seconds  failed
           1  codex (model=large)  0.500  [0.000, 1.000]       2         3        0        0       -   0.125   12.500
           1  codex (model=small)  0.500  [0.095, 0.905]     1/2         2        1        0       -       -   12.500  1 infrastructure, +1 timeout
           3  orac\u{1b}le         1.000  [1.000, 1.000]*      2         2        0        0       -       -   12.500
           4  nop                  2.000  -                    1         0        1        0       -       -   12.500  1 candidate

        the reward `loss`, smaller is better, mean over tasks of the mean over each task's complete and partial trials
        + failed, and was graded nevertheless
        ! 1 partial trial counts as 2: this is no leaderboard of complete trials
        ! the means are not over the same tasks, for want of some: b; `cargo xtask compare` takes those that two agents share
        pass@k needs rewards of 0 and 1, or `--threshold`
        * all tasks have the same mean, which says nothing of how sure it is
        fewer than ten tasks make a rough interval: codex (model=large)
        ! changed between trials: b
        ");
    }
}
