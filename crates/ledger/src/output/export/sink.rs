//! What takes the rows of an export.

use std::io;

use crate::record::Value;

/// What takes rows.
pub(super) trait Sink {
    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()>;

    /// Writes what is still held back.
    fn finish(self: Box<Self>) -> io::Result<()>;
}
