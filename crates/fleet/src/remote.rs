//! A store of objects as a depot: each request bounded in size, time and number, and none any more after the first that failed.
//!
//! ```text
//!   steps/<fingerprint>    a signature, and what is said of that step
//!   blobs/<aa>/<digest>    bytes
//! ```

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::future::Future;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use futures_util::StreamExt as _;
use object_store::buffered::BufWriter;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt as _};
use taskwright_base::Digest;
use taskwright_builder::depot::{Content, Depot};
use tokio::io::AsyncWriteExt as _;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

use crate::keys::Keys;
use crate::{place, words};

/// How many requests are under way at once.
const AT_ONCE: usize = 16;
/// The largest statement: a baseline of a hundred thousand files has one of some 20 MB.
const LONGEST_STATEMENT: u64 = 64 * 1024 * 1024;
/// How long a request may take, whatever its size ...
const PATIENCE: Duration = Duration::from_secs(15);
/// ... and how many bytes a second it has to make beyond that.
const SLOWEST: u64 = 256 * 1024;
/// From this size on an object is sent in parts of this size.
const PART: usize = 8 * 1024 * 1024;

/// A store, which is opened when something is asked of it: most commands build nothing.
pub struct Remote {
    named: String,
    root: Utf8PathBuf,
    keys: Keys,
    /// None in it: it could not be opened.
    open: OnceLock<Option<Open>>,
    said: Mutex<Said>,
}

struct Open {
    store: Arc<dyn ObjectStore>,
    folder: Path,
    runtime: Runtime,
    patience: Duration,
    at_once: Semaphore,
}

#[derive(Default)]
struct Said {
    /// It is not asked any more.
    is_off: bool,
    complaints: Vec<String>,
    spoiled: BTreeSet<Digest>,
}

/// What became of reading an object.
enum Got {
    All,
    /// It is longer or shorter than it has to be.
    OtherSize,
    /// What it was to be written to refused it.
    Unwritten,
}

impl Remote {
    /// The store that `taskwright.toml` names.
    pub fn new(named: &str, root: &Utf8Path, keys: Keys) -> Self {
        let (named, root) = (named.to_owned(), root.to_owned());
        Self { named, root, keys, open: OnceLock::new(), said: Mutex::default() }
    }

    /// Opens it, and says what is wrong with it or with the keys, once.
    fn open(&self) -> Option<&Open> {
        let open = || {
            let wrong = self.keys.complaint.as_ref().map(|what| format!("`[fleet]`: {what}"));
            self.said().complaints.extend(wrong);
            Open::at(&self.named, &self.root).inspect_err(|why| self.give_up(why)).ok()
        };
        self.open.get_or_init(open).as_ref()
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks no more, and says once why.
    fn give_up(&self, why: &str) {
        let mut said = self.said();
        if !said.is_off {
            said.is_off = true;
            said.complaints.push(format!(
                "the store `{}` that machines share is not used any more in this build: {why}",
                self.named
            ));
        }
    }

    /// Asks for something of a size; none where it is not there, or nothing can be had.
    fn ask<'a, T, F>(&'a self, size: u64, question: impl FnOnce(&'a Open) -> F) -> Option<T>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let open = self.open()?;
        let patience = open.patience + Duration::from_secs(size / SLOWEST);
        let answer = open.runtime.block_on(async {
            let _permit = open.at_once.acquire().await;
            // Those who waited for their turn hear here that there is none any more.
            if self.said().is_off {
                return None;
            }
            Some(tokio::time::timeout(patience, question(open)).await)
        })?;
        match answer {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(Error::NotFound { .. })) => {}
            Ok(Err(error)) => self.give_up(&words::of(&error)),
            Err(_) => self.give_up(&format!("no answer of it was whole within {} s", patience.as_secs())),
        }
        None
    }

    /// Leaves something. A place that is not there is an answer to whoever looks, and a fault to whoever leaves.
    fn put<'a, F>(&'a self, size: u64, question: impl FnOnce(&'a Open) -> F) -> bool
    where
        F: Future<Output = Result<(), Error>>,
    {
        let found = self.ask(size, |open| {
            let question = question(open);
            async {
                match question.await {
                    Err(error @ Error::NotFound { .. }) => Err(generic(words::of(&error))),
                    put => put,
                }
            }
        });
        found.is_some()
    }

    /// Says what is odd, once.
    fn complain(&self, what: &str) {
        let what = format!("the store `{}` that machines share: {what}", self.named);
        let mut said = self.said();
        if !said.complaints.contains(&what) {
            said.complaints.push(what);
        }
    }
}

impl Open {
    fn at(named: &str, root: &Utf8Path) -> Result<Self, String> {
        let (store, folder) = place::open(named, root).map_err(|error| words::of(&error))?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("starting its client: {error}"))?;
        Ok(Self { store, folder, runtime, patience: PATIENCE, at_once: Semaphore::new(AT_ONCE) })
    }

    fn blob(&self, digest: Digest) -> Path {
        let hex = digest.hex();
        self.folder.clone().join("blobs").join(&hex[..2]).join(hex.as_str())
    }

    fn step(&self, step: Digest) -> Path {
        self.folder.clone().join("steps").join(step.hex())
    }

