//! What is said and done where an evaluation has no score, because language models could not be asked.

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::text::count;
use taskwright_base::{Error, Result, failed};
use taskwright_gateway::Usage;

use crate::output::say;

/// Whether an evaluation has no score because nothing was left of what candidates may use, which is said. What there is of it does not answer
/// the next call.
///
/// # Errors
/// Some requests could not be made for reasons that are not the candidate's.
pub fn is_refused(record: &Utf8Path, usage: Option<Usage>) -> Result<bool> {
    let Some(Usage { spent, unreachable, .. }) = usage.filter(Usage::is_cut_off) else { return Ok(false) };
    let aside = put_aside(record, if unreachable > 0 { "unreachable" } else { "refused" })?;
    if unreachable > 0 {
        return Err(Error::new(format!(
            "{} could not be made, as the upstream cannot be reached or does not take the key, so there is no score",
            count(unreachable, "request")
        ))
        .hint(format!("see to the upstream, and try again; what there is lies in {aside}")));
    }
    say(&format!(
        "refused: what candidates may use of language models is spent, {} could not be made, so there is no score; \
         raise the limits in `[gateway.evaluation]`; what there is lies in {aside}",
        count(spent, "request")
    ));
    Ok(true)
}

fn put_aside(record: &Utf8Path, why: &str) -> Result<Utf8PathBuf> {
    let aside = Utf8PathBuf::from(format!("{record}.{why}"));
    let _ = std::fs::remove_dir_all(&aside);
    std::fs::rename(record, &aside).map_err(failed("moving aside", record))?;
    Ok(aside)
}
