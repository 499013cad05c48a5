//! Words for paths, tables and likely meanings, shared by everything that explains a mistake.

use std::fmt::Write as _;

/// A path of keys and indices as a reader writes it: `splits.train.samples[3]`.
pub fn show_path(path: &[String]) -> String {
    let mut shown = String::new();
    for step in path {
        if !shown.is_empty() && is_index(step) {
            let _ = write!(shown, "[{step}]");
        } else {
            if !shown.is_empty() {
                shown.push('.');
            }
            shown.push_str(&show_key(step));
        }
    }
    shown
}

/// A table as its header is written: `[baseline]`, `[[targets]]`; the root is "the" and the file's `noun`.
pub fn table_name(path: &[String], noun: &str) -> String {
    let keys: Vec<String> = path.iter().filter(|step| !is_index(step)).map(|step| show_key(step)).collect();
    match path.last() {
        None => format!("the {noun}"),
        Some(last) if is_index(last) && path.len() > 1 => format!("`[[{}]]`", keys.join(".")),
        Some(_) => format!("`[{}]`", keys.join(".")),
    }
}

fn is_index(step: &str) -> bool {
    !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit())
}

fn show_key(key: &str) -> String {
    let bare = !key.is_empty()
        && key.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' || byte == b'<' || byte == b'>'
        });
    if bare { key.to_owned() } else { format!("{key:?}") }
}

/// The known word that somebody who wrote `word` most likely meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = word.to_lowercase().replace('-', "_");
    known
        .into_iter()
        .map(|candidate| {
            let other = candidate.to_lowercase().replace('-', "_");
            (strsim::damerau_levenshtein(&folded, &other), candidate)
        })
        .filter(|(distance, candidate)| {
            let length = candidate.chars().count().max(folded.chars().count());
            *distance < length && *distance <= 1.max(length / 3)
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Words as a choice: "`a`, `b` or `c`". Of very many only the first are named.
pub fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 24;
    let words: Vec<&str> = words.into_iter().collect();
    let mut shown: Vec<String> = words.iter().take(MOST).map(|word| format!("`{word}`")).collect();
    if words.len() > MOST {
        shown.push(format!("{} others", words.len() - MOST));
    }
    match shown.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}
