//! Reads one trial: its result, what else tells of it, and its evidence.

use std::borrow::Cow;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taskwright_base::folder::{self, Folder};
use taskwright_base::{Digest, Result};
use taskwright_harbor::document::{MAX_DOCUMENT, Problem};
use taskwright_harbor::job::PlannedTrial;
use taskwright_harbor::result::{TrialResult, infer_version};

use super::evidence::Gather;
use super::find::{Candidate, Item, Job};
use super::model::Options;
use super::seen::{Stamp, settled};
use crate::db::{Ledger, query, write};
use crate::evidence::store::{Fresh, Writer};
use crate::evidence::{Place, paths};
use crate::record::agent::Identity;
use crate::record::verdict::{self, Verdict};
use crate::record::{Trial, from_harbor};
use crate::redact::{Marks, Scrubber, look_through, rewrite};

/// What came of something that was found.
pub(super) enum Done {
    /// A trial that is not in the ledger, or differs from what is.
    Trial(Box<New>),
    /// A trial that is there: its number, and its stamp if that was not known.
    Duplicate { path: PathBuf, trial: i64, stamp: Option<Stamp> },
    /// No trial.
    Refused { path: PathBuf, reason: String },
    /// A job has been read.
    JobEnd(Arc<Job>),
}

/// A trial that was read.
pub(super) struct New {
    pub trial: Trial,
    pub identity: Arc<Identity>,
    pub result_digest: Digest,
    pub job: Option<Arc<Job>>,
    /// Its folder, or its result if that is all there is.
    pub path: PathBuf,
    pub is_folder: bool,
    pub stamp: Option<Stamp>,
    pub places: Vec<Place>,
    pub problems: Vec<String>,
    /// Whether one of its identifier is there already. Its evidence was stored only if it shall be replaced.
    pub differs: bool,
}

/// What a thread needs to read trials; used by one at a time.
pub(super) struct Worker {
    ledger: Ledger,
    store: Writer,
    unsealed: u64,
    /// Agents by what their digests are made of: a job has few of them and many trials.
    agents: HashMap<Vec<u8>, Arc<Identity>>,
    buffer: Vec<u8>,
}

impl Worker {
    pub fn new(directory: &Path) -> Result<Self> {
        Ok(Self {
            ledger: Ledger::read(directory)?,
            store: Writer::new(directory)?,
            unsealed: 0,
            agents: HashMap::new(),
            buffer: Vec::new(),
        })
    }

    /// How many bytes it has stored that are not on the disk yet.
    pub fn unsealed(&self) -> u64 {
        self.unsealed
    }

    /// Brings what it stored to the disk.
    pub fn seal(&mut self) -> Result<Vec<(Arc<str>, u64)>> {
        self.unsealed = 0;
        self.store.seal()
    }

    pub fn read(&mut self, item: Item, options: &Options<'_>, fresh: &Fresh) -> Result<Done> {
        match item {
            Item::Known { path, trial } => Ok(Done::Duplicate { path, trial, stamp: None }),
            Item::Refused { path, reason } => Ok(Done::Refused { path, reason }),
            Item::JobEnd(job) => Ok(Done::JobEnd(job)),
            Item::Trial(candidate) => self.trial(candidate, options, fresh),
        }
    }

