//! `cargo xtask export`.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;

use anyhow::Context;
use camino::{Utf8Path, Utf8PathBuf};
use clap::ValueEnum;
use taskwright_build::BuildError;
use taskwright_ledger::Filter;
use taskwright_ledger::export::{Format, dictionary};
use taskwright_ledger::record::{Failure, Status as TrialStatus};
use xtask::exit::{self, Status};
use xtask::{output, workspace};

use crate::ledger::told;
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
    let export = |out: &mut (dyn Write + Send)| ledger.export(&filter, &tasks, format, out).map_err(told);
    if file == "-" {
        let mut pipe = Pipe { out: io::stdout(), is_broken: false };
        let rows = export(&mut BufWriter::new(&mut pipe));
        // Whoever read it has read enough.
        if !pipe.is_broken {
            output::say(&format!("{} trials", rows?));
        }
    } else {
        let rows = write(&workspace::from_here(file)?, export)?;
        output::say(&format!("{rows} trials in `{file}`"));
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
        Kind::Jsonl => Format::JsonLines,
    })
}

/// Writes beside the file and puts it into its place once it is whole. What is no regular file, as a named pipe, is written
/// to; a link stays one.
fn write(
    file: &Utf8Path,
    export: impl Fn(&mut (dyn Write + Send)) -> anyhow::Result<u64>,
) -> anyhow::Result<u64> {
    let doing = || format!("writing `{file}`");
    let place = match fs::metadata(file) {
        Ok(metadata) if metadata.is_file() => file.canonicalize_utf8().with_context(doing)?,
        Ok(metadata) if metadata.is_dir() => {
            return Err(BuildError::new(format!("`{file}` is a folder")).hint("name a file in it").into());
        }
        Ok(_) => {
            let mut out = BufWriter::new(File::options().write(true).open(file).with_context(doing)?);
            let rows = export(&mut out)?;
            out.flush().with_context(doing)?;
            return Ok(rows);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => file.to_owned(),
        Err(error) => return Err(error).with_context(doing),
    };
    let folder = place.parent().context("the file is in no folder")?;
    // As any new file: what the umask leaves.
    let mut beside = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .with_context(doing)?;
    let mut out = BufWriter::new(beside.as_file_mut());
    let rows = export(&mut out)?;
    out.flush().with_context(doing)?;
    drop(out);
    beside.persist(&place).with_context(doing)?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        let (file, link) = (path.join("trials.csv"), path.join("link"));
        symlink("trials.csv", &link).unwrap();
        let export = |out: &mut (dyn Write + Send)| {
            out.write_all(b"whole")?;
            Ok(1)
        };
        let half = |out: &mut (dyn Write + Send)| {
            out.write_all(b"half")?;
            anyhow::bail!("no more")
        };
        assert_eq!(write(&file, export).unwrap(), 1);
        assert!(write(&link, half).is_err());
        assert_eq!(fs::read(&file).unwrap(), b"whole");
        write(&link, export).unwrap();
        assert!(link.is_symlink() && fs::read_dir(path).unwrap().count() == 2);
        assert!(write(path, export).unwrap_err().to_string().ends_with("is a folder"));
    }

    /// A device that was replaced by a file would harm everybody; a socket stands for it here.
    #[test]
    fn what_is_no_regular_file_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap().join("socket");
        let _socket = UnixListener::bind(&path).unwrap();
        let error = write(&path, |_| Ok(0)).unwrap_err();
        assert!(error.to_string().contains("/socket`"), "{error}");
        assert!(fs::metadata(&path).unwrap().file_type().is_socket());
    }
}
