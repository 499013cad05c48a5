//! Tasks that come from a registry: whether what was fetched is what the spec pins.

use taskwright_base::{Error, Result};
use taskwright_harbor::dataset::dataset_digest;
use taskwright_language::model::{RegistryTasks, TaskSource};

use super::collate::PlannedSample;

/// Checks the digests of fetched tasks, as Harbor's lock has them, against the one that the spec pins. Of a set whose
/// other tasks were not fetched the digest cannot be made out; then each task must at least stay what it first was.
pub(super) fn verify(source: &TaskSource, planned: &[PlannedSample]) -> Result<()> {
    let TaskSource::Registry(RegistryTasks { registry, digest: Some(pinned), .. }) = source else {
        return Ok(());
    };
    let [only] = planned else { return Ok(()) };
    let Some(found) = &only.digest else { return Ok(()) };
    if only.id != *registry || found == pinned || dataset_digest([found.as_str()]).as_ref() == Some(pinned) {
        return Ok(());
    }
    Err(Error::new(format!(
        "the task `{registry}` that Harbor fetched has the digest {found}, not {pinned} as the spec says: nothing of it \
         is taken; correct `harbor.source.digest` if the registry is right"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn a_task_must_be_the_one_that_is_pinned() {
        let digest = |digit: char| format!("sha256:{}", digit.to_string().repeat(64));
        let source = TaskSource::Registry(RegistryTasks {
            registry: "acme/sort".to_owned(),
            version: None,
            digest: Some(digest('a')),
        });
        let planned = |found: Option<String>| PlannedSample {
            id: "acme/sort".to_owned(),
            name: None,
            directory: "sort".to_owned(),
            digest: found,
        };
        assert!(verify(&source, &[planned(None)]).is_ok());
        assert!(verify(&source, &[planned(Some(digest('a')))]).is_ok());
        let error = verify(&source, &[planned(Some(digest('b')))]).unwrap_err();
        assert!(error.to_string().contains("nothing of it is taken"), "{error}");
    }
}
