//! Whose word counts, and this machine's own key: statements about steps are signed with Ed25519.

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use taskwright_language::workspace::KEY_KIND;

use crate::KEY;

/// What is signed begins with this, so that no signature of anything else is one of a statement.
const ABOUT: &[u8] = b"taskwright statement 1\n";
/// How many bytes a signature has.
const SIGNATURE: usize = 64;

/// The keys that a machine knows.
pub struct Keys {
    trusted: Vec<[u8; 32]>,
    own: Option<Ed25519KeyPair>,
    /// What is wrong with them.
    pub complaint: Option<String>,
}

impl Keys {
    /// Those that are trusted, as `taskwright.toml` has them, and the secret half of this machine's own, if it has one.
    pub fn new(trusted: &[String], secret: Option<&str>) -> Self {
        let trusted: Vec<[u8; 32]> =
            trusted.iter().filter_map(|key| bytes(key.strip_prefix(KEY_KIND)?)).collect();
        let own = secret.map(|secret| {
            let seed: Option<[u8; 32]> = bytes(secret.trim());
            seed.and_then(|seed| Ed25519KeyPair::from_seed_unchecked(&seed).ok())
        });
        let (own, complaint) = match own {
            Some(None) => (
                None,
                Some(format!(
                    "`{KEY}` is not 64 hexadecimal digits, as `openssl rand -hex 32` prints them: nothing is left in the store"
                )),
            ),
            Some(Some(own)) if !trusted.iter().any(|key| key == own.public_key().as_ref()) => {
                let shown = format!("{KEY_KIND}{}", hex(own.public_key().as_ref()));
                (
                    None,
                    Some(format!(
                        "nobody trusts this machine's key, so it leaves nothing in the store: add `{shown}` to `trust` of `[fleet]` in taskwright.toml"
                    )),
                )
            }
            None if trusted.is_empty() => (
                None,
                Some(format!(
                    "nobody is trusted, so nothing is taken from the store: give a machine a key in `{KEY}` (`openssl rand -hex 32` makes one), and it says what to write into `trust`"
                )),
            ),
            own => (own.flatten(), None),
        };
        Self { trusted, own, complaint }
    }

    /// Whether anybody's word counts.
    pub fn trusts_anybody(&self) -> bool {
        !self.trusted.is_empty()
    }

    /// Whether this machine may say anything.
    pub fn can_sign(&self) -> bool {
        self.own.is_some()
    }

    /// A statement with its signature before it.
    pub fn sign(&self, statement: &[u8]) -> Option<Vec<u8>> {
        let signature = self.own.as_ref()?.sign(&[ABOUT, statement].concat());
        Some([signature.as_ref(), statement].concat())
    }

    /// The statement, if somebody signed it who is trusted.
    pub fn believed<'a>(&self, signed: &'a [u8]) -> Option<&'a [u8]> {
        let (signature, statement) = signed.split_at_checked(SIGNATURE)?;
        let message = [ABOUT, statement].concat();
        let is_of =
            |key: &[u8; 32]| UnparsedPublicKey::new(&ED25519, key).verify(&message, signature).is_ok();
        self.trusted.iter().any(is_of).then_some(statement)
    }
}

fn bytes(hex: &str) -> Option<[u8; 32]> {
    // A digest's text is the same 64 digits.
    Some(hex.parse::<taskwright_base::Digest>().ok()?.bytes())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    /// A key pair of RFC 8032, 7.1.
    const SECRET: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    const PUBLIC: &str = "ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

    fn keys(secret: Option<&str>) -> Keys {
        Keys::new(&[PUBLIC.to_owned()], secret)
    }

    #[test]
    fn only_what_a_trusted_key_has_signed_is_believed() {
        let signed = keys(Some(SECRET)).sign(b"so it is").unwrap();
        assert_eq!(keys(None).believed(&signed), Some(&b"so it is"[..]));
        for at in [0, 63, 64, signed.len() - 1] {
            let mut other = signed.clone();
            other[at] ^= 1;
            assert_eq!(keys(None).believed(&other), None, "{at}");
        }
        for end in [0, 10, 64, signed.len() - 1] {
            assert_eq!(keys(None).believed(&signed[..end]), None, "{end}");
        }
        assert_eq!(Keys::new(&[], None).believed(&signed), None);
        let stranger = Keys::new(&[format!("{KEY_KIND}{}", "1".repeat(64))], None);
        assert_eq!(stranger.believed(&signed), None);
    }

    #[test]
    fn a_key_that_is_of_no_use_is_a_complaint_that_does_not_show_it() {
        let unknown = Keys::new(&[], Some(SECRET));
        assert!(unknown.complaint.as_ref().unwrap().contains(PUBLIC), "{:?}", unknown.complaint);
        assert!(!unknown.can_sign());
        for wrong in ["", "secret-that-nobody-sees", &SECRET[1..]] {
            let complaint = keys(Some(wrong)).complaint.unwrap();
            assert!(complaint.contains("64 hexadecimal digits"), "{complaint}");
            assert!(wrong.is_empty() || !complaint.contains(wrong), "{complaint}");
        }
        assert_eq!(keys(None).complaint, None);
        assert_eq!(keys(Some(SECRET)).complaint, None);
        assert!(Keys::new(&[], None).complaint.is_some());
    }
}
