//! What the body of a request asks for: the model, a stream or not, and how much it may produce.

use std::ops::Range;

use serde_json::Value;

use super::strict::{PASSING_BY, strict};
use super::tools;
use crate::fields::{Fields, edited, place, quoted, whole_number};
use crate::wire::Wire;
use crate::wire::refusal::{Kind, Refusal};

/// What a request asks for.
#[derive(Debug)]
pub struct Asked {
    /// The model, as the client calls it.
    pub model: String,
    /// Where its name stands in the body, if it stands there.
    model_at: Option<Range<usize>>,
    /// What has to be changed so that a stream says how many tokens it took, which its client did not ask for.
    usage: Option<(Range<usize>, String)>,
    /// The most tokens of each answer, if it says so.
    output: Option<u64>,
    /// How many answers it wants.
    choices: u64,
    /// Whether the model may go on when nobody waits for it.
    pub in_background: bool,
}

/// The most answers of one request that anybody offers.
const MOST_CHOICES: u64 = 1000;

impl Asked {
    /// Reads a body. `model` is what the path names, where it does.
    pub fn read(wire: Wire, model: Option<&str>, body: &str, hosted: bool) -> Result<Self, Refusal> {
        let fields = strict(body, "the body")?;
        if let Some((name, _)) = fields.0.iter().find(|(name, _)| PASSING_BY.contains(&&**name)) {
            return Err(denied(format!(
                "`{name}` names another model or another upstream than the one that is asked for here: leave it out"
            )));
        }
        if !hosted {
            tools::check(wire, &fields)?;
        }
        let (model, model_at) = match model {
            Some(model) => (model.to_owned(), None),
            None => {
                let value = fields.get("model").ok_or_else(|| bad("`model` is missing"))?;
                let name = serde_json::from_str(value).map_err(|_| bad("`model` must be a string"))?;
                (name, Some(place(body, value)))
            }
        };
        let streams = flag(&fields, "stream")?;
        let usage = if wire == Wire::Chat && streams { usage_edit(body, &fields)? } else { None };
        let (output, choices) = match wire {
            Wire::Chat => (
                whole(&fields, "max_tokens")?.max(whole(&fields, "max_completion_tokens")?),
                whole(&fields, "n")?,
            ),
            Wire::Responses => (whole(&fields, "max_output_tokens")?, None),
            Wire::Messages => (whole(&fields, "max_tokens")?, None),
            Wire::Embeddings => (Some(0), None),
            Wire::Gemini => gemini(&fields)?,
        };
        let choices = choices.unwrap_or(1).max(1);
        if choices > MOST_CHOICES {
            return Err(bad(format!("more than {MOST_CHOICES} answers to one request are too many")));
        }
        let in_background = wire == Wire::Responses && flag(&fields, "background")?;
        Ok(Self { model, model_at, usage, output, choices, in_background })
    }

    /// The most tokens that come out, if each answer has at most so many where the request does not say.
    pub fn output(&self, default: u64) -> u64 {
        self.output.unwrap_or(default).saturating_mul(self.choices)
    }

    /// Whether the client did not ask for the last piece of the stream, which says how many tokens it took.
    pub fn hides_usage(&self) -> bool {
        self.usage.is_some()
    }

    /// The body as it is sent on; none if it is sent as it came.
    pub fn sent(&self, body: &str, upstream_model: &str) -> Option<String> {
        let mut edits = Vec::new();
        if let Some(at) = self.model_at.clone().filter(|_| upstream_model != self.model) {
            edits.push((at, quoted(upstream_model)));
        }
        edits.extend(self.usage.clone());
        (!edits.is_empty()).then(|| edited(body, edits))
    }
}

fn bad(message: impl Into<String>) -> Refusal {
    Refusal::new(Kind::Bad, message)
}

fn denied(message: impl Into<String>) -> Refusal {
    Refusal::new(Kind::Denied, message)
}

