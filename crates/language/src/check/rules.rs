//! Rules that several fields share.

use super::Context;

/// Reports a count that must be at least one.
pub fn at_least_one<T>(context: &mut Context<'_, T>, path: &[&str], count: u64, why: &str) {
    if count == 0 {
        let name = path.last().copied().unwrap_or_default();
        context.error(path, format!("`{name}` must be at least 1"), why);
    }
}

/// Reports a share that does not lie between 0 and 1.
pub(super) fn share(context: &mut Context<'_>, path: &[&str], value: f64) {
    if !(0.0..=1.0).contains(&value) {
        let name = path.last().copied().unwrap_or_default();
        context.error(
            path,
            format!("`{name}` must lie between 0 and 1, but is {value}"),
            "it is a share: 0.1 is 10 %",
        );
    }
}

/// Reports the second of two equal entries in a list of texts.
pub fn refuse_doubles<T>(context: &mut Context<'_, T>, path: &[&str], items: &[String], what: &str) {
    let mut first = std::collections::BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        if let Some(earlier) = first.insert(item.as_str(), index) {
            let (index, earlier) = (index.to_string(), earlier.to_string());
            let (second, first): (Vec<&str>, Vec<&str>) = (
                path.iter().copied().chain([index.as_str()]).collect(),
                path.iter().copied().chain([earlier.as_str()]).collect(),
            );
            context.error_with(
                &second,
                format!("the {what} `{item}` is named twice"),
                "take one of them out",
                (&first, "first here"),
            );
        }
    }
}
