//! `cargo xtask clean`.

use taskwright_base::Error;
use taskwright_base::text::count;
use taskwright_builder::Observer;
use taskwright_builder::clean::{Scope, clean};

use crate::exit::{self, Status};
use crate::interrupt;
use crate::output::{self, say};
use crate::workspace::Places;

/// Remove the built tasks, the store, or what the store holds without need.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask clean\n  cargo xtask clean --store\n  cargo xtask clean --unused --keep 1GiB"
)]
pub struct Arguments {
    /// Remove the store too: the next build makes everything again.
    #[arg(long, conflicts_with = "unused")]
    store: bool,
    /// Remove only what the store holds and no remembered build needs.
    #[arg(long)]
    unused: bool,
    /// With --unused: stop once the store holds at most this much, for example 500MiB.
    #[arg(long, value_name = "SIZE", requires = "unused", default_value = "0")]
    keep: String,
    #[command(flatten)]
    places: Places,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let scope = match (arguments.store, arguments.unused) {
        (true, _) => Scope::OutputsAndStore,
        (false, true) => Scope::Unused(bytes(&arguments.keep)?),
        (false, false) => Scope::Outputs,
    };
    let workspace = arguments.places.workspace()?;
    let cleaned = clean(&workspace, scope, &Waiter, &*interrupt::flag()?)?;
    for lost in &cleaned.lost {
        output::print(&format!("moved what no build wrote to {lost}\n"))?;
    }
    let mut words = Vec::new();
    if !arguments.unused {
        words.push(format!("removed {}", count(cleaned.tasks.len() as u64, "task")));
    }
    if scope != Scope::Outputs {
        let (removed, before) = (mebibytes(cleaned.store.removed), mebibytes(cleaned.store.before));
        words.push(format!("removed {removed} of {before} MiB from the store"));
    }
    output::print(&format!("{}\n", words.join(", ")))?;
    Ok(exit::SUCCESS)
}

struct Waiter;

impl Observer for Waiter {
    fn waiting(&self, holder: &str) {
        say(&format!("waiting: {holder} is building in this workspace"));
    }
}

fn mebibytes(bytes: u64) -> u64 {
    bytes.div_ceil(1024 * 1024)
}

/// A size such as `500MiB`, `2 GiB` or `4096`.
fn bytes(text: &str) -> Result<u64, Error> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let factor: Option<u64> = match text[digits.len()..].trim() {
        "" | "B" => Some(1),
        "KiB" | "K" => Some(1 << 10),
        "MiB" | "M" => Some(1 << 20),
        "GiB" | "G" => Some(1 << 30),
        _ => None,
    };
    digits
        .trim()
        .parse::<u64>()
        .ok()
        .zip(factor)
        .and_then(|(number, factor)| number.checked_mul(factor))
        .ok_or_else(|| {
            Error::new(format!("`{text}` is not a size"))
                .hint("write a number with B, KiB, MiB or GiB, such as 500MiB")
                .usage()
        })
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes() {
        assert_eq!(bytes("0"), Ok(0));
        assert_eq!(bytes("500MiB"), Ok(500 << 20));
        assert_eq!(bytes("2 GiB"), Ok(2 << 30));
        for wrong in ["", "MiB", "-1", "1.5G", "9999999999999GiB", "1TB"] {
            assert!(bytes(wrong).unwrap_err().is_usage(), "{wrong}");
        }
    }
}
