//! The meter: what a request may take is set aside before it is sent, and what it took is charged when it has ended.
//!
//! Both are written to the journal, and what is set aside is handed to the system before the request is sent: a gateway that is
//! killed forgets nothing. A thread syncs what was written, all requests of a moment at once. A loss of power can forget what
//! was written in the last twentieth of a second, and no more: where the disk is slower than that, answers wait for it.
//!
//! ```text
//!   reserve: written ──▶ sent ──▶ synced, or only a moment late ──▶ the answer passes ──▶ settle: written
//!      └─ what is set aside for others may come back: waits
//! ```

mod reservation;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use taskwright_base::journal::Journal;
use taskwright_base::lock::{Attempt, LockFile, Wait};
use taskwright_base::{Digest, Error, Result, failed, failed_to};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

pub use reservation::{Ask, Reservation};

use crate::book::{Book, Lack, Resource, Room};
use crate::config::Config;
use crate::entry::{Entry, Reserved, Settled};
use crate::log::Log;
use crate::money::Money;
use crate::scope::{Door, Scope};
use crate::token::{Token, TokenId};
use crate::usage::{Budget, Charge, Parts, Usage};
use crate::wire::refusal::{Kind, Refusal, figure};

/// How far the disk may lag behind before answers wait for it.
const LAG: Duration = Duration::from_millis(50);
/// How long entries are gathered before they are synced together.
const GATHERED: Duration = Duration::from_millis(10);
/// How many bytes a journal has before it is replaced by a shorter one.
const LONG: u64 = 32 << 20;

/// Whose request it is.
#[derive(Debug, Clone)]
pub struct Who {
    /// The token.
    pub token: TokenId,
    /// Its scope.
    pub scope: Scope,
    /// What it is for.
    pub attribution: String,
    valid: Arc<AtomicBool>,
}

impl Who {
    /// Whether the token is still valid.
    pub fn is_valid(&self) -> bool {
        self.valid.load(Ordering::Acquire)
    }
}

/// How far the journal is known to be on the disk.
#[derive(Debug, Clone, Copy, Default)]
struct Synced {
    entries: u64,
    failed: bool,
}

#[derive(Debug)]
struct State {
    book: Book,
    journal: Journal<Entry>,
    /// How many entries were appended since it was opened.
    entries: u64,
    /// When the oldest entry was appended that is not being synced yet, and the oldest of those that are.
    unsynced: Option<Instant>,
    syncing: Option<Instant>,
    /// Whether who syncs must be woken.
    wakes: bool,
    stopping: bool,
}

impl State {
    /// Appends an entry, and adds it to the book. Returns how many there are.
    fn write(&mut self, entry: Entry) -> std::io::Result<u64> {
        self.journal.append(&entry)?;
        self.entries += 1;
        self.wakes |= self.unsynced.is_none();
        self.unsynced.get_or_insert_with(Instant::now);
        // What we write ourselves adds up; if it does not, nothing more is taken.
        self.book.apply(entry).map_err(|what| {
            let error = std::io::Error::other(what);
            self.journal.break_off(&error);
            error
        })?;
        Ok(self.entries)
    }
}

/// The meter.
#[derive(Debug)]
pub struct Meter {
    /// What the gateway was told.
    pub config: Config,
    /// The log of requests.
    pub log: Log,
    state: Mutex<State>,
    /// Wakes who syncs.
    work: Condvar,
    synced: watch::Sender<Synced>,
    /// Tells those who wait that something was settled.
    settled: Notify,
    /// How many more requests may be under way.
    slots: BTreeMap<Scope, Arc<Semaphore>>,
    _lock: LockFile,
}

