//! What an experiment is likely to cost, by what trials of the same agents, models and tasks have cost.

use std::collections::BTreeMap;

use camino::Utf8Path;
use serde_json::{Value, json};
use taskwright_base::Result;
use taskwright_base::text::count;
use taskwright_harbor::job_config::{JobConfig, TaskConfig};
use taskwright_ledger::Ledger;
use taskwright_ledger::db::Cost;

/// Who tries what: an agent's label, its model, and the folder of the task.
type Cell = (String, Option<String>, String);

/// What is known of the cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// How many trials there are to be.
    planned: u64,
    /// How many of them have the like of them in the ledger.
    known: u64,
    /// What these would cost, each as the median of its like.
    usd: f64,
    /// How many earlier trials that rests on.
    earlier: u64,
}

/// Asks the ledger in a folder, if there is one.
pub fn of(directory: &Utf8Path, config: &JobConfig) -> Result<Estimate> {
    let mut costs: BTreeMap<Cell, Vec<f64>> = BTreeMap::new();
    if !Ledger::is_at(directory) {
        return Ok(by(&costs, config));
    }
    for Cost { agent, model, task_folder, usd } in Ledger::read(directory)?.costs()? {
        costs.entry((agent, model, task_folder)).or_default().push(usd);
    }
    Ok(by(&costs, config))
}

fn by(costs: &BTreeMap<Cell, Vec<f64>>, config: &JobConfig) -> Estimate {
    let folder = |task: &TaskConfig| {
        task.path.as_ref().and_then(|path| Some(path.file_name()?.to_str()?.to_owned())).unwrap_or_default()
    };
    let mut estimate = Estimate { planned: 0, known: 0, usd: 0.0, earlier: 0 };
    for agent in &config.agents {
        for task in &config.tasks {
            estimate.planned = estimate.planned.saturating_add(config.n_attempts);
            let cell = (agent.label().to_owned(), agent.model_name.clone(), folder(task));
            let Some(median) = costs.get(&cell).and_then(|costs| median(costs)) else { continue };
            estimate.known = estimate.known.saturating_add(config.n_attempts);
            estimate.earlier += costs.get(&cell).map_or(0, |costs| u64::try_from(costs.len()).unwrap_or(0));
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            let attempts = config.n_attempts as f64;
            estimate.usd += median * attempts;
        }
    }
    estimate
}

fn median(costs: &[f64]) -> Option<f64> {
    let mut costs = costs.to_vec();
    costs.sort_by(f64::total_cmp);
    let middle = costs.len() / 2;
    let upper = *costs.get(middle)?;
    if costs.len() % 2 == 1 { Some(upper) } else { Some(f64::midpoint(*costs.get(middle - 1)?, upper)) }
}

impl Estimate {
    /// In words.
    pub fn words(&self) -> String {
        let Self { planned, known, usd, earlier } = *self;
        let all = count(planned, "trial");
        if known == 0 {
            return format!("estimate: the ledger knows no cost of any such trial; {all} are planned");
        }
        let rest = match planned - known {
            0 => String::new(),
            rest => format!("; of {} nothing is known", count(rest, "other")),
        };
        format!("estimate: ${usd:.4} for {known} of {all}, by the medians of {earlier} earlier ones{rest}")
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let Self { planned, known, usd, earlier } = *self;
        json!({"planned": planned, "known": known, "usd": (known > 0).then_some(usd), "earlier": earlier})
    }
}

#[cfg(test)]
mod tests {
    use taskwright_harbor::job_config::AgentConfig;

    use super::*;

    fn config() -> JobConfig {
        let agent = |name: &str, model: &str| AgentConfig {
            name: Some(name.to_owned()),
            model_name: Some(model.to_owned()),
            ..AgentConfig::default()
        };
        JobConfig {
            n_attempts: 3,
            agents: vec![agent("a", "m"), agent("a", "n")],
            tasks: vec![TaskConfig::at("jobs/.inputs/1/one"), TaskConfig::at("jobs/.inputs/2/two")],
            ..JobConfig::default()
        }
    }

    fn costs(list: &[(&str, &str, &[f64])]) -> BTreeMap<Cell, Vec<f64>> {
        let cell = |model: &str, task: &str| ("a".to_owned(), Some(model.to_owned()), task.to_owned());
        list.iter().map(|(model, task, costs)| (cell(model, task), costs.to_vec())).collect()
    }

    #[test]
    fn each_trial_costs_the_median_of_its_like() {
        let costs =
            costs(&[("m", "one", &[9.0, 1.0, 2.0]), ("n", "two", &[1.0, 2.0]), ("x", "one", &[100.0])]);
        let estimate = by(&costs, &config());
        assert_eq!(estimate, Estimate { planned: 12, known: 6, usd: 10.5, earlier: 5 });
        assert_eq!(
            estimate.words(),
            "estimate: $10.5000 for 6 of 12 trials, by the medians of 5 earlier ones; of 6 others nothing is known"
        );
    }

    #[test]
    fn a_folder_without_a_database_knows_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let estimate = of(Utf8Path::from_path(folder.path()).unwrap(), &config()).unwrap();
        assert_eq!((estimate.planned, estimate.known), (12, 0));
    }

    #[test]
    fn where_nothing_is_known_nothing_is_made_up() {
        let estimate = by(&BTreeMap::new(), &config());
        assert!(
            estimate.words().contains("knows no cost") && !estimate.words().contains('$'),
            "{estimate:?}"
        );
        assert_eq!(estimate.json()["usd"], Value::Null);
    }
}
