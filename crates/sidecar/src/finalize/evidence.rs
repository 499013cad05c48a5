//! The evidence: first made in the state, then copied to where the verifier collects it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use taskwright_base::write::{self, Durable};
use taskwright_base::{Digest, Error, Result, failed};

use super::verdict::Verdict;
use crate::admin::protocol::Tell;
use crate::events::{Charged, End, Line, Purpose, Sample};
use crate::paths::Paths;
use crate::service::Service;
use taskwright_base::chained_log;

const REWARD: &str = "reward.json";
const EVALUATIONS: &str = "evaluations.jsonl";
const BUNDLE: &str = "candidates.bundle";
const VERDICT: &str = "verdict.json";

pub fn master(service: &Service) -> PathBuf {
    service.state.join("evidence")
}

/// Writes all evidence, the verdict last, and returns the verdict's digest.
pub fn write(service: &Service, mut verdict: Verdict, tell: Tell<'_>) -> Result<String> {
    verdict.reasons.extend(write_record(service, tell)?);
    let folder = master(service);
    let _ = fs::remove_file(folder.join(VERDICT));
    let _ = fs::remove_file(folder.join(REWARD));
    if let Some(reward) = verdict.reward() {
        put(&folder.join(REWARD), |file| line(file, &reward))?;
    }
    for name in [REWARD, EVALUATIONS, BUNDLE] {
        let path = folder.join(name);
        if path.exists() {
            verdict.evidence.insert(name.to_owned(), digest_of(&path)?);
        }
    }
    let path = folder.join(VERDICT);
    put_verdict(&path, &verdict)?;
    digest_of(&path)
}

fn digest_of(path: &Path) -> Result<String> {
    Ok(Digest::of_file(path).map_err(failed("reading", path))?.to_string())
}

/// Writes what was done: every evaluation with every sample, and the candidates themselves. Returns what is missing.
///
/// The reward does not hang on either: it would be lost to whoever fills the disk.
pub fn write_record(service: &Service, tell: Tell<'_>) -> Result<Vec<String>> {
    let folder = master(service);
    prepare(&folder)?;
    let mut missing = Vec::new();
    let path = folder.join(EVALUATIONS);
    if let Err(error) = put(&path, |file| evaluations(service, file)) {
        let _ = fs::remove_file(&path);
        missing.push(format!("the evaluations are not among the evidence: {error}"));
    }
    let commits: Vec<String> = {
        let book = service.book();
        let evaluated = book.evaluations().iter().map(|known| known.charged.commit.clone());
        let submitted = book.submitted.iter().map(|candidate| candidate.commit.clone());
        let baseline = std::iter::once(service.config.baseline.commit.clone());
        evaluated.chain(submitted).chain(baseline).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let part = folder.join(format!("{BUNDLE}.part"));
    let bundled = service
        .runner
        .bundle(&commits, &part)
        .and_then(|()| fs::rename(&part, folder.join(BUNDLE)).map_err(failed("renaming", &part)));
    if let Err(error) = bundled {
        let _ = fs::remove_file(&part);
        let _ = fs::remove_file(folder.join(BUNDLE));
        missing.push(format!("the candidates are not among the evidence: {error}"));
    }
    missing.iter().for_each(|what| tell(what.clone()));
    Ok(missing)
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Record {
    Evaluation {
        #[serde(flatten)]
        charged: Charged,
        end: Option<End>,
    },
    Sample {
        evaluation: u64,
        #[serde(flatten)]
        sample: Sample,
    },
}

fn evaluations(service: &Service, file: &mut dyn Write) -> io::Result<()> {
    let last = service.book().next_number();
    for number in 1..last {
        let Some(known) = service.book().evaluation(number).cloned() else { continue };
        let running = known.end.is_none() && known.charged.purpose == Purpose::Optimizer;
        line(file, &Record::Evaluation { charged: known.charged, end: known.end })?;
        let path = service.record_path(number);
        if running || !path.exists() {
            continue;
        }
        for (_, value) in chained_log::read::<Line>(&path).map_err(io::Error::other)? {
            if let Line::Sample(sample) = value {
                line(file, &Record::Sample { evaluation: number, sample })?;
            }
        }
    }
    Ok(())
}

fn line<T: Serialize>(file: &mut dyn Write, value: &T) -> io::Result<()> {
    serde_json::to_writer(&mut *file, value)?;
    file.write_all(b"\n")
}

fn put_verdict(path: &Path, verdict: &Verdict) -> Result<()> {
    put(path, |file| {
        serde_json::to_writer_pretty(&mut *file, verdict)?;
        file.write_all(b"\n")
    })
}

fn put(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    write::atomic_with(path, Durable::Yes, content)
}

/// A folder, without what a finalizing that was killed was just writing.
fn prepare(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(failed("making", folder))?;
    write::sweep(folder)
}

/// Puts a verdict where it is collected, and nothing else: there is nothing to show for it.
pub fn publish_alone(verdict: &Verdict, paths: &Paths) -> Result<()> {
    prepare(&paths.evidence)?;
    publish_verdict(verdict, paths, &[REWARD, EVALUATIONS, BUNDLE])
}

/// Puts a verdict where it is collected that speaks of work which is not over. What else is there stays: it is the
/// optimizer's own.
pub fn publish_interim(verdict: &Verdict, paths: &Paths) -> Result<()> {
    fs::create_dir_all(&paths.evidence).map_err(failed("making", &paths.evidence))?;
    publish_verdict(verdict, paths, &[REWARD, EVALUATIONS])
}

/// Puts the candidate that is submitted where it is collected, with the baseline that it stands on.
pub fn publish_submission(service: &Service, paths: &Paths, commit: &str) -> Result<()> {
    let to = &paths.evidence;
    let part = to.join(format!("{BUNDLE}.part"));
    service.runner.bundle(&[commit.to_owned()], &part)?;
    fs::rename(&part, to.join(BUNDLE)).map_err(failed("renaming", &part))?;
    readable(to).map_err(failed("opening to all", to))
}

/// Whether there is a verdict where it is collected.
pub fn is_published(paths: &Paths) -> bool {
    paths.evidence.join(VERDICT).exists()
}

fn publish_verdict(verdict: &Verdict, paths: &Paths, without: &[&str]) -> Result<()> {
    let to = &paths.evidence;
    for path in without.iter().map(|name| to.join(name)) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("removing", &path)(error));
            }
            _ => {}
        }
    }
    put_verdict(&to.join(VERDICT), verdict)?;
    readable(to).map_err(failed("opening to all", to))
}

/// Copies the evidence to where it is collected, the verdict last. With a digest, the verdict must be that one.
pub fn publish(service: &Service, paths: &Paths, digest: Option<&str>) -> Result<()> {
    let from = master(service);
    if let Some(digest) = digest {
        let path = from.join(VERDICT);
        if digest_of(&path)? != digest {
            let what = format!("`{}` is not the verdict that was given: it was changed", path.display());
            return Err(Error::new(what));
        }
    }
    let to = &paths.evidence;
    prepare(to)?;
    for name in [EVALUATIONS, BUNDLE, REWARD, VERDICT] {
        let source = from.join(name);
        if !source.exists() {
            let _ = fs::remove_file(to.join(name));
            continue;
        }
        put(&to.join(name), |file| io::copy(&mut File::open(&source)?, file).map(drop))?;
    }
    // The collector may be another user than the one that wrote it.
    readable(to).map_err(failed("opening to all", to))
}

fn readable(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        fs::set_permissions(entry?.path(), fs::Permissions::from_mode(0o644))?;
    }
    Ok(())
}
