//! Candidates that may ask language models: they reach the gateway, whoever they believe to reach, and nothing else.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use rustix::event::{PollFd, PollFlags, poll};
use taskwright_eval::{Cancel, EvaluationResult, ModelAccess, Plan};
use taskwright_testing::{Need, not_run, test};

use crate::common::{Task, shown};

/// What every answer of our stand-in for a gateway says.
const SAID: &str = "said by the gateway";

/// A stand-in for a gateway, which answers every request with the same words. It ends with the process.
fn gateway() -> SocketAddrV4 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, listener.local_addr().unwrap().port());
    std::thread::spawn(move || serve(&listener));
    address
}

/// Answers whoever says something, in one thread: where candidates run as whoever runs the tests, threads would count as their processes.
fn serve(listener: &TcpListener) {
    let mut open: Vec<TcpStream> = Vec::new();
    loop {
        let mut waiting = vec![PollFd::new(listener, PollFlags::IN)];
        waiting.extend(open.iter().map(|stream| PollFd::new(stream, PollFlags::IN)));
        let _ = poll(&mut waiting, None);
        let mut says = waiting.iter().map(|one| !one.revents().is_empty()).collect::<Vec<_>>().into_iter();
        let is_new = says.next() == Some(true);
        open.retain(|stream| {
            let is_over = says.next() == Some(true);
            if is_over {
                answer(stream);
            }
            !is_over
        });
        if is_new {
            open.extend(listener.accept().map(|(stream, _)| stream));
        }
    }
}

fn answer(mut stream: &TcpStream) {
    let request = BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    if request.count() > 0 {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", SAID.len());
        let _ = stream.write_all(format!("{head}{SAID}").as_bytes());
    }
}

/// Evaluates a candidate that may ask the gateway, on the first sample.
fn evaluate(task: &Task, program: &str, gateway: SocketAddrV4) -> EvaluationResult {
    let evaluator = task.open();
    if evaluator.gaps().iter().any(|gap| gap.name == "seccomp") {
        not_run(Need::Root, "system calls cannot be filtered here");
    }
    let models = ModelAccess {
        gateway,
        environment: [("ADDRESS".to_owned(), "http://127.0.0.1:8702".to_owned())].into(),
    };
    let candidate = task.candidate("asks", program);
    let samples = ["a".to_owned()];
    let plan = Plan { candidate: &candidate, samples: &samples, models: Some(&models) };
    evaluator.evaluate(&plan, &|_| {}, &Cancel::new())
}

/// A Python program that reports what it does by `check`, and then answers correctly.
fn program(steps: &str) -> String {
    format!(
        r#"
import asyncio, ctypes, fcntl, http.client, json, os, socket, struct, subprocess, sys, time, urllib.request
libc = ctypes.CDLL(None, use_errno=True)
def call(value):
    if value == -1: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value
def check(name, function):
    try: said = repr(function())
    except Exception as error: said = type(error).__name__
    print(f"{{name}}: {{said}}", file=sys.stderr, flush=True)
def ask(connected):
    connected.sendall(b"GET / HTTP/1.0\r\n\r\n")
    return connected.makefile("rb").read().split(b"\r\n\r\n")[-1].decode()
def tcp(host="127.0.0.1", port=8702):
    return socket.create_connection((host, port))
request = json.loads(sys.stdin.readline())
{steps}
print(json.dumps({{"id": request["id"], "output": request["input"]["x"] * 2}}))
"#
    )
}

/// What a candidate reported, if it came to its end.
#[track_caller]
fn reported(result: &EvaluationResult) -> Vec<&str> {
    assert_eq!(result.aggregate.mean, Some(1.0), "{:#?} {}", shown(result), result.samples[0].transcript);
    result.samples[0].transcript.lines().collect()
}

