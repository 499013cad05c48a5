//! A gateway that is killed, and what its journal says afterwards.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use serde_json::json;
use taskwright_gateway::{Door, Scope, TokenId, Tokens as _};
use taskwright_testing::test;

use crate::support::{Client, Scripted, World, chat, obliging, scope, start, streamed};

/// Names the folder of a gateway that this program then is, instead of running tests.
pub const CHILD: &str = "TASKWRIGHT_GATEWAY_CHILD";

fn config() -> serde_json::Value {
    json!({ "evaluation": scope(&json!({ "max_requests": 100 })) })
}

/// Runs a gateway until it is killed, or for a minute.
pub fn child(folder: &OsStr) -> ExitCode {
    let folder = Path::new(folder);
    let upstream = std::fs::read_to_string(folder.join("upstream")).unwrap().parse().unwrap();
    let gateway = start(&config(), upstream, folder).unwrap();
    let (id, token) = gateway.handle().mint(Scope::Evaluation, "killed").unwrap();
    println!("{} {} {}", gateway.address(Door::Evaluation).unwrap(), id.0, token.show());
    std::thread::sleep(Duration::from_secs(60));
    ExitCode::FAILURE
}

/// A gateway in a process of its own, and a token of it.
struct Started {
    child: Child,
    address: SocketAddr,
    id: TokenId,
    bearer: String,
}

impl Started {
    /// By a command that runs this program.
    fn by(mut command: Command, upstream: &Scripted, folder: &Path) -> Self {
        std::fs::write(folder.join("upstream"), upstream.address.to_string()).unwrap();
        let mut child = command.env(CHILD, folder).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let mut words = line.split_whitespace();
        let address = words.next().unwrap().parse().unwrap();
        let id = TokenId(words.next().unwrap().parse().unwrap());
        Self { child, address, id, bearer: format!("Bearer {}", words.next().unwrap()) }
    }
}

#[test]
fn what_cannot_be_written_down_is_not_done_and_is_not_the_clients_fault() {
    let upstream = Scripted::start(obliging);
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    // No file may grow beyond a few kilobytes, as on a disk that is full.
    command.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\""]).arg(std::env::current_exe().unwrap());
    let Started { mut child, address, id, bearer } = Started::by(command, &upstream, folder.path());
    let headers = [("authorization", bearer.as_str())];
    let ask = || Client::connect(address).ask("POST", "/v1/messages", &headers, chat("small").to_string());
    let answered = (0..100).take_while(|_| ask().status() == 200).count() as u64;
    assert!((1..100).contains(&answered), "{answered}");
    let refused = ask();
    assert_eq!((refused.status(), &refused.json()["error"]["type"]), (503, &json!("api_error")));
    let asked = upstream.requests().len() as u64;
    assert_eq!(ask().status(), 503);
    assert_eq!(upstream.requests().len() as u64, asked);
    let usage = taskwright_gateway::Client::new(folder.path().join("control/socket")).usage(id).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // Before those two there was the one that ended the count.
    assert_eq!((usage.unreachable, usage.refused, usage.requests), (3, 0, answered));
}

