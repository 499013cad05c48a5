//! `cargo xtask bench gateway`: what the gateway adds to a language model's upstream, what it holds, and what it forgets when killed.
//!
//! ```text
//!   this process, clients ──┬──────────────────────▶ upstream, a process of its own
//!                           └──▶ gateway, a process ──▶ the same
//! ```

mod journal;
mod killed;
mod load;
mod open_files;
mod question;
mod service;
pub mod upstream;

use std::net::SocketAddr;

use anyhow::ensure;
use camino::{Utf8Path, Utf8PathBuf};
use taskwright::exit::Status;
use taskwright::workspace;

use self::load::Pairs;
use self::question::{HELD, Kind, PLAIN, Question, SLOW};
use self::service::{Running, Service};
use self::upstream::Upstream;
use crate::frame::{Clock, Common, Folder, Place};
use crate::http::Connection;
use crate::rows::{Aim, Row, Sample, Section, Unit};

/// What the gateway may add to a request: the median and the 99th percentile, in seconds.
const ADDED: [f64; 2] = [0.001, 0.005];
/// How many streams a second it should serve.
const STREAMS: f64 = 2000.0;
/// What its process may hold, in bytes.
const MEMORY: f64 = 64e6;

/// Measure the gateway beside the bare upstream, which answers at once.
///
/// The upstream and the gateway are processes of their own, on loopback. The gateway is the program of the images, and its journal
/// is on the workspace's disk.
#[derive(clap::Args)]
pub struct Arguments {
    /// The program of the images; that of the built task `small-model`, if not given.
    #[arg(long, value_name = "FILE")]
    program: Option<Utf8PathBuf>,
    /// How many requests are made one after the other.
    #[arg(long, value_name = "COUNT", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(20..1_000_000))]
    requests: u32,
    /// How many clients ask at once.
    #[arg(long, value_name = "COUNT", default_value_t = 64)]
    clients: usize,
    /// How many streams are open at once.
    #[arg(long, value_name = "COUNT", default_value_t = 1000)]
    streams: usize,
    /// How many events a stream has.
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    events: usize,
    /// How often rates are measured, and the gateway is killed.
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..100))]
    runs: u8,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    common: Common,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let workspace = workspace::this()?;
    let name = format!("taskwright-{}", std::env::consts::ARCH);
    let program = match &arguments.program {
        Some(program) => workspace::from_here(program)?,
        None => workspace.out.join("small-model/environment/bin").join(name),
    };
    ensure!(
        program.is_file(),
        "there is no `{program}`: `cargo xtask build-tasks small-model` makes it, or name another"
    );
    open_files::room_for(arguments.streams)?;
    let disk = Folder::new_in(&workspace.root.join("target"))?;
    let memory = arguments.place.folder()?;
    let measure = |clock: &Clock| {
        let bench =
            Bench { arguments, program: &program, upstream: Upstream::start(arguments.events)?, clock };
        bench.measure(&disk, &memory)
    };
    arguments.common.run(measure)
}

/// What all measurements share.
struct Bench<'a> {
    arguments: &'a Arguments,
    program: &'a Utf8Path,
    upstream: Upstream,
    clock: &'a Clock,
}

