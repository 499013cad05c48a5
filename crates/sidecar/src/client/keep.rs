//! Results as files in the optimizer's repository: added, never rewritten, out of git's sight.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use taskwright_base::{Result, failed, write};

use super::failure::Failure;
use super::remote::{Remote, evaluation_path};
use super::repository;
use crate::api::{Evaluation, SampleView, State};

/// Keeps a finished evaluation, unless it is kept already. That it cannot be kept is said but harms nothing.
pub fn keep(service: &Remote, evaluation: &Evaluation) {
    if evaluation.state != State::Done {
        return;
    }
    let Ok(folder) = repository::folder() else { return };
    if let Err(error) = add(service, evaluation, &folder) {
        eprintln!("the result is not kept in `{}`: {error}", folder.display());
    }
}

fn add(service: &Remote, evaluation: &Evaluation, folder: &Path) -> Result<()> {
    let path = folder.join(format!("{}.jsonl", evaluation.id));
    let mut line = Vec::new();
    let is_new = write::first_with(&path, |out| {
        serde_json::to_writer(&mut line, evaluation)?;
        line.push(b'\n');
        out.write_all(&line)?;
        samples(service, evaluation, out)
    })?;
    if !is_new {
        return Ok(());
    }
    let list = folder.join("evaluations.jsonl");
    let opened = OpenOptions::new().append(true).create(true).open(&list);
    opened.and_then(|mut file| file.write_all(&line)).map_err(failed("writing", &list))
}

fn samples(service: &Remote, evaluation: &Evaluation, out: &mut dyn Write) -> io::Result<()> {
    let path = evaluation_path(&evaluation.id).map_err(|failure| io::Error::other(failure.to_string()))?;
    let mut written = Ok(());
    let streamed = service.stream(&format!("{path}/samples"), |sample: SampleView| {
        written = serde_json::to_writer(&mut *out, &sample)
            .map_err(io::Error::from)
            .and_then(|()| out.write_all(b"\n"));
        written.is_ok()
    });
    match streamed {
        // A split that does not show its samples refuses; then the evaluation is all there is.
        Ok(()) | Err(Failure::Problem(_)) => written,
        // Kept by whoever asks next, and complete.
        Err(failure) => Err(io::Error::other(failure.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;
    use std::time::Duration;
    use taskwright_testing::test;

    use super::*;

    /// A service that answers each connection with the next of these, and closes it.
    fn answering(answers: Vec<&'static str>) -> Remote {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 4096]);
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        Remote::at(&url, Some(Duration::from_mins(1)))
    }

    #[test]
    fn samples_that_break_off_are_not_kept_and_a_later_attempt_keeps_them() {
        let evaluation: Evaluation = serde_json::from_value(serde_json::json!({
            "id": "e1", "commit": "c", "tree": "t", "split": "train", "state": "done", "samples": 1, "finished": 1,
            "recorded": 0, "charged": { "runs": 1, "samples": 1 }, "score": 1.0, "eligible": true, "scored": 1,
            "created": 0, "seconds": 0.1
        }))
        .unwrap();
        let sample = "{\"id\":\"a\",\"score\":1.0,\"seconds\":0.1}\n";
        let broken =
            "HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{\"id\":\"a\",\"score\":1.0,\"seconds\":0.1}\n";
        let complete = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{sample}", sample.len());
        let service = answering(vec![broken, complete.leak()]);
        let folder = tempfile::tempdir().unwrap();
        assert!(add(&service, &evaluation, folder.path()).is_err());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
        add(&service, &evaluation, folder.path()).unwrap();
        add(&service, &evaluation, folder.path()).unwrap();
        let lines = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap().lines().count();
        assert_eq!((lines("e1.jsonl"), lines("evaluations.jsonl")), (2, 1));
    }
}
