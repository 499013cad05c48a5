//! What a piece of an answer says: how many tokens it took, how much text it holds, and where it names the model.
//!
//! The upstream may say anything: what is not a whole number within reason is no number.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::fields::{Fields, whole_number};
use crate::wire::Wire;

/// The most tokens that one request can take: above what any model reads or writes.
const MOST: u64 = 16 << 20;

/// What a piece of an answer says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reading<'a> {
    /// All that went in.
    pub input: Option<u64>,
    /// What of it was in the upstream's cache.
    pub cached: u64,
    /// What of it the upstream put there.
    pub written: u64,
    /// All that came out.
    pub output: Option<u64>,
    /// What of it the model thought.
    pub reasoning: u64,
    /// Whether a number is none.
    pub lies: bool,
    /// How many bytes of text it holds.
    pub text: u64,
    /// Where it names the model: the JSON strings.
    pub models: Vec<&'a str>,
    /// Whether it is the piece of a stream of chat that says how many tokens it took, and nothing else.
    pub only_usage: bool,
}

/// Reads a piece of an answer; none if it is not an object.
pub fn read(wire: Wire, text: &str) -> Option<Reading<'_>> {
    let fields = Fields::of(text).ok()?;
    let mut reading = Reading::default();
    match wire {
        Wire::Chat | Wire::Embeddings => {
            reading.openai(&fields, ["prompt_tokens", "completion_tokens"], ["prompt", "completion"]);
            reading.text(&fields, &["choices"]);
            let is_empty =
                fields.read::<Vec<IgnoredAny>>("choices").is_some_and(|choices| choices.is_empty());
            reading.only_usage = is_empty && fields.get("usage").is_some_and(|usage| usage != "null");
        }
        Wire::Responses => {
            reading.responses(&fields);
            if let Some(inner) = fields.read("response") {
                reading.responses(&inner);
            }
            // Other events say once more what these have said.
            reading.text(&fields, &["delta", "output"]);
        }
        Wire::Messages => {
            reading.anthropic(&fields);
            if let Some(inner) = fields.read("message") {
                reading.anthropic(&inner);
            }
            reading.text(&fields, &["delta", "content", "content_block"]);
        }
        Wire::Gemini => {
            reading.gemini(&fields);
            reading.text(&fields, &["candidates"]);
        }
    }
    Some(reading)
}

/// A usage, if it is no longer than any is.
fn usage(fields: &Fields<'_>, name: &str) -> Option<Value> {
    fields.get(name).filter(|text| text.len() < 64 << 10).and_then(|text| serde_json::from_str(text).ok())
}

impl<'a> Reading<'a> {
    fn text(&mut self, fields: &Fields<'a>, names: &[&str]) {
        let text = |name: &&str| fields.read::<Text>(name).map_or(0, |text| text.0);
        self.text = names.iter().map(text).sum();
    }

    fn model(&mut self, fields: &Fields<'a>, name: &str) {
        self.models.extend(fields.get(name).filter(|text| text.starts_with('"')));
    }

    /// Numbers of a usage; a missing one is none, and one that cannot be is a lie.
    fn number(&mut self, usage: &Value, path: &str) -> Option<u64> {
        let value = usage.pointer(path).filter(|value| !value.is_null())?;
        let number = whole_number(value).filter(|number| *number <= MOST);
        self.lies |= number.is_none();
        number
    }

    fn openai(&mut self, fields: &Fields<'a>, names: [&str; 2], details: [&str; 2]) {
        self.model(fields, "model");
        let Some(usage) = usage(fields, "usage") else { return };
        let input = self.number(&usage, &format!("/{}", names[0]));
        self.input = self.input.max(input);
        let output = self.number(&usage, &format!("/{}", names[1]));
        self.output = self.output.max(output);
        self.cached =
            self.number(&usage, &format!("/{}_tokens_details/cached_tokens", details[0])).unwrap_or(0);
        self.reasoning =
            self.number(&usage, &format!("/{}_tokens_details/reasoning_tokens", details[1])).unwrap_or(0);
    }

    fn responses(&mut self, fields: &Fields<'a>) {
        self.openai(fields, ["input_tokens", "output_tokens"], ["input", "output"]);
    }

    fn anthropic(&mut self, fields: &Fields<'a>) {
        self.model(fields, "model");
        let Some(usage) = usage(fields, "usage") else { return };
        let plain = self.number(&usage, "/input_tokens");
        let cached = self.number(&usage, "/cache_read_input_tokens");
        let written = self.number(&usage, "/cache_creation_input_tokens");
        // The three are disjoint: together they are what went in.
        if plain.is_some() || cached.is_some() || written.is_some() {
            self.cached = cached.unwrap_or(0);
            self.written = written.unwrap_or(0);
            self.input = Some(plain.unwrap_or(0) + self.cached + self.written);
        }
        let output = self.number(&usage, "/output_tokens");
        self.output = self.output.max(output);
    }

    fn gemini(&mut self, fields: &Fields<'a>) {
        self.model(fields, "modelVersion");
        let Some(usage) = usage(fields, "usageMetadata") else { return };
        let prompt = self.number(&usage, "/promptTokenCount");
        let tools = self.number(&usage, "/toolUsePromptTokenCount").unwrap_or(0);
        self.input = prompt.map(|prompt| prompt + tools);
        self.cached = self.number(&usage, "/cachedContentTokenCount").unwrap_or(0);
        self.reasoning = self.number(&usage, "/thoughtsTokenCount").unwrap_or(0);
        let candidates = self.number(&usage, "/candidatesTokenCount");
        // What is thought is not among the candidates here.
        self.output = candidates.map(|candidates| candidates + self.reasoning);
    }
}

