//! The optimizer's user attacks from its own container.

use taskwright_testing::test;

use crate::stage::{Stage, shows_nothing};
use crate::task::HONEST;

#[test]
fn the_optimizers_container_holds_no_label_and_no_secret() {
    let stage = Stage::set();
    stage.commit(HONEST);
    stage.taskwright("eval --split validation", 0);
    stage.taskwright("eval --split train --samples 3", 0);
    shows_nothing(&stage.agent("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'").out);
    let search =
        "grep -rlaE 'LABEL-d41c5b|SECRET-9f8e7a' /workspace /tmp /home /run /var /etc /opt /srv 2>/dev/null";
    assert_eq!(stage.agent(search).out, "");
    // Every port of the sidecar that answers, and everything that it says.
    let scan = "python3 - <<'X'\nimport socket\nfor port in list(range(1, 10000)) + [11434, 50051]:\n    s = socket.socket()\n    s.settimeout(20)\n    if s.connect_ex(('eval-sidecar', port)) == 0: print(port)\n    s.close()\nX";
    assert_eq!(stage.agent(scan).out.trim(), "8700");
    for path in [
        "health",
        "plan",
        "status",
        "evaluations",
        "evaluations/e1",
        "evaluations/e1/events",
        "evaluations/e2/samples",
    ] {
        let fetch = format!(
            "python3 -c \"import urllib.request as r; print(r.urlopen('http://eval-sidecar:8700/v1/{path}').read())\""
        );
        let ran = stage.agent(&fetch);
        assert_eq!(ran.status, 0, "{path}: {}", ran.err);
        shows_nothing(&ran.out);
        assert!(!ran.out.contains("test-0"), "{path}: {}", ran.out);
    }
}

#[test]
fn refusals_have_their_exit_status_and_a_hint() {
    let stage = Stage::set();
    stage.commit(HONEST);
    let refused = |arguments: &str, status: i32, words: &str| {
        let ran = stage.agent(&format!("taskwright {arguments}"));
        assert_eq!(ran.status, status, "{arguments}: {}", ran.err);
        assert!(ran.err.contains(words), "{arguments}: {}", ran.err);
    };
    refused("eval --split test", 3, "held out");
    refused("eval --split validation --samples 1", 3, "at least 5");
    // The same whether there is one of the name or not.
    for name in ["validation-0", "made-up"] {
        refused(&format!("eval --split validation --samples {name}"), 3, "at least 5");
        refused(&format!("eval --split test --samples {name}"), 3, "held out");
    }
    refused("eval --split train --samples a,b,c,d,e", 2, "no sample");
    refused("eval --split train --samples train-0,train-0", 2, "twice");
    refused("eval --split nowhere", 2, "no split");
    refused("eval", 2, "--split");
    refused("results show e99", 2, "no evaluation");
    refused("eval --split train --commit nonsense", 2, "no commit");
    let gone = stage.agent("TASKWRIGHT_URL=http://127.0.0.1:1 taskwright status");
    assert_eq!(gone.status, 4, "{}", gone.err);
    assert_eq!(stage.taskwright("status", 0)["evaluations"], 0);
}

#[test]
fn overlapping_subsets_are_answered_in_whole_blocks_and_the_budget_ends() {
    let stage = Stage::set();
    stage.commit(HONEST);
    let sizes: Vec<u64> = (6..12)
        .map(|count| {
            let evaluation = stage.taskwright(&format!("eval --split validation --samples {count}"), 0);
            evaluation["samples"].as_u64().unwrap()
        })
        .collect();
    assert!(sizes.iter().all(|size| size % 5 == 0), "{sizes:?}");
    for number in 0..8 {
        stage.commit(&format!("{HONEST}\n# {number}\n"));
        stage.agent("taskwright eval --split validation --samples 15");
    }
    let status = stage.taskwright("status", 0);
    let used = &status["budgets"]["validation"];
    assert!(
        used["runs_used"].as_u64().unwrap() <= 6 && used["samples_used"].as_u64().unwrap() <= 60,
        "{status}"
    );
    stage.commit(&format!("{HONEST}\n# more\n"));
    stage.taskwright("eval --split validation", 3);
}

/// Opens many connections and asks on all of them before it reads any answer; counts the answers.
const AT_ONCE: &str = r#"
import collections, json, socket, sys
def request(n):
    body = json.dumps({"commit": sys.argv[1], "split": "validation", "samples": {"count": 5 + n % 16}})
    return f"POST /v1/evaluations HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()
where = (socket.gethostbyname("eval-sidecar"), 8700)
sockets = [socket.create_connection(where, 60) for _ in range(1000)]
for n, s in enumerate(sockets): s.sendall(request(n))
answers = collections.Counter()
for s in sockets:
    text = b""
    while piece := s.recv(65536): text += piece
    answers[text.split()[1].decode()] += 1
