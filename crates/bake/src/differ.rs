//! Where two bakings of one image differ: the layer, the instruction that made it, and the files in it.

use std::collections::BTreeMap;

use taskwright_base::error::failed;
use taskwright_base::{Digest, Result};

use crate::layout::{Descriptor, Layout};

/// How many files are named.
const MOST: usize = 5;

/// What differs between an image that was made before and the same one made now, as lines to read.
///
/// # Errors
/// A blob cannot be read.
pub fn lines(layout: &Layout, before: &Descriptor, now: &Descriptor) -> Result<Vec<String>> {
    if !layout.blob(&before.digest).exists() {
        return Ok(vec![format!(
            "what the lock names, {}, is not in `[bake] images` here to compare it with",
            before.digest
        )]);
    }
    let (old, new) = (layout.layers(before)?, layout.layers(now)?);
    let instructions = layout.instructions(now);
    for (number, (old, new)) in old.iter().zip(&new).enumerate() {
        if old.digest == new.digest {
            continue;
        }
        let by = instructions.get(number).map(|text| shorten(text)).unwrap_or_default();
        let mut lines = vec![format!("layer {} of {}, made by `{by}`", number + 1, instructions.len())];
        match (files(layout, old), files(layout, new)) {
            (Ok(old), Ok(new)) => lines.extend(differences(&old, &new)),
            (Err(error), _) | (_, Err(error)) => lines.push(error.to_string()),
        }
        return Ok(lines);
    }
    Ok(vec![if old.len() == new.len() {
        "the layers are the same: what differs is the configuration".to_owned()
    } else {
        format!("there were {} layers, and there are {}", old.len(), new.len())
    }])
}

fn shorten(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match one_line.char_indices().nth(80) {
        Some((end, _)) => format!("{} …", &one_line[..end]),
        None => one_line,
    }
}

fn differences(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<String> {
    let mut found = Vec::new();
    for (path, now) in new {
        match old.get(path) {
            None => found.push(format!("{path}: only in the new one")),
            Some(before) if before != now => found.push(format!("{path}: {before} before, {now} now")),
            Some(_) => {}
        }
    }
    found.extend(
        old.keys().filter(|path| !new.contains_key(*path)).map(|path| format!("{path}: only in the old one")),
    );
    let more = found.len().saturating_sub(MOST);
    found.truncate(MOST);
    if more > 0 {
        found.push(format!("and {more} more"));
    }
    found
}

/// What a layer holds: each path with its mode, owner, size and digest.
fn files(layout: &Layout, layer: &Descriptor) -> Result<BTreeMap<String, String>> {
    let path = layout.blob(&layer.digest);
    let mut found = BTreeMap::new();
    let mut archive = layout.contents(layer)?;
    for entry in archive.entries().map_err(failed("reading", &path))? {
        let mut entry = entry.map_err(failed("reading", &path))?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let header = entry.header().clone();
        let number = |value: std::io::Result<u64>| value.unwrap_or_default();
        let (digest, size) = Digest::of_reader(&mut entry).map_err(failed("reading", &path))?;
        let said = format!(
            "mode {:o}, owner {}:{}, time {}, {size} bytes {}",
            header.mode().unwrap_or_default(),
            number(header.uid()),
            number(header.gid()),
            number(header.mtime()),
            digest.short()
        );
        found.insert(name, said);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_came_went_or_changed_are_named() {
        let list = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(path, says)| ((*path).to_owned(), (*says).to_owned())).collect()
        };
        let old = list(&[("a", "1"), ("b", "1"), ("gone", "1")]);
        let new = list(&[("a", "1"), ("b", "2"), ("new", "1")]);
        assert_eq!(
            differences(&old, &new),
            ["b: 1 before, 2 now", "new: only in the new one", "gone: only in the old one"]
        );
        let many: BTreeMap<_, _> = (0..9).map(|number| (number.to_string(), String::new())).collect();
        assert_eq!(differences(&BTreeMap::new(), &many).last().unwrap(), "and 4 more");
    }
}
