//! Patterns of files, the one dialect of the project: `*`, `?`, `**`, `[a-z]`, `[!a]`, `{a,b}` and `\`.
//!
//! Read and matched here, and not by `globset`, because the static binary of the images needs them: a fresh clone would
//! compile a regular-expression engine for it before its first task stands. Tests compare the two.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

/// How deep alternatives may stand in alternatives: far beyond use, and no risk to the stack.
const DEEPEST: usize = 16;

/// A pattern of paths that have `/` between their names and none at their ends.
///
/// `*` is anything within a name and `?` one character of it, `[a-z]` one of these and `[!a-z]` another, `{a,b}` one of
/// several, `\` takes the meaning from what follows. `**` as a whole name is any number of folders, and at the end
/// everything below; elsewhere it is no more than `*`. Only `**` crosses a `/`.
#[derive(Debug, Clone)]
pub struct Pattern(Vec<Part>);

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// A `[` without a `]`.
    OpenClass,
    /// A range that ends before it begins.
    EmptyRange(char, char),
    /// A class like `[[:alpha:]]`.
    NamedClass,
    /// A `{` without a `}`.
    OpenAlternatives,
    /// A `}` without a `{`.
    ClosedAlternatives,
    /// Alternatives in alternatives, too many times.
    TooDeep,
    /// A `\` at the end.
    LoneEscape,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenClass => write!(formatter, "a `[` without a `]`; `\\[` is the character itself"),
            Self::EmptyRange(from, to) => {
                let (from, to) = (from.escape_debug(), to.escape_debug());
                write!(formatter, "the range `{from}-{to}` ends before it begins")
            }
            Self::NamedClass => write!(formatter, "`[:` names a class; write its characters, as in `[a-z]`"),
            Self::OpenAlternatives => {
                write!(formatter, "a `{{` without a `}}`; `\\{{` is the character itself")
            }
            Self::ClosedAlternatives => {
                write!(formatter, "a `}}` without a `{{`; `\\}}` is the character itself")
            }
            Self::TooDeep => write!(formatter, "alternatives stand in each other more than {DEEPEST} times"),
            Self::LoneEscape => {
                write!(formatter, "a `\\` with nothing behind it; `\\\\` is the character itself")
            }
        }
    }
}

#[derive(Debug, Clone)]
enum Part {
    /// This character.
    Character(char),
    /// Any character but `/`.
    Any,
    /// One of these characters, or one that is none of them, but not `/`.
    Class { negated: bool, ranges: Vec<(char, char)> },
    /// Anything without a `/`.
    Within,
    /// Any number of whole folders.
    Folders,
    /// Everything that is left.
    Rest,
    /// One of these.
    OneOf(Vec<Vec<Part>>),
}

impl Pattern {
    /// Reads a pattern.
    pub fn new(text: &str) -> Result<Self, Problem> {
        let mut parser = Parser { rest: text.chars().peekable(), depth: 0 };
        let parts = parser.sequence(true)?;
        match parser.rest.next() {
            None => Ok(Self(parts)),
            Some(_) => Err(Problem::ClosedAlternatives),
        }
    }

    /// Whether a path is one of those that are meant.
    pub fn matches(&self, path: &str) -> bool {
        follow(&self.0, vec![0], path).contains(&path.len())
    }
}

