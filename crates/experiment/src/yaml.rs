//! The configuration of a job as YAML, which people read and Harbor does too.

use serde::Serialize;
use taskwright_base::{Error, Result};

/// A value as YAML, under a comment.
pub fn text(comment: &str, value: &impl Serialize) -> Result<String> {
    // By way of JSON, so that keys that are not set are left out and numbers are those that JSON has.
    let value = serde_json::to_value(value)
        .map_err(|error| Error::new(format!("writing the job's configuration: {error}")))?;
    // Folded lines would be easier on the eye and harder on whoever compares two of these files.
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let mut text = comment.lines().fold(String::new(), |text, line| text + "# " + line + "\n");
    serde_saphyr::to_fmt_writer_with_options(&mut text, &value, options)
        .map_err(|error| Error::new(format!("writing the job's configuration: {error}")))?;
    Ok(text)
}
