//! Mode A: the commands that run and score a candidate, and the rows they do it on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SpecPath;

/// Mode A: the commands that run and score a candidate.
///
/// Both speak JSON lines. In an argument, `{scorer}` is the scorer's folder, `{candidate}` the candidate's checkout and
/// `{taskwright}` the taskwright binary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scorer {
    /// The folder that holds the scorer's files.
    pub path: SpecPath,
    /// The candidate's side, run in its checkout as an unprivileged user. It is given
    /// `{"id", "input"}` lines without label fields and answers each with `{"id", "output"}`. Empty when the scorer
    /// runs the candidate itself, through `{taskwright} sandbox`.
    #[serde(default)]
    pub run: Vec<String>,
    /// Our side. It is given `{"id", "sample", "output", "error"}` lines and answers each with
    /// `{"id", "score", "metrics", "feedback"}`. It must never execute the candidate's code itself.
    pub score: Vec<String>,
    /// How many samples one `run` process is handed.
    #[serde(default = "Scorer::default_batch")]
    pub batch: u64,
    /// Whether the same candidate always gets the same score: if so, a repeated evaluation is answered from the record. Unless it
    /// is said, it is taken to be so where candidates ask no language model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deterministic: Option<bool>,
    /// Environment variables that both commands get besides `PATH`, `HOME`, `TMPDIR` and `LANG`.
    #[serde(default)]
    pub env: std::collections::BTreeMap<String, String>,
}

impl Scorer {
    fn default_batch() -> u64 {
        1
    }
}

/// Mode A: the rows that candidates are run on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// A file of JSON lines, or a folder that holds some beside the files its rows name. A name that ends in `.gz` is
    /// read compressed.
    pub path: SpecPath,
    /// Which files of the folder hold rows.
    #[serde(default = "Dataset::default_rows")]
    pub rows: Vec<String>,
    /// The field that names a row, unique in the whole dataset.
    #[serde(default = "Dataset::default_id")]
    pub id: String,
    /// The fields that no candidate may see.
    #[serde(default)]
    pub labels: Vec<String>,
}

impl Dataset {
    fn default_rows() -> Vec<String> {
        vec!["*.jsonl".to_owned(), "*.jsonl.gz".to_owned()]
    }
    fn default_id() -> String {
        "id".to_owned()
    }
}
