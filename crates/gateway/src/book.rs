//! What the journal adds up to: tokens, what each has used, and what is spent and set aside of each budget.
//!
//! ```text
//!   reserve ──▶ open ──▶ settled: answered, cut   what it took is charged
//!      │          │
//!      │          ├────▶ settled: failed          nothing is charged
//!      │          └─ killed, opened again ──▶ settled: lost   what was set aside is charged
//!      ├─ would fit if nothing were set aside ──▶ wait until something is settled
//!      └─ does not fit ──▶ spent
//! ```

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use taskwright_base::Digest;
use taskwright_language::model::Limit;

use crate::config::{Config, ScopeConfig};
use crate::entry::{End, Entry, Reserved, Settled};
use crate::scope::{Door, Scope};
use crate::token::{TokenId, same};
use crate::tokens::Tokens;
use crate::usage::{Budget, Charge, Parts, Refusals, Spent, Usage};

/// A token that is known.
#[derive(Debug)]
pub struct Known {
    pub scope: Scope,
    pub attribution: String,
    digest: Digest,
    /// Whether it is still valid. Its requests under way look here.
    pub valid: Arc<AtomicBool>,
    pub usage: Usage,
}

#[derive(Debug, Default)]
struct Pool {
    spent: Charge,
    /// What is set aside for requests under way.
    aside: Charge,
}

/// What the journal adds up to.
#[derive(Debug, Default)]
pub struct Book {
    tokens: BTreeMap<TokenId, Known>,
    /// By the first bytes of their digests, which say nothing of the tokens.
    by_digest: HashMap<[u8; 8], Vec<TokenId>>,
    pools: BTreeMap<Scope, Pool>,
    open: BTreeMap<u64, Reserved>,
    last_request: u64,
}

/// Whether a request may be made.
#[derive(Debug, PartialEq, Eq)]
pub enum Room {
    /// There is room for it.
    Free,
    /// There may be when others are done.
    Later,
    /// There is none.
    None(Lack),
}

/// What a budget lacks for a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Lack {
    /// "requests", "tokens".
    pub what: Resource,
    /// How much the request may take.
    pub wanted: u64,
    /// How much there was.
    pub limit: u64,
    /// How much is spent.
    pub spent: u64,
}

/// What a budget is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    Requests,
    Tokens,
    /// In parts of a dollar.
    Money,
}

fn key(digest: &Digest) -> [u8; 8] {
    std::array::from_fn(|place| digest.bytes()[place])
}

impl Book {
    /// Adds what the journal says next, or says why it cannot be true.
    pub fn apply(&mut self, entry: Entry) -> Result<(), String> {
        match entry {
            Entry::Minted { token, scope, digest, attribution } => {
                self.add(token, scope, digest, attribution, true, Usage::default())
            }
            Entry::Token { token, scope, digest, attribution, valid, mut usage, cost } => {
                usage.cost = cost.0;
                self.add(token, scope, digest, attribution, valid, usage)
            }
            Entry::CutOff { token, refusals } => self.refused(token, refusals).map(drop),
            Entry::Revoked { token, refusals } => {
                self.refused(token, refusals)?.valid.store(false, Ordering::Release);
                Ok(())
            }
            Entry::Reserved(reserved) => self.reserved(reserved),
            Entry::Settled(settled) => self.settled(&settled),
            Entry::Spent { pool, charge } => {
                self.pools.entry(pool).or_default().spent += charge;
                Ok(())
            }
            Entry::Numbered { request } => {
                self.last_request = self.last_request.max(request);
                Ok(())
            }
        }
    }

    fn add(
        &mut self,
        token: TokenId,
        scope: Scope,
        digest: Digest,
        attribution: String,
        valid: bool,
        usage: Usage,
    ) -> Result<(), String> {
        if self.tokens.last_key_value().is_some_and(|(last, _)| *last >= token) {
            return Err(format!("{token} was made before"));
        }
        self.by_digest.entry(key(&digest)).or_default().push(token);
        let valid = Arc::new(AtomicBool::new(valid));
        self.tokens.insert(token, Known { scope, attribution, digest, valid, usage });
        Ok(())
    }