    async fn read(&self, path: Path, size: u64, to: &mut dyn Write) -> Result<Got, Error> {
        let object = self.store.get(&path).await?;
        if object.meta.size != size {
            return Ok(Got::OtherSize);
        }
        let mut rest = size;
        let mut stream = object.into_stream();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk?;
            let length = chunk.len() as u64;
            if length > rest {
                return Ok(Got::OtherSize);
            }
            rest -= length;
            if to.write_all(&chunk).is_err() {
                return Ok(Got::Unwritten);
            }
        }
        Ok(if rest == 0 { Got::All } else { Got::OtherSize })
    }

    async fn write(&self, path: Path, mut from: impl Read) -> Result<(), Error> {
        let mut writer = BufWriter::with_capacity(Arc::clone(&self.store), path, PART);
        let mut part = vec![0; 256 * 1024];
        let failed = |error: io::Error| error.downcast().unwrap_or_else(|error| generic(error.to_string()));
        loop {
            let written = match from.read(&mut part) {
                Ok(0) => break,
                Ok(count) => writer.write_all(&part[..count]).await,
                Err(error) => Err(error),
            };
            if let Err(error) = written {
                // The parts that were sent are nobody's.
                let _ = writer.abort().await;
                return Err(failed(error));
            }
        }
        writer.shutdown().await.map_err(failed)
    }
}

fn generic(words: String) -> Error {
    Error::Generic { store: "object", source: words.into() }
}

impl Depot for Remote {
    fn statement(&self, step: Digest) -> Option<Vec<u8>> {
        self.open().filter(|_| self.keys.trusts_anybody())?;
        let signed = self.ask(0, |open| async move {
            let object = open.store.get(&open.step(step)).await?;
            if object.meta.size > LONGEST_STATEMENT {
                return Ok(None);
            }
            object.bytes().await.map(Some)
        })?;
        let believed = signed.as_ref().and_then(|signed| self.keys.believed(signed));
        if believed.is_none() {
            self.complain("something that nobody has signed whom `trust` names lies there for a step, and is not believed");
        }
        Some(believed?.to_vec())
    }

    fn read(&self, digest: Digest, size: u64, to: &mut dyn Write) -> bool {
        let got = self.ask(size, |open| open.read(open.blob(digest), size, to));
        if let Some(Got::OtherSize) = got {
            self.spoiled(digest);
        }
        matches!(got, Some(Got::All))
    }

    fn spoiled(&self, digest: Digest) {
        self.said().spoiled.insert(digest);
        self.complain("what lies there for a digest is something else, and is not taken");
    }

    fn accepts(&self) -> bool {
        self.open().is_some() && self.keys.can_sign() && !self.said().is_off
    }

    fn leave(&self, digest: Digest, size: u64, content: Content<'_>) -> bool {
        let is_spoiled = self.said().spoiled.contains(&digest);
        let there = self.ask(0, |open| async move { open.store.head(&open.blob(digest)).await });
        if !is_spoiled && there.is_some_and(|there| there.size == size) {
            return true;
        }
        self.put(size, |open| async move {
            match content {
                Content::Bytes(bytes) => open.write(open.blob(digest), bytes).await,
                Content::File(path) => {
                    let file =
                        File::open(path).map_err(|error| generic(format!("reading `{path}`: {error}")))?;
                    open.write(open.blob(digest), file).await
                }
            }
        })
    }

    fn state(&self, step: Digest, statement: &[u8]) {
        if statement.len() as u64 > LONGEST_STATEMENT {
            return;
        }
        if let Some(signed) = self.keys.sign(statement) {
            let signed = signed.as_slice();
            self.put(signed.len() as u64, |open| open.write(open.step(step), signed));
        }
    }

    fn complaints(&self) -> Vec<String> {
        std::mem::take(&mut self.said().complaints)
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Remote({})", self.named)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Instant;

    use taskwright_testing::test;

    use super::*;

    /// A depot of its own in a folder.
    fn remote(folder: &Utf8Path) -> Remote {
        let anybody = format!("ed25519:{}", "1".repeat(64));
        Remote::new(folder.as_str(), folder, Keys::new(&[anybody], None))
    }

    #[test]
    fn a_server_that_does_not_answer_is_waited_for_once() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut remote = remote(Utf8Path::from_path(folder.path()).unwrap());
        remote.open();
        let open = remote.open.get_mut().unwrap().as_mut().unwrap();
        open.patience = Duration::from_millis(300);
        open.store = Arc::new(
            object_store::aws::AmazonS3Builder::new()
                .with_bucket_name("b")
                .with_endpoint(format!("http://{}", silent.local_addr().unwrap()))
                .with_access_key_id("x")
                .with_secret_access_key("y")
                .with_http_connector(crate::connect::Connector)
                .build()
                .unwrap(),
        );
        let start = Instant::now();
        std::thread::scope(|scope| {
            for number in 0..40_u8 {
                let remote = &remote;
                scope.spawn(move || assert_eq!(remote.statement(Digest::of(&[number])), None));
            }
        });
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        let complaints = remote.complaints();
        assert!(matches!(&complaints[..], [one] if one.contains("within")), "{complaints:?}");
    }

    #[test]
    fn where_nothing_can_be_written_nothing_is_spoiled() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let remote = remote(Utf8Path::from_path(folder.path()).unwrap());
        assert!(!remote.accepts());
        let digest = Digest::of(b"bytes");
        assert!(remote.leave(digest, 5, Content::Bytes(b"bytes")));
        assert!(!remote.read(digest, 5, &mut Full));
        assert_eq!(remote.complaints(), [""; 0]);
        let mut read = Vec::new();
        assert!(remote.read(digest, 5, &mut read) && read == b"bytes");
        assert!(!remote.read(digest, 4, &mut Vec::new()));
        assert_eq!(remote.complaints().len(), 1);
    }
}
