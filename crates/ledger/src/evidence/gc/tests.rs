//! Evidence that is referred to, and evidence that is not.

use std::fs;

use taskwright_testing::test;

use super::*;
use crate::record::Filter;

#[test]
fn packs_that_nothing_mentions_go_and_a_dry_run_only_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(folder.path()).unwrap();
    let orphan = folder.path().join("evidence/1-2-3.pack");
    fs::write(&orphan, "of an import that was killed").unwrap();
    let unfinished = folder.path().join("evidence/1-2-4.part");
    fs::write(&unfinished, "half").unwrap();
    let expected = Collected { contents: 0, packs: 2, bytes: 32 };
    assert_eq!(ledger.gc(true).unwrap(), expected);
    assert!(orphan.exists() && unfinished.exists());
    assert_eq!(ledger.gc(false).unwrap(), expected);
    assert!(!orphan.exists() && !unfinished.exists());
    assert_eq!(ledger.count(&Filter::default()).unwrap(), 0);
}
