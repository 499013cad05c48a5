//! What is said and done where an evaluation has no score, because language models could not be asked.

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::text::count;
use taskwright_base::{Error, Result, failed};
use taskwright_gateway::Usage;

use crate::output::say;

/// Whether an evaluation has no score because nothing was left of what candidates may use, which is said. `keep` sees to it that
/// what could not be asked for does not answer the next call, and says what became of the rest.
///
/// # Errors
/// Some requests could not be made for reasons that are not the candidate's.
pub fn is_refused(usage: Option<Usage>, keep: impl FnOnce() -> Result<String>) -> Result<bool> {
    let Some(Usage { spent, unreachable, .. }) = usage.filter(Usage::is_cut_off) else { return Ok(false) };
    let kept = keep()?;
    if unreachable > 0 {
        return Err(Error::new(format!(
            "{} could not be made, so there is no score: the upstream cannot be reached or does not take the key, or the \
             gateway cannot write its journal",
            count(unreachable, "request")
        ))
        .hint(format!("see to it, and try again; {kept}")));
    }
    say(&format!(
        "refused: what candidates may use of language models is spent, {} could not be made, so there is no score; \
         raise the limits in `[gateway.evaluation]`; {kept}",
        count(spent, "request")
    ));
    Ok(true)
}

/// Moves aside what there is of a record.
pub fn put_aside(record: &Utf8Path) -> Result<String> {
    let aside = Utf8PathBuf::from(format!("{record}.refused"));
    let _ = std::fs::remove_dir_all(&aside);
    std::fs::rename(record, &aside).map_err(failed("moving aside", record))?;
    Ok(format!("what there is lies in {aside}"))
}