/// A pattern that matches exactly this path, whatever characters it holds.
pub fn literal(path: &str) -> String {
    let mut pattern = String::with_capacity(path.len());
    for character in path.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// The positions in a path to which parts lead from any of some positions: sorted, each once.
///
/// All positions take each part together, so that every part of a pattern is visited once, however deep it stands in
/// alternatives, and its time is proportional to the path's length. A search that went on from one position at a time would
/// take time exponential in the depth, on paths that an optimizer chooses.
fn follow(parts: &[Part], from: Vec<usize>, path: &str) -> Vec<usize> {
    parts.iter().fold(from, |from, part| part.step(&from, path))
}

/// Sorted, each once. The sort merges what is sorted in pieces.
fn union(positions: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut positions: Vec<usize> = positions.into_iter().collect();
    #[expect(clippy::stable_sort_primitive, reason = "the unstable one does not make use of sorted pieces")]
    positions.sort();
    positions.dedup();
    positions
}

impl Part {
    /// The positions to which this part leads from any of these.
    fn step(&self, from: &[usize], path: &str) -> Vec<usize> {
        let one = |is_meant: &dyn Fn(char) -> bool| {
            let next = |&at: &usize| {
                path[at..].chars().next().filter(|next| is_meant(*next)).map(|next| at + next.len_utf8())
            };
            from.iter().filter_map(next).collect()
        };
        match self {
            Self::Character(wanted) => one(&|next| next == *wanted),
            Self::Any => one(&|next| next != '/'),
            Self::Class { negated, ranges } => {
                let is_listed = |next| ranges.iter().any(|(from, to)| (*from..=*to).contains(&next));
                one(&|next| next != '/' && is_listed(next) != *negated)
            }
            Self::Within => {
                let mut reached: Vec<usize> = Vec::new();
                for &at in from {
                    // From the position before all was reached up to the name's end, this one included.
                    if reached.last().is_none_or(|last| *last < at) {
                        let rest = &path[at..];
                        let end = rest.find('/').unwrap_or(rest.len());
                        reached.extend(rest[..end].char_indices().map(|(index, _)| at + index));
                        reached.push(at + end);
                    }
                }
                reached
            }
            Self::Folders => {
                let Some(&first) = from.first() else { return Vec::new() };
                let behind = path[first..].match_indices('/').map(|(index, _)| first + index + 1);
                union(from.iter().copied().chain(behind))
            }
            Self::Rest => from.first().map(|_| path.len()).into_iter().collect(),
            Self::OneOf(branches) => {
                union(branches.iter().flat_map(|branch| follow(branch, from.to_vec(), path)))
            }
        }
    }
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    depth: usize,
}

impl Parser<'_> {
    /// Reads up to the end, or to the `,` or `}` that ends an alternative. `starts_name` says whether a name begins here.
    fn sequence(&mut self, mut starts_name: bool) -> Result<Vec<Part>, Problem> {
        let mut parts = Vec::new();
        while let Some(next) = self.rest.peek().copied() {
            if next == '}' || (next == ',' && self.depth > 0) {
                break;
            }
            self.rest.next();
            parts.push(match next {
                '?' => Part::Any,
                '*' => self.stars(starts_name),
                '[' => self.class()?,
                '{' => self.alternatives(starts_name)?,
                '\\' => Part::Character(self.rest.next().ok_or(Problem::LoneEscape)?),
                plain => Part::Character(plain),
            });
            starts_name = matches!(parts.last(), Some(Part::Character('/') | Part::Folders));
        }
        Ok(parts)
    }

    /// Reads what follows a first `*`.
    fn stars(&mut self, starts_name: bool) -> Part {
        let mut count = 1;
        while self.rest.next_if_eq(&'*').is_some() {
            count += 1;
        }
        if count != 2 || !starts_name {
            return Part::Within;
        }
        match self.rest.peek() {
            None => Part::Rest,
            Some(',' | '}') if self.depth > 0 => Part::Rest,
            Some('/') => {
                self.rest.next();
                Part::Folders
            }
            Some(_) => Part::Within,
        }
    }

    /// Reads what follows a `[`.
    fn class(&mut self) -> Result<Part, Problem> {
        let negated = self.rest.next_if(|next| matches!(next, '!' | '^')).is_some();
        let mut ranges = Vec::new();
        loop {
            let from = match self.rest.next().ok_or(Problem::OpenClass)? {
                ']' if !ranges.is_empty() => return Ok(Part::Class { negated, ranges }),
                '[' if self.rest.peek() == Some(&':') => return Err(Problem::NamedClass),
                from => from,
            };
            // A `-` is itself where it cannot stand between two characters.
            let mut ahead = self.rest.clone();
            let to = match (ahead.next(), ahead.next()) {
                (Some('-'), Some(to)) if to != ']' => {
                    self.rest = ahead;
                    to
                }
                _ => from,
            };
            if to < from {
                return Err(Problem::EmptyRange(from, to));
            }
            ranges.push((from, to));
        }
    }

    /// Reads what follows a `{`.
    fn alternatives(&mut self, starts_name: bool) -> Result<Part, Problem> {
        if self.depth == DEEPEST {
            return Err(Problem::TooDeep);
        }
        self.depth += 1;
        let mut branches = Vec::new();
        loop {
            branches.push(self.sequence(starts_name)?);
            match self.rest.next() {
                Some(',') => {}
                Some(_) => break,
                None => return Err(Problem::OpenAlternatives),
            }
        }
        self.depth -= 1;
        Ok(Part::OneOf(branches))
    }
}

