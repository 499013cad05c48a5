//! A part of the tasks, for a fleet: every machine takes its own, and none has to ask another.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// One of `of` equal parts of the tasks: the machine that is the `part`-th takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    part: usize,
    of: usize,
}

impl Shard {
    /// The tasks of this part. What is dealt out are the names in their order, one a part in turn, so that tasks of one matrix,
    /// which cost the same, do not all fall to one machine; nothing but the names decides.
    pub fn of<'a>(self, names: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
        names.iter().copied().skip(self.part - 1).step_by(self.of).collect()
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a part such as `1/3`, `2/3` or `3/3`");
        let number = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<usize>().ok()).flatten()
        };
        let (part, of) = text.split_once('/').ok_or_else(wrong)?;
        match (number(part), number(of)) {
            (Some(part @ 1..), Some(of)) if part <= of => Ok(Self { part, of }),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}/{}", self.part, self.of)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_part_is_one_of_those_there_are() {
        for right in ["1/1", "1/3", "3/3", "2/1000"] {
            assert_eq!(right.parse::<Shard>().unwrap().to_string(), right);
        }
        for wrong in [
            "",
            "/",
            "x",
            "1",
            "0/3",
            "4/3",
            "0/0",
            "1/0",
            "-1/3",
            "+1/3",
            "1/3/3",
            " 1/3",
            "1/99999999999999999999",
        ] {
            let said = wrong.parse::<Shard>().unwrap_err();
            assert!(said.starts_with(&format!("`{wrong}` is not a part")), "{said}");
        }
    }

    proptest! {
        #[test]
        fn every_name_is_in_one_part_and_the_parts_are_equal(
            names in proptest::collection::btree_set("[a-c]{1,3}", 0..20), of in 1_usize..6,
        ) {
            let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
            let parts: Vec<_> = (1..=of).map(|part| Shard { part, of }.of(&names)).collect();
            prop_assert_eq!(parts.iter().map(BTreeSet::len).sum::<usize>(), names.len());
            prop_assert_eq!(parts.iter().flatten().copied().collect::<BTreeSet<_>>(), names);
            let sizes = parts.iter().map(BTreeSet::len);
            prop_assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
        }
    }
}