    fn refused(&mut self, token: TokenId, refusals: Refusals) -> Result<&Known, String> {
        let known = self.tokens.get_mut(&token).ok_or_else(|| format!("{token} was never made"))?;
        let Refusals { refused, spent, unreachable } = refusals;
        known.usage.refused = known.usage.refused.max(refused);
        known.usage.spent = known.usage.spent.max(spent);
        known.usage.unreachable = known.usage.unreachable.max(unreachable);
        Ok(known)
    }

    fn reserved(&mut self, reserved: Reserved) -> Result<(), String> {
        let request = reserved.request;
        if request <= self.last_request {
            return Err(format!("request {request} follows request {}", self.last_request));
        }
        let known = self.tokens.get_mut(&reserved.token);
        let known = known.ok_or_else(|| format!("{} was never made", reserved.token))?;
        known.usage.open += 1;
        self.pools.entry(reserved.pool).or_default().aside += aside(&reserved);
        self.last_request = request;
        self.open.insert(request, reserved);
        Ok(())
    }

    fn settled(&mut self, settled: &Settled) -> Result<(), String> {
        let request = settled.request;
        let reserved = self.open.remove(&request).ok_or_else(|| format!("request {request} is not open"))?;
        let pool = self.pools.entry(reserved.pool).or_default();
        pool.aside = pool.aside.less(aside(&reserved));
        let known = self.tokens.get_mut(&reserved.token);
        let usage = &mut known.ok_or_else(|| format!("{} was never made", reserved.token))?.usage;
        usage.open = usage.open.saturating_sub(1);
        if settled.end == End::Failed {
            usage.failed += 1;
            return Ok(());
        }
        pool.spent += Charge { requests: 1, tokens: settled.tokens.total(), cost: settled.cost };
        usage.requests += 1;
        usage.tokens += settled.tokens;
        usage.cost += settled.cost.0;
        usage.estimated += u64::from(settled.estimated);
        usage.unpriced += u64::from(settled.unpriced);
        Ok(())
    }

    /// How the requests ended that were under way when the journal's writer was killed.
    pub fn lost(&self) -> Vec<Settled> {
        self.open
            .values()
            .map(|reserved| Settled {
                request: reserved.request,
                end: End::Lost,
                tokens: Tokens { input: reserved.input, output: reserved.output, ..Tokens::default() },
                cost: reserved.cost,
                estimated: true,
                unpriced: reserved.unpriced,
            })
            .collect()
    }

    /// The entries of a short journal that adds up to the same.
    pub fn summary(&self) -> Vec<Entry> {
        let tokens = self.tokens.iter().map(|(&token, known)| {
            let Known { scope, attribution, digest, valid, usage } = known;
            Entry::Token {
                token,
                scope: *scope,
                digest: *digest,
                attribution: attribution.clone(),
                valid: valid.load(Ordering::Acquire),
                // Those that are open are reserved again below.
                usage: Usage { open: 0, ..*usage },
                cost: Parts(usage.cost),
            }
        });
        let pools = self.pools.iter().map(|(&pool, state)| Entry::Spent { pool, charge: state.spent });
        let open = self.open.values().cloned().map(Entry::Reserved);
        let last = Entry::Numbered { request: self.last_request };
        tokens.chain(pools).chain(open).chain([last]).collect()
    }

    /// The number of the next request.
    pub fn next_request(&self) -> u64 {
        self.last_request + 1
    }

    /// The number of the next token.
    pub fn next_token(&self) -> TokenId {
        TokenId(self.tokens.last_key_value().map_or(1, |(last, _)| last.0 + 1))
    }

    /// A token by its number.
    pub fn token(&self, token: TokenId) -> Option<&Known> {
        self.tokens.get(&token)
    }

    /// A token by its number, valid or not.
    pub fn token_mut(&mut self, token: TokenId) -> Option<&mut Known> {
        self.tokens.get_mut(&token)
    }

    /// The tokens that are known at a door and still valid.
    pub fn valid(&self, door: Door) -> Vec<TokenId> {
        let is_valid = |known: &Known| known.scope.door() == door && known.valid.load(Ordering::Acquire);
        self.tokens.iter().filter(|(_, known)| is_valid(known)).map(|(&token, _)| token).collect()
    }

