//! The files in which a verifier leaves its rewards, for trials whose result does not say them.
//!
//! In Harbor's shared mode whatever ran in the container can write these files, also when no verifier ran. What they
//! hold is evidence of what was left there; only a trial's `result.json` says what Harbor accepted.

use std::path::Path;

use serde_json::value::RawValue;

use super::{InvalidReward, Reward, Rewards};
use crate::document::{self, DocumentError, Folder, Problem};

/// How many bytes of a reward file are read at most.
const LIMIT: u64 = 1 << 20;

/// What a verifier left in a trial's folder.
#[derive(Debug, Clone, PartialEq)]
pub struct RewardFile {
    /// The file, from the trial's folder.
    pub path: &'static str,
    /// What it says.
    pub rewards: Rewards,
}

/// Reads `verifier/reward.json`, or `verifier/reward.txt` where there is no such file, as Harbor 0.26 would; none if
/// there is neither.
pub fn read_files(trial: &Path) -> Result<Option<RewardFile>, DocumentError> {
    let error = |name: &str, problem| DocumentError { path: trial.join(name), problem };
    let folder = Folder::open(trial).and_then(|trial| trial.folder("verifier".as_ref()));
    let folder = match folder {
        Ok(folder) => folder,
        Err(io) if io.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(io) => return Err(error("verifier", Problem::Io(io))),
    };
    let mut bytes = Vec::new();
    let path = "verifier/reward.json";
    match folder.read("reward.json", LIMIT, &mut bytes) {
        Ok(()) => {
            let rewards = json(&bytes).map_err(|problem| error(path, problem))?;
            return Ok(Some(RewardFile { path, rewards }));
        }
        Err(Problem::Missing) => {}
        Err(problem) => return Err(error(path, problem)),
    }
    let path = "verifier/reward.txt";
    match folder.read("reward.txt", LIMIT, &mut bytes) {
        Ok(()) => {
            let rewards = text(&bytes).map_err(|problem| error(path, problem))?;
            Ok(Some(RewardFile { path, rewards }))
        }
        Err(Problem::Missing) => Ok(None),
        Err(problem) => Err(error(path, problem)),
    }
}

fn json(bytes: &[u8]) -> Result<Rewards, Problem> {
    let whole: Box<RawValue> = document::parse_any(bytes, |text| serde_json::from_str(text))?;
    let mut rewards = Rewards::take(Some(&whole)).unwrap_or(Rewards::NotAMap("null"));
    if let Rewards::Keys(keys) = &mut rewards {
        // Harbor takes truth values in this file as numbers.
        for reward in keys.values_mut().filter(|reward| reward.value == Err(InvalidReward::Bool)) {
            reward.value = Ok(if reward.text == "true" { 1.0 } else { 0.0 });
        }
    }
    Ok(rewards)
}

/// The text that Python's `float()` takes: blanks around it, and single underscores between digits.
fn text(bytes: &[u8]) -> Result<Rewards, Problem> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| Problem::NotUtf8 { at: error.valid_up_to() })?.trim();
    if text.is_empty() {
        return Err(Problem::Empty);
    }
    let digits = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| digits.get(at)).is_some_and(u8::is_ascii_digit);
    let sound = text.match_indices('_').all(|(at, _)| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1)));
    let number = sound.then(|| text.replace('_', "").parse::<f64>().ok()).flatten();
    let value = match number {
        Some(number) if number.is_finite() => Ok(number),
        Some(_) => Err(InvalidReward::NotFinite),
        None => Err(InvalidReward::Text),
    };
    let text = text[..text.floor_char_boundary(super::SHOWN)].to_owned();
    Ok(Rewards::Keys([("reward".to_owned(), Reward { text, value })].into()))
}
