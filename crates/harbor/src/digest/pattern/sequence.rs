//! Matches a path against a pattern's tokens, as Python's regular expressions would.

use super::{End, LINE_FEED, SLASH, Token};

/// Matches as a backtracking regular expression does that takes the longest choice first, but in bounded time.
///
/// Returns whether the match that counts ended at a folder above the path.
pub(super) fn matches(tokens: &[Token], end: End, path: &[u32]) -> Option<bool> {
    let is_optional =
        |token: &&Token| matches!(token, Token::Any | Token::LeadingFolders | Token::InnerFolders);
    // Without this a long pattern would cost its length times the path's; with it, the path's squared at most.
    if tokens.len() - tokens.iter().filter(is_optional).count() > path.len() {
        return None;
    }
    // rows[t][p]: the tokens from t on, and the end, can match the path from p on.
    let mut rows = vec![(0..=path.len()).map(|p| end_matches(end, path, p)).collect::<Vec<_>>()];
    for token in tokens.iter().rev() {
        let next = &rows[rows.len() - 1];
        let row = row_before(token, next, path);
        rows.push(row);
    }
    rows.reverse();
    if !rows[0][0] {
        return None;
    }
    let mut at = 0;
    for (token, next) in tokens.iter().zip(&rows[1..]) {
        at = longest(token, next, path, at);
    }
    let slash = path.get(at) == Some(&SLASH);
    Some(match end {
        End::Below { as_folder } => as_folder,
        End::BelowOrHere => slash,
        End::Here => false,
    })
}

/// Whether position `p` is the path's end; a last line feed stands behind it, as for `$`.
fn is_end(path: &[u32], p: usize) -> bool {
    p == path.len() || path[p..] == [LINE_FEED]
}

fn end_matches(end: End, path: &[u32], p: usize) -> bool {
    let slash = path.get(p) == Some(&SLASH);
    match end {
        End::Below { .. } => slash,
        End::BelowOrHere => slash || is_end(path, p),
        End::Here => is_end(path, p) || (slash && is_end(path, p + 1)),
    }
}

fn takes(token: &Token, c: u32) -> bool {
    match token {
        Token::Is(wanted) => c == *wanted,
        Token::Class { negated, ranges } => {
            ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *negated
        }
        _ => c != SLASH,
    }
}

/// Where the token and all after it can match, given where all after it can.
fn row_before(token: &Token, next: &[bool], path: &[u32]) -> Vec<bool> {
    let length = path.len();
    let mut row = vec![false; length + 1];
    match token {
        Token::Is(_) | Token::One | Token::Class { .. } => {
            for p in 0..length {
                row[p] = takes(token, path[p]) && next[p + 1];
            }
        }
        Token::Any | Token::Some => {
            let mut any = next[length];
            row[length] = any && *token == Token::Any;
            for p in (0..length).rev() {
                let after_one = path[p] != SLASH && any;
                any = next[p] || after_one;
                row[p] = if *token == Token::Any { any } else { after_one };
            }
        }
        // Only ever the first token, so only the path's beginning matters.
        Token::LeadingFolders => row[0] = next[0] || folders_after(path, 0).any(|p| next[p]),
        Token::InnerFolders => {
            // Whether something can follow one or more characters of a line, from here on.
            let mut run = false;
            row[length] = next[length];
            for p in (0..length).rev() {
                row[p] = next[p] || (path[p] == SLASH && run);
                run = path[p] != LINE_FEED && (next[p + 1] || run);
            }
        }
    }
    row
}

/// Positions behind the slashes that end one or more whole folders without a line break, beginning at `from`.
fn folders_after(path: &[u32], from: usize) -> impl DoubleEndedIterator<Item = usize> + '_ {
    let line = path[from..].iter().position(|c| *c == LINE_FEED).map_or(path.len(), |length| from + length);
    (from + 1..line).filter(|p| path[*p] == SLASH).map(|p| p + 1)
}

/// The furthest position that the token can reach from `at` and from which the rest matches.
fn longest(token: &Token, next: &[bool], path: &[u32], at: usize) -> usize {
    match token {
        Token::Is(_) | Token::One | Token::Class { .. } => at + 1,
        Token::Any | Token::Some => {
            let end = path[at..].iter().position(|c| *c == SLASH).map_or(path.len(), |length| at + length);
            (at..=end).rev().find(|p| next[*p]).unwrap_or(at)
        }
        Token::LeadingFolders => folders_after(path, at).rev().find(|p| next[*p]).unwrap_or(at),
        Token::InnerFolders if path.get(at) == Some(&SLASH) => {
            let line =
                path[at..].iter().position(|c| *c == LINE_FEED).map_or(path.len(), |length| at + length);
            (at + 2..=line).rev().find(|p| next[*p]).unwrap_or(at)
        }
        Token::InnerFolders => at,
    }
}
