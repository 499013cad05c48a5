//! Mode A whose candidates ask a language model: `small-questions`, with an upstream that is scripted.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Output;

use serde_json::{Value, json};
use taskwright_testing::test;

const KEY: &str = "sk-scripted-upstream-81c4f0";
const COLOURS: [&str; 6] = ["red", "green", "blue", "black", "white", "yellow"];

/// A model that names the colour where it was shown how, and chatters otherwise. For as long as the process lives.
fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(&stream));
        }
    });
    address
}

fn answer(mut stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut is_ours) = (0, false);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim().to_owned();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        is_ours |= line.ends_with(&format!("Bearer {KEY}"));
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let asked: Value = serde_json::from_slice(&body).ok()?;
    let messages = asked["messages"].as_array()?;
    let sentence = messages.last()?["content"].as_str()?;
    let mut words = sentence.split(|letter: char| !letter.is_ascii_alphabetic());
    let colour = words.find(|word| COLOURS.contains(word))?;
    let text = if messages.len() > 1 { colour.to_owned() } else { format!("It names the colour {colour}.") };
    let answer = json!({
        "object": "chat.completion", "model": asked["model"],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 2, "total_tokens": 22},
    })
    .to_string();
    let status = if is_ours { "200 OK" } else { "401 Unauthorized" };
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close");
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{answer}", answer.len()).ok()
}

fn eval(arguments: &[&str], upstream: SocketAddr) -> Output {
    super::eval(&[&["small-questions", "--split", "validation", "--json"], arguments].concat())
        .env("OPENAI_BASE_URL", format!("http://{upstream}/v1"))
        .env("OPENAI_API_KEY", KEY)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn candidates_in_the_sandbox_ask_through_the_gateway() {
    let upstream = upstream();
    for (candidate, mean) in [("baseline", 0.0), ("solution", 1.0)] {
        let candidate = if candidate == "baseline" { &[][..] } else { &["--candidate", candidate] };
        let output = eval(&[&["--fresh"], candidate].concat(), upstream);
        let said = said(&output);
        assert!(output.status.success(), "{said}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["splits"][0]["aggregate"]["mean"], mean, "{answer}");
        assert!(said.contains("models: 6 requests, 120 tokens in, 12 out"), "{said}");
        // What was asked of a model is answered from the record like everything else.
        let again = eval(candidate, upstream);
        let again: Value = serde_json::from_slice(&again.stdout).unwrap();
        assert_eq!(again["splits"][0]["recorded"], 6, "{again}");
    }
}

/// The solution, changed in one place, in a folder of its own.
fn changed(place: &str, to: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let task = super::harbor_tasks().join("small-questions");
    std::fs::copy(task.join("baseline/model.py"), folder.path().join("model.py")).unwrap();
    let program = std::fs::read_to_string(task.join("solution/answer.py")).unwrap();
    let other = program.replace(place, to);
    assert_ne!(other, program);
    std::fs::write(folder.path().join("answer.py"), other).unwrap();
    folder
}

#[test]
fn a_candidate_for_which_nothing_is_left_has_no_score() {
    // 300 requests are what all samples may make together.
    let greedy = "for _ in range(60): text = ask(";
    let folder = changed("text = ask(", greedy);
    let output = eval(&["--fresh", "--candidate", folder.path().to_str().unwrap()], upstream());
    let said = said(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("refused: what candidates may use of language models is spent"), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    // What was finished before is kept, and nothing of what could not be asked for.
    let output = eval(&["--candidate", folder.path().to_str().unwrap()], upstream());
    let again: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(again["splits"][0]["aggregate"]["mean"], 1.0, "{again}");
    assert!(matches!(again["splits"][0]["recorded"].as_u64(), Some(1..=5)), "{again}");
}

#[test]
fn an_upstream_that_is_not_there_is_no_failure_of_the_candidate() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // Not the solution itself, whose record another test begins anew.
    let folder = changed("import json", "import json  # as ever");
    let candidate = ["--candidate", folder.path().to_str().unwrap()];
    let output = eval(&[&["--fresh"], &candidate[..]].concat(), gone);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the upstream cannot be reached"), "{said}");
    // And nothing of it answers the next call.
    let output = eval(&candidate, upstream());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["splits"][0]["aggregate"]["mean"], 1.0, "{answer}");
}
