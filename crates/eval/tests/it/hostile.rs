//! Candidates that attack: each attempt fails and is reported, and an honest evaluation at the same time is right.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use taskwright_eval::{End, EvaluationResult, Outcome, RunErrorKind};
use taskwright_testing::{Need, not_run, test};

use crate::common::{self, HONEST, Task, evaluate, is_root, shown};

const IDS: [&str; 3] = ["a", "b", "c"];

/// Evaluates a hostile candidate beside an honest one.
fn attack(task: &Task, hostile: &str) -> EvaluationResult {
    let evaluator = task.open();
    let honest = task.candidate("honest", HONEST);
    let hostile = task.candidate("hostile", hostile);
    let result = std::thread::scope(|scope| {
        let beside = scope.spawn(|| evaluate(&evaluator, &honest, &IDS));
        let result = evaluate(&evaluator, &hostile, &IDS[..1]);
        let beside = beside.join().expect("the honest evaluation does not panic");
        assert_eq!(beside.aggregate.mean, Some(1.0), "{:#?}", shown(&beside));
        result
    });
    // And after it.
    assert_eq!(evaluate(&evaluator, &honest, &IDS).aggregate.mean, Some(1.0));
    let left: Vec<_> = std::fs::read_dir(task.folder.path().join("run/cells")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    result
}

/// That the attack counts as the candidate's failure.
#[track_caller]
fn fails(result: &EvaluationResult, kind: RunErrorKind, reason: &str) {
    assert_eq!((result.end, result.aggregate.mean), (End::Completed, Some(0.0)));
    match &result.samples[0].outcome {
        Outcome::CandidateError { kind: found, detail, score } => {
            assert_eq!((*found, score.score), (kind, 0.0), "{detail}");
            assert!(detail.contains(reason), "{detail} lacks {reason}; {}", result.samples[0].transcript);
        }
        other => panic!("{other:?}"),
    }
}

/// The lines that an attack printed to standard error: what it managed to do.
fn achieved(result: &EvaluationResult) -> Vec<&str> {
    assert!(result.samples[0].score().is_some(), "{:?}", result.samples[0]);
    result.samples[0].transcript.lines().filter(|line| line.starts_with("ACHIEVED")).collect()
}

/// A Python program that tries each of some expressions and reports those that do not raise.
fn tries(attempts: &str) -> String {
    format!(
        r#"
import ctypes, glob, json, os, resource, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(value):
    if value == -1: raise OSError(ctypes.get_errno())
    return value
def attempt(name, function):
    try:
        value = function()
        print("ACHIEVED", name, repr(value)[:300], file=sys.stderr, flush=True)
    except (Exception, SystemExit) as error:
        print("failed", name, repr(error), file=sys.stderr, flush=True)
request = json.loads(sys.stdin.readline())
{attempts}
print(json.dumps({{"id": request["id"], "output": request["input"]["x"] * 2}}))
"#
    )
}

#[test]
fn a_fork_bomb() {
    // Long enough for the honest one, which starts in the middle of it.
    let task = Task::new().set("limits.sample_timeout_sec", 12);
    let result = attack(&task, "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n");
    let kind = match &result.samples[0].outcome {
        Outcome::CandidateError { kind, .. } => *kind,
        other => panic!("{other:?}"),
    };
    assert!(matches!(kind, RunErrorKind::Timeout | RunErrorKind::Crash), "{kind:?}");
}

#[test]
fn a_daemon_that_outlives_its_run() {
    let result = attack(
        &Task::new(),
        r#"
import json, os, sys, time
request = json.loads(sys.stdin.readline())
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setpgid(0, 0)
        os.write(writer, str(os.getpid()).encode())
        for fd in range(3): os.close(fd)
        while True: time.sleep(1)
    os._exit(0)
pid = int(os.read(reader, 20))
began = open(f"/proc/{pid}/stat").read().rsplit(")")[1].split()[19]
print("PID", pid, began, file=sys.stderr)
print(json.dumps({"id": request["id"], "output": 2}))
"#,
    );
    assert_eq!(result.aggregate.mean, Some(1.0), "{:#?}", shown(&result));
    let said = result.samples[0].transcript.trim().strip_prefix("PID ").expect("two numbers");
    let (pid, began) = said.split_once(' ').expect("two numbers");
    // The number may be another process's by now, which began later.
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    let now = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19));
    assert_ne!(now, Some(began), "{pid} is alive");
}

