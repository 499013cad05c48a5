//! `cargo xtask export`.

use std::io::{self, BufWriter, Write};

use crate::exit::{self, Status};
use crate::{output, workspace};
use camino::{Utf8Path, Utf8PathBuf};
use clap::ValueEnum;
use taskwright_base::text::count;
use taskwright_ledger::Filter;
use taskwright_ledger::export::{Format, dictionary};
use taskwright_ledger::record::{Failure, Status as TrialStatus};

use crate::output_file;
use crate::selection::Selection;

/// Write the trials as Parquet, CSV or JSON Lines.
///
/// A row a trial, whatever its status. docs/columns.md is the dictionary of the columns.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo xtask export --output trials.parquet\n  \
                        cargo xtask export --experiment smoke --format csv --output - | head\n  \
                        cargo xtask export --columns")]
pub struct Arguments {
    /// The kind of file [default: what the file's name ends with].
    #[arg(long, value_enum, value_name = "KIND")]
    format: Option<Kind>,
    /// The file to write, which is replaced if it is there; `-` is the standard output.
    #[arg(long, short, value_name = "FILE", required_unless_present = "columns")]
    output: Option<Utf8PathBuf>,
    #[command(flatten)]
    selection: Selection,
    /// Only the agent with this label, or whose digest begins like this.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only trials with this status: complete, partial or missing.
    #[arg(long, value_name = "STATUS")]
    status: Option<TrialStatus>,
    /// Only trials with this class of failure.
    #[arg(long, value_name = "CLASS")]
    failure: Option<Failure>,
    /// Write the reward with this key in the column `reward` [default: `reward`, or the only one that a trial has].
    #[arg(long, value_name = "KEY")]
    metric: Option<String>,
    /// Print the dictionary of the columns instead.
    #[arg(long, conflicts_with_all = ["output", "format"])]
    columns: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// Typed columns, compressed.
    Parquet,
    /// Comma-separated values after RFC 4180.
    Csv,
    /// The same with an apostrophe before text that a spreadsheet would take for a formula.
    CsvForSpreadsheets,
    /// A JSON object a line.
    Jsonl,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Some(file) = arguments.output.as_deref().filter(|_| !arguments.columns) else {
        output::print(&dictionary())?;
        return Ok(exit::SUCCESS);
    };
    let Some(format) = format(arguments.format, file) else {
        output::error(&format!("the name `{file}` does not say which kind of file to write"), Some(KINDS));
        return Ok(exit::USAGE);
    };
    let filter = Filter {
        agent: arguments.agent.clone(),
        status: arguments.status,
        failure: arguments.failure,
        reward_key: arguments.metric.clone(),
        ..arguments.selection.filter()
    };
    let tasks = arguments.selection.tasks()?;
    let ledger = arguments.selection.read()?;
    let export = |out: &mut (dyn Write + Send)| Ok(ledger.export(&filter, &tasks, format, out)?);
    if file == "-" {
        let mut pipe = Pipe { out: io::stdout(), is_broken: false };
        let rows = export(&mut BufWriter::new(&mut pipe));
        // Whoever read it has read enough.
        if !pipe.is_broken {
            output::say(&count(rows?, "trial"));
        }
    } else {
        let rows = output_file::write(&workspace::from_here(file)?, export)?;
        output::say(&format!("{} in `{file}`", count(rows, "trial")));
    }
    Ok(exit::SUCCESS)
}

/// Output that remembers whether its reader has gone.
struct Pipe<W> {
    out: W,
    is_broken: bool,
}

impl<W: Write> Write for Pipe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).inspect_err(|error| self.is_broken |= error.kind() == io::ErrorKind::BrokenPipe)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().inspect_err(|error| self.is_broken |= error.kind() == io::ErrorKind::BrokenPipe)
    }
}

const KINDS: &str = "say `--format parquet`, `csv` or `jsonl`, or end the name like that";

fn format(kind: Option<Kind>, file: &Utf8Path) -> Option<Format> {
    let named = || Kind::from_str(file.extension()?, true).ok();
    Some(match kind.or_else(named)? {
        Kind::Parquet => Format::Parquet,
        Kind::Csv => Format::Csv,
        Kind::CsvForSpreadsheets => Format::CsvForSpreadsheets,
        Kind::Jsonl => Format::JsonLines,
    })
}
