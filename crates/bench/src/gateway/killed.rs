//! A gateway that is killed while it is asked as fast as it answers, and what is charged afterwards.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};

use super::load;
use super::question::{HELD, INPUT, Kind, OUTPUT, PLAIN, Question};
use super::service::{Running, Service};
use super::upstream::Upstream;
use crate::http::Connection;
use crate::rows::{Aim, Row, Unit, number};

/// How long it is asked before it is killed.
const LOAD: Duration = Duration::from_millis(700);
/// How many streams are open then, and how many whole answers are waited for that will not come.
const OPEN: usize = 16;
const PATIENCE: Duration = Duration::from_secs(30);

/// What clients know.
#[derive(Debug, Default)]
struct Known {
    /// How many answers were received to the end.
    answered: AtomicU64,
    /// How many were asked for, with those that were not answered.
    asked: AtomicU64,
}

/// Kills a gateway so many times under load, with requests under way, and starts it again. Returns what the last one says.
pub fn rows(
    service: &Service,
    upstream: &Upstream,
    clients: usize,
    runs: u8,
    stop: &AtomicBool,
) -> anyhow::Result<Vec<Row>> {
    let (known, before) = (Known::default(), upstream.seen()?);
    let (mut running, _) = service.start()?;
    let (id, token) = running.mint()?;
    let plain = Question::new(PLAIN, Kind::Whole, &token);
    let held = [Kind::Stream, Kind::Whole].map(|kind| Question::new(HELD, kind, &token));
    let mut starts = Vec::new();
    for _ in 0..runs {
        ensure!(!stop.load(Ordering::Relaxed), "interrupted");
        let streams = load::hold(running.address, &held[0], OPEN)?;
        let waiting = wait_for_nothing(&running, &held[1])?;
        known.asked.fetch_add(2 * OPEN as u64, Ordering::Relaxed);
        let began = Instant::now();
        while running.usage(id)?.open < 2 * OPEN as u64 {
            ensure!(began.elapsed() < PATIENCE, "requests do not reach the gateway");
            thread::sleep(Duration::from_millis(1));
        }
        kill(&mut running, &plain, clients, &known)?;
        drop((streams, waiting));
        let (next, seconds) = service.start()?;
        running = next;
        starts.push(seconds);
    }
    let sent = upstream.seen()? - before;
    let usage = running.usage(id)?;
    let (answered, asked) = (known.answered.into_inner(), known.asked.into_inner());
    ensure!(usage.open == 0, "{} requests are open after a restart", usage.open);
    ensure!(usage.requests <= asked, "{} requests are charged, of {asked}", usage.requests);
    ensure!(answered > 0, "nothing was answered before the gateway was killed");
    let all_held = u64::from(runs) * 2 * OPEN as u64;
    let set_aside = u64::from(runs) * OPEN as u64 * (held[0].set_aside + held[1].set_aside);
    let row = |name: &str, what: &str, found: u64, beside: &str, least: u64| {
        let row = Row::new(format!("gateway/killed/{name}"), what, Unit::Count, &[number(found)], 0.0)?;
        anyhow::Ok(row.beside(beside, number(least)).aim(Aim::Least(number(least))))
    };
    let what = format!("requests charged, after {runs} kills under load");
    let tokens = answered * (INPUT + OUTPUT) + set_aside;
    let start = "from the start to the first answer, with that journal";
    Ok(vec![
        row("sent", &what, usage.requests, "those that the upstream was sent", sent)?,
        row("answered", &what, usage.requests, "those answered, and those held", answered + all_held)?,
        row(
            "tokens",
            "tokens charged",
            usage.tokens.total(),
            "of those answered, and set aside for those held",
            tokens,
        )?,
        Row::new("gateway/killed/start", start, Unit::Milliseconds, &starts, 0.0)?,
    ])
}

/// Asks for whole answers that will not come.
fn wait_for_nothing(running: &Running, question: &Question) -> anyhow::Result<Vec<Connection>> {
    let ask = |_| {
        let mut connection = Connection::open(running.address)?;
        connection.send(&question.bytes)?;
        Ok(connection)
    };
    (0..OPEN).map(ask).collect()
}

/// Has many clients ask, and kills the gateway meanwhile.
fn kill(running: &mut Running, question: &Question, clients: usize, known: &Known) -> anyhow::Result<()> {
    let address = running.address;
    thread::scope(|scope| {
        let ask = |_| {
            scope.spawn(|| -> anyhow::Result<()> {
                let mut connection = Connection::open(address)?;
                loop {
                    known.asked.fetch_add(1, Ordering::Relaxed);
                    // An error is the end that this is about.
                    if connection.ask(&question.bytes).is_err() {
                        return Ok(());
                    }
                    known.answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let clients: Vec<_> = (0..clients).map(ask).collect();
        thread::sleep(LOAD);
        let killed = running.kill();
        clients
            .into_iter()
            .try_for_each(|client| client.join().unwrap_or_else(|_| bail!("a client panicked")))?;
        killed
    })
}
