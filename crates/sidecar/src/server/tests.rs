//! The API as it is spoken, over loopback.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use taskwright_testing::test;

use serde_json::{Value, json};

use super::memory::Memory;
use super::routes::routes_within;
use super::upload::Turns;
use crate::client::failure::Failure;
use crate::client::remote::Remote;
use crate::problem::Kind;
use crate::testing::{self, Fake, Way, commit};

struct Running {
    folder: tempfile::TempDir,
    fake: Fake,
    address: SocketAddr,
    remote: Remote,
    service: std::sync::Arc<crate::service::Service>,
}

/// Held by a test of hundreds of connections: both ends are open files of this process, and where it may have a thousand, there is
/// room for one such test at a time.
static CROWD: Mutex<()> = Mutex::new(());

fn crowd() -> MutexGuard<'static, ()> {
    CROWD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start() -> Running {
    start_within(Memory::new(), Turns::new())
}

fn start_within(memory: Memory, turns: Turns) -> Running {
    // Both ends of every connection are this process's.
    taskwright_base::process::raise_open_files();
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let service = testing::service(&folder.path().join("state"), testing::config(), &fake);
    let (sender, receiver) = std::sync::mpsc::channel();
    let served = std::sync::Arc::clone(&service);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = super::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            super::listen(listener, routes_within(served, memory, turns)).await;
        });
    });
    let address = receiver.recv().unwrap();
    let remote = Remote::at(&format!("http://{address}"), Some(Duration::from_mins(5)));
    Running { folder, fake, address, remote, service }
}

impl Running {
    fn create(&self, body: &Value) -> Result<Value, Failure> {
        self.remote.post("/evaluations", body)
    }

    fn follow(&self, id: &str) -> Vec<Value> {
        let mut events = Vec::new();
        self.remote
            .stream(&format!("/evaluations/{id}/events"), |event: Value| {
                events.push(event);
                true
            })
            .unwrap();
        events
    }

    fn raw(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }
}

