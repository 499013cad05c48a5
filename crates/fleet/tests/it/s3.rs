//! A store in S3: a server of the package `moto`, which checks who asks as S3 does.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use taskwright_testing::{Need, not_run, test, works};

use crate::child::SHARD;
use crate::support::{Machine, Said, Space, commit, write};

/// A server that ends with the value, with a bucket and somebody who may use it.
struct Server {
    process: Child,
    address: String,
    id: String,
    secret: String,
}

impl Server {
    fn start() -> Self {
        if !works("moto_server", &["--help"]) {
            not_run(Need::System, "there is no `moto_server` here (`uv tool install 'moto[s3,server]'`)");
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("moto_server");
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        // The first four requests are let through: they make the bucket and whoever may use it.
        command.env("INITIAL_NO_AUTH_ACTION_COUNT", "4").stdout(Stdio::null()).stderr(Stdio::null());
        let address = format!("127.0.0.1:{port}");
        let mut server =
            Self { process: command.spawn().unwrap(), address, id: String::new(), secret: String::new() };
        let start = Instant::now();
        while TcpStream::connect(&server.address).is_err() {
            assert!(start.elapsed() < Duration::from_secs(60), "the server does not answer");
            thread::sleep(Duration::from_millis(50));
        }
        server.request("PUT /shared", "");
        server.request("POST /", "Action=CreateUser&UserName=u&Version=2010-05-08");
        let key = server.request("POST /", "Action=CreateAccessKey&UserName=u&Version=2010-05-08");
        let policy =
            r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}"#;
        server.request(
            "POST /",
            &format!(
                "Action=PutUserPolicy&UserName=u&PolicyName=p&Version=2010-05-08&PolicyDocument={policy}"
            ),
        );
        let between = |tag: &str| {
            let (_, rest) = key.split_once(&format!("<{tag}>")).unwrap_or_else(|| panic!("{key}"));
            rest.split_once('<').unwrap().0.to_owned()
        };
        (server.id, server.secret) = (between("AccessKeyId"), between("SecretAccessKey"));
        server
    }

    /// A request that is not signed.
    fn request(&self, line: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let service = if line.starts_with("PUT") { "s3" } else { "iam" };
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nAuthorization: AWS4-HMAC-SHA256 \
             Credential=x/20260101/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=0\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 2"), "{line}: {answer}");
        answer
    }

    /// A machine with what opens the store.
    fn machine(&self, space: &Space, name: &str) -> Machine {
        self.with_secret(space.machine(name), &self.secret)
    }

    fn with_secret(&self, machine: Machine, secret: &str) -> Machine {
        machine
            .with("AWS_ENDPOINT_URL", &format!("http://{}", self.address))
            .with("AWS_ACCESS_KEY_ID", &self.id)
            .with("AWS_SECRET_ACCESS_KEY", secret)
            .trusted()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// That the store was given up with one warning of these words, and that the build is right all the same.
fn assert_given_up(machine: &Machine, words: &str, right: &str) {
    let said = machine.build().well();
    assert!(said.archived(), "{said:?}");
    assert!(matches!(said.warnings()[..], [one] if one.contains(words)), "{words}: {said:?}");
    assert_eq!(machine.lock_text(), right);
}

fn assert_taken(machine: &Machine, right: &str) -> Said {
    let said = machine.build().well();
    assert!(!said.archived() && said.warnings().is_empty(), "{said:?}");
    assert_eq!(machine.lock_text(), right);
    said
}

#[test]
fn machines_share_a_bucket_as_far_as_they_may() {
    let server = Server::start();
    let space = Space::at("s3://shared/some/where", &["one", "two"]);
    let first = server.machine(&space, "first");
    let said = first.build().well();
    assert!(said.archived() && said.warnings().is_empty(), "{said:?}");
    let right = first.lock_text();
    assert_taken(&server.machine(&space, "second"), &right);

    let wrong: String = server.secret.chars().rev().collect();
    let refused = server.with_secret(space.machine("refused"), &wrong);
    assert_given_up(&refused, "does not accept the credentials of the environment", &right);
    assert!(!refused.build().lines.concat().contains(&wrong));
    // Where a machine of a cloud asks who it is, nobody answers.
    let nobody = space.machine("nobody").trusted().with("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1");
    let nobody = nobody.with("AWS_ENDPOINT_URL", &format!("http://{}", server.address));
    assert_given_up(&nobody, "holds no credentials", &right);
    let open = server.machine(&space, "open").with("AWS_ENDPOINT_URL", "http://192.0.2.1");
    assert_given_up(&open, "not sent over plain HTTP", &right);
    let elsewhere = Space::at("s3://no-such-bucket/x", &["one", "two"]);
    assert_given_up(&server.machine(&elsewhere, "first"), "there is no such bucket", &right);

    let late = server.machine(&space, "late");
    drop(server);
    assert_given_up(&late, "not used any more in this build", &right);
}

/// A server that answers every request so, and takes what it is sent.
fn lying(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let _ = stream.read(&mut [0; 8 * 1024]);
                let _ = stream.write_all(answer);
            });
        }
    });
    address
}

