//! Ignore patterns in the two dialects that Harbor's digest uses, with the corners where they differ from git.
//!
//! Harbor matches with Python's `pathspec`, which turns each pattern into a regular expression over the whole path. What
//! it matches therefore follows from that expression, and not always from git's manual: a bracket can match a `/`, a
//! line break in a folder's name ends `**`, and the pattern `*` is stronger than a later `!folder/`. Crates that follow
//! git give other digests in those corners, hence this one.

mod sequence;

use std::path::Path;
use std::sync::LazyLock;

use super::error::DigestError;

/// What Harbor ignores in a task without a `.gitignore` at its top.
const DEFAULT_PATTERNS: &str = "__pycache__/\n*.pyc\n.DS_Store\n*.swp\n*.swo\n*~";

const SLASH: u32 = '/' as u32;
const LINE_FEED: u32 = '\n' as u32;

/// How patterns are read, and which of several matches counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// For the `.gitignore` at the top: gitignore as its manual has it, over files only. The last match counts, so a
    /// file below an ignored folder can be taken back.
    Manual,
    /// For `.harborignore`: as git does it. A match of the path itself counts more than one of a folder above it.
    Git,
}

/// The rules of one ignore file.
#[derive(Debug)]
pub(crate) struct IgnoreRules {
    dialect: Dialect,
    patterns: Vec<Pattern>,
}

impl IgnoreRules {
    /// Reads an ignore file's text; `path` is only for messages.
    pub(crate) fn parse(dialect: Dialect, text: &str, path: &Path) -> Result<Self, DigestError> {
        let mut patterns = Vec::new();
        for (index, line) in split_lines(text).enumerate() {
            let pattern = Pattern::parse(dialect, line).map_err(|reason| DigestError::Pattern {
                path: path.to_owned(),
                line: index + 1,
                pattern: line.to_owned(),
                reason,
            })?;
            patterns.extend(pattern);
        }
        Ok(Self { dialect, patterns })
    }

    /// Harbor's default ignore list.
    pub(crate) fn default_list() -> &'static Self {
        static LIST: LazyLock<IgnoreRules> = LazyLock::new(|| {
            let patterns =
                DEFAULT_PATTERNS.lines().filter_map(|line| Pattern::parse(Dialect::Manual, line).ok()?);
            IgnoreRules { dialect: Dialect::Manual, patterns: patterns.collect() }
        });
        &LIST
    }

    /// Whether a path, relative to the ignore file's folder, is ignored.
    pub(crate) fn is_ignored(&self, path: &[u8]) -> bool {
        self.decide(path) == Some(true)
    }

    /// What the rules say about a path, where folders end in `/`: to ignore it, to take it back, or nothing.
    pub(crate) fn decide(&self, path: &[u8]) -> Option<bool> {
        if self.patterns.is_empty() {
            return None;
        }
        let path = code_points(path);
        let mut decision = None;
        for pattern in self.patterns.iter().rev() {
            match pattern.matches(&path) {
                None => {}
                Some(Reach::Folder) if self.dialect == Dialect::Git => {
                    decision = decision.or(Some(pattern.ignores));
                }
                Some(_) => return Some(pattern.ignores),
            }
        }
        decision
    }
}

/// Lines as Python's `splitlines` sees them.
fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    // A carriage return and a line feed are one line break and make two here: an empty line says nothing. It would
    // only put the numbers in messages off, so it is taken out.
    text.split_inclusive(is_line_break).filter_map({
        let mut after_return = false;
        move |line| {
            let is_rest_of_break = after_return && line == "\n";
            after_return = line.ends_with('\r');
            if is_rest_of_break { None } else { Some(line.strip_suffix(is_line_break).unwrap_or(line)) }
        }
    })
}

fn is_line_break(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What Python's `rstrip` takes off: Rust's white space and four separators.
fn is_python_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\x1c'..='\x1f')
}

