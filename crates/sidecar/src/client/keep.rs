//! Results as files in the optimizer's repository: added, never rewritten, out of git's sight.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::http::Service;
use super::repository;
use crate::api::{Evaluation, SampleView, State};

/// Keeps a finished evaluation, unless it is kept already. That it cannot be kept is said but harms nothing.
pub fn keep(service: &Service, evaluation: &Evaluation) {
    if evaluation.state != State::Done {
        return;
    }
    let Ok(folder) = repository::folder() else { return };
    if let Err(error) = write(service, evaluation, &folder) {
        eprintln!("the result is not kept in `{}`: {error}", folder.display());
    }
}

fn write(service: &Service, evaluation: &Evaluation, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{}.jsonl", evaluation.id));
    if path.exists() {
        return Ok(());
    }
    let part = folder.join(format!("{}.{}.part", evaluation.id, std::process::id()));
    let mut line = serde_json::to_vec(evaluation)?;
    line.push(b'\n');
    let mut file = io::BufWriter::new(OpenOptions::new().write(true).create_new(true).open(&part)?);
    file.write_all(&line)?;
    let mut failed = None;
    // A split that does not show its samples refuses; then the evaluation is all there is.
    let _ = service.stream(&format!("/evaluations/{}/samples", evaluation.id), |sample: SampleView| {
        let written = serde_json::to_writer(&mut file, &sample)
            .map_err(io::Error::from)
            .and_then(|()| file.write_all(b"\n"));
        failed = written.err();
        failed.is_none()
    });
    let written = match failed {
        Some(error) => Err(error),
        None => file.flush(),
    };
    drop(file);
    // Whoever links first has kept it; a second one leaves it alone.
    let kept = written.and_then(|()| fs::hard_link(&part, &path));
    let _ = fs::remove_file(&part);
    match kept {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        kept => kept?,
    }
    OpenOptions::new().append(true).create(true).open(folder.join("evaluations.jsonl"))?.write_all(&line)
}
