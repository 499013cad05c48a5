//! What stands for a path in the arguments of a command.

use std::path::Path;

/// The paths that `{scorer}`, `{candidate}` and `{taskwright}` stand for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placeholders<'a> {
    pub scorer: &'a Path,
    pub candidate: &'a Path,
    pub taskwright: &'a Path,
}

impl Placeholders<'_> {
    /// A command with the paths in its arguments.
    pub fn fill_all(&self, command: &[String]) -> Vec<String> {
        command.iter().map(|argument| self.fill(argument)).collect()
    }

    fn fill(&self, argument: &str) -> String {
        let known =
            [("{scorer}", self.scorer), ("{candidate}", self.candidate), ("{taskwright}", self.taskwright)];
        let mut filled = String::with_capacity(argument.len());
        let mut rest = argument;
        // From left to right, so that what is put in is not looked at again.
        while let Some(start) = rest.find('{') {
            filled.push_str(&rest[..start]);
            rest = &rest[start..];
            let (text, length) = match known.iter().find(|(name, _)| rest.starts_with(name)) {
                Some((name, path)) => (path.to_string_lossy(), name.len()),
                None => ("{".into(), 1),
            };
            filled.push_str(&text);
            rest = &rest[length..];
        }
        filled + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn arguments_are_filled_once() {
        let paths = Placeholders {
            scorer: Path::new("/s/{candidate}"),
            candidate: Path::new("/c"),
            taskwright: Path::new("/bin/t"),
        };
        assert_eq!(paths.fill("{scorer}/run.py"), "/s/{candidate}/run.py");
        assert_eq!(paths.fill("a{candidate}b{taskwright}{"), "a/cb/bin/t{");
        assert_eq!(paths.fill("{{candidate}} {x}"), "{/c} {x}");
    }
}
