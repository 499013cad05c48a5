//! Comma-separated values after RFC 4180: lines end with CR LF, fields are quoted where they have to be.

use std::io::{self, Write};

use taskwright_base::digest::hex;

use super::sink::Sink;
use crate::record::{Value, exported, real_text};

pub(super) struct Csv<W: Write> {
    writer: csv::Writer<W>,
}

impl<W: Write> Csv<W> {
    pub(super) fn new(out: W) -> io::Result<Self> {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
        writer.write_record(exported().map(|column| column.name))?;
        Ok(Self { writer })
    }
}

impl<W: Write> Sink for Csv<W> {
    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()> {
        for value in values {
            self.writer.write_field(field(value))?;
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
