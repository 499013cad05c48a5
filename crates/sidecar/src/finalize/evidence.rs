//! The evidence: first written whole into the state, then copied to where the verifier collects it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Tell;
use super::verdict::Verdict;
use crate::events::{Charged, End, Line, Purpose, Sample};
use crate::lines;
use crate::places::Places;
use crate::service::Service;
use crate::sha256_of;

const REWARD: &str = "reward.json";
const EVALUATIONS: &str = "evaluations.jsonl";
const BUNDLE: &str = "candidates.bundle";
const VERDICT: &str = "verdict.json";

/// Where the evidence is made.
pub fn master(service: &Service) -> PathBuf {
    service.state.join("evidence")
}

/// Writes all evidence, the verdict last, and returns the verdict's digest.
pub fn write(service: &Service, mut verdict: Verdict, tell: Tell<'_>) -> Result<String, String> {
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
            let digest =
                sha256_of(&path).map_err(|error| format!("reading `{}`: {error}", path.display()))?;
            verdict.evidence.insert(name.to_owned(), digest);
        }
    }
    let path = folder.join(VERDICT);
    put_verdict(&path, &verdict)?;
    sha256_of(&path).map_err(|error| format!("reading `{}`: {error}", path.display()))
}

/// Writes what was done: every evaluation with every sample, and the candidates themselves. Returns what is missing.
///
/// The reward does not hang on either: it would be lost to whoever fills the disk.
pub fn write_record(service: &Service, tell: Tell<'_>) -> Result<Vec<String>, String> {
    let folder = master(service);
    fs::create_dir_all(&folder).map_err(|error| format!("making `{}`: {error}", folder.display()))?;
    let mut missing = Vec::new();
    let path = folder.join(EVALUATIONS);
    if let Err(error) = put(&path, |file| evaluations(service, file)) {
        let _ = fs::remove_file(&path);
        missing.push(format!("the evaluations are not among the evidence: {error}"));
    }
    let commits: Vec<String> = {
        let ledger = service.ledger();
        let evaluated = ledger.evaluations().iter().map(|known| known.charged.commit.clone());
        let submitted = ledger.submitted.iter().map(|candidate| candidate.commit.clone());
        let baseline = std::iter::once(service.config.baseline.commit.clone());
        evaluated.chain(submitted).chain(baseline).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let part = folder.join(format!("{BUNDLE}.part"));
    let bundled = service.runner.bundle(&commits, &part).and_then(|()| {
        fs::rename(&part, folder.join(BUNDLE)).map_err(|error| format!("writing the bundle: {error}"))
    });
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

fn evaluations(service: &Service, file: &mut BufWriter<File>) -> io::Result<()> {
    let last = service.ledger().next_number();
    for number in 1..last {
        let Some(known) = service.ledger().evaluation(number).cloned() else { continue };
        let running = known.end.is_none() && known.charged.purpose == Purpose::Optimizer;
        line(file, &Record::Evaluation { charged: known.charged, end: known.end })?;
        let path = service.record_path(number);
        if running || !path.exists() {
            continue;
        }
        for (_, value) in lines::read::<Line>(&path).map_err(io::Error::other)? {
            if let Line::Sample(sample) = value {
                line(file, &Record::Sample { evaluation: number, sample })?;
            }
        }
    }
    Ok(())
}

fn line<T: Serialize>(file: &mut BufWriter<File>, value: &T) -> io::Result<()> {
    serde_json::to_writer(&mut *file, value)?;
    file.write_all(b"\n")
}

fn put_verdict(path: &Path, verdict: &Verdict) -> Result<(), String> {
    put(path, |file| {
        serde_json::to_writer_pretty(&mut *file, verdict)?;
        file.write_all(b"\n")
    })
}

/// Writes a file beside its place and moves it there once it is whole.
fn put(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), String> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = (|| {
        let mut file = BufWriter::new(File::create(&part)?);
        write(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&part, path)
    })();
    written.map_err(|error| {
        // The first error is the one to be told.
        let _ = fs::remove_file(&part);
        format!("writing `{}`: {error}", path.display())
    })
}

/// Puts a verdict where it is collected, and nothing else: there is nothing to show for it.
pub fn publish_alone(verdict: &Verdict, places: &Places) -> Result<(), String> {
    let to = &places.evidence;
    fs::create_dir_all(to).map_err(|error| format!("making `{}`: {error}", to.display()))?;
    for name in [REWARD, EVALUATIONS, BUNDLE] {
        match fs::remove_file(to.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(format!("removing `{}`: {error}", to.join(name).display()));
            }
            _ => {}
        }
    }
    put_verdict(&to.join(VERDICT), verdict)?;
    readable(to).map_err(|error| format!("making `{}` readable: {error}", to.display()))
}

/// Copies the evidence to where it is collected, the verdict last. With a digest, the verdict must be that one.
pub fn publish(service: &Service, places: &Places, digest: Option<&str>) -> Result<(), String> {
    let from = master(service);
    if let Some(digest) = digest {
        let path = from.join(VERDICT);
        let found = sha256_of(&path).map_err(|error| format!("reading `{}`: {error}", path.display()))?;
        if found != digest {
            return Err(format!("`{}` is not the verdict that was given: it was changed", path.display()));
        }
    }
    let to = &places.evidence;
    fs::create_dir_all(to).map_err(|error| format!("making `{}`: {error}", to.display()))?;
    for name in [EVALUATIONS, BUNDLE, REWARD, VERDICT] {
        let source = from.join(name);
        if !source.exists() {
            let _ = fs::remove_file(to.join(name));
            continue;
        }
        put(&to.join(name), |file| io::copy(&mut File::open(&source)?, file).map(drop))?;
    }
    // The collector may be another user than the one that wrote it.
    readable(to).map_err(|error| format!("making `{}` readable: {error}", to.display()))
}

fn readable(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        fs::set_permissions(entry?.path(), fs::Permissions::from_mode(0o644))?;
    }
    Ok(())
}
