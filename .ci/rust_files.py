"""Reads Rust sources for the scripts beside this one: without comments, strings and what is only compiled for tests."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|(?:b|c)?r(#*)".*?"\1|(?:b|c)?"(?:\\.|[^"\\])*"|b?\'(?:\\[^\n]{1,10}?|[^\\\'\n])\'', re.S)
TEST = re.compile(r'#\[cfg\((?:test|all\(test[^\]]*)\)\]\s*(?:#\[[^\]]*\]\s*)*')
TEST_FILE = re.compile(r'#\[cfg\(test\)\]\s*(?:pub(?:\([a-z]+\))?\s+)?mod\s+(\w+)\s*;')


def blanked(text):
    """The same text, line by line and letter by letter, with blanks in the place of comments and strings."""
    return NOISE.sub(lambda found: re.sub(r'[^\n]', ' ', found[0]), text)


def closing(text, at):
    """Where the block ends that is opened at or behind a place."""
    depth = 0
    for at in range(text.index('{', at), len(text)):
        depth += {'{': 1, '}': -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def tests(text):
    """Where the items for tests begin and end, in a text without strings and comments."""
    at = 0
    while found := TEST.search(text, at):
        brace, semicolon = text.find('{', found.end()), text.find(';', found.end())
        is_short = brace < 0 or 0 <= semicolon < brace
        at = semicolon + 1 if is_short else closing(text, found.end())
        yield found.start(), at


def without_tests(text):
    kept, last = '', 0
    for start, end in tests(text):
        kept, last = kept + text[last:start], end
    return kept + text[last:]


def crates():
    """The folders of all packages."""
    return sorted(path.parent for path in [*ROOT.glob('crates/*/Cargo.toml'), ROOT / 'xtask/Cargo.toml'])
