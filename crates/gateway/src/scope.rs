//! Who asks: the optimizer, candidates while it works, and the candidate that is scored in the end.

use taskwright_base::words;

words! {
    /// Whose token it is. Each has its own allow-list and its own budget.
    Scope {
        /// The optimizer.
        Producer = "producer",
        /// Candidates while the optimizer works.
        Evaluation = "evaluation",
        /// Candidates while the final one is scored.
        Finalization = "finalization",
    }
}

words! {
    /// Where one listens. What belongs to one is unknown at the other.
    Door {
        /// For the optimizer.
        Producer = "producer",
        /// For candidates, while the optimizer works and at the end.
        Evaluation = "evaluation",
    }
}

impl Scope {
    /// Where its tokens are known.
    pub fn door(self) -> Door {
        match self {
            Self::Producer => Door::Producer,
            Self::Evaluation | Self::Finalization => Door::Evaluation,
        }
    }
}