impl Meter {
    /// Opens the journal in a folder, or begins one. What was under way when its last writer was killed is charged what was
    /// set aside for it.
    ///
    /// # Errors
    /// The config makes no sense, the folder is in use, or the journal does not hold what was written to it.
    pub fn open(config: Config, folder: &Path) -> Result<Arc<Self>> {
        config.check()?;
        std::fs::create_dir_all(folder).map_err(failed("making", folder))?;
        let lock = match LockFile::acquire(folder.join("lock"), &Wait::none())? {
            Attempt::Held(lock) => lock,
            Attempt::Busy(holder) => {
                return Err(Error::new(format!("`{}` is in use by {holder}", folder.display()))
                    .hint("stop the other gateway, or name another folder"));
            }
            Attempt::Stopped => return Err(Error::interrupted()),
        };
        let mut book = Book::default();
        let (journal, _) = Journal::open(folder, |entry| book.apply(entry)).map_err(|damage| {
            Error::new(format!("the gateway's journal is damaged: {damage}")).hint(
                "what was used is not known any more: begin in a new folder only if that may be forgotten",
            )
        })?;
        let mut state =
            State { book, journal, entries: 0, unsynced: None, syncing: None, wakes: false, stopping: false };
        for lost in state.book.lost() {
            state.write(Entry::Settled(lost)).map_err(failed("writing in", folder))?;
        }
        state.journal.reach().sync().map_err(failed("writing in", folder))?;
        let slots = config
            .pools()
            .filter_map(|(scope, limits)| {
                let most = usize::try_from(limits.max_concurrency.at_most()?).unwrap_or(usize::MAX);
                Some((scope, Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))))
            })
            .collect();
        let meter = Self {
            config,
            log: Log::open(folder)?,
            state: Mutex::new(state),
            work: Condvar::new(),
            synced: watch::Sender::new(Synced::default()),
            settled: Notify::new(),
            slots,
            _lock: lock,
        };
        Ok(Arc::new(meter))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of the state, and wakes who syncs if there is something new to sync.
    fn release(&self, mut state: MutexGuard<'_, State>) {
        let wakes = std::mem::take(&mut state.wakes);
        drop(state);
        if wakes {
            self.work.notify_one();
        }
    }

    /// Starts the thread that syncs. It ends after [`Meter::stop`].
    pub fn start(self: &Arc<Self>) -> Result<JoinHandle<()>> {
        let meter = Arc::clone(self);
        thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || meter.keep_syncing())
            .map_err(failed_to("starting a thread"))
    }

    /// Asks the thread that syncs to end, after what there is to sync.
    pub fn stop(&self) {
        self.state().stopping = true;
        self.work.notify_all();
    }

    fn keep_syncing(&self) {
        let mut done = 0;
        let mut long = LONG;
        loop {
            let mut state = self.state();
            while state.entries == done && !state.stopping {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state = self
                .work
                .wait_timeout_while(state, GATHERED, |state| !state.stopping)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            let (entries, stopping) = (state.entries, state.stopping);
            if state.journal.length() > long {
                let summary = state.book.summary();
                if let Err(error) = state.journal.replace(summary) {
                    eprintln!("taskwright: {error}");
                }
                long = LONG.max(2 * state.journal.length());
            }
            let reach = state.journal.reach();
            state.syncing = state.unsynced.take();
            drop(state);
            if entries > done {
                let outcome = reach.sync();
                let mut state = self.state();
                state.syncing = None;
                if let Err(error) = &outcome {
                    eprintln!("taskwright: syncing the gateway's journal: {error}");
                    state.journal.break_off(error);
                }
                drop(state);
                done = entries;
                self.synced.send_replace(Synced { entries, failed: outcome.is_err() });
            }
            self.log.flush();
            if stopping {
                return;
            }
        }
    }

    /// Makes a token, which outlives this process. `attribution` says what it is for.
    pub fn mint(&self, scope: Scope, attribution: &str) -> Result<(TokenId, Token)> {
        let token = Token::new()?;
        Ok((self.admit(scope, attribution, &token)?, token))
    }

    /// Makes a text a token.
    pub fn admit(&self, scope: Scope, attribution: &str, token: &Token) -> Result<TokenId> {
        if self.config.scope(scope).is_none() {
            return Err(Error::new(format!("`{scope}` may use no model: the gateway has no such scope")));
        }
        let mut state = self.state();
        let id = state.book.next_token();
        let attribution = attribution.to_owned();
        let entry = Entry::Minted { token: id, scope, digest: token.digest(), attribution };
        state.write(entry).map_err(failed_to("writing the gateway's journal"))?;
        self.release(state);
        Ok(id)
    }

    /// Makes a token invalid at once, and cuts its requests that are under way. Returns what it has used so far.
    pub fn revoke(&self, token: TokenId) -> Result<Usage> {
        let mut state = self.state();
        let known = state.book.token(token).ok_or_else(|| unknown(token))?;
        let refusals = known.usage.refusals();
        if known.valid.load(Ordering::Acquire) {
            let entry = Entry::Revoked { token, refusals };
            state.write(entry).map_err(failed_to("writing the gateway's journal"))?;
        }
        self.release(state);
        self.settled.notify_waiters();
        self.usage(token)
    }

    /// Makes every token of a door invalid.
    pub fn revoke_all(&self, door: Door) -> Result<()> {
        let valid = self.state().book.valid(door);
        valid.into_iter().try_for_each(|token| self.revoke(token).map(drop))
    }

    /// What a token has used.
    pub fn usage(&self, token: TokenId) -> Result<Usage> {
        self.state().book.token(token).map(|known| known.usage).ok_or_else(|| unknown(token))
    }

    /// What all tokens of a scope have used; none if it may use nothing.
    pub fn used(&self, scope: Scope) -> Option<Usage> {
        self.config.scope(scope).map(|_| self.state().book.used(scope))
    }

    /// The budget of a scope; none if it may use nothing.
    pub fn budget(&self, scope: Scope) -> Option<Budget> {
        self.state().book.budget(&self.config, scope)
    }

    /// Whose token a client shows at a door.
    pub fn who(&self, door: Door, token: &Token) -> Option<Who> {
        let digest: Digest = token.digest();
        let state = self.state();
        let (token, known) = state.book.find(door, &digest)?;
        let (scope, attribution) = (known.scope, known.attribution.clone());
        Some(Who { token, scope, attribution, valid: Arc::clone(&known.valid) })
    }

    /// Counts a refusal, if it is one of ours, or that the request could not be made. How often is written when the token ends; that
    /// there was one is written at once, so that a gateway that is started again still knows it.
    pub fn refused(&self, token: TokenId, kind: Kind) {
        let mut state = self.state();
        let Some(known) = state.book.token_mut(token) else { return };
        known.usage.refused += u64::from(!kind.is_upstreams());
        known.usage.spent += u64::from(kind == Kind::Spent);
        known.usage.unreachable += u64::from(kind.is_nobodys());
        let refusals = known.usage.refusals();
        let is_first =
            kind == Kind::Spent && refusals.spent == 1 || kind.is_nobodys() && refusals.unreachable == 1;
        if is_first && let Err(error) = state.write(Entry::CutOff { token, refusals }) {
            eprintln!("taskwright: writing the gateway's journal: {error}");
        }
        self.release(state);
    }

    /// Waits until one more request of a scope may be under way.
    pub async fn slot(&self, scope: Scope) -> Option<OwnedSemaphorePermit> {
        let (_, pool) = self.config.scope(scope)?;
        let slots = self.slots.get(&pool)?;
        Arc::clone(slots).acquire_owned().await.ok()
    }

    /// Sets aside what a request may take, or says why that is not possible. Waits while others may give something back.
    pub async fn reserve(self: &Arc<Self>, who: Who, ask: Ask) -> Result<Reservation, Refusal> {
        loop {
            let settled = self.settled.notified();
            let mut settled = std::pin::pin!(settled);
            settled.as_mut().enable();
            if let Some(reserved) = self.try_reserve(&who, &ask)? {
                let (request, entries) = reserved;
                return Ok(Reservation::new(Arc::clone(self), who, ask, request, entries));
            }
            settled.await;
        }
    }

    fn try_reserve(&self, who: &Who, ask: &Ask) -> Result<Option<(u64, u64)>, Refusal> {
        let gone = || Refusal::new(Kind::Unauthorized, "this token is not valid any more");
        let (limits, pool) = self.config.scope(who.scope).ok_or_else(gone)?;
        let mut state = self.state();
        // Asked under the lock: who is revoked after this has its reservation written before its end.
        if !who.is_valid() {
            return Err(gone());
        }
        let cost = Parts(ask.most());
        let wanted = Charge { requests: 1, tokens: ask.input.saturating_add(ask.output), cost };
        match state.book.room(pool, limits, wanted) {
            Room::Later => return Ok(None),
            Room::None(lack) => return Err(Refusal::new(Kind::Spent, words(pool, &lack))),
            Room::Free => {}
        }
        let (request, token) = (state.book.next_request(), who.token);
        let (input, output, unpriced) = (ask.input, ask.output, ask.price.is_none());
        let reserved = Reserved { request, token, pool, input, output, cost, unpriced };
        let entries = state.write(Entry::Reserved(reserved)).map_err(|error| {
            eprintln!("taskwright: writing the gateway's journal: {error}");
            unavailable()
        })?;
        self.release(state);
        Ok(Some((request, entries)))
    }

    fn settle(&self, settled: Settled) {
        let mut state = self.state();
        if state.write(Entry::Settled(settled.clone())).is_err() {
            // What is not written is charged as it was set aside when the journal is read again; until then, as it was.
            let _ = state.book.apply(Entry::Settled(settled));
        }
        self.release(state);
        self.settled.notify_waiters();
    }

    /// Waits until so many entries are on the disk, where it lags behind.
    async fn durable(&self, entries: u64) -> Result<(), Refusal> {
        let oldest = {
            let state = self.state();
            state.syncing.or(state.unsynced)
        };
        if !self.synced.borrow().failed && oldest.is_none_or(|oldest| oldest.elapsed() < LAG) {
            return Ok(());
        }
        let mut synced = self.synced.subscribe();
        let reached = synced.wait_for(|synced| synced.failed || synced.entries >= entries).await;
        match reached {
            Ok(synced) if !synced.failed => Ok(()),
            _ => Err(unavailable()),
        }
    }
}