impl Bench<'_> {
    fn measure(&self, disk: &Utf8Path, memory: &Utf8Path) -> anyhow::Result<Vec<Section>> {
        let service = self.service(&disk.join("asked"))?;
        let (running, _) = service.start()?;
        let token = running.mint()?.1;
        let at_once = format!("{} at once", self.arguments.clients);
        let mut sections = vec![
            section("One request after the other", self.latency(&running, &token)?),
            section(&at_once, self.rates(&running, &token)?),
        ];
        let on_disk = (&service, &running, &*token);
        let rows = self.journal(on_disk, &memory.join("asked"), &disk.join("journal"))?;
        sections.push(section("The journal", rows));
        drop(running);
        sections.push(section("Memory", self.memory(&disk.join("open"))?));
        let rows = self.series("a gateway that is killed", || {
            let Arguments { clients, runs, .. } = *self.arguments;
            let stop = &*self.clock.stop;
            killed::rows(&self.service(&disk.join("killed"))?, &self.upstream, clients, runs, stop)
        })?;
        sections.push(section("Killed under load", rows));
        Ok(sections)
    }

    /// Measures when the machine is quiet, and notes in each row how busy it was.
    fn series(
        &self,
        what: &str,
        measure: impl FnOnce() -> anyhow::Result<Vec<Row>>,
    ) -> anyhow::Result<Vec<Row>> {
        let (mut rows, busy) = self.clock.series(what, measure)?;
        rows.iter_mut().for_each(|row| row.busy = busy);
        Ok(rows)
    }

    fn latency(&self, running: &Running, token: &str) -> anyhow::Result<Vec<Row>> {
        let (addresses, stop) = ([self.upstream.address, running.address], &*self.clock.stop);
        let requests = self.arguments.requests;
        let mut rows = self.series("requests one after the other", || {
            let question = Question::new(PLAIN, Kind::Whole, token);
            let pairs = load::pairs(addresses, &question, requests, |answer| answer.rest().map(drop), stop)?;
            latency("whole", "a whole answer", &pairs)
        })?;
        rows.extend(self.series("the first byte of streams", || {
            let question = Question::new(SLOW, Kind::Stream, token);
            let first = |answer: &mut Connection| answer.piece().map(drop);
            let pairs = load::pairs(addresses, &question, requests.div_ceil(10), first, stop)?;
            let what =
                format!("the first byte of a stream, the next {} ms later", upstream::PAUSE.as_millis());
            latency("first", &what, &pairs)
        })?);
        Ok(rows)
    }

    fn rates(&self, running: &Running, token: &str) -> anyhow::Result<Vec<Row>> {
        let Arguments { clients, events, runs, .. } = self.arguments;
        let streams = format!("streams of {events} events");
        let mut rows = Vec::new();
        for (name, what, kind) in
            [("whole", "whole answers", Kind::Whole), ("stream", &*streams, Kind::Stream)]
        {
            let question = Question::new(PLAIN, kind, token);
            rows.extend(self.series(what, || {
                let asked = [(self.upstream.address, &question), (running.address, &question)];
                let [bare, through] = self.by_turns(asked)?;
                let what = format!("{what}, {clients} clients");
                let row = Row::new(format!("gateway/rate/{name}"), what, Unit::PerSecond, &through, 0.0)?
                    .beside(format!("the bare upstream, {runs} runs by turns"), Sample::median(&bare)?);
                Ok(vec![if kind == Kind::Stream { row.aim(Aim::Least(STREAMS)) } else { row }])
            })?);
        }
        Ok(rows)
    }

    /// What two services answer in a second, by turns.
    fn by_turns(&self, asked: [(SocketAddr, &Question); 2]) -> anyhow::Result<[Vec<f64>; 2]> {
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..self.arguments.runs {
            for ((address, question), rates) in asked.iter().zip(&mut rates) {
                rates.push(load::rate(*address, question, self.arguments.clients, &self.clock.stop)?);
            }
        }
        Ok(rates)
    }

    /// What it costs that every request is written down: on the disk, beside the same in memory.
    fn journal(
        &self,
        on_disk: (&Service, &Running, &str),
        memory: &Utf8Path,
        scratch: &Utf8Path,
    ) -> anyhow::Result<Vec<Row>> {
        let Arguments { clients, runs, .. } = self.arguments;
        let (service, disk, token) = on_disk;
        let in_memory = self.service(memory)?.start()?.0;
        let questions = [token, &in_memory.mint()?.1].map(|token| Question::new(PLAIN, Kind::Whole, token));
        let mut rows = self.series("requests with a journal in memory", || {
            let [disk, memory] =
                self.by_turns([(disk.address, &questions[0]), (in_memory.address, &questions[1])])?;
            let what = format!("whole answers, {clients} clients, the journal on the disk");
            Ok(vec![
                Row::new("gateway/journal/rate", what, Unit::PerSecond, &disk, 0.0)?
                    .beside(format!("in memory, {runs} runs by turns"), Sample::median(&memory)?),
            ])
        })?;
        drop(in_memory);
        rows.extend(self.series("the journal", || journal::rows(&service.state(), scratch))?);
        Ok(rows)
    }

    /// What its process holds: when it has just been started, and with many streams open.
    fn memory(&self, folder: &Utf8Path) -> anyhow::Result<Vec<Row>> {
        let streams = self.arguments.streams;
        self.series("memory", || {
            let (running, _) = self.service(folder)?.start()?;
            let token = running.mint()?.1;
            let idle = running.memory("VmRSS:")?;
            let held = load::hold(running.address, &Question::new(HELD, Kind::Stream, &token), streams)?;
            let (now, most) = (running.memory("VmRSS:")?, running.memory("VmHWM:")?);
            drop(held);
            let row = |name: &str, what: String, bytes: f64| {
                Row::new(format!("gateway/memory/{name}"), what, Unit::Megabytes, &[bytes], 0.0)
            };
            Ok(vec![
                row("idle", "the gateway's process, asked nothing yet".to_owned(), idle)?,
                row("open", format!("the same with {streams} open streams"), now)?.within(MEMORY),
                row("most", "the most it ever had".to_owned(), most)?.within(MEMORY),
            ])
        })
    }

    fn service(&self, folder: &Utf8Path) -> anyhow::Result<Service> {
        Service::new(self.program, folder.to_owned(), self.upstream.address)
    }
}

/// An answer through the gateway beside the bare upstream, and what the gateway adds to it.
fn latency(name: &str, what: &str, pairs: &Pairs) -> anyhow::Result<Vec<Row>> {
    let row = |suffix: &str, what: String, values: &[f64]| {
        Row::new(format!("gateway/latency/{name}{suffix}"), what, Unit::Milliseconds, values, 0.0)
    };
    let added = pairs.added();
    Ok(vec![
        row("", what.to_owned(), &pairs.through)?
            .beside("the bare upstream, by turns", Sample::median(&pairs.bare)?),
        row("/p99", format!("the 99th percentile of {}", added.len()), &[Sample::late(&pairs.through)?])?
            .beside("that of the bare upstream", Sample::late(&pairs.bare)?),
        row("/added", "what the gateway adds to each".to_owned(), &added)?.within(ADDED[0]),
        row("/added/p99", "the 99th percentile of that".to_owned(), &[Sample::late(&added)?])?
            .within(ADDED[1]),
    ])
}

fn section(title: &str, rows: Vec<Row>) -> Section {
    Section { title: title.to_owned(), rows }
}