#[test]
fn memory_exhaustion() {
    let own = attack(&Task::new(), "import time\nhog = []\nwhile True: hog.append(bytearray(10_000_000))\n");
    fails(&own, RunErrorKind::Crash, "");
    let shared = attack(
        &Task::new(),
        "import mmap, time\nm = mmap.mmap(-1, 400_000_000)\nfor i in range(0, len(m), 4096): m[i] = 1\ntime.sleep(300)\n",
    );
    fails(&shared, RunErrorKind::Crash, "more than 256 MiB of memory");
    let together = attack(
        &Task::new(),
        "import os, time\nfor i in range(3): os.fork()\nhog = bytearray(100_000_000)\ntime.sleep(300)\n",
    );
    fails(&together, RunErrorKind::Crash, "more than 256 MiB of memory");
    // Memory that forked processes share is not counted for each.
    let honest = attack(
        &Task::new(),
        "import json, os, time\nhog = bytearray(100_000_000)\nfor i in range(3): os.fork()\ntime.sleep(1)\n\
         print(json.dumps({'id': 'a', 'output': 2}))\n",
    );
    assert_eq!(honest.aggregate.mean, Some(1.0), "{:#?}", shown(&honest));
}

/// Candidates of many processes, each far below what one may have, that keep every processor busy and touch their memory all
/// the time. How many MiB they had at the most, beside the honest one.
fn memory_of_busy_processes() -> Vec<u64> {
    let most = |(count, each): (u64, u64)| {
        let busy = format!(
            r#"
import json, mmap, os, sys, time
request = json.loads(sys.stdin.readline())
for i in range({count}):
    if os.fork() == 0:
        m = mmap.mmap(-1, {each} << 20)
        while True:
            for j in range(0, {each} << 20, 4096): m[j] = 1
time.sleep(60)
print(json.dumps({{"id": request["id"], "output": request["input"]["x"] * 2}}), flush=True)
"#
        );
        let task = Task::new()
            .set("limits.memory_mb", 1024)
            .set("limits.processes", 80)
            .set("limits.sample_timeout_sec", 110);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let most = scope.spawn(|| {
                let mut most = 0;
                while !is_over.load(Ordering::Relaxed) {
                    most = most.max(memory_below(task.folder.path()));
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                most
            });
            let result = attack(&task, &busy);
            is_over.store(true, Ordering::Relaxed);
            fails(&result, RunErrorKind::Crash, "more than 1024 MiB of memory");
            most.join().unwrap()
        })
    };
    [(24, 200), (63, 40)].map(most).into()
}

/// How many MiB all processes have that were started in a folder.
fn memory_below(folder: &Path) -> u64 {
    let folder = folder.to_str().unwrap();
    let of_process = |process: std::fs::DirEntry| {
        let read = |name| std::fs::read_to_string(process.path().join(name)).unwrap_or_default();
        if !read("cmdline").contains(folder) {
            return 0;
        }
        let status = read("status");
        let own = status.lines().filter_map(|line| {
            let size = line.strip_prefix("RssAnon:").or_else(|| line.strip_prefix("RssShmem:"))?;
            size.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        });
        own.sum()
    };
    std::fs::read_dir("/proc").unwrap().flatten().map(of_process).sum::<u64>() >> 10
}

#[test]
fn memory_of_many_busy_processes() {
    let most = memory_of_busy_processes();
    println!("MiB at the most, of 1024: {most:?}");
    // Where there is no group of the kernel's, what comes between two looks.
    assert!(most.iter().all(|most| *most < 2048), "{most:?}");
}

