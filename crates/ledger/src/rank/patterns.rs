//! Patterns of task names.

use taskwright_base::{Error, Result};
use taskwright_language::pattern::Pattern;

/// Which tasks are asked for. None means all.
#[derive(Debug, Clone, Default)]
pub struct TaskPatterns(Option<Vec<Pattern>>);

impl TaskPatterns {
    /// Tasks that match any of these patterns, in which `*` stands for any text, `?` for one letter, and `[ab]` and
    /// `{one,other}` for a choice. A pattern is held against the whole name and against what follows its `/`.
    pub fn new<T: AsRef<str>>(patterns: &[T]) -> Result<Self> {
        let read = |pattern: &T| {
            let pattern = pattern.as_ref();
            Pattern::new(&joined(pattern)).map_err(|problem| {
                Error::new(format!("`{}` is no pattern of task names: {problem}", pattern.escape_debug()))
                    .hint("write a name, in which `*` stands for any text; `\\` before a sign means the sign itself")
                    .usage()
            })
        };
        let patterns: Vec<Pattern> = patterns.iter().map(read).collect::<Result<_>>()?;
        Ok(Self((!patterns.is_empty()).then_some(patterns)))
    }

    /// Whether a task is asked for.
    pub fn matches(&self, task: &str) -> bool {
        let Some(patterns) = &self.0 else { return true };
        let is_match = |name: &str| {
            let name = joined(name);
            patterns.iter().any(|pattern| pattern.matches(&name))
        };
        is_match(task) || task.split_once('/').is_some_and(|(_, name)| is_match(name))
    }
}

/// A task's name is no path: `*` stands for any text in it, a `/` included. So nothing may look like one to the matcher.
fn joined(name: &str) -> String {
    name.replace('/', "\u{1}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn patterns_see_the_whole_name_and_its_end() {
        let matches = |pattern: &str, task: &str| TaskPatterns::new(&[pattern]).unwrap().matches(task);
        for pattern in [
            "org/circle-packing",
            "circle-packing",
            "circle-*",
            "org/*",
            "o*g",
            "org*",
            "**",
            "{a,circle-packing}",
        ] {
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