#[test]
fn clients_reach_the_gateway_at_whatever_address() {
    let steps = r#"
address = os.environ["ADDRESS"]
check("urllib", lambda: urllib.request.urlopen(address, timeout=30).read().decode())
check("by name", lambda: urllib.request.urlopen("http://localhost:8702", timeout=30).read().decode())
def by_http_client():
    connection = http.client.HTTPConnection("127.0.0.1", 8702, timeout=30)
    connection.request("GET", "/")
    return connection.getresponse().read().decode()
check("http.client", by_http_client)
async def by_asyncio():
    async def one():
        reader, writer = await asyncio.open_connection("127.0.0.1", 8702)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        return (await reader.read()).split(b"\r\n\r\n")[-1].decode()
    return set(await asyncio.gather(*(one() for _ in range(50))))
check("asyncio", lambda: asyncio.run(by_asyncio()))
check("a child", lambda: subprocess.check_output([sys.executable, "-c",
    f"import urllib.request; print(urllib.request.urlopen('{address}').read().decode())"], text=True).strip())
def flags(kind):
    made = call(libc.socket(socket.AF_INET, kind, 0))
    return bool(fcntl.fcntl(made, fcntl.F_GETFL) & os.O_NONBLOCK), bool(fcntl.fcntl(made, fcntl.F_GETFD) & fcntl.FD_CLOEXEC)
check("plain", lambda: flags(socket.SOCK_STREAM))
check("flags", lambda: flags(socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC))
begin = time.monotonic()
for _ in range(200): tcp().close()
print(f"took {(time.monotonic() - begin) * 5:.3f} ms each", file=sys.stderr)
"#;
    let result = evaluate(&Task::new(), &program(steps), gateway());
    let said = reported(&result);
    println!("a connection {}", said[7]);
    let expected = [
        "urllib: 'said by the gateway'",
        "by name: 'said by the gateway'",
        "http.client: 'said by the gateway'",
        "asyncio: {'said by the gateway'}",
        "a child: 'said by the gateway'",
        "plain: (False, False)",
        "flags: (True, True)",
    ];
    assert_eq!(said[..7], expected);
}

