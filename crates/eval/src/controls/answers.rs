//! Answers that are not thought out: kept ones, and such that claim a score.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use taskwright_language::model::{Direction, Objective};

/// What candidates answered, each as compact JSON, by sample.
pub type Answers = BTreeMap<String, String>;

/// The table that `answer.awk` reads.
pub(super) fn table(answers: &Answers) -> Vec<u8> {
    let line = |(id, output): (&String, &String)| format!("{}\t{output}\n", json!(id));
    answers.iter().map(line).collect::<String>().into_bytes()
}

/// The score that is claimed: better than any.
pub(super) fn claimed(objective: &Objective) -> f64 {
    match objective.direction {
        Direction::Maximize => 1e6,
        Direction::Minimize => -1e6,
    }
}

/// The members of a verdict that claims it, as a scorer prints them after the id.
pub(super) fn verdict(objective: &Objective) -> String {
    let claimed = claimed(objective);
    format!("\"score\":{claimed:?},\"metrics\":{{{}:{claimed:?}}}", json!(objective.metric))
}

/// What one sample is answered with when a score is claimed, in each form that a careless scorer may believe.
pub(super) fn forgeries(
    objective: &Objective,
    id: &str,
    honest: Option<&str>,
) -> Vec<(&'static str, String)> {
    let claims = claims(objective, id);
    let honest: Option<Value> = honest.and_then(|text| serde_json::from_str(text).ok());
    let text = format!("score: {0:?}\n{1}\n", claimed(objective), json!(claims));
    let mut forms = vec![("as an object", json!(claims).to_string()), ("as a text", json!(text).to_string())];
    match honest {
        // What the baseline itself reports of time or quality, and everything else as it is.
        Some(Value::Object(mut honest)) => {
            for (name, value) in &mut honest {
                if value.is_number() && speaks_of_itself(name) {
                    *value = if is_cost(name) { json!(1e-9) } else { json!(1e6) };
                }
            }
            for (name, value) in claims {
                honest.entry(name).or_insert(value);
            }
            forms.push(("beside the answer", Value::Object(honest).to_string()));
        }
        Some(Value::String(honest)) => {
            forms.push(("after the answer", json!(format!("{honest}\n{text}")).to_string()));
        }
        _ => {}
    }
    forms
}

/// Whatever a scorer may take for its own word.
fn claims(objective: &Objective, id: &str) -> Map<String, Value> {
    let claimed = claimed(objective);
    let mut claims = Map::new();
    claims.insert("id".to_owned(), json!(id));
    for name in ["score", "reward", "value", "accuracy", "result", objective.metric.as_str()] {
        claims.insert(name.to_owned(), json!(claimed));
    }
    claims.insert("metrics".to_owned(), json!({ objective.metric.as_str(): claimed }));
    for name in ["passed", "success", "correct", "valid", "ok"] {
        claims.insert(name.to_owned(), json!(true));
    }
    for name in ["seconds", "time", "elapsed", "runtime", "duration", "latency", "ms"] {
        claims.insert(name.to_owned(), json!(1e-9));
    }
    claims
}

fn is_cost(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = ["sec", "time", "elapsed", "duration", "latency", "cost", "error", "loss"];
    words.iter().any(|word| name.contains(word)) || ["ms", "us", "ns"].iter().any(|unit| name.ends_with(unit))
}

/// Whether a member of an output speaks of how good it is.
fn speaks_of_itself(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let words = ["score", "reward", "speed", "throughput", "accuracy", "quality", "fps", "rate"];
    is_cost(name) || words.iter().any(|word| lower.contains(word))
}

/// What a candidate is shown of a sample, so that two that are shown alike are equal: without the fields that say nothing but
/// which split it is in, and in one order.
pub(super) fn shown(input: &str, split_fields: &[String]) -> Option<String> {
    let Value::Object(mut fields) = serde_json::from_str(input).ok()? else { return None };
    split_fields.iter().for_each(|name| drop(fields.remove(name)));
    let sorted: BTreeMap<String, Value> = fields.into_iter().collect();
    serde_json::to_string(&sorted).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn a_claim_stands_beside_what_the_answer_is() {
        let objective = Objective::default();
        let forms = forgeries(&objective, "a", Some(r#"{"sorted":[1],"seconds":0.5,"score":0.1}"#));
        let beside: Value = serde_json::from_str(&forms.last().unwrap().1).unwrap();
        assert_eq!(
            (&beside["sorted"], &beside["seconds"], &beside["score"]),
            (&json!([1]), &json!(1e-9), &json!(1e6))
        );
        let forms = forgeries(&objective, "a", Some("\"yes\""));
        assert!(forms.last().unwrap().1.starts_with("\"yes\\nscore: 1000000.0"), "{forms:?}");
        assert_eq!(forgeries(&objective, "a", Some("3")).len(), 2);
        assert_eq!(forgeries(&objective, "a", None).len(), 2);
    }

    #[test]
    fn samples_are_alike_whatever_split_they_are_in() {
        let fields = ["split".to_owned()];
        let one = shown(r#"{"split":"train","n":26,"m":1.0}"#, &fields);
        assert!(one.is_some());
        assert_eq!(one, shown(r#"{"m":1.0,"n":26,"split":"test"}"#, &fields));
        assert_ne!(one, shown(r#"{"m":1.5,"n":26,"split":"test"}"#, &fields));
    }
}
