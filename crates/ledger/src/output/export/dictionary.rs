//! The dictionary of the columns: as a page, and as what a Parquet file carries.

use serde_json::{Value, json};

use crate::record::exported;

/// The dictionary as Markdown: the text of `docs/columns.md`.
pub fn dictionary() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("\n| column | type | null | meaning |\n|---|---|---|---|\n");
    for column in exported() {
        let null = if column.nullable { "yes" } else { "no" };
        page.push_str(&format!(
            "| `{}` | {} | {null} | {} |\n",
            column.name,
            column.kind.word(),
            column.meaning
        ));
    }
    page
}

/// The dictionary as JSON.
pub(super) fn json() -> Value {
    let columns = exported().map(|column| {
        json!({
            "name": column.name,
            "type": column.kind.word(),
            "nullable": column.nullable,
            "meaning": column.meaning,
        })
    });
    columns.collect()
}

const INTRODUCTION: &str = "\
# The columns of an export

<!-- Made by `cargo xtask export --columns > docs/columns.md`; a test checks that it is current. -->

`cargo xtask export --format parquet|csv|jsonl --output FILE` writes a row for each trial, whatever its status, by task,
agent, start and identifier. The same trials give the same bytes. DuckDB and pandas read all three without a flag:

```sql
-- What `cargo xtask leaderboard` shows as mean, tasks and complete trials.
SELECT agent_digest, avg(mean) AS mean, count(*) AS tasks, sum(trials) AS complete
FROM (SELECT agent_digest, task, avg(reward) AS mean, count(*) AS trials
      FROM 'trials.parquet' WHERE status = 'complete' AND reward IS NOT NULL GROUP BY ALL)
GROUP BY ALL ORDER BY mean DESC;
```

Durations are in seconds, times to the microsecond, sizes in bytes. What holds JSON is text in Parquet and CSV, and a value
in JSON Lines. A Parquet file carries this dictionary under the key `taskwright.columns`.

CSV has no types and no null: an empty field is either an empty text or none, and readers guess what a column holds; prefer
Parquet where that matters. A NUL in a text is written as U+FFFD in CSV. Texts are written as they are: names and messages
come from agents, and a spreadsheet would run some of them as formulas: `--format csv-for-spreadsheets` writes an
apostrophe before those.
";
