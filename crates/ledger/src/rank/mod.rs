//! What the numbers of trials come to: statistics, and agents ranked and compared by them.

pub mod compare;
pub mod leaderboard;
pub mod patterns;
pub mod references;
pub mod statistics;
