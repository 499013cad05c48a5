//! Compares the matcher with the one Harbor uses, and pins the corners that the comparison is about.

use std::path::Path;

use taskwright_testing::test;

use super::*;
use crate::python;

fn rules(dialect: Dialect, text: &str) -> IgnoreRules {
    IgnoreRules::parse(dialect, text, Path::new("ignore")).unwrap()
}

#[test]
fn the_last_match_counts_in_the_manuals_dialect() {
    let rules = rules(Dialect::Manual, "build/\n!build/keep\n");
    assert!(rules.is_ignored(b"build/x"));
    assert!(!rules.is_ignored(b"build/keep"), "git would not take this back");
    assert!(!rules.is_ignored(b"build"), "a file is no folder");
}

#[test]
fn a_match_of_the_path_counts_more_in_gits_dialect() {
    let rules = rules(Dialect::Git, "*.log\n!logs/\n");
    assert_eq!(rules.decide(b"logs/"), Some(false));
    assert_eq!(rules.decide(b"logs/x.log"), Some(true));
    assert_eq!(rules.decide(b"logs/x.txt"), Some(false));
    assert_eq!(rules.decide(b"other/"), None);
}

#[test]
fn patterns_that_stop_harbor_stop_us() {
    for (dialect, text, line) in [
        (Dialect::Manual, "a\n!\n", 2),
        (Dialect::Git, "a\r\nb\\\n", 2),
        (Dialect::Git, "[z-a]", 1),
        (Dialect::Manual, "a\\/b", 1),
    ] {
        match IgnoreRules::parse(dialect, text, Path::new("x/.gitignore")) {
            Err(DigestError::Pattern { line: found, .. }) => assert_eq!(found, line, "{text:?}"),
            other => panic!("{text:?}: {other:?}"),
        }
    }
    assert_eq!(rules(Dialect::Git, "[z-a][").patterns.len(), 0, "git drops a pattern with an open bracket");
    assert!(rules(Dialect::Manual, "[a").is_ignored(b"[a"));
}

#[test]
fn lines_end_where_python_ends_them() {
    let lines: Vec<_> = split_lines("a\r\nb\rc\n\nd\u{2028}e\u{b}f").collect();
    assert_eq!(lines, ["a", "b", "c", "", "d", "e", "f"]);
}

#[test]
fn long_patterns_are_harmless() {
    let text = format!("{}\n{}", "*a".repeat(100_000), "a**".repeat(2_000));
    let rules = rules(Dialect::Git, &text);
    assert_eq!(rules.decide("a".repeat(3_000).as_bytes()), Some(true));
    assert_eq!(rules.decide("a".repeat(1_999).as_bytes()), None);
}

/// A small generator of arbitrary numbers: the comparison must be the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}

const PIECES: [&str; 32] = [
    "a", "b", "ab", "a", "b", "*", "*", "**", "**/", "/**", "/**/", "?", "/", "/", "!", "[ab]", "[!a]",
    "[^b]", "[]-a]", "[a-b]", "[+-9]", "[b-a]", "[", "]", "\\", "\\*", "\\ ", " ", "#", "\u{e9}", ".pyc",
    "\u{a0}",
];
const NAMES: [&[u8]; 17] = [
    b"a",
    b"b",
    b"ab",
    b"ba",
    b"a",
    b"b",
    b"a\nb",
    b"\n",
    b"b\n",
    b"\xc3\xa9",
    b"\xff",
    b"a.pyc",
    b"]",
    b"[",
    b" ",
    b"#",
    b"\\",
];

#[test]
fn agrees_with_harbors_matcher() {
    const SCRIPT: &str = "
import json, sys, warnings
from pathspec import GitIgnoreSpec, PathSpec
warnings.simplefilter('ignore')
for line in sys.stdin:
    dialect, text, paths = json.loads(line)
    try:
        lines = text.splitlines()
        spec = PathSpec.from_lines('gitignore', lines) if dialect == 'Manual' else GitIgnoreSpec.from_lines(lines)
        found = [spec.check_file(bytes(p).decode('utf-8', 'surrogateescape')).include for p in paths]
    except Exception:
        found = None
    print(json.dumps(found))
";
    let python = python::of_harbor();
    let mut numbers = Numbers(26);
    let mut cases = Vec::new();
    let mut input = String::new();
    for index in 0..8_000 {
        let dialect = [Dialect::Manual, Dialect::Git][index % 2];
        let lines: Vec<String> = (0..=numbers.below(3))
            .map(|_| (0..=numbers.below(6)).map(|_| numbers.pick(&PIECES)).collect::<String>())
            .collect();
        let text = lines.join("\n");
        let paths: Vec<Vec<u8>> = (0..12)
            .map(|_| {
                let parts: Vec<&[u8]> = (0..=numbers.below(4)).map(|_| numbers.pick(&NAMES)).collect();
                let mut path = parts.join(&b'/');
                if numbers.below(3) == 0 {
                    path.push(b'/');
                }
                path
            })
            .collect();
        input.push_str(&serde_json::to_string(&(format!("{dialect:?}"), &text, &paths)).unwrap());
        input.push('\n');
        cases.push((dialect, text, paths));
    }
    let output = python::run(&python, SCRIPT, &input);
    let answers: Vec<Option<Vec<Option<bool>>>> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), cases.len());
    let mut matches = 0;
    for ((dialect, text, paths), expected) in cases.iter().zip(answers) {
        let found = IgnoreRules::parse(*dialect, text, Path::new("ignore"))
            .ok()
            .map(|rules| paths.iter().map(|path| rules.decide(path)).collect::<Vec<_>>());
        let shown: Vec<_> = paths.iter().map(|path| path.escape_ascii().to_string()).collect();
        assert_eq!(found, expected, "{dialect:?} {text:?} {shown:?}");
        matches += found.iter().flatten().filter(|decision| decision.is_some()).count();
    }
    eprintln!("compared {} sets of patterns with harbor's matcher, {matches} matches", cases.len());
}
