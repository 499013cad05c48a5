//! What this program was built with: the `taskwright` binaries for the images, or the sources to compile one from.

use camino::{Utf8Path, Utf8PathBuf};

/// The binaries, one for each platform, where the feature `embedded` has put them into this program.
#[cfg(feature = "embedded")]
pub const BINARIES: &[&[u8]] = include!(concat!(env!("OUT_DIR"), "/binaries.rs"));
/// The binaries, where the feature `embedded` has put them into this program.
#[cfg(not(feature = "embedded"))]
pub const BINARIES: &[&[u8]] = &[];

/// The root of the sources that this program was compiled from. One that has its binary with it does not say where they were.
pub fn sources() -> Option<Utf8PathBuf> {
    #[cfg(feature = "embedded")]
    let folder: Option<&str> = None;
    #[cfg(not(feature = "embedded"))]
    let folder = Some(env!("CARGO_MANIFEST_DIR"));
    folder.and_then(|folder| Utf8Path::new(folder).ancestors().nth(2)).map(Utf8Path::to_owned)
}