#[test]
fn nothing_is_lost_when_it_is_killed_and_what_was_under_way_is_charged_what_was_set_aside() {
    let upstream = Scripted::start(|asked, reply| {
        if asked.text().contains("\"stream\"") {
            reply.begin_events();
            reply.stall();
        } else {
            obliging(asked, reply);
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let command = Command::new(std::env::current_exe().unwrap());
    let Started { mut child, address, id, bearer } = Started::by(command, &upstream, folder.path());
    let headers = [("authorization", bearer.as_str())];
    for _ in 0..20 {
        let answer =
            Client::connect(address).ask("POST", "/v1/messages", &headers, chat("small").to_string());
        assert_eq!(answer.status(), 200);
    }
    let mut streams: Vec<Client> = (0..3).map(|_| Client::connect(address)).collect();
    let body = streamed("small").to_string();
    for stream in &mut streams {
        stream.send("POST", "/v1/chat/completions", &headers, &body);
        assert_eq!(stream.head().status(), 200);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let gateway = start(&config(), upstream.address, folder.path()).unwrap();
    let usage = gateway.handle().usage(id).unwrap();
    assert_eq!((usage.requests, usage.estimated, usage.open), (23, 3, 0));
    let each = 100 + body.len().div_ceil(4) as u64;
    assert_eq!(usage.tokens.total(), 20 * 15 + 3 * each);
    let left = gateway.handle().budget(Scope::Evaluation).unwrap().unwrap();
    assert_eq!(left.requests_left, Some(77));
    // The token is still known.
    let address = gateway.address(Door::Evaluation).unwrap();
    let answer = Client::connect(address).ask("POST", "/v1/messages", &headers, chat("small").to_string());
    assert_eq!(answer.status(), 200);
}

#[test]
fn that_a_request_could_not_be_made_is_known_after_a_new_start() {
    let limits = json!({ "max_requests": 1 });
    let mut world = World::limited(&limits, obliging);
    let (spent, token) = world.mint(Scope::Evaluation);
    let (untouched, _) = world.mint(Scope::Evaluation);
    let statuses = [(); 3].map(|()| world.ask(&token, "/v1/messages", &chat("small")).status());
    assert_eq!((statuses, world.usage(spent).spent), ([200, 402, 402], 2));
    world.again();
    let usage = world.usage(spent);
    assert!(usage.spent > 0 && usage.is_cut_off(), "{usage:?}");
    assert_eq!((usage.requests, usage.unreachable), (1, 0));
    assert!(!world.usage(untouched).is_cut_off());
    // The end says how many there were, those from before and those from after.
    world.ask(&token, "/v1/messages", &chat("small"));
    let counted = world.gateway().handle().revoke(spent).unwrap();
    world.again();
    assert_eq!((world.usage(spent).spent, world.usage(spent).refused), (counted.spent, counted.refused));

    let mut world = World::limited(&json!({}), |_, reply| reply.whole(401, &[], "{}"));
    let (unreachable, token) = world.mint(Scope::Evaluation);
    assert_eq!(world.ask(&token, "/v1/messages", &chat("small")).status(), 502);
    world.again();
    assert_eq!((world.usage(unreachable).unreachable, world.usage(unreachable).spent), (1, 0));
}

#[test]
fn a_damaged_journal_is_refused_and_a_torn_line_is_not() {
    let mut world = World::new(config(), obliging);
    let (id, token) = world.mint(Scope::Evaluation);
    for _ in 0..5 {
        world.ask(&token, "/v1/messages", &chat("small"));
    }
    drop(world.gateway.take());
    let path = world.folder.path().join("state/journal.jsonl");
    let whole = std::fs::read(&path).unwrap();
    let again = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        start(&world.config, world.upstream.address, world.folder.path())
            .map(|gateway| gateway.handle().usage(id).unwrap())
    };
    let torn = [&whole[..], b"0123456789abcdef {\"reserved\":{\"req"].concat();
    assert_eq!(again(&torn).unwrap().requests, 5);
    let half = whole.len() / 2;
    let end_of_line = whole[..half].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let mut changed = whole.clone();
    changed[half] ^= 1;
    for damaged in [&changed[..], &whole[..end_of_line], b"", b"{}\n", &whole[end_of_line..]] {
        let error = again(damaged).unwrap_err();
        assert!(error.to_string().contains("damaged") && error.hint_text().is_some(), "{error}");
    }
    assert_eq!(again(&whole).unwrap().requests, 5);
}

#[test]
fn two_gateways_do_not_share_a_journal() {
    let world = World::new(config(), obliging);
    let error = start(&world.config, world.upstream.address, world.folder.path()).unwrap_err();
    assert!(error.to_string().contains("is in use by process"), "{error}");
}
