//! Versions as programs print them, in all their spellings.

use std::fmt;

/// A version: the first three numbers, and the word they were read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Major, minor, patch; what is not said is 0.
    pub numbers: [u64; 3],
    /// As it was printed, such as `2.40.3-desktop.1`.
    pub text: String,
}

impl Version {
    /// The first word of a text that is a version: it starts with a digit, or with `v` and a digit, and has a dot.
    pub fn find(text: &str) -> Option<Self> {
        text.split(|c: char| c.is_whitespace() || "(),;:".contains(c)).find_map(Self::parse)
    }

    fn parse(word: &str) -> Option<Self> {
        let text = word.strip_prefix('v').unwrap_or(word);
        let mut numbers = [0; 3];
        let mut rest = text;
        for (index, number) in numbers.iter_mut().enumerate() {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            // A word such as `2.x` or `3` is no version, while `2.40` and `2.40.dev` are.
            if digits == 0 {
                if index < 2 {
                    return None;
                }
                break;
            }
            *number = rest[..digits].parse().ok()?;
            match rest[digits..].strip_prefix('.') {
                Some(after) => rest = after,
                None if index == 0 => return None,
                None => break,
            }
        }
        Some(Self { numbers, text: text.chars().take(40).collect() })
    }

    /// Whether it is at least `major.minor`.
    pub fn is_at_least(&self, major: u64, minor: u64) -> bool {
        self.numbers >= [major, minor, 0]
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn as_programs_print_them() {
        for (printed, numbers, text) in [
            ("git version 2.39.2 (Apple Git-143)\n", [2, 39, 2], "2.39.2"),
            ("git version 2.43.0.windows.1", [2, 43, 0], "2.43.0.windows.1"),
            ("git version 2.30", [2, 30, 0], "2.30"),
            ("2.40.3-3\n", [2, 40, 3], "2.40.3-3"),
            ("v2.40.3-desktop.1", [2, 40, 3], "2.40.3-desktop.1"),
            (
                "Docker Compose version v2.26.1+ds1-0ubuntu1~24.04.1",
                [2, 26, 1],
                "2.26.1+ds1-0ubuntu1~24.04.1",
            ),
            ("github.com/docker/buildx v0.29.1 28f6246", [0, 29, 1], "0.29.1"),
            ("github.com/docker/buildx 0.29.1+ds1 0.29.1+ds1-4", [0, 29, 1], "0.29.1+ds1"),
            ("rustc 1.97.0-nightly (59807616e 2026-04-14)", [1, 97, 0], "1.97.0-nightly"),
            ("Python 3.13.0rc1", [3, 13, 0], "3.13.0rc1"),
            ("WARNING: something odd\n5.0.1", [5, 0, 1], "5.0.1"),
            ("uv 0.13.9(x86_64-unknown-linux-gnu)", [0, 13, 9], "0.13.9"),
            ("2.40.dev", [2, 40, 0], "2.40.dev"),
        ] {
            let found = Version::find(printed).unwrap_or_else(|| panic!("{printed}"));
            assert_eq!((found.numbers, found.text.as_str()), (numbers, text), "{printed}");
        }
    }

    #[test]
    fn what_is_no_version() {
        for printed in [
            "",
            "\n",
            "dev",
            "v",
            ".",
            "1",
            "1.",
            "2.x",
            "é1.2",
            "build-7",
            "2026-04-14",
            "99999999999999999999.1",
        ] {
            assert_eq!(Version::find(printed), None, "{printed}");
        }
    }

    #[test]
    fn order() {
        let version = |text: &str| Version::find(text).unwrap();
        assert!(version("2.40").is_at_least(2, 40) && version("3.0").is_at_least(2, 40));
        assert!(!version("2.4.99").is_at_least(2, 40) && !version("1.99").is_at_least(2, 40));
    }
}
