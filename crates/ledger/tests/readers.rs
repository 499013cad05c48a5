//! The ledger as others read it: the `sqlite3` shell, `duckdb` and `pandas` come to the numbers of the leaderboard.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use taskwright_ledger::export::{Format, columns, dictionary};
use taskwright_ledger::leaderboard::{Leaderboard, Rules};
use taskwright_ledger::patterns::TaskPatterns;
use taskwright_ledger::record::{Agent, Exception, Failure, Kind, Reward, Seconds, Status, Tokens};
use taskwright_ledger::{Filter, Ledger, Trial};
use taskwright_testing::{Need, not_run, test, works};

/// Trials of three agents on five tasks, of every status, with what text and times may hold.
fn ledger(folder: &Path) -> Ledger {
    let agent = |digit: &str| Agent {
        digest: digit.repeat(64),
        label: if digit == "c" { "oracle" } else { "codex" }.into(),
        version: None,
        model: (digit != "c").then(|| format!("lab/{digit}")),
        configuration: "{}".into(),
    };
    let texts = ["plain", "a, \"b\"\r\nc", "", "=1+1", "'\u{1f600}\u{0}\t", "NULL", "1e5"];
    let trials: Vec<Trial> = (0_u32..210)
        .map(|number| {
            let digit = ["a", "b", "c"][number as usize % 3];
            let status = match number % 11 {
                0 => Status::Missing,
                1 | 2 => Status::Partial,
                _ => Status::Complete,
            };
            let reward = (status == Status::Complete).then(|| f64::from(number * 7 % 10) / 9.0);
            let text = texts[number as usize % texts.len()];
            Trial {
                id: format!("trial-{number}"),
                trial_name: format!("{text}{number}"),
                experiment: (number % 2 == 0).then(|| "smoke".into()),
                task: format!("org/task-{}", number * 13 % 5),
                agent: agent(digit).label,
                agent_digest: agent(digit).digest,
                model: agent(digit).model,
                status,
                failure: (number % 11 == 1).then_some(Failure::Infrastructure),
                exception: (number % 11 < 3).then(|| Exception {
                    kind: "E".into(),
                    message: text.into(),
                    step: None,
                }),
                reward,
                reward_key: reward.map(|_| "reward".into()),
                rewards: reward
                    .map(|value| Reward { key: text.into(), value: Some(value), ..Reward::default() })
                    .into_iter()
                    .collect(),
                reward_valid: reward.is_some(),
                started_at: match number % 3 {
                    0 => None,
                    1 => Some(format!("2026-11-27T20:35:{:02}.25Z", number % 60)),
                    _ => Some("2026-11-27T20:35:13".into()),
                },
                seconds: Seconds { total: Some(f64::from(number) / 7.0), ..Seconds::default() },
                tokens: Tokens { input: Some(u64::from(number)), ..Tokens::default() },
                cost_usd: (number % 4 > 0).then(|| f64::from(number) / 300.0),
                ..Trial::default()
            }
        })
        .collect();
    let mut ledger = Ledger::open(folder).unwrap();
    ledger.add(&["a", "b", "c"].map(agent), &trials).unwrap();
    ledger
}

fn leaderboard(ledger: &Ledger) -> Leaderboard {
    ledger.leaderboard(&Filter::default(), &TaskPatterns::default(), &Rules::default()).unwrap()
}

/// Whether a row of another's answer is that of the leaderboard.
fn assert_row(found: &Value, row: &taskwright_ledger::leaderboard::Row) {
    assert_eq!(found["agent_digest"], row.agent.digest.as_str(), "{found}");
    let mean = found["mean"].as_f64().unwrap();
    assert!((mean - row.mean.unwrap()).abs() < 1e-12, "{mean} is not {:?}", row.mean);
    assert_eq!(found["complete"].as_f64(), Some(f64::from(u32::try_from(row.complete).unwrap())));
}

fn needs(program: &str, arguments: &[&str], why: &str) {
    if !works(program, arguments) {
        not_run(Need::Readers, why);
    }
}

fn answer(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_sqlite3_shell_comes_to_the_same_numbers() {
    needs("sqlite3", &["--version"], "there is no `sqlite3` shell here");
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path());
    let text =
        answer(Command::new("sqlite3").arg("-json").arg(ledger.database()).arg("SELECT * FROM leaderboard"));
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    let board = leaderboard(&ledger);
    assert_eq!(rows.len(), board.rows.len());
    for (found, row) in rows.iter().zip(&board.rows) {
        assert_row(found, row);
        let close = |key: &str, expected: Option<f64>| {
            (found[key].as_f64().unwrap() - expected.unwrap()).abs() < 1e-9
        };
        assert!(close("cost_usd", row.cost_usd.mean) && close("seconds", row.seconds.mean), "{found}");
        assert_eq!((&found["partial"], &found["missing"]), (&row.partial.into(), &row.missing.into()));
        assert_eq!(
            (&found["tasks"], &found["tasks_counted"]),
            (&row.tasks.into(), &row.tasks_counted.into())
        );
    }
}