    #[expect(clippy::too_many_lines, reason = "one file after the other, in the order of their trust")]
    fn trial(&mut self, candidate: Candidate, options: &Options<'_>, fresh: &Fresh) -> Result<Done> {
        let Candidate { path, is_folder, job } = candidate;
        let file = if is_folder { path.join("result.json") } else { path.clone() };
        let refused =
            |problem: &Problem| Ok(Done::Refused { path: file.clone(), reason: problem.to_string() });
        let source = match Files::open(&path, is_folder) {
            Ok(source) => source,
            Err(problem) => return refused(&problem),
        };
        let (original, stamp) = match source.result() {
            Ok(read) => read,
            Err(problem) => return refused(&problem),
        };
        let result_digest = Digest::of(&original);
        // Before anything is read out of them, so that nothing that is read can hold a secret.
        let mut secrets = options.secrets.clone();
        let mut documents = vec![("result.json", original)];
        for name in ["config.json", "lock.json"] {
            documents.extend(source.document(name).map(|bytes| (name, bytes)));
        }
        let marks: Vec<Marks> =
            documents.iter().map(|(_, bytes)| look_through(bytes, &mut secrets)).collect();
        let scrubber = Scrubber::new(&secrets);
        let documents: Vec<Document> = documents
            .into_iter()
            .zip(&marks)
            .map(|((name, original), marks)| Document::new(name, original, marks, &scrubber))
            .collect();
        let clean = documents[0].redacted();
        let result = match TrialResult::parse(clean) {
            Ok(result) => result,
            Err(problem) => return refused(&problem),
        };
        let identity = self.identity(&result);
        let verdict = Verdict::read(&source.document(verdict::PATH).unwrap_or_default());
        let reward_key = options.reward_key(job.as_deref());
        let mut trial = from_harbor::record(&result, &identity, reward_key, &verdict);
        let known =
            write::known(&self.ledger.connection, &trial.id).map_err(|error| self.ledger.failed(&error))?;
        if let Some(known) = &known
            && known.result_digest == Some(result_digest)
            && !(options.replace
                && (self.is_kept_otherwise(known.trial, options)?
                    || self.is_scored_otherwise(known.trial, &trial)?))
        {
            return Ok(Done::Duplicate { path, trial: known.trial, stamp });
        }
        let lock = documents.iter().find(|document| document.name == "lock.json");
        let lock = lock.and_then(|document| PlannedTrial::parse(document.redacted()).ok());
        let in_job = job.as_ref().zip(trial.task_folder.as_deref());
        let digest = lock.and_then(|lock| lock.task_digest);
        trial.task_digest = digest
            .or_else(|| in_job.and_then(|(job, folder)| job.digest(folder)).map(str::to_owned))
            .or(trial.task_digest);
        trial.provenance = options.provenance(job.as_deref(), trial.task_digest.as_deref());
        trial.harbor_version = match job.as_ref().and_then(|job| job.harbor_version()) {
            Some(version) => Some(version.to_owned()),
            None => infer_version(clean).ok().map(|range| range.to_string()),
        };
        trial.job = job.as_ref().map(|job| job.name.clone()).or(trial.job);
        trial.experiment = options.experiment(job.as_deref());
        trial.source = options.source;
        let differs = known.is_some();
        let mut new = New {
            trial,
            identity,
            result_digest,
            job,
            path,
            is_folder,
            stamp,
            places: Vec::new(),
            problems: Vec::new(),
            differs,
        };
        if !differs || options.replace {
            self.evidence(&source, &documents, scrubber.clone(), options, fresh, &mut new)?;
        }
        Ok(Done::Trial(Box::new(new)))
    }

    fn evidence(
        &mut self,
        source: &Files,
        documents: &[Document],
        scrubber: Scrubber,
        options: &Options<'_>,
        fresh: &Fresh,
        new: &mut New,
    ) -> Result<()> {
        let mut gather = Gather {
            store: (!options.reference).then_some((&mut self.store, fresh, &self.ledger.connection)),
            scrubber,
            evidence: Vec::new(),
            places: Vec::new(),
            problems: Vec::new(),
            buffer: &mut self.buffer,
        };
        for document in documents {
            let content = if options.reference { &document.original } else { document.redacted() };
            gather.clean_content(source.name_of(document.name), content)?;
        }
        if let Some(folder) = &source.folder {
            let names: Vec<&str> = documents.iter().map(|document| document.name).collect();
            gather.folder(folder, "", 0, &names)?;
        }
        gather.evidence.sort_by(|a, b| a.path.cmp(&b.path));
        new.trial.evidence = gather.evidence;
        new.places = gather.places;
        new.problems = gather.problems;
        self.unsealed += new.places.iter().map(|place| place.length).sum::<u64>();
        Ok(())
    }

    /// The agent of a trial.
    fn identity(&mut self, result: &TrialResult) -> Arc<Identity> {
        let agent = result.config().agent;
        let info = &result.agent_info;
        let mut key = agent.whole.as_ref().map_or_else(Vec::new, |whole| whole.get().as_bytes().to_vec());
        for word in [&info.name, &info.version, &info.model_provider, &info.model_name] {
            key.push(0);
            key.extend_from_slice(word.as_deref().unwrap_or("\0").as_bytes());
        }
        Arc::clone(self.agents.entry(key).or_insert_with(|| Arc::new(Identity::new(&agent, Some(info)))))
    }