#[test]
fn nothing_but_the_gateway_is_reached() {
    // What is there for whoever may reach it.
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let other_ipv6 = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).ok();
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let task = Task::new();
    let path = task.folder.path().join("door");
    let at_path = UnixListener::bind(&path).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).unwrap();
    let name = format!("taskwright-test-{}", std::process::id());
    let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
    let by_name = UnixListener::bind_addr(&abstract_name).unwrap();
    let steps = format!(
        r#"
other, other_ipv6, udp, path, name = {}, {}, {}, {path:?}, "\0{name}"
fast = 0x20000000
check("another port", lambda: ask(tcp(port=other)))
check("another machine", lambda: ask(tcp("192.0.2.1", 80)))
check("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", udp)))
check("ipv6", lambda: tcp("::1", other_ipv6))
check("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
check("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
check("mptcp", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262))
check("dns", lambda: socket.getaddrinfo("example.com", 80))
check("unix", lambda: socket.socket(socket.AF_UNIX).connect(path))
check("abstract", lambda: socket.socket(socket.AF_UNIX).connect(name))
check("bind", lambda: socket.socket().bind(("127.0.0.1", 0)))
check("listen", lambda: socket.socket().listen())
check("accept", lambda: socket.socket().accept())
def closed():
    made = tcp()
    made.shutdown(socket.SHUT_RDWR)
    made.listen()
check("listen when closed", closed)
check("fast open", lambda: socket.socket().sendto(b"x", fast, ("127.0.0.1", other)))
check("fast message", lambda: socket.socket().sendmsg([b"x"], [], fast, ("127.0.0.1", other)))
def dissolved():
    made = tcp()
    address = struct.pack("H14x", socket.AF_UNSPEC)
    call(libc.connect(made.fileno(), address, len(address)))
    made.connect(("127.0.0.1", other))
    return ask(made)
check("dissolved", dissolved)
def to_another():
    made = tcp()
    made.sendto(b"GET / HTTP/1.0\r\n\r\n", ("127.0.0.1", other))
    return made.makefile("rb").read().split(b"\r\n\r\n")[-1].decode()
check("sent to another", to_another)
check("source route", lambda: tcp().setsockopt(socket.IPPROTO_IP, 4, bytes([131, 7, 4, 127, 0, 0, 1, 0])))
check("transparent", lambda: tcp().setsockopt(socket.IPPROTO_IP, 19, 1))
check("repair", lambda: tcp().setsockopt(socket.IPPROTO_TCP, 19, 1))
check("interface", lambda: tcp().setsockopt(socket.SOL_SOCKET, 25, b"lo"))
check("interface by number", lambda: tcp().setsockopt(socket.SOL_SOCKET, 62, 1))
check("group", lambda: tcp().setsockopt(socket.IPPROTO_IP, 42, struct.pack("I4xHHI120x", 1, 2, 0, 0x010101e0)))
check("pair", lambda: [end.send(b"x") for end in socket.socketpair()])
"#,
        other.local_addr().unwrap().port(),
        other_ipv6.as_ref().map_or(1, |other| other.local_addr().unwrap().port()),
        udp.local_addr().unwrap().port(),
    );
    let result = evaluate(&task, &program(&steps), gateway());
    let expected = [
        "another port: 'said by the gateway'",
        "another machine: 'said by the gateway'",
        "udp: PermissionError",
        "ipv6: PermissionError",
        "raw: PermissionError",
        "netlink: PermissionError",
        "mptcp: PermissionError",
        "dns: gaierror",
        "unix: PermissionError",
        "abstract: PermissionError",
        "bind: PermissionError",
        "listen: PermissionError",
        "accept: OSError",
        "listen when closed: PermissionError",
        "fast open: PermissionError",
        "fast message: PermissionError",
        "dissolved: 'said by the gateway'",
        "sent to another: 'said by the gateway'",
        "source route: OSError",
        "transparent: OSError",
        "repair: OSError",
        "interface: OSError",
        "interface by number: OSError",
        "group: OSError",
        "pair: [1, 1]",
    ];
    assert_eq!(reported(&result), expected);
    // Whatever a candidate believes, nobody else has heard of it.
    other.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    assert_eq!(other.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(udp.recv(&mut [0; 9]).unwrap_err().kind(), ErrorKind::WouldBlock);
    for listener in [at_path, by_name] {
        listener.set_nonblocking(true).unwrap();
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
    if let Some(other) = other_ipv6 {
        other.set_nonblocking(true).unwrap();
        assert_eq!(other.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

#[test]
fn thousands_of_sockets_are_refused_and_those_that_were_closed_make_room() {
    let steps = r#"
def many(count):
    made = []
    try:
        for _ in range(count): made.append(socket.socket())
    except OSError as error:
        return made, error.errno
    return made, 0
made, why = many(900)
check("alone", lambda: (len(made), why))
check("a child of it", lambda: subprocess.check_output([sys.executable, "-c", "import socket; socket.socket()"], stderr=subprocess.PIPE))
for one in made: one.close()
check("when closed", lambda: ask(tcp()))
made, why = many(500)
child = subprocess.run([sys.executable, "-c", """
import socket
made = []
try:
    while True: made.append(socket.socket())
except OSError: print(len(made))
"""], capture_output=True, text=True)
check("together", lambda: 0 < int(child.stdout) <= 12)
for one in made: one.close()
check("a thousand, one after the other", lambda: {ask(tcp()) for _ in range(1000)})
"#;
    let result = evaluate(&Task::new(), &program(steps), gateway());
    let expected = [
        "alone: (512, 24)",
        "a child of it: CalledProcessError",
        "when closed: 'said by the gateway'",
        "together: True",
        "a thousand, one after the other: {'said by the gateway'}",
    ];
    assert_eq!(reported(&result), expected);
}

#[test]
fn a_gateway_that_is_gone_is_an_error_that_clients_know() {
    let gone = {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, listener.local_addr().unwrap().port())
    };
    let steps = r#"
check("socket", tcp)
check("urllib", lambda: urllib.request.urlopen(os.environ["ADDRESS"], timeout=30))
"#;
    let result = evaluate(&Task::new(), &program(steps), gone);
    assert_eq!(reported(&result), ["socket: ConnectionRefusedError", "urllib: URLError"]);
}

#[test]
fn a_call_that_was_interrupted_or_left_alone_holds_nobody_up() {
    // A door that lets nobody in: whoever comes after those that wait in line waits for an answer.
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, closed.local_addr().unwrap().port());
    rustix::net::listen(&closed, 0).unwrap();
    let steps = r#"
import signal, threading
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
held = []
def open_some():
    try:
        while len(held) < 20: held.append(socket.socket())
    except OSError: pass
for _ in range(4): threading.Thread(target=open_some, daemon=True).start()
child = os.fork()
if child == 0:
    try: open_some()
    finally: os._exit(0)
time.sleep(0.5)
os.kill(child, 9)
os.waitpid(child, 0)
print(json.dumps({"id": request["id"], "output": request["input"]["x"] * 2}), flush=True)
os._exit(0)
"#;
    let begin = std::time::Instant::now();
    let result = evaluate(&Task::new(), &program(steps), address);
    assert_eq!(result.aggregate.mean, Some(1.0), "{:#?}", shown(&result));
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

#[test]
fn what_the_scorer_runs_has_no_way_out() {
    let task = Task::new().scorer(
        r#"
import json, subprocess, sys
for line in sys.stdin:
    request = json.loads(line)
    tries = "import socket; socket.create_connection(('127.0.0.1', 8702))"
    ran = subprocess.run([sys.argv[1], "sandbox", "--", "python3", "-c", tries], capture_output=True, text=True)
    print(json.dumps({"id": request["id"], "score": int("PermissionError" in ran.stderr)}), flush=True)
"#,
    );
    let score: Vec<String> = ["python3", "{scorer}/score.py", "{taskwright}"].map(str::to_owned).into();
    let task = task.set("scorer.score", score);
    let result = evaluate(&task, &program("check('run', lambda: ask(tcp()))"), gateway());
    assert_eq!(reported(&result), ["run: 'said by the gateway'"]);
}
