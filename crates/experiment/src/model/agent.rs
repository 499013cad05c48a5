//! An agent of an experiment.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use taskwright_language::model::SpecPath;

/// An agent: one of Harbor's by `name`, or a class of one's own by `import_path`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// The name of one of Harbor's agents: `oracle`, `nop`, `claude-code` ...
    #[serde(default)]
    pub name: Option<String>,
    /// The class of an agent of one's own: `package.module:Class`.
    #[serde(default)]
    pub import_path: Option<String>,
    /// The folder of the Python package that holds this class, installed beside Harbor for the run.
    #[serde(default)]
    pub package: Option<SpecPath>,
    /// The model that the agent is given, usually `provider/name`.
    #[serde(default)]
    pub model: Option<String>,
    /// The address that the agent asks its model at, in place of the one that it finds. Not beside `[gateway]`, whose address
    /// it finds.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The environment variable, of the machine that runs Harbor, that holds the key for it.
    #[serde(default)]
    pub api_key_name: Option<String>,
    /// In which words the agent asks its model, where it knows several: `harbor agent auth NAME` lists them.
    #[serde(default)]
    pub api_format: Option<ApiFormat>,
    /// Whether the agent gets the model's name as it is written, and Harbor reads no provider from it.
    #[serde(default)]
    pub skip_model_parsing: bool,
    /// Servers of tools that the agent may use, besides those of the task.
    #[serde(default)]
    pub mcp_servers: Vec<McpServer>,
    /// The agent's own arguments: `harbor agent schema NAME` lists them. Never a secret.
    #[serde(default)]
    pub args: BTreeMap<String, serde_json::Value>,
    /// Names of environment variables of the machine that runs Harbor; the agent gets them under the same names. Their
    /// values stand in no file.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// Further environment variables, with their values: settings, never secrets. A value that is `${NAME}` (written
    /// `$${NAME}`) is taken from the machine that runs Harbor.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// A text file that is added to the system prompt. `claude-code` takes one; a class of one's own gets the text as the
    /// argument `system_prompt`.
    #[serde(default)]
    pub system_prompt: Option<SpecPath>,
    /// A text file around the task's instruction, which stands in it as `{{ instruction }}`. Agents that Harbor installs
    /// into the environment take one.
    #[serde(default)]
    pub prompt_template: Option<SpecPath>,
    /// Folders of skills that the agent is given.
    #[serde(default)]
    pub skills: Vec<SpecPath>,
    /// Seconds for the agent's work, instead of what each task gives.
    #[serde(default)]
    pub timeout_sec: Option<f64>,
    /// The most seconds for the agent's work, whatever a task gives.
    #[serde(default)]
    pub max_timeout_sec: Option<f64>,
    /// Seconds for the agent's set-up.
    #[serde(default)]
    pub setup_timeout_sec: Option<f64>,
    /// How many of its trials work at a time; without it only the limit of the whole experiment counts.
    #[serde(default)]
    pub concurrency: Option<u64>,
    /// Hosts that it may reach besides those of the task, where a task closes the network.
    #[serde(default)]
    pub allowed_hosts: Vec<String>,
}

/// The words in which a language model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApiFormat {
    /// OpenAI's chat completions.
    OpenaiChatCompletions,
    /// OpenAI's responses.
    OpenaiResponses,
    /// Anthropic's messages.
    AnthropicMessages,
    /// Google's `generateContent`.
    GoogleGenerateContent,
    /// Amazon's `Converse`.
    BedrockConverse,
}

impl ApiFormat {
    /// Harbor's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::OpenaiChatCompletions => "openai_chat_completions",
            Self::OpenaiResponses => "openai_responses",
            Self::AnthropicMessages => "anthropic_messages",
            Self::GoogleGenerateContent => "google_generate_content",
            Self::BedrockConverse => "bedrock_converse",
        }
    }
}

/// A server of tools (MCP): one that listens, by `url`, or one that is started in the environment, by `command`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum McpServer {
    /// One that listens.
    Remote(RemoteServer),
    /// One that is started.
    Started(StartedServer),
}

/// A server of tools that listens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoteServer {
    /// Its address, as the agent reaches it.
    pub url: String,
    /// Its name.
    pub name: String,
    /// How it is talked to.
    #[serde(default)]
    pub transport: Transport,
    /// Headers of its requests. A credential is taken from the machine that runs Harbor: `Bearer $${NAME}`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// How a server of tools is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// By requests whose answers may be streams.
    #[default]
    StreamableHttp,
    /// By one stream of events, as servers did before.
    Sse,
}

/// A server of tools that is started where the agent works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartedServer {
    /// The program.
    pub command: String,
    /// Its name.
    pub name: String,
    /// The program's arguments.
    #[serde(default)]
    pub args: Vec<String>,
}

impl McpServer {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Remote(server) => &server.name,
            Self::Started(server) => &server.name,
        }
    }
}

impl Agent {
    /// What people call it: its name, or its class.
    pub fn label(&self) -> &str {
        self.name.as_deref().or(self.import_path.as_deref()).unwrap_or("?")
    }
}
