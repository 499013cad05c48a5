//! Unpacks an upload: git does it in the sandbox, we store what comes out.
//!
//! The programs that read what a stranger packed (deltas, compressed streams, indexes) run as a user of their own under
//! limits, like a candidate. They print plain objects; we check each one's name and write it with our own code. So git
//! as ourselves never reads a byte that we did not write.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha1::{Digest, Sha1};
use taskwright_base::digest::hex;
use taskwright_base::write::on_disk;
use taskwright_base::{Error, Result, failed, failed_to, git};

use super::pack::{self, Contents};
use super::{ImportError, ImportLimits, Refusal};
use crate::sandbox::order::{Network, Report, RunLimits};
use crate::sandbox::running::{Start, Stream};
use crate::sandbox::{Sandbox, make_folder};

/// Unpacks standard input and prints every object in it.
///
/// What the upload shares with the baseline is not in it, so git must not miss the files that steer git itself. A git
/// that cannot be told so (before 2.44) checks less; what matters to us is checked by ourselves in any case.
const UNPACK: &str = "\
set -eu
git init --quiet --bare --template= --object-format=sha1 \"$TMPDIR/unpacked\"
export GIT_DIR=\"$TMPDIR/unpacked\"
check=--fsck-objects=gitattributesMissing=ignore,gitmodulesMissing=ignore
damaged() {
    case $1 in 1 | 128) exit 65 ;; *) exit $1 ;; esac
}
code=0
git index-pack --stdin $check </dev/null >/dev/null 2>&1 || code=$?
[ $code != 129 ] || check=
git -c core.bigFileThreshold=8m -c pack.threads=1 index-pack --stdin $check >/dev/null || damaged $?
git -c core.bigFileThreshold=8m cat-file --batch --batch-all-objects --buffer || damaged $?
";
/// What the script ends with where git has looked at the upload and refused it. Whatever else it ends with (there was no
/// room for another process, say) is not the upload's fault.
const DAMAGED: i32 = 65;

/// Stores the objects of an uploaded pack in a folder.
pub(super) fn unpack(
    sandbox: &Sandbox,
    upload: &mut dyn std::io::Read,
    limits: &ImportLimits,
    objects: &Path,
) -> Result<(), ImportError> {
    let cell = sandbox.cell()?;
    let (mut file, path) = cell.readable("upload")?;
    let contents = pack::copy(upload, &mut file, limits)?;
    file.set_permissions(PermissionsExt::from_mode(0o440)).map_err(failed("changing", &path))?;
    let environment: BTreeMap<String, String> =
        git::ALONE.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let most = contents.unpacked.saturating_add(contents.objects.saturating_mul(256));
    let mut running = cell.start(&Start {
        command: &["sh".to_owned(), "-c".to_owned(), UNPACK.to_owned()],
        folder: Path::new("/"),
        limits: run_limits(limits),
        read: Vec::new(),
        environment: &environment,
        input: Some(File::open(&path).map_err(failed("opening", &path))?),
    })?;
    let mut storing = Storing::new(objects, most, limits.disk_bytes);
    let mut said = crate::tail::Tail::new(4000);
    let (start, patience) = (Instant::now(), Duration::from_secs(limits.seconds));
    loop {
        let waited = running.wait(Duration::from_millis(100), &mut |stream, bytes| match stream {
            Stream::Output => storing.take(bytes),
            Stream::Error => said.add(bytes),
        })?;
        if waited.is_end() {
            break;
        }
        if storing.failed.is_some() {
            break;
        }
        if start.elapsed() > patience {
            running.stop();
            let what = "the time to unpack the upload".to_owned();
            return Err(Refusal::TooLarge { what, limit: format!("{} s", limits.seconds) }.into());
        }
    }
    let order = running.order().clone();
    let report = running.stop();
    if let Some(error) = storing.failed.take() {
        return Err(error);
    }
    if let Some(violation) = report.violation {
        let reason = format!("unpacking was {}", order.limits.passed(violation));
        return Err(Refusal::Damaged { reason }.into());
    }
    ended_well(&report, &said.take())?;
    storing.finish(&contents)
}

fn ended_well(report: &Report, said: &str) -> Result<(), ImportError> {
    match (&report.not_started, report.status) {
        (Some(not_started), _) => Err(not_started.to_error().into()),
        (None, Some(0)) => Ok(()),
        (None, Some(127)) => Err(Error::new("unpacking needs `git` and `sh`, which this image lacks").into()),
        (None, Some(DAMAGED)) if is_of_the_upload(said) => {
            Err(Refusal::Damaged { reason: git::complaint(said.as_bytes()) }.into())
        }
        (None, _) => {
            let why = git::complaint(said.as_bytes());
            Err(Error::new(format!("an upload could not be unpacked: {why}")).into())
        }
    }
}

