//! The time for the end, once everything else is written: a build insists on what the configuration's own numbers ask for.

use taskwright_harbor::phases::Phases;
use taskwright_language::Spec;
use taskwright_language::check::{Counts, finalize_work};
use taskwright_language::model::{HarborRun, TaskSource};

use crate::mapping::Mapping;
use crate::notes::List;
use crate::yaml::Map;

/// Raises `finalize_timeout_sec` to what all that is scored in the end can take, where it says less.
pub fn raise_finalization(mapping: &mut Mapping, map: &Map) {
    let Ok(spec) = toml::from_str::<Spec>(&mapping.draft.text()) else { return };
    let size = |split: &str| mapping.partitions.get(split).map_or(0, |ids| ids.len() as u64);
    let targets: Vec<u64> = spec.targets.iter().map(|target| size(&target.split)).collect();
    let selection = spec.selection_split().map_or(0, size);
    let counts = Counts { targets: &targets, selection, own_seconds: Some(own_seconds(mapping, &spec)) };
    let Some(needed) = finalize_work(&spec, &counts).map(|work| work.seconds(1)) else { return };
    let said = spec.limits.finalize_timeout_sec;
    if needed <= said {
        return;
    }
    let text = format!("{said} s, and all that is scored in the end can take {needed} s: raised to that");
    match map.get("verifier_timeout_seconds") {
        Some(entry) => mapping.note(List::Changed, entry, text),
        None => mapping.remark(List::Changed, "verifier_timeout_seconds", text),
    }
    mapping.draft.set("limits", "finalize_timeout_sec", i64::try_from(needed).unwrap_or(i64::MAX), &[]);
}

/// Seconds that a sample may take by its own task, of tasks that are here; of others what the configuration counts with.
fn own_seconds(mapping: &Mapping, spec: &Spec) -> u64 {
    let whole = spec.limits.evaluation_timeout_sec;
    let longest = spec.harbor.as_ref().and_then(|harbor| longest(mapping, harbor, whole));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of seconds")]
    longest.unwrap_or(mapping.sample_seconds as u64).min(whole)
}

fn longest(mapping: &Mapping, harbor: &HarborRun, whole: u64) -> Option<u64> {
    let TaskSource::Local(tasks) = &harbor.source else { return None };
    let folder = mapping.places.named_by_spec(&mapping.name, tasks.path.as_path());
    let changes = harbor.phase_changes();
    let of = |id: &String| {
        let text = std::fs::read_to_string(folder.join(id).join("task.toml")).ok()?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of seconds")]
        Some(Phases::parse(&text)?.total(&changes).map_or(whole, |seconds| seconds.ceil() as u64))
    };
    mapping.partitions.values().flatten().filter_map(of).max()
}
