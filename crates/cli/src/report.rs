//! `cargo xtask report`.

use std::io::{self, Read};
use taskwright_base::Error;

use crate::address::percent;
use crate::exit::{self, Status};
use crate::{output, workspace};
use anyhow::Context;
use camino::{Utf8Path, Utf8PathBuf};
use taskwright_ledger::record::{Evidence, Failure, Kept, Trial};
use taskwright_ledger::redact::clean_text;
use taskwright_ledger::report::{Content, Excerpt, render};
use taskwright_ledger::{Filter, Ledger};

use crate::output_file;
use crate::selection::{RuleArguments, Selection};

/// Write a page of HTML that shows the ledger.
///
/// One file that needs no network: leaderboard, tasks by agents, reward against cost, distributions, failures, and every
/// trial with its evidence. The same trials give the same bytes. docs/report.md says how to read it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask report\n  cargo xtask report --experiment smoke --k 1,3 --output smoke.html"
)]
pub struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    rules: RuleArguments,
    /// The file to write; `-` is standard output [default: `target/report.html` in the workspace].
    #[arg(long, short, value_name = "FILE")]
    output: Option<Utf8PathBuf>,
    /// What stands at the top [default: the experiment].
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

/// Files of evidence that say what went wrong, the most telling first: what the verifier said, and what Harbor did.
const VERIFIER: [&str; 3] = ["verifier/test-stdout.txt", "verifier/test-stderr.txt", "exception.txt"];
const HARBOR: [&str; 2] = ["exception.txt", "trial.log"];
/// Where agents leave their logs.
const AGENT: &str = "agent/";
/// A longer file is not read for its end.
const LONGEST: u64 = 4 << 20;
/// How many bytes of its end are shown.
const END: usize = 2_000;

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let ledger = arguments.selection.read()?;
    let tasks = arguments.selection.tasks()?;
    let filter = arguments.selection.filter();
    let mut trials = Vec::new();
    ledger.visit(&filter, |trial| {
        if tasks.matches(&trial.task) {
            trials.push(trial);
        }
        Ok(())
    })?;
    if trials.is_empty() {
        let what = "no trial in the ledger is like that";
        return Err(Error::new(what).hint("`cargo xtask trials` lists those that there are").into());
    }
    let agents = ledger.agents()?;
    let target = target(arguments.output.as_deref())?;
    let folder = target.as_deref().and_then(Utf8Path::parent);
    let title = title(arguments, &filter);
    let rules = arguments.rules.rules();
    let page = render(&Content {
        title: &title,
        trials: &trials,
        agents: &agents,
        references: &ledger.references(rules.metric.as_deref())?,
        rules: &rules,
        link: &|trial, file| link(&ledger, folder?, trial, file),
        excerpts: &|trial| excerpts(&ledger, trial),
    })?;
    match target {
        None => output::print(&page)?,
        Some(target) => {
            output_file::write(&target, |out| {
                out.write_all(page.as_bytes()).with_context(|| format!("writing `{target}`"))
            })?;
            output::print(&format!("{target}\n"))?;
        }
    }
    Ok(exit::SUCCESS)
}

fn title(arguments: &Arguments, filter: &Filter) -> String {
    let word = [&arguments.title, &filter.experiment, &filter.job].into_iter().flatten().next();
    word.map_or_else(|| "All experiments".to_owned(), Clone::clone)
}

/// The file to write; none for standard output.
fn target(named: Option<&Utf8Path>) -> anyhow::Result<Option<Utf8PathBuf>> {
    match named {
        Some(path) if path == "-" => Ok(None),
        Some(path) => workspace::from_here(path).map(Some),
        None => {
            let workspace = workspace::this()?;
            // Beside the tasks, in a folder that nobody commits.
            let folder = workspace.out.parent().unwrap_or(&workspace.root);
            Ok(Some(folder.join("report.html")))
        }
    }
}