/// Whether git complained of what it read, and not of what this machine refused it at that moment.
fn is_of_the_upload(said: &str) -> bool {
    const OF_THE_MACHINE: &[&str] = &[
        "Resource temporarily unavailable",
        "Cannot allocate memory",
        "No space left on device",
        "Too many open files",
        "Input/output error",
    ];
    !said.trim().is_empty() && !OF_THE_MACHINE.iter().any(|words| said.contains(words))
}

fn run_limits(limits: &ImportLimits) -> RunLimits {
    const MIB: u64 = 1 << 20;
    RunLimits {
        memory: limits.added_bytes.saturating_mul(2).max(512 * MIB),
        processes: 16,
        file: limits.pack_bytes.saturating_mul(2).max(64 * MIB),
        disk: limits.pack_bytes.saturating_mul(4).max(256 * MIB),
        files: 1000,
        processor_seconds: limits.seconds,
        seconds: limits.seconds.saturating_add(5),
        network: Network::Nothing,
    }
}

/// Reads `NAME TYPE SIZE<LF>CONTENT<LF>` as it comes and stores each object.
struct Storing<'a> {
    folder: &'a Path,
    /// Bytes that may still come.
    left: u64,
    /// Bytes of the disk that all objects may take, and those that they take.
    room: u64,
    taken: u64,
    count: u64,
    line: Vec<u8>,
    object: Option<Object>,
    failed: Option<ImportError>,
}

/// An object on its way.
struct Object {
    name: String,
    path: PathBuf,
    /// Bytes that are still to come.
    left: u64,
    hash: Sha1,
    file: ZlibEncoder<File>,
}

impl<'a> Storing<'a> {
    fn new(folder: &'a Path, most: u64, room: u64) -> Self {
        Self { folder, left: most, room, taken: 0, count: 0, line: Vec::new(), object: None, failed: None }
    }

    fn take(&mut self, bytes: &[u8]) {
        if self.failed.is_none()
            && let Err(error) = self.try_take(bytes)
        {
            self.failed = Some(error);
        }
    }

    fn try_take(&mut self, mut bytes: &[u8]) -> Result<(), ImportError> {
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(|| unexpected("too many bytes"))?;
        while let [first, rest @ ..] = bytes {
            match &mut self.object {
                Some(object) if object.left > 0 => {
                    let count = usize::try_from(object.left).unwrap_or(usize::MAX).min(bytes.len());
                    object.hash.update(&bytes[..count]);
                    object.file.write_all(&bytes[..count]).map_err(failed("writing", &object.path))?;
                    object.left -= count as u64;
                    bytes = &bytes[count..];
                }
                Some(_) => {
                    if *first != b'\n' {
                        return Err(unexpected("an object without an end").into());
                    }
                    bytes = rest;
                    if let Some(object) = self.object.take() {
                        self.store(object)?;
                    }
                }
                None if *first == b'\n' => {
                    bytes = rest;
                    let line = std::mem::take(&mut self.line);
                    self.object = Some(self.begin(&line)?);
                }
                None if self.line.len() < 100 => {
                    self.line.push(*first);
                    bytes = rest;
                }
                None => return Err(unexpected("a long line").into()),
            }
        }
        Ok(())
    }

    fn begin(&self, line: &[u8]) -> Result<Object> {
        let line = std::str::from_utf8(line).map_err(|_| unexpected("a line that is no text"))?;
        let words: Vec<&str> = line.split(' ').collect();
        let [name, kind @ ("blob" | "tree" | "commit" | "tag"), size] = words[..] else {
            return Err(unexpected(line));
        };
        if name.len() != 40 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(unexpected(line));
        }
        let left = size.parse().map_err(|_| unexpected(line))?;
        let path = self.folder.join("part");
        let file = File::create(&path).map_err(failed("making", &path))?;
        let mut object = Object {
            name: name.to_owned(),
            left,
            hash: Sha1::new(),
            file: ZlibEncoder::new(file, Compression::fast()),
            path,
        };
        let header = format!("{kind} {left}\0");
        object.hash.update(header.as_bytes());
        object.file.write_all(header.as_bytes()).map_err(failed("writing", &object.path))?;
        Ok(object)
    }

    fn store(&mut self, object: Object) -> Result<(), ImportError> {
        let Object { name, path, hash, file, .. } = object;
        let computed = hex(&hash.finalize());
        if computed != name {
            return Err(unexpected("an object under another's name").into());
        }
        let file = file.finish().map_err(failed("writing", &path))?;
        file.set_permissions(PermissionsExt::from_mode(0o444)).map_err(failed("changing", &path))?;
        let size = file.metadata().map_err(failed("reading", &path))?;
        // What is not yet on the disk will be.
        let size = size.blocks().saturating_mul(512).max(on_disk(size.len()));
        self.taken = self.taken.saturating_add(size);
        if self.taken > self.room {
            return Err(Refusal::NoRoom { objects: self.count + 1, room: self.room }.into());
        }
        let folder = self.folder.join(&name[..2]);
        make_folder(&folder, 0o755)?;
        let place = folder.join(&name[2..]);
        std::fs::rename(&path, &place).map_err(failed("storing", &place))?;
        self.count += 1;
        Ok(())
    }

    fn finish(self, contents: &Contents) -> Result<(), ImportError> {
        // A pack may hold an object twice.
        if self.object.is_none() && self.line.is_empty() && self.count <= contents.objects {
            Ok(())
        } else {
            Err(unexpected("an end before the end").into())
        }
    }
}

