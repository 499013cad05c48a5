//! The last look at a task before it is published: no value of a secret may stand in any file.

use std::fs::File;
use std::io::Read;

use taskwright_language::model::Spec;

use crate::error::failed;
use crate::store::Store;
use crate::tree::{Content, Entry, Tree};
use taskwright_base::{Error, Result};

/// Shorter values stand in files by chance.
const SHORTEST: usize = 6;

/// The secrets of a spec with the values they have now, if they have one.
pub fn values(spec: &Spec, variable: impl Fn(&str) -> Option<String>) -> Vec<(String, Vec<u8>)> {
    let gateway = spec.gateway.iter().map(|gateway| &gateway.upstream_api_key_env);
    let names: std::collections::BTreeSet<_> = spec.secrets.iter().chain(gateway).collect();
    names
        .into_iter()
        .filter_map(|name| Some((name.clone(), variable(name)?.into_bytes())))
        .filter(|(_, value)| value.len() >= SHORTEST)
        .collect()
}

/// Refuses a tree that holds the value of a secret.
pub fn refuse(tree: &Tree, secrets: &[(String, Vec<u8>)], store: &Store) -> Result<()> {
    for (path, entry) in tree.iter() {
        for (name, value) in secrets {
            let held = match entry {
                Entry::Symlink { target } => contains(target.as_bytes(), value),
                Entry::File { content: Content::Bytes(bytes, _), .. } => contains(bytes, value),
                Entry::File { content: Content::Blob(blob), .. } => {
                    let path = store.blob_path(blob.digest, false);
                    let mut file = File::open(&path).map_err(failed("opening", &path))?;
                    streams(&mut file, value).map_err(failed("reading", &path))?
                }
            };
            if held {
                return Err(Error::new(format!("`{path}` would hold the value of the secret `{name}`"))
                    .hint("remove it from the file it comes from, and change the secret: it may be known already")
                    .at(&["secrets"]));
            }
        }
    }
    Ok(())
}

fn contains(bytes: &[u8], value: &[u8]) -> bool {
    bytes.windows(value.len()).any(|window| window == value)
}

/// Whether what is read holds a value.
pub fn streams(reader: &mut impl Read, value: &[u8]) -> std::io::Result<bool> {
    let mut buffer = vec![0; 256 * 1024];
    let mut kept = 0;
    loop {
        let count = reader.read(&mut buffer[kept..])?;
        if count == 0 {
            return Ok(false);
        }
        let end = kept + count;
        if contains(&buffer[..end], value) {
            return Ok(true);
        }
        // A value may lie across two reads.
        kept = (value.len() - 1).min(end);
        buffer.copy_within(end - kept..end, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_across_two_reads_is_found() {
        struct Slow<'a>(&'a [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let count = self.0.len().min(3).min(buffer.len());
                buffer[..count].copy_from_slice(&self.0[..count]);
                self.0 = &self.0[count..];
                Ok(count)
            }
        }
        assert!(streams(&mut Slow(b"xxxxs3cretxx"), b"s3cret").unwrap());
        assert!(!streams(&mut Slow(b"xxxxs3crexx"), b"s3cret").unwrap());
    }
}