    /// The valid token with a digest that is known at a door.
    pub fn find(&self, door: Door, digest: &Digest) -> Option<(TokenId, &Known)> {
        let found = self.by_digest.get(&key(digest))?.iter().find_map(|&token| {
            let known = self.tokens.get(&token)?;
            same(&known.digest, digest).then_some((token, known))
        });
        found.filter(|(_, known)| known.scope.door() == door && known.valid.load(Ordering::Acquire))
    }

    /// Whether a budget has room for a request.
    pub fn room(&self, pool: Scope, limits: &ScopeConfig, wanted: Charge) -> Room {
        let none = Pool::default();
        let Pool { spent, aside } = self.pools.get(&pool).unwrap_or(&none);
        let cost = limits.max_cost.at_most().map_or(Limit::Unlimited, |most| Limit::AtMost(most.parts()));
        let parts = |charge: &Charge| charge.cost.0.parts();
        let mut room = Room::Free;
        for (what, limit, spent, aside, wanted) in [
            (Resource::Requests, limits.max_requests, spent.requests, aside.requests, wanted.requests),
            (Resource::Tokens, limits.max_tokens, spent.tokens, aside.tokens, wanted.tokens),
            (Resource::Money, cost, parts(spent), parts(aside), parts(&wanted)),
        ] {
            let Some(limit) = limit.at_most() else { continue };
            if spent.saturating_add(wanted) > limit || spent >= limit {
                return Room::None(Lack { what, wanted, limit, spent });
            }
            if spent.saturating_add(aside).saturating_add(wanted) > limit {
                room = Room::Later;
            }
        }
        room
    }

    /// What all tokens of a scope have used, those among them that have ended.
    pub fn used(&self, scope: Scope) -> Usage {
        self.tokens.values().filter(|known| known.scope == scope).map(|known| known.usage).sum()
    }

    /// A budget, and what is left of it.
    pub fn budget(&self, config: &Config, scope: Scope) -> Option<Budget> {
        let (limits, pool) = config.scope(scope)?;
        let spent = self.pools.get(&pool).map(|pool| pool.spent).unwrap_or_default();
        let left = |limit: Limit, spent: u64| limit.at_most().map(|limit| limit.saturating_sub(spent));
        Some(Budget {
            pool,
            spent: Spent { requests: spent.requests, tokens: spent.tokens, cost: spent.cost.0 },
            requests_left: left(limits.max_requests, spent.requests),
            tokens_left: left(limits.max_tokens, spent.tokens),
            cost_left: limits.max_cost.at_most().map(|limit| limit.less(spent.cost.0)),
        })
    }
}

