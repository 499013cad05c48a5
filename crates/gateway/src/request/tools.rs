//! Tools that the upstream runs itself: a search of the web, a remote server, a container.
//!
//! They are a way into the network for a candidate that has none, and they cost what no token shows. A client's own tools are
//! run by the client, and pass.

use super::strict::{REACHING, strict};
use crate::fields::{Fields, Items};
use crate::wire::Wire;
use crate::wire::refusal::{Kind, Refusal};

/// Tools that the client runs, by how their type begins.
const OPENAI: &[&str] = &["function", "custom", "local_shell", "apply_patch", "computer"];
const ANTHROPIC: &[&str] = &["custom", "bash_", "text_editor_", "computer_", "memory_", "tool_search_tool_"];
const GEMINI: &[&str] = &["functionDeclarations", "function_declarations"];

/// Tools of Gemini's, which clients put into the requests of other dialects too: some proxies know them there.
const REACHING_TOOLS: [&str; 8] = [
    "googleSearch",
    "google_search",
    "googleSearchRetrieval",
    "google_search_retrieval",
    "urlContext",
    "url_context",
    "codeExecution",
    "code_execution",
];

/// Refuses a request that asks for a tool of the upstream's.
pub fn check(wire: Wire, fields: &Fields<'_>) -> Result<(), Refusal> {
    if let Some((name, _)) =
        fields.0.iter().find(|(name, value)| REACHING.contains(&&**name) && *value != "null")
    {
        return Err(refused(name));
    }
    let Some(tools) = fields.get("tools").filter(|tools| *tools != "null") else { return Ok(()) };
    each(wire, tools, wire == Wire::Responses)
}

/// Looks at a list of tools, and where they may stand at lists that have a name: a client groups its own so.
fn each(wire: Wire, tools: &str, has_groups: bool) -> Result<(), Refusal> {
    let Items(tools) = if tools.starts_with('[') {
        serde_json::from_str(tools).map_err(|_| bad("`tools` is not a list, or far too long a list"))?
    } else {
        Items(vec![tools])
    };
    for tool in tools {
        let tool = strict(tool, "a tool in `tools`")?;
        let begins = |list: &[&str], word: &str| list.iter().any(|known| word.starts_with(known));
        let kind = tool.get("type").map(|_| tool.read::<String>("type").unwrap_or_else(|| "?".to_owned()));
        if has_groups && kind.as_deref() == Some("namespace") {
            each(wire, tool.get("tools").unwrap_or("[]"), false)?;
            continue;
        }
        let hosted = match wire {
            Wire::Gemini => {
                tool.0.iter().find(|(key, _)| !GEMINI.contains(&&**key)).map(|(key, _)| key.to_string())
            }
            // A tool of the client's own has no type there, or `custom`.
            Wire::Messages => kind.filter(|kind| !begins(ANTHROPIC, kind)),
            _ => Some(kind.unwrap_or_else(|| "a tool without a type".to_owned()))
                .filter(|kind| !begins(OPENAI, kind)),
        };
        let reaching = tool.0.iter().find(|(key, _)| REACHING_TOOLS.contains(&&**key));
        let hosted = hosted.or_else(|| reaching.map(|(key, _)| key.to_string()));
        if let Some(hosted) = hosted {
            return Err(refused(&hosted));
        }
    }
    Ok(())
}

fn bad(message: &str) -> Refusal {
    Refusal::new(Kind::Bad, message)
}

fn refused(name: &str) -> Refusal {
    let name = taskwright_base::text::brief(name, 100);
    let message = format!(
        "`{name}` would make the upstream reach into the network, which is not allowed here: use tools of your own"
    );
    Refusal::new(Kind::Denied, message)
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn own_tools_pass_and_those_of_the_upstream_do_not() {
        let pass = |wire, body: &str| check(wire, &Fields::of(body).unwrap()).is_ok();
        for (wire, body) in [
            (
                Wire::Chat,
                r#"{"tools":[{"type":"function","function":{"name":"f"}}],"web_search_options":null}"#,
            ),
            (Wire::Responses, r#"{"tools":[{"type":"function","name":"f"},{"type":"local_shell"}]}"#),
            (
                Wire::Messages,
                r#"{"tools":[{"name":"f","input_schema":{}},{"type":"bash_20250124","name":"bash"}]}"#,
            ),
            (Wire::Gemini, r#"{"tools":[{"functionDeclarations":[]}]}"#),
            (Wire::Gemini, r#"{"tools":{"function_declarations":[]}}"#),
            (Wire::Chat, r#"{"tools":null}"#),
            (
                Wire::Responses,
                r#"{"tools":[{"type":"namespace","name":"g","tools":[{"type":"function","name":"f"}]}]}"#,
            ),
        ] {
            assert!(pass(wire, body), "{body}");
        }
        for (wire, body) in [
            (Wire::Chat, r#"{"web_search_options":{}}"#),
            (Wire::Responses, r#"{"tools":[{"type":"function"},{"type":"web_search"}]}"#),
            (Wire::Responses, r#"{"tools":[{"type":"mcp","server_url":"https://x"}]}"#),
            (Wire::Messages, r#"{"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]}"#),
            (Wire::Messages, r#"{"mcp_servers":[{}]}"#),
            (Wire::Gemini, r#"{"tools":[{"functionDeclarations":[],"googleSearch":{}}]}"#),
            (Wire::Gemini, r#"{"tools":{"urlContext":{}}}"#),
            (Wire::Chat, r#"{"tools":["web_search"]}"#),
            (Wire::Responses, r#"{"tools":[{"type":"function","name":"f","type":"web_search"}]}"#),
            (Wire::Responses, r#"{"tools":[{"type":"function","name":"f","Type":"web_search"}]}"#),
            (Wire::Responses, r#"{"tools":[{"type":"namespace","tools":[{"type":"web_search"}]}]}"#),
            (Wire::Responses, r#"{"tools":[{"type":"namespace","tools":[{"type":"namespace"}]}]}"#),
            (Wire::Chat, r#"{"tools":[{"type":"namespace","tools":[]}]}"#),
            (Wire::Chat, r#"{"tools":[{"googleSearch":{}}]}"#),
            (Wire::Chat, r#"{"tools":[{"type":"function","urlContext":{}}]}"#),
            (Wire::Messages, r#"{"tools":[{"name":"f","code_execution":{}}]}"#),
        ] {
            assert!(!pass(wire, body), "{body}");
        }
    }
}
