//! How an evaluation goes: time, cancellation, batches, retries, broken scorers, what each sees.

use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::json;
use taskwright_eval::{
    Cancel, End, ErrorClass, EvaluationResult, IsolationMode, ModeA, Options, Outcome, Plan, RunErrorKind,
};
use taskwright_testing::{Need, not_run, test};

use crate::common::{self, HONEST, SCORER, Task, evaluate, shown, write};

fn kinds(result: &EvaluationResult) -> Vec<Option<RunErrorKind>> {
    let kind = |outcome: &Outcome| match outcome {
        Outcome::CandidateError { kind, .. } => Some(*kind),
        _ => None,
    };
    result.samples.iter().map(|sample| kind(&sample.outcome)).collect()
}

#[track_caller]
fn infrastructure(result: &EvaluationResult, class: ErrorClass, what: &str) {
    for sample in &result.samples {
        match &sample.outcome {
            Outcome::Infrastructure { class: found, message } => {
                assert_eq!(*found, class, "{message}");
                assert!(message.contains(what), "{message} lacks {what}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((result.end, result.aggregate.mean), (End::Failed, None));
}

#[test]
fn the_interpreter_of_a_virtual_environment_can_be_used() {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    let place = tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir().unwrap();
    let environment = place.path().join("venv");
    let made =
        Command::new("/usr/bin/python3").args(["-m", "venv", "--without-pip"]).arg(&environment).status();
    if !made.is_ok_and(|status| status.success()) {
        not_run(Need::System, "`/usr/bin/python3 -m venv` makes no virtual environment here");
    }
    let task = Task::new();
    let candidate =
        task.candidate("candidate", &format!("import sys\nassert 'venv' in sys.prefix\n{HONEST}"));
    let evaluator = task.open_with(&format!("{}/bin:/usr/bin:/bin", environment.display()));
    let result = evaluate(&evaluator, &candidate, &["a", "b"]);
    assert_eq!(result.aggregate.mean, Some(1.0), "{:?}", shown(&result));
}

#[test]
fn an_honest_evaluation() {
    for (batch, concurrency) in [(1, 1), (1, 2), (2, 2), (100, 4)] {
        let task = Task::new().set("scorer.batch", batch).set("limits.concurrency", concurrency);
        let evaluator = task.open();
        let candidate = task.candidate("candidate", HONEST);
        let samples = ["c", "a", "b"].map(str::to_owned);
        let observed = Mutex::new(Vec::new());
        let result = evaluator.evaluate(
            &Plan { candidate: &candidate, samples: &samples, models: None },
            &|sample| observed.lock().unwrap().push(sample.id.clone()),
            &Cancel::new(),
        );
        assert_eq!(result.end, End::Completed);
        assert_eq!(
            result.samples.iter().map(|sample| sample.id.as_str()).collect::<Vec<_>>(),
            ["c", "a", "b"]
        );
        assert_eq!((result.aggregate.mean, result.aggregate.standard_error), (Some(1.0), Some(0.0)));
        assert_eq!((result.aggregate.planned, result.aggregate.scored), (3, 3));
        assert_eq!(result.aggregate.metrics.get("n"), Some(&1.0));
        assert_eq!(result.samples[0].score().unwrap().feedback.as_deref(), Some("right"));
        let mut observed = observed.into_inner().unwrap();
        observed.sort();
        assert_eq!(observed, ["a", "b", "c"]);
        let text = serde_json::to_string(&result).unwrap();
        assert_eq!(serde_json::from_str::<EvaluationResult>(&text).unwrap(), result);
    }
}

#[test]
fn in_a_container_nothing_is_missing() {
    let evaluator = Task::new().open();
    if common::is_root() {
        assert!(evaluator.gaps().iter().all(|gap| gap.name != "user"), "{:?}", evaluator.gaps());
    } else {
        assert_eq!(evaluator.gaps()[0].name, "user");
    }
}

#[test]
fn a_batch_keeps_what_was_answered() {
    let task = Task::new().set("scorer.batch", 3);
    let crash = "import json, sys\nfor i, line in enumerate(sys.stdin):\n    r = json.loads(line)\n    \
                 if i == 1: print('broken', file=sys.stderr); sys.exit(5)\n    \
                 print(json.dumps({'id': r['id'], 'output': r['input']['x'] * 2}), flush=True)\n";
    let result = task.evaluate(crash);
    assert_eq!(kinds(&result), [None, Some(RunErrorKind::Crash), Some(RunErrorKind::Crash)]);
    assert!((result.aggregate.mean.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(result.samples[1].transcript, "broken\n");
    assert_eq!(result.samples[1].score().unwrap().feedback.as_deref(), Some("error crash"));
    let silent = task.evaluate(&crash.replace("sys.exit(5)", "continue"));
    assert_eq!(kinds(&silent), [None, Some(RunErrorKind::NoOutput), None]);
    let odd =
        task.evaluate(&crash.replace("sys.exit(5)", "print('{\"id\": \"b\", \"output\": NaN}'); continue"));
    assert_eq!(kinds(&odd), [None, Some(RunErrorKind::InvalidOutput), None]);
}

#[test]
fn the_time_of_a_batch_is_that_between_answers() {
    let task = Task::new().set("scorer.batch", 3).set("limits.sample_timeout_sec", 8);
    let slow =
        HONEST.replace("    print", "    import time; time.sleep(300 * (request['id'] == 'b'))\n    print");
    let slow = task.evaluate(&slow);
    assert_eq!(kinds(&slow), [None, Some(RunErrorKind::Timeout), Some(RunErrorKind::Timeout)]);
    // Nine seconds in all, and five to spare for each.
    let steady = task.evaluate(&HONEST.replace("    print", "    import time; time.sleep(3)\n    print"));
    assert_eq!(steady.aggregate.mean, Some(1.0), "{:#?}", shown(&steady));
}

#[test]
fn cancelling_keeps_what_is_finished() {
    let task = Task::new().set("limits.concurrency", 1);
    let evaluator = task.open();
    let candidate = task.candidate(
        "candidate",
        &HONEST.replace(
            "    print",
            "    import time; time.sleep((request['input']['x'] - 1) * 300)\n    print",
        ),
    );
    let samples = ["a", "b", "c"].map(str::to_owned);
    let cancel = Cancel::new();
    let start = Instant::now();
    let result = evaluator.evaluate(
        &Plan { candidate: &candidate, samples: &samples, models: None },
        &|sample| {
            if sample.id == "a" {
                cancel.cancel();
            }
        },
        &cancel,
    );
    // Not as long as the next one takes, or may take.
    assert!(start.elapsed() < Duration::from_secs(100));
    assert_eq!(result.end, End::Cancelled);
    assert_eq!(result.samples[0].value, Some(1.0));
    assert!(
        result.samples[1..].iter().all(|sample| sample.error_class() == Some(ErrorClass::Infrastructure))
    );
    let before = evaluator.evaluate(
        &Plan { candidate: &candidate, samples: &samples, models: None },
        &|_| {},
        &cancel,
    );
    assert_eq!((before.end, before.aggregate.infrastructure_errors), (End::Cancelled, 3));
}

#[test]
fn the_end_of_time_keeps_what_is_finished_and_counts_the_rest() {
    let task = Task::new()
        .set("limits.evaluation_timeout_sec", 8)
        .set("limits.concurrency", 1)
        .set("objective.failure_value", -1.0);
    let result = task.evaluate(
        &HONEST.replace("    print", "    if request['id'] != 'a': import time; time.sleep(300)\n    print"),
    );
    assert_eq!(result.end, End::TimedOut);
    assert_eq!(
        result.samples.iter().map(|sample| sample.value).collect::<Vec<_>>(),
        [Some(1.0), Some(-1.0), Some(-1.0)]
    );
    assert_eq!(result.aggregate.errors, [(ErrorClass::Timeout, 2)].into());
    assert!(result.seconds < 100.0, "{}", result.seconds);
    // What was answered counts, although one before it in the plan was not.
    let task = task.set("limits.concurrency", 3);
    let result = task.evaluate(
        &HONEST.replace("    print", "    if request['id'] == 'a': import time; time.sleep(300)\n    print"),
    );
    assert_eq!(
        result.samples.iter().map(|sample| sample.value).collect::<Vec<_>>(),
        [Some(-1.0), Some(1.0), Some(1.0)]
    );
}

#[test]
fn a_broken_scorer_is_not_the_candidates_fault() {
    let run = |scorer: &str| Task::new().scorer(scorer).evaluate(HONEST);
    let each = |print: &str| {
        run(&format!(
            "import json, sys, time\nfor line in sys.stdin:\n    r = json.loads(line)\n    {print}\n    sys.stdout.flush()\n"
        ))
    };
    infrastructure(
        &run("import sys; print('what a pity', file=sys.stderr); sys.exit(3)"),
        ErrorClass::Verifier,
        "what a pity",
    );
    let mute = Task::new().set("limits.sample_timeout_sec", 6).scorer("import time; time.sleep(300)");
    infrastructure(&mute.evaluate(HONEST), ErrorClass::Verifier, "did not answer in time");
    infrastructure(
        &run("import sys\nfor line in sys.stdin: pass\n"),
        ErrorClass::Verifier,
        "before it had answered",
    );
    infrastructure(&each("print('{\"id\": \"%s\", \"score\": NaN}' % r['id'])"), ErrorClass::Verifier, "NaN");
    infrastructure(
        &each("print('{\"id\": \"%s\", \"score\": 1e400}' % r['id'])"),
        ErrorClass::Verifier,
        "too large",
    );
    infrastructure(
        &each("print('{\"id\": \"%s\", \"score\": true}' % r['id'])"),
        ErrorClass::Verifier,
        "not usable",
    );
    infrastructure(&each("print('debug')"), ErrorClass::Verifier, "no answer: its line is not JSON");
    infrastructure(&each("print('{\"id\": \"x\", \"score\": 1}')"), ErrorClass::Verifier, "was not asked");
    let twice = each("print('{\"id\": \"a\", \"score\": 1}\\n' * 2)");
    assert_eq!((twice.end, twice.samples[0].value, twice.samples[1].value), (End::Failed, Some(1.0), None));
    assert!(shown(&twice)[1].contains("has answered before"), "{:#?}", shown(&twice));
    infrastructure(
        &each("print(json.dumps({'id': r['id'], 'score': None, 'feedback': 'no light'}))"),
        ErrorClass::Infrastructure,
        "no light",
    );
    let metric = Task::new().set("objective.metric", "speed").evaluate(HONEST);
    infrastructure(&metric, ErrorClass::Verifier, "no metric `speed`");
    let missing = Task::new().set("scorer.score", json!(["/no/such/program"])).evaluate(HONEST);
    infrastructure(&missing, ErrorClass::Infrastructure, "/no/such/program");
    let missing = Task::new().set("scorer.run", json!(["/no/such/program"])).evaluate(HONEST);
    infrastructure(&missing, ErrorClass::Infrastructure, "/no/such/program");
}

#[test]
fn a_program_of_the_candidates_that_is_missing_is_its_fault() {
    for program in ["{candidate}/gone", "./gone"] {
        let result = Task::new().set("scorer.run", json!([program])).evaluate(HONEST);
        assert_eq!(kinds(&result), [Some(RunErrorKind::Crash); 3], "{:#?}", shown(&result));
    }
}

#[test]
fn a_sandbox_that_cannot_be_set_up_is_not_the_candidates_fault() {
    use std::os::unix::fs::PermissionsExt;
    if !common::is_root() {
        not_run(
            Need::Root,
            "without root a candidate gets no user of its own, and there is little to set up",
        );
    }
    let task = Task::new().set("scorer.run", json!(["./run"]));
    let candidate = task.candidate("candidate", HONEST);
    let secret = task.folder.path().join("secret");
    // From some moment on the sandbox may not change user any more.
    let (marker, taskwright) = (secret.join("powerless"), secret.join("taskwright"));
    let real = common::TASKWRIGHT;
    let script = format!(
        "#!/bin/sh\nif [ -e {marker:?} ]; then set -- setpriv --bounding-set=-setuid,-setgid {real:?} \"$@\"; \
         else set -- {real:?} \"$@\"; fi\nexec \"$@\"\n"
    );
    for (path, text) in
        [(candidate.join("run"), "#!/bin/sh\nexec python3 main.py\n"), (taskwright.clone(), &script)]
    {
        write(&path, text);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let options = Options {
        serve: task.serve(),
        dataset: secret.join("dataset"),
        scorer: secret.join("scorer"),
        taskwright,
        runtime: task.folder.path().join("run"),
        isolation: IsolationMode::Required,
        path: Some("/usr/local/bin:/usr/bin:/bin".to_owned()),
        hidden: Vec::new(),
    };
    let evaluator = ModeA::open(options).unwrap();
    assert_eq!(evaluate(&evaluator, &candidate, &["a"]).aggregate.mean, Some(1.0));
    write(&marker, "");
    let result = evaluate(&evaluator, &candidate, &["a"]);
    infrastructure(&result, ErrorClass::Infrastructure, "cannot set up a sandbox");
}

#[test]
fn a_program_that_is_still_open_for_writing_is_waited_for() {
    use std::os::unix::fs::PermissionsExt;
    let task = Task::new().set("scorer.run", json!(["{candidate}/run"]));
    let candidate = task.candidate("candidate", HONEST);
    let program = candidate.join("run");
    write(&program, "#!/bin/sh\nexec python3 \"${0%/*}/main.py\"\n");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let evaluator = task.open();
    let result = std::thread::scope(|scope| {
        let writer = std::fs::File::options().append(true).open(&program).unwrap();
        let evaluation = scope.spawn(|| evaluate(&evaluator, &candidate, &["a"]));
        // As long as a process takes to start on a busy machine.
        std::thread::sleep(Duration::from_millis(700));
        drop(writer);
        evaluation.join().unwrap()
    });
    assert_eq!(result.aggregate.mean, Some(1.0), "{:#?}", shown(&result));
}

#[test]
fn few_failures_of_ours_do_not_fail_the_evaluation() {
    let scorer = SCORER
        .replace("    print", "    if request['id'] == 'b': right = None\n    print")
        .replace("int(right)", "right and 1");
    let task = Task::new().scorer(&scorer).set("limits.error_rate_threshold", 0.4);
    let result = task.evaluate(HONEST);
    assert_eq!(
        (result.end, result.aggregate.mean, result.aggregate.infrastructure_errors),
        (End::Completed, Some(1.0), 1)
    );
    assert_eq!(result.samples[1].value, None);
}

#[test]
fn failures_of_ours_are_tried_again() {
    let folder = common::folder();
    let marker = folder.path().join("tried");
    let scorer = format!(
        "import os, sys\nif not os.path.exists({marker:?}):\n    open({marker:?}, 'w')\n    sys.exit(1)\n{SCORER}"
    );
    let task = Task::new()
        .scorer(&scorer)
        .set("limits.infrastructure_max_attempts", 2)
        .set("limits.infrastructure_retry_delay_sec", 0);
    let result = task.evaluate(HONEST);
    assert_eq!((result.end, result.aggregate.mean), (End::Completed, Some(1.0)), "{:#?}", shown(&result));
}

#[test]
fn a_candidate_whose_scorer_runs_it_can_be_late() {
    let scorer = "import json, sys, time\nfor line in sys.stdin:\n    r = json.loads(line)\n    \
                  if r['id'] == 'b': time.sleep(300)\n    \
                  print(json.dumps({'id': r['id'], 'score': 1}), flush=True)\n";
    let task = Task::new().set("scorer.run", json!([])).set("limits.sample_timeout_sec", 6).scorer(scorer);
    let result = task.evaluate("");
    assert_eq!(kinds(&result), [None, Some(RunErrorKind::Timeout), Some(RunErrorKind::Timeout)]);
    assert_eq!(result.end, End::Completed);
}

#[test]
fn plans_that_make_no_sense() {
    let task = Task::new().set("limits.error_rate_threshold", 1.0);
    let evaluator = task.open();
    let candidate = task.candidate("candidate", HONEST);
    let result = evaluate(&evaluator, &candidate, &["a", "nowhere", "a"]);
    assert_eq!(result.samples.iter().map(|sample| sample.value).collect::<Vec<_>>(), [Some(1.0), None, None]);
    let nothing = evaluate(&evaluator, &candidate, &[]);
    assert_eq!((nothing.end, nothing.aggregate.mean), (End::Completed, None));
}

#[test]
fn each_side_sees_what_it_should() {
    let task = Task::new()
        .dataset("rows.jsonl", "{\"id\":\"a\",\"x\":\"files/one\",\"label\":\"files/two\",\"n\": 1.10}\n")
        .dataset("files/one", "1")
        .dataset("files/two", "2")
        .set("splits.all.samples", json!(["a"]))
        .set("scorer.env", json!({"COLOUR": "blue", "LANG": "C"}))
        .scorer(
            "import json, os, sys\nline = sys.stdin.readline()\nr = json.loads(line)\n\
             files = sorted(os.listdir(os.environ['TASKWRIGHT_DATA'] + '/files'))\n\
             good = files == ['one', 'two'] and r['sample']['label'] == 'files/two' and '1.10' in line\n\
             good = good and os.environ['COLOUR'] == 'blue' and 'SECRET_OF_OURS' not in os.environ\n\
             good = good and os.getcwd() == os.environ['TMPDIR'] and r['error'] is None\n\
             print(json.dumps({'id': 'a', 'score': int(good), 'feedback': json.dumps([r, files])}))\n",
        );
    let evaluator = task.open();
    let candidate = task.candidate(
        "candidate",
        "import json, os, sys\nline = sys.stdin.readline()\nr = json.loads(line)\ndata = os.environ['TASKWRIGHT_DATA']\n\
         files = sorted(os.path.join(base, name) for base, _, names in os.walk(data) for name in names)\n\
         assert files == [data + '/files/one'] and open(files[0]).read() == '1', files\n\
         assert r['input'] == {'x': 'files/one', 'n': 1.1} and '1.10' in line, r\n\
         known = {'PATH', 'LANG', 'USER', 'LOGNAME', 'HOME', 'TMPDIR', 'TASKWRIGHT_DATA', 'COLOUR', 'LC_CTYPE'}\n\
         assert set(os.environ) <= known, set(os.environ)\n\
         assert os.environ['COLOUR'] == 'blue' and os.environ['LANG'] == 'C'\n\
         assert os.getcwd() == os.path.dirname(os.path.realpath(__file__))\n\
         open('/dev/stderr', 'w').write('x'); open('/dev/null', 'w').write('x'); assert open('/dev/stdin').read() == line\n\
         import subprocess, tempfile, threading\n\
         assert subprocess.run(['sh', '-c', 'echo $((1 + 1))'], capture_output=True).stdout == b'2\\n'\n\
         t = threading.Thread(target=lambda: None); t.start(); t.join()\n\
         open('/dev/stdout', 'w').write(json.dumps({'id': 'a', 'output': 1}) + '\\n')\n",
    );
    let result = evaluate(&evaluator, &candidate, &["a"]);
    assert_eq!(result.aggregate.mean, Some(1.0), "{:#?}", result.samples);
}

#[test]
fn the_scorers_sandbox_keeps_its_promises() {
    // A scorer that runs a program of the candidate's through the sandbox, several at once, some of them nasty.
    let scorer = r#"
import json, os, signal, subprocess, sys, time
box, candidate = [sys.argv[1], "sandbox", "--"], sys.argv[2]
def run(script, **more):
    return subprocess.run(box + ["sh", "-c", script], capture_output=True, text=True, timeout=100, **more)
for line in sys.stdin:
    r = json.loads(line)
    checks = []
    plain = run("cat; id -u; pwd; echo oops >&2; exit 7", input="hello\n", cwd=os.getcwd())
    uid = plain.stdout.split("\n")[1]
    checks.append((plain.returncode, plain.stdout.startswith("hello\n"), os.getcwd() in plain.stdout, plain.stderr) == (7, True, True, "oops\n"))
    checks.append(run("kill -11 $$").returncode == 139)
    checks.append(run("echo $TASKWRIGHT_SANDBOX; cat ../report ../../*/report").stdout == "\n")
    checks.append(subprocess.run(box + ["/no/such"], capture_output=True).returncode == 127)
    # A leftover is gone when the command returns.
    run("setsid sleep 1000 & setsid sh -c 'sleep 1000' &")
    def living():
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try: status = open(f"/proc/{pid}/status").read()
            except OSError: continue
            if f"Uid:\t{uid}\t" in status and "State:\tZ" not in status: found.append(status.split("\n")[0])
        return found
    checks.append(living() == [] if os.getuid() == 0 else True)
    # So is everything when the command is asked to end.
    def started(script):
        process = subprocess.Popen(box + ["sh", "-c", script], stdout=subprocess.PIPE)
        process.stdout.readline()
        return process
    slow = started("trap '' TERM; setsid sleep 1000 & echo up; sleep 1000")
    slow.terminate()
    checks.append(slow.wait(100) in (137, 143) and (living() == [] or os.getuid() != 0))
    # Or is killed outright: at the latest the next one finds nothing.
    slow = started("sleep 1000 & echo up; sleep 1000")
    slow.kill(); slow.wait()
    checks.append(run("true").returncode == 0 and (living() == [] or os.getuid() != 0))
    # Several at once do not end each other.
    many = [subprocess.Popen(box + ["sh", "-c", f"sleep 0.1; exit {i}"]) for i in range(4)]
    checks.append([p.wait() for p in many] == [0, 1, 2, 3])
    # What one leaves in its temporary folder the next does not find.
    run("echo x > $TMPDIR/note")
    checks.append(run("ls $TMPDIR").stdout == "")
    checks.append(run("cat " + candidate + "/main.py").stdout == "mine = 1\n")
    print(json.dumps({"id": r["id"], "score": int(all(checks)), "feedback": str(checks)}), flush=True)
"#;
    let task = Task::new()
        .set("scorer.run", json!([]))
        .set("scorer.score", json!(["python3", "{scorer}/score.py", "{taskwright}", "{candidate}"]))
        .scorer(scorer);
    let result = evaluate(&task.open(), &task.candidate("candidate", "mine = 1\n"), &["a"]);
    assert_eq!(result.aggregate.mean, Some(1.0), "{:#?}", shown(&result));
}

#[test]
fn a_candidate_has_room_within_its_limits() {
    let task = Task::new().set("limits.memory_mb", 128).set("limits.processes", 32);
    let result = task.evaluate(
        "import json, os, subprocess, sys, tempfile, threading\nr = json.loads(sys.stdin.readline())\n\
         wait = threading.Barrier(30)\nthreads = [threading.Thread(target=wait.wait) for _ in range(29)]\n\
         for t in threads: t.start()\nwait.wait()\nfor t in threads: t.join()\n\
         hog = bytearray(64 << 20)\n\
         children = [subprocess.Popen(['sleep', '0.3']) for _ in range(20)]\n\
         assert all(c.wait() == 0 for c in children)\n\
         with tempfile.TemporaryDirectory() as d:\n    \
             for i in range(3): open(f'{d}/{i}', 'wb').write(bytes(15 << 20))\n    import time; time.sleep(0.3)\n\
         a, b = os.pipe(); pid = os.fork()\n\
         if pid == 0: os.write(b, b'x'); os._exit(0)\n\
         assert os.read(a, 1) == b'x' and os.waitpid(pid, 0)[1] == 0\n\
         print(json.dumps({'id': r['id'], 'output': r['input']['x'] * 2}))\n",
    );
    assert_eq!(result.aggregate.mean, Some(1.0), "{:#?}", result.samples);
}

/// What the instruction says of a run.
#[test]
fn a_run_has_no_shared_memory_but_processes_pipes_and_threads() {
    let task = Task::new();
    let landlock = task.open().gaps().iter().all(|gap| gap.name != "landlock");
    let result = task.evaluate(
        r#"
import json, multiprocessing, os, subprocess, sys, threading
request = json.loads(sys.stdin.readline())
try:
    multiprocessing.Pool(2).terminate()
    print("a pool", file=sys.stderr)
except (OSError, ImportError):
    pass
thread = threading.Thread(target=print, args=("thread",), kwargs={"file": sys.stderr})
thread.start(); thread.join()
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, b"3")
    os._exit(0)
assert os.read(reader, 1) == b"3" and subprocess.run(["true"]).returncode == 0
os.wait()
print(json.dumps({"id": request["id"], "output": request["input"]["x"] * 2}))
"#,
    );
    assert_eq!(result.aggregate.mean, Some(1.0), "{:#?}", shown(&result));
    let pooled = result.samples.iter().any(|sample| sample.transcript.contains("a pool"));
    assert!(!landlock || !pooled, "{:#?}", result.samples);
}

#[test]
fn a_large_batch_streams() {
    let row = |i: usize| format!("{{\"id\":\"s{i}\",\"x\":{i},\"label\":{}}}", 2 * i);
    let rows = (0..3000).map(row).collect::<Vec<_>>().join("\n");
    let ids: Vec<String> = (0..3000).map(|i| format!("s{i}")).collect();
    let task = Task::new()
        .dataset("rows.jsonl", rows)
        .set("splits.all.samples", json!(ids))
        .set("scorer.batch", 500);
    let evaluator = task.open();
    let candidate = task.candidate("candidate", HONEST);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let result = evaluate(&evaluator, &candidate, &ids);
    assert_eq!((result.aggregate.mean, result.aggregate.scored), (Some(1.0), 3000));
    assert!(result.samples.iter().zip(ids).all(|(sample, id)| sample.id == id));
}

#[test]
fn constraints_are_part_of_the_result() {
    let task = Task::new().set(
        "objective.constraints",
        json!([{"metric": "n", "operator": "==", "value": 1.0}, {"metric": "score", "operator": "<", "value": 0.5}]),
    );
    let result = task.evaluate(HONEST);
    let holds: Vec<bool> = result.aggregate.constraints.iter().map(|constraint| constraint.holds).collect();
    assert_eq!((holds, result.aggregate.is_feasible()), (vec![true, false], false));
}

#[test]
fn only_one_process_works_in_a_runtime_folder() {
    let task = Task::new();
    write(task.folder.path().join("run/leftover/deep/file"), "x");
    let evaluator = task.open();
    assert!(!task.folder.path().join("run/leftover").exists());
    let error = taskwright_eval::Sandbox::open(taskwright_eval::sandbox::SandboxOptions {
        taskwright: common::TASKWRIGHT.into(),
        runtime: task.folder.path().join("run"),
        isolation: taskwright_eval::IsolationMode::BestEffort,
        path: None,
        hidden: Vec::new(),
    })
    .unwrap_err();
    assert!(error.to_string().contains("another process works in"), "{error}");
    drop(evaluator);
}
