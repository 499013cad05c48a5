//! The digest of a set of tasks, as registries know it.

use taskwright_base::Digest;

/// The digest of a set of tasks that has no files besides: `sha256:` and 64 hexadecimal digits, of the tasks' digests in
/// order. None if one of them is no digest.
pub fn dataset_digest<'a>(tasks: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut digests: Vec<&str> =
        tasks.into_iter().map(|digest| digest.strip_prefix("sha256:")).collect::<Option<_>>()?;
    digests.sort_unstable();
    Some(Digest::of(digests.join(",").as_bytes()).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn the_order_of_tasks_does_not_matter() {
        let (a, b) = (format!("sha256:{}", "a".repeat(64)), format!("sha256:{}", "b".repeat(64)));
        let one = dataset_digest([a.as_str(), &b]).unwrap();
        assert_eq!(dataset_digest([b.as_str(), &a]), Some(one.clone()));
        assert_eq!(one.len(), 71);
        assert_ne!(dataset_digest([a.as_str()]), Some(one));
        assert_eq!(dataset_digest(["md5:0"]), None);
    }
}
