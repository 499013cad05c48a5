//! The ledger: what every trial was, what came out of it, and what can be said about it afterwards.
