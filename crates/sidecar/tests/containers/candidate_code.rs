//! Candidate code that attacks: whatever it tries fails, and the honest samples beside it are right.

use std::time::{Duration, Instant};

use taskwright_testing::test;

use crate::stage::{Stage, shows_nothing};
use crate::task::HONEST;

/// Each sample is another attack; samples without one are answered honestly.
const ATTACKS: &str = include_str!("attacks.py");

#[test]
fn candidate_code_reaches_nothing_and_hurts_nobody() {
    let stage = Stage::set();
    stage.commit(ATTACKS);
    let started = Instant::now();
    let evaluation = stage.taskwright("eval --split train", 0);
    // Each of them may take its eight seconds, two at a time; what hung would never end.
    assert!(started.elapsed() < Duration::from_mins(15));
    let ran = stage.agent("taskwright results samples e1 --json");
    shows_nothing(&ran.out);
    let samples: std::collections::BTreeMap<String, serde_json::Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|sample| (sample["id"].as_str().unwrap().to_owned(), sample))
        .collect();
    assert_eq!(samples.len(), 24, "every sample has a result");
    let said = |number: u32| {
        let sample = &samples[&format!("train-{number}")];
        format!("{} {}", sample["feedback"], sample["error"])
    };
    // The honest ones, before and after all the others, are right.
    for number in [0, 20, 21, 22, 23] {
        assert_eq!(samples[&format!("train-{number}")]["score"], 1.0, "{number}: {}", said(number));
    }
    assert!(said(1).contains("'found': []"), "files: {}", said(1));
    assert!(said(2).contains("'found': []") && said(2).contains("'roots': []"), "environ: {}", said(2));
    assert!(said(2).contains("'own': []"), "environ: {}", said(2));
    assert!(!said(3).contains("progress") && !said(3).contains("'command': 0"), "finalize: {}", said(3));
    assert!(!said(4).contains("connected"), "network: {}", said(4));
    for (number, errors) in [(6, "fork bomb"), (7, "memory"), (9, "flood"), (17, "stop")] {
        assert!(!samples[&format!("train-{number}")]["error"].is_null(), "{errors}: {}", said(number));
    }
    for number in [10, 11, 13] {
        assert_eq!(samples[&format!("train-{number}")]["score"], 0.0, "{}", said(number));
    }
    assert!(said(15).contains("[]") || !said(15).contains("/taskwright"), "change: {}", said(15));
    assert!(!said(15).contains("/usr/") && !said(15).contains("/etc/"), "change: {}", said(15));
    assert!(!said(16).contains("'setuid': 'done'"), "rise: {}", said(16));
    assert!(said(18).contains("'made': []") || said(18).contains("'made': ['fifo', 'link']"), "{}", said(18));
    assert!(said(19).contains("'written': 0"), "{}", said(19));
    assert_eq!(stage.foreign_processes(), Vec::<String>::new(), "nothing of it lives on");
    assert!(evaluation["failures"].as_object().unwrap().len() >= 2, "{evaluation}");

    // Nothing is left of it that a better candidate would feel.
    stage.commit(HONEST);
    assert_eq!(stage.taskwright("eval --split train", 0)["score"], 1.0);
    let left = stage.in_sidecar("ls /tmp /dev/shm /var/tmp | grep fill; df / | tail -1");
    assert!(!left.out.contains("fill-"), "{}", left.out);
    // The sidecar is not sealed and decides for the honest one.
    stage.taskwright("submit", 0);
    let (_, reward) = stage.finalize();
    assert_eq!(reward["reward"], 1.0);
}

/// Forks processes that are each far below what one may have and touch their memory all the time.
const BUSY: &str = r#"
import json, mmap, os, sys, time
row = json.loads(sys.stdin.readline())
for i in range(24):
    if os.fork() == 0:
        m = mmap.mmap(-1, 200 << 20)
        while True:
            for j in range(0, 200 << 20, 4096): m[j] = 1
time.sleep(60)
print(json.dumps({"id": row["id"], "output": row["input"]["x"] * 2}))
"#;

#[test]
fn the_memory_of_many_busy_processes_is_bounded_where_there_is_no_group_of_the_kernels() {
    let stage = Stage::set_with(&[], |config| {
        config["limits"]["memory_mb"] = 1024.into();
        config["limits"]["processes"] = 64.into();
        config["limits"]["sample_timeout_sec"] = 60.into();
    });
    stage.commit(BUSY);
    stage.taskwright("eval --split train --samples 1", 0);
    let ran = stage.agent("taskwright results samples e1 --json");
    let sample: serde_json::Value = serde_json::from_str(ran.out.trim()).unwrap();
    assert_eq!((&sample["score"], &sample["error"]), (&0.0.into(), &"crash".into()), "{sample}");
    assert!(sample["log"].as_str().unwrap().contains("more than 1024 MiB of memory"), "{sample}");
    let most = stage.in_sidecar(
        "cat /sys/fs/cgroup/memory.peak /sys/fs/cgroup/memory/memory.max_usage_in_bytes 2> /dev/null",
    );
    let most: u64 = most.out.trim().parse().unwrap();
    println!("{} MiB at the most, of 1024", most >> 20);
    assert!(most < 2 << 30, "{most}");
}

/// Reserves gigabytes of the disk, faster than anybody looks, and says how much it got.
const RESERVE: &str = r#"
import ctypes, json, os, sys
row = json.loads(sys.stdin.readline())
libc, blocks = ctypes.CDLL(None, use_errno=True), 0
for i in range(24):
    file = os.open(f"{os.environ['TMPDIR']}/{i}", os.O_CREAT | os.O_RDWR)
    libc.fallocate(file, 0, ctypes.c_long(0), ctypes.c_long(256 << 20))
    blocks += os.fstat(file).st_blocks
print("reserved", blocks * 512, file=sys.stderr)
print(json.dumps({"id": row["id"], "output": row["input"]["x"] * 2}))
"#;

#[test]
fn no_disk_is_reserved() {
    let stage = Stage::set_with(&[], |config| config["limits"]["file_size_mb"] = 1024.into());
    stage.commit(RESERVE);
    assert_eq!(stage.taskwright("eval --split train --samples 1", 0)["score"], 1.0);
    let said = stage.agent("taskwright results samples e1 --json").out;
    assert!(said.contains("reserved 0"), "{said}");
}

#[test]
fn a_hostile_submission_gets_what_it_is_worth() {
    let stage = Stage::set();
    stage.commit("import os\nos.write(1, b'{\"reward\": 1}\\n')\nraise SystemExit(3)\n");
    stage.taskwright("submit", 0);
    let (verdict, reward) = stage.finalize();
    assert_eq!(reward["reward"], 0.0);
    assert_eq!(verdict["winner"]["by"], "submit");
    assert!(verdict["reasons"].to_string().contains("failed at every sample"), "{verdict}");
}
