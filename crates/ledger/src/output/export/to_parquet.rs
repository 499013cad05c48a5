//! Parquet: columns with types, in groups of rows, compressed with Snappy.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::dictionary;
use super::sink::Sink;
use crate::record::{Kind, Value, exported};

/// How many rows a group has, which are held in memory until it is written. Few in tests, so that those see several groups.
const ROWS: usize = if cfg!(test) { 64 } else { 16_384 };

pub(super) struct Parquet<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Held>,
    rows: usize,
}

/// The values of a column that are not written yet.
struct Held {
    values: Values,
    /// For each row 1 if it has a value, else 0.
    levels: Vec<i16>,
    nullable: bool,
}

enum Values {
    Text(Vec<ByteArray>),
    Integer(Vec<i64>),
    Real(Vec<f64>),
    Boolean(Vec<bool>),
}

impl<W: Write + Send> Parquet<W> {
    pub(super) fn new(out: W, metric: Option<&str>) -> io::Result<Self> {
        let schema = parse_message_type(&schema()).map_err(failed)?;
        let pairs = vec![
            KeyValue::new("taskwright.columns".to_owned(), dictionary::json().to_string()),
            KeyValue::new("taskwright.metric".to_owned(), metric.map(str::to_owned)),
        ];
        let properties = WriterProperties::builder()
            .set_created_by("taskwright".to_owned())
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(pairs))
            .build();
        let writer =
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(failed)?;
        let held = |kind| match kind {
            Kind::Text | Kind::Json | Kind::Digest => Values::Text(Vec::new()),
            Kind::Integer | Kind::Utc | Kind::Local => Values::Integer(Vec::new()),
            Kind::Real => Values::Real(Vec::new()),
            Kind::Boolean => Values::Boolean(Vec::new()),
        };
        let columns = exported().map(|column| Held {
            values: held(column.kind),
            levels: Vec::new(),
            nullable: column.nullable,
        });
        Ok(Self { writer, columns: columns.collect(), rows: 0 })
    }

    fn write_group(&mut self) -> io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(failed)?;
        for column in &mut self.columns {
            column.write(&mut group).map_err(failed)?;
        }
        group.close().map_err(failed)?;
        self.rows = 0;
        Ok(())
    }
}

impl<W: Write + Send> Sink for Parquet<W> {
    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()> {
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value);
        }
        self.rows += 1;
        if self.rows == ROWS { self.write_group() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.writer.close().map_err(failed)?;
        Ok(())
    }
}

impl Held {
    fn push(&mut self, value: &Value<'_>) {
        let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        let is_there = match (&mut self.values, value) {
            (Values::Text(held), Value::Text(value)) => {
                held.push(text(value));
                true
            }
            (Values::Text(held), Value::Json(value)) => {
                held.push(text(value));
                true
            }
            (Values::Integer(held), Value::Integer(value)) => {
                held.push(*value);
                true
            }
            (Values::Integer(held), Value::Time(value)) => {
                held.push(value.micros);
                true
            }
            (Values::Real(held), Value::Real(value)) => {
                held.push(*value);
                true
            }
            (Values::Boolean(held), Value::Boolean(value)) => {
                held.push(*value);
                true
            }
            _ => false,
        };
        self.levels.push(i16::from(is_there));
    }

    fn write<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let levels = std::mem::take(&mut self.levels);
        let levels = self.nullable.then_some(&levels[..]);
        match &mut self.values {
            Values::Text(held) => write::<ByteArrayType, W>(group, &std::mem::take(held), levels),
            Values::Integer(held) => write::<Int64Type, W>(group, &std::mem::take(held), levels),
            Values::Real(held) => write::<DoubleType, W>(group, &std::mem::take(held), levels),
            Values::Boolean(held) => write::<BoolType, W>(group, &std::mem::take(held), levels),
        }
    }
}

fn write<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("there are more columns than the schema has".to_owned()));
    };
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

/// The schema, in Parquet's own language.
fn schema() -> String {
    let fields: Vec<String> = exported()
        .map(|column| {
            let (physical, logical) = match column.kind {
                // Not Parquet's JSON: readers that do not know it would show bytes.
                Kind::Text | Kind::Json | Kind::Digest => ("byte_array", " (STRING)"),
                Kind::Integer => ("int64", ""),
                Kind::Real => ("double", ""),
                Kind::Boolean => ("boolean", ""),
                Kind::Utc => ("int64", " (TIMESTAMP(MICROS,true))"),
                Kind::Local => ("int64", " (TIMESTAMP(MICROS,false))"),
            };
            let repetition = if column.nullable { "optional" } else { "required" };
            format!("{repetition} {physical} {}{logical};", column.name)
        })
        .collect();
    format!("message trials {{ {} }}", fields.join(" "))
}

fn failed(error: ParquetError) -> io::Error {
    match error {
        // Kept as it is, so that a full disk or a closed pipe is known for what it is.
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    }
}
