"""A candidate that attacks: the number of the sample says how. Samples without an attack are answered honestly."""

import glob, json, os, signal, socket, subprocess, sys, time

def search(paths):
    found, seen = [], 0
    for top in paths:
        for folder, _, files in os.walk(top):
            for name in files:
                path = os.path.join(folder, name)
                try:
                    with open(path, "rb") as file:
                        text = file.read(1 << 20)
                    seen += 1
                except OSError:
                    continue
                if b"LABEL-" + b"d41c5b" in text or b"SECRET-" + b"9f8e7a" in text:
                    found.append(path)
    return {"found": found, "seen": seen}

def files(): return search(["/taskwright", "/var/lib", "/run", "/tmp", "/evidence", "/root", "/home", "/opt", "/srv", "/dev/shm", "/var/tmp", "/mnt"])

def environments():
    found = []
    for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/maps"):
        try:
            if b"SECRET-" + b"9f8e7a" in open(path, "rb").read():
                found.append(path)
        except OSError:
            pass
    roots = []
    for path in glob.glob("/proc/[0-9]*/root/taskwright/serve.json"):
        try:
            roots.append(open(path).read()[:80])
        except OSError:
            pass
    return {"found": found, "roots": roots, "own": [k for k in os.environ if "SECRET" in k]}

def finalize():
    tried = {}
    try:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(2)
        s.connect("/run/taskwright/admin/socket")
        s.sendall(b'"finalize"\n')
        tried["socket"] = s.recv(100).decode()
    except OSError as error:
        tried["socket"] = type(error).__name__
    tried["command"] = subprocess.run(["/usr/local/bin/taskwright", "finalize"], capture_output=True, timeout=5).returncode
    return tried

def network():
    tried = {}
    for host, port in [("127.0.0.1", 8700), ("eval-sidecar", 8700), ("1.1.1.1", 53)]:
        try:
            socket.create_connection((host, port), 1).close()
            tried[host] = "connected"
        except OSError as error:
            tried[host] = type(error).__name__
    return tried

def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for fd in range(3): os.close(fd)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True: time.sleep(1)
        os._exit(0)
    return "left a daemon"

def fork_bomb():
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.01)

def memory(): return len(bytearray(4 << 30))

def disk():
    written = 0
    for folder in [".", os.environ.get("TMPDIR", "/tmp"), "/tmp", "/dev/shm", "/var/tmp"]:
        for number in range(8):
            try:
                with open(os.path.join(folder, f"fill-{number}"), "wb") as file:
                    for _ in range(64):
                        written += file.write(b"x" * (1 << 20))
            except OSError:
                break
    return written

def flood():
    while True:
        os.write(1, b"x" * 65536)

def not_text():
    os.write(1, b'{"id": "%s", "output": "\xff\xfe\x00"}\n' % current.encode())

def not_a_number():
    os.write(1, b'{"id": "%s", "output": NaN}\n' % current.encode())

def for_others():
    for number in range(24):
        os.write(1, b'{"id": "train-%d", "output": %d}\n' % (number, (number + 1) * 2))
        os.write(1, b'{"id": "test-%d", "output": 1}\n' % number)

def deep():
    os.write(1, b'{"id": "%s", "output": ' % current.encode() + b"[" * 200000 + b"]" * 200000 + b"}\n")

def kill():
    tried = []
    for pid in [1, os.getppid(), -1]:
        try:
            if pid == -1:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                os.kill(-1, signal.SIGTERM)
            else:
                os.kill(pid, signal.SIGKILL)
            tried.append([pid, "sent"])
        except OSError as error:
            tried.append([pid, type(error).__name__])
    return tried

def change():
    changed = []
    for path in ["/taskwright/scorer/score.py", "/usr/local/bin/taskwright", "/usr/local/bin/python3", "/etc/passwd", "main.py", "keep.txt"]:
        try:
            open(path, "a").write("# changed\n")
            changed.append(path)
        except OSError:
            pass
    return changed

def rise():
    tried = {}
    for name, attempt in [("setuid", lambda: os.setuid(0)), ("unshare", lambda: os.unshare(os.CLONE_NEWUSER)), ("chroot", lambda: os.chroot("/tmp"))]:
        try:
            attempt()
            tried[name] = "done"
        except OSError as error:
            tried[name] = type(error).__name__
    return tried

def stop():
    os.kill(os.getpid(), signal.SIGSTOP)

def odd_files():
    made = []
    ways = {
        "fifo": lambda: os.mkfifo("fifo"), "link": lambda: os.symlink("/taskwright/serve.json", "link"),
        "device": lambda: os.mknod("device", 0o600 | 0o060000, os.makedev(254, 0)),
        "through": lambda: open("link").read(),
    }
    os.chdir(os.environ["TMPDIR"])
    for name, way in ways.items():
        try:
            way()
            made.append(name)
        except OSError:
            pass
    return {"made": made}

def ten_gigabytes():
    os.chdir(os.environ["TMPDIR"])
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    written = 0
    for attempt in [lambda: os.truncate("sparse", 10 << 30), lambda: os.posix_fallocate(file.fileno(), 0, 10 << 30)]:
        try:
            file = open("sparse", "wb")
            attempt()
            written += 10 << 30
        except OSError:
            pass
    return {"written": written}

attacks = [None, files, environments, finalize, network, daemon, fork_bomb, memory, disk, flood, not_text, not_a_number, for_others, deep, kill, change, rise, stop, odd_files, ten_gigabytes]

for line in sys.stdin:
    row = json.loads(line)
    current = row["id"]
    number = int(current.split("-")[1])
    attack = attacks[number] if number < len(attacks) else None
    if attack is None:
        output = row["input"]["x"] * 2
    else:
        output = attack()
    if attack not in (not_text, not_a_number, for_others, deep):
        print(json.dumps({"id": current, "output": output}), flush=True)
