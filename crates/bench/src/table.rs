//! The rows as tables to read, as Markdown to paste, and as JSON for programs.

use serde::Serialize;
use taskwright_base::table::Table;

use crate::rows::{Aim, Row, Section, Unit};
use taskwright::output;

const COLUMNS: [&str; 10] =
    ["<measured", "median", "min", "runs", "<beside it", "its median", "ratio", "<aim", "<met", "busy"];

/// Prints the tables: as JSON, as Markdown, or for a terminal.
pub fn print(sections: &[Section], is_json: bool, is_markdown: bool) -> anyhow::Result<()> {
    output::print(&if is_json {
        json(sections)?
    } else if is_markdown {
        markdown(sections)
    } else {
        human(sections)
    })?;
    Ok(())
}

/// Tables for a terminal.
fn human(sections: &[Section]) -> String {
    let mut text = String::new();
    for section in sections {
        text.push_str(&format!("{}\n", section.title));
        table(section).text().lines().for_each(|line| text.push_str(&format!("  {line}\n")));
        text.push('\n');
    }
    text
}

/// Tables for a page.
fn markdown(sections: &[Section]) -> String {
    let mut text = String::new();
    for section in sections {
        text.push_str(&format!("### {}\n\n{}\n", section.title, table(section).markdown()));
    }
    text
}

fn table(section: &Section) -> Table {
    let mut table = Table::new(COLUMNS);
    section.rows.iter().for_each(|row| table.row(cells(row)));
    table
}

#[derive(Serialize)]
struct Object<'a> {
    name: &'a str,
    value: f64,
    unit: &'static str,
    limit: Option<f64>,
    ratio: Option<f64>,
}

/// A JSON list; a row that nothing stands beside has neither limit nor ratio.
fn json(sections: &[Section]) -> serde_json::Result<String> {
    let rows = sections.iter().flat_map(|section| &section.rows);
    let objects: Vec<_> = rows
        .map(|row| Object {
            name: &row.name,
            value: row.unit.of(row.found.median),
            unit: row.unit.word(),
            limit: row.beside.as_ref().map(|beside| row.unit.of(beside.value)),
            ratio: row.ratio(),
        })
        .collect();
    serde_json::to_string_pretty(&objects).map(|text| text + "\n")
}

fn cells(row: &Row) -> [String; 10] {
    let beside = row.beside.as_ref();
    [
        row.what.clone(),
        amount(row.unit, row.found.median),
        amount(row.unit, row.found.min),
        row.found.runs.to_string(),
        beside.map_or(String::new(), |beside| beside.what.clone()),
        beside.map_or(String::new(), |beside| amount(row.unit, beside.value)),
        row.ratio().map_or(String::new(), ratio),
        row.aim.map_or(String::new(), |aim| words(aim, row.unit)),
        row.is_met().map_or("", |met| if met { "yes" } else { "no" }).to_owned(),
        format!("{:.0} %", row.busy * 100.0),
    ]
}

fn words(aim: Aim, unit: Unit) -> String {
    match aim {
        Aim::Times(1.0) => "at most that".to_owned(),
        Aim::Times(times) => format!("at most {times} x"),
        Aim::More(more) => format!("at most {} {} more", unit.of(more), unit.word()),
        Aim::Ahead(times) => format!("{times} x ahead"),
        Aim::Most(most) => format!("at most {} {}", unit.of(most), unit.word()).trim_end().to_owned(),
        Aim::Least(least) => format!("at least {} {}", unit.of(least), unit.word()).trim_end().to_owned(),
    }
}

fn amount(unit: Unit, value: f64) -> String {
    let value = unit.of(value);
    let digits = match (unit, value.abs()) {
        (Unit::Count, _) => 0,
        (Unit::Seconds, 0.0..10.0) => 2,
        (Unit::Milliseconds, 0.0..1.0) => 3,
        (_, 0.0..100.0) => 1,
        _ => 0,
    };
    format!("{value:.digits$} {}", unit.word()).trim_end().to_owned()
}

/// Three digits that count, or two places if that is more.
fn ratio(ratio: f64) -> String {
    if ratio >= 0.1 { format!("{ratio:.2}") } else { format!("{ratio:.5}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections() -> Vec<Section> {
        let row =
            |name: &str, values: &[f64]| Row::new(name, name, Unit::Milliseconds, values, 0.02).unwrap();
        vec![Section {
            title: "10 specs".to_owned(),
            rows: vec![
                row("met", &[0.03, 0.02, 0.04]).beside("lstat", 0.02).aim(Aim::Times(2.0)),
                row("missed", &[0.03]).beside("limit", 0.02).aim(Aim::Times(1.0)),
                row("alone", &[12.0]),
            ],
        }]
    }

    #[test]
    fn tables_show_what_was_found_beside_what_it_is_held_against() {
        insta::assert_snapshot!(human(&sections()), @r"
        10 specs
          measured    median       min  runs  beside it  its median  ratio  aim           met  busy
          met        30.0 ms   20.0 ms     3  lstat         20.0 ms   1.50  at most 2 x   yes   2 %
          missed     30.0 ms   30.0 ms     1  limit         20.0 ms   1.50  at most that  no    2 %
          alone     12000 ms  12000 ms     1                                                    2 %
        ");
        insta::assert_snapshot!(markdown(&sections()), @r"
        ### 10 specs

        | measured | median | min | runs | beside it | its median | ratio | aim | met | busy |
        |---|---:|---:|---:|---|---:|---:|---|---|---:|
        | met | 30.0 ms | 20.0 ms | 3 | lstat | 20.0 ms | 1.50 | at most 2 x | yes | 2 % |
        | missed | 30.0 ms | 30.0 ms | 1 | limit | 20.0 ms | 1.50 | at most that | no | 2 % |
        | alone | 12000 ms | 12000 ms | 1 |  |  |  |  |  | 2 % |
        ");
    }

    #[test]
    fn short_times_have_digits_and_counts_have_no_unit() {
        assert_eq!(amount(Unit::Milliseconds, 0.000_213), "0.213 ms");
        assert_eq!(amount(Unit::Milliseconds, -0.004), "-4.0 ms");
        assert_eq!(amount(Unit::Count, 12.0), "12");
        assert_eq!(words(Aim::Least(2000.0), Unit::PerSecond), "at least 2000 /s");
        assert_eq!(words(Aim::Least(12.0), Unit::Count), "at least 12");
    }

    #[test]
    fn json_has_no_limit_where_there_is_none() {
        let list: serde_json::Value = serde_json::from_str(&json(&sections()).unwrap()).unwrap();
        assert_eq!(list[0]["unit"], "ms");
        assert_eq!(list[0]["limit"], 20.0);
        assert_eq!(list[0]["ratio"], 1.5);
        assert!(list[2]["limit"].is_null() && list[2]["ratio"].is_null());
    }
}
