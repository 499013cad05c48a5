//! Looks through a pack as it is uploaded: how many objects it holds and how large each is when it is unpacked.
//!
//! Git checks everything else. This is so that a small upload that unpacks to gigabytes is refused at its first byte
//! too many, with a reason, instead of being worked on until a limit strikes.

use std::io::{self, BufRead, BufReader, Read, Write};

use flate2::bufread::ZlibDecoder;
use taskwright_base::failed_to;

use super::{ImportError, ImportLimits, Refusal};

/// The checksum at the end of a pack.
const TRAILER: u64 = 20;

/// What a pack holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Contents {
    pub objects: u64,
    /// Bytes of all of them, unpacked.
    pub unpacked: u64,
}

/// Copies a pack while looking through it.
pub(super) fn copy(
    from: &mut dyn Read,
    to: &mut dyn Write,
    limits: &ImportLimits,
) -> Result<Contents, ImportError> {
    let mut reader = BufReader::with_capacity(
        64 << 10,
        Copying { from, to, left: limits.pack_bytes, over: false, failed: None },
    );
    let looked = look(&mut reader, limits);
    let copying = reader.get_mut();
    if let Some(error) = copying.failed.take() {
        return Err(failed_to("storing an upload")(error).into());
    }
    if copying.over {
        return Err(too_large("the upload".to_owned(), limits.pack_bytes).into());
    }
    looked.map_err(|stop| match stop {
        Stop::Refused(refusal) => refusal.into(),
        Stop::Read(error) => damaged(&format!("it ends too early or is not a pack: {error}")).into(),
    })
}

fn damaged(reason: &str) -> Refusal {
    Refusal::Damaged { reason: reason.to_owned() }
}

fn too_large(what: String, limit: u64) -> Refusal {
    Refusal::TooLarge { what, limit: bytes(limit) }
}

/// A size in words.
pub(super) fn bytes(count: u64) -> String {
    if count < 1 << 20 { format!("{count} bytes") } else { format!("{} MiB", count >> 20) }
}

