//! Counts on their way into TOML, whose integers are signed.

use serde::Serializer;

/// Writes a count, capped at the greatest integer that TOML can hold.
// serde wants `serialize_with` functions to take references.
#[expect(clippy::trivially_copy_pass_by_ref)]
pub(super) fn count<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(i64::try_from(*value).unwrap_or(i64::MAX))
}

/// The same for a count that may be absent; the field is skipped when it is.
#[expect(clippy::ref_option)]
pub(super) fn optional_count<S: Serializer>(value: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => count(value, serializer),
        None => serializer.serialize_none(),
    }
}