fn unexpected(what: &str) -> Error {
    Error::new(format!("unpacking an upload printed what was not expected: {what}"))
}

/// Moves objects into another folder of objects. What is there already stays.
pub(super) fn adopt(from: &Path, to: &Path) -> Result<()> {
    for folder in std::fs::read_dir(from).map_err(failed("reading", from))? {
        let folder = folder.map_err(failed("reading", from))?.path();
        let Some(name) = folder.file_name().filter(|_| folder.is_dir()) else { continue };
        let target = to.join(name);
        make_folder(&target, 0o755)?;
        for object in std::fs::read_dir(&folder).map_err(failed("reading", &folder))? {
            let object = object.map_err(failed("reading", &folder))?;
            let place = target.join(object.file_name());
            std::fs::rename(object.path(), &place).map_err(failed("storing", &place))?;
        }
    }
    Ok(())
}

/// Reads the header that `git cat-file --batch` prints for an object: its type and size.
pub(super) fn batch_header(reader: &mut BufReader<impl std::io::Read>) -> Result<(String, u64)> {
    let line =
        super::git::word(reader, b'\n', 200).map_err(failed_to("reading an object"))?.unwrap_or_default();
    let line = String::from_utf8_lossy(&line).into_owned();
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        [_, kind, size] => match size.parse() {
            Ok(size) => Ok((kind.to_owned(), size)),
            Err(_) => Err(Error::new(format!("git says {line:?} of an object"))),
        },
        _ => Err(Error::new(format!("an object is missing in the store of candidates: {line}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn objects_are_stored_under_their_own_names_only() {
        let folder = tempfile::tempdir().unwrap();
        let mut storing = Storing::new(folder.path(), 1000, u64::MAX);
        let good = b"ce013625030ba8dba906f756967f9e9ca394464a blob 6\nhello\n\n";
        // However it comes in pieces.
        good.chunks(1).for_each(|piece| storing.take(piece));
        storing.take(good);
        assert!(storing.failed.is_none(), "{:?}", storing.failed);
        assert_eq!(storing.count, 2);
        assert!(folder.path().join("ce/013625030ba8dba906f756967f9e9ca394464a").is_file());
        for bad in [
            &b"ce013625030ba8dba906f756967f9e9ca394464a blob 6\nhallo\n\n"[..],
            b"ce013625030ba8dba906f756967f9e9ca394464a blob 6\nhello\nx",
            b"../../../../../../../../../../../../../.. blob 6\nhello\n\n",
            b"ce013625030ba8dba906f756967f9e9ca394464a blob -6\nhello\n\n",
            b"ce013625030ba8dba906f756967f9e9ca394464a missing\n",
            &[b'x'; 200],
            &[b'\n'; 2000],
        ] {
            let mut storing = Storing::new(folder.path(), 1000, u64::MAX);
            storing.take(bad);
            assert!(storing.failed.is_some(), "{}", String::from_utf8_lossy(bad));
        }
        let mut cut = Storing::new(folder.path(), 1000, u64::MAX);
        cut.take(&good[..50]);
        assert!(cut.finish(&Contents { objects: 1, unpacked: 6 }).is_err());
    }

    #[test]
    fn an_upload_is_damaged_only_if_git_says_so() {
        let ended = |status, signal| {
            ended_well(&Report { status, signal, ..Report::default() }, "sh: 0: Cannot fork").unwrap_err()
        };
        let refused = |said: &str| {
            let report = Report { status: Some(DAMAGED), ..Report::default() };
            matches!(ended_well(&report, said), Err(ImportError::Refused(Refusal::Damaged { .. })))
        };
        assert!(refused("fatal: pack has 3 unresolved deltas"));
        for said in ["", " \n", "fatal: unable to create thread: Resource temporarily unavailable"] {
            assert!(!refused(said), "{said}");
        }
        // The shell found no room for a process; a signal from outside.
        for (status, signal) in [(Some(2), None), (Some(126), None), (Some(127), None), (None, Some(9))] {
            let error = ended(status, signal);
            assert!(matches!(error, ImportError::Failed(_)), "{error}");
        }
    }
}
