//! Collects the scores of trials by agent and task.

use std::collections::{BTreeMap, HashMap};

use crate::rank::statistics::{Gain, Measure, Reference, is_amount, is_reward};
use crate::record::{CostSource, Failure, Score, Status};

use super::rules::Rules;

/// All scores, by agent and task.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// The digests of the agents, in order.
    pub(crate) agents: Vec<String>,
    /// The names of the tasks, in order.
    pub(crate) tasks: Vec<String>,
    /// What is known of the contents of each task in trials that count, in the order of `tasks`.
    pub(crate) contents: Vec<Contents>,
    /// The cells of each agent that has trials of a task, in the order of `agents`, and by the place of the task in
    /// `tasks`.
    pub(crate) cells: Vec<Cells>,
}

/// What came of the trials of one agent, by the place of the task.
pub(crate) type Cells = BTreeMap<usize, Outcomes>;

/// What came of the trials of one agent on one task.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    pub(crate) complete: u64,
    pub(crate) partial: u64,
    pub(crate) missing: u64,
    /// How many of the partial ones are among the rewards.
    pub(crate) partial_counted: u64,
    /// The rewards that count.
    pub(crate) rewards: Vec<f64>,
    /// Their gains, of those whose baseline is known.
    pub(crate) gains: Vec<Gain>,
    pub(crate) cost_usd: Spent,
    /// How many of its amounts a gateway metered.
    pub(crate) metered: u64,
    pub(crate) evaluation_cost_usd: Spent,
    pub(crate) finalization_cost_usd: Spent,
    pub(crate) seconds: Spent,
    /// The failures of trials that are not complete, and of those that are.
    pub(crate) failures: BTreeMap<Failure, u64>,
    pub(crate) flagged: BTreeMap<Failure, u64>,
}

/// What trials took of money or time, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    /// By trials that count.
    pub(crate) counted: Vec<f64>,
    /// By the others.
    pub(crate) others: Vec<f64>,
    /// How many of all of these were killed or stopped before they had said all.
    pub(crate) cut_short: u64,
}

impl Spent {
    fn add(&mut self, amount: Option<f64>, counts: bool, failure: Option<Failure>) {
        if let Some(amount) = amount.filter(|amount| is_amount(*amount)) {
            self.cut_short += u64::from(matches!(failure, Some(Failure::Timeout | Failure::Cancelled)));
            if counts { &mut self.counted } else { &mut self.others }.push(amount);
        }
    }
}

impl Outcomes {
    /// Adds a trial, and says whether it counts.
    fn add(&mut self, score: &Score, rules: &Rules) -> bool {
        let reward = score.reward.filter(|reward| is_reward(*reward));
        let is_complete = score.status == Status::Complete && reward.is_some();
        let counted = match score.status {
            Status::Missing => {
                self.missing += 1;
                None
            }
            Status::Complete if is_complete => {
                self.complete += 1;
                reward
            }
            Status::Complete | Status::Partial => {
                self.partial += 1;
                let value = rules.partial.filter(|_| can_count(score.failure));
                self.partial_counted += u64::from(value.is_some());
                value
            }
        };
        self.rewards.extend(counted);
        self.gains.extend(counted.and_then(|reward| Gain::of(reward, &score.reference, rules.direction)));
        let is_metered = score.cost_source == Some(CostSource::Metered);
        self.metered += u64::from(is_metered);
        // What a gateway metered is known to the last request, however the agent ended.
        let failure = score.failure.filter(|_| !is_metered);
        for (spent, amount, failure) in [
            (&mut self.cost_usd, score.cost_usd, failure),
            (&mut self.evaluation_cost_usd, score.evaluation_cost_usd, None),
            (&mut self.finalization_cost_usd, score.finalization_cost_usd, None),
            (&mut self.seconds, score.seconds, None),
        ] {
            spent.add(amount, counted.is_some(), failure);
        }
        if let Some(failure) = score.failure {
            let failures = if is_complete { &mut self.flagged } else { &mut self.failures };
            *failures.entry(failure).or_default() += 1;
        }
        counted.is_some()
    }

    /// What the trials that count come to by a measure; nothing unless each of them has it.
    pub(crate) fn values(&self, measure: Measure) -> Option<Vec<f64>> {
        let values: Vec<f64> = match measure {
            Measure::Reward => self.rewards.clone(),
            Measure::Gain => self.gains.iter().filter_map(|gain| gain.relative).collect(),
            Measure::Share => self.gains.iter().filter_map(|gain| gain.share).collect(),
        };
        (!values.is_empty() && values.len() == self.rewards.len()).then_some(values)
    }
}

/// Whether a partial trial may count where the rules want partial ones to: what infrastructure broke or somebody stopped
/// says nothing of the agent.
fn can_count(failure: Option<Failure>) -> bool {
    !matches!(failure, Some(Failure::Infrastructure | Failure::Cancelled))
}

/// Collects scores. Their order does not matter.
pub(crate) fn gather(scores: impl IntoIterator<Item = Score>, rules: &Rules) -> Gathered {
    let mut agents = Names::default();
    let mut tasks = Names::default();
    let mut contents: Vec<Contents> = Vec::new();
    let mut found: HashMap<(usize, usize), Outcomes> = HashMap::new();
    for mut score in scores {
        let agent = agents.place(std::mem::take(&mut score.agent_digest));
        let task = tasks.place(std::mem::take(&mut score.task));
        if found.entry((agent, task)).or_default().add(&score, rules) {
            contents.resize_with(contents.len().max(task + 1), Contents::default);
            contents[task].add(score.task_digest, score.reference);
        }
    }
    let (agents, agent_places) = agents.sorted();
    let (tasks, task_places) = tasks.sorted();
    let mut cells: Vec<Cells> = agents.iter().map(|_| BTreeMap::new()).collect();
    #[expect(clippy::iter_over_hash_type, reason = "each goes to a cell of its own")]
    for ((agent, task), outcomes) in found {
        cells[agent_places[agent]].insert(task_places[task], outcomes);
    }
    let mut sorted: Vec<Contents> = tasks.iter().map(|_| Contents::default()).collect();
    for (contents, place) in contents.into_iter().zip(task_places) {
        sorted[place] = contents;
    }
    Gathered { agents, tasks, contents: sorted, cells }
}

/// What is known of the contents of a task.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    one: Option<String>,
    /// Whether there was more than one.
    pub(crate) are_several: bool,
    reference: Reference,
}

impl Contents {
    fn add(&mut self, digest: Option<String>, reference: Reference) {
        match (&self.one, digest) {
            (Some(one), Some(digest)) => self.are_several |= *one != digest,
            (None, Some(digest)) => {
                self.one = Some(digest);
                self.reference = reference;
            }
            (_, None) => {}
        }
    }

    /// What rewards are held against; of several contents there is no one answer.
    pub(crate) fn reference(&self) -> Reference {
        if self.are_several { Reference::default() } else { self.reference }
    }
}

/// Names, numbered as they come.
#[derive(Default)]
struct Names(HashMap<String, usize>);

impl Names {
    fn place(&mut self, name: String) -> usize {
        let next = self.0.len();
        *self.0.entry(name).or_insert(next)
    }

    /// The names in order, and for each number the place of its name among them.
    fn sorted(self) -> (Vec<String>, Vec<usize>) {
        let mut names: Vec<(String, usize)> = self.0.into_iter().collect();
        names.sort_unstable();
        let mut places = vec![0; names.len()];
        for (place, (_, number)) in names.iter().enumerate() {
            places[*number] = place;
        }
        (names.into_iter().map(|(name, _)| name).collect(), places)
    }
}
