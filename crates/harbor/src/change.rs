//! What a task's new version means to its earlier trials: `harbor run --diff` reads nothing but the two versions.

use semver::{BuildMetadata, Prerelease, Version};
use taskwright_base::{Error, Result};

taskwright_base::words! {
    /// How much a new version changes, as semantic versions say it and as Harbor takes it.
    Level {
        /// Earlier results hold.
        Patch = "patch",
        /// What earlier trials left is graded again.
        Minor = "minor",
        /// Trials run again.
        Major = "major",
    }
}

impl Level {
    /// What Harbor does with earlier trials.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Patch => "earlier results are reused",
            Self::Minor => "earlier trials are graded again",
            Self::Major => "trials run again",
        }
    }

    /// The level of a move from one version to another, as Harbor takes it; none where the version has not moved. The
    /// direction makes no difference to Harbor, and a move of nothing but what follows `-` or `+` is one that runs again.
    ///
    /// # Errors
    /// One of the two is no semantic version, which Harbor refuses to compare.
    pub fn between(old: &str, new: &str) -> Result<Option<Self>> {
        let (before, after) = (version(old)?, version(new)?);
        Ok(if old == new {
            None
        } else if before.major != after.major {
            Some(Self::Major)
        } else if before.minor != after.minor {
            Some(Self::Minor)
        } else if before.patch != after.patch {
            Some(Self::Patch)
        } else {
            Some(Self::Major)
        })
    }

    /// The next version of this level.
    ///
    /// # Errors
    /// What stands there is no semantic version, or the number is at its end.
    pub fn next(self, old: &str) -> Result<String> {
        let old = version(old)?;
        let raised = |number: u64| {
            number.checked_add(1).ok_or_else(|| Error::new(format!("`{old}` has no next {self} version")))
        };
        let (major, minor, patch) = match self {
            Self::Major => (raised(old.major)?, 0, 0),
            Self::Minor => (old.major, raised(old.minor)?, 0),
            Self::Patch => (old.major, old.minor, raised(old.patch)?),
        };
        Ok(Version { major, minor, patch, pre: Prerelease::EMPTY, build: BuildMetadata::EMPTY }.to_string())
    }
}

/// Whether a version goes before another.
///
/// # Errors
/// One of the two is no semantic version.
pub fn is_older(one: &str, other: &str) -> Result<bool> {
    Ok(version(one)? < version(other)?)
}

fn version(text: &str) -> Result<Version> {
    Version::parse(text).map_err(|error| {
        Error::new(format!("`{text}` is no semantic version: {error}"))
            .hint("write three numbers, such as \"1.0.0\": Harbor compares no others")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python;
    use taskwright_testing::test;

    const PAIRS: [(&str, &str); 9] = [
        ("1.0.0", "1.0.0"),
        ("1.0.0", "1.0.1"),
        ("1.0.9", "1.1.0"),
        ("1.9.9", "2.0.0"),
        ("2.0.0", "1.0.0"),
        ("1.0.0-rc.1", "1.0.0"),
        ("1.0.0+a", "1.0.0+b"),
        ("1.0.0-rc.1", "1.0.1"),
        ("0.1.0", "0.2.0"),
    ];

    #[test]
    fn a_move_means_what_harbor_takes_it_for() {
        let harbor = python::of_harbor();
        let script = "import json, sys\nfrom harbor.job_diff import _version_action\n\
                      for old, new in json.load(sys.stdin): print(_version_action(old, new).value)";
        let said = python::run(&harbor, script, &serde_json::to_string(&PAIRS).unwrap());
        let ours = PAIRS.map(|(old, new)| match Level::between(old, new).unwrap() {
            None | Some(Level::Patch) => "reuse",
            Some(Level::Minor) => "regrade",
            Some(Level::Major) => "rerun",
        });
        assert_eq!(said.lines().collect::<Vec<_>>(), ours);
    }

    #[test]
    fn the_next_version_moves_by_its_level() {
        let next = Level::ALL.iter().map(|level| level.next("1.2.3-rc.1").unwrap()).collect::<Vec<_>>();
        assert_eq!(next, ["1.2.4", "1.3.0", "2.0.0"]);
        for level in Level::ALL {
            assert_eq!(Level::between("1.2.3", &level.next("1.2.3").unwrap()).unwrap(), Some(*level));
        }
        assert!(Level::Major.next(&format!("{}.0.0", u64::MAX)).is_err());
        assert!(Level::between("1.0", "1.0.0").unwrap_err().hint_text().unwrap().contains("three numbers"));
    }

    #[test]
    fn older_is_what_goes_before() {
        assert!(is_older("1.9.0", "1.10.0").unwrap() && is_older("1.0.0-rc.1", "1.0.0").unwrap());
        assert!(!is_older("1.0.0", "1.0.0").unwrap());
    }
}