#[test]
fn memory_of_many_busy_processes_without_a_group() {
    if std::fs::read_dir("/sys/fs/cgroup").is_ok_and(|mut trees| trees.next().is_some()) {
        let works = "mount -t tmpfs none /sys/fs/cgroup";
        if !is_root() || !taskwright_testing::works("unshare", &["--mount", "sh", "-c", works]) {
            not_run(Need::Root, "the kernel's groups cannot be taken away here");
        }
        let this = "hostile::memory_of_many_busy_processes_without_a_group";
        let again = format!("{works} && exec \"$0\" --exact {this} --nocapture");
        let program = std::env::current_exe().unwrap();
        let ran = std::process::Command::new("unshare")
            .args(["--mount", "sh", "-c", &again])
            .arg(program)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(
            ran.status.success() && said.contains("1 passed"),
            "{said}{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        println!("{said}");
        return;
    }
    let most = memory_of_busy_processes();
    println!("MiB at the most, of 1024: {most:?}");
    assert!(most.iter().all(|most| *most < 2048), "{most:?}");
}

#[test]
fn disk_is_not_reserved_faster_than_it_is_looked_at() {
    let attempts = r#"
file = os.open(os.environ["TMPDIR"] + "/x", os.O_CREAT | os.O_RDWR)
attempt("reserve", lambda: call(libc.fallocate(file, 0, ctypes.c_long(0), ctypes.c_long(1 << 20))))
# What programs call falls back to writing.
os.posix_fallocate(file, 0, 1 << 20)
assert os.fstat(file).st_size == 1 << 20
"#;
    let task = Task::new();
    if task.open().gaps().iter().any(|gap| gap.name == "seccomp") {
        not_run(Need::Root, "system calls cannot be filtered here");
    }
    let result = attack_only(&task, &tries(attempts));
    assert_eq!(achieved(&result), Vec::<&str>::new());
    assert_eq!(result.aggregate.mean, Some(1.0), "{:#?}", shown(&result));
}

#[test]
fn labels_below_a_folder_that_every_program_reads_are_out_of_reach() {
    let task = Task::new();
    if !is_root() || task.open().gaps().iter().any(|gap| gap.name == "landlock") {
        not_run(
            Need::Root,
            "only root may write to /opt, and without Landlock only file rights say who reads it",
        );
    }
    let bench = tempfile::Builder::new().prefix("taskwright-test-").tempdir_in("/opt").unwrap();
    std::fs::set_permissions(bench.path(), PermissionsExt::from_mode(0o755)).unwrap();
    for folder in ["dataset", "scorer"] {
        let from = task.folder.path().join("secret").join(folder);
        let copied = std::process::Command::new("cp").arg("-r").arg(from).arg(bench.path()).status();
        assert!(copied.unwrap().success());
    }
    let (dataset, scorer) = (bench.path().join("dataset"), bench.path().join("scorer"));
    let evaluator = common::evaluator(task.serve(), &dataset, &scorer, &task.folder.path().join("run2"));
    let attempts = format!(
        "for path in [{:?}, {:?}]: attempt(path, lambda: open(path).read())\nassert os.listdir('/usr/bin')\n",
        dataset.join("rows.jsonl"),
        scorer.join("score.py")
    );
    let result = evaluate(&evaluator, &task.candidate("reader", &tries(&attempts)), &["a"]);
    assert_eq!(achieved(&result), Vec::<&str>::new());
    assert_eq!(result.aggregate.mean, Some(1.0), "{:#?}", shown(&result));
}

#[test]
fn disk_exhaustion() {
    let one = attack(
        &Task::new(),
        "import os\nf = open(os.environ['TMPDIR'] + '/x', 'wb')\nwhile True: f.write(bytes(1 << 20))\n",
    );
    fails(&one, RunErrorKind::Crash, "");
    let many = attack(
        &Task::new(),
        "import os\nfor i in range(100000): open(f\"{os.environ['TMPDIR']}/{i}\", 'wb').write(bytes(8 << 20))\n",
    );
    fails(&many, RunErrorKind::Crash, "more than 64 MiB of temporary files");
    let unnamed = attack(
        &Task::new(),
        "import os, tempfile\nhog = []\nfor i in range(900):\n    f = tempfile.TemporaryFile()\n    f.write(bytes(8 << 20))\n    \
         f.flush()\n    hog.append(f)\nimport time; time.sleep(300)\n",
    );
    fails(&unnamed, RunErrorKind::Crash, "more than 64 MiB of temporary files");
    let deep = attack(
        &Task::new(),
        "import os, time\nos.chdir(os.environ['TMPDIR'])\nfor i in range(3000):\n    os.mkdir('d'); os.chdir('d')\ntime.sleep(300)\n",
    );
    fails(&deep, RunErrorKind::Crash, "folders too deep");
}

#[test]
fn a_hundred_thousand_files() {
    let files = attack(
        &Task::new(),
        "import os, time\nos.chdir(os.environ['TMPDIR'])\nfor i in range(100000): os.close(os.open(str(i), os.O_CREAT))\ntime.sleep(300)\n",
    );
    fails(&files, RunErrorKind::Crash, "more than 50000 temporary files");
}

#[test]
fn silence() {
    // All at once, since each takes the whole time, which must be enough for the honest ones beside them.
    let silent = [
        "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n",
        "import os, time\nos.close(1)\nos.close(2)\ntime.sleep(300)\n",
        "import os, signal, time\nfor s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    except OSError: pass\n\
         while True: time.sleep(1)\n",
    ];
    std::thread::scope(|scope| {
        for program in silent {
            scope.spawn(move || {
                let task = Task::new().set("limits.sample_timeout_sec", 12);
                fails(&attack(&task, program), RunErrorKind::Timeout, "no answer within 12 s");
            });
        }
    });
    // Closed, but finished before its time: the output is missing, nothing hangs.
    let quiet = attack(&Task::new(), "import os\nos.close(1)\n");
    fails(&quiet, RunErrorKind::NoOutput, "without an answer");
}

#[test]
fn reading_what_is_not_its_own() {
    let task = Task::new();
    let secret = task.folder.path().join("secret");
    common::write(secret.join("serve.json"), "{}");
    let attempts = format!(
        r#"
secret, root = {secret:?}, {root:?}
for path in [secret, secret + "/dataset/rows.jsonl", secret + "/serve.json", secret + "/scorer/score.py", root,
             root + "/run", root + "/run/cells", root + "/run/private", root + "/run/candidates", root + "/run/lock",
             root + "/candidates/honest/main.py", "/root", "/tmp", "/home", "/var/lib", "/dev/shm", "/dev", "/",
             "/etc/shadow", "/dev/mem", "/dev/kmsg", "/dev/vda"]:
    attempt(path, lambda: os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(100))
own = str(os.getpid())
for pid in os.listdir("/proc"):
    if pid.isdigit() and pid != own:
        for name in ["environ", "mem", "maps", "fd", "cwd/x", "root/etc/shadow", "auxv", "stack"]:
            path = f"/proc/{{pid}}/{{name}}"
            attempt(path, lambda: os.listdir(path) if name == "fd" else open(path, "rb").read(100) or 1/0)
for name in glob.glob(os.getcwd() + "/../../run/cells/*/*"):
    attempt(name, lambda: open(name, "rb").read(100))
for fd in range(3, 1024):
    attempt(f"descriptor {{fd}}", lambda: os.fstat(fd))
attempt("more input", lambda: sys.stdin.read() or 1/0)
attempt("label", lambda: request["input"]["label"])
attempt("variable", lambda: os.environ["TASKWRIGHT_SANDBOX"])
"#,
        secret = secret,
        root = task.folder.path(),
    );
    let result = attack(&task, &tries(&attempts));
    assert_eq!(achieved(&result), Vec::<&str>::new());
    assert_eq!(result.aggregate.mean, Some(1.0));
}

#[test]
fn acting_on_what_is_not_its_own() {
    let task = Task::new();
    let attempts = format!(
        r#"
root = {root:?}
parent = os.getppid()
pids = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()]
for pid in pids:
    attempt(f"signal {{pid}}", lambda: os.kill(pid, 9))
    attempt(f"trace {{pid}}", lambda: call(libc.ptrace(16, pid, 0, 0)))
attempt("signal all", lambda: os.kill(-1, 9) or 1/0)
attempt("signal the group of the watcher", lambda: os.killpg(os.getpgid(parent), 9))
attempt("limits of the watcher", lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE, (1, 1)))
attempt("priority of the watcher", lambda: os.setpriority(os.PRIO_PROCESS, parent, 19))
attempt("oom of the watcher", lambda: open(f"/proc/{{parent}}/oom_score_adj", "w").write("1000"))
for name in ["RLIMIT_NPROC", "RLIMIT_FSIZE", "RLIMIT_DATA", "RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_NOFILE", "RLIMIT_CORE"]:
    kind = getattr(resource, name)
    soft, hard = resource.getrlimit(kind)
    assert soft == hard != resource.RLIM_INFINITY, name
    attempt(name, lambda: resource.setrlimit(kind, (hard, hard + 1)))
for uid in [0, 1, os.getuid() - 1, os.getuid() + 1]:
    attempt(f"become {{uid}}", lambda: os.setuid(uid))
    attempt(f"become group {{uid}}", lambda: os.setgid(uid))
attempt("groups", lambda: os.getgroups() and 1 or 1/0)
attempt("setgroups", lambda: os.setgroups([0]))
for path in [os.getcwd(), os.getcwd() + "/..", root, root + "/run", "/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock",
             "/usr/bin", "/etc", os.path.dirname(os.environ["TMPDIR"]), os.environ["TASKWRIGHT_DATA"], "/dev/mqueue"]:
    attempt("write " + path, lambda: open(path + "/taskwright-attack", "w"))
attempt("change its own file", lambda: open("main.py", "a"))
attempt("remove its own file", lambda: os.remove("main.py"))
attempt("device", lambda: os.mknod(os.environ["TMPDIR"] + "/null", 0o600 | 0o020000, os.makedev(1, 3)))
attempt("block device", lambda: os.mknod(os.environ["TMPDIR"] + "/disk", 0o600 | 0o060000, os.makedev(8, 0)))
attempt("setuid file", lambda: subprocess.run(["/usr/bin/su", "-c", "id"], check=True, stdin=subprocess.DEVNULL))
attempt("mount", lambda: subprocess.run(["mount", "-t", "tmpfs", "none", os.environ["TMPDIR"]], check=True))
attempt("unshare user", lambda: call(libc.unshare(0x10000000)))
attempt("unshare net", lambda: call(libc.unshare(0x40000000)))
attempt("chroot", lambda: os.chroot("."))
for family in [socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET, 40]:
    for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW]:
        attempt(f"socket {{family}} {{kind}}", lambda: socket.socket(family, kind))
