//! The trials of a ledger as a file that other programs read: Parquet, CSV or JSON Lines.
//!
//! `docs/columns.md` is the dictionary of the columns. Rows are in the order of [`Ledger::visit`], and the same trials give
//! the same bytes.

mod columns;
mod dictionary;
#[cfg(test)]
mod tests;
mod to_csv;
mod to_json_lines;
mod to_parquet;
mod value;

use std::collections::HashMap;
use std::io::{self, Write};

use crate::db::Ledger;
use crate::rank::patterns::TaskPatterns;
use crate::record::{Agent, Filter};
use taskwright_base::{Error, Result};

pub use columns::{COLUMNS, Column};
pub use dictionary::dictionary;
pub use value::Kind;

use columns::Row;
use value::Value;

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Parquet, compressed with Snappy.
    Parquet,
    /// Comma-separated values after RFC 4180, with a head.
    Csv,
    /// A JSON object a line.
    JsonLines,
}

/// What takes rows.
trait Sink {
    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()>;

    /// Writes what is still held back.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Ledger {
    /// Writes the trials that a filter and patterns of task names let through, and returns how many they are. If the filter
    /// names a reward key, that reward takes the place of the one that counts.
    ///
    /// Memory does not grow with the number of trials.
    pub fn export(
        &self,
        filter: &Filter,
        tasks: &TaskPatterns,
        format: Format,
        out: impl Write + Send,
    ) -> Result<u64> {
        let failed = |error: io::Error| Error::new(format!("writing the export: {error}"));
        let agents: HashMap<String, Agent> =
            self.agents()?.into_iter().map(|agent| (agent.digest.clone(), agent)).collect();
        let metric = filter.reward_key.as_deref();
        let mut sink: Box<dyn Sink + '_> = match format {
            Format::Parquet => Box::new(to_parquet::Parquet::new(out, metric).map_err(failed)?),
            Format::Csv => Box::new(to_csv::Csv::new(out).map_err(failed)?),
            Format::JsonLines => Box::new(to_json_lines::JsonLines::new(out)),
        };
        let mut rows = 0;
        self.visit(filter, |trial| {
            if tasks.matches(&trial.task) {
                let row = Row { agent: agents.get(&trial.agent_digest), trial: &trial, metric };
                let values: Vec<Value<'_>> = COLUMNS.iter().map(|column| column.value(&row)).collect();
                sink.row(&values).map_err(failed)?;
                rows += 1;
            }
            Ok(())
        })?;
        sink.finish().map_err(failed)?;
        Ok(rows)
    }
}
