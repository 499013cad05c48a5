//! Exports, read back.

use std::fs::File;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use taskwright_testing::test;

use super::*;
use crate::record::{Exception, Kind, Reward, Status, Step, Trial, exported};

fn trial(number: usize) -> Trial {
    Trial {
        id: format!("{number:06}"),
        task: format!("org/task-{}", number % 7),
        agent: "codex".into(),
        agent_digest: "a".repeat(64),
        status: Status::Complete,
        reward: Some(0.1 + 0.2),
        reward_key: Some("reward".into()),
        rewards: vec![
            Reward { key: "other".into(), value: Some(-3.0), ..Reward::default() },
            Reward { key: "reward".into(), value: Some(0.1 + 0.2), ..Reward::default() },
            Reward {
                key: "text".into(),
                value: None,
                text: Some("\"no\"".into()),
                reason: Some("a text".into()),
                ..Reward::default()
            },
        ],
        reward_valid: true,
        started_at: Some("2026-11-27T20:35:13.303432Z".into()),
        finished_at: Some("2026-11-27T20:36:13.5".into()),
        ..Trial::default()
    }
}

fn nasty() -> Trial {
    Trial {
        id: "=1+1,\"quoted\"\r\n, 'and' \u{1f600}".into(),
        exception: Some(Exception { kind: String::new(), message: "a\0b\nc".into(), step: None }),
        status: Status::Partial,
        reward: None,
        rewards: Vec::new(),
        steps: vec![Step { name: "one \"of\" two\n".into(), cost_usd: Some(0.5), ..Step::default() }],
        cost_usd: Some(1e-9),
        ..trial(0)
    }
}

fn ledger(folder: &std::path::Path, trials: &[Trial]) -> Ledger {
    let agent = Agent {
        digest: "a".repeat(64),
        label: "codex".into(),
        version: None,
        model: None,
        configuration: r#"{"kwargs":{"effort":"high"}}"#.into(),
    };
    let mut ledger = Ledger::open(folder).unwrap();
    ledger.add(&[agent], trials).unwrap();
    ledger
}

fn export(ledger: &Ledger, filter: &Filter, format: Format) -> (u64, Vec<u8>) {
    let mut bytes = Vec::new();
    let rows = ledger.export(filter, &TaskPatterns::default(), format, &mut bytes).unwrap();
    (rows, bytes)
}

const FORMATS: [Format; 3] = [Format::Parquet, Format::Csv, Format::JsonLines];

#[test]
fn the_same_trials_give_the_same_bytes() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut trials: Vec<Trial> = (0..50).map(trial).chain([nasty()]).collect();
    let one = ledger(one.path(), &trials);
    trials.reverse();
    let other = ledger(other.path(), &trials);
    for format in FORMATS {
        let found = export(&one, &Filter::default(), format);
        assert_eq!(found.0, 51);
        assert!(found == export(&other, &Filter::default(), format), "{format:?}");
    }
}

#[test]
fn an_empty_ledger_gives_a_file_with_columns_only() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path(), &[]);
    let head = exported().map(|column| column.name).collect::<Vec<_>>().join(",") + "\r\n";
    assert_eq!(export(&ledger, &Filter::default(), Format::Csv), (0, head.into_bytes()));
    assert_eq!(export(&ledger, &Filter::default(), Format::JsonLines), (0, Vec::new()));
    let path = folder.path().join("trials.parquet");
    std::fs::write(&path, export(&ledger, &Filter::default(), Format::Parquet).1).unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.metadata().file_metadata().schema_descr().num_columns(), exported().count());
}

#[test]
fn json_lines_hold_every_column_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path(), &[trial(1), nasty()]);
    let (_, bytes) = export(&ledger, &Filter::default(), Format::JsonLines);
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (bad, good) = (&lines[0], &lines[1]);
    assert!(lines.iter().all(|line| line.as_object().unwrap().len() == exported().count()));
    assert_eq!(good["reward"], 0.1 + 0.2);
    assert_eq!(good["rewards"], serde_json::json!({"other": -3.0, "reward": 0.1 + 0.2, "text": null}));
    assert_eq!(good["agent_configuration"]["kwargs"]["effort"], "high");
    assert_eq!(good["started_at"], "2026-11-27T20:35:13.303432Z");
    assert_eq!(
        (&good["finished_at"], &good["finished_at_local"]),
        (&serde_json::Value::Null, &"2026-11-27T20:36:13.500000".into())
    );
    assert_eq!(bad["id"], nasty().id);
    assert_eq!(bad["exception_message"], "a\0b\nc");
    assert_eq!(
        (&bad["steps"][0]["name"], &bad["steps"][0]["cost_usd"]),
        (&"one \"of\" two\n".into(), &0.5.into())
    );
}