print(json.dumps(answers))
"#;

#[test]
fn a_thousand_requests_at_once() {
    let stage = Stage::set();
    stage.commit(HONEST);
    stage.taskwright("eval --split train --samples 1", 0);
    stage.write("/tmp/at-once.py", AT_ONCE);
    let ran = stage.agent("ulimit -n 4096; python3 /tmp/at-once.py $(git rev-parse HEAD)");
    let answers: std::collections::BTreeMap<String, u64> =
        serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}{}", ran.out, ran.err));
    assert_eq!(answers.values().sum::<u64>(), 1000, "{answers:?}");
    assert!(answers.keys().all(|status| ["201", "403", "429"].contains(&status.as_str())), "{answers:?}");
    // Four blocks make four sets; each was given to many and paid for once.
    stage.agent("taskwright wait");
    let status = stage.taskwright("status", 0);
    assert_eq!(status["budgets"]["validation"]["samples_used"], 20, "{status}");
    assert!(status["budgets"]["validation"]["runs_used"].as_u64().unwrap() <= 6, "{status}");
    assert_eq!(stage.taskwright("eval --split validation", 0)["score"], 1.0);
}

/// Opens connections of one kind after the other, all of them at once, and keeps them open: bodies that are sent half, and
/// answers that nobody reads.
const LOAD: &str = r#"
import socket, threading, time
half = b"POST /v1/%s HTTP/1.1\r\nhost: x\r\ncontent-length: 4194304\r\n\r\n"
unread = b"GET /v1/%s HTTP/1.1\r\nhost: x\r\n\r\n"
kinds = [half % b"submit", half % b"evaluations", unread % b"evaluations/e1/samples", unread % b"plan"]
opened = []
def one(kind):
    s = socket.socket()
    s.settimeout(20)
    try:
        s.connect(("eval-sidecar", 8700))
        s.sendall(kind)
        if kind.startswith(b"POST"): s.sendall(b" " * 4194303)
        opened.append(s)
    except OSError: pass
for kind in kinds:
    threads = [threading.Thread(target=one, args=(kind,)) for _ in range(400)]
    for t in threads: t.start()
    for t in threads: t.join()
    for s in opened: s.close()
    opened.clear()
"#;

#[test]
fn a_small_sidecar_bears_whatever_is_sent_and_left_unread() {
    let stage = Stage::set();
    stage.limit_memory(512);
    // Results that take some room: 16 kB of each sample.
    stage.commit(
        &HONEST.replace("import json", "import sys; print('x' * 100_000, file=sys.stderr)\nimport json"),
    );
    stage.taskwright("eval --split train", 0);
    stage.taskwright("eval --split validation", 0);
    stage.taskwright("submit", 0);
    stage.write("/tmp/load.py", LOAD);
    stage.agent("ulimit -n 4096; python3 /tmp/load.py");
    assert_eq!(stage.restarts(), 0);
    let most = stage.in_sidecar("grep VmHWM /proc/$(pidof taskwright)/status").out;
    let kilobytes: u64 = most.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(u64::MAX);
    assert!(kilobytes < 200 << 10, "{most}");
    stage.healthy();
    let (verdict, reward) = stage.finalize();
    assert_eq!((reward["reward"].as_f64(), &verdict["winner"]["by"]), (Some(1.0), &"submit".into()));
}

#[test]
fn tiny_files_are_charged_with_what_they_take_of_the_disk() {
    let options = ["--opt", "type=tmpfs", "--opt", "device=tmpfs", "--opt", "o=size=128m"];
    let stage = Stage::set_with(&options, |_| ());
    stage.commit(HONEST);
    stage.taskwright("submit", 0);
    // A pack of some hundred kilobytes that would take 80 MB.
    let tiny = "git checkout -q -B tiny main; mkdir -p t; \
                python3 -c 'for i in range(20000): open(f\"t/{i}\", \"w\").write(str(i))'; git add -A; \
                git -c user.name=a -c user.email=a@b commit -qm tiny; taskwright eval --split train";
    let refused = stage.agent(tiny);
    assert_eq!(refused.status, 3, "{}{}", refused.out, refused.err);
    assert!(refused.err.contains("objects take more than the"), "{}", refused.err);
    // And what goes on until nothing is taken any more.
    let toggle = "for i in $(seq 200); do for c in HEAD HEAD~1; do taskwright submit $c > /dev/null || exit 0; done; done";
    stage.agent(&format!("git checkout -q main; {toggle}; taskwright submit main"));
    let (verdict, reward) = stage.finalize();
    assert_eq!((reward["reward"].as_f64(), &verdict["winner"]["by"]), (Some(1.0), &"submit".into()));
}

