//! What a trial has one word of: which command made it, how much came of it, what broke, where its files are.

use taskwright_base::words;
/// What broke a trial.
pub use taskwright_harbor::exceptions::FailureClass as Failure;

words! {
    /// Which command made a record.
    #[derive(Default)]
    Source {
        /// `cargo xtask eval`.
        Eval = "eval",
        /// `cargo xtask run`.
        Run = "run",
        /// `cargo xtask import`.
        #[default]
        Import = "import",
    }
}

words! {
    /// How much came of a trial.
    #[derive(Default)]
    Status {
        /// Graded, with a valid reward, and not broken by infrastructure.
        Complete = "complete",
        /// It ran, and has no reward that could be used.
        #[default]
        Partial = "partial",
        /// Planned by the job, and without a result.
        Missing = "missing",
    }
}

words! {
    /// Where a file of evidence is.
    #[derive(Default)]
    Kept {
        /// In the ledger's own store.
        Stored = "stored",
        /// Where it was when it was imported; the ledger has its digest only.
        Referenced = "referenced",
        /// Nowhere: a link, a device, a socket or the like, which is never opened.
        #[default]
        Skipped = "skipped",
    }
}