#[test]
fn csv_is_quoted_as_rfc_4180_says() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path(), &[trial(1), nasty()]);
    let (_, bytes) = export(&ledger, &Filter::default(), Format::Csv);
    assert!(!bytes.contains(&0));
    let text = String::from_utf8(bytes.clone()).unwrap();
    let row = text.split_once("\r\n").unwrap().1;
    assert!(row.starts_with("\"=1+1,\"\"quoted\"\"\r\n, 'and' \u{1f600}\","), "{row}");
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let head = reader.headers().unwrap().clone();
    let rows: Vec<_> = reader.records().map(|row| row.unwrap()).collect();
    let cell =
        |row: usize, name: &str| rows[row][head.iter().position(|column| column == name).unwrap()].to_owned();
    assert_eq!((rows.len(), cell(0, "id")), (2, nasty().id));
    assert_eq!((cell(0, "exception_message").as_str(), cell(0, "reward").as_str()), ("a\u{fffd}b\nc", ""));
    assert_eq!((cell(1, "reward").as_str(), cell(0, "cost_usd").as_str()), ("0.30000000000000004", "1e-9"));
    assert_eq!((cell(1, "reward_valid").as_str(), cell(1, "evidence_files").as_str()), ("true", "0"));
}

#[test]
fn a_spreadsheet_gets_text_that_is_no_formula_and_numbers_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path(), &[trial(1), nasty()]);
    let (_, bytes) = export(&ledger, &Filter::default(), Format::CsvForSpreadsheets);
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let head = reader.headers().unwrap().clone();
    let rows: Vec<_> = reader.records().map(|row| row.unwrap()).collect();
    let place = |name: &str| head.iter().position(|column| column == name).unwrap();
    assert_eq!(rows[0][place("id")], format!("'{}", nasty().id));
    assert_eq!(&rows[1][place("id")], trial(1).id);
    let filter = Filter { reward_key: Some("other".into()), ..Filter::default() };
    let (_, bytes) = export(&ledger, &filter, Format::CsvForSpreadsheets);
    let rows: Vec<_> = csv::Reader::from_reader(&bytes[..]).into_records().map(|row| row.unwrap()).collect();
    assert_eq!(&rows[1][place("reward")], "-3.0");
}

#[test]
fn parquet_has_types_and_its_dictionary_over_several_groups_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let trials: Vec<Trial> = (0..150).map(trial).chain([nasty()]).collect();
    let ledger = ledger(folder.path(), &trials);
    let path = folder.path().join("trials.parquet");
    let file = File::create(&path).unwrap();
    ledger.export(&Filter::default(), &TaskPatterns::default(), Format::Parquet, file).unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    assert_eq!((reader.num_row_groups(), reader.metadata().file_metadata().num_rows()), (3, 151));
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
    let columns = pairs.iter().find(|pair| pair.key == "taskwright.columns").unwrap();
    let columns: Vec<serde_json::Value> = serde_json::from_str(columns.value.as_ref().unwrap()).unwrap();
    assert_eq!(columns.len(), exported().count());
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect();
    let cell = |row: &parquet::record::Row, name: &str| {
        row.get_column_iter().find(|(column, _)| *column == name).unwrap().1.clone()
    };
    let row = |id: String| rows.iter().find(|row| cell(row, "id") == Field::Str(id.clone())).unwrap();
    let (good, bad) = (row(trial(149).id), row(nasty().id));
    assert_eq!((cell(good, "reward"), cell(bad, "reward")), (Field::Double(0.1 + 0.2), Field::Null));
    assert_eq!(cell(good, "started_at"), Field::TimestampMicros(1_795_811_713_303_432));
    assert_eq!((cell(good, "finished_at"), cell(good, "reward_valid")), (Field::Null, Field::Bool(true)));
    assert_eq!(cell(bad, "exception_message"), Field::Str("a\0b\nc".into()));
    assert_eq!(rows.len(), 151);
}

#[test]
fn another_reward_can_take_the_place_of_the_one_that_counts() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(folder.path(), &[trial(1), nasty()]);
    let filter = Filter { reward_key: Some("other".into()), ..Filter::default() };
    let (rows, bytes) = export(&ledger, &filter, Format::JsonLines);
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows, 2);
    assert_eq!((&lines[1]["reward"], &lines[1]["reward_key"]), (&(-3.0).into(), &"other".into()));
    assert_eq!(
        (&lines[0]["reward"], &lines[0]["reward_key"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
}

/// What must always be there is there even in a trial that holds nothing, in every type of column.
#[test]
fn columns_that_are_never_null_have_a_value_of_their_type_in_any_trial() {
    for trial in [Trial::default(), trial(1), nasty()] {
        let row = Row { trial: &trial, origin: None, agent: None, metric: None };
        for column in exported() {
            let fits = match (column.value(&row).exported(column.kind), column.kind) {
                (Value::Null, _) => column.nullable,
                (Value::Text(_), Kind::Text)
                | (Value::Json(_), Kind::Json)
                | (Value::Integer(_), Kind::Integer)
                | (Value::Real(_), Kind::Real)
                | (Value::Boolean(_), Kind::Boolean) => true,
                (Value::Time(time), Kind::Utc) => time.is_utc,
                (Value::Time(time), Kind::Local) => !time.is_utc,
                _ => false,
            };
            assert!(fits, "{}", column.name);
        }
    }
}

#[test]
fn the_dictionary_in_the_docs_is_current() {
    let page = include_str!("../../../../../docs/columns.md");
    assert!(page == dictionary(), "docs/columns.md: run `cargo xtask export --columns > docs/columns.md`");
}
