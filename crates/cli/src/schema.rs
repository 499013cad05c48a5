//! `cargo xtask schema` and `cargo xtask reference`: what the types of the spec language say of themselves.

use camino::Utf8PathBuf;

use crate::exit::{self, Status};
use crate::output;
use crate::workspace;

/// Print the JSON Schema of spec.toml, which editors complete and check specs with.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  cargo xtask schema > spec.schema.json\n\nWith taplo or Even Better TOML, begin a spec with:\n  \
                        #:schema ../../docs/spec.schema.json"
)]
pub struct SchemaArguments {}

/// Write the generated pages of docs/, or check that they are current.
#[derive(clap::Args)]
pub struct ReferenceArguments {
    /// Write nothing; fail if a page is not current.
    #[arg(long)]
    check: bool,
}

/// Runs `schema`.
pub fn schema(_: &SchemaArguments) -> anyhow::Result<Status> {
    output::print(&taskwright_language::schema::json_schema_text())?;
    Ok(exit::SUCCESS)
}

/// Runs `reference`.
pub fn reference(arguments: &ReferenceArguments) -> anyhow::Result<Status> {
    let docs = workspace::this()?.root.join("docs");
    let pages: [(Utf8PathBuf, String); 4] = [
        (docs.join("spec.schema.json"), taskwright_language::schema::json_schema_text()),
        (docs.join("spec-reference.md"), taskwright_language::reference::reference_page()),
        (docs.join("lint.md"), taskwright_language::reference::rules_page()),
        (docs.join("where-tasks-run.md"), taskwright_harbor::backends::page()),
    ];
    let mut stale = false;
    for (path, text) in pages {
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        let shown = path.strip_prefix(&docs).unwrap_or(&path);
        if arguments.check {
            stale = true;
            output::error(
                &format!("docs/{shown} is not current"),
                Some("run `cargo xtask reference` and commit it"),
            );
        } else {
            std::fs::create_dir_all(&docs)?;
            taskwright_base::write::atomic(&path, taskwright_base::write::Durable::No, text.as_bytes())?;
            output::print(&format!("wrote docs/{shown}\n"))?;
        }
    }
    Ok(if stale { exit::FAILURE } else { exit::SUCCESS })
}
