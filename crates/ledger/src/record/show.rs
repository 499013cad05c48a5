//! A trial as lines of a label and what it labels, for `show`.

use super::parts::Agent;
use super::trial::{COLUMNS, Column, Row, Shown, Topic, Trial};
use super::value::{Kind, Value};

/// All that is known of a trial, as lines of a label and a text. `more` is what the caller knows besides, each at the end
/// of its topic.
pub fn shown(
    trial: &Trial,
    agent: Option<&Agent>,
    more: &[(Topic, &'static str, Option<String>)],
) -> Vec<(&'static str, String)> {
    let row = Row { trial, origin: None, agent, metric: None };
    let mut lines: Vec<(Topic, &'static str, String)> = Vec::new();
    for column in COLUMNS {
        match column.shown {
            Shown::Never => {}
            Shown::Line(topic, label) => {
                lines.extend(text(column, &row).map(|text| (topic, label, text)));
            }
            Shown::Part(topic, label, name) => {
                let Some(text) = text(column, &row).map(|text| format!("{name} {text}")) else { continue };
                match lines.iter_mut().find(|(_, known, _)| *known == label) {
                    Some((.., line)) => *line = format!("{line}, {text}"),
                    None => lines.push((topic, label, text)),
                }
            }
            Shown::Lines(topic, label, of) => {
                lines.extend(of(trial).into_iter().map(|text| (topic, label, text)));
            }
        }
    }
    let more = more.iter().filter_map(|(topic, label, text)| Some((*topic, *label, text.clone()?)));
    lines.extend(more);
    lines.sort_by_key(|(topic, ..)| *topic);
    let lines = lines.into_iter().map(|(_, label, text)| (label, text));
    lines.filter(|(_, text)| !text.is_empty()).collect()
}

fn text(column: &Column, row: &Row<'_>) -> Option<String> {
    match column.value(row) {
        Value::Null | Value::Time(_) | Value::Digest(_) => None,
        Value::Text(text) if column.kind == Kind::Utc && !text.ends_with('Z') => {
            Some(format!("{text} (local time, zone unknown)"))
        }
        value @ Value::Text(_) if column.kind == Kind::Json => match value.exported(Kind::Json) {
            Value::Json(text) => Some(text),
            _ => None,
        },
        Value::Text(text) => Some(text.into_owned()),
        Value::Json(text) => Some(text),
        Value::Integer(number) => Some(number.to_string()),
        Value::Real(number) => Some(format!("{number:.3}")),
        Value::Boolean(is_true) => Some(is_true.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{
        Claimed, Exception, Metered, Provenance, Reward, Seconds, Source, Status, Tokens, Used,
    };
    use taskwright_testing::test;

    #[test]
    fn lines_stand_by_topic_and_what_is_unknown_has_none() {
        let trial = Trial {
            id: "1f".into(),
            trial_name: "sort__1".into(),
            task: "acme/sort".into(),
            provenance: Some(Provenance { spec: "sort".into(), ..Provenance::default() }),
            agent: "oracle".into(),
            agent_digest: "aa".into(),
            environment: Some("docker".into()),
            job: Some("one".into()),
            source: Source::Run,
            status: Status::Complete,
            exception: Some(Exception { kind: "E".into(), message: "late".into(), step: Some("two".into()) }),
            reward: Some(0.5),
            reward_key: Some("reward".into()),
            rewards: vec![Reward { key: "reward".into(), value: Some(0.5), ..Reward::default() }],
            started_at: Some("2026-11-27T20:35:13".into()),
            finished_at: Some("2026-11-27T20:36:13Z".into()),
            seconds: Seconds { environment: Some(1.0), total: Some(60.25), ..Seconds::default() },
            ..Trial::default()
        };
        let used = |requests, cost_usd| Used {
            requests: Some(requests),
            tokens: Tokens { input: Some(10), cached: Some(4), output: Some(2) },
            cost_usd,
        };
        let claimed = Claimed { cost_usd: Some(0.5), ..Claimed::default() };
        let metered = Metered {
            producer: used(2, Some(0.25)),
            evaluation: used(1, None),
            finalization: Used::default(),
        };
        let trial = trial.spending(claimed, metered);
        let more = [(Topic::Task, "drift", Some("none".to_owned())), (Topic::Origin, "imported from", None)];
        let lines: Vec<String> =
            shown(&trial, None, &more).into_iter().map(|(label, text)| format!("{label}: {text}")).collect();
        assert_eq!(
            lines,
            [
                "trial: sort__1",
                "id: 1f",
                "status: complete",
                "exception: E in step `two`: late",
                "reward: 0.5 (`reward`, not valid by Harbor's policy)",
                "rewards: reward = 0.5",
                "task: acme/sort",
                "spec: sort ",
                "drift: none",
                "agent: oracle",
                "agent digest: aa",
                "environment: docker",
                "job: one",
                "source: run",
                "started: 2026-11-27T20:35:13 (local time, zone unknown)",
                "finished: 2026-11-27T20:36:13Z",
                "seconds: environment 1.000, total 60.250",
                "tokens: input 10, of these cached 4, output 2",
                "cost: $0.25 metered, $0.5 claimed by the agent",
                "agent metered: 2 requests, 10 read, 4 of these cached, 2 written, $0.25",
                "search metered: 1 request, 10 read, 4 of these cached, 2 written, at prices that are not known",
            ]
        );
    }
}