/// What a reservation sets aside.
fn aside(reserved: &Reserved) -> Charge {
    Charge { requests: 1, tokens: reserved.input.saturating_add(reserved.output), cost: reserved.cost }
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;
    use crate::money::Money;

    fn limits(json: serde_json::Value) -> ScopeConfig {
        let mut limits = json;
        limits["allowed_models"] = ["m"].into();
        serde_json::from_value(limits).unwrap()
    }

    fn minted(token: u64, scope: Scope) -> Entry {
        let digest = Digest::of(&token.to_le_bytes());
        Entry::Minted { token: TokenId(token), scope, digest, attribution: String::new() }
    }

    fn reserved(request: u64) -> Entry {
        let (token, pool, cost) = (TokenId(1), Scope::Evaluation, Parts(Money::dollars(0.5).unwrap()));
        Entry::Reserved(Reserved { request, token, pool, input: 10, output: 90, cost, unpriced: false })
    }

    fn settled(request: u64, end: End) -> Entry {
        let tokens = Tokens { input: 10, output: 5, ..Tokens::default() };
        let cost = Parts(Money::dollars(0.1).unwrap());
        Entry::Settled(Settled { request, end, tokens, cost, estimated: false, unpriced: false })
    }

    fn book(entries: impl IntoIterator<Item = Entry>) -> Book {
        let mut book = Book::default();
        book.apply(minted(1, Scope::Evaluation)).unwrap();
        entries.into_iter().for_each(|entry| book.apply(entry).unwrap());
        book
    }

    #[test]
    fn what_is_set_aside_is_waited_for_and_what_is_spent_is_not() {
        let limits = limits(serde_json::json!({ "max_requests": 2, "max_tokens": 200, "max_cost": 1.0 }));
        let wanted = Charge { requests: 1, tokens: 100, cost: Parts::default() };
        let room = |entries: Vec<Entry>| book(entries).room(Scope::Evaluation, &limits, wanted);
        assert_eq!(room(vec![]), Room::Free);
        assert_eq!(room(vec![reserved(1)]), Room::Free);
        assert_eq!(room(vec![reserved(1), reserved(2)]), Room::Later);
        assert_eq!(room(vec![reserved(1), settled(1, End::Failed), reserved(2)]), Room::Free);
        let spent = room(vec![reserved(1), settled(1, End::Answered), reserved(2), settled(2, End::Cut)]);
        assert_eq!(spent, Room::None(Lack { what: Resource::Requests, wanted: 1, limit: 2, spent: 2 }));
        let wanted = Charge { requests: 1, tokens: 201, cost: Parts::default() };
        let room = book([]).room(Scope::Evaluation, &limits, wanted);
        assert_eq!(room, Room::None(Lack { what: Resource::Tokens, wanted: 201, limit: 200, spent: 0 }));
    }

    #[test]
    fn what_is_open_is_lost_at_what_was_set_aside() {
        let mut book = book([reserved(1), reserved(2), settled(1, End::Answered)]);
        let lost = book.lost();
        assert_eq!((lost.len(), lost[0].tokens.total(), lost[0].end), (1, 100, End::Lost));
        lost.into_iter().for_each(|lost| book.apply(Entry::Settled(lost)).unwrap());
        let usage = book.token(TokenId(1)).unwrap().usage;
        assert_eq!((usage.requests, usage.tokens.total(), usage.estimated, usage.open), (2, 115, 1, 0));
        assert_eq!(usage.cost.to_string(), "$0.6000");
    }

    #[test]
    fn a_summary_adds_up_to_the_same() {
        let entries = vec![
            reserved(1),
            minted(2, Scope::Producer),
            settled(1, End::Answered),
            reserved(2),
            reserved(3),
            settled(3, End::Failed),
            Entry::Revoked { token: TokenId(2), refusals: Refusals { refused: 7, spent: 3, unreachable: 1 } },
        ];
        let before = book(entries);
        let mut after = Book::default();
        before.summary().into_iter().for_each(|entry| after.apply(entry).unwrap());
        assert_eq!(format!("{:?}", after.tokens), format!("{:?}", before.tokens));
        assert_eq!(format!("{:?}", after.pools), format!("{:?}", before.pools));
        assert_eq!((after.next_request(), after.next_token()), (4, TokenId(3)));
        assert_eq!(after.lost(), before.lost());
    }

    #[test]
    fn a_token_is_unknown_at_another_door_and_after_its_end() {
        let mut book = book([minted(2, Scope::Producer), minted(3, Scope::Finalization)]);
        let digest = |token: u64| Digest::of(&token.to_le_bytes());
        let known = |book: &Book, door, token| book.find(door, &digest(token)).is_some();
        assert!(known(&book, Door::Evaluation, 1) && known(&book, Door::Evaluation, 3));
        assert!(!known(&book, Door::Producer, 1) && !known(&book, Door::Evaluation, 2));
        assert!(known(&book, Door::Producer, 2) && !known(&book, Door::Producer, 9));
        book.apply(Entry::Revoked { token: TokenId(1), refusals: Refusals::default() }).unwrap();
        assert!(!known(&book, Door::Evaluation, 1));
    }

    #[test]
    fn a_journal_that_cannot_be_true_is_refused() {
        for wrong in [
            settled(9, End::Answered),
            reserved(1),
            minted(1, Scope::Producer),
            Entry::Revoked { token: TokenId(5), refusals: Refusals::default() },
        ] {
            assert!(book([reserved(1)]).apply(wrong).is_err());
        }
        assert!(book([reserved(1), settled(1, End::Lost)]).apply(settled(1, End::Lost)).is_err());
    }
}