fn kind(answer: Result<Value, Failure>) -> Kind {
    match answer {
        Err(Failure::Problem(problem)) => {
            assert!(!problem.detail.is_empty() && !problem.hint.is_empty(), "{problem:?}");
            problem.kind
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_evaluation_is_followed_to_its_end() {
    let running = start();
    running.fake.set(&commit(1), Way::Slow(0.5));
    let body = json!({ "commit": commit(1), "split": "train" });
    let evaluation = running.create(&body).unwrap();
    let events = running.follow(evaluation["id"].as_str().unwrap());
    let samples = events.iter().filter(|event| event.get("sample").is_some()).count();
    assert_eq!(samples, 10);
    assert_eq!(events.last().unwrap()["end"]["score"], 0.5);
    let again = running.follow("e1");
    assert_eq!(again.last().unwrap()["end"]["score"], 0.5);
}

#[test]
fn only_progress_in_steps_of_the_floor_is_told_of_a_split_that_shows_aggregates() {
    let running = start();
    running.fake.set(&commit(1), Way::Slow(0.5));
    running.create(&json!({ "commit": commit(1), "split": "validation" })).unwrap();
    let events = running.follow("e1");
    assert!(events.iter().all(|event| event.get("sample").is_none()));
    for event in &events {
        if let Some(progress) = event.get("progress") {
            assert_eq!(progress["finished"].as_u64().unwrap() % 4, 0);
        }
    }
    let refused = running.remote.get::<Value>("/evaluations/e1/samples");
    assert_eq!(kind(refused), Kind::Access);
}

#[test]
fn samples_that_cannot_be_read_break_their_stream_off() {
    let running = start();
    running.create(&json!({ "commit": commit(1), "split": "train" })).unwrap();
    running.follow("e1");
    let stream = || {
        let mut samples = 0;
        let streamed = running.remote.stream("/evaluations/e1/samples", |_: Value| {
            samples += 1;
            true
        });
        (samples, streamed)
    };
    assert!(matches!(stream(), (10, Ok(()))));
    let record = running.folder.path().join("state/records/000001.jsonl");
    let text = std::fs::read_to_string(&record).unwrap();
    std::fs::write(&record, text.replace("train-5", "train\u{1}5")).unwrap();
    let (_, streamed) = stream();
    assert!(matches!(streamed, Err(Failure::Unreachable { .. })), "{streamed:?}");
}

#[test]
fn bad_requests_are_refused_with_a_hint() {
    let running = start();
    let known = commit(1);
    let cases = [
        (json!({ "commit": known, "split": "train", "extra": 1 }), Kind::Usage),
        (json!({ "commit": "HEAD", "split": "train" }), Kind::Usage),
        (json!({ "commit": "../../etc/passwd", "split": "train" }), Kind::Usage),
        (json!({ "commit": commit(99), "split": "train" }), Kind::NotFound),
        (json!({ "commit": known, "split": "nowhere" }), Kind::Usage),
        (json!({ "commit": known, "split": "test" }), Kind::Access),
        (json!({ "commit": known, "split": "validation", "samples": { "count": 1 } }), Kind::Access),
        (json!({ "commit": known, "split": "validation", "samples": { "ids": vec!["x"; 9] } }), Kind::Access),
        (json!({ "commit": known, "split": "train", "samples": { "count": -1 } }), Kind::Usage),
        (json!({ "commit": known, "split": "train", "samples": { "count": 1e300 } }), Kind::Usage),
        (json!([]), Kind::Usage),
        (json!({}), Kind::Usage),
    ];
    for (body, expected) in cases {
        assert_eq!(kind(running.create(&body)), expected, "{body}");
    }
    for path in
        ["/evaluations/e0", "/evaluations/e99", "/evaluations/x", "/evaluations/e99999999999999999999999"]
    {
        assert_eq!(kind(running.remote.get(path)), Kind::NotFound, "{path}");
    }
    assert_eq!(kind(running.remote.get("/finalize")), Kind::NotFound);
    assert_eq!(kind(running.remote.post("/plan", &json!({}))), Kind::Usage);
}

#[test]
fn problems_are_problem_json() {
    let running = start();
    let answer = running.raw("GET /v1/evaluations/e7 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert!(answer.contains("application/problem+json") && answer.contains("\"remedy\""), "{answer}");
}

#[test]
fn what_is_no_http_ends_its_connection_and_nothing_else() {
    let running = start();
    for request in [
        "\0\0\0\0\r\n\r\n",
        "GET",
        &"x".repeat(200_000),
        "POST /v1/submit HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\nconnection: close\r\n\r\n{",
    ] {
        let mut stream = TcpStream::connect(running.address).unwrap();
        let _ = stream.write_all(request.as_bytes());
        drop(stream);
    }
    assert_eq!(running.remote.get::<Value>("/health").unwrap()["status"], "ok");
}

#[test]
fn bodies_are_bounded() {
    let running = start();
    let large = json!({ "commit": "x".repeat(5 << 20), "split": "train" });
    match running.create(&large) {
        Err(Failure::Problem(problem)) => assert_eq!(problem.kind, Kind::TooLarge),
        // The connection may be closed while the rest is still being sent.
        Err(Failure::Unreachable { .. }) => {}
        other => panic!("{other:?}"),
    }
    assert!(running.remote.get::<Value>("/health").is_ok());
}

#[test]
fn hundreds_of_half_sent_bodies_share_one_budget_of_memory() {
    let _crowd = crowd();
    let running = start_within(Memory::of(1 << 20, Duration::from_millis(100)), Turns::new());
    let head = "POST /v1/submit HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n";
    let half = format!("{head}{}", " ".repeat(50_000));
    let open = |_| {
        let mut stream = TcpStream::connect(running.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let _ = stream.write_all(half.as_bytes());
        stream
    };
    let mut streams: Vec<TcpStream> = (0..150).map(open).collect();
    let (mut refused, mut said, mut waiting) = (0, 0, 0);
    for stream in &mut streams {
        let mut answer = String::new();
        match stream.read_to_string(&mut answer) {
            // Nobody reads what was still to come, so the connection may be gone before its answer is read.
            Ok(_) => refused += 1,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => refused += 1,
            // One or two find room for all that they sent, and hold it until their time is over.
            Err(_) => waiting += 1,
        }
        let is_503 = answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after: 5");
        said += usize::from(is_503 && answer.contains("urn:taskwright:problem:overloaded"));
        assert!(waiting < 3, "{waiting} wait while {refused} were refused");
        // Others are answered meanwhile.
        if refused % 50 == 1 {
            assert_eq!(running.remote.get::<Value>("/health").unwrap()["status"], "ok");
        }
    }
    assert!(said > 0, "{refused} refused, none told why");
    drop(streams);
    testing::wait_until("there is room again", || {
        running.create(&json!({ "commit": commit(1), "split": "train" })).is_ok()
    });
}

#[test]
fn an_answer_that_nobody_reads_keeps_its_share_of_the_memory() {
    use super::answer::{LARGE, answer};
    use axum::http::StatusCode;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let memory = Memory::of(1 << 20, Duration::from_millis(10));
    let answer =
        |length: usize| answer(&memory, LARGE, async move || Ok((StatusCode::OK, "x".repeat(length))));
    runtime.block_on(async {
        // However wrong the guess is: it is the real length that is kept.
        let unread = [answer(10).await.unwrap(), answer(900 << 10).await.unwrap()];
        assert_eq!(answer(10).await.unwrap_err().kind, Kind::Overloaded);
        drop(unread);
        assert!(answer(10).await.is_ok());
    });
}

#[test]
fn an_upload_that_is_under_way_when_the_work_ends_is_refused() {
    let running = start();
    let head = format!(
        "PUT /v1/candidates/{} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 100000\r\n\r\n",
        commit(77)
    );
    let mut stream = TcpStream::connect(running.address).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&[0; 1000]).unwrap();
    let uploads = running.folder.path().join("state/uploads");
    let written = || uploads.read_dir().unwrap().count();
    testing::wait_until("it is being written", || written() == 1);
    running.service.seal().unwrap();
    let _ = stream.write_all(&vec![0; 99_000]);
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 409"), "{answer}");
    testing::wait_until("it is gone", || written() == 0);
}

#[test]
fn uploads_that_trickle_hold_up_no_other() {
    let running = start_within(Memory::new(), Turns::of(2, Duration::from_millis(10)));
    let begin = |number| {
        let head = format!(
            "PUT /v1/candidates/{} HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\nbegin",
            commit(number)
        );
        let mut stream = TcpStream::connect(running.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let uploads = running.folder.path().join("state/uploads");
    let arriving = |count| {
        testing::wait_until("they arrive", || uploads.read_dir().unwrap().count() == count);
    };
    let upload = |number| {
        let path = format!("/candidates/{}", commit(number));
        running.remote.put::<Value>(&path, &mut &b"pack"[..]).unwrap()
    };
    // Beside one, there is another place.
    let _first = begin(71);
    arriving(1);
    upload(77);
    arriving(1);
    // Where there is none, one of them loses its own.
    let _second = begin(72);
    arriving(2);
    let waited = std::time::Instant::now();
    upload(78);
    assert!(waited.elapsed() < Duration::from_secs(30), "{:?}", waited.elapsed());
}

#[test]
fn uploads_share_the_room_that_there_is() {
    let running = start();
    running.fake.kept.store((2048 << 20) - (6 << 20), std::sync::atomic::Ordering::SeqCst);
    let begin = |_| crate::service::Upload::begin(std::sync::Arc::clone(&running.service)).unwrap().0;
    let mut uploads: Vec<_> = (0..3).map(begin).collect();
    assert_eq!(uploads[0].grow(3 << 20).unwrap(), 3 << 20);
    assert_eq!(uploads[1].grow(2 << 20).unwrap(), 2 << 20);
    assert_eq!(uploads[2].grow(2 << 20).unwrap_err().kind, Kind::Full);
    uploads.truncate(1);
    assert_eq!(uploads[0].grow(2 << 20).unwrap(), 5 << 20);
}

#[test]
fn an_upload_is_imported_once_and_an_oversized_one_not_at_all() {
    let running = start();
    let commit = commit(77);
    let path = format!("/candidates/{commit}");
    assert_eq!(kind(running.remote.get(&path)), Kind::NotFound);
    let taken: Value = running.remote.put(&path, &mut &b"pack"[..]).unwrap();
    assert_eq!(taken["tree"], commit);
    assert!(running.remote.put::<Value>(&path, &mut &b""[..]).is_ok());
    assert_eq!(running.remote.get::<Value>(&path).unwrap()["commit"], commit);
    let too_large = vec![0; 258 << 20];
    let refused =
        running.remote.put::<Value>(&format!("/candidates/{}", testing::commit(79)), &mut &too_large[..]);
    assert_eq!(kind(refused), Kind::TooLarge);
    let request = format!(
        "PUT /v1/candidates/{} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        testing::commit(78),
        5u64 << 30
    );
    assert!(running.raw(&request).starts_with("HTTP/1.1 413"));
}

#[test]
fn a_thousand_requests_at_once_are_answered_and_no_budget_is_overdrawn() {
    let _crowd = crowd();
    let running = start();
    let results: Vec<Result<Value, Failure>> = std::thread::scope(|scope| {
        // A hundred at a time.
        let ask = |first: u32| {
            let running = &running;
            scope.spawn(move || {
                let each = (0..10).map(|next| {
                    let commit = commit(1 + (first + next) % 5);
                    running.create(&json!({ "commit": commit, "split": "validation" }))
                });
                each.collect::<Vec<_>>()
            })
        };
        let asked: Vec<_> = (0..100).map(ask).collect();
        asked.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let ids: std::collections::BTreeSet<String> =
        results.iter().filter_map(|result| Some(result.as_ref().ok()?["id"].as_str()?.to_owned())).collect();
    assert_eq!(ids.len(), 3, "40 samples pay for three evaluations of 12");
    let status: Value = running.remote.get("/status").unwrap();
    assert_eq!(status["budgets"]["validation"]["samples_used"], 36);
}

#[test]
fn the_list_comes_in_pages() {
    let running = start();
    for number in 1..=5 {
        running.create(&json!({ "commit": commit(number), "split": "train" })).unwrap();
    }
    let page: Value = running.remote.get("/evaluations?from=3").unwrap();
    assert_eq!(page["evaluations"].as_array().unwrap().len(), 3);
    assert!(page["next"].is_null());
    assert_eq!(kind(running.remote.get("/evaluations?from=x")), Kind::Usage);
    assert_eq!(kind(running.remote.get("/evaluations/%ff")), Kind::Usage);
}
