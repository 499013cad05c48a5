//! A log that a process writes by itself and that never grows large.
//!
//! The process has the file, not a pipe to us: what it prints while it ends after us is not lost, and it cannot be
//! stopped by us being slow. So that it cannot fill the disk either, the middle is given back to the file system now and
//! then: a hole, which moves nothing that the process writes at the same time. Once nobody writes any more, a line that
//! says how much is missing takes the place of the hole.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};
use taskwright_base::text::settled;

/// How much is held at most between two looks, beside what is printed in between.
const LIMIT: u64 = 8 << 20;
/// How much of the beginning stays.
const HEAD: u64 = 64 << 10;
/// How much of the end stays.
const TAIL: u64 = 1 << 20;

/// The log of a process.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
    /// Where the hole ends that begins after the head.
    hole: u64,
}

impl Log {
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        file.set_len(0)?;
        Ok(Self { file, hole: HEAD })
    }

    /// The file as a process gets it: always written at its end, wherever that is by now.
    pub fn output(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Gives the middle back to the file system if much has been printed since the last time. Where the file system
    /// knows no holes the log keeps its size until the end.
    pub fn relieve(&mut self) -> io::Result<()> {
        let size = self.file.metadata()?.len();
        if size <= self.hole + LIMIT {
            return Ok(());
        }
        let end = size - TAIL;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.file, flags, self.hole, end - self.hole) {
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => self.hole = end,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Leaves out the middle of a large log and says so in its place. Only for when nobody writes any more.
    pub fn close(&mut self) -> io::Result<()> {
        let size = self.file.metadata()?.len();
        if size <= LIMIT {
            return Ok(());
        }
        let mut text = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        (&self.file).take(HEAD).read_to_end(&mut text)?;
        let left_out = size - HEAD - TAIL;
        text.extend_from_slice(format!("\n[{left_out} bytes are left out here]\n").as_bytes());
        self.file.seek(SeekFrom::Start(size - TAIL))?;
        (&self.file).take(TAIL).read_to_end(&mut text)?;
        self.file.set_len(0)?;
        self.file.write_all(&text)
    }
}

/// The last lines of a log, at most so many bytes, without what is only for terminals. Empty if there is no log.
pub fn tail(log: &Path, most: usize) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let from = file.metadata()?.len().saturating_sub(most as u64);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(most as u64).read_to_end(&mut bytes)?;
        if from > 0 {
            // Not from the middle of a line, if there are lines.
            let line = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            bytes.drain(..line);
        }
        Ok(bytes)
    };
    settled(&String::from_utf8_lossy(&read().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use taskwright_testing::test;

    use super::*;

    /// What the file takes on the disk, in bytes.
    fn held(path: &Path) -> u64 {
        std::fs::metadata(path).unwrap().blocks() * 512
    }

    #[test]
    fn the_middle_is_given_back_and_left_out_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = Log::create(&path).unwrap();
        let mut process = log.output().unwrap();
        process.write_all(b"begin\n").unwrap();
        for _ in 0..3 {
            process.write_all(&vec![b'x'; 9 << 20]).unwrap();
            process.write_all(b"\nend\n").unwrap();
            log.relieve().unwrap();
            process.write_all(b"after\n").unwrap();
            assert!(held(&path) < 2 << 20, "{}", held(&path));
            assert_eq!(tail(&path, 11), "end\nafter");
        }
        log.close().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.len() < 2 << 20, "{}", text.len());
        assert!(text.starts_with("begin\nxxx") && text.ends_with("xxx\nend\nafter\n"));
        assert!(text.contains(" bytes are left out here]") && !text.contains('\0'));
        log.close().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn a_short_log_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = Log::create(&path).unwrap();
        log.output().unwrap().write_all(b"one\ntwo\n").unwrap();
        log.relieve().unwrap();
        log.close().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\ntwo\n");
    }

    #[test]
    fn a_log_that_is_not_there_has_no_tail() {
        assert_eq!(tail(Path::new("/nonexistent"), 10), "");
    }
}
