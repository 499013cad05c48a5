//! Clients that ask: one request after the other, or many at once.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};

use super::question::Question;
use crate::http::Connection;
use crate::rows::number;

/// How long many ask at once.
const WINDOW: Duration = Duration::from_secs(3);

/// Seconds of requests to the bare upstream, and of the same through the gateway, by turns.
#[derive(Debug, Default)]
pub struct Pairs {
    /// To the bare upstream.
    pub bare: Vec<f64>,
    /// Through the gateway.
    pub through: Vec<f64>,
}

impl Pairs {
    /// What the gateway adds, request by request.
    pub fn added(&self) -> Vec<f64> {
        self.bare.iter().zip(&self.through).map(|(bare, through)| through - bare).collect()
    }
}

/// Asks two services by turns, over a connection each, until what is timed of an answer has come.
pub fn pairs(
    [bare, through]: [SocketAddr; 2],
    question: &Question,
    count: u32,
    until: impl Fn(&mut Connection) -> anyhow::Result<()>,
    stop: &AtomicBool,
) -> anyhow::Result<Pairs> {
    let mut connections = [Connection::open(bare)?, Connection::open(through)?];
    let mut time = |place: usize| {
        let connection: &mut Connection = &mut connections[place];
        let started = Instant::now();
        connection.begin(&question.bytes)?;
        until(connection)?;
        let seconds = started.elapsed().as_secs_f64();
        connection.rest()?;
        anyhow::Ok(seconds)
    };
    // Connections are made and memory is found before anything is timed.
    for _ in 0..count.div_ceil(20) {
        time(0)?;
        time(1)?;
    }
    let mut pairs = Pairs::default();
    for _ in 0..count {
        ensure!(!stop.load(Ordering::Relaxed), "interrupted");
        pairs.bare.push(time(0)?);
        pairs.through.push(time(1)?);
    }
    Ok(pairs)
}

/// Answers a second, with many clients that ask as fast as they can.
pub fn rate(
    address: SocketAddr,
    question: &Question,
    clients: usize,
    stop: &AtomicBool,
) -> anyhow::Result<f64> {
    let answers = AtomicU64::new(0);
    let started = Instant::now();
    let end = started + WINDOW;
    thread::scope(|scope| {
        let ask = |_| {
            scope.spawn(|| -> anyhow::Result<()> {
                let mut connection = Connection::open(address)?;
                while Instant::now() < end && !stop.load(Ordering::Relaxed) {
                    connection.ask(&question.bytes)?;
                    answers.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            })
        };
        let clients: Vec<_> = (0..clients).map(ask).collect();
        clients
            .into_iter()
            .try_for_each(|client| client.join().unwrap_or_else(|_| bail!("a client panicked")))
    })?;
    Ok(number(answers.into_inner()) / started.elapsed().as_secs_f64())
}

/// Opens streams that come to no end, and waits for the first event of each.
pub fn hold(address: SocketAddr, question: &Question, count: usize) -> anyhow::Result<Vec<Connection>> {
    let open = |_| {
        let mut connection = Connection::open(address)?;
        connection.begin(&question.bytes)?;
        ensure!(connection.piece()?.is_some(), "a stream ended at once");
        Ok(connection)
    };
    (0..count).map(open).collect()
}
