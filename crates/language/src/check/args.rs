//! Arguments passed on to `harbor run`: those that Taskwright sets itself are refused, in every spelling.

use super::Context;
use crate::model::HarborRun;
use taskwright_base::text::nearest;

/// Who may say a flag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// Taskwright alone: refused, with what to do instead.
    Taskwright(&'static str),
    /// The field of that name under `[harbor]`, if it is written; otherwise anybody.
    Field(&'static str),
    /// Anybody.
    Anybody,
}

/// A flag of `harbor run`: its spellings, whether it takes a value, and who may say it in the nested run and in the
/// outer one.
struct Flag {
    names: &'static [&'static str],
    takes_value: bool,
    nested: Owner,
    outer: Owner,
}

const fn flag(names: &'static [&'static str], takes_value: bool, nested: Owner, outer: Owner) -> Flag {
    Flag { names, takes_value, nested, outer }
}

use Owner::{Anybody, Field, Taskwright};

const NAMED: Owner =
    Taskwright("jobs are named and kept by Taskwright, so that their results are found again");
const EXPERIMENT: Owner =
    Taskwright("it belongs to the experiment: say it to `cargo xtask run`, or in its manifest");
const THIS_TASK: Owner = Taskwright("the outer run is of this very task");
const SOURCE: Owner = Taskwright("write it in `harbor.source`");
const SPLITS: Owner = Taskwright("the splits say which samples run: write it in `[splits]`");
const CONFIG: Owner = Taskwright("every setting has a field of its own in `[harbor]`");
const NO_RUN: Owner = Taskwright("with it nothing would be run or scored");
const ELSEWHERE: Owner =
    Taskwright("the results must lie on this machine; name a cloud in `harbor.environment`");
const PRIVATE: Owner = Taskwright("held-out samples must not be shown to others");
const VERIFIER: Owner = Taskwright("the score is what the task's own verifier says");
const RETRY: Owner = Taskwright("write it in `harbor.max_retries`, `retry_include` and `retry_exclude`");

