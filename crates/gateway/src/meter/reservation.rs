//! What is set aside for one request, from before it is sent until it has ended, however it ends.
//!
//! ```text
//!   unsent ──▶ sent ──▶ answering ──▶ ended
//!     │         │          └─ dropped ──▶ cut: charged what passed
//!     │         └─ dropped ──▶ cut: charged what was set aside, since nobody knows what the model did
//!     └─ dropped ──▶ failed: charged nothing
//! ```

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::OwnedSemaphorePermit;

use super::{Meter, Who};
use crate::answer::count::Count;
use crate::entry::{End, Settled};
use crate::log::{Record, now};
use crate::money::{Money, Price};
use crate::tokens::Tokens;
use crate::usage::Parts;
use crate::wire::refusal::Refusal;

/// What a request may take, and what of it is logged.
#[derive(Debug)]
pub struct Ask {
    /// The tokens that go in, as far as can be told.
    pub input: u64,
    /// The most tokens that come out.
    pub output: u64,
    /// Whether the model may go on when the answer is complete, or nobody listens to it any more.
    pub in_background: bool,
    /// What the model costs, if that is known.
    pub price: Option<Price>,
    /// Its place among the requests that may be under way.
    pub slot: Option<OwnedSemaphorePermit>,
    /// Its line of the log.
    pub record: Record,
    /// When it came.
    pub began: Instant,
}

impl Ask {
    /// The most that it costs.
    pub(super) fn most(&self) -> Money {
        self.price.map_or(Money::ZERO, |price| price.most(self.input, self.output))
    }
}

/// How far a request is.
#[derive(Debug)]
enum Progress {
    Unsent,
    Sent,
    Answering(Count),
    Ended,
}

/// What is set aside for a request. It is settled when this is dropped, if it was not before.
#[derive(Debug)]
pub struct Reservation {
    meter: Arc<Meter>,
    who: Who,
    ask: Ask,
    request: u64,
    entries: u64,
    progress: Progress,
    /// What the upstream says that it costs.
    told: Option<Money>,
}

impl Reservation {
    pub(super) fn new(meter: Arc<Meter>, who: Who, ask: Ask, request: u64, entries: u64) -> Self {
        Self { meter, who, ask, request, entries, progress: Progress::Unsent, told: None }
    }

    /// Whose request it is.
    pub fn who(&self) -> &Who {
        &self.who
    }

    /// Its line of the log.
    pub fn record(&mut self) -> &mut Record {
        &mut self.ask.record
    }

    /// From now on the model may be at work.
    pub fn sent(&mut self) {
        self.progress = Progress::Sent;
    }

    /// Waits until what is set aside is on the disk, unless that is only a moment late.
    pub async fn durable(&self) -> Result<(), Refusal> {
        self.meter.durable(self.entries).await
    }

    /// The answer begins. `told` is what the upstream says that it costs.
    pub fn answering(&mut self, told: Option<Money>) {
        self.progress = Progress::Answering(Count::default());
        self.told = told;
    }

    /// What the answer took so far.
    pub fn count(&mut self) -> Option<&mut Count> {
        match &mut self.progress {
            Progress::Answering(count) => Some(count),
            _ => None,
        }
    }

    /// The answer is complete.
    pub fn answered(mut self) {
        self.end(End::Answered);
    }

    /// The upstream failed, or refused it.
    pub fn failed(mut self) {
        self.progress = Progress::Unsent;
        self.end(End::Failed);
    }

    /// Whether the upstream's word for the cost is believed: within ten times the most that it can be, if that is known.
    fn is_likely(&self, told: Money) -> bool {
        self.ask.price.is_none() || told.parts() / 10 <= self.ask.most().parts()
    }

    fn end(&mut self, end: End) {
        let aside = Tokens { input: self.ask.input, output: self.ask.output, ..Tokens::default() };
        let (end, tokens, estimated) = match std::mem::replace(&mut self.progress, Progress::Ended) {
            Progress::Ended => return,
            Progress::Unsent => (End::Failed, Tokens::default(), false),
            Progress::Sent => (end, aside, true),
            Progress::Answering(count) if self.ask.in_background && !count.says_output() => {
                (end, aside, true)
            }
            Progress::Answering(count) => {
                let (tokens, estimated) = count.tokens(self.ask.input, end == End::Cut);
                (end, tokens, estimated)
            }
        };
        let told = self.told.filter(|told| self.is_likely(*told));
        let known = match end {
            End::Failed => Some(Money::ZERO),
            _ => told.or_else(|| self.ask.price.map(|price| price.of(&tokens))),
        };
        let (cost, unpriced) = (known.unwrap_or(Money::ZERO), known.is_none());
        let (request, parts) = (self.request, Parts(cost));
        self.meter.settle(Settled { request, end, tokens, cost: parts, estimated, unpriced });
        drop(self.ask.slot.take());
        let mut record = std::mem::take(&mut self.ask.record);
        record.at = now();
        record.request = Some(self.request);
        record.end = Some(end);
        record.tokens = Some(tokens);
        record.cost = Some(cost);
        record.estimated = estimated;
        record.milliseconds = u64::try_from(self.ask.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.meter.log.write(&record);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.end(End::Cut);
    }
}