fn flag(fields: &Fields<'_>, name: &str) -> Result<bool, Refusal> {
    match fields.get(name) {
        None | Some("false" | "null") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(bad(format!("`{name}` must be true or false"))),
    }
}

/// A whole number, also one that is written `100.0`.
fn whole(fields: &Fields<'_>, name: &str) -> Result<Option<u64>, Refusal> {
    let Some(text) = fields.get(name).filter(|text| *text != "null") else { return Ok(None) };
    // A list of millions would be one too, for a moment.
    let short = Some(text).filter(|text| text.len() < 64);
    let number =
        short.and_then(|text| serde_json::from_str::<Value>(text).ok()).as_ref().and_then(whole_number);
    number.map(Some).ok_or_else(|| bad(format!("`{name}` must be a whole number, 0 or above")))
}

fn gemini(fields: &Fields<'_>) -> Result<(Option<u64>, Option<u64>), Refusal> {
    let config = match (fields.get("generationConfig"), fields.get("generation_config")) {
        (Some(_), Some(_)) => {
            return Err(bad("`generationConfig` and `generation_config` are the same: give one of them"));
        }
        (config, other) => config.or(other).filter(|text| *text != "null"),
    };
    let Some(config) = config else { return Ok((None, None)) };
    let config = strict(config, "`generationConfig`")?;
    let either = |one, other| Ok(whole(&config, one)?.max(whole(&config, other)?));
    Ok((either("maxOutputTokens", "max_output_tokens")?, either("candidateCount", "candidate_count")?))
}

