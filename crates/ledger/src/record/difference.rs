//! In what two records of one trial differ.

use serde_json::Value;

use super::parts::Evidence;
use super::trial::Trial;
use super::words::Source;

/// How many characters of a value are shown.
const SHOWN: usize = 120;

/// In what the content of two trials differs, one line a field. Who imported them, and for what, is no content; evidence
/// is compared only if both have some.
pub fn differences(old: &Trial, new: &Trial) -> Vec<String> {
    let content = |trial: &Trial| {
        let mut trial = trial.clone();
        trial.experiment = None;
        trial.provenance = None;
        trial.job = None;
        trial.harbor_version = None;
        trial.source = Source::Import;
        trial.evidence.clear();
        serde_json::to_value(&trial).unwrap_or(Value::Null)
    };
    let (Value::Object(olds), Value::Object(news)) = (content(old), content(new)) else { return Vec::new() };
    let mut lines: Vec<String> = olds
        .iter()
        .filter(|(field, value)| news.get(*field) != Some(value))
        .map(|(field, value)| {
            format!("{field}: {} -> {}", show(value), show(news.get(field).unwrap_or(&Value::Null)))
        })
        .collect();
    if !old.evidence.is_empty() && !new.evidence.is_empty() {
        lines.extend(of_evidence(&old.evidence, &new.evidence));
    }
    if lines.is_empty() {
        lines.push("the result's bytes differ, in what the record does not hold".to_owned());
    }
    lines
}

fn of_evidence(old: &[Evidence], new: &[Evidence]) -> Vec<String> {
    let find =
        |all: &[Evidence], path: &str| all.iter().find(|one| one.path == path).map(|one| one.digest.clone());
    let gone =
        old.iter().filter(|file| find(new, &file.path).is_none()).map(|file| format!("{}: gone", file.path));
    let other = new.iter().filter_map(|file| match find(old, &file.path) {
        None => Some(format!("{}: new", file.path)),
        Some(digest) if digest != file.digest => Some(format!("{}: other content", file.path)),
        Some(_) => None,
    });
    gone.chain(other).collect()
}

fn show(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
