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