attempt("shared memory", lambda: call(libc.shmget(1234, 4096, 0o1666)))
attempt("message queue", lambda: call(libc.msgget(1234, 0o1666)))
attempt("semaphore", lambda: call(libc.semget(1234, 1, 0o1666)))
attempt("key", lambda: call(libc.syscall(248, b"user", b"x", b"y", 1, -4)))
attempt("memory file", lambda: os.memfd_create("x"))
attempt("uring", lambda: call(libc.syscall(425, 8, ctypes.create_string_buffer(200))))
attempt("privileges", lambda: "NoNewPrivs:\t1" not in open("/proc/self/status").read() and 1 or 1/0)
attempt("capabilities", lambda: "CapEff:\t0000000000000000" not in open("/proc/self/status").read() and 1 or 1/0)
attempt("filter", lambda: "Seccomp:\t2" not in open("/proc/self/status").read() and 1 or 1/0)
"#,
        root = task.folder.path(),
    );
    // What an attack that succeeded left there once is no sign of another.
    for folder in ["/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/dev/mqueue"] {
        let _ = std::fs::remove_file(Path::new(folder).join("taskwright-attack"));
    }
    let result = attack(&task, &tries(&attempts));
    // Where Landlock is missing, which is said, what everyone may write to is swept afterwards instead.
    let gaps = task.open().gaps().to_vec();
    let landlock = gaps.iter().all(|gap| gap.name != "landlock");
    let shared = ["/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/dev/mqueue"];
    let excused = |line: &&str| {
        !landlock && shared.iter().any(|folder| line.starts_with(&format!("ACHIEVED write {folder} ")))
    };
    if is_root() {
        let achieved: Vec<&str> = achieved(&result).into_iter().filter(|line| !excused(line)).collect();
        assert_eq!(achieved, Vec::<&str>::new());
        assert!(shared.iter().all(|folder| !Path::new(folder).join("taskwright-attack").exists()));
    }
    assert_eq!(result.aggregate.mean, Some(1.0), "{:#?}", result.samples);
}