/// Where a file that stayed where it was can be opened from the page's folder.
fn link(ledger: &Ledger, folder: &Utf8Path, trial: &Trial, file: &Evidence) -> Option<String> {
    if file.kept != Kept::Referenced {
        return None;
    }
    let origin = ledger.origin(&trial.id).ok().flatten()?;
    // A backslash begins a byte that is no text; such a path has no address that every browser understands.
    let is_plain = |path: &str| !path.contains('\\');
    (is_plain(&origin) && is_plain(&file.path))
        .then(|| relative(folder, &Utf8Path::new(&origin).join(&file.path)))
        .flatten()
}

/// The address of a file as seen from a folder; both are absolute.
fn relative(folder: &Utf8Path, file: &Utf8Path) -> Option<String> {
    if !folder.is_absolute() || !file.is_absolute() {
        return None;
    }
    let (from, to): (Vec<_>, Vec<_>) = (folder.components().collect(), file.components().collect());
    let shared = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
    let up = from[shared..].iter().map(|_| "..".to_owned());
    let down = to[shared..].iter().map(|component| percent(component.as_str()));
    let address: Vec<String> = up.chain(down).collect();
    // Without this, a colon in a first name would make a scheme of it.
    Some(format!("./{}", address.join("/")))
}

/// The ends of the files that best say why a trial failed, or came to nothing. One that cannot be read is no reason to have
/// no page.
fn excerpts(ledger: &Ledger, trial: &Trial) -> Vec<Excerpt> {
    let is_short = |file: &&Evidence| (1..=LONGEST).contains(&file.size);
    let first = |names: &[&str]| {
        names.iter().find_map(|name| trial.evidence.iter().find(|file| file.path == *name).filter(is_short))
    };
    let files = match trial.failure {
        None | Some(Failure::Verifier) => [first(&VERIFIER), None],
        Some(Failure::Infrastructure | Failure::Cancelled) => [first(&HARBOR), None],
        Some(Failure::Candidate | Failure::Timeout | Failure::Budget) => {
            let logs = trial.evidence.iter().filter(|file| is_log(&file.path)).filter(is_short);
            // Of several, the one that says most.
            [first(&HARBOR), logs.max_by_key(|file| file.size)]
        }
    };
    files.into_iter().flatten().filter_map(|file| excerpt(ledger, trial, file)).collect()
}

/// Whether a file is what an agent wrote of its own work: in words, and in its own folder.
fn is_log(path: &str) -> bool {
    let name = path.strip_prefix(AGENT).filter(|name| !name.contains('/'));
    name.is_some_and(|name| [".txt", ".log"].iter().any(|end| name.ends_with(end)))
}

fn excerpt(ledger: &Ledger, trial: &Trial, file: &Evidence) -> Option<Excerpt> {
    let end = end(ledger.evidence(trial, &file.path).ok()?).ok()?;
    // What stayed where it was still has its secrets, and a page is sent to others.
    let text = clean_text(&String::from_utf8_lossy(&end));
    Some(Excerpt { title: file.path.clone(), text })
}

/// The last bytes of what is read, and no more than [`LONGEST`] of it.
fn end(content: impl Read) -> io::Result<Vec<u8>> {
    let mut content = content.take(LONGEST);
    let mut end = Vec::new();
    let mut buffer = [0; 16 << 10];
    loop {
        match content.read(&mut buffer)? {
            0 => return Ok(end),
            read => end.extend_from_slice(&buffer[..read]),
        }
        end.drain(..end.len().saturating_sub(END));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_from_the_page_to_the_file() {
        let relative = |folder: &str, file: &str| super::relative(folder.into(), file.into());
        assert_eq!(relative("/a/b", "/a/b/c:d/e f").as_deref(), Some("./c%3Ad/e%20f"));
        assert_eq!(relative("/a/b", "/a/x/%?#<").as_deref(), Some("./../x/%25%3F%23%3C"));
        assert_eq!(relative("/", "/é").as_deref(), Some("./%C3%A9"));
        assert_eq!(relative("/a", "b"), None);
    }

    #[test]
    fn of_a_long_file_the_end_is_shown() {
        let content = [vec![b'a'; 100_000], vec![b'b'; END]].concat();
        assert_eq!(end(&content[..]).unwrap(), vec![b'b'; END]);
        assert_eq!(end(&b"short"[..]).unwrap(), b"short");
    }
}
