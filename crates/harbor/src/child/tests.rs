//! Processes that end, hang, print too much and outlive us.

use taskwright_testing::test;

use super::*;

/// What a background job of a shell ignores, its processes ignore too, and a shell among them cannot even say otherwise.
/// So we listen, as commands that start Harbor do: what has a handler here is back to its default in a new process.
fn listen() {
    let always = std::sync::Arc::new(true.into());
    signal_hook::flag::register_conditional_shutdown(signal_hook::consts::SIGINT, 130, always).unwrap();
}

fn shell(script: &str) -> Vec<OsString> {
    ["/bin/sh", "-c", script].map(OsString::from).to_vec()
}

fn start(folder: &Path, script: &str) -> Child {
    let environment = Environment { inherit: false, set: BTreeMap::new() }.with("PATH", "/usr/bin:/bin");
    Child::start(&Start {
        command_line: &shell(script),
        folder,
        environment: &environment,
        log: &folder.join("log"),
        hold: None,
    })
    .unwrap()
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(120), "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const SHORT: Patience =
    Patience { interrupt: Duration::from_millis(300), terminate: Duration::from_millis(300) };

#[test]
fn it_reads_nothing_and_writes_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path(), "read -r line; echo \"<$line>\"; echo $HOME >&2; exit 3");
    let mut status = None;
    wait_for("the end", || {
        status = child.poll().unwrap();
        status.is_some()
    });
    assert_eq!(describe(status.unwrap()), "ended with status 3");
    assert_eq!(tail(&folder.path().join("log"), 100), "<>");
}

#[test]
fn megabytes_of_output_fill_nothing_and_lose_no_end() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    // Lines at every moment, so that one that is printed while the log is made smaller is there too.
    let script = "head -c 50000000 /dev/zero | tr '\\0' x; echo; i=0; \
                  while [ $i -lt 2000 ]; do i=$((i+1)); echo \"line $i\"; done; echo the end";
    let mut child = start(folder.path(), script);
    wait_for("the end", || child.poll().unwrap().is_some());
    assert!(std::fs::metadata(&log).unwrap().len() < 2 << 20);
    let text = std::fs::read_to_string(&log).unwrap();
    let (_, lines) = text.rsplit_once("x\n").unwrap();
    assert!(lines.lines().eq((1..=2000).map(|line| format!("line {line}")).chain(["the end".to_owned()])));
    assert_eq!(tail(&log, 50).lines().last(), Some("the end"));
}

#[test]
fn who_listens_is_asked_once() {
    listen();
    let folder = tempfile::tempdir().unwrap();
    let mut child =
        start(folder.path(), "trap 'echo asked; exit 7' INT; echo up; while :; do sleep 0.05; done");
    wait_for("the start", || tail(&folder.path().join("log"), 10) == "up");
    let status = child.stop(&Patience::default()).unwrap();
    assert_eq!(status.code(), Some(7));
    assert_eq!(tail(&folder.path().join("log"), 100), "up\nasked");
}

#[test]
fn who_does_not_is_killed_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "trap '' INT TERM; (trap '' INT TERM; sleep 300 & echo $! >pid; wait) & while :; do sleep 1; done";
    let mut child = start(folder.path(), script);
    let pid = folder.path().join("pid");
    wait_for("its child", || std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')));
    let pid: i32 = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    let status = child.stop(&SHORT).unwrap();
    assert_eq!(describe(status), "was killed by signal 9");
    wait_for("its child's end", || is_gone(pid));
}

/// A process that has ended but that nobody has asked after is gone too.
fn is_gone(pid: i32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => true,
    }
}

#[test]
fn the_watchdog_ends_the_group_when_the_pipe_does() {
    listen();
    let folder = tempfile::tempdir().unwrap();
    let lock = File::create(folder.path().join("lock")).unwrap();
    lock.lock().unwrap();
    let mut sleeper = Command::new("/bin/sh")
        .args(["-c", "trap 'sleep 0.3; exit 5' INT; : >up; while :; do sleep 0.05; done"])
        .current_dir(folder.path())
        .process_group(0)
        .spawn()
        .unwrap();
    wait_for("the start", || folder.path().join("up").exists());
    let group = Pid::from_child(&sleeper);
    let watchdog = Watchdog::over(group, Some(&lock)).unwrap();
    drop(lock);
    let again = File::open(folder.path().join("lock")).unwrap();
    assert!(again.try_lock().is_err(), "the watchdog holds the lock");
    // As if we had been killed: the end of the pipe that is ours is closed without a word.
    drop(watchdog);
    let mut status = None;
    wait_for("the group's end", || {
        status = sleeper.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(5));
    let again = File::open(folder.path().join("lock")).unwrap();
    wait_for("the lock", || again.try_lock().is_ok());
}
