//! The versions of the database's schema, and the way from each to the next.

use rusqlite::{Connection, TransactionBehavior};
use taskwright_base::{Error, Result};

use crate::error::database_failed;

/// One step forward each; what the first makes is version 1.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/1.sql"),
    concat!(include_str!("schema/2.sql"), include_str!("schema/views.sql")),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
];

/// `Tskw`, so that `file` and others can tell a ledger from other databases.
pub(super) const APPLICATION: i32 = 0x5473_6b77;

/// The version that this program writes.
pub fn current() -> usize {
    MIGRATIONS.len()
}

/// The version of a database, 0 for an empty one. An error if it is not a ledger, or newer than this program.
pub fn version(connection: &Connection, path: &std::path::Path) -> Result<usize> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let read = || Ok((pragma("application_id")?, pragma("user_version")?));
    let (application, version) = read().map_err(|error| database_failed(path, &error))?;
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if application != APPLICATION && (application, version) != (0, 0) {
        return Err(Error::new(format!("`{}` is the database of another program", path.display()))
            .hint("name another place with `--ledger DIR`"));
    }
    if version > current() {
        return Err(Error::new(format!(
            "the ledger `{}` has version {version}, and this program knows versions up to {}",
            path.display(),
            current()
        ))
        .hint("use the newer Taskwright that wrote it, or another `--ledger DIR`"));
    }
    Ok(version)
}

/// Brings a database to the current version, in one transaction.
pub fn migrate(connection: &mut Connection, path: &std::path::Path) -> Result<()> {
    if version(connection, path)? == current() {
        return Ok(());
    }
    let failed = |error: rusqlite::Error| database_failed(path, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Another process may have been quicker.
    let done = version(&transaction, path)?;
    for (version, migration) in (1_i32..).zip(MIGRATIONS).skip(done) {
        transaction.execute_batch(migration).map_err(failed)?;
        transaction.pragma_update(None, "user_version", version).map_err(failed)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    transaction.commit().map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use taskwright_testing::test;

    use super::*;
    use crate::db::query;
    use crate::record::{COLUMNS, Claimed, Kind, Metered, Tokens};

    #[test]
    fn what_was_known_of_the_cost_before_gateways_was_what_agents_claim() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let mut connection = Connection::open(&path).unwrap();
        MIGRATIONS[..3].iter().for_each(|step| connection.execute_batch(step).unwrap());
        connection.pragma_update(None, "user_version", 3).unwrap();
        connection.pragma_update(None, "application_id", APPLICATION).unwrap();
        let old = "INSERT INTO agents VALUES ('a', 'a', 'oracle', NULL, NULL, '{}');
            INSERT INTO trials (id, trial_name, task, agent, agent_digest, source, status, reward_valid, input_tokens,
                cached_tokens, output_tokens, cost_usd)
            VALUES ('1', 't', 't', 'oracle', 'a', 'import', 'complete', 1, 10, 4, 3, 0.25),
                ('2', 't', 't', 'oracle', 'a', 'import', 'missing', 0, NULL, NULL, NULL, NULL);";
        connection.execute_batch(old).unwrap();
        migrate(&mut connection, &path).unwrap();
        let one = |number| query::one(&connection, number).unwrap();
        let claimed = Claimed {
            tokens: Tokens { input: Some(10), cached: Some(4), output: Some(3) },
            cost_usd: Some(0.25),
        };
        // As an import of today would have it.
        assert_eq!(one(1), one(1).spending(claimed, Metered::default()));
        assert_eq!((one(1).cost_usd, one(1).tokens.output), (Some(0.25), Some(3)));
        assert_eq!((one(2).claimed, one(2).metered), (Claimed::default(), Metered::default()));
    }

    #[test]
    fn the_tables_columns_are_those_of_the_schema() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let mut connection = Connection::open(&path).unwrap();
        migrate(&mut connection, &path).unwrap();
        let mut statement =
            connection.prepare("SELECT name, type, \"notnull\" FROM pragma_table_info('trials')").unwrap();
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let mut schema: BTreeSet<(String, String, bool)> =
            statement.query_map([], row).unwrap().collect::<rusqlite::Result<_>>().unwrap();
        assert!(schema.remove(&("trial".into(), "INTEGER".into(), false)));
        let table = COLUMNS.iter().filter_map(|column| {
            let kind = match column.kind {
                Kind::Integer | Kind::Boolean => "INTEGER",
                Kind::Real => "REAL",
                Kind::Digest => "BLOB",
                Kind::Text | Kind::Json | Kind::Utc | Kind::Local => "TEXT",
            };
            Some((column.stored?.to_owned(), kind.to_owned(), !column.nullable))
        });
        assert_eq!(table.collect::<BTreeSet<_>>(), schema);
    }
}
