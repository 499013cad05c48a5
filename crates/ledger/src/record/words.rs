//! What a trial has one word of: which command made it, how much came of it, what broke, where its files are.

use serde::{Deserialize, Serialize};

/// Makes an enumeration whose values have one word each, in the database, in JSON and on the command line.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word for it.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => {
                        let words: Vec<&str> = Self::ALL.iter().map(|one| one.word()).collect();
                        Err(format!("`{word}` is none of: {}", words.join(", ")))
                    }
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.word())
            }
        }
    };
}

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
    /// What broke a trial, by the type of its exception and the phase it was raised in; never by searching prose.
    Failure {
        /// What the trial ran on: environment, engine, network, provider of the model, credentials.
        Infrastructure = "infrastructure",
        /// What was tried: the agent, or the code it wrote.
        Candidate = "candidate",
        /// The verifier, or what it wrote.
        Verifier = "verifier",
        /// Its budget of money or tokens was used up.
        Budget = "budget",
        /// The agent's time was used up.
        Timeout = "timeout",
        /// Somebody stopped it.
        Cancelled = "cancelled",
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
