//! The trials of a ledger as a file that other programs read: Parquet, CSV or JSON Lines.
//!
//! `docs/columns.md` is the dictionary of the columns. Rows are in the order of [`Ledger::visit`], and the same trials give
//! the same bytes.

mod dictionary;
mod sink;
#[cfg(test)]
mod tests;
mod to_csv;
mod to_json_lines;
mod to_parquet;

use std::collections::HashMap;
use std::io::{self, Write};

use crate::db::Ledger;
use crate::rank::patterns::TaskPatterns;
use crate::record::{Agent, Filter, Row, Value, exported};
use taskwright_base::{Error, Result};

pub use crate::record::exported as columns;
pub use dictionary::dictionary;
use sink::Sink;
use to_csv::Text;

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Parquet, compressed with Snappy.
    Parquet,
    /// Comma-separated values after RFC 4180, with a head.
    Csv,
    /// The same for a spreadsheet: text that it would take for a formula begins with an apostrophe.
    CsvForSpreadsheets,
    /// A JSON object a line.
    JsonLines,
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
            Format::Csv => Box::new(to_csv::Csv::new(out, Text::AsItIs).map_err(failed)?),
            Format::CsvForSpreadsheets => Box::new(to_csv::Csv::new(out, Text::NoFormula).map_err(failed)?),
            Format::JsonLines => Box::new(to_json_lines::JsonLines::new(out)),
        };
        let mut rows = 0;
        self.visit(filter, |trial| {
            if tasks.matches(&trial.task) {
                let agent = agents.get(&trial.agent_digest);
                let row = Row { trial: &trial, origin: None, agent, metric };
                let values: Vec<Value<'_>> =
                    exported().map(|column| column.value(&row).exported(column.kind)).collect();
                sink.row(&values).map_err(failed)?;
                rows += 1;
            }
            Ok(())
        })?;
        sink.finish().map_err(failed)?;
        Ok(rows)
    }
}