/// Every flag of Harbor 0.26, in the order of its help.
const FLAGS: &[Flag] = &[
    flag(&["--help", "-h"], false, NO_RUN, NO_RUN),
    flag(&["--config", "-c"], true, CONFIG, EXPERIMENT),
    flag(&["--diff"], true, NO_RUN, NO_RUN),
    flag(&["--print-config"], false, NO_RUN, NO_RUN),
    flag(&["--job-name"], true, NAMED, NAMED),
    flag(&["--jobs-dir", "-o"], true, NAMED, NAMED),
    flag(
        &["--n-attempts", "-k"],
        true,
        Taskwright("write it in `harbor.attempts`, or in a target's `attempts`"),
        EXPERIMENT,
    ),
    flag(&["--timeout-multiplier"], true, Taskwright("write it in `harbor.timeout_multiplier`"), Anybody),
    flag(&["--agent-timeout-multiplier"], true, Field("agent_timeout_sec"), Anybody),
    flag(&["--verifier-timeout-multiplier"], true, Field("verifier_timeout_multiplier"), Anybody),
    flag(&["--agent-setup-timeout-multiplier"], true, Field("agent_setup_timeout_multiplier"), Anybody),
    flag(
        &["--environment-build-timeout-multiplier"],
        true,
        Field("environment_build_timeout_multiplier"),
        Anybody,
    ),
    flag(&["--quiet", "--silent", "-q"], false, Anybody, Anybody),
    flag(&["--debug"], false, Anybody, Anybody),
    flag(&["--n-concurrent", "-n"], true, Taskwright("write it in `limits.concurrency`"), EXPERIMENT),
    flag(&["--n-concurrent-agents"], true, Taskwright("write it in `limits.concurrency`"), EXPERIMENT),
    flag(&["--max-retries", "-r"], true, RETRY, EXPERIMENT),
    flag(&["--retry-include"], true, RETRY, EXPERIMENT),
    flag(&["--retry-exclude"], true, RETRY, EXPERIMENT),
    flag(&["--yes", "-y"], false, Taskwright("it is always given"), Taskwright("it is always given")),
    flag(&["--env-file"], true, Taskwright("name what must reach the run in `secrets`"), Anybody),
    flag(&["--install-only"], false, NO_RUN, NO_RUN),
    flag(&["--artifact"], true, Anybody, Anybody),
    flag(&["--agent", "-a"], true, Taskwright("write it in `harbor.agent`"), EXPERIMENT),
    flag(&["--model", "-m"], true, Taskwright("write it in `harbor.model`"), EXPERIMENT),
    flag(&["--agent-kwarg", "--ak"], true, Taskwright("write it in `harbor.agent_args`"), Anybody),
    flag(&["--effort"], true, Anybody, Anybody),
    flag(&["--allow-agent-host"], true, Anybody, Anybody),
    flag(&["--resume-trajectory"], false, Anybody, Anybody),
    flag(&["--load-trajectory"], true, Anybody, Anybody),
    flag(
        &["--agent-env", "--ae"],
        true,
        Taskwright("write it in `harbor.agent_env`"),
        Taskwright("write it in `agent_env`"),
    ),
    flag(&["--mcp-config"], true, Anybody, Anybody),
    flag(&["--skill", "--skills"], true, Anybody, Anybody),
    flag(&["--skip-credential-checks"], false, Anybody, Anybody),
    flag(&["--base-url"], true, Anybody, Anybody),
    flag(&["--api-key-name"], true, Anybody, Anybody),
    flag(&["--api-format"], true, Anybody, Anybody),
    flag(&["--user-agent"], true, Anybody, Anybody),
    flag(&["--user-model"], true, Anybody, Anybody),
    flag(&["--user-agent-kwarg", "--uk"], true, Anybody, Anybody),
    flag(&["--user-persona-path"], true, Anybody, Anybody),
    flag(&["--user-prompt-template-path"], true, Anybody, Anybody),
    flag(&["--bridge"], true, Anybody, Anybody),
    flag(&["--bridge-prompt-path"], true, Anybody, Anybody),
    flag(&["--bridge-kwarg", "--bk"], true, Anybody, Anybody),
    flag(&["--env", "-e"], true, Taskwright("write it in `harbor.environment`"), EXPERIMENT),
    flag(&["--allow-environment-host"], true, Anybody, Anybody),
    flag(
        &["--force-build", "--no-force-build"],
        false,
        Taskwright("write it in `harbor.force_build`"),
        Anybody,
    ),
    flag(&["--delete", "--no-delete"], false, Anybody, Anybody),
    flag(&["--stream", "--no-stream"], false, Anybody, Anybody),
    flag(&["--cpus"], true, Anybody, Anybody),
    flag(&["--memory"], true, Anybody, Anybody),
    flag(&["--override-cpus"], true, Anybody, Anybody),
    flag(&["--override-memory-mb"], true, Anybody, Anybody),
    flag(&["--override-storage-mb"], true, Anybody, Anybody),
    flag(&["--override-gpus"], true, Anybody, Anybody),
    flag(&["--mounts", "--mounts-json"], true, Anybody, Anybody),
    flag(&["--extra-docker-compose"], true, Anybody, Anybody),
    flag(
        &["--environment-kwarg", "--ek"],
        true,
        Taskwright("write it in `harbor.environment_args`"),
        Anybody,
    ),
    flag(&["--verifier-env", "--ve"], true, Anybody, Anybody),
    flag(&["--allow-verifier-host"], true, Anybody, Anybody),
    flag(&["--verifier"], true, VERIFIER, VERIFIER),
    flag(&["--verifier-kwarg"], true, Anybody, Anybody),
    flag(&["--disable-verification", "--enable-verification"], false, VERIFIER, VERIFIER),
    flag(&["--path", "-p"], true, SOURCE, THIS_TASK),
    flag(&["--extra-instruction-path"], true, Anybody, Anybody),
    flag(&["--extra-instruction"], true, Anybody, Anybody),
    flag(&["--dataset", "-d"], true, SOURCE, THIS_TASK),
    flag(&["--registry-path"], true, SOURCE, THIS_TASK),
    flag(&["--repo"], true, SOURCE, THIS_TASK),
    flag(&["--task", "-t"], true, SOURCE, THIS_TASK),
    flag(&["--include-task-name", "-i"], true, SPLITS, THIS_TASK),
    flag(&["--exclude-task-name", "-x"], true, SPLITS, THIS_TASK),
    flag(&["--n-tasks", "-l"], true, SPLITS, THIS_TASK),
    flag(&["--plugin"], true, Anybody, Anybody),
    flag(&["--plugin-kwarg", "--pk"], true, Anybody, Anybody),
    flag(&["--upload"], false, PRIVATE, Anybody),
    flag(&["--launch"], false, ELSEWHERE, ELSEWHERE),
    flag(&["--dry-run"], false, NO_RUN, NO_RUN),
    flag(&["--use-static-ip"], false, Anybody, Anybody),
    flag(&["--credential-mode"], true, Anybody, Anybody),
    flag(&["--one-off-secret"], true, Anybody, Anybody),
    flag(&["--stored-secret"], true, Anybody, Anybody),
    flag(&["--no-secrets"], false, Anybody, Anybody),
    flag(&["--registry-secret"], true, Anybody, Anybody),
    flag(&["--public", "--private"], false, PRIVATE, Anybody),
    flag(&["--share"], true, PRIVATE, Anybody),
    flag(&["--org"], true, Anybody, Anybody),
    flag(&["--server"], true, ELSEWHERE, ELSEWHERE),
    flag(&["--watch"], false, ELSEWHERE, ELSEWHERE),
];