/// A name's characters as Python sees them: bytes that are not UTF-8 become lone surrogates.
fn code_points(bytes: &[u8]) -> Vec<u32> {
    let mut points = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        points.extend(chunk.valid().chars().map(u32::from));
        points.extend(chunk.invalid().iter().map(|byte| 0xDC00 + u32::from(*byte)));
    }
    points
}

/// How a pattern met a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// The path itself, or in a way that counts as such.
    Path,
    /// A folder above it.
    Folder,
}

#[derive(Debug)]
struct Pattern {
    /// False for a pattern with `!`.
    ignores: bool,
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// Every path.
    Everything,
    /// Every path that has a folder.
    BelowAnyFolder { as_folder: bool },
    /// A sequence of tokens from the path's beginning, and how it must end.
    Sequence { tokens: Vec<Token>, end: End },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// This character.
    Is(u32),
    /// Any character but `/`.
    One,
    /// Any number of characters but `/`.
    Any,
    /// The same, at least one.
    Some,
    /// A character in one of the ranges, or in none of them.
    Class { negated: bool, ranges: Vec<(u32, u32)> },
    /// `**` at the beginning: nothing, or folders with the slash after them.
    LeadingFolders,
    /// `**` in the middle: nothing, or a slash and folders.
    InnerFolders,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// A slash: only what lies below matches.
    Below { as_folder: bool },
    /// A slash, or the path's end.
    BelowOrHere,
    /// The path's end, perhaps with a slash before it.
    Here,
}

impl Pattern {
    /// Reads one line; `None` for one that says nothing, and an error where Harbor would stop.
    fn parse(dialect: Dialect, line: &str) -> Result<Option<Self>, &'static str> {
        let text = if line.ends_with("\\ ") { line } else { line.trim_end_matches(is_python_space) };
        if text.is_empty() || text.starts_with('#') || (dialect == Dialect::Git && text == "/") {
            return Ok(None);
        }
        let (ignores, text) = text.strip_prefix('!').map_or((true, text), |rest| (false, rest));
        if text.is_empty() {
            return Err("there is nothing after the `!`");
        }
        let form = Form::parse(dialect, text)?;
        Ok(form.map(|form| Self { ignores, form }))
    }

    fn matches(&self, path: &[u32]) -> Option<Reach> {
        let reach = |as_folder| if as_folder { Reach::Folder } else { Reach::Path };
        match &self.form {
            // `.` stands for no line break.
            Form::Everything => path.iter().any(|c| *c != LINE_FEED).then_some(Reach::Path),
            Form::BelowAnyFolder { as_folder } => path.contains(&SLASH).then_some(reach(*as_folder)),
            Form::Sequence { tokens, end } => sequence::matches(tokens, *end, path).map(reach),
        }
    }
}

impl Form {
    fn parse(dialect: Dialect, text: &str) -> Result<Option<Self>, &'static str> {
        let is_git = dialect == Dialect::Git;
        let mut segments: Vec<&str> = text.split('/').collect();
        // A lone slash is everything in the manual's dialect, and not a folder.
        let is_folder = text.ends_with('/') && (is_git || text != "/");
        if segments[0].is_empty() {
            segments.remove(0);
        } else if (segments.len() == 1 || segments[1..] == [""]) && segments[0] != "**" {
            segments.insert(0, "**");
        }
        if let Some(last) = segments.last_mut()
            && last.is_empty()
        {
            *last = "**";
        }
        segments.dedup_by(|a, b| *a == "**" && *b == "**");
        match segments[..] {
            ["**"] if is_folder => return Ok(Some(Self::BelowAnyFolder { as_folder: is_git })),
            ["**"] | ["**", "*"] => return Ok(Some(Self::Everything)),
            ["**", "*", "**"] => return Ok(Some(Self::BelowAnyFolder { as_folder: is_git && is_folder })),
            _ => {}
        }
        Self::parse_segments(dialect, &segments, is_folder)
    }

    fn parse_segments(
        dialect: Dialect,
        segments: &[&str],
        is_folder: bool,
    ) -> Result<Option<Self>, &'static str> {
        let is_git = dialect == Dialect::Git;
        let mut glob = Glob { dialect, tokens: Vec::new(), bad_range: false };
        let mut needs_slash = false;
        let mut end = End::BelowOrHere;
        for (index, segment) in segments.iter().enumerate() {
            let is_last = index + 1 == segments.len();
            if *segment == "**" {
                if index == 0 {
                    glob.tokens.push(Token::LeadingFolders);
                } else if is_last {
                    end = End::Below { as_folder: is_git && is_folder };
                } else {
                    glob.tokens.push(Token::InnerFolders);
                    needs_slash = true;
                }
                continue;
            }
            if needs_slash {
                glob.tokens.push(Token::Is(SLASH));
            }
            needs_slash = true;
            if *segment == "*" {
                glob.tokens.push(Token::Some);
                if is_last && !is_git {
                    end = End::Here;
                }
            } else if !glob.segment(segment)? {
                return Ok(None);
            }
        }
        if glob.bad_range {
            return Err("a range is the wrong way round");
        }
        Ok(Some(Self::Sequence { tokens: glob.tokens, end }))
    }
}