#[test]
fn nothing_passes_from_run_to_run() {
    let task = Task::new().set("limits.concurrency", 1);
    let leave = r#"
import json, os, sys
request = json.loads(sys.stdin.readline())
found = []
paths = [folder + "/taskwright-note" for folder in [os.environ["TMPDIR"], "/tmp", "/var/tmp", "/dev/shm", "."]]
for path in paths:
    try: found.append(open(path).read())
    except OSError: pass
for path in paths:
    try: open(path, "w").write("seen")
    except OSError: pass
os.mkfifo(os.environ["TMPDIR"] + "/fifo")
os.symlink("/etc/passwd", os.environ["TMPDIR"] + "/link")
os.mkdir(os.environ["TMPDIR"] + "/closed"); os.chmod(os.environ["TMPDIR"] + "/closed", 0)
print(json.dumps({"id": request["id"], "output": 0 if found else request["input"]["x"] * 2}))
"#;
    let result = task.evaluate(leave);
    assert_eq!(result.aggregate.mean, Some(1.0), "{:#?}", shown(&result));
}

#[test]
fn hostile_outputs() {
    let task = Task::new();
    let answer = |output: &str| {
        let program = format!(
            "import sys\nsys.stdout.buffer.write(b'{{\"id\": \"a\", \"output\": ' + {output} + b'}}\\n')\nsys.stdout.flush()\n"
        );
        attack(&task, &program)
    };
    for (output, reason) in [
        ("b'NaN'", "NaN"),
        ("b'-Infinity'", "infinity"),
        ("b'1e999'", "too large"),
        ("b'\"\\xff\\xfe\"'", "not UTF-8"),
        ("b'[' * 1_000_000", "nested"),
        ("b'9' * 10_000", "digits"),
        ("b'\"' + b'\\\\' + b'ud800\"'", "surrogate"),
        ("b'{\"a\": '", "not JSON"),
        ("b''", "not JSON"),
        ("b'\\0'", "not JSON"),
    ] {
        fails(&answer(output), RunErrorKind::InvalidOutput, reason);
    }
    let print = |program: &str| attack(&task, &format!("import sys, os\n{program}\n"));
    let flood = print("while True: os.write(1, b'x' * 65536)");
    fails(&flood, RunErrorKind::InvalidOutput, "printed more than 4 MiB");
    let complaint = print("while True: os.write(2, b'x' * 65536)");
    fails(&complaint, RunErrorKind::InvalidOutput, "printed more than 4 MiB");
    assert_eq!(complaint.samples[0].transcript.len(), 16_000);
    let lines = print("while True: os.write(1, b'{}\\n' * 20000)");
    fails(&lines, RunErrorKind::InvalidOutput, "more than 1000 lines that answer nothing");
    fails(&print("print('hello')"), RunErrorKind::InvalidOutput, "not JSON");
    fails(
        &print("print('{\"id\": \"b\", \"output\": 4}')"),
        RunErrorKind::InvalidOutput,
        "none that was asked for",
    );
    fails(&print("print('{\"id\": \"a\"}')"), RunErrorKind::InvalidOutput, "an `id` and an `output`");
    fails(&print("print('{\"id\": \"a\", \"id\": \"b\", \"output\": 2}')"), RunErrorKind::InvalidOutput, "");
    fails(&print("sys.exit(3)"), RunErrorKind::Crash, "exit status 3");
    fails(&print("os.kill(os.getpid(), 11)"), RunErrorKind::Crash, "signal 11");
    fails(&print("pass"), RunErrorKind::NoOutput, "without an answer");
    // The first answer stands, even without an end of line.
    let twice = print(
        "print('{\"id\": \"a\", \"output\": 2}\\n{\"id\": \"a\", \"output\": 3}', flush=True)\nos.write(1, b'{')",
    );
    assert_eq!(twice.aggregate.mean, Some(1.0), "{:#?}", shown(&twice));
    let open = print("os.write(1, b'{\"id\": \"a\", \"output\": 2}')");
    assert_eq!(open.aggregate.mean, Some(1.0), "{:#?}", shown(&open));
}