/// What makes a stream of chat say how many tokens it took; none if the client asks for that itself.
fn usage_edit(body: &str, fields: &Fields<'_>) -> Result<Option<(Range<usize>, String)>, Refusal> {
    let Some(text) = fields.get("stream_options").filter(|text| *text != "null") else {
        let edit = match fields.get("stream_options") {
            Some(null) => (place(body, null), "{\"include_usage\":true}".to_owned()),
            None => {
                // Behind the brace that opens the object, which has a field at least: `stream`.
                let start = body.find('{').map_or(0, |brace| brace + 1);
                (start..start, "\"stream_options\":{\"include_usage\":true},".to_owned())
            }
        };
        return Ok(Some(edit));
    };
    let options = strict(text, "`stream_options`")?;
    let edit = match options.get("include_usage") {
        Some("true") => return Ok(None),
        Some(value) => (place(body, value), "true".to_owned()),
        None => {
            let start = place(body, text).start + 1;
            let comma = if options.0.is_empty() { "" } else { "," };
            (start..start, format!("\"include_usage\":true{comma}"))
        }
    };
    Ok(Some(edit))
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    fn read(wire: Wire, body: &str) -> Result<Asked, String> {
        let model = (wire == Wire::Gemini).then_some("m");
        Asked::read(wire, model, body, false).map_err(|refusal| refusal.message)
    }

    #[test]
    fn a_stream_of_chat_is_made_to_say_what_it_took() {
        for (body, sent) in [
            (
                r#"{"model":"m","stream":true}"#,
                r#"{"stream_options":{"include_usage":true},"model":"up","stream":true}"#,
            ),
            (
                r#"{"model":"m","stream":true,"stream_options":null}"#,
                r#"{"model":"up","stream":true,"stream_options":{"include_usage":true}}"#,
            ),
            (
                r#"{"stream_options":{ },"model":"m","stream":true}"#,
                r#"{"stream_options":{"include_usage":true },"model":"up","stream":true}"#,
            ),
            (
                r#"{"stream_options":{"x":1},"model":"m","stream":true}"#,
                r#"{"stream_options":{"include_usage":true,"x":1},"model":"up","stream":true}"#,
            ),
            (
                r#"{"stream_options":{"include_usage":false},"model":"m","stream":true}"#,
                r#"{"stream_options":{"include_usage":true},"model":"up","stream":true}"#,
            ),
        ] {
            let asked = read(Wire::Chat, body).unwrap();
            assert!(asked.hides_usage());
            assert_eq!(asked.sent(body, "up").unwrap(), sent);
        }
        let body = r#"{"model":"m","stream":true,"stream_options":{"include_usage":true}}"#;
        let asked = read(Wire::Chat, body).unwrap();
        assert!(!asked.hides_usage() && asked.sent(body, "m").is_none());
    }

    #[test]
    fn how_much_may_come_out_is_read_from_each_dialect() {
        for (wire, body, output) in [
            (Wire::Chat, r#"{"model":"m","n":100,"max_tokens":50}"#, 5000),
            (Wire::Chat, r#"{"model":"m","max_tokens":50,"max_completion_tokens":70.0}"#, 70),
            (Wire::Chat, r#"{"model":"m","max_tokens":null}"#, 1000),
            (Wire::Chat, r#"{"model":"m","n":9,"max_tokens":18446744073709551615}"#, u64::MAX),
            (Wire::Responses, r#"{"model":"m","max_output_tokens":7}"#, 7),
            (Wire::Messages, r#"{"model":"m","max_tokens":8}"#, 8),
            (Wire::Embeddings, r#"{"model":"m","input":[]}"#, 0),
            (Wire::Gemini, r#"{"generationConfig":{"maxOutputTokens":9,"candidateCount":2}}"#, 18),
            (Wire::Gemini, r#"{"generation_config":{"max_output_tokens":9}}"#, 9),
            (Wire::Gemini, "{}", 1000),
        ] {
            assert_eq!(read(wire, body).unwrap().output(1000), output, "{body}");
        }
    }

    #[test]
    fn what_two_readers_could_understand_differently_is_refused() {
        for (body, says) in [
            (r#"{"model":"m","model":"other"}"#, "twice"),
            (r#"{"model":"m","mod\u0065l":"other"}"#, "twice"),
            (r#"{"model":"m","Model":"other"}"#, "read as `model`"),
            (r#"{"model":"m","ſtream":true}"#, "read as `stream`"),
            (r#"{"model":"m","max_tokens":"100"}"#, "whole number"),
            (r#"{"model":"m","max_tokens":-1}"#, "whole number"),
            (r#"{"model":"m","max_tokens":1.5}"#, "whole number"),
            (r#"{"model":"m","stream":"yes"}"#, "true or false"),
            (r#"{"model":"m","n":1001}"#, "too many"),
            (r#"{"model":["m"]}"#, "string"),
            (r#"{"messages":[]}"#, "missing"),
            (r#"{"model":"m","fallbacks":["other"]}"#, "leave it out"),
            (r#"{"model":"m","models":["other"]}"#, "leave it out"),
            (r#"{"model":"m","API_BASE":"x"}"#, "read as `api_base`"),
            (
                r#"{"model":"m","stream":true,"stream_options":{"include_usage":false,"include_usage":true}}"#,
                "twice",
            ),
            (r#"[{"model":"m"}]"#, "not a JSON object"),
            (r#"{"model":"m"}{"model":"other"}"#, "not a JSON object"),
            ("", "not a JSON object"),
        ] {
            let message = read(Wire::Chat, body).unwrap_err();
            assert!(message.contains(says), "{body}: {message}");
        }
        let both = r#"{"generationConfig":{},"generation_config":{"maxOutputTokens":1}}"#;
        assert!(read(Wire::Gemini, both).unwrap_err().contains("the same"));
    }

    #[test]
    fn all_that_is_not_changed_passes_as_it_came() {
        let body = "{\n \"x\" : 1e400, \"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"\\ud83d\\ude00\"}]}";
        assert_eq!(
            read(Wire::Chat, body).unwrap().sent(body, "up").unwrap(),
            body.replace("\"m\"", "\"up\"")
        );
    }
}
