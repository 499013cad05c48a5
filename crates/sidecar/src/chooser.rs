//! Which samples an evaluation covers: on a split that shows only aggregates, whole blocks that are fixed once for all.
//!
//! Two aggregates can be subtracted. If any set of samples could be evaluated, two sets that differ in one sample would
//! show that sample, and with more sets linear algebra does the same where no two differ in less than the floor. So a
//! split is cut into blocks of at least `min_samples`, once, by the samples' ids alone, and every aggregate is over
//! whole blocks: whatever is computed from such aggregates, of one candidate or of many, is a combination of sums over
//! blocks, and never says anything of a part of one.

use std::collections::{HashMap, HashSet};

use taskwright_base::digest::Hasher;
use taskwright_language::model::Access;
use taskwright_language::serve::ServeSplit;

use crate::api::Choice;
use crate::problem::{Kind, Problem, shown};

/// A split, ready to choose samples from.
#[derive(Debug)]
pub struct Chooser {
    name: String,
    access: Access,
    floor: u64,
    ids: HashMap<String, u32>,
    /// The samples in the order in which a count takes them.
    order: Vec<u32>,
    /// How the order is cut into blocks; a split that shows each sample has blocks of one.
    blocks: Vec<usize>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Their positions in the split, ascending.
    pub samples: Vec<u32>,
    /// How the request was understood, if not to the letter.
    pub note: Option<String>,
}

impl Chooser {
    pub fn new(name: &str, split: &ServeSplit) -> Self {
        let ids: HashMap<String, u32> = split.samples.iter().cloned().zip(0..).collect();
        let digest = |id: &str| {
            let mut hasher = Hasher::new();
            for part in [name.as_bytes(), &[0], id.as_bytes()] {
                hasher.update(part);
            }
            hasher.finish()
        };
        let mut order: Vec<_> =
            split.samples.iter().zip(0..).map(|(id, index)| (digest(id), index)).collect();
        order.sort_unstable();
        let floor = if split.access == Access::NonViewable { split.min_samples.max(1) } else { 1 };
        let count = order.len();
        let blocks = count.checked_div(usize::try_from(floor).unwrap_or(usize::MAX)).unwrap_or_default();
        // As even as they can be: the first ones take what is left over.
        let blocks = (0..blocks).map(|block| count / blocks + usize::from(block < count % blocks)).collect();
        Self {
            name: name.to_owned(),
            access: split.access,
            floor,
            ids,
            order: order.into_iter().map(|(_, index)| index).collect(),
            blocks,
        }
    }

    /// How many samples each block has; none on a split that shows each sample.
    pub fn block_sizes(&self) -> Vec<u64> {
        match self.access {
            Access::NonViewable => self.blocks.iter().map(|size| *size as u64).collect(),
            Access::Viewable | Access::NoAccess => Vec::new(),
        }
    }

    pub fn blocks(&self) -> impl Iterator<Item = &[u32]> {
        let mut rest = self.order.as_slice();
        self.blocks.iter().map(move |size| {
            let (block, others) = rest.split_at((*size).min(rest.len()));
            rest = others;
            block
        })
    }

    /// How many samples may be shown as finished while an evaluation runs.
    pub fn shown_progress(&self, finished: u64) -> u64 {
        finished - finished % self.floor
    }

    /// The samples that a request means, if the task allows that.
    #[expect(clippy::too_many_lines, reason = "one case for each access")]
    pub fn choose(&self, choice: &Choice) -> Result<Chosen, Problem> {
        if self.access == Access::NoAccess {
            return Err(Problem::new(
                Kind::Access,
                format!("the split `{}` is held out: it may not be evaluated", self.name),
                "`taskwright plan` lists the splits that may be evaluated",
            ));
        }
        if self.blocks.is_empty() {
            return Err(Problem::new(
                Kind::Access,
                format!(
                    "the split `{}` has {} samples, fewer than the {} that an evaluation of it takes",
                    self.name,
                    self.order.len(),
                    self.floor
                ),
                "evaluate another split",
            ));
        }
        // Whether there is a sample of a name is known to nobody who is not told the names.
        if self.access == Access::NonViewable && matches!(choice, Choice::Ids(_)) {
            return Err(Problem::new(
                Kind::Access,
                format!("the samples of `{}` have no names here: it shows only the aggregate", self.name),
                format!("ask for a number of samples, at least {}, or for all", self.floor),
            ));
        }
        let asked = match choice {
            Choice::All => return Ok(self.whole_blocks(|_| true, None)),
            Choice::Count(count) => *count,
            Choice::Ids(ids) => self.known(ids)?.len() as u64,
        };
        if asked == 0 {
            return Err(Problem::new(Kind::Usage, "no sample is named", "leave `--samples` out to take all"));
        }
        if asked > self.order.len() as u64 {
            return Err(Problem::new(
                Kind::Usage,
                format!("the split `{}` has only {} samples", self.name, self.order.len()),
                "leave `--samples` out to take all",
            ));
        }
        if asked < self.floor {
            return Err(Problem::new(
                Kind::Access,
                format!(
                    "{asked} samples are too few: an evaluation of `{}` takes at least {}",
                    self.name, self.floor
                ),
                format!("ask for at least {}; whole blocks of samples are taken", self.floor),
            ));
        }
        Ok(match choice {
            Choice::Ids(ids) => {
                let wanted = self.known(ids)?;
                self.whole_blocks(|block| block.iter().any(|sample| wanted.contains(sample)), Some(asked))
            }
            Choice::All | Choice::Count(_) => {
                let mut left = asked;
                self.whole_blocks(
                    |block| {
                        let take = left > 0;
                        left = left.saturating_sub(block.len() as u64);
                        take
                    },
                    Some(asked),
                )
            }
        })
    }

