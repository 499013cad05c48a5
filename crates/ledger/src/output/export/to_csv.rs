//! Comma-separated values after RFC 4180: lines end with CR LF, fields are quoted where they have to be.

use std::io::{self, Write};

use taskwright_base::digest::hex;

use super::sink::Sink;
use crate::record::{Value, exported, real_text};

/// How text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    AsItIs,
    /// With an apostrophe before what a spreadsheet would take for a formula.
    NoFormula,
}

pub(super) struct Csv<W: Write> {
    writer: csv::Writer<W>,
    text: Text,
}

impl<W: Write> Csv<W> {
    pub(super) fn new(out: W, text: Text) -> io::Result<Self> {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
        writer.write_record(exported().map(|column| column.name))?;
        Ok(Self { writer, text })
    }
}

impl<W: Write> Sink for Csv<W> {
    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()> {
        for value in values {
            let field = field(value);
            let is_text = matches!(value, Value::Text(_) | Value::Json(_));
            let is_formula = is_text && field.starts_with(['=', '+', '-', '@', '\t', '\r']);
            let before = if is_formula && self.text == Text::NoFormula { "'" } else { "" };
            self.writer.write_field(format!("{before}{field}"))?;
        }
        self.writer.write_record(None::<&[u8]>)?;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.writer.flush()
    }
}

fn field(value: &Value<'_>) -> String {
    match value {
        Value::Null => String::new(),
        // Readers end a field, or the file, at a NUL, quoted or not.
        Value::Text(text) => text.replace('\0', "\u{fffd}"),
        Value::Json(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => real_text(*number),
        Value::Boolean(is_true) => is_true.to_string(),
        Value::Time(time) => time.to_string(),
        Value::Digest(bytes) => hex(bytes),
    }
}
