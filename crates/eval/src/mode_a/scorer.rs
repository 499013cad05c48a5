//! The scorer's side: one `score` process that is handed every sample of an evaluation and answers each.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use taskwright_base::{Error, Result, failed, failed_to, text};

use super::json;
use crate::result::Score;
use crate::tail::Tail;

/// The longest line that a scorer may answer with.
const LONGEST_LINE: u64 = 16 << 20;
/// How much of a scorer's standard error is kept for an error's message.
const COMPLAINT_BYTES: usize = 4000;
/// How long a scorer may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a scorer says, or that it has ended.
#[derive(Debug)]
pub(crate) enum Said {
    Line(Vec<u8>),
    /// Nothing more.
    End,
}

/// A scorer at work.
#[derive(Debug)]
pub(crate) struct Scorer {
    child: Child,
    lines: Option<Sender<Vec<u8>>>,
    /// Bytes that were handed over and not yet taken.
    pub queued: Arc<AtomicU64>,
    complaint: Option<JoinHandle<String>>,
    ended: bool,
}

impl Scorer {
    /// Starts the scorer. What it says goes to `said`.
    pub fn start<S: Send + 'static>(
        command: &[String],
        folder: &Path,
        environment: &BTreeMap<String, String>,
        said: impl Fn(Said) -> S + Send + 'static,
    ) -> Result<Self> {
        let program = command.first().map(String::as_str).unwrap_or_default();
        let mut child = Command::new(program)
            .args(command.iter().skip(1))
            .env_clear()
            .envs(environment)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed("starting the scorer", Path::new(program)))?;
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Error::new("the scorer has no standard streams"));
        };
        let (lines, receiver): (Sender<Vec<u8>>, Receiver<Vec<u8>>) = channel();
        let queued = Arc::new(AtomicU64::new(0));
        let taken = Arc::clone(&queued);
        let spawn = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let mut scorer = Self { child, lines: Some(lines), queued, complaint: None, ended: false };
        spawn("score-input")
            .spawn(move || {
                for line in receiver {
                    // A scorer that does not read shows by what it does not answer.
                    if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
                        break;
                    }
                    taken.fetch_sub(line.len() as u64, Ordering::Relaxed);
                }
            })
            .map_err(failed_to("starting a thread"))?;
        spawn("score-output")
            .spawn(move || {
                listen(stdout, &said);
                said(Said::End);
            })
            .map_err(failed_to("starting a thread"))?;
        scorer.complaint = spawn("score-error")
            .spawn(move || complaint(stderr))
            .map_err(failed_to("starting a thread"))
            .map(Some)?;
        Ok(scorer)
    }

    pub fn give(&self, line: Vec<u8>) {
        if let Some(lines) = &self.lines {
            self.queued.fetch_add(line.len() as u64, Ordering::Relaxed);
            let _ = lines.send(line);
        }
    }

    /// Says that no more lines come.
    pub fn finish(&mut self) {
        self.lines = None;
    }

    /// Ends the scorer, if it has not ended; how it ended and what it complained of.
    pub fn stop(&mut self) -> String {
        self.lines = None;
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let start = Instant::now();
        let mut asked = false;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Err(_) => break None,
                Ok(None) => {}
            }
            // Who has said its last word may take a moment to end.
            if !asked && (!self.ended || start.elapsed() > PATIENCE) {
                asked = true;
                signal(group, Signal::TERM);
            }
            if start.elapsed() > PATIENCE * 2 {
                break None;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        // Whatever it started, `taskwright sandbox` above all, has had its time to clean up.
        if status.is_none() || asked {
            let wait = Instant::now();
            while asked && group_exists(group) && wait.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        signal(group, Signal::KILL);
        let status = status.or_else(|| self.child.wait().ok());
        let how = status.map_or_else(|| "without a status".to_owned(), |status| status.to_string());
        let complaint = self.complaint.take().filter(wait_for).and_then(|thread| thread.join().ok());
        match complaint.as_deref().map(str::trim) {
            Some(text) if !text.is_empty() => format!("{how}; it printed: {text}"),
            _ => how,
        }
    }

    /// Notes that it said its last word.
    pub fn has_ended(&mut self) {
        self.ended = true;
    }
}

