//! SHA-256 digests: of bytes, of files that are streamed, and as text.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// How much is read from a file at once. Large enough that hashing, not system calls, takes the time.
const BUFFER: usize = 128 * 1024;

/// A SHA-256 digest. Its text is `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of all that a reader gives, and how many bytes that was.
    pub fn of_reader(reader: &mut impl Read) -> io::Result<(Self, u64)> {
        Self::copy(reader, &mut io::sink())
    }

    /// The digest of a file, which is streamed.
    pub fn of_file(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::of_reader(&mut File::open(path)?).map(|(digest, _)| digest)
    }

    /// A digest from its 32 bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Copies a reader to a writer and returns the digest of what was copied, and how many bytes that was.
    pub fn copy(reader: &mut impl Read, writer: &mut impl Write) -> io::Result<(Self, u64)> {
        let mut hasher = Hasher::new();
        let mut buffer = vec![0; BUFFER];
        let mut total = 0;
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok((hasher.finish(), total)),
                Ok(count) => {
                    let part = &buffer[..count];
                    hasher.update(part);
                    writer.write_all(part)?;
                    total += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The 64 hexadecimal digits alone.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// The first twelve hexadecimal digits: enough to tell two digests apart in a message.
    pub fn short(&self) -> String {
        self.hex()[..12].to_owned()
    }

    /// The 32 bytes.
    pub fn bytes(&self) -> [u8; 32] {
        self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Digest {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let hex = text.strip_prefix("sha256:").unwrap_or(text).as_bytes();
        if hex.len() != 64 {
            return Err(());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

/// The value of a hexadecimal digit, and of nothing else: number parsers also take signs.
fn nibble(digit: u8) -> Result<u8, ()> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok()).ok_or(())
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for nibble in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(nibble)]));
        }
    }
    text
}

/// Text where people may read it, 32 bytes elsewhere.
impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return <[u8; 32]>::deserialize(deserializer).map(Self);
        }
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(|()| D::Error::custom("a digest is `sha256:` and 64 hexadecimal digits"))
    }
}

/// A digest that is computed piece by piece.
pub struct Hasher(Sha256);

impl Hasher {
    /// The digest of nothing yet.
    pub fn new() -> Self {
        Self(Sha256::new())
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds a field: its length first, so that no two lists of fields run into the same bytes.
    pub fn field(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// The digest of all that was added.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let digest = Digest::of(b"abc");
        assert_eq!(
            digest.to_string(),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(digest.to_string().parse(), Ok(digest));
        let signed = format!("sha256:{}", "+f".repeat(32));
        for wrong in ["sha256:zz", &signed, "", &"0".repeat(65)] {
            assert_eq!(wrong.parse::<Digest>(), Err(()), "{wrong}");
        }
        assert!("F".repeat(64).parse::<Digest>().is_ok());
    }

    #[test]
    fn fields_do_not_run_together() {
        let of = |fields: &[&str]| {
            let mut hasher = Hasher::new();
            fields.iter().for_each(|field| hasher.field(field.as_bytes()));
            hasher.finish()
        };
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["ab"]), of(&["ab", ""]));
    }

    #[test]
    fn copying_hashes_what_it_copies() {
        let data = vec![7_u8; 300_000];
        let mut copy = Vec::new();
        let (digest, size) = Digest::copy(&mut data.as_slice(), &mut copy).unwrap();
        assert_eq!((digest, size), (Digest::of(&data), 300_000));
        assert_eq!(copy, data);
    }
}