enum Stop {
    Refused(Refusal),
    Read(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

fn look(reader: &mut impl BufRead, limits: &ImportLimits) -> Result<Contents, Stop> {
    let mut header = [0; 12];
    reader.read_exact(&mut header)?;
    let [b'P', b'A', b'C', b'K', 0, 0, 0, 2 | 3, count @ ..] = header else {
        return Err(damaged("it does not begin as a pack does").into());
    };
    let objects = u64::from(u32::from_be_bytes(count));
    if objects > limits.objects {
        let what = format!("a pack of {objects} objects");
        return Err(Refusal::TooLarge { what, limit: format!("{} objects", limits.objects) }.into());
    }
    let mut contents = Contents { objects, unpacked: 0 };
    for _ in 0..objects {
        let size = object(reader, limits)?;
        contents.unpacked = contents.unpacked.saturating_add(size);
        if contents.unpacked > limits.unpacked_bytes {
            return Err(too_large(
                format!("{} of objects, history included,", bytes(contents.unpacked)),
                limits.unpacked_bytes,
            )
            .into());
        }
    }
    let rest = io::copy(&mut reader.take(TRAILER + 1), &mut io::sink())?;
    if rest == TRAILER { Ok(contents) } else { Err(damaged("something follows the last object").into()) }
}

/// Reads one object; its size once unpacked.
fn object(reader: &mut impl BufRead, limits: &ImportLimits) -> Result<u64, Stop> {
    let first = byte(reader)?;
    let kind = first >> 4 & 7;
    let mut size = u64::from(first & 15);
    if first & 0x80 != 0 {
        size |= number(reader, 4)?;
    }
    let check = |size: u64| {
        if size > limits.added_bytes.max(1 << 20) {
            Err(too_large(format!("an object of {}", bytes(size)), limits.added_bytes))
        } else {
            Ok(())
        }
    };
    check(size)?;
    match kind {
        1..=4 => {}
        // A difference to an object so many bytes before.
        6 => while byte(reader)? & 0x80 != 0 {},
        // A difference to an object of this name.
        7 => reader.read_exact(&mut [0; 20])?,
        _ => return Err(damaged("it holds an object of an unknown kind").into()),
    }
    let delta = kind >= 6;
    let mut inflated = ZlibDecoder::new(&mut *reader).take(size + 1);
    let mut begin = Vec::new();
    if delta {
        // Two numbers of at most ten bytes: the size of what it differs from, and of what comes out.
        (&mut inflated).take(20).read_to_end(&mut begin)?;
    }
    let count = begin.len() as u64 + io::copy(&mut inflated, &mut io::sink())?;
    if count != size {
        return Err(damaged("an object has another size than it says").into());
    }
    if !delta {
        return Ok(size);
    }
    let mut begin = begin.as_slice();
    number(&mut begin, 0)?;
    let result = number(&mut begin, 0)?;
    check(result)?;
    Ok(result)
}

fn byte(reader: &mut impl Read) -> io::Result<u8> {
    let mut byte = [0];
    reader.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// A number, seven bits a byte, the lowest first, from a bit upwards.
fn number(reader: &mut impl Read, mut shift: u32) -> io::Result<u64> {
    let mut number = 0;
    loop {
        let next = byte(reader)?;
        let bits = u64::from(next & 0x7f);
        if shift > 57 || bits << shift >> shift != bits {
            // Larger than any limit.
            return Ok(u64::MAX);
        }
        number |= bits << shift;
        if next & 0x80 == 0 {
            return Ok(number);
        }
        shift += 7;
    }
}

/// Passes on what it reads, up to a limit.
struct Copying<'a> {
    from: &'a mut dyn Read,
    to: &'a mut dyn Write,
    left: u64,
    over: bool,
    failed: Option<io::Error>,
}

impl Read for Copying<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => {
                self.over = true;
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
        if let Err(error) = self.to.write_all(&buffer[..count]) {
            self.failed = Some(error);
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    const LIMITS: ImportLimits = ImportLimits {
        pack_bytes: 1 << 20,
        objects: 10,
        unpacked_bytes: 8 << 20,
        added_bytes: 4 << 20,
        entries: 10,
        disk_bytes: u64::MAX,
        seconds: 10,
    };

    fn pack(objects: &[(u8, Vec<u8>)]) -> Vec<u8> {
        let mut pack = b"PACK\0\0\0\x02".to_vec();
        pack.extend(u32::try_from(objects.len()).unwrap().to_be_bytes());
        for (kind, bytes) in objects {
            pack.extend(head(*kind, bytes.len() as u64));
            pack.extend(deflate(bytes));
        }
        pack.extend([0; 20]);
        pack
    }

    fn head(kind: u8, mut size: u64) -> Vec<u8> {
        let low = |size: u64, bits: u32| u8::try_from(size & ((1 << bits) - 1)).unwrap();
        let mut head = vec![kind << 4 | low(size, 4)];
        size >>= 4;
        while size > 0 {
            *head.last_mut().unwrap() |= 0x80;
            head.push(low(size, 7));
            size >>= 7;
        }
        head
    }

    fn deflate(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    fn refusal(pack: &[u8]) -> String {
        match copy(&mut &*pack, &mut io::sink(), &LIMITS) {
            Err(ImportError::Refused(refusal)) => refusal.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_pack_is_copied_whole() {
        let good = pack(&[(3, b"hello".to_vec()), (2, vec![7; 300_000]), (3, Vec::new())]);
        let mut copied = Vec::new();
        let contents = copy(&mut good.as_slice(), &mut copied, &LIMITS).unwrap();
        assert_eq!(contents, Contents { objects: 3, unpacked: 300_005 });
        assert_eq!(copied, good);
    }

    #[test]
    fn what_is_too_large_is_refused_before_it_is_unpacked() {
        assert!(refusal(&pack(&[(3, vec![0; 4 << 20 | 1])])).contains("an object of 4 MiB"));
        assert!(refusal(&pack(&vec![(3, vec![0; 3 << 20]); 3])).contains("9 MiB of objects"));
        assert!(refusal(&pack(&vec![(3, Vec::new()); 11])).contains("11 objects"));
        // Five gigabytes by its header alone: nothing behind it is looked at.
        let mut huge = pack(&[])[..12].to_vec();
        huge[11] = 1;
        huge.extend(head(3, 5 << 30));
        assert!(refusal(&huge).contains("an object of 5120 MiB"));
        huge.truncate(12);
        huge.extend([0xbf; 12]);
        assert!(refusal(&huge).contains("an object of"));
        let mut noise: Vec<u8> = Vec::new();
        for i in 0_u32..300_000 {
            noise.extend(i.wrapping_mul(2_654_435_761).to_le_bytes());
        }
        assert!(refusal(&pack(&[(3, noise)])).starts_with("the upload is more than"));
    }

    #[test]
    fn a_difference_counts_with_what_comes_out_of_it() {
        let mut difference = vec![5];
        difference.extend([0x80, 0x80, 0x80, 0x80, 0x10]);
        let mut bomb = pack(&[])[..12].to_vec();
        bomb[11] = 1;
        bomb.extend(head(7, difference.len() as u64));
        bomb.extend([1; 20]);
        bomb.extend(deflate(&difference));
        bomb.extend([0; 20]);
        assert!(refusal(&bomb).contains("an object of 4096 MiB"), "{}", refusal(&bomb));
    }

    #[test]
    fn what_is_no_pack_is_refused() {
        let good = pack(&[(3, b"hello".to_vec())]);
        for length in 0..good.len() {
            assert!(refusal(&good[..length]).contains("not usable"), "{length}");
        }
        assert!(refusal(b"<html>it works</html>").contains("does not begin"));
        assert!(refusal(&[good.clone(), vec![0]].concat()).contains("follows"));
        assert!(refusal(&pack(&[(5, Vec::new())])).contains("unknown kind"));
        let mut lying = good.clone();
        lying[12] += 1;
        assert!(refusal(&lying).contains("another size"));
    }
}