impl Drop for Scorer {
    fn drop(&mut self) {
        if self.complaint.is_some() {
            self.stop();
        }
    }
}

/// A process of the scorer's that left its group can hold the stream open for ever: do not wait for that.
fn wait_for<T>(thread: &JoinHandle<T>) -> bool {
    let start = Instant::now();
    while !thread.is_finished() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
    thread.is_finished()
}

fn signal(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group.filter(|group| !group.is_init()) {
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

fn group_exists(group: Option<Pid>) -> bool {
    group
        .filter(|group| !group.is_init())
        .is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
}

fn listen<S>(stdout: impl Read, said: &impl Fn(Said) -> S) {
    let mut reader = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        match (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if line.iter().all(u8::is_ascii_whitespace) => {}
            Ok(_) => drop(said(Said::Line(line))),
        }
    }
}

fn complaint(mut stderr: impl Read) -> String {
    let mut tail = Tail::new(COMPLAINT_BYTES);
    let mut buffer = [0; 8192];
    while let Ok(count @ 1..) = stderr.read(&mut buffer) {
        tail.add(&buffer[..count]);
    }
    tail.take().to_string()
}

/// A scorer's answer.
#[derive(Debug, PartialEq)]
pub(crate) struct Verdict {
    pub id: String,
    /// None if the scorer says that it could not score.
    pub score: Result<Score, String>,
}

/// Reads a scorer's line. The error comes with the sample that the line is about, if that can be told.
pub(crate) fn verdict(line: &[u8], feedback_bytes: usize) -> Result<Verdict, (Option<String>, String)> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        id: String,
        #[serde(deserialize_with = "some")]
        score: Option<f64>,
        #[serde(default)]
        metrics: Option<BTreeMap<String, f64>>,
        #[serde(default)]
        feedback: Option<Value>,
    }
    // So that a line without `score` is not taken for one with null.
    fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        Option::deserialize(deserializer)
    }
    let line_text =
        json::compact(line).map_err(|what| (json::id_of_damaged(line), format!("its line {what}")))?;
    let written: Written = serde_json::from_str(&line_text)
        .map_err(|error| (json::id_of_damaged(line), format!("its line says {error}")))?;
    let feedback = written.feedback.and_then(|feedback| match feedback {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    });
    let score = match written.score {
        Some(score) => Ok(Score {
            score,
            metrics: written.metrics.unwrap_or_default(),
            feedback: feedback.map(|said| text::cut(&said, feedback_bytes).to_owned()),
        }),
        None => Err(feedback.unwrap_or_else(|| "it gave no reason".to_owned())),
    };
    Ok(Verdict { id: written.id, score })
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn verdicts_are_read_strictly() {
        let read = |line: &str| verdict(line.as_bytes(), 10);
        let good = read(r#"{"id":"x","score":1.5,"metrics":{"a":1},"feedback":"0123456789ä"}"#).unwrap();
        assert_eq!(good.id, "x");
        let score = good.score.unwrap();
        assert_eq!(
            (score.score, score.metrics["a"], score.feedback.as_deref()),
            (1.5, 1.0, Some("0123456789"))
        );
        assert_eq!(read(r#"{"id":"x","score":0}"#).unwrap().score.unwrap().metrics.len(), 0);
        assert_eq!(read(r#"{"id":"x","score":null,"feedback":"no"}"#).unwrap().score, Err("no".to_owned()));
        for (line, id) in [
            (r#"{"id":"x","score":NaN}"#, Some("x")),
            (r#"{"id":"x","score":1e999}"#, Some("x")),
            (r#"{"id":"x","score":true}"#, Some("x")),
            (r#"{"id":"x","score":"1"}"#, Some("x")),
            (r#"{"id":"x"}"#, Some("x")),
            (r#"{"id":"x","score":1,"score":2}"#, Some("x")),
            (r#"{"id":"x","score":1,"metrics":{"a":null}}"#, Some("x")),
            (r#"{"id":"x","score":1,"metric":{}}"#, Some("x")),
            (r#"{"score":1}"#, None),
            ("hello", None),
        ] {
            assert_eq!(read(line).unwrap_err().0.as_deref(), id, "{line}");
        }
    }
}
