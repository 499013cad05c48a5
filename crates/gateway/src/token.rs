//! Tokens: what a client shows. Made of random bytes, handed over once, and kept as a digest only.

use std::fmt;
use std::hint::black_box;

use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};
use taskwright_base::digest::hex;
use taskwright_base::{Digest, Error, Result, failed_to};

/// What a client shows. It is not printed by accident: [`Token::show`] gives it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(String);

/// The number under which a token stands in the journal and the log. It is no secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenId(pub u64);

impl Token {
    /// A new one: 32 random bytes.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn new() -> Result<Self> {
        let mut bytes = [0_u8; 32];
        let mut filled = 0;
        while filled < bytes.len() {
            match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
                Ok(0) => return Err(Error::new("the system gave no random bytes")),
                Ok(count) => filled += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed_to("asking for random bytes")(error.into())),
            }
        }
        Ok(Self(hex(&bytes)))
    }

    /// What a client showed.
    pub fn shown(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text that a client must show.
    pub fn show(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    pub fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token")
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "token {}", self.0)
    }
}

/// Whether two digests are the same, in a time that does not depend on where they differ.
pub fn same(one: &Digest, other: &Digest) -> bool {
    let differs = one.bytes().iter().zip(other.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b));
    black_box(differs) == 0
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn tokens_are_long_and_different_and_not_printed() {
        let (one, other) = (Token::new().unwrap(), Token::new().unwrap());
        assert_eq!(one.show().len(), 64);
        assert_ne!(one, other);
        assert_eq!(format!("{one:?}"), "Token");
        assert!(same(&one.digest(), &Token::shown(one.show()).digest()));
        assert!(!same(&one.digest(), &other.digest()));
    }
}
