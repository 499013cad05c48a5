//! Experiments: a manifest says which agents try which tasks; it becomes one job of Harbor, whose trials the ledger keeps.
