//! What the journal adds up to: candidates, evaluations, what is used of the budgets, and which results are known.

use std::collections::{BTreeMap, HashMap};

use taskwright_language::serve::ServeConfig;

use crate::api::{Candidate, Charge};
use crate::events::{Charged, End, Entry, Outcome, Purpose};
use crate::problem::{Kind, Problem};

/// An evaluation that the journal knows.
#[derive(Debug, Clone)]
pub struct KnownEvaluation {
    pub charged: Charged,
    pub end: Option<End>,
}

impl KnownEvaluation {
    /// What it cost in the end.
    pub fn cost(&self) -> Charge {
        let refund = self.end.as_ref().map(|end| end.refund).unwrap_or_default();
        Charge {
            runs: self.charged.charge.runs.saturating_sub(refund.runs),
            samples: self.charged.charge.samples.saturating_sub(refund.samples),
        }
    }
}

/// Where a sample's result stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    pub number: u64,
    /// Where its line begins in the evaluation's record.
    pub offset: u64,
}

type Samples = (String, String, Option<Vec<u32>>);

/// What the journal adds up to.
#[derive(Debug, Default)]
pub struct BudgetBook {
    candidates: BTreeMap<String, String>,
    evaluations: Vec<KnownEvaluation>,
    used: BTreeMap<String, Charge>,
    /// Results that need not be made again, by tree and split.
    results: HashMap<String, HashMap<String, HashMap<u32, Location>>>,
    /// The optimizer's last evaluation of each tree on the same samples.
    same: HashMap<Samples, u64>,
    pub submitted: Option<Candidate>,
    /// How often another candidate was submitted.
    pub submissions: u64,
    pub sealed: bool,
    /// The digest of the verdict, if there is one.
    pub verdict: Option<String>,
}

impl BudgetBook {
    /// Adds what the journal says next, or says why it cannot be true.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), String> {
        match entry {
            Entry::Opened { .. } => {}
            Entry::Candidate { commit, tree } => {
                self.candidates.insert(commit.clone(), tree.clone());
            }
            Entry::Charged(charged) => self.charged(charged)?,
            Entry::Ended { number, end } => self.ended(*number, end)?,
            Entry::Submitted { commit, tree } => {
                self.submissions += 1;
                self.submitted = Some(Candidate { commit: commit.clone(), tree: tree.clone() });
            }
            Entry::Sealed => self.sealed = true,
            Entry::Verdict { digest } => self.verdict = Some(digest.clone()),
        }
        Ok(())
    }

    fn charged(&mut self, charged: &Charged) -> Result<(), String> {
        let expected = self.evaluations.len() as u64 + 1;
        if charged.number != expected {
            return Err(format!("evaluation {} follows evaluation {}", charged.number, expected - 1));
        }
        let used = self.used.entry(charged.split.clone()).or_default();
        used.runs = used.runs.saturating_add(charged.charge.runs);
        used.samples = used.samples.saturating_add(charged.charge.samples);
        if charged.purpose == Purpose::Optimizer {
            self.same.insert(key(charged), charged.number);
        }
        self.evaluations.push(KnownEvaluation { charged: charged.clone(), end: None });
        Ok(())
    }

    fn ended(&mut self, number: u64, end: &End) -> Result<(), String> {
        let position = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        let Some(known) = self.evaluations.get_mut(position) else {
            return Err(format!("evaluation {number} ends but never began"));
        };
        if known.end.is_some() {
            return Err(format!("evaluation {number} ends twice"));
        }
        let charge = known.charged.charge;
        if end.refund.runs > charge.runs || end.refund.samples > charge.samples {
            return Err(format!("evaluation {number} gives back more than it took"));
        }
        known.end = Some(end.clone());
        let used = self.used.entry(known.charged.split.clone()).or_default();
        used.runs = used.runs.saturating_sub(end.refund.runs);
        used.samples = used.samples.saturating_sub(end.refund.samples);
        if end.outcome != Outcome::Done {
            let key = key(&known.charged);
            if self.same.get(&key) == Some(&number) {
                self.same.remove(&key);
            }
        }
        Ok(())
    }

    /// Notes where a sample's result stands.
    pub fn remember(&mut self, tree: &str, split: &str, index: u32, location: Location) {
        let results = self.results.entry(tree.to_owned()).or_default();
        results.entry(split.to_owned()).or_default().entry(index).or_insert(location);
    }

    /// Where a sample's result stands, if it is known.
    pub fn result(&self, tree: &str, split: &str, index: u32) -> Option<Location> {
        self.results.get(tree)?.get(split)?.get(&index).copied()
    }

    pub fn next_number(&self) -> u64 {
        self.evaluations.len() as u64 + 1
    }

    pub fn evaluations(&self) -> &[KnownEvaluation] {
        &self.evaluations
    }

    pub fn evaluation(&self, number: u64) -> Option<&KnownEvaluation> {
        self.evaluations.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// The optimizer's evaluation of the same tree on the same samples, unless it failed.
    pub fn same(&self, tree: &str, split: &str, samples: Option<&[u32]>) -> Option<u64> {
        self.same.get(&(tree.to_owned(), split.to_owned(), samples.map(<[u32]>::to_vec))).copied()
    }

    /// The tree of a candidate that was imported.
    pub fn tree(&self, commit: &str) -> Option<&str> {
        self.candidates.get(commit).map(String::as_str)
    }

    pub fn used(&self, split: &str) -> Charge {
        self.used.get(split).copied().unwrap_or_default()
    }

    /// Whether a split's budget allows a charge.
    pub fn afford(&self, config: &ServeConfig, split: &str, charge: Charge) -> Result<(), Problem> {
        let Some(limits) = config.splits.get(split).map(|split| &split.budget) else { return Ok(()) };
        let used = self.used(split);
        let check = |what: &str, limit: Option<u64>, used: u64, wanted: u64| match limit {
            Some(limit) if wanted > 0 && used.saturating_add(wanted) > limit => Err(Problem::new(
                Kind::Budget,
                format!(
                    "the budget of `{split}` does not suffice: this takes {wanted} {what}, and {} of {limit} are left",
                    limit.saturating_sub(used)
                ),
                "`taskwright status` shows what is left; evaluations that were made before cost nothing",
            )),
            _ => Ok(()),
        };
        check("evaluations", limits.runs.at_most(), used.runs, charge.runs)?;
        check("samples", limits.samples.at_most(), used.samples, charge.samples)
    }
}

fn key(charged: &Charged) -> Samples {
    (charged.tree.clone(), charged.split.clone(), charged.samples.clone())
}