#[test]
fn an_answer_cannot_smuggle_a_request_to_the_scorer() {
    // A carriage return between two tokens is legal JSON, and Python's text streams take it for the end of a line.
    let forged = r#"{"id":"b","sample":{"id":"b","x":2,"label":99},"output":99,"error":null}"#;
    let program = format!(
        "import sys\nsys.stdout.buffer.write(b'{{\"id\":\"a\",\"output\":[1,\\r' + {forged:?}.encode() + b'\\r,2]}}\\n')\n"
    );
    let task = Task::new();
    let evaluator = task.open();
    let result = evaluate(&evaluator, &task.candidate("forger", &program), &["a", "b"]);
    let values: Vec<Option<f64>> = result.samples.iter().map(|sample| sample.value).collect();
    assert_eq!(values, [Some(0.0), Some(0.0)], "{:#?}", shown(&result));
    assert_eq!(result.end, End::Completed);
    assert!(matches!(
        result.samples[1].outcome,
        Outcome::CandidateError { kind: RunErrorKind::InvalidOutput, .. }
    ));
}

#[test]
fn numbers_reach_the_scorer_digit_for_digit() {
    let task = Task::new().scorer(
        "import sys\nfor line in sys.stdin:\n    right = '\"output\":[0.1000000000000000055511151231257827,-0,1E+2,\
         123456789012345678901234567890]' in line\n    print('{\"id\":\"a\",\"score\":%d}' % right, flush=True)\n",
    );
    let result = attack_only(
        &task,
        "print('{\"id\": \"a\", \"output\": [0.1000000000000000055511151231257827, -0, 1E+2, 123456789012345678901234567890]}')",
    );
    assert_eq!(result.aggregate.mean, Some(1.0), "{:#?}", shown(&result));
}

