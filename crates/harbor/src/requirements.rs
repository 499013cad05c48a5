//! Which version of each package Harbor and a project beside it get: one answer for both, made by uv once.
//!
//! An image and a machine of one's own ask in the same words ([`resolution`]). The answer is a file of requirements, each
//! pinned; where it is kept beside a spec, nobody asks again.

use std::collections::BTreeMap;

use taskwright_base::text::shell_word;
use taskwright_base::{Error, Result};

/// The line for a shell that asks uv for the versions that suit Harbor (`harbor==0.26.0`) and the project whose file this is,
/// and keeps the answer in a file. What stands in the file already is preferred.
pub fn resolution(harbor: &str, python: &str, project: &str, answer: &str) -> String {
    let [harbor, python, project, answer] = [harbor, python, project, answer].map(shell_word);
    format!(
        "echo {harbor} | uv pip compile --quiet --no-header --no-annotate --generate-hashes --python-version {python} \
         --output-file {answer} {project} -"
    )
}

/// The versions that a file of requirements pins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirements {
    versions: BTreeMap<String, String>,
}

impl Requirements {
    /// Reads a file of requirements, each of which must be pinned.
    pub fn parse(text: &str) -> Result<Self> {
        let mut versions = BTreeMap::new();
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let mut line = line.to_owned();
            while let Some(begun) = line.strip_suffix('\\') {
                line = format!("{begun} {}", lines.next().map_or("", |(_, next)| next));
            }
            let line = line.split(" #").next().unwrap_or_default().trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong =
                |what: &str| Error::new(format!("line {}: `{}` {what}", number + 1, first_word(line)));
            if line.starts_with('-') {
                return Err(wrong("is an option: only packages with their versions belong here"));
            }
            let (name, version) = match (line.split_once("=="), line.split_once('@')) {
                (Some((name, rest)), _) => (name, first_word(rest)),
                // A commit of a repository, or a file: what follows the name says which.
                (None, Some((name, _))) => (name, ""),
                (None, None) => return Err(wrong("is not pinned with `==`")),
            };
            let name = name.split('[').next().unwrap_or_default();
            versions.insert(normal(name.trim()), version.to_owned());
        }
        Ok(Self { versions })
    }

    /// The version of a package, however its name is spelled; empty if it comes from elsewhere than an index.
    pub fn version(&self, package: &str) -> Option<&str> {
        self.versions.get(&normal(package)).map(String::as_str)
    }
}

fn first_word(text: &str) -> &str {
    let end = text.trim_start().find(|letter: char| letter.is_whitespace() || letter == ';');
    let text = text.trim_start();
    &text[..end.unwrap_or(text.len())]
}

/// A package's name as an index knows it: case and separators make no difference.
pub(crate) fn normal(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '-' | '_' | '.' if normal.ends_with('-') => {}
            '-' | '_' | '.' => normal.push('-'),
            letter => normal.push(letter.to_ascii_lowercase()),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn what_uv_writes_is_read() {
        let text = "# made by uv\nOpen.AI[realtime]==2.46.0 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\nharbor==0.26.0 # via x\n\n\
                    colorama==0.4.6 ; sys_platform == 'win32'\nours @ git+https://example.org/ours@0a1b\n";
        let read = Requirements::parse(text).unwrap();
        let versions = ["open-ai", "HARBOR", "colorama", "ours", "none"].map(|name| read.version(name));
        assert_eq!(versions, [Some("2.46.0"), Some("0.26.0"), Some("0.4.6"), Some(""), None]);
    }

    #[test]
    fn what_is_not_pinned_is_refused_with_its_line() {
        for (text, words) in [
            ("a==1\nopenai>=2 # any\n", "line 2: `openai>=2` is not pinned"),
            ("--index-url https://example.org/simple\n", "line 1: `--index-url` is an option"),
        ] {
            let error = Requirements::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(words), "{error}");
        }
    }

    #[test]
    fn the_question_is_a_line_for_a_shell() {
        assert_eq!(
            resolution("harbor[modal]==0.26.0", "3.13", "/p/pyproject.toml", "/opt/requirements.txt"),
            "echo 'harbor[modal]==0.26.0' | uv pip compile --quiet --no-header --no-annotate --generate-hashes \
             --python-version 3.13 --output-file /opt/requirements.txt /p/pyproject.toml -"
        );
    }
}