#[cfg(test)]
mod tests {
    use globset::GlobBuilder;
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        Pattern::new(pattern).unwrap().matches(path)
    }

    #[test]
    fn each_sign_means_what_the_page_says() {
        for (pattern, yes, no) in [
            ("*.jsonl", &["a.jsonl", ".jsonl"][..], &["a/b.jsonl", "a.json"][..]),
            ("tests/**", &["tests/a", "tests/a/b"], &["tests", "a/tests/b"]),
            ("**", &["a", "a/b"], &[]),
            ("**/x", &["x", "a/x", "a/b/x"], &["ax", "x/a"]),
            ("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb"]),
            ("a**b", &["ab", "axb"], &["a/b"]),
            ("data-?.txt", &["data-1.txt", "data-\u{e4}.txt"], &["data-.txt", "data-12.txt"]),
            ("[a-c]x", &["ax", "cx"], &["dx", "x"]),
            ("[!a-c]x", &["dx", "\u{e4}x"], &["ax", "/x", "x"]),
            ("[]-]", &["]", "-"], &["a"]),
            ("src/{a,b*}.py", &["src/a.py", "src/bc.py"], &["src/c.py"]),
            ("{a,{b,c}/**}", &["a", "b/x", "c/x/y"], &["b", "a/x"]),
            ("\\*\\{", &["*{"], &["a{"]),
            ("\u{e4} b/*", &["\u{e4} b/\u{f6}"], &["\u{e4} b/c/d"]),
            ("", &[""], &["a"]),
        ] {
            for path in yes {
                assert!(matches(pattern, path), "`{pattern}` is to match `{path}`");
            }
            for path in no {
                assert!(!matches(pattern, path), "`{pattern}` is not to match `{path}`");
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (pattern, problem) in [
            ("a[", Problem::OpenClass),
            ("[]", Problem::OpenClass),
            ("[b-a]", Problem::EmptyRange('b', 'a')),
            ("[[:alpha:]]", Problem::NamedClass),
            ("{a", Problem::OpenAlternatives),
            ("a}", Problem::ClosedAlternatives),
            ("{a}}", Problem::ClosedAlternatives),
            ("a\\", Problem::LoneEscape),
            (&"{".repeat(100_000), Problem::TooDeep),
        ] {
            assert_eq!(Pattern::new(pattern).unwrap_err(), problem, "{pattern:.20}");
        }
    }

    #[test]
    fn no_pattern_takes_long() {
        assert!(!matches(&"{*,**}*a".repeat(200), &"a/".repeat(200)));
        // A search that starts anew at each position would take a length of a thousand to the power of the depth.
        let nested = (0..DEEPEST).fold("b".to_owned(), |inner, _| format!("{{*{inner}}}"));
        assert!(!matches(&nested, &"a".repeat(1000)));
        assert!(matches(&nested, &("a".repeat(1000) + "b")));
    }

    /// The way a well-known library reads the same signs.
    fn theirs(pattern: &str) -> Option<globset::GlobMatcher> {
        let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build().ok()?;
        Some(glob.compile_matcher())
    }

    proptest! {
        #[test]
        fn a_literal_is_exactly_its_path(path in any::<String>(), signs in "[]\\[*?{},!^\\\\/a-]{0,12}", other in any::<String>()) {
            for path in [path, signs] {
                let pattern = Pattern::new(&literal(&path)).unwrap();
                prop_assert!(pattern.matches(&path), "{}", path);
                for different in [format!("{path}a"), format!("a{path}"), path.replace(['*', '?', '!', '[', ']'], "a"), other.clone()] {
                    prop_assert_eq!(pattern.matches(&different), path == different, "{} and {}", path, different);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn it_agrees_with_globset(
            names in proptest::collection::vec(
                proptest::collection::vec(
                    prop_oneof![
                        "[ab.]", Just("*".to_owned()), Just("?".to_owned()), Just("\\*".to_owned()),
                        "\\[[!^]?[ab-]{1,3}\\]", "\\{[ab?]?[ab*](,[ab*]?[ab?]){0,2}\\}", Just("**".to_owned()),
                    ],
                    1..4,
                ),
                1..4,
            ),
            paths in proptest::collection::vec("[ab.*]{1,3}(/[ab.-]{1,2}){0,3}", 8),
        ) {
            let pattern = names.iter().map(|name| name.concat()).collect::<Vec<_>>().join("/");
            match (Pattern::new(&pattern), theirs(&pattern)) {
                (Ok(ours), Some(theirs)) => {
                    for path in paths {
                        prop_assert_eq!(ours.matches(&path), theirs.is_match(&path), "`{}` and `{}`", pattern, path);
                    }
                }
                (ours, theirs) => prop_assert_eq!(ours.is_ok(), theirs.is_some(), "`{}`", pattern),
            }
        }
    }
}
