//! A made-up ledger that looks like a real one: the pictures of the documentation are of its page.

use taskwright_ledger::record::{
    Agent, Claimed, Evidence, Exception, Failure, Kept, Metered, Reward, Seconds, Source, Status, Tokens,
    Trial,
};
use taskwright_ledger::report::Excerpt;

/// Trials, and the agents that they were made with.
pub struct Demonstration {
    pub agents: Vec<Agent>,
    pub trials: Vec<Trial>,
}

/// Label, model, version, how good it is, and dollars a trial.
type Sketch = (&'static str, Option<&'static str>, Option<&'static str>, f64, Option<f64>);

const AGENTS: [Sketch; 7] = [
    ("oracle", None, None, 1.0, None),
    ("claude-code", Some("anthropic/claude-opus-4-5"), Some("2.0.41"), 0.71, Some(1.35)),
    ("codex", Some("openai/gpt-5.1-codex"), Some("0.63.0"), 0.66, Some(0.52)),
    ("claude-code", Some("anthropic/claude-sonnet-4-5"), Some("2.0.41"), 0.61, Some(0.44)),
    ("terminus-2", Some("openai/gpt-5.1-mini"), Some("2.1.0"), 0.42, Some(0.07)),
    ("harness.agent:SearchAgent", Some("qwen/qwen3-coder"), None, 0.31, Some(0.12)),
    ("nop", None, None, 0.0, None),
];

const TASKS: [&str; 18] = [
    "examples/circle-packing",
    "examples/digits",
    "examples/sort-lines",
    "lab/build-a-kernel-module",
    "lab/chess-best-move",
    "lab/compress-a-corpus",
    "lab/crack-an-archive",
    "lab/csv-to-parquet",
    "lab/decode-a-protocol",
    "lab/fix-a-race",
    "lab/fix-git-history",
    "lab/logistic-regression-by-hand",
    "lab/merge-three-ledgers",
    "lab/port-a-parser",
    "lab/query-planner",
    "lab/raytracer",
    "lab/restore-a-database",
    "lab/schedule-jobs",
];

/// The demonstration, with so many trials of each task by each agent.
pub fn demonstration(attempts: usize) -> Demonstration {
    let mut random = Random(7);
    let difficulties: Vec<f64> = TASKS.iter().map(|_| random.share()).collect();
    let agents: Vec<Agent> = AGENTS
        .iter()
        .zip(1..)
        .map(|((label, model, version, _, _), place)| agent(place, label, *model, *version))
        .collect();
    let mut trials = Vec::new();
    for ((agent, (_, _, _, skill, price)), place) in agents.iter().zip(AGENTS).zip(0..) {
        for (task, difficulty) in TASKS.into_iter().zip(&difficulties) {
            for attempt in 0..attempts {
                let mut trial = planned(agent, task, trials.len());
                let minute = 4 * (attempt * 90 + place * 7) + trials.len() % 50;
                if skill > 0.2 && skill < 1.0 && random.share() < 0.012 {
                    trials.push(trial);
                    continue;
                }
                run(&mut trial, minute, skill, price, *difficulty, &mut random);
                trials.push(trial);
            }
        }
    }
    Demonstration { agents, trials }
}

/// The last lines of a verifier, as a ledger would have them.
pub fn excerpts(trial: &Trial) -> Vec<Excerpt> {
    let excerpt = (trial.failure == Some(Failure::Verifier)).then(|| Excerpt {
        title: "verifier/test-stdout.txt".to_owned(),
        text: "collected 4 items\n\ntest_output.py ..F.\n\nE   FileNotFoundError: /app/out.json\n1 failed, 3 passed".to_owned(),
    });
    excerpt.into_iter().collect()
}

/// An agent with a digest that no other place has.
pub fn agent(place: u64, label: &str, model: Option<&str>, version: Option<&str>) -> Agent {
    Agent {
        digest: [0, 1, 2, 3].map(|part| format!("{:016x}", Random(place * 4 + part).next())).concat(),
        label: label.to_owned(),
        version: version.map(str::to_owned),
        model: model.map(str::to_owned),
        configuration: "{}".to_owned(),
    }
}

/// A trial that is planned and has no result.
pub fn planned(agent: &Agent, task: &str, place: usize) -> Trial {
    let mut random = Random(place as u64 + 1_000);
    let id = format!("{:016x}{:016x}", random.next(), random.next());
    Trial {
        trial_name: format!("{}__{}", task.rsplit('/').next().unwrap(), &id[..7]),
        id,
        experiment: Some("autumn".to_owned()),
        job: Some("autumn-01".to_owned()),
        task: task.to_owned(),
        task_digest: Some(format!("sha256:{:064x}", task.len())),
        agent: agent.label.clone(),
        agent_digest: agent.digest.clone(),
        agent_version: agent.version.clone(),
        model: agent.model.clone(),
        environment: Some("docker".to_owned()),
        harbor_version: Some("0.26.0".to_owned()),
        source: Source::Run,
        status: Status::Missing,
        ..Trial::default()
    }
}

/// Lets a planned trial run.
fn run(
    trial: &mut Trial,
    minute: usize,
    skill: f64,
    price: Option<f64>,
    difficulty: f64,
    random: &mut Random,
) {
    let agent_seconds = 20.0 + 900.0 * difficulty * (0.4 + random.share()) * (skill * (1.0 - skill) * 4.0);
    let phases =
        [9.0 + 8.0 * random.share(), 4.0 * random.share(), agent_seconds, 3.0 + 10.0 * random.share()];
    trial.started_at = Some(moment(minute, 0.0));
    trial.finished_at = Some(moment(minute, phases.iter().sum()));
    trial.seconds = Seconds {
        environment: Some(phases[0]),
        agent_setup: Some(phases[1]),
        agent: Some(phases[2]),
        verifier: Some(phases[3]),
        total: Some(phases.iter().sum()),
    };
    if let Some(price) = price {
        let cost = price * (0.3 + 1.4 * difficulty) * (0.7 + 0.6 * random.share());
        let read = (cost * 300_000.0).round();
        let tokens = Tokens {
            input: Some(whole(read)),
            cached: Some(whole(read * 0.8)),
            output: Some(whole(read * 0.03)),
        };
        let claimed = Claimed { tokens, cost_usd: Some(cost) };
        *trial = std::mem::take(trial).spending(claimed, Metered::default());
    }
    trial.status = Status::Partial;
    let files = ["result.json", "config.json", "agent/trajectory.json", "verifier/test-stdout.txt"];
    trial.evidence = files
        .iter()
        .map(|path| Evidence {
            path: (*path).to_owned(),
            digest: Some("ab".repeat(32)),
            size: 400 + whole(30_000.0 * random.share()),
            kept: Kept::Stored,
        })
        .collect();
    if price.is_some() && random.share() < 0.07 {
        let failures = [
            (
                Failure::Infrastructure,
                "EnvironmentStartTimeoutError",
                "environment did not start within 600.0 seconds",
            ),
            (
                Failure::Candidate,
                "NonZeroAgentExitCodeError",
                "the agent ended with status 1\nTraceback: see agent/stderr.txt",
            ),
            (
                Failure::Verifier,
                "RewardFileNotFoundError",
                "no reward file found at /logs/verifier/reward.txt",
            ),
            (Failure::Budget, "BudgetExceededError", "limit of 2.00 USD reached"),
            (Failure::Infrastructure, "APIConnectionError", "connection reset by peer"),
        ];
        fail(trial, failures[random.below(failures.len())]);
        return;
    }
    let distance = skill + 0.45 - difficulty * 0.9 + 0.35 * (random.share() - 0.5);
    let reward = match skill {
        1.0 => 1.0,
        0.0 => 0.0,
        // Half of the tasks give points for parts.
        _ if trial.task.len().is_multiple_of(2) => (distance.clamp(0.0, 1.0) * 8.0).round() / 8.0,
        _ => f64::from(u8::from(distance > 0.5)),
    };
    if price.is_some() && random.share() < 0.04 {
        fail(trial, (Failure::Timeout, "AgentTimeoutError", "agent execution timed out after 900.0 seconds"));
    }
    trial.status = Status::Complete;
    trial.reward_valid = true;
    trial.reward = Some(reward);
    trial.reward_key = Some("reward".to_owned());
    trial.rewards = vec![Reward { key: "reward".to_owned(), value: Some(reward), ..Reward::default() }];
}

fn fail(trial: &mut Trial, (failure, kind, message): (Failure, &str, &str)) {
    trial.failure = Some(failure);
    trial.exception = Some(Exception { kind: kind.to_owned(), message: message.to_owned(), step: None });
}

fn moment(minute: usize, seconds: f64) -> String {
    let seconds = minute * 60 + usize::try_from(whole(seconds)).unwrap();
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    format!("2026-11-{:02}T{:02}:{:02}:{:02}Z", 12 + day % 18, second / 3600, second / 60 % 60, second % 60)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(value: f64) -> u64 {
    value as u64
}

/// Numbers that look random and are always the same.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// At least 0, less than 1.
    pub fn share(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap()) / 4_294_967_296.0
    }

    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }
}
