//! Patterns of task names.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use taskwright_base::{Error, Result};

/// Which tasks are asked for. None means all.
#[derive(Debug, Clone, Default)]
pub struct TaskPatterns(Option<GlobSet>);

impl TaskPatterns {
    /// Tasks that match any of these patterns, in which `*` stands for any text, `?` for one letter, and `[ab]` and
    /// `{one,other}` for a choice. A pattern is held against the whole name and against what follows its `/`.
    pub fn new<T: AsRef<str>>(patterns: &[T]) -> Result<Self> {
        if patterns.is_empty() {
            return Ok(Self(None));
        }
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let failed = |error: globset::Error| {
                Error::new(format!("`{}` is no pattern of task names: {}", pattern.escape_debug(), error.kind()))
                    .hint("write a name, in which `*` stands for any text; `\\` before a sign means the sign itself")
                    .usage()
            };
            set.add(GlobBuilder::new(pattern).literal_separator(false).build().map_err(failed)?);
        }
        let failed = |error: globset::Error| Error::new(format!("the patterns of task names: {error}"));
        Ok(Self(Some(set.build().map_err(failed)?)))
    }

    /// Whether a task is asked for.
    pub fn matches(&self, task: &str) -> bool {
        let Some(set) = &self.0 else { return true };
        set.is_match(task) || task.split_once('/').is_some_and(|(_, name)| set.is_match(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_see_the_whole_name_and_its_end() {
        let matches = |pattern: &str, task: &str| TaskPatterns::new(&[pattern]).unwrap().matches(task);
        for pattern in
            ["org/circle-packing", "circle-packing", "circle-*", "org/*", "*pack*", "{a,circle-packing}"]
        {
            assert!(matches(pattern, "org/circle-packing"), "{pattern}");
        }
        for pattern in ["circle", "org", "packing", ""] {
            assert!(!matches(pattern, "org/circle-packing"), "{pattern}");
        }
        assert!(TaskPatterns::new::<&str>(&[]).unwrap().matches("anything"));
        let error = TaskPatterns::new(&["["]).unwrap_err();
        assert!(error.to_string().contains("`[` is no pattern of task names"), "{error}");
    }
}
