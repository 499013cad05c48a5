//! What is said and done where an evaluation has no score, because language models could not be asked.

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::text::count;
use taskwright_base::{Error, Result, failed};

use crate::output::say;

/// Nothing was left of what candidates may use, for so many requests.
pub fn refuse(record: &Utf8Path, spent: u64) -> Result<()> {
    let aside = put_aside(record, "refused")?;
    say(&format!(
        "refused: what candidates may use of language models is spent, {} could not be made, so there is no score; \
         raise the limits in `[gateway.evaluation]`; what there is lies in {aside}",
        count(spent, "request")
    ));
    Ok(())
}

/// So many requests could not be made for reasons that are not the candidate's.
pub fn unreachable(record: &Utf8Path, requests: u64) -> Result<Error> {
    let aside = put_aside(record, "unreachable")?;
    Ok(Error::new(format!(
        "{} could not be made, as the upstream cannot be reached or does not take the key, so there is no score",
        count(requests, "request")
    ))
    .hint(format!("see to the upstream, and try again; what there is lies in {aside}")))
}

/// What came of it must not answer the next call.
fn put_aside(record: &Utf8Path, why: &str) -> Result<Utf8PathBuf> {
    let aside = Utf8PathBuf::from(format!("{record}.{why}"));
    let _ = std::fs::remove_dir_all(&aside);
    std::fs::rename(record, &aside).map_err(failed("moving aside", record))?;
    Ok(aside)
}