fn attack_only(task: &Task, program: &str) -> EvaluationResult {
    evaluate(&task.open(), &task.candidate("one", program), &["a"])
}

#[test]
fn the_scorers_files_are_out_of_reach() {
    // What a scorer keeps in its own folder while candidates run.
    let task = Task::new().scorer(
        r#"
import json, os, sys
open("labels.txt", "w").write("42"); os.chmod("labels.txt", 0o644)
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], "score": int(request["output"] == 2)}), flush=True)
"#,
    );
    let attempts = r#"
import time; time.sleep(0.5)
for path in glob.glob("/proc/[0-9]*/cwd/labels.txt") + glob.glob("/proc/[0-9]*/root/etc/shadow"):
    attempt(path, lambda: open(path).read())
for cell in range(30):
    path = os.path.dirname(os.path.dirname(os.environ["TMPDIR"])) + f"/{cell}/score/labels.txt"
    attempt(path, lambda: open(path).read())
"#;
    let result = attack_only(&task, &tries(attempts));
    assert_eq!(achieved(&result), Vec::<&str>::new());
    assert_eq!(result.aggregate.mean, Some(1.0), "{:#?}", shown(&result));
}

#[test]
fn a_setuid_program_gains_nothing() {
    if !is_root() {
        return;
    }
    let task = Task::new();
    let candidate = task.candidate(
        "setuid",
        &tries("attempt('setuid', lambda: subprocess.run([os.getcwd() + '/become', '-u'], capture_output=True, check=True).stdout == b'0\\n' or 1/0)"),
    );
    std::fs::copy("/usr/bin/id", candidate.join("become")).unwrap();
    std::fs::set_permissions(candidate.join("become"), PermissionsExt::from_mode(0o6755)).unwrap();
    let result = evaluate(&task.open(), &candidate, &["a"]);
    assert_eq!(achieved(&result), Vec::<&str>::new());
    assert_eq!(result.aggregate.mean, Some(1.0), "{:#?}", shown(&result));
}

#[test]
fn no_process_is_left_of_any_of_them() {
    let task = Task::new();
    let result = task.evaluate(
        "import os, json, sys, time\nrequest = json.loads(sys.stdin.readline())\n\
         print(os.getuid(), file=sys.stderr, flush=True)\n\
         print(json.dumps({'id': request['id'], 'output': os.getuid()}), flush=True)\n\
         for i in range(8):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(100)\n",
    );
    for sample in &result.samples {
        let uid: u32 = sample.transcript.trim().parse().expect("a user");
        if !is_root() {
            continue;
        }
        assert_ne!(uid, 0);
        for process in std::fs::read_dir("/proc").unwrap().flatten() {
            let status = std::fs::read_to_string(process.path().join("status")).unwrap_or_default();
            assert!(!status.contains(&format!("Uid:\t{uid}\t")), "{status}");
        }
    }
    let _: Value = serde_json::to_value(&result).unwrap();
}