/// Reads the wildcards within segments.
struct Glob {
    dialect: Dialect,
    tokens: Vec<Token>,
    /// Noted, not reported at once: Harbor finds it only when the whole pattern is read, and by then the pattern may
    /// have been dropped.
    bad_range: bool,
}

impl Glob {
    /// Reads one segment; false when git's dialect drops the whole pattern.
    fn segment(&mut self, segment: &str) -> Result<bool, &'static str> {
        let chars: Vec<char> = segment.chars().collect();
        let mut at = 0;
        while let Some(&c) = chars.get(at) {
            at += 1;
            match c {
                '\\' => {
                    let escaped = chars.get(at).ok_or("a backslash has nothing after it")?;
                    self.tokens.push(Token::Is(u32::from(*escaped)));
                    at += 1;
                }
                '*' => {
                    // Two in a row match what one does; fewer tokens bound the work.
                    if self.tokens.last() != Some(&Token::Any) {
                        self.tokens.push(Token::Any);
                    }
                }
                '?' => self.tokens.push(Token::One),
                '[' => match class_end(&chars, at) {
                    Some(end) => {
                        self.class(&chars[at..end]);
                        at = end + 1;
                    }
                    None if self.dialect == Dialect::Git => return Ok(false),
                    None => self.tokens.push(Token::Is(u32::from('['))),
                },
                _ => self.tokens.push(Token::Is(u32::from(c))),
            }
        }
        Ok(true)
    }

    /// Reads what stands between brackets, by the rules of Python's regular expressions.
    fn class(&mut self, inner: &[char]) {
        let negated = matches!(inner.first(), Some('!' | '^'));
        let inner = &inner[usize::from(negated)..];
        let mut ranges = Vec::new();
        let mut at = 0;
        while let Some(&low) = inner.get(at) {
            let low = u32::from(low);
            // A `-` at the very end stands for itself.
            if inner.get(at + 1) == Some(&'-')
                && let Some(&high) = inner.get(at + 2)
            {
                self.bad_range |= u32::from(high) < low;
                ranges.push((low, u32::from(high)));
                at += 3;
            } else {
                ranges.push((low, low));
                at += 1;
            }
        }
        self.tokens.push(Token::Class { negated, ranges });
    }
}

/// The index of the `]` that closes a bracket whose content begins at `at`.
fn class_end(chars: &[char], mut at: usize) -> Option<usize> {
    if matches!(chars.get(at), Some('!' | '^')) {
        at += 1;
    }
    // A `]` in first place stands for itself.
    if chars.get(at) == Some(&']') {
        at += 1;
    }
    Some(at + chars.get(at..)?.iter().position(|c| *c == ']')?)
}

#[cfg(test)]
mod tests;
