//! JSON Lines: an object a line, with every column, null where there is no value.

use std::io::{self, BufWriter, Write};

use taskwright_base::digest::hex;

use super::sink::Sink;
use crate::record::{Value, exported, real_text};

pub(super) struct JsonLines<W: Write> {
    out: BufWriter<W>,
}

impl<W: Write> JsonLines<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out: BufWriter::new(out) }
    }
}

impl<W: Write> Sink for JsonLines<W> {
    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()> {
        for (index, (column, value)) in exported().zip(values).enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            write!(self.out, "{before}\"{}\":", column.name)?;
            match value {
                Value::Null => self.out.write_all(b"null")?,
                Value::Text(text) => serde_json::to_writer(&mut self.out, text)?,
                Value::Json(text) => self.out.write_all(text.as_bytes())?,
                Value::Integer(number) => write!(self.out, "{number}")?,
                Value::Real(number) => self.out.write_all(real_text(*number).as_bytes())?,
                Value::Boolean(is_true) => write!(self.out, "{is_true}")?,
                Value::Time(time) => write!(self.out, "\"{time}\"")?,
                Value::Digest(bytes) => write!(self.out, "\"{}\"", hex(bytes))?,
            }
        }
        self.out.write_all(b"}\n")
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.flush()
    }
}