#[test]
fn a_full_disk_keeps_nobody_from_being_judged() {
    let options = ["--opt", "type=tmpfs", "--opt", "device=tmpfs", "--opt", "o=size=110m"];
    let stage = Stage::set_with(&options, |_| ());
    stage.commit(HONEST);
    stage.taskwright("eval --split validation", 0);
    stage.taskwright("submit", 0);
    let fill = "git checkout -q -B fill main; head -c 8000000 /dev/urandom > noise; git add -A; \
                git -c user.name=a -c user.email=a@b commit -qm noise; taskwright eval --split train";
    let ran: Vec<crate::stage::Ran> = (0..6).map(|_| stage.agent(fill)).collect();
    let said = |ran: &crate::stage::Ran| format!("{}: {}", ran.status, ran.err);
    assert_eq!(ran[0].status, 0, "{}", said(&ran[0]));
    let last = &ran[5];
    assert!(
        last.status == 3 && last.err.contains("keeps") && last.err.contains("MiB free for the end"),
        "{}",
        said(last)
    );
    // What was made before is still there, and counts.
    stage.agent("git checkout -q main");
    assert_eq!(stage.taskwright("eval --split validation", 0)["score"], 1.0);
    stage.taskwright("submit", 0);
    let (verdict, reward) = stage.finalize();
    assert_eq!((reward["reward"].as_f64(), &verdict["winner"]["by"]), (Some(1.0), &"submit".into()));
    assert_eq!(verdict["evidence"].as_object().unwrap().len(), 3, "{verdict}");
}

#[test]
fn the_same_candidate_has_the_same_score_however_often_it_is_asked_for() {
    let again = |config: &mut serde_json::Value| {
        config["selection"] = serde_json::json!({ "split": "validation", "policy": "auto_best",
            "rescore_top_k": 1, "rescore_attempts": 10 });
    };
    let stage = Stage::set_with(&[], again);
    // Right for some of the samples, so that the score is no round number.
    stage.commit(&HONEST.replace("* 2", "* (2 if row['input']['x'] % 3 else 0)"));
    let first = stage.taskwright("eval --split validation", 0);
    for _ in 0..9 {
        // From the record.
        let again = stage.taskwright("eval --split validation", 0);
        assert_eq!((&again["id"], &again["score"]), (&first["id"], &first["score"]));
    }
    // Not from the record: finalizing runs it ten times more.
    let (verdict, _) = stage.finalize();
    let ranked = &verdict["ranking"][0];
    assert_eq!((&ranked["score"], &ranked["rescored"]), (&first["score"], &first["score"]), "{verdict}");
    let evaluations = stage.in_sidecar("cat /evidence/evaluations.jsonl").out;
    let run: Vec<&str> = evaluations.lines().filter(|line| line.contains("rescore attempt")).collect();
    assert_eq!(run.len(), 10);
    let score = format!("\"score\":{}", first["score"]);
    assert!(run.iter().all(|line| line.contains(&score) && line.contains("\"recorded\":0")), "{run:#?}");
}

#[test]
fn forged_results_and_evidence_change_nothing() {
    let stage = Stage::set();
    stage.commit(HONEST);
    stage.taskwright("eval --split train", 0);
    stage.agent(
        "mkdir -p /tmp/evidence .git/taskwright; echo '{\"id\":\"e9\",\"score\":99}' >> .git/taskwright/evaluations.jsonl; \
         mkdir -p evidence; echo '{\"reward\":99}' > evidence/reward.json; \
         git -c user.name=a -c user.email=a@b add -A; git -c user.name=a -c user.email=a@b commit -qm forged",
    );
    for path in ["finalize", "archive", "seal", "admin", "../admin", "%2e%2e/finalize"] {
        let post = format!(
            "python3 -c \"import urllib.request as r; r.urlopen(r.Request('http://eval-sidecar:8700/v1/{path}', data=b'{{}}', method='POST'))\""
        );
        assert_ne!(stage.agent(&post).status, 0, "{path}");
    }
    assert_ne!(stage.agent("taskwright finalize").status, 0);
    assert_ne!(stage.agent("taskwright serve").status, 0);
    assert_eq!(stage.taskwright("status", 0)["sealed"], false);
    let (verdict, reward) = stage.finalize();
    // It was only evaluated where candidates are not ranked, and nothing was submitted.
    assert_eq!(verdict["winner"]["by"], "baseline");
    assert_eq!(reward["reward"], 0.0);
    assert_eq!(stage.agent("taskwright submit").status, 3);
}