/// The query of the dictionary, on a file.
fn query(path: &Path) -> String {
    let page = dictionary();
    let (_, rest) = page.split_once("```sql\n").unwrap();
    let (query, _) = rest.split_once("```").unwrap();
    query.replace("trials.parquet", path.to_str().unwrap())
}

fn exported(ledger: &Ledger, folder: &Path) -> Vec<std::path::PathBuf> {
    let formats = [("parquet", Format::Parquet), ("csv", Format::Csv), ("jsonl", Format::JsonLines)];
    let write = |(ending, format): (&str, Format)| {
        let path = folder.join(format!("trials.{ending}"));
        let file = File::create(&path).unwrap();
        assert_eq!(ledger.export(&Filter::default(), &TaskPatterns::default(), format, file).unwrap(), 210);
        path
    };
    formats.map(write).into()
}

/// The Python that has the readers: the one that `TASKWRIGHT_PYTHON` names.
fn python() -> String {
    std::env::var("TASKWRIGHT_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

#[test]
fn duckdb_comes_to_the_same_numbers() {
    needs(&python(), &["-c", "import duckdb"], "Python has no `duckdb`; `pip install duckdb` brings it");
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path());
    let board = leaderboard(&ledger);
    for path in exported(&ledger, folder.path()) {
        let script = "import duckdb, json, sys\n\
                      answer = duckdb.sql(sys.argv[1])\n\
                      rows = [dict(zip(answer.columns, row)) for row in answer.fetchall()]\n\
                      types = duckdb.sql(f\"DESCRIBE FROM '{sys.argv[2]}'\").fetchall()\n\
                      sample = duckdb.sql(f\"SELECT id, trial_name FROM '{sys.argv[2]}'\").fetchall()\n\
                      print(json.dumps({'rows': rows, 'types': {row[0]: row[1] for row in types}, 'names': dict(sample)}))";
        let text = answer(Command::new(python()).args(["-c", script]).arg(query(&path)).arg(&path));
        let found: Value = serde_json::from_str(&text).unwrap();
        let rows = found["rows"].as_array().unwrap();
        assert_eq!(rows.len(), board.rows.len(), "{}", path.display());
        for (found, row) in rows.iter().zip(&board.rows) {
            assert_row(found, row);
        }
        let types = found["types"].as_object().unwrap();
        assert_eq!(types.len(), columns().count(), "{}", path.display());
        assert_eq!((&types["reward"], &types["reward_valid"]), (&"DOUBLE".into(), &"BOOLEAN".into()));
        // Every text as it is, but for the NUL that CSV cannot hold.
        let names = found["names"].as_object().unwrap();
        let written = ledger.trials(&Filter::default()).unwrap();
        assert_eq!(names.len(), written.len());
        for trial in written {
            let name =
                trial.trial_name.replace('\0', if path.ends_with("trials.csv") { "\u{fffd}" } else { "\0" });
            assert_eq!(names[&trial.id], name.as_str(), "{}", path.display());
        }
        if path.ends_with("trials.parquet") {
            for column in columns() {
                let expected = match column.kind {
                    Kind::Text | Kind::Json => "VARCHAR",
                    Kind::Integer => "BIGINT",
                    Kind::Real => "DOUBLE",
                    Kind::Boolean => "BOOLEAN",
                    Kind::Utc => "TIMESTAMP WITH TIME ZONE",
                    Kind::Local => "TIMESTAMP",
                    Kind::Digest => "BLOB",
                };
                assert_eq!(types[column.name], expected, "{}", column.name);
            }
        }
    }
}

#[test]
fn pandas_comes_to_the_same_numbers() {
    let imports = "import pandas, pyarrow";
    needs(
        &python(),
        &["-c", imports],
        "Python has no `pandas` with `pyarrow`; `pip install pandas pyarrow` brings them",
    );
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path());
    let board = leaderboard(&ledger);
    for path in exported(&ledger, folder.path()) {
        let script = "import json, pandas, sys\n\
                      path = sys.argv[1]\n\
                      read = {'parquet': pandas.read_parquet, 'csv': pandas.read_csv, \
                              'jsonl': lambda path: pandas.read_json(path, lines=True)}[path.rsplit('.')[-1]]\n\
                      trials = read(path)\n\
                      done = trials[(trials.status == 'complete') & trials.reward.notna()]\n\
                      tasks = done.groupby(['agent_digest', 'task']).reward.agg(['mean', 'count']).reset_index()\n\
                      agents = tasks.groupby('agent_digest').agg(mean=('mean', 'mean'), complete=('count', 'sum'))\n\
                      agents = agents.sort_values('mean', ascending=False).reset_index()\n\
                      print(json.dumps({'rows': agents.to_dict('records'), 'size': trials.shape}))";
        let text = answer(Command::new(python()).args(["-c", script]).arg(&path));
        let found: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(found["size"], serde_json::json!([210, columns().count()]));
        let rows = found["rows"].as_array().unwrap();
        assert_eq!(rows.len(), board.rows.len(), "{}", path.display());
        for (found, row) in rows.iter().zip(&board.rows) {
            assert_row(found, row);
        }
    }
}

fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
