//! The command line: one table that parsing, help, the skill and the instruction's test are made from.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::exit;

macro_rules! example {
    ($($line:literal),+) => {
        concat!("Example:\n", $("  ", $line, "\n",)+
            "\nExit status: 0 done, 1 the evaluation failed, 2 wrong usage, 3 refused (budget, access,\n\
             candidate), 4 the eval sidecar cannot be reached.")
    };
}

/// The command of a Taskwright task: it evaluates and submits candidates, and serves those who do.
#[derive(Debug, Parser)]
#[command(name = "taskwright", version, after_help = exit::HELP, max_term_width = 100)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the splits, what may be evaluated, and how much budget is left.
    #[command(after_help = example!("taskwright plan"))]
    Plan(Output),
    /// Evaluate a commit on a split, wait, and print the score.
    #[command(after_help = example!("taskwright eval --split validation"))]
    Eval(EvalArguments),
    /// Wait for evaluations; without names, for all that are not over.
    #[command(after_help = example!("taskwright wait e3"))]
    Wait(WaitArguments),
    /// Show what is running, the budget and the submission.
    #[command(after_help = example!("taskwright status"))]
    Status(Output),
    /// Stop an evaluation.
    #[command(after_help = example!("taskwright cancel e3"))]
    Cancel(OneArguments),
    /// Show evaluations.
    #[command(after_help = example!("taskwright results list", "taskwright results samples e3"))]
    Results(ResultsArguments),
    /// Compare two evaluations; the same as `results diff`.
    #[command(after_help = example!("taskwright diff e2 e3"))]
    Diff(DiffArguments),
    /// Nominate a commit as the result. The last nomination counts.
    #[command(after_help = example!("taskwright submit", "taskwright submit --commit HEAD~1"))]
    Submit(SubmitArguments),
    /// Show how to ask a language model: the address, the models, and what is left.
    #[command(after_help = example!("taskwright models", "taskwright models --export"))]
    Models(ModelsArguments),
    /// Print how to use this command, for whoever reads skills.
    #[command(after_help = example!("taskwright skill --to /skills"))]
    Skill(SkillArguments),
    /// In the sidecar: serve.
    #[command(after_help = example!("taskwright serve"))]
    Serve(ServeArguments),
    /// In the sidecar, as root: seal, decide, and write the evidence.
    #[command(after_help = example!("taskwright finalize"))]
    Finalize(RootArguments),
    /// In the sidecar, as root: write the evidence of the work so far.
    #[command(after_help = example!("taskwright archive"))]
    Archive(RootArguments),
    /// In the gateway's container: hold the upstream's key, and let others ask with tokens.
    #[command(after_help = example!("taskwright gateway"))]
    Gateway(GatewayArguments),
    /// In the sidecar: say whether the service answers.
    #[command(after_help = example!("taskwright health"))]
    Health(RootArguments),
    /// In the sidecar, for a scorer: run a command as the candidate's user under the candidate's limits.
    #[command(after_help = example!("taskwright sandbox -- ./program 10"))]
    Sandbox(SandboxArguments),
}

#[derive(Debug, Clone, Copy, Args)]
pub struct Output {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct EvalArguments {
    /// The split.
    #[arg(long, value_name = "NAME")]
    pub split: String,
    /// How many samples, or which ones, separated by commas, of a split that shows them; without it, all.
    #[arg(long, value_name = "N|IDS")]
    pub samples: Option<String>,
    /// The commit.
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    pub commit: String,
    /// Do not wait: print the evaluation's name.
    #[arg(long)]
    pub detach: bool,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct WaitArguments {
    /// The evaluations.
    #[arg(value_name = "EVALUATION")]
    pub evaluations: Vec<String>,
    /// Wait no longer than this.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct OneArguments {
    /// The evaluation.
    #[arg(value_name = "EVALUATION")]
    pub evaluation: String,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct DiffArguments {
    /// The one.
    #[arg(value_name = "A")]
    pub a: String,
    /// The other.
    #[arg(value_name = "B")]
    pub b: String,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct ResultsArguments {
    /// What to show.
    #[command(subcommand)]
    pub what: Results,
}

/// What to show of evaluations.
#[derive(Debug, Subcommand)]
pub enum Results {
    /// List all evaluations.
    #[command(after_help = example!("taskwright results list"))]
    List(Output),
    /// Show one evaluation.
    #[command(after_help = example!("taskwright results show e3"))]
    Show(OneArguments),
    /// Show each sample of an evaluation, where the split allows that.
    #[command(after_help = example!("taskwright results samples e3"))]
    Samples(OneArguments),
    /// Compare two evaluations.
    #[command(after_help = example!("taskwright results diff e2 e3"))]
    Diff(DiffArguments),
}

#[derive(Debug, Args)]
pub struct SubmitArguments {
    /// The commit.
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    pub commit: String,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct SkillArguments {
    /// Write `taskwright/SKILL.md` into this folder instead.
    #[arg(long, value_name = "FOLDER")]
    pub to: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct ServeArguments {
    /// The address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8700")]
    pub listen: SocketAddr,
    #[command(flatten)]
    pub root: RootArguments,
}

#[derive(Debug, Args)]
pub struct ModelsArguments {
    /// Print lines for a shell that set the variables which clients look for: `eval "$(taskwright models --export)"`.
    #[arg(long, conflicts_with = "json")]
    pub export: bool,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct GatewayArguments {
    /// Where the optimizer finds it.
    #[arg(long, value_name = "HOST:PORT", default_value = crate::paths::PRODUCER_DOOR)]
    pub producer: String,
    /// Where candidates find it.
    #[arg(long, value_name = "HOST:PORT", default_value = crate::paths::EVALUATION_DOOR)]
    pub evaluation: String,
    /// Say whether the one that runs answers, instead.
    #[arg(long)]
    pub health: bool,
    #[command(flatten)]
    pub root: RootArguments,
}

#[derive(Debug, Args)]
pub struct RootArguments {
    /// The folder under which everything is found, for trying it outside of a container.
    #[arg(long, value_name = "FOLDER", default_value = "/", hide = true)]
    pub root: PathBuf,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct SandboxArguments {
    /// The command and its arguments.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn the_table_is_sound_and_each_command_has_help_an_example_and_json() {
        let mut command = Arguments::command();
        command.build();
        let mut waiting: Vec<clap::Command> = command.get_subcommands().cloned().collect();
        while let Some(command) = waiting.pop() {
            if command.get_name() == "help" {
                continue;
            }
            assert!(command.get_about().is_some(), "{}", command.get_name());
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example:") && help.contains("Exit status:"), "{}", command.get_name());
            if command.get_subcommands().next().is_some() {
                waiting.extend(command.get_subcommands().cloned());
            } else if command.get_name() != "sandbox" {
                assert!(command.get_arguments().any(|argument| argument.get_id() == "json"));
            }
        }
    }

    #[test]
    fn the_examples_are_accepted() {
        let mut command = Arguments::command();
        command.build();
        let mut waiting: Vec<clap::Command> = command.get_subcommands().cloned().collect();
        while let Some(command) = waiting.pop() {
            waiting.extend(command.get_subcommands().cloned());
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines().filter(|line| line.starts_with("  taskwright ")) {
                Arguments::try_parse_from(line.split_whitespace())
                    .unwrap_or_else(|error| panic!("{line}: {error}"));
            }
        }
    }
}