pub fn check(context: &mut Context<'_>, harbor: &HarborRun) {
    for (key, words, nested) in
        [("extra_args", &harbor.extra_args, true), ("optimizer_args", &harbor.optimizer_args, false)]
    {
        let mut is_value = false;
        for (index, word) in words.iter().enumerate() {
            if std::mem::take(&mut is_value) {
                continue;
            }
            let path = ["harbor", key, &index.to_string()];
            is_value = argument(context, &path, word, nested);
        }
    }
}

/// Looks at one word; gives whether the next one is its value.
fn argument(context: &mut Context<'_>, path: &[&str; 3], word: &str, nested: bool) -> bool {
    if word == "--" {
        context.error(path, "`--` would turn Taskwright's own flags into words", "take it out");
        return false;
    }
    if !word.starts_with('-') || word == "-" {
        return false;
    }
    let (spelt, glued) = spelling(word);
    let Some(flag) = FLAGS.iter().find(|flag| flag.names.contains(&spelt)) else {
        let known = FLAGS.iter().flat_map(|flag| flag.names).copied().filter(|name| name.len() > 4);
        let hint = match nearest(spelt, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`harbor run --help` lists them".to_owned(),
        };
        context.warning(
            path,
            format!("Harbor {} knows no flag `{}`", taskwright_harbor::HARBOR_VERSION, spelt.escape_debug()),
            hint,
        );
        return false;
    };
    match if nested { flag.nested } else { flag.outer } {
        Anybody => {}
        Taskwright(instead) => context.error(path, format!("`{spelt}` is Taskwright's to say"), instead),
        Field(field) => {
            if context.is_written(&["harbor", field]) {
                context.error_with(
                    path,
                    format!("`{spelt}` says again what `harbor.{field}` says"),
                    "take one of them out",
                    (&["harbor", field], "said here"),
                );
            }
        }
    }
    flag.takes_value && !glued
}

/// The letters of flags without a value.
const SWITCHES: &str = "qyh";

/// The flag that a word is, and whether its value is in the same word: `--agent=x`, `-ax`, `-a=x`. Letters of flags
/// without a value may come first: `-qk3`.
fn spelling(word: &str) -> (&str, bool) {
    if word.starts_with("--") {
        return word.split_once('=').map_or((word, false), |(flag, _)| (flag, true));
    }
    for (at, letter) in word.char_indices().skip(1) {
        let end = at + letter.len_utf8();
        let known = FLAGS
            .iter()
            .flat_map(|flag| flag.names)
            .find(|name| name.strip_prefix('-') == Some(&word[at..end]));
        match known {
            // `-q` is anybody's; what follows it may not be.
            Some(name) if *name == "-q" && end < word.len() => {}
            Some(name) => return (name, end < word.len() && !SWITCHES.contains(letter)),
            None => return (word, false),
        }
    }
    (word, false)
}

#[cfg(test)]
mod tests {
    use super::{FLAGS, spelling};

    #[test]
    fn spellings() {
        assert_eq!(spelling("--agent"), ("--agent", false));
        assert_eq!(spelling("--agent=x"), ("--agent", true));
        assert_eq!(spelling("-a"), ("-a", false));
        assert_eq!(spelling("-ax"), ("-a", true));
        assert_eq!(spelling("-k3"), ("-k", true));
        assert_eq!(spelling("-qk3"), ("-k", true));
        assert_eq!(spelling("-qk"), ("-k", false));
        assert_eq!(spelling("-q"), ("-q", false));
        assert_eq!(spelling("-5"), ("-5", false));
        assert_eq!(spelling("--agents"), ("--agents", false));
    }

    #[test]
    fn no_flag_is_listed_twice() {
        let mut names: Vec<&str> = FLAGS.iter().flat_map(|flag| flag.names).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
