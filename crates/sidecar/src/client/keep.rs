//! Results as files in the optimizer's repository: added, never rewritten, out of git's sight.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use taskwright_base::{Result, failed, write};

use super::failure::Failure;
use super::remote::{Remote, evaluation_path};
use super::repository;
use crate::api::{Evaluation, SampleView, State};

/// Keeps a finished evaluation, unless it is kept already. That it cannot be kept is said but harms nothing.
pub fn keep(service: &Remote, evaluation: &Evaluation) {
    if evaluation.state != State::Done {
        return;
    }
    let Ok(folder) = repository::folder() else { return };
    if let Err(error) = add(service, evaluation, &folder) {
        eprintln!("the result is not kept in `{}`: {error}", folder.display());
    }
}

fn add(service: &Remote, evaluation: &Evaluation, folder: &Path) -> Result<()> {
    let path = folder.join(format!("{}.jsonl", evaluation.id));
    let mut line = Vec::new();
    let is_new = write::first_with(&path, |out| {
        serde_json::to_writer(&mut line, evaluation)?;
        line.push(b'\n');
        out.write_all(&line)?;
        samples(service, evaluation, out)
    })?;
    if !is_new {
        return Ok(());
    }
    let list = folder.join("evaluations.jsonl");
    let opened = OpenOptions::new().append(true).create(true).open(&list);
    opened.and_then(|mut file| file.write_all(&line)).map_err(failed("writing", &list))
}

fn samples(service: &Remote, evaluation: &Evaluation, out: &mut dyn Write) -> io::Result<()> {
    let path = evaluation_path(&evaluation.id).map_err(|failure| io::Error::other(failure.to_string()))?;
    let mut written = Ok(());
    let streamed = service.stream(&format!("{path}/samples"), |sample: SampleView| {
        written = serde_json::to_writer(&mut *out, &sample)
            .map_err(io::Error::from)
            .and_then(|()| out.write_all(b"\n"));
        written.is_ok()
    });
    match streamed {
        // A split that does not show its samples refuses; then the evaluation is all there is.
        Ok(()) | Err(Failure::Problem(_)) => written,
        // Kept by whoever asks next, and complete.
        Err(failure) => Err(io::Error::other(failure.to_string())),
    }
}
