//! Which key a comment belongs to: the one below it, or the one that it stands beside.

use std::collections::BTreeMap;

use super::{Map, Node, Value};

/// Gives the comments, by their lines, to the entries of a mapping and of all that is in it.
pub(super) fn attach(map: &mut Map, mut comments: BTreeMap<u64, String>) {
    give(map, &mut comments);
    // What stands below everything closes the last key.
    if let Some(last) = map.0.last_mut() {
        last.comments.extend(comments.values().map(|comment| without_space(comment)));
    }
}

fn give(map: &mut Map, comments: &mut BTreeMap<u64, String>) {
    for entry in &mut map.0 {
        entry.comments = up_to(comments, entry.line);
        match &mut entry.node.value {
            Value::Map(inner) => give(inner, comments),
            Value::List(items) => {
                for item in items {
                    match item {
                        Node { value: Value::Map(inner), .. } => give(inner, comments),
                        Node { line, .. } => entry.comments.extend(up_to(comments, *line)),
                    }
                }
            }
            _ => {}
        }
    }
}

/// Takes the comments of all lines up to one.
fn up_to(comments: &mut BTreeMap<u64, String>, line: u64) -> Vec<String> {
    let later = comments.split_off(&(line + 1));
    std::mem::replace(comments, later).values().map(|comment| without_space(comment)).collect()
}

fn without_space(comment: &str) -> String {
    comment.strip_prefix(' ').unwrap_or(comment).to_owned()
}