#[test]
fn a_server_that_lies_changes_nothing() {
    let space = Space::at("s3://shared", &["one", "two"]);
    let alone = space.machine("alone");
    write(&alone.root.join("taskwright.toml"), "binary = \"bin/taskwright\"\n");
    alone.build().well();
    let answers: [(&str, &'static [u8]); 5] = [
        ("text", b"HTTP/1.1 200 OK\r\nETag: \"x\"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"),
        ("endless", b"HTTP/1.1 200 OK\r\nETag: \"x\"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: 99999999999999\r\nConnection: close\r\n\r\nhello"),
        ("short", b"HTTP/1.1 200 OK\r\nETag: \"x\"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: 500\r\nConnection: close\r\n\r\nhello"),
        ("moved", b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        ("no http", b"SSH-2.0-x\r\n"),
    ];
    for (at, (name, answer)) in answers.into_iter().enumerate() {
        let address = lying(answer);
        let machine = space.machine(&format!("lied-to-{at}")).trusted();
        let machine = machine.with("AWS_ENDPOINT_URL", &address);
        let machine = machine.with("AWS_ACCESS_KEY_ID", "x").with("AWS_SECRET_ACCESS_KEY", "secret-of-mine");
        let said = machine.build().well();
        assert!(said.archived(), "{name}: {said:?}");
        assert!((1..=2).contains(&said.warnings().len()), "{name}: {said:?}");
        assert!(!said.lines.concat().contains("secret-of-mine"), "{name}: {said:?}");
        assert_eq!(machine.lock_text(), alone.lock_text(), "{name}");
    }
}

#[test]
fn a_fleet_of_which_one_is_killed_builds_what_one_machine_builds_alone() {
    let server = Server::start();
    let space = Space::at("s3://shared", &["a", "b", "c", "d", "e", "f"]);
    let alone = space.machine("alone");
    write(&alone.root.join("taskwright.toml"), "binary = \"bin/taskwright\"\n");
    alone.build().well();

    let part =
        |number: u32| server.machine(&space, &format!("part-{number}")).with(SHARD, &format!("{number}/3"));
    let machines = [part(1), part(2), part(3)];
    let mut running: Vec<_> = machines.iter().map(|machine| machine.command().spawn().unwrap()).collect();
    // Two tasks of it stand, and it is about to leave what it made.
    let mut killed = running.pop().unwrap();
    let mut heard = [0; 4096];
    let mut said = String::new();
    while said.matches("built: ").count() < 2 {
        let count = killed.stdout.as_mut().unwrap().read(&mut heard).unwrap();
        assert!(count > 0, "{said}");
        said.push_str(&String::from_utf8_lossy(&heard[..count]));
    }
    killed.kill().unwrap();
    assert!(!killed.wait().unwrap().success());
    for child in running {
        assert!(child.wait_with_output().unwrap().status.success());
    }

    let whole = server.machine(&space, "whole");
    let said = whole.build().well();
    assert!(said.warnings().is_empty(), "{said:?}");
    assert_eq!(whole.lock_text(), alone.lock_text());
    assert!(whole.built() == alone.built());
    // And from then on nobody makes anything.
    assert_taken(&server.machine(&space, "last"), &alone.lock_text());
    // The one that was killed goes on where it was.
    write(&machines[2].root.join("harbor-tasks/a/baseline/name.txt"), "a");
    fs::write(machines[2].root.join("notes"), "").unwrap();
    commit(&machines[2].root);
    machines[2].build().well();
    assert_eq!(machines[2].lock().tasks.keys().collect::<Vec<_>>(), ["c", "f"]);
}