    fn known(&self, ids: &[String]) -> Result<HashSet<u32>, Problem> {
        let mut known = HashSet::new();
        for id in ids {
            let Some(index) = self.ids.get(id) else {
                return Err(Problem::new(
                    Kind::Usage,
                    format!("the split `{}` has no sample `{}`", self.name, shown(id)),
                    "`taskwright plan --json` lists the samples of the splits that show them",
                ));
            };
            if !known.insert(*index) {
                return Err(Problem::new(
                    Kind::Usage,
                    format!("the sample `{}` is named twice", shown(id)),
                    "name each sample once",
                ));
            }
        }
        Ok(known)
    }

    fn whole_blocks(&self, mut take: impl FnMut(&[u32]) -> bool, asked: Option<u64>) -> Chosen {
        let mut samples: Vec<u32> =
            self.blocks().filter(|block| take(block)).flat_map(|block| block.iter().copied()).collect();
        samples.sort_unstable();
        let note = asked.filter(|asked| *asked != samples.len() as u64).map(|asked| {
            format!(
                "{asked} samples were widened to {}: `{}` is evaluated in whole blocks of samples",
                samples.len(),
                self.name
            )
        });
        Chosen { samples, note }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use taskwright_testing::test;

    use super::*;

    fn chooser(count: usize, floor: u64, access: Access) -> Chooser {
        let split = ServeSplit {
            access,
            budget: taskwright_language::model::Budget::default(),
            min_samples: floor,
            expose: false,
            samples: (0..count).map(|i| format!("s{i}")).collect(),
        };
        Chooser::new("validation", &split)
    }

    #[test]
    fn blocks_hold_each_sample_once_and_at_least_the_floor() {
        for (count, floor) in [(360, 100), (7, 3), (5, 5), (1, 1), (9, 2)] {
            let chooser = chooser(count, floor, Access::NonViewable);
            let mut seen = BTreeSet::new();
            for block in chooser.blocks() {
                assert!(block.len() as u64 >= floor);
                seen.extend(block.iter().copied());
            }
            assert_eq!(seen.len(), count);
        }
    }

    #[test]
    fn any_two_evaluations_differ_in_whole_blocks() {
        let chooser = chooser(47, 5, Access::NonViewable);
        let mut sets = Vec::new();
        for count in 5..=47 {
            sets.push(chooser.choose(&Choice::Count(count)).unwrap().samples);
        }
        for a in &sets {
            for b in &sets {
                let difference = a.iter().filter(|sample| !b.contains(sample)).count();
                assert!(difference == 0 || difference >= 5);
            }
        }
    }

    #[test]
    fn fewer_than_the_floor_made_up_and_repeated_samples_are_refused() {
        let hidden = chooser(20, 5, Access::NonViewable);
        let shown = chooser(20, 5, Access::Viewable);
        let kind = |chooser: &Chooser, choice| chooser.choose(&choice).unwrap_err().kind;
        assert_eq!(kind(&hidden, Choice::Count(4)), Kind::Access);
        for chooser in [&hidden, &shown] {
            assert_eq!(kind(chooser, Choice::Count(21)), Kind::Usage);
            assert_eq!(kind(chooser, Choice::Count(0)), Kind::Usage);
        }
        assert_eq!(kind(&shown, Choice::Ids(vec!["made-up".into(); 5])), Kind::Usage);
        assert_eq!(kind(&shown, Choice::Ids(vec!["s1".into(); 5])), Kind::Usage);
    }

    #[test]
    fn no_answer_tells_whether_a_sample_is_in_a_split_that_does_not_show_its_samples() {
        for access in [Access::NonViewable, Access::NoAccess] {
            let chooser = chooser(20, 5, access);
            let answer = |id: &str, count| {
                let ids = (0..count).map(|i| if i == 0 { id.to_owned() } else { format!("s{i}") });
                chooser.choose(&Choice::Ids(ids.collect())).unwrap_err()
            };
            for count in [1, 5, 20, 30] {
                let there = answer("s0", count);
                assert_eq!(there.kind, Kind::Access);
                assert_eq!(there, answer("made-up", count));
            }
        }
    }

    #[test]
    fn a_viewable_split_takes_what_is_named() {
        let chooser = chooser(20, 5, Access::Viewable);
        let chosen = chooser.choose(&Choice::Ids(vec!["s3".into(), "s1".into()])).unwrap();
        assert_eq!(chosen, Chosen { samples: vec![1, 3], note: None });
        assert_eq!(chooser.choose(&Choice::Count(1)).unwrap().samples.len(), 1);
        assert!(chooser.block_sizes().is_empty());
    }

    #[test]
    fn a_held_out_split_is_refused() {
        assert_eq!(chooser(20, 5, Access::NoAccess).choose(&Choice::All).unwrap_err().kind, Kind::Access);
    }
}