fn unknown(token: TokenId) -> Error {
    Error::new(format!("there is no {token}")).usage()
}

fn unavailable() -> Refusal {
    Refusal::new(
        Kind::Unavailable,
        "the gateway cannot write down what it is asked for, so it does not do it",
    )
}

/// What a budget lacks, in words.
fn words(pool: Scope, lack: &Lack) -> String {
    let Lack { what, wanted, limit, spent } = *lack;
    let left = limit.saturating_sub(spent);
    let amount = |parts| Money::from_parts(parts).to_string();
    match what {
        Resource::Requests => {
            format!("the budget of `{pool}` is spent: all of its {} requests have been made", figure(limit))
        }
        Resource::Tokens if left == 0 => {
            format!("the budget of `{pool}` is spent: all of its {} tokens have been used", figure(limit))
        }
        Resource::Tokens => format!(
            "the budget of `{pool}` does not suffice: this request may take {} tokens, with what comes out, and {} of {} \
             are left; allow it less output, or send less",
            figure(wanted),
            figure(left),
            figure(limit)
        ),
        Resource::Money if left == 0 => {
            format!("the budget of `{pool}` is spent: all of its {}", amount(limit))
        }
        Resource::Money => format!(
            "the budget of `{pool}` does not suffice: this request may cost {}, and {} of {} are left; allow it less \
             output, or send less",
            amount(wanted),
            amount(left),
            amount(limit)
        ),
    }
}