/// How many bytes of text a value holds: all its strings, but those that only say what something is.
struct Text(u64);

const NO_TEXT: [&str; 10] = [
    "id",
    "type",
    "role",
    "object",
    "status",
    "finish_reason",
    "finishReason",
    "stop_reason",
    "call_id",
    "logprobs",
];

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Sum;
        impl<'de> Visitor<'de> for Sum {
            type Value = Text;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("anything")
            }

            fn visit_bool<E>(self, _: bool) -> Result<Text, E> {
                Ok(Text(0))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Text, E> {
                Ok(Text(0))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Text, E> {
                Ok(Text(0))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Text, E> {
                Ok(Text(0))
            }

            fn visit_unit<E>(self) -> Result<Text, E> {
                Ok(Text(0))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.len() as u64))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Text, A::Error> {
                let mut sum = 0;
                while let Some(Text(more)) = values.next_element()? {
                    sum += more;
                }
                Ok(Text(sum))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
                let mut sum = 0;
                while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                    if NO_TEXT.contains(&&*name) {
                        map.next_value::<IgnoredAny>()?;
                    } else {
                        sum += map.next_value::<Text>()?.0;
                    }
                }
                Ok(Text(sum))
            }
        }
        deserializer.deserialize_any(Sum)
    }
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    fn said(wire: Wire, text: &str) -> (Option<u64>, u64, u64, Option<u64>, u64) {
        let Reading { input, cached, written, output, reasoning, .. } = read(wire, text).unwrap();
        (input, cached, written, output, reasoning)
    }

    #[test]
    fn each_dialect_counts_in_its_own_way() {
        let chat = r#"{"usage":{"prompt_tokens":10,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4},
                       "completion_tokens_details":{"reasoning_tokens":5}},"choices":[]}"#;
        assert_eq!(said(Wire::Chat, chat), (Some(10), 4, 0, Some(7), 5));
        assert!(read(Wire::Chat, chat).unwrap().only_usage);
        let responses = r#"{"type":"response.completed","response":{"model":"x","usage":{"input_tokens":10,
            "input_tokens_details":{"cached_tokens":4},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":5}}}}"#;
        assert_eq!(said(Wire::Responses, responses), (Some(10), 4, 0, Some(7), 5));
        assert_eq!(read(Wire::Responses, responses).unwrap().models, ["\"x\""]);
        let start = r#"{"type":"message_start","message":{"model":"x","usage":{"input_tokens":3,
            "cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":1}}}"#;
        assert_eq!(said(Wire::Messages, start), (Some(123), 100, 20, Some(1), 0));
        let delta =
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":40}}"#;
        assert_eq!(said(Wire::Messages, delta), (None, 0, 0, Some(40), 0));
        let gemini = r#"{"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":7,"thoughtsTokenCount":5,
                         "cachedContentTokenCount":4,"toolUsePromptTokenCount":1},"modelVersion":"x"}"#;
        assert_eq!(said(Wire::Gemini, gemini), (Some(11), 4, 0, Some(12), 5));
        assert_eq!(said(Wire::Embeddings, r#"{"usage":{"prompt_tokens":8,"total_tokens":8}}"#).0, Some(8));
    }

    #[test]
    fn a_number_that_cannot_be_is_none() {
        for lie in ["-1", "\"7\"", "1e300", "1.5", "99999999999", "true", "[]", "{}"] {
            let text = format!(r#"{{"usage":{{"prompt_tokens":3,"completion_tokens":{lie}}}}}"#);
            let reading = read(Wire::Chat, &text).unwrap();
            assert_eq!((reading.input, reading.output, reading.lies), (Some(3), None, true), "{lie}");
        }
        for none in ["null", "[]", "\"x\"", "{}", "7"] {
            let text = format!(r#"{{"usage":{none}}}"#);
            let reading = read(Wire::Chat, &text).unwrap();
            assert_eq!((reading.input, reading.output), (None, None), "{none}");
        }
        assert!(read(Wire::Chat, "[DONE]").is_none());
    }

    #[test]
    fn text_is_counted_where_it_is_said_first() {
        let text = |wire, text| read(wire, text).unwrap().text;
        let chunk = r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"role":"assistant","content":"hello",
            "tool_calls":[{"id":"call_1","type":"function","function":{"arguments":"{}"}}]},"finish_reason":"stop"}]}"#;
        assert_eq!(text(Wire::Chat, chunk), 7);
        assert_eq!(text(Wire::Responses, r#"{"type":"response.output_text.delta","delta":"abc"}"#), 3);
        assert_eq!(text(Wire::Responses, r#"{"type":"response.output_text.done","text":"abc"}"#), 0);
        let delta = r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"abcd"}}"#;
        assert_eq!(text(Wire::Messages, delta), 4);
        assert_eq!(
            text(Wire::Gemini, r#"{"candidates":[{"content":{"parts":[{"text":"ab"}],"role":"model"}}]}"#),
            2
        );
    }
}