    /// Whether another reward counts in a trial than was asked for before, or another rule made a record of it.
    fn is_scored_otherwise(&self, number: i64, trial: &Trial) -> Result<bool> {
        let old = query::one(&self.ledger.connection, number).map_err(|error| self.ledger.failed(&error))?;
        Ok((old.status, old.reward, &old.reward_key) != (trial.status, trial.reward, &trial.reward_key)
            || old.rewards != trial.rewards
            || (old.claimed, old.metered) != (trial.claimed, trial.metered))
    }

    /// Whether evidence of a trial is kept otherwise than is asked for now, or is lost.
    fn is_kept_otherwise(&self, trial: i64, options: &Options<'_>) -> Result<bool> {
        let sql = if options.reference {
            "SELECT 1 FROM evidence WHERE trial = ?1 AND kept = 'stored'"
        } else {
            "SELECT 1 FROM evidence WHERE trial = ?1 AND (kept = 'referenced'
                OR kept = 'stored' AND digest NOT IN (SELECT digest FROM blobs))"
        };
        self.ledger
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.exists([trial]))
            .map_err(|error| self.ledger.failed(&error))
    }
}

/// A document that is looked through for secrets.
struct Document {
    name: &'static str,
    original: Vec<u8>,
    /// Without its secrets, if it has any.
    redacted: Option<Vec<u8>>,
}

impl Document {
    fn new(name: &'static str, original: Vec<u8>, marks: &Marks, scrubber: &Scrubber) -> Self {
        let redacted = match rewrite(&original, marks, scrubber) {
            Cow::Borrowed(_) => None,
            Cow::Owned(redacted) => Some(redacted),
        };
        Self { name, original, redacted }
    }

    fn redacted(&self) -> &[u8] {
        self.redacted.as_ref().unwrap_or(&self.original)
    }
}

/// Where the files of a trial are.
struct Files {
    folder: Option<Folder>,
    file: PathBuf,
}

impl Files {
    fn open(path: &Path, is_folder: bool) -> std::result::Result<Self, Problem> {
        let folder = if is_folder { Some(Folder::open(path).map_err(Problem::Io)?) } else { None };
        Ok(Self { folder, file: path.to_owned() })
    }

    /// The bytes of the result, and its stamp, which only a result in a folder has.
    fn result(&self) -> std::result::Result<(Vec<u8>, Option<Stamp>), Problem> {
        let (file, stat) = match &self.folder {
            Some(folder) => folder.file(c"result.json"),
            None => {
                let name = std::ffi::CString::new(self.file.as_os_str().as_bytes());
                let name = name.map_err(|error| Problem::Io(error.into()))?;
                Folder::open("/").and_then(|root| root.file(&name))
            }
        }
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Problem::Missing,
            _ => Problem::Io(error),
        })?;
        let stamp = settled(&stat).filter(|_| self.folder.is_some());
        read(&file, u64::try_from(stat.st_size).unwrap_or(0)).map(|bytes| (bytes, stamp))
    }

    /// Another document, in the trial's folder or one below; none if it cannot be read as one, and then it is evidence like any
    /// other.
    fn document(&self, path: &str) -> Option<Vec<u8>> {
        let root = self.folder.as_ref()?;
        let name = |name: &str| std::ffi::CString::new(name).ok();
        let (file, stat) = match path.split_once('/') {
            Some((folder, file)) => root.folder(&name(folder)?).ok()?.file(&name(file)?).ok()?,
            None => root.file(&name(path)?).ok()?,
        };
        read(&file, u64::try_from(stat.st_size).ok()?).ok()
    }

    /// What a document is called among the evidence.
    fn name_of(&self, name: &str) -> String {
        match &self.folder {
            Some(_) => name.to_owned(),
            None => paths::escape(self.file.file_name().unwrap_or_default().as_bytes()),
        }
    }
}

fn read(file: &std::fs::File, size: u64) -> std::result::Result<Vec<u8>, Problem> {
    let too_large = Problem::TooLarge { limit: MAX_DOCUMENT };
    if size > MAX_DOCUMENT {
        return Err(too_large);
    }
    let mut bytes = Vec::new();
    folder::read(file, size, MAX_DOCUMENT + 1, &mut bytes).map_err(Problem::Io)?;
    if bytes.len() as u64 > MAX_DOCUMENT { Err(too_large) } else { Ok(bytes) }
}
